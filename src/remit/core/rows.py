"""Verification rows: what a row asks for, what a run yielded.

A row is planned evidence: a command and a negative control, or a rubric that a human scores. The
control is the command on the base, or on the shipped commit with a declared mutation. This
module holds the closed types of rows, runs, checks and results, the bounds that a row must keep
(`problems`), and what one run says when seen alone (`answer`). `remit.core.judging` draws the
verdict from them.

Every check has one of four results. `BLOCKED` (the evidence is absent, cut or unobservable) and
`NOT_TESTED` (nobody looked) never become `PASS`. INV-1

Pure: no I/O, no clock, nothing third-party. Running commands is the verifier's part; registering
rows and digests is the plan's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from remit.core.change import quick
from remit.core.checks import Result
from remit.core.scopes import pattern_problem

ARGUMENT_LIMIT_COUNT = 1_000
ARGUMENT_LIMIT_CHARS = 100_000
RUBRIC_LIMIT_CHARS = 16_384
RED_REASON_LIMIT_CHARS = 1_024
PATTERN_LIMIT_COUNT = 1_000
PATH_LIMIT_CHARS = 1_024
TIMEOUT_LIMIT_MS = 86_400_000
OUTPUT_FLOOR_BYTES = 1_024
OUTPUT_LIMIT_BYTES = 64 * 1_048_576
PATCH_LIMIT_CHARS = 16_384
PATCH_LIMIT_BYTES = 1_048_576
EXIT_LIMIT = 125
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
NOT_EXECUTABLE = 126
NOT_FOUND = 127


class RowKind(StrEnum):
    """What a row is: a command that a machine runs, or a rubric that a human scores."""

    COMMAND = "command"
    RUBRIC = "rubric"


class Control(StrEnum):
    """The negative control of a row: where its command must be red; none is for rubrics only.

    ``BASE_RED`` is the base as it is, ``MUTATION`` the shipped commit with the row's patch applied.
    """

    BASE_RED = "base-red"
    MUTATION = "mutation"
    NONE = "none"


class Verdict(StrEnum):
    """What a row says about the shipped commit."""

    VERIFIED = "verified"
    SHIP_VERIFY_GAP = "ship-verify-gap"
    CONTRADICTED = "contradicted"
    NOT_MACHINE_CHECKABLE = "not-machine-checkable"


class RowReason(StrEnum):
    """Why a row has its verdict."""

    ALL_CHECKS_PASSED = "ALL_CHECKS_PASSED"
    NEEDS_HUMAN_SCORE = "NEEDS_HUMAN_SCORE"
    ROW_INVALID = "ROW_INVALID"
    NOT_RUN = "NOT_RUN"
    TIMED_OUT = "TIMED_OUT"
    COMMAND_MISSING = "COMMAND_MISSING"
    START_FAILED = "START_FAILED"
    EXIT_UNEXPECTED = "EXIT_UNEXPECTED"
    JUNIT_ABSENT = "JUNIT_ABSENT"
    JUNIT_UNREADABLE = "JUNIT_UNREADABLE"
    CHECKS_FAILED = "CHECKS_FAILED"
    NOTHING_EXECUTED = "NOTHING_EXECUTED"
    CHECKS_SKIPPED = "CHECKS_SKIPPED"
    CONTROL_NOT_RUN = "CONTROL_NOT_RUN"
    CONTROL_GREEN = "CONTROL_GREEN"
    CONTROL_INVALID = "CONTROL_INVALID"
    CONTROL_REASON_ABSENT = "CONTROL_REASON_ABSENT"
    CONTROL_REASON_UNSEEN = "CONTROL_REASON_UNSEEN"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    ARTIFACT_MISSING = "ARTIFACT_MISSING"
    NOTHING_CHANGED = "NOTHING_CHANGED"
    DIFF_UNAVAILABLE = "DIFF_UNAVAILABLE"
    ANSWERS_DIFFER = "ANSWERS_DIFFER"


class RunEnd(StrEnum):
    """How a run of a command ended. Only `EXITED` and `SIGNALLED` are answers."""

    EXITED = "EXITED"
    SIGNALLED = "SIGNALLED"
    TIMED_OUT = "TIMED_OUT"
    COMMAND_MISSING = "COMMAND_MISSING"
    START_FAILED = "START_FAILED"


class JUnitState(StrEnum):
    """What became of the report that a row names."""

    NOT_NAMED = "NOT_NAMED"
    PARSED = "PARSED"
    ABSENT = "ABSENT"
    MALFORMED = "MALFORMED"
    REFUSED = "REFUSED"
    TOO_LARGE = "TOO_LARGE"
    UNREADABLE = "UNREADABLE"


class Answer(StrEnum):
    """What one run says, seen alone: as expected, otherwise, or nothing at all."""

    GREEN = "green"
    RED = "red"
    NONE = "none"


@quick
@dataclass(frozen=True, slots=True)
class RowSpec:
    """What a verification row asks for, without its identity; `problems` checks the bounds.

    `argv` is run without a shell in the root of a clean checkout. `junit` is the path of a JUnit
    XML report that the command writes, relative to the checkout. `red_reason` is a plain substring
    that the output of the red run must contain; None means that the control must have run and
    exited non-zero other than 126 and 127. `scope` and `artifacts` are patterns of
    `remit.core.scopes`. `timeout_ms` bounds each run by the wall clock, `output_limit_bytes` what
    is kept of its output. `origin` is "explicit" or "rule:<name>". A mutation is the text `patch`,
    or the file `patch_path` of the shipped commit, whose SHA-256 must be `patch_digest`: it is
    registered before the work either way.
    """

    kind: RowKind
    argv: tuple[str, ...] = ()
    rubric: str | None = None
    expected_exit: int = 0
    junit: str | None = None
    scope: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    control: Control = Control.BASE_RED
    red_reason: str | None = None
    timeout_ms: int = 600_000
    output_limit_bytes: int = 1_048_576
    origin: str = "explicit"
    patch: str | None = None
    patch_path: str | None = None
    patch_digest: str | None = None

    @property
    def red_control(self) -> bool:
        """Whether something must be seen red, as a high-risk claim needs."""
        return self.kind is RowKind.COMMAND and self.control is not Control.NONE


@dataclass(frozen=True, slots=True)
class Mutation:
    """What became of a declared mutation: whether it applied, what it changed, or why it did not.

    `found` is a count of paths, or what stood in the way. `outside` names paths that it would
    change and that lie out of scope.
    """

    applied: bool
    found: str
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowRun:
    """What one run of a row's command yielded.

    `exit_code` is None unless the command ended by itself; a negative one names the signal that
    ended it. `executed` counts the checks that ran: test cases less skipped ones where a report
    was parsed, else 1 for a bare command that exited. `head` and `tail` are what was kept of the
    output, `cut_bytes` how much between them was not.
    """

    end: RunEnd
    exit_code: int | None
    duration_ms: int
    junit: JUnitState = JUnitState.NOT_NAMED
    executed: int = 0
    failures: int = 0
    skipped: int = 0
    head: bytes = b""
    tail: bytes = b""
    cut_bytes: int = 0

    @property
    def timed_out(self) -> bool:
        """Say whether the wall-time bound ended the run."""
        return self.end is RunEnd.TIMED_OUT


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One check: its result, the observed and required value, and why it is not PASS (or None)."""

    name: str
    result: Result
    observed: str
    required: str
    reason: RowReason | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    """What a row says, why, and every check that was made (INV-1)."""

    result: Verdict
    reason: RowReason
    checks: tuple[RowCheck, ...]


def problems(spec: RowSpec) -> tuple[str, ...]:
    """Name every fault of a row at once, each with the field it is in; empty means sound."""
    found: list[str] = []
    if spec.kind is RowKind.COMMAND:
        found += _command_problems(spec)
    else:
        found += _rubric_problems(spec)
    if spec.junit is not None and (fault := _path_problem(spec.junit)):
        found.append(f"junit: {fault}")
    for name, patterns in (("scope", spec.scope), ("artifacts", spec.artifacts)):
        if len(patterns) > PATTERN_LIMIT_COUNT:
            found.append(f"{name}: {len(patterns)} patterns, at most {PATTERN_LIMIT_COUNT}")
        found += [f"{name}: {fault}" for item in patterns if (fault := pattern_problem(item))]
    if not 0 <= spec.expected_exit <= EXIT_LIMIT:
        found.append(f"expected_exit: {spec.expected_exit} is not within 0..{EXIT_LIMIT}")
    if not 1 <= spec.timeout_ms <= TIMEOUT_LIMIT_MS:
        found.append(f"timeout_ms: {spec.timeout_ms} is not within 1..{TIMEOUT_LIMIT_MS}")
    if not OUTPUT_FLOOR_BYTES <= spec.output_limit_bytes <= OUTPUT_LIMIT_BYTES:
        bounds = f"{OUTPUT_FLOOR_BYTES}..{OUTPUT_LIMIT_BYTES}"
        found.append(f"output_limit_bytes: {spec.output_limit_bytes} is not within {bounds}")
    if spec.origin != "explicit" and not spec.origin.removeprefix("rule:").strip():
        found.append("origin: a rule has no name")
    if spec.origin != "explicit" and not spec.origin.startswith("rule:"):
        found.append(f"origin: {spec.origin!r} is neither 'explicit' nor 'rule:<name>'")
    return tuple(found)


def _command_problems(spec: RowSpec) -> list[str]:
    found: list[str] = []
    if not spec.argv or not spec.argv[0]:
        found.append("argv: a command row names a program")
    if len(spec.argv) > ARGUMENT_LIMIT_COUNT:
        found.append(f"argv: {len(spec.argv)} arguments, at most {ARGUMENT_LIMIT_COUNT}")
    if sum(map(len, spec.argv)) > ARGUMENT_LIMIT_CHARS:
        found.append(f"argv: more than {ARGUMENT_LIMIT_CHARS} characters")
    if "\0" in "".join(spec.argv):
        found.append("argv: an argument has a NUL character")
    if spec.rubric is not None:
        found.append("rubric: a command row has none")
    if spec.control is Control.NONE:
        found.append("control: only a rubric row may go without a red control")
    found += _mutation_problems(spec)
    if spec.red_reason is not None and not 1 <= len(spec.red_reason) <= RED_REASON_LIMIT_CHARS:
        found.append(f"red_reason: must have 1 to {RED_REASON_LIMIT_CHARS} characters")
    return found


def _mutation_problems(spec: RowSpec) -> list[str]:
    """A mutation is declared before the work: its text, or the digest of the file that holds it."""
    given = (spec.patch, spec.patch_path, spec.patch_digest)
    if spec.control is not Control.MUTATION:
        return (
            [] if set(given) == {None} else ["patch: only a row with the control mutation has one"]
        )
    found: list[str] = []
    if (spec.patch is None) == (spec.patch_path is None):
        found.append("patch: a mutation is a patch or the path of one, one of them")
    if spec.patch is not None and not 1 <= len(spec.patch) <= PATCH_LIMIT_CHARS:
        limit = f"1 to {PATCH_LIMIT_CHARS} characters"
        found.append(
            f"patch: must have {limit}; a longer one goes into the repository, as patch_path"
        )
    if spec.patch_path is not None and (fault := _path_problem(spec.patch_path)):
        found.append(f"patch_path: {fault}")
    if (spec.patch_path is None) != (spec.patch_digest is None):
        found.append("patch_digest: it goes with patch_path, and only there")
    if spec.patch_digest is not None and not _DIGEST.match(spec.patch_digest):
        found.append("patch_digest: must be 64 hexadecimal digits in lower case")
    if spec.red_reason is None:
        found.append("red_reason: a mutation declares for what reason it makes the command red")
    return found


def _rubric_problems(spec: RowSpec) -> list[str]:
    found: list[str] = []
    if spec.rubric is None or not 1 <= len(spec.rubric.strip()) <= RUBRIC_LIMIT_CHARS:
        found.append(f"rubric: a rubric row has 1 to {RUBRIC_LIMIT_CHARS} characters of it")
    if spec.argv or spec.junit is not None or spec.red_reason is not None:
        found.append("argv, junit, red_reason: a rubric row has none of them")
    if {spec.patch, spec.patch_path, spec.patch_digest} != {None}:
        found.append("patch: a rubric row has none")
    if spec.control is not Control.NONE:
        found.append("control: a rubric row has 'none'; a human scores it")
    return found


def _path_problem(path: str) -> str | None:
    parts = path.split("/")
    if not path or len(path) > PATH_LIMIT_CHARS or "\0" in path:
        return f"path must have 1 to {PATH_LIMIT_CHARS} characters and no NUL"
    if any(part in ("", ".", "..") for part in parts) or parts[0].lower() == ".git":
        return f"path {path!r} must be relative, plain and outside .git"
    return None


def answered(spec: RowSpec, runs: Sequence[RowRun]) -> bool:
    """Say whether runs of one row gave an answer: any that is red, or all green.

    One that came to nothing beside green ones leaves the question open.
    """
    said = {answer(spec, run) for run in runs}
    return Answer.RED in said or said == {Answer.GREEN}


def answer(spec: RowSpec, run: RowRun) -> Answer:
    """Say what one run answers, seen alone.

    A run that timed out, never started, or left its report cut or unreadable answers nothing.
    Skipped or empty reports are no answer either: nobody looked.
    """
    if run.end in (RunEnd.TIMED_OUT, RunEnd.COMMAND_MISSING, RunEnd.START_FAILED):
        return Answer.NONE
    if run.exit_code != spec.expected_exit or run.failures > 0:
        return Answer.RED
    if run.junit not in (JUnitState.NOT_NAMED, JUnitState.PARSED):
        return Answer.NONE
    return Answer.GREEN if run.executed > 0 and run.skipped == 0 else Answer.NONE
