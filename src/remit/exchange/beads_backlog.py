"""A Beads file as a backlog that the ledger can import.

Translates the neutral rows of the reader into the ledger's terms: open and blocked rows become
drafts, rows that somebody may be at work on elsewhere become drafts to be confirmed, closed ones are
closed as imported, and deleted ones are closed and never satisfy a dependency. Nothing is decided
here about the ledger, and nothing of a row's text is interpreted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from remit.core.backlog import ImportedRow, UnfitRow
from remit.exchange.backlog import BacklogRow, EdgeKind, Quarantined, Standing
from remit.exchange.beads import rows, scan

KINDS: Final = {
    EdgeKind.BLOCKS: "blocks",
    EdgeKind.PARENT: "parent-child",
    EdgeKind.CONDITIONAL: "conditional-blocks",
    EdgeKind.WAITS_FOR: "waits-for",
    EdgeKind.LINK: "link",
}
"""The ledger's names of edge kinds."""

MOST_NOTICES: Final = 50
"""Most notices of one row that its event keeps."""

MOST_CYCLES: Final = 1_000
"""Most cycles that the answer lists; the gravest come first."""


class BeadsBacklog:
    """One Beads JSONL file, scanned. Raises ``InputProblem`` where it cannot be read as a whole."""

    format = "beads"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.scan = scan(path)
        self.rows = self.scan.rows
        self.digest = _digest(self.scan.fingerprint.blocks)

    def items(self) -> Iterator[ImportedRow | UnfitRow]:
        """Every row, in file order."""
        for row in rows(self.path, self.scan):
            if isinstance(row, Quarantined):
                yield UnfitRow(row.row, row.id or "", row.code.value, row.reason)
            else:
                yield _item(row, self._deadlock(row.alias))

    def _deadlock(self, alias: str) -> tuple[str, ...]:
        cycle = self.scan.cycle(alias)
        if cycle is None or not cycle.holds_work:
            return ()
        return (*cycle.members, cycle.members[0])

    def facts(self) -> dict[str, Any]:
        """Edges by kind, cycles with the shortest path of each, and edges that lead nowhere."""
        found = self.scan
        return {
            "edges": {KINDS[kind]: count for kind, count in found.edges.items()},
            "dangling": found.dangling,
            "to_tombstones": found.to_tombstones,
            "to_self": found.to_self,
            "cycles": [
                {
                    "kind": cycle.kind.value,
                    "ids": list(cycle.members),
                    "rows": cycle.rows,
                    "shortest": cycle.exact,
                }
                for cycle in found.cycles[:MOST_CYCLES]
            ],
            "cycles_total": len(found.cycles),
        }


def _digest(blocks: bytes) -> str:
    return hashlib.sha256(blocks).hexdigest()


def _item(row: BacklogRow, cycle: tuple[str, ...]) -> ImportedRow:
    closed = row.standing in (Standing.CLOSED, Standing.TOMBSTONE)
    edges = tuple((KINDS[e.kind], e.target) for e in row.edges if e.kind is not EdgeKind.LINK)
    links = tuple((e.foreign_kind, e.target) for e in row.edges if e.kind is EdgeKind.LINK)
    notices = tuple(f"{n.code}: {n.detail}"[:300] for n in row.notices[:MOST_NOTICES])
    return ImportedRow(
        row.number,
        row.alias,
        row.title,
        row.body,
        row.digest.hex(),
        row.priority,
        row.foreign_status,
        unconfirmed=row.standing is Standing.GATED,
        closed=closed,
        satisfies=row.standing is Standing.CLOSED,
        failed=row.failed,
        created_at=row.created_at_us or 0,
        closed_at=row.closed_at_us or 0,
        edges=edges,
        cycle=cycle,
        links=links,
        notices=notices,
    )
