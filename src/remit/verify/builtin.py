"""The built-in verifier: all rows of an item and the artifact diff, on the exact shipped commit.

It stands behind the ``Verifier`` port. Work happens in a temporary directory outside the
repository, which is removed whatever happens.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit.core.gitfacts import ArtifactDiff, RepositoryRefusal
from remit.core.rows import RowSpec
from remit.ports.outside import Found, RowFound
from remit.verify.artifact import verify_artifacts
from remit.verify.verifier import CheckoutSource, verify_rows


@dataclass(frozen=True, slots=True)
class BuiltInVerifier:
    """Verifies commits of one repository."""

    repository: CheckoutSource

    def verify(
        self,
        shipped: str,
        base: str,
        rows: Sequence[tuple[str, RowSpec]],
        scope: Sequence[str],
        artifacts: Sequence[str],
        progress: Callable[[str, str], None] | None = None,
        repeats: int = 1,
    ) -> Found | RepositoryRefusal:
        """Run every row at ``shipped``, ``repeats`` times, with its control, and the artifact diff."""
        with tempfile.TemporaryDirectory(prefix="remit-") as room:
            judged = verify_rows(
                self.repository,
                shipped,
                base,
                rows,
                Path(room),
                scope=scope,
                repeats=repeats,
                progress=progress,
            )
        if isinstance(judged, RepositoryRefusal):
            return judged
        diff = verify_artifacts(self.repository, base, shipped, scope, artifacts)
        if isinstance(diff.diff, RepositoryRefusal):
            return diff.diff
        found = []
        for row in judged:
            last = row.shipped[-1] if row.shipped else None
            found.append(
                RowFound(
                    row.row_id,
                    row.result,
                    last.executed if last else 0,
                    last.skipped if last else 0,
                    row.log,
                    row.answered,
                )
            )
        compared: ArtifactDiff = diff.diff
        return Found(
            tuple(found), diff.result.value, compared.missing_artifacts, compared.out_of_scope
        )
