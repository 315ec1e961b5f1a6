"""The judgement on a verification row: a pure function of the row and of what its runs yielded.

It is strict on purpose: nothing is `verified` by the absence of a complaint. A skipped check is no
check (others count it as success; this does not), zero checks are no evidence, a timeout is no
answer, a cut report is no report, and a green base shows that the command does not notice the
change that it is meant to prove.

The control is the command as it is, run on the base, or on the shipped commit with the declared
mutation. A mutation that does not apply, changes nothing or leaves the scope is no control at all,
and nothing that ran under it is looked at: a patch that fails must never pass for a red check.

Without a declared reason, red means that it
ran and exited non-zero other than 126 and 127. A test file that the change itself adds is absent
there, so its command fails for want of the file: that is red by this rule, and the exit status is
recorded so that a reader can tell. A row that needs more declares the reason to look for.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.core.checks import Result
from remit.core.rows import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    Answer,
    Control,
    JUnitState,
    Mutation,
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

_PASS = Result.PASS
_NO_ANSWER = {
    RunEnd.TIMED_OUT: RowReason.TIMED_OUT,
    RunEnd.COMMAND_MISSING: RowReason.COMMAND_MISSING,
    RunEnd.START_FAILED: RowReason.START_FAILED,
}


def judge(
    spec: RowSpec,
    shipped: RowRun | None,
    control: RowRun | None,
    extra: Sequence[RowCheck] = (),
    mutation: Mutation | None = None,
) -> RowResult:
    """Judge a row from its run at the exact shipped commit and its control run.

    `None` for a run means that nobody ran it, which is NOT_TESTED. `mutation` is what became of the
    patch of a row that declares one; without it such a row has no control. `extra` are further checks of
    the same row, such as those of the artifact diff. The verdict is `verified` only where every
    check is PASS; otherwise the first check that is not gives the reason. A rubric row is
    `not-machine-checkable` whatever ran. INV-1
    """
    if faults := problems(spec):
        check = _check("row-valid", Result.FAIL, "; ".join(faults), "", RowReason.ROW_INVALID)
        return RowResult(Verdict.SHIP_VERIFY_GAP, RowReason.ROW_INVALID, (check,))
    if spec.kind is RowKind.RUBRIC:
        reason = RowReason.NEEDS_HUMAN_SCORE
        check = _check("human-score", Result.NOT_TESTED, "none", "a human's score", reason)
        return RowResult(Verdict.NOT_MACHINE_CHECKABLE, reason, (check,))
    red = _control_checks(spec, control, mutation)
    checks = (*_shipped_checks(spec, shipped), *red, *extra)
    for check in checks:
        if check.result is not Result.PASS:
            reason = check.reason or RowReason.NOT_RUN
            return RowResult(Verdict.SHIP_VERIFY_GAP, reason, checks)
    return RowResult(Verdict.VERIFIED, RowReason.ALL_CHECKS_PASSED, checks)


def judge_repeats(
    spec: RowSpec,
    shipped: Sequence[RowRun],
    control: RowRun | None,
    extra: Sequence[RowCheck] = (),
    mutation: Mutation | None = None,
) -> RowResult:
    """Judge several runs of one row at the same shipped commit.

    A green and a red answer on one commit are `contradicted`: neither recency nor the majority
    picks one. Otherwise the first run that is not green decides, and with none the last.
    """
    answers = [answer(spec, run) for run in shipped]
    deciding = next(
        (run for run, said in zip(shipped, answers, strict=True) if said is not Answer.GREEN),
        shipped[-1] if shipped else None,
    )
    result = judge(spec, deciding, control, extra, mutation)
    if spec.kind is RowKind.RUBRIC or not {Answer.GREEN, Answer.RED} <= set(answers):
        return result
    reason = RowReason.ANSWERS_DIFFER
    said = ", ".join(answers)
    check = _check("same-answer", Result.FAIL, said, "one answer on one commit", reason)
    return RowResult(Verdict.CONTRADICTED, reason, (check, *result.checks))


def _check(name: str, result: Result, observed: str, required: str, reason: RowReason) -> RowCheck:
    return RowCheck(name, result, observed, required, None if result is _PASS else reason)


def _graded(
    name: str, passed: bool, observed: object, required: str, reason: RowReason
) -> RowCheck:
    return _check(name, _PASS if passed else Result.FAIL, str(observed), required, reason)


def _shipped_checks(spec: RowSpec, run: RowRun | None) -> list[RowCheck]:
    """The checks on the shipped commit; where the run gave no answer all that depend are BLOCKED."""
    required = {
        "ran-to-end": "exited within the bound",
        "exit-status": str(spec.expected_exit),
        "checks-executed": ">0",
        "none-skipped": "0",
    }
    if run is None:
        lost = (Result.NOT_TESTED, "not run", RowReason.NOT_RUN)
    elif run.end in _NO_ANSWER:
        lost = (Result.BLOCKED, run.end.value, _NO_ANSWER[run.end])
    else:
        checks = [
            _check("ran-to-end", _PASS, run.end, required["ran-to-end"], RowReason.NOT_RUN),
            _graded(
                "exit-status",
                run.exit_code == spec.expected_exit,
                run.exit_code,
                required["exit-status"],
                RowReason.EXIT_UNEXPECTED,
            ),
        ]
        return checks + _count_checks(spec, run)
    result, observed, reason = lost
    return [_check(name, result, observed, wanted, reason) for name, wanted in required.items()]


def _count_checks(spec: RowSpec, run: RowRun) -> list[RowCheck]:
    """What was executed, failed and skipped; BLOCKED where a named report cannot be believed."""
    executed, skipped = RowReason.NOTHING_EXECUTED, RowReason.CHECKS_SKIPPED
    if spec.junit is not None and run.junit is not JUnitState.PARSED:
        blocked, seen = Result.BLOCKED, f"report {run.junit}"
        absent = run.junit in (JUnitState.ABSENT, JUnitState.NOT_NAMED)
        reason = RowReason.JUNIT_ABSENT if absent else RowReason.JUNIT_UNREADABLE
        return [
            _check("checks-executed", blocked, seen, ">0", reason),
            _check("no-failures", blocked, seen, "0", reason),
            _check("none-skipped", blocked, seen, "0", reason),
        ]
    return [
        _graded("no-failures", run.failures == 0, run.failures, "0", RowReason.CHECKS_FAILED),
        _graded("none-skipped", run.skipped == 0, run.skipped, "0", skipped),
        _graded("checks-executed", run.executed > 0, run.executed, ">0", executed),
    ]


def _control_checks(spec: RowSpec, run: RowRun | None, mutation: Mutation | None) -> list[RowCheck]:
    """The negative control: it must be a control, have run, be red, and for the declared reason."""
    if spec.control is not Control.MUTATION:
        return _red_checks(spec, run, "the base")
    invalid = RowReason.CONTROL_INVALID
    if mutation is None:
        reason, untested = RowReason.CONTROL_NOT_RUN, Result.NOT_TESTED
        return [_check("mutation-applies", untested, "not tried", "it applies", reason)]
    applied = _PASS if mutation.applied else Result.BLOCKED
    found = [_check("mutation-applies", applied, mutation.found, "it applies", invalid)]
    if mutation.applied:
        inside = Result.BLOCKED if mutation.outside else _PASS
        seen = ", ".join(path[:200] for path in mutation.outside[:5]) or "0"
        found.append(_check("mutation-in-scope", inside, seen, "none out of scope", invalid))
    if any(check.result is not _PASS for check in found):
        return found
    return [*found, *_red_checks(spec, run, "the mutation")]


def _red_checks(spec: RowSpec, run: RowRun | None, where: str) -> list[RowCheck]:
    declared = spec.red_reason is not None
    if run is None:
        reason, untested = RowReason.CONTROL_NOT_RUN, Result.NOT_TESTED
        return [_check("control-red", untested, "not run", f"red on {where}", reason)]
    required = f"not {spec.expected_exit}, {NOT_EXECUTABLE} or {NOT_FOUND}"
    required += "" if declared else ", non-zero exit"
    code = run.exit_code
    seen = str(run.end) if code is None else f"{run.end} {code}"
    invalid = RowReason.CONTROL_INVALID
    if run.end in _NO_ANSWER or code in (None, NOT_EXECUTABLE, NOT_FOUND):
        return [_check("control-red", Result.BLOCKED, seen, required, invalid)]
    if run.junit not in (JUnitState.NOT_NAMED, JUnitState.ABSENT, JUnitState.PARSED):
        seen = f"{seen}, report {run.junit}"
        return [_check("control-red", Result.BLOCKED, seen, required, invalid)]
    if code == spec.expected_exit and run.failures == 0:
        green = RowReason.CONTROL_GREEN
        return [_check("control-red", Result.FAIL, seen, required, green)]
    if not declared and (code == 0 or run.end is RunEnd.SIGNALLED):
        return [_check("control-red", Result.BLOCKED, seen, required, invalid)]
    red = _check("control-red", _PASS, seen, required, invalid)
    return [red, _reason_check(spec.red_reason, run)] if spec.red_reason is not None else [red]


def _reason_check(wanted: str, run: RowRun) -> RowCheck:
    """Look for the declared reason; where output was cut, not finding it proves nothing."""
    needle = wanted.encode("utf-8", "surrogateescape")
    whole = run.head + run.tail if run.cut_bytes == 0 else run.head + b"\0" + run.tail
    if needle in whole:
        return _check("control-reason", _PASS, "found", wanted, RowReason.CONTROL_REASON_ABSENT)
    if run.cut_bytes:
        seen, unseen = f"not found, {run.cut_bytes} bytes cut", RowReason.CONTROL_REASON_UNSEEN
        return _check("control-reason", Result.BLOCKED, seen, wanted, unseen)
    absent = RowReason.CONTROL_REASON_ABSENT
    return _check("control-reason", Result.FAIL, "not found", wanted, absent)
