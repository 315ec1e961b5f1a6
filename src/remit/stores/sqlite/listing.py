"""Listings of items: which ids a reader wants, in the order of their numbers.

Each status has its own range of an index, so a listing of several statuses merges ranges instead of
looking past items that it does not want. A search by text looks at a bounded number of items, since
titles may lie in blobs and no index knows their words.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import Any, Final

import apsw
import msgspec

from remit.ports import ItemQuery
from remit.stores.sqlite.queries import q

SEARCHED: Final = 50_000
"""How many items a search by text looks at."""

_CHUNK: Final = 500
_END: Final = (1 << 63) - 1
_TITLES: Final = q("titles")


def list_items(connection: apsw.Connection, ledger_id: str, query: ItemQuery) -> list[str]:
    """Item ids that a listing wants."""
    if not query.text:
        return _page(connection, ledger_id, query, query.after, query.limit or -1)
    found: list[str] = []
    after, looked = query.after, 0
    needle = query.text.casefold()
    while looked < SEARCHED:
        ids = _page(connection, ledger_id, query, after, _CHUNK)
        looked += len(ids)
        if not ids:
            break
        listed = msgspec.json.encode(ids).decode()
        texts = {row[0]: row for row in connection.execute(_TITLES, (ledger_id, listed))}
        found += [i for i in ids if _matches(texts[i], needle)]
        after = texts[ids[-1]][1]
        if query.limit and len(found) >= query.limit:
            break
    return found[: query.limit or None]


def _matches(row: tuple[Any, ...], needle: str) -> bool:
    item, _, alias, title, data = row
    text = data.decode("utf-8", "replace") if data else ""
    return any(needle in part.casefold() for part in (item, alias, title, text))


def _page(
    connection: apsw.Connection, ledger_id: str, query: ItemQuery, after: int, limit: int
) -> list[str]:
    way = "backward" if query.newest_first else "forward"
    start = (after or _END) if query.newest_first else after
    if query.gate:
        name, only = ("gate_backward" if query.newest_first else "gated"), query.gate
    elif query.hold:
        name, only = f"held_{way}", query.hold
    elif not query.statuses:
        rows = connection.execute(q(f"items_{way}"), (ledger_id, start, limit))
        return [i for (i,) in rows]
    else:
        ranges: list[list[tuple[Any, ...]]] = [
            _leased(connection, ledger_id, query, start)
            if status == "leased"
            else connection.execute(
                q(f"status_{way}"), (ledger_id, str(status), start, limit)
            ).fetchall()
            for status in dict.fromkeys(query.statuses)
        ]
        merged = merge(*ranges, key=lambda row: row[1], reverse=query.newest_first)
        return [i for i, _ in islice(merged, None if limit < 0 else limit)]
    return [i for (i,) in connection.execute(q(name), (ledger_id, only, start, limit))]


def _leased(
    connection: apsw.Connection, ledger_id: str, query: ItemQuery, start: int
) -> list[tuple[Any, ...]]:
    """Leased items as ``(id, number)`` from ``start`` on, in the order of the listing."""
    rows: list[tuple[Any, ...]] = connection.execute(q("leased"), (ledger_id,)).fetchall()
    back = query.newest_first
    wanted = [row for row in rows if (row[1] < start if back else row[1] > start)]
    return sorted(wanted, key=lambda row: row[1], reverse=back)
