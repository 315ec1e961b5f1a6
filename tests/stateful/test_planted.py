"""Differences planted in one store: each is found, and shrunk to a few steps.

The red control of the comparison. Most are planted in SQLite and sought without a server, since
shrinking runs hundreds of examples; the same machine finds those in PostgreSQL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from tests.stateful.machine import Step, Tally, run
from tests.stateful.moves import Ground
from tests.stores.postgres.server import Server

from remit.core.refusals import Code, Refused
from remit.ports import Change
from remit.service.engine import Answer, Engine
from remit.stores import tables
from remit.stores.postgres import rows as postgres_rows
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.sqlite import rows as sqlite_rows
from remit.stores.sqlite import writing as sqlite_writing
from remit.stores.sqlite.store import SqliteStore
from remit.stores.sqlite.transaction import SqliteRead
from remit.stores.sqlite.writing import SqliteWrite

STEPS = 40
"""Steps of an example: enough to meet each fault in some."""

Plant = Callable[[pytest.MonkeyPatch], None]


def row_update_lost(patch: pytest.MonkeyPatch) -> None:
    shipped = sqlite_rows.write_changes

    def write_changes(connection: Any, ledger_id: str, changes: Sequence[Change]) -> None:
        left = [x for x in changes if x.key[0] != "triage" or x.old is None]
        shipped(connection, ledger_id, left)

    patch.setattr(sqlite_writing, "write_changes", write_changes)


def column_left_behind(patch: pytest.MonkeyPatch) -> None:
    """The fact is right, and a column beside it that queries order by is not."""
    shipped = tables.item_columns

    def item_columns(item: Any) -> tuple[Any, ...]:
        columns = list(shipped(item))
        columns[3] = max(0, columns[3] - item.counted)
        return tuple(columns)

    patch.setattr(sqlite_rows, "item_columns", item_columns)


def other_order(patch: pytest.MonkeyPatch) -> None:
    shipped = SqliteRead.ready

    def ready(tx: SqliteRead, lane: str, after: Any, limit: int) -> list[str]:
        return shipped(tx, lane, after, limit)[::-1]

    patch.setattr(SqliteRead, "ready", ready)


def other_code(patch: pytest.MonkeyPatch) -> None:
    shipped = Engine.run

    def run_calls(engine: Engine, calls: Any, **how: Any) -> list[Answer]:
        answers = shipped(engine, calls, **how)
        if not isinstance(engine.store, SqliteStore):
            return answers
        return [
            dataclasses.replace(a, code=Code.LEASE_EXPIRED)
            if isinstance(a, Refused) and a.code is Code.STALE_FENCE
            else a
            for a in answers
        ]

    patch.setattr(Engine, "run", run_calls)


def expiry_off_by_one(patch: pytest.MonkeyPatch) -> None:
    shipped = SqliteRead.due
    patch.setattr(SqliteRead, "due", lambda tx, now, limit: shipped(tx, now - 1, limit))


def command_id_forgotten(patch: pytest.MonkeyPatch) -> None:
    def commands(_tx: SqliteRead, _ids: Iterable[str]) -> dict[str, Any]:
        return {}

    patch.setattr(SqliteRead, "commands", commands)


def blob_not_erased(patch: pytest.MonkeyPatch) -> None:
    def erase_blobs(_tx: SqliteWrite, _digests: Sequence[str]) -> None:
        return None

    patch.setattr(SqliteWrite, "erase_blobs", erase_blobs)


def jump_not_noticed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteWrite, "clock_jump", lambda _tx: None)


def past_that_differs(patch: pytest.MonkeyPatch) -> None:
    """A read of the past that comes from other events than those that were written."""
    shipped = SqliteRead.events

    def events(tx: SqliteRead, after: int, limit: int) -> list[Any]:
        return [dataclasses.replace(e, at=e.at + 1) for e in shipped(tx, after, limit)]

    patch.setattr(SqliteRead, "events", events)


def postgres_row_update_lost(patch: pytest.MonkeyPatch) -> None:
    shipped = postgres_rows.Batch.__init__

    def begin(batch: postgres_rows.Batch, changes: Iterable[Change]) -> None:
        shipped(batch, [x for x in changes if x.key[0] != "lane" or x.old is None])

    patch.setattr(postgres_rows.Batch, "__init__", begin)


def postgres_no_next_expiry(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PostgresRead, "next_expiry", lambda _tx: None)


LONG = pytest.mark.torture
"""Shrinks for longer than CI should wait."""

IN_SQLITE = [
    pytest.param(row_update_lost, 4),
    pytest.param(column_left_behind, 3),
    pytest.param(expiry_off_by_one, 4),
    pytest.param(command_id_forgotten, 4),
    pytest.param(other_order, 6, marks=LONG),
    pytest.param(other_code, 4, marks=LONG),
    pytest.param(blob_not_erased, 6, marks=LONG),
    pytest.param(jump_not_noticed, 4),
    pytest.param(past_that_differs, 4, marks=LONG),
]
"""Each fault, and to how many steps it must shrink."""

IN_POSTGRES = [
    pytest.param(postgres_row_update_lost, 4),
    pytest.param(postgres_no_next_expiry, 6, marks=LONG),
]


def found(ground: Ground, patch: pytest.MonkeyPatch, plant: Plant) -> tuple[list[Step], Exception]:
    """Plant a fault and look for it; the shrunk steps and what was raised."""
    plant(patch)
    for number in range(1, 21):
        tally = Tally()
        try:
            run(ground, number, tally, STEPS)
        except Exception as error:
            return tally.last, error
    raise AssertionError(f"{plant.__name__} was not found")


@pytest.fixture
def without_server() -> Iterator[Ground]:
    made = Ground(None)
    yield made
    made.leave()


def name_of(value: object) -> str:
    """How a fault is called in a test's id."""
    return getattr(value, "__name__", str(value))


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("plant", "most"), IN_SQLITE, ids=name_of)
def test_a_difference_in_sqlite_is_found_and_shrunk(
    without_server: Ground, monkeypatch: pytest.MonkeyPatch, plant: Plant, most: int
) -> None:
    steps, error = found(without_server, monkeypatch, plant)
    print(f"{plant.__name__}: {steps}, {type(error).__name__}: {str(error)[:300]}")
    assert len(steps) <= most


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("plant", "most"), IN_POSTGRES, ids=name_of)
def test_a_difference_in_postgres_is_found_and_shrunk(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, plant: Plant, most: int
) -> None:
    ground = Ground(postgres, (postgres.database(), postgres.database()))
    try:
        steps, error = found(ground, monkeypatch, plant)
    finally:
        ground.leave()
        for database in ground.databases:
            postgres.drop(database)
    print(f"{plant.__name__}: {steps}, {type(error).__name__}: {str(error)[:300]}")
    assert len(steps) <= most
