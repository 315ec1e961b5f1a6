"""Verify rows: each at the exact shipped commit and with its control, in checkouts for one run.

Every run gets a fresh checkout. Sharing one between rows would let the first command leave a
report, a cache or a patched git configuration for the second, and cleaning up with git inside a
directory that a foreign command has written to would run that configuration. The cost is one
checkout a run; objects are borrowed, so it is the size of the tree.

The negative control runs the row's command on the base as it is, or on the shipped commit with the
declared mutation applied; where that does not apply, nothing is run. Logs come back as bytes for the
caller to keep with their digest. Nothing here decides what a result means for an item.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from remit.core.gitfacts import ArtifactDiff, CheckoutMade, RepositoryRefusal
from remit.core.judging import judge, judge_repeats
from remit.core.rows import (
    Control,
    Mutation,
    RowCheck,
    RowKind,
    RowResult,
    RowRun,
    RowSpec,
    RunEnd,
    answered,
    problems,
)
from remit.machine.directories import remove_tree
from remit.ports.sandbox import SandboxRefusal, Walls
from remit.verify.artifact import judge_artifacts
from remit.verify.runner import run_row, was_killed

REPEAT_LIMIT_COUNT = 10
AGAIN_COUNT = 2
"""How often a run that something killed is begun again."""


class CheckoutSource(Protocol):
    """What the verifier needs of a repository."""

    def clean_checkout(self, sha: str, directory: Path) -> CheckoutMade | RepositoryRefusal:
        """Check exactly one commit out into a new directory."""
        ...

    def remove_checkout(self, made: CheckoutMade) -> RepositoryRefusal | None:
        """Remove a checkout and all that was left in it."""
        ...

    def read_patch(self, sha: str, path: str, digest: str) -> bytes | str | RepositoryRefusal:
        """Return the registered patch that a commit holds, or what stands in the way."""
        ...

    def apply_mutation(
        self, made: CheckoutMade, patch: bytes, scopes: Sequence[Sequence[str]]
    ) -> Mutation | RepositoryRefusal:
        """Apply a patch to a checkout and say what it changed."""
        ...

    def artifact_diff(
        self, base: str, head: str, scope: Sequence[str], artifacts: Sequence[str]
    ) -> ArtifactDiff | RepositoryRefusal:
        """Compare `base..head` with a scope and expected artifacts."""
        ...


@dataclass(frozen=True, slots=True)
class RowVerification:
    """One row verified: its result, the runs it rests on, and the log of all of them, bounded.

    `control` is None where the declared mutation was none; `mutation` then says why.
    """

    row_id: str
    result: RowResult
    log: bytes
    shipped: tuple[RowRun, ...] = ()
    control: RowRun | None = None
    mutation: Mutation | None = None
    answered: bool = False


@dataclass(frozen=True, slots=True)
class RunSetting:
    """How commands are run: what is added to their environment, and the walls around them.

    `environment` adds to the runner's allow-list, for commands without walls. With `walls` a command
    runs in a cell for its checkout, or not at all.
    """

    environment: Mapping[str, str] | None = None
    walls: Walls | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where rows are verified: the repository, both commits, a directory, and how to run."""

    repository: CheckoutSource
    shipped: str
    base: str
    workdir: Path
    how: RunSetting
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Controlled:
    """A negative control: what ran, if anything, what became of the mutation, and the log."""

    run: RowRun | None
    mutation: Mutation | None
    log: bytes


def verify_rows(
    repository: CheckoutSource,
    shipped_sha: str,
    base_sha: str,
    rows: Sequence[tuple[str, RowSpec]],
    workdir: Path,
    *,
    scope: Sequence[str] = (),
    repeats: int = 1,
    setting: RunSetting | None = None,
    progress: Callable[[str, str], None] | None = None,
) -> tuple[RowVerification, ...] | RepositoryRefusal:
    """Verify rows of (row id, spec) at `shipped_sha` with their control at `base_sha`, or mutated.

    `workdir` is an existing directory; what is made in it is removed. `scope` holds the patterns
    that a mutation must keep to, beside those of its row; an empty one allows none. `repeats`, 1 to 10, runs
    each command that often at the shipped commit, and two different answers are `contradicted`.
    `progress` is called with (row id, "shipped", "base" or "mutation") before each run.

    Rubric rows and rows with faults run nothing. Returns one verification a row, in order. A
    refusal of either checkout is returned as it is: then no row was judged.
    """
    if not 1 <= repeats <= REPEAT_LIMIT_COUNT:
        raise ValueError(f"verify rows: repeats {repeats} is not within 1..{REPEAT_LIMIT_COUNT}")
    tell = progress or (lambda row_id, where: None)
    place = _Place(
        repository, shipped_sha, base_sha, workdir, setting or RunSetting(), tuple(scope)
    )
    done: list[RowVerification] = []
    for row_id, spec in rows:
        if spec.kind is RowKind.RUBRIC or problems(spec):
            done.append(RowVerification(row_id, judge(spec, None, None), b""))
            continue
        shipped: list[RowRun] = []
        for _ in range(repeats):
            tell(row_id, "shipped")
            run = _run_at(place, shipped_sha, spec)
            if not isinstance(run, RowRun):
                return run
            shipped.append(run)
        mutates = spec.control is Control.MUTATION
        tell(row_id, "mutation" if mutates else "base")
        control = _mutated(place, spec) if mutates else _on_base(place, spec)
        if isinstance(control, RepositoryRefusal):
            return control
        extra = _artifact_checks(repository, base_sha, shipped_sha, spec)
        result = judge_repeats(spec, shipped, control.run, extra, control.mutation)
        log = b"".join(_log(f"shipped {shipped_sha}", run, spec) for run in shipped) + control.log
        runs, said = tuple(shipped), answered(spec, shipped)
        done.append(RowVerification(row_id, result, log, runs, control.run, control.mutation, said))
    return tuple(done)


def _run_at(place: _Place, sha: str, spec: RowSpec) -> RowRun | RepositoryRefusal:
    """Run a row at a commit; a run that something killed says nothing of it, so it is run again.

    The last of a bounded number of runs counts, and says in its output how many were killed.
    """
    for killed in range(1 + AGAIN_COUNT):
        run = _run_once(place, sha, spec)
        if isinstance(run, RepositoryRefusal):
            return run
        if not was_killed(run) or killed == AGAIN_COUNT:
            said = f"remit: {killed} runs before this one were killed\n".encode() if killed else b""
            return replace(run, head=said + run.head)
    raise AssertionError("the last run is returned")


def _run_once(place: _Place, sha: str, spec: RowSpec) -> RowRun | RepositoryRefusal:
    """Run a row once in a checkout of its own, which is removed whatever happens."""
    room = Path(tempfile.mkdtemp(prefix="verify-", dir=place.workdir))
    try:
        made = place.repository.clean_checkout(sha, room / "checkout")
        if isinstance(made, RepositoryRefusal):
            return made
        return _run_in(place, made, spec, room)
    finally:
        remove_tree(room)


def _run_in(place: _Place, made: CheckoutMade, spec: RowSpec, room: Path) -> RowRun:
    run = _run_within(spec, Path(made.path), room, place.how)
    place.repository.remove_checkout(made)
    return run


def _on_base(place: _Place, spec: RowSpec) -> _Controlled | RepositoryRefusal:
    run = _run_at(place, place.base, spec)
    if isinstance(run, RepositoryRefusal):
        return run
    return _Controlled(run, None, _log(f"base {place.base}", run, spec))


def _mutated(place: _Place, spec: RowSpec) -> _Controlled | RepositoryRefusal:
    """Run a row with its mutation, again where something killed the run; the last one counts."""
    for _ in range(AGAIN_COUNT):
        found = _mutated_once(place, spec)
        if isinstance(found, RepositoryRefusal) or found.run is None or not was_killed(found.run):
            return found
    return _mutated_once(place, spec)


def _mutated_once(place: _Place, spec: RowSpec) -> _Controlled | RepositoryRefusal:
    """Run a row at the shipped commit with its mutation, if that is one that may be applied."""
    where = f"mutation of {place.shipped}"
    patch: bytes | str | RepositoryRefusal = (spec.patch or "").encode()
    if spec.patch_path is not None and spec.patch_digest is not None:
        patch = place.repository.read_patch(place.shipped, spec.patch_path, spec.patch_digest)
    if isinstance(patch, RepositoryRefusal):
        return patch
    if isinstance(patch, str):
        return _no_control(where, Mutation(applied=False, found=patch))
    where = f"{where}, patch {hashlib.sha256(patch).hexdigest()}"
    room = Path(tempfile.mkdtemp(prefix="verify-", dir=place.workdir))
    try:
        made = place.repository.clean_checkout(place.shipped, room / "checkout")
        if isinstance(made, RepositoryRefusal):
            return made
        scopes = [place.scope, *([spec.scope] if spec.scope else [])]
        mutation = place.repository.apply_mutation(made, patch, scopes)
        if isinstance(mutation, RepositoryRefusal):
            return mutation
        if not mutation.applied or mutation.outside:
            return _no_control(where, mutation)
        run = _run_in(place, made, spec, room)
    finally:
        remove_tree(room)
    return _Controlled(run, mutation, _log(where, run, spec))


def _no_control(where: str, mutation: Mutation) -> _Controlled:
    """A mutation under which nothing may run; the log says why."""
    outside = "".join(f"out of scope: {path}\n" for path in mutation.outside[:1_000])
    said = f"== {where}\nnot run: {mutation.found}\n{outside}"
    return _Controlled(None, mutation, said.encode("utf-8", "backslashreplace"))


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
