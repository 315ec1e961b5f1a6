"""Listings of items: which ids a reader wants, in the order of their numbers.

Each status has its own range of an index, so a listing of several statuses takes a page of each. A
search by text looks at a bounded number of items, since titles may lie in blobs and no index knows
their words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.facts import Item
from remit.ports import ItemQuery
from remit.stores.fact_codec import decode_fact
from remit.stores.postgres.queries import Statement, statement

SEARCHED: Final = 50_000
"""How many items a search by text looks at."""

_CHUNK: Final = 500
_END: Final = (1 << 63) - 1
_PAGES: Final = {
    f"{kind}_{way}": statement(f"{kind}_{way}")
    for kind in ("gated", "held", "items", "status")
    for way in ("forward", "backward")
}
_TITLES: Final = statement("titles")

Run = Callable[[Statement, tuple[Any, ...]], list[tuple[Any, ...]]]
"""Runs a statement of this store and gives its rows."""


def list_items(run: Run, ledger_id: str, query: ItemQuery) -> list[str]:
    """Item ids that a listing wants."""
    if not query.text:
        return _page(run, ledger_id, query, query.after, query.limit or None)
    found: list[str] = []
    after, looked = query.after, 0
    needle = query.text.casefold()
    while looked < SEARCHED:
        ids = _page(run, ledger_id, query, after, _CHUNK)
        looked += len(ids)
        if not ids:
            break
        texts = {row[0]: row for row in run(_TITLES, (ids, ledger_id, ledger_id))}
        found += [i for i in ids if _matches(texts[i], needle)]
        after = texts[ids[-1]][1]
        if query.limit and len(found) >= query.limit:
            break
    return found[: query.limit or None]


def _matches(row: tuple[Any, ...], needle: str) -> bool:
    name, _, state, data = row
    item: Item = decode_fact("item", state)
    text = data.decode("utf-8", "replace") if data else ""
    return any(needle in part.casefold() for part in (name, item.alias, item.title, text))


def _page(run: Run, ledger_id: str, query: ItemQuery, after: int, limit: int | None) -> list[str]:
    way = "backward" if query.newest_first else "forward"
    start = (after or _END) if query.newest_first else after
    if query.gate:
        rows = run(_PAGES[f"gated_{way}"], (ledger_id, query.gate, start, limit))
    elif query.hold:
        rows = run(_PAGES[f"held_{way}"], (ledger_id, query.hold, start, limit))
    elif query.statuses:
        wanted = [str(status) for status in dict.fromkeys(query.statuses)]
        rows = run(_PAGES[f"status_{way}"], (wanted, ledger_id, start, limit, limit))
    else:
        rows = run(_PAGES[f"items_{way}"], (ledger_id, start, limit))
    return [row[0] for row in rows]
