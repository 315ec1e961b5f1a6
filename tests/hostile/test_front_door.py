"""What the Python API takes from a caller who means no good, whatever name it gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.core.plans import goal
from tests.core.plans import item as planned
from tests.core.triaging import put
from tests.faults.test_bad_input import COMMANDS
from tests.ground.ledgers import HUMAN, done, head, made, ready_item, refused

from remit.core import commands as c
from remit.core import plan_commands as pc
from remit.core.decide.ledger import SERVICES
from remit.core.facts import Policy
from remit.core.refusals import Code
from remit.service.calling import SEEN
from remit.service.operations import lease_of
from remit.service.texts import LARGEST
from remit.wiring import Ledger

HUGE = "x" * 3_000_000
SHA = "a" * 40


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = made(tmp_path)
    yield ledger
    ledger.close()


def sized(cls: type, name: str, sound: dict[str, Any]) -> Any:
    """A sound command but for one field, which is as long as can be; None where it is no text."""
    huge: dict[Any, Any] = {
        str: HUGE, c.Text: c.Text(HUGE), tuple[str, ...]: (HUGE,), str | None: HUGE,
        tuple[str, ...] | None: (HUGE,), tuple[tuple[str, str], ...]: ((HUGE, HUGE),),
    }  # fmt: skip
    hints = get_type_hints(cls)
    if hints[name] not in huge:
        return None
    needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    plain = {str: "x", int: 1, bool: True, c.Text: c.Text("x"), Policy: Policy()}
    values = {n: sound.get(n, plain.get(hints[n], ())) for n in needed}
    return cls(**values | {n: sound[n] for n in sound if n in hints} | {name: huge[hints[name]]})


@pytest.mark.parametrize("cls", COMMANDS, ids=lambda cls: cls.__name__)
def test_no_command_makes_an_event_beyond_the_bound(ledger: Ledger, cls: type) -> None:
    """A branch, a reason or a piece of evidence of megabytes once went into its event."""
    item, other = ready_item(ledger), ready_item(ledger)
    fence = lease_of(done(ledger.acting("bob").lease(c.GrantLease(item)))).fence
    done(ledger.acting(HUMAN).run(c.StartImport("beads", "x", "y")))
    done(ledger.acting(HUMAN).add_dependency(c.AddDependency(other, item)))
    before = head(ledger)
    sound = {"item": item, "fence": fence, "head": SHA, "base": SHA, "import_id": "I-1"}
    for field in dataclasses.fields(cls):
        for given in (sound, sound | {"item": other, "target": item}):
            command = sized(cls, field.name, given)
            for actor in (HUMAN, "bob") if command is not None else ():
                ledger.acting(actor).run(command)
    with ledger.reading() as tx:
        sizes = {event.type: len(event.payload) for event in tx.stored(before, 1_000)}
    assert all(size < 8_192 for size in sizes.values()), sizes


def test_many_parts_are_bounded_together(ledger: Ledger) -> None:
    paths = tuple(f"{'a' * 4_000}/{n}" for n in range(1_000))
    before = head(ledger)
    answer = refused(ledger.acting("bob").create(c.CreateItem("x", artifacts=paths)))
    assert str(LARGEST) in answer.message
    assert head(ledger) == before


@pytest.mark.parametrize("name", SERVICES)
def test_nobody_acts_under_a_name_of_remits_own(ledger: Ledger, name: str) -> None:
    item = ready_item(ledger)
    before = head(ledger)
    for command in (c.AddNote(item, c.Text("x")), c.GrantLease(item), c.CreateItem("x")):
        refused(ledger.acting(name).run(command), Code.ACTOR_KIND_REFUSED)
        refused(ledger.acting(name).run([command], atomic=True)[0], Code.ACTOR_KIND_REFUSED)
    assert head(ledger) == before


def test_what_only_remit_can_have_seen_is_taken_from_nobody(ledger: Ledger) -> None:
    """ObserveShip from any caller once shipped what nobody had looked for."""
    item = ready_item(ledger)
    fence = lease_of(done(ledger.acting("bob").lease(c.GrantLease(item)))).fence
    done(ledger.acting("bob").report_completion(c.ReportCompletion(item, fence, SHA, "b" * 40)))
    done(ledger.acting("cyd").review(c.ReviewWork(item, approve=True, reason=c.Text("ok"))))
    said = (
        c.ObserveShip(item, SHA, SHA, "origin", "refs/heads/main", "b" * 40, "sha", ""),
        c.RecordVerification(item, SHA, (), "PASS"),
        c.RecordClone(item, fence, "b", "b" * 40),
        c.RecordTakeover(item, fence, SHA, "b" * 40, SHA, "r"),
        c.IntendPush(
            item, SHA, 9, "merge", "b" * 40, SHA, SHA, "origin", "refs/heads/main", (), "PASS"
        ),
        c.FailIntegration(item, SHA, 9, "b" * 40, "b" * 40, "merge", ("a.py",)),
        c.NotePush(f"push/{item}", "P-1.1", "answered"),
        c.RecordAttempt(item, fence, "probe"),
        c.RecordParityProof("1", "a" * 64, 1, 1, "PASS"),
        c.RecordClockJump(1, 2),
        c.Settle(item),
        c.NoteTermination("E-1", "A-1.1", "gone", 1),
        c.ObserveEffect("E-1", "INDEX", "FOUND", 1, 1, 1),
        c.RepeatRequest("E-1", 1),
        c.CarryEpoch(item),
        pc.OpenPlan("p", 0, "d", "d"),
        pc.ApplyPlanRecord("P-1", "d", goal(1)),
        pc.ApplyPlanItem("P-1", "d", planned(0), "export"),
        pc.RetirePlanRecord("P-1", "d", "goal", "export"),
        pc.SealPlanPart("P-1", "d", ""),
        pc.ClosePlan("P-1", "d", "d", "export", (1,), (), (), ()),
    )
    assert {type(command) for command in said} == set(SEEN)
    done(ledger.acting("cyd").triage(put(item, "ambiguity")))
    done(ledger.acting(HUMAN).resolve(c.ResolveTriage("T-1", "requeue", "again")))
    again = lease_of(done(ledger.acting("bob").lease(c.GrantLease(item)))).fence
    taken = c.ReportCompletion(item, again, SHA, "b" * 40, taken_over=True)
    before = head(ledger)
    refused(ledger.acting("bob").report_completion(taken), Code.BAD_INPUT)
    for actor in (HUMAN, "bob", "cyd", *SERVICES):
        for command in said:
            refused(ledger.acting(actor).run(command))
    assert head(ledger) == before
