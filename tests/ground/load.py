"""A caller that works on a ledger call by call and keeps a record of all it asks and hears.

What it asks is drawn from a seed and from what it was told, and written down as plain values, so that
another process can ask the same again under the same command id. Refusals are answers like others: a
caller with an old fence or without a lease is part of the work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.ground.ledgers import AGENTS, BASE, HEAD, HUMAN, REVIEWER, row
from tests.ground.sidelog import SideLog, open_calls, told

from remit.core import commands as c
from remit.core.commands import Command
from remit.core.refusals import Code, Refused, meaning
from remit.ports import RemitError
from remit.proofs.history import Problem, read_rows
from remit.service.engine import Answer, Done
from remit.service.operations import item_of, lease_of
from remit.wiring import Ledger

LONG: Final = "what was seen, at length\n" * 400
"""A text that becomes a blob."""

Asked = list[Any]
"""``[actor, verb, …]``, as it is written down."""

_VERBS: Final[dict[str, Callable[..., list[Command]]]] = {
    "create": lambda title: [c.CreateItem(title, body=LONG, rows=(row(),))],
    "create many": lambda title, many: [
        c.CreateItem(f"{title} {n}", rows=(row(),)) for n in range(many)
    ],
    "lease": lambda: [c.GrantLease()],
    "lease named": lambda item: [c.GrantLease(item)],
    "progress": lambda item, fence: [c.ReportProgress(item, fence, c.Text(LONG))],
    "renew": lambda item, fence: [c.RenewLease(item, fence, 3_600_000)],
    "release": lambda item, fence: [c.ReleaseLease(item, fence, "no time")],
    "completion": lambda item, fence: [
        c.ReportCompletion(item, fence, HEAD, BASE, text=c.Text(LONG)),
        c.GrantLease(),
    ],
    "review": lambda item, approve: [c.ReviewWork(item, approve, c.Text("looked at"))],
    "note": lambda item: [c.AddNote(item, c.Text(LONG))],
}
VERBS: Final = tuple(_VERBS)

AWAY: Final = 8
"""The exit status of a store that cannot be used: nothing was done."""
UNKNOWN: Final = 9
"""The exit status of a commit that may have happened."""


class Load:
    """One caller; ``name`` begins its command ids and ``log`` keeps its record."""

    def __init__(self, ledger: Ledger, log: SideLog, seed: object, name: str = "c") -> None:
        self.ledger = ledger
        self.log = log
        self.name = name
        self._chance = random.Random(str(seed))
        self._calls = 0
        self._leases: list[tuple[str, str, int]] = []
        self._reviews: list[str] = []
        self._items: list[str] = []

    def step(self) -> list[Answer]:
        """One call of its own choice. Raises what the store raises, after writing it down."""
        return self.call(self.choice())

    def call(self, asked: Asked, ids: Sequence[str] = ()) -> list[Answer]:
        """Ask for this, under new command ids unless it was asked before."""
        self._calls += 1
        commands = _VERBS[asked[1]](*asked[2:])
        base = f"{self.name}-{self._calls}"
        ids = ids or [f"{base}/{n}" for n in range(len(commands))]
        number = self.log.asks(ids, asked)
        try:
            answers = self.ledger.acting(asked[0]).run_each(commands, ids)
        except BaseException as error:
            self.log.hears(number, error)
            raise
        self.log.hears(number, answers)
        self._learn(asked, answers)
        return answers

    def again(self, *logs: Path) -> list[list[Answer]]:
        """Ask once more for whatever these records leave open."""
        return [self.call(open_.asked, open_.ids) for open_ in open_calls(*logs)]

    def choice(self) -> Asked:
        """What to ask for next."""
        chance = self._chance
        if len(self._items) < 2 or chance.random() < 0.15:
            many = chance.randrange(1, 5)
            title = f"{self.name} {self._calls}"
            more: Asked = ["create many", title, many] if many > 1 else ["create", title]
            return [HUMAN, *more]
        if self._reviews and chance.random() < 0.4:
            return [REVIEWER, "review", self._reviews.pop(0), chance.random() < 0.6]
        if self._leases and chance.random() < 0.7:
            agent, item, fence = chance.choice(self._leases)
            verb = chance.choice(("progress", "progress", "renew", "release", "completion"))
            fence -= chance.random() < 0.05
            return [agent, verb, item, fence]
        if chance.random() < 0.2:
            return [HUMAN, "note", chance.choice(self._items)]
        return [chance.choice(AGENTS), "lease"]

    def _learn(self, asked: Asked, answers: list[Answer]) -> None:
        actor, verb, *what = asked
        accepted = [answer for answer in answers if isinstance(answer, Done)]
        if verb.startswith("create"):
            self._items += [item_of(answer) for answer in accepted]
        if verb in ("release", "completion") and accepted:
            self._leases = [lease for lease in self._leases if lease[1] != what[0]]
        if verb == "completion" and isinstance(answers[0], Done):
            self._reviews.append(what[0])
        granted = answers if verb.startswith("lease") else answers[1:]
        if verb == "completion" or verb.startswith("lease"):
            for answer in granted:
                if isinstance(answer, Done):
                    lease = lease_of(answer)
                    self._leases.append((actor, lease.item, lease.fence))


def prepared(load: Load) -> dict[str, Asked]:
    """One call of each kind that would be accepted now."""
    load.call([HUMAN, "create many", "work", 6])
    fences = {}
    for item, actor in (("W-1", "bob"), ("W-2", "cyd")):
        [granted] = accepted(load.call([actor, "lease named", item]))
        fences[item] = lease_of(granted).fence
    accepted(load.call(["cyd", "completion", "W-2", fences["W-2"]]))
    calls: dict[str, Asked] = {
        "create": [HUMAN, "create", "new"],
        "create many": [HUMAN, "create many", "new", 3],
        "lease": ["bob", "lease"],
        "lease named": ["bob", "lease named", "W-5"],
        "review": [REVIEWER, "review", "W-2", True],
        "note": [HUMAN, "note", "W-4"],
    }
    for verb in ("progress", "renew", "release", "completion"):
        calls[verb] = ["bob", verb, "W-1", fences["W-1"]]
    assert set(calls) == set(VERBS)
    return calls


def exit_status(error: RemitError) -> int:
    """The exit status of a command that failed so."""
    return meaning(error.code).exit_status


def accepted(answers: Sequence[Answer]) -> list[Done]:
    """The answers, none of which may be a refusal but for want of something to lease."""
    found = []
    for answer in answers:
        if isinstance(answer, Refused):
            assert answer.code is Code.NOTHING_READY, answer
        else:
            found.append(answer)
    return found


def problems(ledger: Ledger, *logs: Path) -> tuple[Problem, ...]:
    """What is wrong with a ledger in the light of its callers' records."""
    with ledger.store.read() as tx:
        events, rows = read_rows(tx)
    return told(*logs).judge(events, rows)
