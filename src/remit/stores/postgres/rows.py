"""A batch of changes as statements: one for each table and kind of change, with arrays of values.

Every update and deletion names the version that was loaded, or the bytes where a fact has none, and
the number of rows that each statement met is compared with the number of changes: a difference means
that a decision was made on facts that are not the stored ones, and stops the transaction. What a
statement met is known when its answer is fetched, so each comes with the check of its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from remit.core.facts import Item, Key
from remit.ports import Change
from remit.stores import misuse
from remit.stores.fact_codec import encode_fact
from remit.stores.postgres.queries import Statement, statement
from remit.stores.tables import (
    TABLES,
    Rows,
    body_columns,
    children_of,
    edges_of,
    item_columns,
    links_of,
    row_of,
    same_links,
    sorted_rows,
    version_of,
)

_ORDER: Final = (
    "delete_edge", "delete_child", "delete_link", "delete_item", "delete_alias", "delete_triage",
    "delete_lane", "delete_fact",
    "update_item", "update_alias", "update_triage", "update_lane", "update_fact",
    "insert_item", "insert_edge", "insert_child", "insert_link", "insert_alias", "insert_triage",
    "insert_lane", "insert_fact",
)  # fmt: skip
"""What goes comes first, so that a unique value may move from one row to another."""

_SQL: Final = {name: statement(name) for name in _ORDER}
_CLEAR: Final = {table: statement(f"clear_{many}") for table, (many, _, _) in TABLES.items()}
_INSERT: Final = {table: statement(f"insert_{one}") for table, (_, one, _) in TABLES.items()}
_LOAD: Final = statement("load")
_AT_ONCE: Final = 5_000
"""Rows of one statement when whole tables are written."""


Run = Callable[[Statement, tuple[Any, ...]], list[tuple[Any, ...]]]
"""Runs a statement in the same transaction and gives its rows."""


def parameters_of(name: str, ledger_id: str, values: list[tuple[Any, ...]]) -> list[Any]:
    """The parameters of a statement: its columns, with the ledger's id where it stands."""
    columns = zip(*values, strict=True)
    return [ledger_id, *columns] if name.startswith("insert") else [*columns, ledger_id]


class Batch:
    """Changes gathered by statement, each key once."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._values: dict[str, list[tuple[Any, ...]]] = {}
        self._keys: dict[str, list[Key]] = {}
        seen: set[Key] = set()
        for change in changes:
            if change.key in seen:
                raise misuse.twice(change.key)
            seen.add(change.key)
            self._add(change)

    def _add(self, change: Change) -> None:
        """Gather one change."""
        kind = change.key[0]
        if kind == "item":
            self._item(change)
        elif kind == "alias":
            self._one(change, "alias", (change.key[1],), (change.new,), change.old)
        elif kind in ("triage", "lane"):
            columns = () if change.new is None else body_columns(change.new)
            was = None if change.old is None else encode_fact(change.old)
            self._one(change, kind, (change.key[1],), columns, was)
        else:
            columns = (
                () if change.new is None else (version_of(change.new), encode_fact(change.new))
            )
            was = None if change.old is None else encode_fact(change.old)
            self._one(change, "fact", change.key, columns, was)
            if kind == "node":
                self._links(change)

    def statements(
        self, ledger_id: str, run: Run
    ) -> Iterator[tuple[Statement, list[Any], Callable[[int], None]]]:
        """What to send, and the check of how many rows each met, which names the row that is wrong."""
        for name in _ORDER:
            values = self._values.get(name)
            if values is not None:
                check = partial(self._check, ledger_id, run, name)
                yield _SQL[name], parameters_of(name, ledger_id, values), check

    def _check(self, ledger_id: str, run: Run, name: str, met: int) -> None:
        if met != len(self._values[name]):
            key = self._first_missing(ledger_id, run, name)
            raise misuse.mismatch(key, "another row or none", "the row")

    def _first_missing(self, ledger_id: str, run: Run, name: str) -> Key:
        """Which change met no row: its row does not hold what the change wrote."""
        keys, gone = self._keys[name], name.startswith("delete")
        kinds, ids = [key[0] for key in keys], [key[1] for key in keys]
        found = {(kind, i): body for kind, i, body in run(_LOAD, (kinds, ids, *(ledger_id,) * 5))}
        for key, values in zip(keys, self._values[name], strict=True):
            body = found.get(key)
            text = body.decode() if body is not None and key[0] == "alias" else body
            if (body is not None) if gone else (text is None or text not in values):
                return key
        return keys[0]

    def _put(self, name: str, key: Key, values: tuple[Any, ...]) -> None:
        if name not in self._values:
            self._values[name], self._keys[name] = [], []
        self._values[name].append(values)
        self._keys[name].append(key)

    def _one(
        self, change: Change, table: str, where: tuple[str, ...], columns: tuple[Any, ...], was: Any
    ) -> None:
        if change.new is None:
            if change.old is not None:
                self._put(f"delete_{table}", change.key, (*where, was))
        elif change.old is None:
            self._put(f"insert_{table}", change.key, (*where, *columns))
        else:
            self._put(f"update_{table}", change.key, (*where, *columns, was))

    def _links(self, change: Change) -> None:
        if same_links(change.old, change.new):
            return
        was, now = links_of(change.old), links_of(change.new)
        for link in sorted(was - now):
            self._put("delete_link", change.key, link)
        for link in sorted(now - was):
            self._put("insert_link", change.key, link)

    def _item(self, change: Change) -> None:
        old, new, key = change.old, change.new, change.key
        assert old is None or isinstance(old, Item)
        assert new is None or isinstance(new, Item)
        columns = () if new is None else item_columns(new)
        self._one(change, "item", (key[1],), columns, None if old is None else old.version)
        self._links(change)
        same = old is not None and new is not None and old.dependencies is new.dependencies
        if same and old is not None and new is not None and old.terminal == new.terminal:
            return
        for table, of in (("edge", edges_of), ("child", children_of)):
            was, now = of(old), of(new)
            for edge in sorted(was - now):
                self._put(f"delete_{table}", key, edge)
            for edge in sorted(now - was):
                self._put(f"insert_{table}", key, edge)


def replacing(ledger_id: str, rows: Rows) -> Iterator[tuple[Statement, tuple[Any, ...]]]:
    """Statements that empty a ledger's tables and write the rows of facts."""
    for clear in _CLEAR.values():
        yield clear, (ledger_id,)
    for table in TABLES:
        values = [row_of(table, key, fact) for key, fact in sorted_rows(rows[table])]
        for start in range(0, len(values), _AT_ONCE):
            chunk = values[start : start + _AT_ONCE]
            yield _INSERT[table], tuple(parameters_of("insert", ledger_id, chunk))
