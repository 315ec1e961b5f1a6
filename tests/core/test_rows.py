"""Verification rows: bounds, and the judgement. Every check is shown to fail on its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.checks import Result
from remit.core.judging import judge, judge_repeats
from remit.core.rows import (
    Answer,
    Control,
    JUnitState,
    RowCheck,
    RowKind,
    RowReason,
    RowResult,
    RowRun,
    RowSpec,
    RunEnd,
    Verdict,
    answer,
    problems,
)

BARE = RowSpec(RowKind.COMMAND, ("make", "test"))
REPORT = replace(BARE, junit="out/junit.xml")
RUBRIC = RowSpec(RowKind.RUBRIC, rubric="Is the text kind?", control=Control.NONE)
GREEN = RowRun(RunEnd.EXITED, 0, 5, executed=1)
RED = RowRun(RunEnd.EXITED, 1, 5, executed=1, head=b"AssertionError: total\n")
GREEN_REPORT = RowRun(RunEnd.EXITED, 0, 5, JUnitState.PARSED, executed=3)


def check_of(result: RowResult, name: str) -> RowCheck:
    return next(check for check in result.checks if check.name == name)


def gap(result: RowResult, reason: RowReason, name: str, value: Result) -> None:
    assert result.result is Verdict.SHIP_VERIFY_GAP
    assert result.reason is reason
    check = check_of(result, name)
    assert check.result is value
    assert check.reason is reason


def test_green_at_the_commit_and_red_at_the_base_is_verified() -> None:
    for spec, run in ((BARE, GREEN), (REPORT, GREEN_REPORT)):
        result = judge(spec, run, RED)
        assert (result.result, result.reason) == (Verdict.VERIFIED, RowReason.ALL_CHECKS_PASSED)
        assert {check.result for check in result.checks} == {Result.PASS}
        assert {check.reason for check in result.checks} == {None}


SHIPPED = [
    (BARE, RED, RowReason.EXIT_UNEXPECTED, "exit-status", Result.FAIL),
    (
        BARE,
        RowRun(RunEnd.SIGNALLED, -11, 5),
        RowReason.EXIT_UNEXPECTED,
        "exit-status",
        Result.FAIL,
    ),
    (BARE, None, RowReason.NOT_RUN, "ran-to-end", Result.NOT_TESTED),
    (
        BARE,
        RowRun(RunEnd.TIMED_OUT, None, 5),
        RowReason.TIMED_OUT,
        "ran-to-end",
        Result.BLOCKED,
    ),
    (
        BARE,
        RowRun(RunEnd.COMMAND_MISSING, None, 5),
        RowReason.COMMAND_MISSING,
        "ran-to-end",
        Result.BLOCKED,
    ),
    (
        BARE,
        RowRun(RunEnd.START_FAILED, None, 5),
        RowReason.START_FAILED,
        "ran-to-end",
        Result.BLOCKED,
    ),
    (
        BARE,
        replace(GREEN, executed=0),
        RowReason.NOTHING_EXECUTED,
        "checks-executed",
        Result.FAIL,
    ),
    (
        REPORT,
        replace(GREEN_REPORT, executed=0),
        RowReason.NOTHING_EXECUTED,
        "checks-executed",
        Result.FAIL,
    ),
    (
        REPORT,
        replace(GREEN_REPORT, skipped=1),
        RowReason.CHECKS_SKIPPED,
        "none-skipped",
        Result.FAIL,
    ),
    (
        REPORT,
        replace(GREEN_REPORT, failures=1),
        RowReason.CHECKS_FAILED,
        "no-failures",
        Result.FAIL,
    ),
    (
        REPORT,
        replace(GREEN_REPORT, junit=JUnitState.ABSENT),
        RowReason.JUNIT_ABSENT,
        "checks-executed",
        Result.BLOCKED,
    ),
    (REPORT, GREEN, RowReason.JUNIT_ABSENT, "checks-executed", Result.BLOCKED),
    *(
        (
            REPORT,
            replace(GREEN_REPORT, junit=state),
            RowReason.JUNIT_UNREADABLE,
            "none-skipped",
            Result.BLOCKED,
        )
        for state in (
            JUnitState.MALFORMED,
            JUnitState.REFUSED,
            JUnitState.TOO_LARGE,
            JUnitState.UNREADABLE,
        )
    ),
]


@pytest.mark.parametrize(("spec", "run", "reason", "name", "value"), SHIPPED)
def test_each_check_on_the_shipped_commit_can_fail(
    spec: RowSpec, run: RowRun | None, reason: RowReason, name: str, value: Result
) -> None:
    gap(judge(spec, run, RED), reason, name, value)


DECLARED = replace(BARE, red_reason="AssertionError: total")
CONTROL = [
    (BARE, None, RowReason.CONTROL_NOT_RUN, Result.NOT_TESTED),
    (BARE, GREEN, RowReason.CONTROL_GREEN, Result.FAIL),
    (DECLARED, GREEN, RowReason.CONTROL_GREEN, Result.FAIL),
    (BARE, RowRun(RunEnd.TIMED_OUT, None, 5), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (BARE, RowRun(RunEnd.COMMAND_MISSING, None, 5), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (BARE, replace(RED, exit_code=126), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (BARE, replace(RED, exit_code=127), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (DECLARED, replace(RED, exit_code=127), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (BARE, RowRun(RunEnd.SIGNALLED, -9, 5), RowReason.CONTROL_INVALID, Result.BLOCKED),
    (
        BARE,
        replace(RED, junit=JUnitState.MALFORMED),
        RowReason.CONTROL_INVALID,
        Result.BLOCKED,
    ),
]


@pytest.mark.parametrize(("spec", "control", "reason", "value"), CONTROL)
def test_each_fault_of_the_control_is_told_apart(
    spec: RowSpec, control: RowRun | None, reason: RowReason, value: Result
) -> None:
    gap(judge(spec, GREEN, control), reason, "control-red", value)


def test_a_declared_reason_must_be_seen_in_the_red_run() -> None:
    assert judge(DECLARED, GREEN, RED).result is Verdict.VERIFIED
    other = replace(RED, head=b"ImportError\n")
    reason = RowReason.CONTROL_REASON_ABSENT
    gap(judge(DECLARED, GREEN, other), reason, "control-reason", Result.FAIL)
    cut = replace(other, cut_bytes=10)
    reason = RowReason.CONTROL_REASON_UNSEEN
    gap(judge(DECLARED, GREEN, cut), reason, "control-reason", Result.BLOCKED)
    split = replace(RED, head=b"AssertionError", tail=b": total")
    assert judge(DECLARED, GREEN, split).result is Verdict.VERIFIED
    assert judge(DECLARED, GREEN, replace(split, cut_bytes=1)).result is not Verdict.VERIFIED


def test_a_declared_reason_admits_a_crash_as_red() -> None:
    crash = RowRun(RunEnd.SIGNALLED, -11, 5, head=b"AssertionError: total")
    assert judge(DECLARED, GREEN, crash).result is Verdict.VERIFIED


def test_another_expected_exit() -> None:
    spec = replace(BARE, expected_exit=3)
    three, zero = replace(RED, exit_code=3), GREEN
    assert judge(spec, three, RED).result is Verdict.VERIFIED
    gap(judge(spec, zero, RED), RowReason.EXIT_UNEXPECTED, "exit-status", Result.FAIL)
    gap(judge(spec, three, three), RowReason.CONTROL_GREEN, "control-red", Result.FAIL)
    invalid = RowReason.CONTROL_INVALID  # exit 0 is not red without a declared reason
    gap(judge(spec, three, zero), invalid, "control-red", Result.BLOCKED)


def test_a_missing_test_file_at_the_base_is_red_and_shows_its_exit_status() -> None:
    result = judge(BARE, GREEN, replace(RED, exit_code=4))
    assert result.result is Verdict.VERIFIED
    assert check_of(result, "control-red").observed == "EXITED 4"


def test_further_checks_count() -> None:
    extra = RowCheck("within-scope", Result.FAIL, "1: x", "none", RowReason.OUT_OF_SCOPE)
    result = judge(BARE, GREEN, RED, [extra])
    gap(result, RowReason.OUT_OF_SCOPE, "within-scope", Result.FAIL)
    passed = RowCheck("within-scope", Result.PASS, "0", "none")
    assert judge(BARE, GREEN, RED, [passed]).result is Verdict.VERIFIED


def test_a_rubric_waits_for_a_human_whatever_ran() -> None:
    for run in (None, GREEN, RED):
        result = judge(RUBRIC, run, run)
        assert result.result is Verdict.NOT_MACHINE_CHECKABLE
        assert result.reason is RowReason.NEEDS_HUMAN_SCORE
        assert [check.result for check in result.checks] == [Result.NOT_TESTED]
    assert judge_repeats(RUBRIC, [GREEN, RED], RED).result is Verdict.NOT_MACHINE_CHECKABLE


def test_a_faulty_row_is_never_verified() -> None:
    result = judge(replace(BARE, control=Control.NONE), GREEN, RED)
    gap(result, RowReason.ROW_INVALID, "row-valid", Result.FAIL)


def test_two_answers_on_one_commit_are_contradicted() -> None:
    for runs in ([GREEN, RED], [RED, GREEN], [GREEN, GREEN, RED]):
        result = judge_repeats(BARE, runs, RED)
        assert (result.result, result.reason) == (Verdict.CONTRADICTED, RowReason.ANSWERS_DIFFER)
        assert check_of(result, "same-answer").result is Result.FAIL
    assert judge_repeats(BARE, [GREEN, GREEN], RED).result is Verdict.VERIFIED
    assert judge_repeats(BARE, [RED, RED], RED).reason is RowReason.EXIT_UNEXPECTED
    assert judge_repeats(BARE, [], RED).reason is RowReason.NOT_RUN


def test_no_answer_contradicts_nothing_and_proves_nothing() -> None:
    timeout = RowRun(RunEnd.TIMED_OUT, None, 5)
    for runs in ([GREEN, timeout], [timeout, GREEN]):
        result = judge_repeats(BARE, runs, RED)
        gap(result, RowReason.TIMED_OUT, "ran-to-end", Result.BLOCKED)


def test_what_one_run_answers() -> None:
    assert answer(BARE, GREEN) is Answer.GREEN
    assert answer(BARE, RED) is Answer.RED
    assert answer(REPORT, replace(GREEN_REPORT, failures=1)) is Answer.RED
    for run in (
        replace(GREEN_REPORT, skipped=1),
        replace(GREEN_REPORT, executed=0),
        replace(GREEN_REPORT, junit=JUnitState.MALFORMED),
        RowRun(RunEnd.TIMED_OUT, None, 1),
        RowRun(RunEnd.COMMAND_MISSING, None, 1),
    ):
        assert answer(REPORT, run) is Answer.NONE


FAULTS: list[tuple[RowSpec, str]] = [
    (replace(BARE, argv=()), "argv"),
    (replace(BARE, argv=("",)), "argv"),
    (replace(BARE, argv=("x",) * 1_001), "argv"),
    (replace(BARE, argv=("x" * 100_001,)), "argv"),
    (replace(BARE, argv=("x", "a\0b")), "argv"),
    (replace(BARE, rubric="r"), "rubric"),
    (replace(BARE, control=Control.NONE), "control"),
    (replace(BARE, red_reason=""), "red_reason"),
    (replace(BARE, red_reason="x" * 1_025), "red_reason"),
    (replace(BARE, expected_exit=-1), "expected_exit"),
    (replace(BARE, expected_exit=127), "expected_exit"),
    (replace(BARE, timeout_ms=0), "timeout_ms"),
    (replace(BARE, timeout_ms=86_400_001), "timeout_ms"),
    (replace(BARE, output_limit_bytes=1_023), "output_limit_bytes"),
    (replace(BARE, output_limit_bytes=64 * 1_048_576 + 1), "output_limit_bytes"),
    (replace(BARE, junit="/etc/passwd"), "junit"),
    (replace(BARE, junit="../x.xml"), "junit"),
    (replace(BARE, junit=".git/x.xml"), "junit"),
    (replace(BARE, junit=""), "junit"),
    (replace(BARE, scope=("/a",)), "scope"),
    (replace(BARE, scope=("a",) * 1_001), "scope"),
    (replace(BARE, artifacts=("a/../b",)), "artifacts"),
    (replace(BARE, origin="guess"), "origin"),
    (replace(BARE, origin="rule:"), "origin"),
    (replace(RUBRIC, rubric=None), "rubric"),
    (replace(RUBRIC, rubric="  "), "rubric"),
    (replace(RUBRIC, rubric="x" * 16_385), "rubric"),
    (replace(RUBRIC, argv=("x",)), "argv"),
    (replace(RUBRIC, control=Control.BASE_RED), "control"),
]


@pytest.mark.parametrize(("spec", "field"), FAULTS)
def test_each_bound_is_named(spec: RowSpec, field: str) -> None:
    assert any(field in fault.split(":")[0] for fault in problems(spec))


def test_sound_rows_have_no_problems_and_faults_come_all_at_once() -> None:
    for spec in (BARE, REPORT, RUBRIC, DECLARED, replace(BARE, origin="rule:pytest")):
        assert problems(spec) == ()
    assert len(problems(replace(BARE, argv=(), timeout_ms=0, junit="/x"))) == 3


runs = st.none() | st.builds(
    RowRun,
    end=st.sampled_from(RunEnd),
    exit_code=st.none() | st.sampled_from([0, 1, 2, 126, 127, -9]),
    duration_ms=st.just(1),
    junit=st.sampled_from(JUnitState),
    executed=st.integers(0, 2),
    failures=st.integers(0, 1),
    skipped=st.integers(0, 1),
    head=st.sampled_from([b"", b"AssertionError: total"]),
    cut_bytes=st.integers(0, 1),
)


@given(st.sampled_from([BARE, REPORT, DECLARED]), runs, runs)
def test_verified_means_that_every_rule_held(
    spec: RowSpec, shipped: RowRun | None, control: RowRun | None
) -> None:
    result = judge(spec, shipped, control)
    if result.result is not Verdict.VERIFIED:
        assert any(check.result is not Result.PASS for check in result.checks)
        return
    assert shipped is not None
    assert control is not None
    assert shipped.exit_code == 0
    assert (shipped.executed > 0, shipped.skipped, shipped.failures) == (True, 0, 0)
    assert spec.junit is None or shipped.junit is JUnitState.PARSED
    assert control.exit_code not in (None, 126, 127)
    assert control.exit_code != 0 or spec.red_reason is not None
    if spec.red_reason is not None:
        assert spec.red_reason.encode() in control.head
