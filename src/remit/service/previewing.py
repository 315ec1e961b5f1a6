"""Previewing an import: every row read and judged as an import would judge it, and nothing written.

The counts are those of the import that would follow now, because the same questions are asked of the
same facts: is the id usable, is it known, did the content change, may the item still be revised. What
depends on others writing meanwhile is not foreseen.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from remit.core.backlog import ImportedRow, UnfitRow
from remit.core.decide.imports import EDITABLE
from remit.core.facts import Item
from remit.core.ids import is_alias
from remit.core.refusals import Code
from remit.ports.outside import Backlog
from remit.service.importing import CHUNK, Progress, Tally
from remit.service.operations import Operations


def preview(operations: Operations, backlog: Backlog, progress: Progress) -> dict[str, Any]:
    """What an import of this backlog would answer now; the data of an import, less its id."""
    tally = Tally()
    rows = iter(backlog.items())
    while chunk := list(islice(rows, CHUNK)):
        known = _known(operations, [r.alias for r in chunk if isinstance(r, ImportedRow)])
        for row in chunk:
            tally.rows += 1
            _judge(tally, row, known)
        progress("rows", tally.rows, backlog.rows)
    return {
        "import": None,
        "rows": tally.rows,
        "imported": tally.imported,
        "unchanged": tally.unchanged,
        "quarantined": tally.quarantined,
        "quarantined_total": tally.unfit,
        "truncated": tally.unfit > len(tally.quarantined),
        "changed": False,
        **backlog.facts(),
    }


def _known(operations: Operations, aliases: list[str]) -> dict[str, Item]:
    with operations.store.read() as tx:
        found = tx.load([("alias", alias) for alias in aliases])
        ids = {key[1]: name for key, name in found.items() if isinstance(name, str)}
        items = tx.load([("item", name) for name in ids.values()])
    known = {}
    for alias, name in ids.items():
        item = items["item", name]
        if isinstance(item, Item):
            known[alias] = item
    return known


def _judge(tally: Tally, row: ImportedRow | UnfitRow, known: dict[str, Item]) -> None:
    if isinstance(row, UnfitRow):
        tally.quarantine(row.row, row.id, row.code, row.reason)
        return
    item = known.get(row.alias)
    if item is None:
        if is_alias(row.alias):
            tally.imported += 1
        else:
            reason = "its id is not 1 to 200 characters without blanks, or of the form W-1"
            tally.quarantine(row.row, row.alias, Code.BAD_INPUT.value, reason)
    elif item.source is not None and item.source.digest == row.digest:
        tally.unchanged += 1
    elif item.source is None or item.status not in EDITABLE:
        where = item.status.value if item.source is not None else "not from an import"
        reason = f"it changed in its source after {item.id} moved on: it is {where}"
        tally.quarantine(row.row, row.alias, Code.CHANGED_UPSTREAM.value, reason)
    else:
        tally.imported += 1
