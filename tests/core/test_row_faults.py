"""Every check that a verified row rests on, taken out once: each time something is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.core.world import COMMAND, HUMAN, OTHER, RUBRIC, VERIFIER, World, sha

from remit.core import commands as c
from remit.core import judging
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Text
from remit.core.fold import FoldError
from remit.core.judging import judge
from remit.core.refusals import Refused
from remit.core.rows import (
    Control,
    JUnitState,
    Mutation,
    RowKind,
    RowReason,
    RowRun,
    RowSpec,
    RunEnd,
    Verdict,
)
from remit.proofs.patching import planted

ROW = RowSpec(RowKind.COMMAND, ("check",), red_reason="wrong")
REPORTED = RowSpec(RowKind.COMMAND, ("check",), junit="j.xml")
MUTATED = RowSpec(
    RowKind.COMMAND, ("check",), control=Control.MUTATION, red_reason="wrong", patch="p"
)
OK = RowRun(RunEnd.EXITED, 0, 1, executed=1)
BAD = RowRun(RunEnd.EXITED, 1, 1, executed=1, head=b"it is wrong")
APPLIED = Mutation(applied=True, found="1 paths")


def reported(executed: int = 1, skipped: int = 0, failures: int = 0) -> RowRun:
    return RowRun(RunEnd.EXITED, 0, 1, JUnitState.PARSED, executed, failures, skipped)


def unproved(
    spec: RowSpec,
    shipped: RowRun | None,
    control: RowRun | None,
    reason: RowReason,
    mutation: Mutation | None = None,
) -> Callable[[], None]:
    """What must not be verified, and why it is not."""

    def probe() -> None:
        found = judge(spec, shipped, control, (), mutation)
        assert (found.result, found.reason) == (Verdict.SHIP_VERIFY_GAP, reason)
        assert {check.result for check in found.checks} != {Result.PASS}

    return probe


def test_what_is_verified_is_so_by_all_of_it() -> None:
    for spec, mutation in ((ROW, None), (MUTATED, APPLIED)):
        found = judge(spec, OK, BAD, (), mutation)
        assert found.result is Verdict.VERIFIED
        assert {check.result for check in found.checks} == {Result.PASS}


R = RowReason
JUDGED: dict[str, tuple[str, str, str, Callable[[], None]]] = {
    "exit status": (
        "_shipped_checks", "run.exit_code == spec.expected_exit,", "True,",
        unproved(ROW, BAD, BAD, R.EXIT_UNEXPECTED),
    ),
    "a run at all": (
        "_shipped_checks", "lost = (Result.NOT_TESTED,", "lost = (Result.PASS,",
        unproved(ROW, None, BAD, R.NOT_RUN),
    ),
    "an end": (
        "_shipped_checks", "lost = (Result.BLOCKED,", "lost = (Result.PASS,",
        unproved(ROW, RowRun(RunEnd.TIMED_OUT, None, 1), BAD, R.TIMED_OUT),
    ),
    "executed": (
        "_count_checks", "run.executed > 0", "run.executed >= 0",
        unproved(REPORTED, reported(0), BAD, R.NOTHING_EXECUTED),
    ),
    "skipped": (
        "_count_checks", "run.skipped == 0", "run.skipped >= 0",
        unproved(REPORTED, reported(3, 1), BAD, R.CHECKS_SKIPPED),
    ),
    "failures": (
        "_count_checks", "run.failures == 0", "run.failures >= 0",
        unproved(REPORTED, reported(3, 0, 1), BAD, R.CHECKS_FAILED),
    ),
    "the report": (
        "_count_checks", "run.junit is not JUnitState.PARSED", "False",
        unproved(REPORTED, OK, BAD, R.JUNIT_ABSENT),
    ),
    "a control": (
        "_red_checks", "Result.NOT_TESTED", "Result.PASS",
        unproved(ROW, OK, None, R.CONTROL_NOT_RUN),
    ),
    "a red control": (
        "_red_checks", "code == spec.expected_exit and run.failures == 0", "False",
        unproved(changed(ROW, red_reason="x"), OK, changed(OK, head=b"x"), R.CONTROL_GREEN),
    ),
    "a control that ran": (
        "_red_checks", "run.end in _NO_ANSWER or code in (None, NOT_EXECUTABLE, NOT_FOUND)", "False",
        unproved(ROW, OK, RowRun(RunEnd.TIMED_OUT, None, 1, head=b"wrong"), R.CONTROL_INVALID),
    ),
    "the declared reason": (
        "_reason_check", "needle in whole", "True",
        unproved(ROW, OK, changed(BAD, head=b"no such module"), R.CONTROL_REASON_ABSENT),
    ),
    "a mutation": (
        "_control_checks", "untested = RowReason.CONTROL_NOT_RUN, Result.NOT_TESTED",
        "untested = RowReason.CONTROL_NOT_RUN, Result.PASS",
        unproved(MUTATED, OK, BAD, R.CONTROL_NOT_RUN),
    ),
    "that the mutation applies": (
        "_control_checks", "_PASS if mutation.applied else Result.BLOCKED", "_PASS",
        unproved(MUTATED, OK, BAD, R.CONTROL_INVALID, Mutation(applied=False, found="no")),
    ),
    "that it keeps to the scope": (
        "_control_checks", "Result.BLOCKED if mutation.outside else _PASS", "_PASS",
        unproved(MUTATED, OK, BAD, R.CONTROL_INVALID, changed(APPLIED, outside=("x",))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_a_judgement_without_this_check_is_noticed(name: str) -> None:
    function, old, new, probe = JUDGED[name]
    probe()
    with planted(f"remit.core.judging:{function}", old, new), pytest.raises(AssertionError):
        probe()


def test_repeats_that_differ_are_noticed() -> None:
    def probe() -> None:
        found = judging.judge_repeats(ROW, (OK, BAD, OK), BAD)
        assert found.result is Verdict.CONTRADICTED

    probe()
    old = "not {Answer.GREEN, Answer.RED} <= set(answers)"
    with planted("remit.core.judging:judge_repeats", old, "True"), pytest.raises(AssertionError):
        probe()


# What the ledger takes of a verifier.


def refused(**new: object) -> Callable[[], None]:
    """A finding that must not be taken as verified."""

    def probe() -> None:
        world = World()
        item = world.until("shipped")
        good = world.findings(item)
        finding = changed(good.findings[0], **new)
        answer = world.do(VERIFIER, changed(good, findings=(finding,)))
        assert isinstance(answer, Refused)
        assert world.status(item) == "shipped"

    return probe


def other_commit() -> None:
    world = World()
    item = world.until("shipped")
    assert isinstance(world.do(VERIFIER, changed(world.findings(item), commit=sha(77))), Refused)


def by(actor: str, *rows: RowSpec, approve: str = "cat") -> Callable[[], None]:
    """Somebody who may not judge these rows."""

    def probe() -> None:
        world = World()
        item = world.create(*rows)
        world.complete(world.lease(item, HUMAN if actor == HUMAN else "bob"))
        world.ok(approve, c.ReviewWork(item, approve=True, reason=Text("good")))
        world.ok("dan", world.ship_of(item))
        answer = world.do(actor, world.findings(item, diff=""))
        assert isinstance(answer, Refused), answer

    return probe


def red_diff() -> None:
    world = World()
    item = world.until("shipped")
    world.ok(VERIFIER, world.findings(item, diff="BLOCKED"))
    assert world.status(item) == "triaged"


TAKEN: dict[str, tuple[str, str, str, Callable[[], None]]] = {
    "executed": ("_fits", "finding.executed < 1", "False", refused(executed=0)),
    "skipped": ("_fits", "or finding.skipped)", "or False)", refused(skipped=1)),
    "the row's digest": ("_fits", "row.digest != finding.digest", "False", refused(digest="f" * 64)),
    "the shipped commit": ("record", "cmd.commit != work.shipped", "False", other_commit),
    "who judges": ("_fits", "kind is not needed and", "False and", by(OTHER, COMMAND)),
    "a human for a rubric": ("_fits", "kind is not needed and", "False and", by(VERIFIER, RUBRIC)),
    "no holder": ("_may_verify", "actor in item.holders", "False", by(HUMAN, RUBRIC)),
    "no reviewer": (
        "_may_verify", "actor == work.reviewer", "False", by(OTHER, RUBRIC, approve=OTHER),
    ),
    "the artifact diff": ("_outcome", 'artifact_diff not in ("", "PASS")', "False", red_diff),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_a_ledger_without_this_check_is_noticed(name: str) -> None:
    """A holder's verdict is stopped by the fold as well."""
    function, old, new, probe = TAKEN[name]
    probe()
    target = f"remit.core.decide.verification:{function}"
    with planted(target, old, new), pytest.raises((AssertionError, FoldError)):
        probe()
