"""A worker under load: it creates, leases, renews, reports, completes, hands back and gives up.

Run as ``python -m tests.load.worker FOLDER NAME``; ``load.json`` in the folder says what to do. Each
call has a command id of its own and is written down before it is asked. What brought no answer is
asked again under its id until it is answered; a worker that was killed does so first when it lives
again. It never looks at its leases' ends: the ledger has to refuse what comes too late.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.ground.ledgers import BASE, HEAD, row
from tests.load import plants
from tests.load.sidelog import AGAIN, ANSWERED, AWAY, UNKNOWN, Asked, SideLog, read

import remit
from remit.core import commands as c
from remit.core.item_events import LeaseGranted
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.service.engine import Answer
from remit.service.operations import Operations
from remit.wiring import Ledger

PAUSE_S: Final = 0.02
"""How long a worker waits before it asks a store again that is away, or for work where none is."""

PAST: Final = 12
"""How many finished leases a worker remembers, to write under them all the same."""

TAIL: Final = 1 << 20
"""How much of its log a worker reads when it lives again, in bytes."""


class Load(msgspec.Struct):
    """What every worker of a run does.

    ``share``: items that each creates; ``batch``: most elements of a call; ``weights``: how often a
    worker that holds leases does what; ``past``: the share of writes under a lease of the past;
    ``dwell_ms``: the longest that a worker works on what it has leased before it says anything.
    """

    url: str
    goal: str
    seed: int
    share: int
    batch: int
    weights: dict[str, float]
    past: float = 0.0
    dwell_ms: int = 0
    plant: str = ""


def commands(op: str, args: list[list[Any]], goal: str) -> list[c.Command]:
    """The commands that a question stands for."""
    match op:
        case "create":
            return [c.CreateItem(title, rows=(row(),), goal=goal, rule="") for [title] in args]
        case "lease":
            return [c.GrantLease()] * len(args)
        case "renew":
            return [c.RenewLease(item, fence) for item, fence in args]
        case "progress":
            text = c.Text("on its way")
            return [c.ReportProgress(item, fence, text) for item, fence in args]
        case "complete" | "turn":
            return [c.ReportCompletion(item, fence, HEAD, BASE) for item, fence in args]
        case "release":
            return [c.ReleaseLease(item, fence, "tired") for item, fence in args]
        case "fail":
            return [c.FailWork(item, fence, "refusal", c.Text("no")) for item, fence in args]
    raise AssertionError(f"no such operation: {op}")


def perform(
    operations: Operations, command_id: str, op: str, args: list[list[Any]], goal: str
) -> list[Answer]:
    """Ask once."""
    what = commands(op, args, goal)
    if op == "turn":
        pairs = operations.report_completion(what, lease_next=True, command_id=command_id)
        return [answer for pair in pairs for answer in pair]
    calls: dict[str, Callable[..., Any]] = {
        "create": operations.create,
        "lease": operations.lease,
        "renew": operations.renew,
        "progress": operations.report_progress,
        "complete": operations.report_completion,
        "release": operations.release,
        "fail": operations.fail,
    }
    if len(what) == 1:
        return [calls[op](what[0], command_id=command_id)]
    found: list[Answer] = calls[op](what, command_id=command_id)
    return found


class Worker:
    """One life of one worker."""

    def __init__(self, folder: Path, name: str) -> None:
        self.load = msgspec.json.decode((folder / "load.json").read_bytes(), type=Load)
        self.stop = folder / "stop"
        self.name = name
        path = folder / f"{name}.log"
        lives, asked = read(path, TAIL) if path.exists() else (0, [])
        self.life = lives + 1
        self.chance = random.Random(f"{self.load.seed} {name} {self.life}")
        self.log = SideLog(path)
        self.log.born(self.life)
        self.held: dict[str, int] = {}
        self.past: list[tuple[str, int]] = []
        self.created = self.number = 0
        self.idle = False
        for one in asked:
            self.created = one.made
            self.learn(one.op, one.args, [_gist(part) for part in one.parts])
        self.open = [one for one in asked if ANSWERED not in one.came]
        if self.chance.random() < 0.5:
            self.held.clear()
        self.ledger = self._opened()
        self.operations = self.ledger.acting(name)

    def _opened(self) -> Ledger:
        while True:
            try:
                return remit.open(self.load.url)
            except StoreUnavailable:
                time.sleep(PAUSE_S)

    def run(self) -> None:
        """Settle what is open, then work until told to stop."""
        for one in self.open:
            self.settle(one)
        while not self.stop.exists():
            self.step()
        self.ledger.close()

    def settle(self, one: Asked) -> None:
        """Ask again what an earlier life was not told."""
        self.log.came(one.id, AGAIN)
        self.until_answered(one.id, one.op, one.args)

    def call(self, op: str, args: list[list[Any]]) -> list[Answer]:
        """Write down what is asked, and ask until there is an answer."""
        self.number += 1
        command_id = f"{self.name}.{self.life}.{self.number}"
        self.log.ask(command_id, op, args, self.created)
        return self.until_answered(command_id, op, args)

    def until_answered(self, command_id: str, op: str, args: list[list[Any]]) -> list[Answer]:
        """Ask under one id until there is an answer, and learn from it."""
        while True:
            try:
                answers = perform(self.operations, command_id, op, args, self.load.goal)
            except OutcomeUnknown:
                self.log.came(command_id, UNKNOWN)
            except StoreUnavailable:
                self.log.came(command_id, AWAY)
                time.sleep(PAUSE_S)
            else:
                self.log.told(command_id, answers)
                self.learn(op, args, [_told(answer) for answer in answers])
                return answers

    def learn(self, op: str, args: list[list[Any]], gists: list[tuple[bool, str, int]]) -> None:
        """Keep in mind what is held and what was created."""
        if op == "create":
            self.created += sum(done for done, _, _ in gists)
        for done, item, fence in gists:
            if done and item:
                self.held[item] = fence
        if op in ("complete", "turn", "release", "fail") and gists:
            for item, fence in args:
                if self.held.get(item) == fence:
                    del self.held[item]
                    self.past.append((item, fence))
            del self.past[:-PAST]

    def step(self) -> None:
        """One call of some kind."""
        load, chance = self.load, self.chance
        some = chance.randint(1, load.batch)
        missing = load.share - self.created
        if missing > 0 and (self.idle or chance.random() < 0.2):
            self.idle = False
            first = f"{self.name} {self.life} {self.number}"
            self.call("create", [[f"{first} {i}"] for i in range(min(some, missing))])
        elif self.past and chance.random() < load.past:
            op = chance.choice(("progress", "complete", "renew", "release"))
            self.call(op, [list(chance.choice(self.past))])
        elif not self.held:
            answers = self.call("lease", [[]] * some)
            self.idle = all(isinstance(answer, Refused) for answer in answers)
            time.sleep(PAUSE_S if self.idle else chance.uniform(0, load.dwell_ms / 1_000))
        else:
            [op] = chance.choices(list(load.weights), list(load.weights.values()))
            items = list(self.held.items())
            mine = items if op in ("complete", "turn") else chance.sample(items, 1)
            self.call(op, [[item, fence] for item, fence in mine])


def _told(answer: Answer) -> tuple[bool, str, int]:
    """Whether it was accepted, and the item and fence of the lease that it gave."""
    if isinstance(answer, Refused):
        return False, "", 0
    for r in answer.events:
        if isinstance(r.event, LeaseGranted):
            return True, r.stream, r.event.lease.fence
    return True, "", 0


def _gist(part: Any) -> tuple[bool, str, int]:
    """The same from a log."""
    if part.refused:
        return False, "", 0
    for columns in part.events:
        if columns[4] == LeaseGranted.__name__:
            return True, columns[2], msgspec.json.decode(columns[8])["lease"]["fence"]
    return True, "", 0


if __name__ == "__main__":
    worker = Worker(Path(sys.argv[1]), sys.argv[2])
    plants.plant(worker.load.plant)
    worker.run()
