"""Setting the stage: the origin with its program, the owner's clone, the ledger, and the backlog.

Everything is made through git itself and through the canonical operations, as a person would with
``remit init``, ``import``, ``edit`` and ``rule accept``. What the import and the gates
answered is kept, so that it can be told and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remit.core import gates
from remit.core.commands import AcceptRule, Command, EnrolActor, ReviseItem
from remit.core.facts import ActorKind
from remit.core.refusals import Refused
from remit.demo import plan
from remit.demo.agent import accepted
from remit.demo.program import FILES
from remit.demo.room import DemoTrouble, Room
from remit.ports import ItemQuery
from remit.service.importing import Import, recheck_gate
from remit.service.operations import Operations
from remit.service.reading.items import list_items
from remit.service.reading.waiting import blocked
from remit.wiring import Ledger, backlog, create_ledger, url_of


@dataclass(frozen=True, slots=True)
class Imported:
    """What the two imports answered, and how many items stood at a gate after them."""

    first: dict[str, Any]
    again: dict[str, Any]
    gated: int


def make_origin(room: Room) -> None:
    """The bare origin with the program in it, and the owner's clone of it."""
    room.git(plan.OWNER, room.path, "init", "--quiet", "--bare", "--template=", str(room.origin))
    room.git(plan.OWNER, room.origin, "symbolic-ref", "HEAD", "refs/heads/main")
    clone = ["clone", "--quiet", "--template=", str(room.origin), str(room.repository)]
    room.git(plan.OWNER, room.path, *clone)
    room.git(plan.OWNER, room.repository, "symbolic-ref", "HEAD", "refs/heads/main")
    for name, text in FILES.items():
        path = room.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    room.git(plan.OWNER, room.repository, "add", "--all")
    room.git(plan.OWNER, room.repository, "commit", "--quiet", "--message", "A unit converter")
    room.git(plan.OWNER, room.repository, "push", "--quiet", "--set-upstream", "origin", "main")


def make_ledger(room: Room) -> Ledger:
    """The ledger, with the owner as its first human and everybody else enrolled."""
    ledger = create_ledger(url_of(room.ledger), plan.OWNER)
    owner = ledger.acting(plan.OWNER)
    cast = [EnrolActor(name, ActorKind.AGENT) for name in (*plan.AGENTS, plan.REVIEWER)]
    done(owner, cast, "enrol the cast")
    return ledger


def done(operations: Operations, commands: Sequence[Command], doing: str) -> None:
    """Run a list in which nothing may be refused."""
    for answer in operations.run(commands):
        accepted(answer, doing)


def bring_backlog(room: Room, ledger: Ledger) -> Imported:
    """Import the Beads file, twice, since a second import must change nothing."""
    plan.write_beads(room.beads)
    owner = ledger.acting(plan.OWNER)
    answers = []
    for _ in range(2):
        answer = Import(owner, backlog("beads", room.beads), plan.RULE, None).run()
        if isinstance(answer, Refused):
            raise DemoTrouble(f"the import was refused: {answer.message}")
        answers.append(answer)
    with ledger.reading() as tx:
        waiting = blocked(tx, 0)
    return Imported(answers[0], answers[1], sum(1 for i in waiting["items"] if i["gate"]))


def confirm(ledger: Ledger) -> None:
    """Say that nobody is at work elsewhere on the row whose source says that somebody may be."""
    doubtful = ReviseItem(ids(ledger)[plan.UNCONFIRMED], confirm_import=True)
    done(ledger.acting(plan.OWNER), [doubtful], "confirm an imported item")


def accept_rule(ledger: Ledger) -> None:
    """Let the default rule count, and give its rows to what has none."""
    owner = ledger.acting(plan.OWNER)
    done(owner, [plan.rule()], "register the default rule")
    accept = AcceptRule(plan.RULE, reason="the suite is what we trust, and a look at the result")
    done(owner, [accept], "accept the default rule")
    for gate in (gates.VERIFICATION_PLAN, f"{gates.RULE}/{plan.RULE}"):
        refused = recheck_gate(owner, gate)
        if refused is not None:
            raise DemoTrouble(f"admission refused: {refused.message}")


def ids(ledger: Ledger) -> dict[str, str]:
    """Item id by work id."""
    with ledger.reading() as tx:
        listed = list_items(tx, ItemQuery(limit=0))
    return {item["work_id"]: item["id"] for item in listed["items"]}
