"""Which rows a fact makes, for every store that keeps facts in tables.

A fact's whole state is one column; the columns beside it are what queries select and order by. Both
stores with tables have the same ones, so that what is compared after a fold is the same everywhere.
Nothing here speaks to a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from remit.core.facts import DependencyKind, Fact, GraphNode, Item, Key, Lane, Triage
from remit.core.lifetimes import wakes_at
from remit.core.status import Outcome, Status
from remit.ports import Difference
from remit.stores.fact_codec import encode_fact

Edges = frozenset[tuple[str, ...]]
"""Edges as (via, kind, state, dependent, target), children as (parent, child), links as (upper, lower)."""

_NONE: Final[Edges] = frozenset()

LIMIT: Final = 100
"""How many differences are named."""

TABLES: Final = {
    "item_rows": ("items", "item", 1),
    "edge_rows": ("edges", "edge", 5),
    "child_rows": ("children", "child", 2),
    "link_rows": ("links", "link", 2),
    "alias_rows": ("aliases", "alias", 1),
    "triage_rows": ("triage", "triage", 1),
    "lane_rows": ("lanes", "lane", 1),
    "fact_rows": ("facts", "fact", 2),
}
"""Table -> how the statements name many and one of its rows, and how many columns are its key."""

Rows = dict[str, dict[tuple[Any, ...], Fact | None]]
"""Table -> key columns -> the fact whose row it is; None where the key is the whole row."""

Fetch = Callable[[str], Iterable[tuple[Any, ...]]]
"""From a table's name to its stored rows in the order of their keys, without the ledger's id."""


def hold_columns(item: Item) -> tuple[str | None, str | None, int | None, int | None]:
    """Why an item is held, what it waits for, when it wakes up, and its place in line."""
    hold = item.hold
    if hold is None:
        return (None, None, wake_of(item), None)
    return (hold.reason, hold.trigger, wake_of(item), hold.rank)


def wake_of(item: Item) -> int | None:
    """When time wakes an item. Leased work keeps it, so that a lease writes no index for it."""
    if item.status is Status.LEASED:
        return item.lapses_at or None
    return wakes_at(item) or None


def follows_of(item: Item) -> str | None:
    """The item that coalesced work follows."""
    return (item.successor or None) if item.outcome is Outcome.COALESCED else None


def item_columns(item: Item) -> tuple[Any, ...]:
    """The columns of an item from ``number`` on."""
    lease = item.lease
    return (
        item.number, str(item.status), item.lane, item.rank, item.gate,
        *hold_columns(item), follows_of(item),
        None if lease is None else lease.fence,
        None if lease is None else lease.expires_at,
        None if lease is None else lease.actor,
        bytes.fromhex(item.text) or None, item.unmet, item.version, encode_fact(item),
    )  # fmt: skip


def lease_columns(item: Item) -> tuple[Any, ...]:
    """The columns that a move from or to ``leased`` changes."""
    lease = item.lease
    ends = (None, None, None) if lease is None else (lease.fence, lease.expires_at, lease.actor)
    return (str(item.status), *ends, item.unmet, item.version, encode_fact(item))


def triage_columns(record: Triage) -> tuple[Any, ...]:
    """The columns of a triage record from ``item`` on."""
    return (record.item, record.kind, int(record.open), record.opened_seq, encode_fact(record))


def lane_columns(lane: Lane) -> tuple[Any, ...]:
    """The columns of a lane from ``passed`` on."""
    return (lane.passed, lane.ready, encode_fact(lane))


def version_of(fact: Fact) -> int:
    """A fact's own version, 0 where it has none."""
    return 0 if fact.__class__ is int else getattr(fact, "version", 0)


def edges_of(item: Item | None) -> Edges:
    """The edges that an item has in the reverse index."""
    if item is None or item.terminal or not item.dependencies:
        return _NONE
    return frozenset(
        (edge.via, str(edge.kind), str(edge.state), item.id, edge.target)
        for edge in item.dependencies
    )


def children_of(item: Item | None) -> Edges:
    """The pairs of parent and child that an item is the child in, finished or not."""
    if item is None or not item.dependencies:
        return _NONE
    return frozenset(
        (edge.via, item.id) for edge in item.dependencies if edge.kind is DependencyKind.PARENT
    )


def links_of(fact: Fact | None) -> Edges:
    """The links of traceability that a fact is the lower end of; its other links it names itself.

    Delivery work hangs on its goal, a planned item on its requirements and its node as well, shipped
    work on its commit, and a node on the requirements that it covers.
    """
    if fact.__class__ is Item:
        uppers = _uppers(fact)
    elif fact.__class__ is GraphNode:
        uppers = list(fact.covers)
    else:
        return _NONE
    return frozenset((upper, fact.id) for upper in uppers) if uppers else _NONE


def _uppers(item: Item) -> list[str]:
    work, governed = item.work, item.plan.governed
    uppers = [item.plan.goal] if item.plan.goal else []
    uppers += [commit_link(work.shipped)] if work is not None and work.shipped else []
    if governed is not None:
        uppers += item.plan.requirements
        uppers += [governed.node] if governed.node else []
    return uppers


def same_links(old: Fact | None, new: Fact | None) -> bool:
    """Whether two states of an item surely have the same links, at no cost."""
    return (
        old.__class__ is Item
        and new.__class__ is Item
        and old.plan is new.plan
        and (old.work is new.work or _shipped(old) == _shipped(new))
    )


def _shipped(item: Item) -> str:
    return "" if item.work is None else item.work.shipped


def commit_link(sha: str) -> str:
    """What a shipped commit is called as the upper end of a link."""
    return f"commit/{sha}"


def body_columns(fact: Fact) -> tuple[Any, ...]:
    """The columns of a fact that has a table of its own and no version."""
    if isinstance(fact, Triage):
        return triage_columns(fact)
    assert isinstance(fact, Lane)
    return lane_columns(fact)


def placed(item: Item) -> tuple[Any, ...]:
    """What the indexes of an item see, but its id and number, which never change."""
    lease = item.lease
    return (
        item.status, item.work_class, item.tenant, item.rank, item.gate,
        item.hold, wake_of(item), follows_of(item),
        None if lease is None else (lease.fence, lease.expires_at, lease.actor),
    )  # fmt: skip


def keeps_place(old: Item, new: Item) -> bool:
    """Whether two states of an item differ in no column but those of ``lease_columns``."""
    return (
        old.hold is new.hold
        and wake_of(old) == wake_of(new)
        and old.rank == new.rank
        and old.gate == new.gate
        and old.outcome is new.outcome
        and old.successor == new.successor
        and old.text == new.text
        and old.work_class == new.work_class
        and old.tenant == new.tenant
    )


def expected(facts: Iterable[tuple[Key, Fact]]) -> Rows:
    """Which rows facts make."""
    rows: Rows = {table: {} for table in TABLES}
    for key, fact in facts:
        if isinstance(fact, Item):
            rows["item_rows"][(key[1],)] = fact
            rows["edge_rows"].update(dict.fromkeys(edges_of(fact)))
            rows["child_rows"].update(dict.fromkeys(children_of(fact)))
            rows["link_rows"].update(dict.fromkeys(links_of(fact)))
        elif isinstance(fact, Triage):
            rows["triage_rows"][(key[1],)] = fact
        elif isinstance(fact, Lane):
            rows["lane_rows"][(key[1],)] = fact
        elif key[0] == "alias":
            rows["alias_rows"][(key[1],)] = fact
        else:
            rows["fact_rows"][key] = fact
            rows["link_rows"].update(dict.fromkeys(links_of(fact)))
    return rows


def row_of(table: str, key: tuple[Any, ...], fact: Fact | None) -> tuple[Any, ...]:
    """A whole row, but the ledger's id."""
    if isinstance(fact, Item):
        return (*key, *item_columns(fact))
    if isinstance(fact, Triage):
        return (*key, *triage_columns(fact))
    if isinstance(fact, Lane):
        return (*key, *lane_columns(fact))
    if fact is None:
        return key
    return (*key, fact) if table == "alias_rows" else (*key, version_of(fact), encode_fact(fact))


def differences(rows: Rows, fetch: Fetch) -> list[Difference]:
    """Where the stored rows are not those of the facts, at most ``LIMIT`` of them."""
    return list(islice(_differences(rows, fetch), LIMIT))


def _differences(rows: Rows, fetch: Fetch) -> Iterator[Difference]:
    for table in TABLES:
        wanted, width = rows[table], TABLES[table][2]
        met: set[tuple[Any, ...]] = set()
        for found in fetch(table):
            key = found[:width]
            name = "/".join(key)
            if key not in wanted:
                yield Difference(table, name, _text(found[width:]) or "a row", "no row")
                continue
            met.add(key)
            row = row_of(table, key, wanted[key])
            if row != found:
                yield Difference(table, name, *_apart(found[width:], row[width:]))
        for key in sorted(wanted.keys() - met):
            row = row_of(table, key, wanted[key])
            yield Difference(table, "/".join(key), "no row", _text(row[width:]) or "a row")


def _apart(found: tuple[Any, ...], expected_row: tuple[Any, ...]) -> tuple[str, str]:
    """Only the columns that differ, so that a long state does not hide a short one."""
    pairs = [(a, b) for a, b in zip(found, expected_row, strict=True) if a != b]
    return _text(tuple(a for a, _ in pairs)), _text(tuple(b for _, b in pairs))


def _text(row: tuple[Any, ...]) -> str:
    cells = (c.decode("utf-8", "replace") if isinstance(c, bytes) else str(c) for c in row)
    return ", ".join(cells)


def sorted_rows(
    rows: dict[tuple[Any, ...], Fact | None],
) -> list[tuple[tuple[Any, ...], Fact | None]]:
    """Rows in the order of their keys, so that each tree is filled from one end."""
    return sorted(rows.items(), key=lambda row: row[0])
