"""Facts as rows: which table and which columns, and the statements that write a batch of changes.

Every update and deletion names the version that was loaded, or the bytes where a fact has none, and
the number of rows that it met is compared with the number of changes: a difference means that a
decision was made on facts that are not the stored ones, and stops the transaction.

Edges are derived: they are compared with the edges of the item that was loaded, and only what
changed is written. Items that are finished have none, since nobody asks them any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw

from remit.core.facts import Fact, Item, Key
from remit.ports import Change
from remit.stores import misuse
from remit.stores.fact_codec import encode_fact
from remit.stores.sqlite.queries import q
from remit.stores.tables import (
    body_columns,
    children_of,
    edges_of,
    item_columns,
    keeps_place,
    lease_columns,
    links_of,
    placed,
    same_links,
    version_of,
)

_ORDER: Final = (
    "delete_edge", "delete_child", "delete_link", "delete_item", "delete_alias", "delete_triage",
    "delete_lane", "delete_fact",
    "update_item", "lease_item", "touch_item", "update_alias", "update_triage", "update_lane",
    "touch_lane", "update_fact",
    "insert_item", "insert_edge", "insert_child", "insert_link", "insert_alias", "insert_triage",
    "insert_lane", "insert_fact",
)  # fmt: skip
_SQL: Final = {name: q(name) for name in _ORDER}


class Batch:
    """Changes gathered by statement, then run with ``executemany``."""

    def __init__(self, ledger_id: str) -> None:
        self._ledger_id = ledger_id
        self._bindings: dict[str, list[tuple[Any, ...]]] = {}
        self._keys: dict[str, list[Key]] = {}

    def add(self, change: Change) -> None:
        """Gather one change."""
        kind = change.key[0]
        if kind == "item":
            self._item(change)
        elif kind == "alias":
            self._alias(change)
        elif kind == "triage":
            self._bodied(change, "triage")
        elif kind == "lane":
            self._bodied(change, "lane")
        else:
            self._fact(change)

    def run(self, connection: apsw.Connection) -> None:
        """Write all; raises where a row was not what the change says was loaded."""
        for name in _ORDER:
            bindings = self._bindings.get(name)
            if not bindings:
                continue
            before = connection.total_changes()
            try:
                connection.executemany(_SQL[name], bindings)
            except apsw.ConstraintError as error:
                key = self._keys[name][connection.total_changes() - before]
                raise misuse.mismatch(key, str(error), "a row that fits") from error
            met = connection.total_changes() - before
            if met != len(bindings):
                raise misuse.mismatch(
                    self._first_missing(connection, name, bindings),
                    "another row or none",
                    "the row",
                )

    def _first_missing(
        self, connection: apsw.Connection, name: str, bindings: Sequence[tuple[Any, ...]]
    ) -> Key:
        """Which change of a batch met no row: its row does not hold what the change wrote."""
        keys = self._keys[name]
        for key, values in zip(keys, bindings, strict=True):
            load = {k: f"load_{k}" for k in ("item", "alias", "triage", "lane")}
            one = load.get(key[0])
            where = (self._ledger_id, key[1]) if one else (self._ledger_id, *key)
            found = next(iter(connection.execute(q(one or "load_fact"), where)), None)
            gone = name.startswith("delete")
            if (found is not None) if gone else (found is None or found[0] not in values):
                return key
        return keys[0]

    def _put(self, name: str, key: Key, values: tuple[Any, ...]) -> None:
        bindings = self._bindings.get(name)
        if bindings is None:
            self._bindings[name], self._keys[name] = [values], [key]
            return
        bindings.append(values)
        self._keys[name].append(key)

    def _item(self, change: Change) -> None:
        old, new, key, ledger = change.old, change.new, change.key, self._ledger_id
        assert old is None or isinstance(old, Item)
        assert new is None or isinstance(new, Item)
        if new is None:
            if old is not None:
                self._put("delete_item", key, (ledger, key[1], old.version))
        elif old is None:
            self._put("insert_item", key, (ledger, key[1], *item_columns(new)))
        else:
            self._changed_item(old, new, key)
        self._links(old, new, key)
        same = old is not None and new is not None and old.dependencies is new.dependencies
        if same and old is not None and new is not None and old.terminal == new.terminal:
            return
        for table, of in (("edge", edges_of), ("child", children_of)):
            was, now = of(old), of(new)
            for edge in sorted(was - now):
                self._put(f"delete_{table}", key, (ledger, *edge))
            for edge in sorted(now - was):
                self._put(f"insert_{table}", key, (ledger, *edge))

    def _links(self, old: Fact | None, new: Fact | None, key: Key) -> None:
        if same_links(old, new):
            return
        was, now = links_of(old), links_of(new)
        for link in sorted(was - now):
            self._put("delete_link", key, (self._ledger_id, *link))
        for link in sorted(now - was):
            self._put("insert_link", key, (self._ledger_id, *link))

    def _changed_item(self, old: Item, new: Item, key: Key) -> None:
        """Name no more columns than may have changed, since each index of a named one is written."""
        where = (self._ledger_id, key[1], new.number, old.version)
        if old.status is not new.status and keeps_place(old, new):
            self._put("lease_item", key, (*lease_columns(new), *where))
        elif placed(old) == placed(new):
            self._put("touch_item", key, (*item_columns(new)[13:], *where))
        else:
            self._put("update_item", key, (*item_columns(new)[1:], *where))

    def _alias(self, change: Change) -> None:
        old, new, key, ledger = change.old, change.new, change.key, self._ledger_id
        if new is None:
            if old is not None:
                self._put("delete_alias", key, (ledger, key[1], old))
        elif old is None:
            self._put("insert_alias", key, (ledger, key[1], new))
        else:
            self._put("update_alias", key, (new, ledger, key[1], old))

    def _bodied(self, change: Change, table: str) -> None:
        """A kind with a table of its own and no version: the bytes that were loaded stand for it."""
        old, new, key, ledger = change.old, change.new, change.key, self._ledger_id
        if new is None:
            if old is not None:
                self._put(f"delete_{table}", key, (ledger, key[1], encode_fact(old)))
        elif old is None:
            self._put(f"insert_{table}", key, (ledger, key[1], *body_columns(new)))
        else:
            before, columns = body_columns(old), body_columns(new)
            where = (ledger, key[1], before[-1])
            if table == "lane" and before[:-1] == columns[:-1]:
                self._put("touch_lane", key, (columns[-1], *where))
            else:
                self._put(f"update_{table}", key, (*columns, *where))

    def _fact(self, change: Change) -> None:
        old, new, ledger = change.old, change.new, self._ledger_id
        (kind, name), key = change.key, change.key
        if (
            new.__class__ is int and old.__class__ is int
        ):  # most rows that a move touches are figures
            self._put("update_fact", key, (0, b"%d" % new, ledger, kind, name, 0, b"%d" % old))
            return
        if kind == "node":
            self._links(old, new, key)
        if new is None:
            if old is not None:
                where = (ledger, kind, name, version_of(old), encode_fact(old))
                self._put("delete_fact", key, where)
        elif old is None:
            values = (ledger, kind, name, version_of(new), encode_fact(new))
            self._put("insert_fact", key, values)
        else:
            where = (ledger, kind, name, version_of(old), encode_fact(old))
            self._put("update_fact", key, (version_of(new), encode_fact(new), *where))


def write_changes(connection: apsw.Connection, ledger_id: str, changes: Iterable[Change]) -> None:
    """Write changes, each key once."""
    batch = Batch(ledger_id)
    seen: set[Key] = set()
    for change in changes:
        if change.key in seen:
            raise misuse.twice(change.key)
        seen.add(change.key)
        batch.add(change)
    batch.run(connection)
