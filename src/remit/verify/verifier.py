"""Verify rows: each at the exact shipped commit and at the base, in checkouts made for one run.

Every run gets a fresh checkout. Sharing one between rows would let the first command leave a
report, a cache or a patched git configuration for the second, and cleaning up with git inside a
directory that a foreign command has written to would run that configuration. The cost is one
checkout a run; objects are borrowed, so it is the size of the tree.

The negative control runs the row's command on the base as it is. Logs come back as bytes for the
caller to keep with their digest. Nothing here decides what a result means for an item.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from remit.core.gitfacts import ArtifactDiff, CheckoutMade, RepositoryRefusal
from remit.core.judging import judge, judge_repeats
from remit.core.rows import RowCheck, RowKind, RowResult, RowRun, RowSpec, RunEnd, problems
from remit.machine.directories import remove_tree
from remit.ports.sandbox import SandboxRefusal, Walls
from remit.verify.artifact import judge_artifacts
from remit.verify.runner import run_row

REPEAT_LIMIT_COUNT = 10


class CheckoutSource(Protocol):
    """What the verifier needs of a repository."""

    def clean_checkout(self, sha: str, directory: Path) -> CheckoutMade | RepositoryRefusal:
        """Check exactly one commit out into a new directory."""
        ...

    def remove_checkout(self, made: CheckoutMade) -> RepositoryRefusal | None:
        """Remove a checkout and all that was left in it."""
        ...

    def artifact_diff(
        self, base: str, head: str, scope: Sequence[str], artifacts: Sequence[str]
    ) -> ArtifactDiff | RepositoryRefusal:
        """Compare `base..head` with a scope and expected artifacts."""
        ...


@dataclass(frozen=True, slots=True)
class RowVerification:
    """One row verified: its result, the runs it rests on, and the log of all of them, bounded."""

    row_id: str
    result: RowResult
    log: bytes
    shipped: tuple[RowRun, ...] = ()
    control: RowRun | None = None


@dataclass(frozen=True, slots=True)
class RunSetting:
    """How commands are run: what is added to their environment, and the walls around them.

    `environment` adds to the runner's allow-list, for commands without walls. With `walls` a command
    runs in a cell for its checkout, or not at all.
    """

    environment: Mapping[str, str] | None = None
    walls: Walls | None = None


def verify_rows(
    repository: CheckoutSource,
    shipped_sha: str,
    base_sha: str,
    rows: Sequence[tuple[str, RowSpec]],
    workdir: Path,
    *,
    repeats: int = 1,
    setting: RunSetting | None = None,
    progress: Callable[[str, str], None] | None = None,
) -> tuple[RowVerification, ...] | RepositoryRefusal:
    """Verify rows of (row id, spec) at `shipped_sha` with their control at `base_sha`.

    `workdir` is an existing directory; what is made in it is removed. `repeats`, 1 to 10, runs
    each command that often at the shipped commit, and two different answers are `contradicted`.
    `progress` is called with (row id, "shipped" or "base") before each run.

    Rubric rows and rows with faults run nothing. Returns one verification a row, in order. A
    refusal of either checkout is returned as it is: then no row was judged.
    """
    if not 1 <= repeats <= REPEAT_LIMIT_COUNT:
        raise ValueError(f"verify rows: repeats {repeats} is not within 1..{REPEAT_LIMIT_COUNT}")
    tell = progress or (lambda row_id, where: None)
    how = setting or RunSetting()
    done: list[RowVerification] = []
    for row_id, spec in rows:
        if spec.kind is RowKind.RUBRIC or problems(spec):
            done.append(RowVerification(row_id, judge(spec, None, None), b""))
            continue
        shipped: list[RowRun] = []
        for _ in range(repeats):
            tell(row_id, "shipped")
            run = _run_at(repository, shipped_sha, spec, workdir, how)
            if isinstance(run, RepositoryRefusal):
                return run
            shipped.append(run)
        tell(row_id, "base")
        control = _run_at(repository, base_sha, spec, workdir, how)
        if isinstance(control, RepositoryRefusal):
            return control
        extra = _artifact_checks(repository, base_sha, shipped_sha, spec)
        result = judge_repeats(spec, shipped, control, extra)
        sections = [(f"shipped {shipped_sha}", run) for run in shipped]
        log = b"".join(_log(*part, spec) for part in [*sections, (f"base {base_sha}", control)])
        done.append(RowVerification(row_id, result, log, tuple(shipped), control))
    return tuple(done)


def _run_at(
    repository: CheckoutSource, sha: str, spec: RowSpec, workdir: Path, how: RunSetting
) -> RowRun | RepositoryRefusal:
    """Run a row once in a checkout of its own, which is removed whatever happens."""
    room = Path(tempfile.mkdtemp(prefix="verify-", dir=workdir))
    try:
        made = repository.clean_checkout(sha, room / "checkout")
        if isinstance(made, RepositoryRefusal):
            return made
        run = _run_within(spec, Path(made.path), room, how)
        repository.remove_checkout(made)
        return run
    finally:
        remove_tree(room)


def _run_within(spec: RowSpec, checkout: Path, room: Path, how: RunSetting) -> RowRun:
    """Run a row behind its walls where there are to be any; without them it is not started."""
    if how.walls is None:
        return run_row(spec, checkout, room, environment=how.environment)
    with how.walls(checkout) as prefix:
        if isinstance(prefix, SandboxRefusal):
            said = f"remit: {prefix.message}; {prefix.hint}\n".encode()
            return RowRun(RunEnd.START_FAILED, None, 0, head=said)
        return run_row(spec, checkout, room, prefix=prefix)


def _artifact_checks(
    repository: CheckoutSource, base: str, head: str, spec: RowSpec
) -> tuple[RowCheck, ...]:
    """The artifact diff of a row that declares a scope or artifacts; others have no such check."""
    if not spec.scope and not spec.artifacts:
        return ()
    scope = spec.scope or ("**",)
    return judge_artifacts(repository.artifact_diff(base, head, scope, spec.artifacts))


def _log(where: str, run: RowRun, spec: RowSpec) -> bytes:
    """Write one run as text: what ran, how it ended, what it wrote and how much was cut."""
    command = " ".join(repr(argument) for argument in spec.argv)
    counts = f"executed: {run.executed} failures: {run.failures} skipped: {run.skipped}"
    lines = [
        f"== {where}",
        f"command: {command}",
        f"end: {run.end} exit: {run.exit_code} duration_ms: {run.duration_ms}",
        f"report: {run.junit} {counts}",
        "",
    ]
    cut = f"\n-- {run.cut_bytes} bytes cut --\n".encode() if run.cut_bytes else b""
    header = "\n".join(lines).encode("utf-8", "backslashreplace")
    return header + run.head + cut + run.tail + b"\n"
