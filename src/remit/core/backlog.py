"""A foreign backlog in the terms of the ledger: what an importer hands to an import, row by row.

Pure values. A row can be imported or it cannot; what can says all that the core needs to decide, and
nothing here is believed beyond that: a status elsewhere is a claim of its source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One row that can be imported, in the terms of the ledger; see ``ImportItem``.

    ``edges`` matter for readiness, as (kind, id of the target); ``cycle`` is the shortest cycle that
    keeps the row from ever starting, as ids of the source, empty for nearly all rows.
    """

    row: int
    alias: str
    title: str
    body: str
    digest: str
    priority: int
    foreign_status: str
    unconfirmed: bool
    closed: bool
    satisfies: bool
    failed: bool
    created_at: int
    closed_at: int
    edges: tuple[tuple[str, str], ...]
    cycle: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnfitRow:
    """One row that cannot be imported, and why."""

    row: int
    id: str
    code: str
    reason: str
