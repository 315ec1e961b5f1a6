"""Processes that race for leases and that write together; started by the tests beside this file.

Run as ``python -m tests.contention.racers WHAT URL ACTOR …``. A process shares nothing with the test
but the ledger's file and two pipes: it says on standard output when it stands at the start and what
it saw, one JSON value a line, and reads on standard input the moment at which all of them begin.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.ground.ledgers import BASE, HEAD, row

from remit.core import commands as c
from remit.core.refusals import Refused
from remit.service.operations import Operations, item_of, lease_of
from remit.wiring import open_ledger


def say(value: Any) -> None:
    """One line to the test."""
    print(json.dumps(value), flush=True)


def start() -> bool:
    """Wait for the moment that the test names, at which all begin; False where it names none."""
    line = sys.stdin.readline()
    if not line.strip():
        return False
    while time.monotonic() < float(line):
        pass
    return True


def race(url: str, actor: str) -> None:
    """Ask for an item together with the others, as often as the test gives a start.

    The first word of a round is the item, or a dash for the next.
    """
    ledger = open_ledger(url)
    operations = ledger.acting(actor)
    say("ready")
    while item := sys.stdin.readline().strip():
        start()
        answer = operations.lease(c.GrantLease("" if item == "-" else item))
        if isinstance(answer, Refused):
            say([actor, answer.code.value, 0])
        else:
            say([actor, "", lease_of(answer).fence])
    ledger.close()


@dataclass
class Tally:
    """What one writer did: acknowledged command ids with the item, refusals, and its waits."""

    actor: str
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    waits_s: list[float] = field(default_factory=list)


class Writer:
    """One process that creates, leases and completes, each under a command id of its own."""

    def __init__(self, operations: Operations, actor: str) -> None:
        self.operations = operations
        self.tally = Tally(actor)
        self.mine: list[tuple[str, int]] = []
        self.chance = random.Random(actor)

    def step(self) -> None:
        """One call, timed."""
        tally, operations = self.tally, self.operations
        number = len(tally.waits_s)
        name = f"{tally.actor}-{number}"
        kind = self.chance.choice(("create", "lease", "lease", "complete", "complete"))
        if kind == "complete" and not self.mine:
            kind = "create"
        held = self.mine.pop() if kind == "complete" else ("", 0)
        started = time.monotonic()
        if kind == "create":
            answer = operations.create(c.CreateItem(name, rows=(row(),)), command_id=name)
        elif kind == "lease":
            answer = operations.lease(c.GrantLease(), command_id=name)
        else:
            report = c.ReportCompletion(*held, HEAD, BASE)
            answer = operations.report_completion(report, command_id=name)
        tally.waits_s.append(time.monotonic() - started)
        if isinstance(answer, Refused):
            tally.refused[answer.code] = tally.refused.get(answer.code, 0) + 1
            return
        tally.acknowledged[name] = (kind, item_of(answer))
        if kind == "lease":
            lease = lease_of(answer)
            self.mine.append((lease.item, lease.fence))


def write(url: str, actor: str, seconds: float) -> None:
    """Write without a pause for some seconds, and until something was done; say what came of it."""
    ledger = open_ledger(url)
    writer = Writer(ledger.acting(actor), actor)
    say("ready")
    start()
    until = time.monotonic() + seconds
    while time.monotonic() < until or not writer.tally.acknowledged:
        writer.step()
    ledger.close()
    say(asdict(writer.tally))


if __name__ == "__main__":
    what, its_url, its_actor, *more = sys.argv[1:]
    if what == "race":
        race(its_url, its_actor)
    else:
        write(its_url, its_actor, float(more[0]))
