"""The artifact-diff verifier: whether the shipped change touched what it promised and no more.

Three checks on the landed change `base..head`: it changed something at all, every changed path
lies in the declared scope, and every expected artifact was added or modified. The diff itself is
the repository's; the judgement here is a pure function of it, and where the diff could not be had
the checks are BLOCKED, never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from remit.core.checks import Result
from remit.core.gitfacts import ArtifactDiff, RepositoryRefusal
from remit.core.rows import RowCheck, RowReason

_SHOWN_COUNT = 5


class DiffSource(Protocol):
    """What the verifier needs of a repository."""

    def artifact_diff(
        self, base: str, head: str, scope: Sequence[str], artifacts: Sequence[str]
    ) -> ArtifactDiff | RepositoryRefusal:
        """Compare `base..head` with a scope and expected artifacts."""
        ...


@dataclass(frozen=True, slots=True)
class ArtifactVerdict:
    """The result of the artifact diff: PASS, FAIL or BLOCKED, its checks, and the diff if any."""

    result: Result
    checks: tuple[RowCheck, ...]
    diff: ArtifactDiff | RepositoryRefusal


def verify_artifacts(
    repository: DiffSource,
    base: str,
    head: str,
    scope: Sequence[str],
    artifacts: Sequence[str],
) -> ArtifactVerdict:
    """Run the artifact-diff verifier on the landed change `base..head`.

    An empty `scope` covers nothing, so that every change is out of scope; `("**",)` covers all.
    A refusal of the repository makes the result BLOCKED and is kept as `diff`.
    """
    diff = repository.artifact_diff(base, head, scope, artifacts)
    checks = judge_artifacts(diff)
    results = {check.result for check in checks}
    for worst in (Result.BLOCKED, Result.FAIL):
        if worst in results:
            return ArtifactVerdict(worst, checks, diff)
    return ArtifactVerdict(Result.PASS, checks, diff)


def judge_artifacts(diff: ArtifactDiff | RepositoryRefusal) -> tuple[RowCheck, ...]:
    """Judge a diff: `something-changed`, `within-scope`, `artifacts-changed`."""
    if isinstance(diff, RepositoryRefusal):
        blocked, reason = Result.BLOCKED, RowReason.DIFF_UNAVAILABLE
        names = ("something-changed", "within-scope", "artifacts-changed")
        return tuple(RowCheck(name, blocked, diff.code, "a diff", reason) for name in names)
    return (
        _check(
            "something-changed",
            diff.changed_count > 0,
            f"{diff.changed_count} paths",
            "at least one changed path",
            RowReason.NOTHING_CHANGED,
        ),
        _check(
            "within-scope",
            diff.out_of_scope_count == 0,
            _listed(diff.out_of_scope, diff.out_of_scope_count),
            "none out of scope",
            RowReason.OUT_OF_SCOPE,
        ),
        _check(
            "artifacts-changed",
            not diff.missing_artifacts,
            _listed(diff.missing_artifacts, len(diff.missing_artifacts)),
            "none missing",
            RowReason.ARTIFACT_MISSING,
        ),
    )


def _check(name: str, passed: bool, observed: str, required: str, reason: RowReason) -> RowCheck:
    if passed:
        return RowCheck(name, Result.PASS, observed, required)
    return RowCheck(name, Result.FAIL, observed, required, reason)


def _listed(items: Sequence[str], total: int) -> str:
    """A bounded list for reading: the first few, and how many in all."""
    shown = ", ".join(item[:200] for item in items[:_SHOWN_COUNT])
    return f"{total}: {shown}" if total else "0"
