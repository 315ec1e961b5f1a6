"""What people and workers ask all day touches as much of a large ledger as of a small one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ground.ledgers import BASE, HEAD, HUMAN, done, made, row
from tests.scale.watching import scans, watched

from remit.core import commands as c
from remit.ports import ItemQuery
from remit.service.operations import lease_of
from remit.service.reading import items as reading
from remit.service.reading import waiting
from remit.wiring import Ledger, open_ledger, url_of

FEW, MANY = 500, 5_000
SMALL, LARGE = 2_000, 200_000
BATCH = 1_000


def build(folder: Path, count: int) -> Path:
    """A ledger with so many items: most ready, one in four waiting for an earlier one."""
    folder.mkdir()
    ledger = made(folder)
    operations = ledger.acting(HUMAN)
    for start in range(0, count, BATCH):
        commands = [
            c.CreateItem(
                f"item {i}",
                rows=(row(),),
                priority=i % 5,
                depends_on=((f"W-{i // 2 + 1}", "blocks"),) if i % 4 == 3 else (),
            )
            for i in range(start, min(count, start + BATCH))
        ]
        for answer in operations.create(commands):
            done(answer)
    ledger.close()
    return folder / "ledger.db"


def _ready(ledger: Ledger, _at: int) -> None:
    with ledger.reading() as tx:
        assert len(reading.ready(tx, 20)["items"]) == 20


def _lease_next(ledger: Ledger, _at: int) -> None:
    done(ledger.acting("bob").lease(c.GrantLease()))


def _complete(ledger: Ledger, _at: int) -> None:
    lease = lease_of(done(ledger.acting("bob").lease(c.GrantLease())))
    report = c.ReportCompletion(lease.item, lease.fence, HEAD, BASE)
    done(ledger.acting("bob").report_completion(report))


def _show(ledger: Ledger, at: int) -> None:
    with ledger.reading() as tx:
        assert isinstance(reading.show(tx, f"W-{at}"), dict)


def _blocked(ledger: Ledger, _at: int) -> None:
    with ledger.reading() as tx:
        assert waiting.blocked(tx, 20)["items"]


def _list(ledger: Ledger, _at: int) -> None:
    with ledger.reading() as tx:
        assert reading.list_items(tx, ItemQuery(newest_first=True))["items"]


def _create(ledger: Ledger, _at: int) -> None:
    done(ledger.acting(HUMAN).create(c.CreateItem("one more", rows=(row(),))))


def _add_dependency(ledger: Ledger, at: int) -> None:
    added = done(ledger.acting(HUMAN).create(c.CreateItem("waits", rows=(row(),))))
    item = added.events[-1].stream
    done(ledger.acting(HUMAN).add_dependency(c.AddDependency(item, f"W-{at}")))


CALLS: dict[str, Callable[[Ledger, int], None]] = {
    "ready": _ready,
    "lease next": _lease_next,
    "complete": _complete,
    "show": _show,
    "blocked": _blocked,
    "list": _list,
    "create": _create,
    "add dependency": _add_dependency,
}
MUST = ("ready", "lease next", "show")
"""Calls whose time must grow by less than half."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    room = tmp_path_factory.mktemp("scale")
    return build(room / "few", FEW), build(room / "many", MANY)


def _steps(path: Path, name: str, at: int) -> tuple[int, list[str]]:
    with watched() as seen:
        ledger = open_ledger(url_of(path))
        CALLS[name](ledger, at)
        seen.clear()
        CALLS[name](ledger, at)
        ledger.close()
        return seen.total, sorted(seen.steps)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_touches_no_more_rows_of_a_larger_ledger(pair: tuple[Path, Path], name: str) -> None:
    few, _ = _steps(pair[0], name, FEW // 2 + 1)
    many, statements = _steps(pair[1], name, MANY // 2 + 1)
    print(f"{name}: {few} steps with {FEW} items, {many} with {MANY}, {len(statements)} statements")
    assert statements
    assert few > 20
    assert many <= few * 1.25 + 50
    assert scans(pair[1], statements) == []


def test_a_statement_that_looks_at_all_items_is_noticed(pair: tuple[Path, Path]) -> None:
    found = scans(pair[0], ["SELECT id FROM item_rows WHERE unmet = ? ORDER BY version"])
    assert [step.split(":")[0] for step in found] == [
        "SCAN item_rows", "USE TEMP B-TREE FOR ORDER BY",
    ]  # fmt: skip

    def everything(ledger: Ledger, _at: int) -> None:
        with ledger.reading() as tx:
            tx.items(ItemQuery(limit=0))

    CALLS["everything"] = everything
    try:
        few, _ = _steps(pair[0], "everything", 1)
        many, _ = _steps(pair[1], "everything", 1)
    finally:
        del CALLS["everything"]
    assert many > few * 1.25 + 50


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    room = tmp_path_factory.mktemp("large")
    started = time.monotonic()
    paths = build(room / "small", SMALL), build(room / "large", LARGE)
    print(f"{LARGE + SMALL} items in {time.monotonic() - started:.0f} s")
    return paths


def _medians(paths: tuple[Path, Path], call: Callable[[Ledger, int], None]) -> list[float]:
    """Median seconds of a call on each ledger, in turn, so that noise meets both."""
    ledgers = [open_ledger(url_of(path)) for path in paths]
    took: list[list[float]] = [[], []]
    for i in range(300):
        for which, ledger in enumerate(ledgers):
            at = 1 + (i * 7919) % (SMALL, LARGE)[which]
            started = time.perf_counter()
            call(ledger, at)
            took[which].append(time.perf_counter() - started)
    for ledger in ledgers:
        ledger.close()
    return [statistics.median(times[20:]) for times in took]


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_takes_as_long_on_200_000_items(large: tuple[Path, Path], name: str) -> None:
    small_s, large_s = _medians(large, CALLS[name])
    print(f"{name}: {small_s * 1e6:.0f} us with {SMALL}, {large_s * 1e6:.0f} us with {LARGE} items")
    assert large_s < small_s * (1.5 if name in MUST else 2.0)
    assert scans(large[1], _steps(large[1], name, LARGE // 2 + 1)[1]) == []
