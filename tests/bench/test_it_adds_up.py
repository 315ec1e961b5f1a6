"""What a contestant was given is really there, and one that lost something has no figure."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.stores.postgres.server import Server

from remit import wiring
from remit.bench.fenced import HandWritten
from remit.bench.fenced_postgres import HandWrittenPostgres, durability
from remit.bench.ledger_queue import LedgerQueue, PostgresLedgerQueue, fresh
from remit.bench.peers import PEERS, installed
from remit.bench.peers_postgres import PEERS_POSTGRES
from remit.bench.pure_queue import LOOKED_AT, PureQueue
from remit.bench.queues import (
    Holds,
    Queue,
    carrying,
    chaining,
    draining,
    entrant,
    inserting,
    relaying,
)
from remit.bench.rounds import DoesNotAddUp, Trial, compete
from remit.bench.server import serving
from remit.bench.whole_ledger import ColdStart, Imports, replaying, verifying, write_backlog
from remit.core.checks import Result
from remit.core.effect_events import AdmissionDecided
from remit.core.evolve import evolve
from remit.core.facts import Item
from remit.core.status import Status
from remit.service.integrity import verify

WORK = [inserting, draining, chaining, carrying, relaying]


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[], str]]:
    """Makes databases of a server that is synced, as the benchmark's is.

    Not in a folder of pytest's: the server runs as another user than root, who may not go there.
    """
    with serving(Path(tempfile.gettempdir()) / "any") as server:
        yield server.database


BARE: list[Callable[[Path], Queue]] = [
    HandWritten,
    partial(HandWritten, driver="sqlite3"),
    LedgerQueue,
    PureQueue,
]


def items(ledger: wiring.Ledger) -> list[Item]:
    """Every item of a ledger, by its number."""
    with ledger.reading() as tx:
        made = tx.small()["counter", "work-item"]
        assert isinstance(made, int)
        facts = tx.load([("item", f"W-{number}") for number in range(1, made + 1)])
    found = [fact for fact in facts.values() if isinstance(fact, Item)]
    assert len(found) == made
    return sorted(found, key=lambda item: item.number)


def test_items_created_are_on_the_ledger(tmp_path: Path) -> None:
    queue = LedgerQueue(tmp_path)
    queue.insert(0, 5)
    queue.insert(5, 1)
    found = items(queue.ledger)
    assert [item.title for item in found] == [f"job {number}" for number in range(6)]
    assert {item.status for item in found} == {Status.READY}
    assert all(len(item.plan.rows) == 1 for item in found)
    report = verify(queue.ledger.store, fold=evolve)
    queue.close()
    assert report.problems == ()
    assert report.rows_compared


def test_items_without_rows_are_drafts_on_the_ledger(tmp_path: Path) -> None:
    queue = LedgerQueue(tmp_path, rows=False)
    queue.insert(0, 3)
    found = items(queue.ledger)
    queue.close()
    assert [item.status for item in found] == [Status.DRAFT] * 3


def test_items_handed_in_are_in_review_on_the_ledger(tmp_path: Path) -> None:
    queue = LedgerQueue(tmp_path)
    queue.insert(0, 4)
    (first, second) = queue.take(2)
    queue.finish([second])
    third = queue.turn(first)
    found = items(queue.ledger)
    queue.close()
    counts = {status: sum(item.status is status for item in found) for status in Status}
    assert counts[Status.IN_REVIEW] == 2
    assert counts[Status.LEASED] == 1
    assert counts[Status.READY] == 1
    assert third.fence > second.fence > first.fence


def test_pure_work_is_shipped_and_verified_with_its_whole_history(tmp_path: Path) -> None:
    queue = PureQueue(tmp_path)
    queue.insert(0, 3)
    queue.finish(queue.take(2))
    assert queue.holds() == Holds(3, 1)
    (last,) = queue.take(1)
    with queue.ledger.reading() as tx:
        seen = [r.event for r in tx.events(0, 1_000) if r.stream in ("W-1", "effect/RESULT-0")]
    assert [type(event).__name__ for event in seen] == [
        "IntentReceived", "IntentValidated", "EffectClaimed", "AdmissionDecided", "LeaseGranted",
        "EffectAnswered", "ResponseReported", "EffectObserved", "EffectShipped", "EffectVerified",
    ]  # fmt: skip
    (verdict,) = [event for event in seen if isinstance(event, AdmissionDecided)]
    asked = {check.check for check in verdict.checks if check.result is Result.PASS}
    assert asked >= {"capacity-freshness", "start-delay", "margin", "deadline", "storage-limit"}
    report = verify(queue.ledger.store, fold=evolve)
    assert last.item == "W-3"
    assert report.problems == ()
    queue.close()


def test_a_look_that_was_never_made_is_no_shipped_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PureQueue, "_look", lambda _: None)
    with pytest.raises(DoesNotAddUp, match="found 8 jobs that are left, expected 0"):
        compete(Trial("any", 2, (entrant(PureQueue, carrying, 4, 2),)), tmp_path, 1)


def test_looks_beside_a_relay_come_by_the_hundred(tmp_path: Path) -> None:
    queue = PureQueue(tmp_path)
    queue.insert(0, LOOKED_AT + 1)
    (claim,) = queue.take(1)
    for _ in range(LOOKED_AT):
        claim = queue.turn(claim)
    assert queue.holds() == Holds(LOOKED_AT + 1, 1)
    queue.close()


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
@pytest.mark.parametrize("make", BARE, ids=["apsw", "sqlite3", "remit", "pure"])
def test_every_queue_adds_up_over_rounds(
    tmp_path: Path, make: Callable[[Path], Queue], work: Any
) -> None:
    rows = compete(Trial("any", 2, (entrant(make, work, 4, 2),)), tmp_path, 2)
    assert [(row.repeats, row.batch) for row in rows] == [(2, 2)]


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
@pytest.mark.parametrize("module", PEERS)
def test_every_installed_peer_adds_up(tmp_path: Path, module: str, work: Any) -> None:
    pytest.importorskip(module, reason=f"{module} is in the environment of 'make bench' alone")
    (row,) = compete(Trial("any", 1, (entrant(PEERS[module], work, 3, 1),)), tmp_path, 1)
    assert row.peer.replace("-", "") == module


def test_a_peer_that_is_missing_is_named_and_never_made() -> None:
    def never(_folder: Path) -> Queue:
        raise AssertionError("it is not installed")

    assert installed({"no_such_queue": never, "json": never}) == ([never], ["no_such_queue"])


ON_POSTGRES: list[Callable[[str], Queue]] = [HandWrittenPostgres, PostgresLedgerQueue]


@pytest.mark.parametrize("work", WORK[:3], ids=lambda work: work.__name__)
@pytest.mark.parametrize("make", ON_POSTGRES, ids=["by hand", "remit"])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_queue_on_postgres_adds_up_over_rounds(
    tmp_path: Path, served: Callable[[], str], make: Any, work: Any, workers: int
) -> None:
    course = entrant(lambda _: make(served()), work, 8, 2 if work is draining else 1, workers)
    (row,) = compete(Trial("any", 2, (course,), workers), tmp_path, 1)
    assert (row.store, row.workers) == ("postgresql", workers)


@pytest.mark.parametrize("work", [inserting, draining], ids=lambda work: work.__name__)
@pytest.mark.parametrize("module", PEERS_POSTGRES)
def test_every_installed_peer_on_postgres_adds_up(
    tmp_path: Path, served: Callable[[], str], module: str, work: Any
) -> None:
    pytest.importorskip(module, reason=f"{module} is in the environment of 'make bench' alone")
    make: Any = PEERS_POSTGRES[module]
    (row,) = compete(
        Trial("any", 1, (entrant(lambda _: make(served()), work, 10, 1, 2),)), tmp_path, 1
    )
    assert row.peer == module


def test_the_loop_on_postgres_refuses_a_claim_that_is_not_current(
    served: Callable[[], str],
) -> None:
    queue = HandWrittenPostgres(served())
    queue.insert(0, 2)
    (first, second) = queue.take(2)
    with pytest.raises(DoesNotAddUp, match="1 of 2 claims"):
        queue.finish([first, (second[0], second[1] + 1)])
    queue.finish([second])
    with pytest.raises(DoesNotAddUp, match="0 of 1 claims"):
        queue.turn(second)
    assert queue.holds() == Holds(2, 0)
    queue.close()


def test_a_server_that_answers_before_the_disk_does_has_no_figure(
    postgres: Server, wiped: str
) -> None:
    with pytest.raises(DoesNotAddUp, match="expected them to be on"):
        HandWrittenPostgres(postgres.url(wiped))  # the tests' own server does not sync


def test_a_server_of_its_own_is_gone_at_the_end() -> None:
    with serving(Path(tempfile.gettempdir()) / "any") as server:
        folder = server.folder
        assert durability(server.database())["fsync"] == "on"
    assert not folder.exists()
    assert server._process.poll() is not None


class Forgetful(HandWritten):
    """It drops the last job of each commit."""

    def insert(self, first: int, count: int) -> None:
        super().insert(first, count - 1)


class Lazy(HandWritten):
    """It says that it handed work in, and did not."""

    def finish(self, claims: Sequence[tuple[int, int]]) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "work", "message"),
    [
        (Forgetful, inserting, "found 4 jobs, expected 8"),
        (Lazy, draining, "found 8 jobs that are left, expected 0"),
    ],
)
def test_a_contestant_that_loses_work_has_no_figure(
    tmp_path: Path, make: Callable[[Path], Queue], work: Any, message: str
) -> None:
    with pytest.raises(DoesNotAddUp, match=message):
        compete(Trial("any", 2, (entrant(make, work, 4, 2),)), tmp_path, 1)


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_the_hand_written_loop_refuses_a_claim_that_is_not_current(
    tmp_path: Path, driver: str
) -> None:
    queue = HandWritten(tmp_path, driver)
    queue.insert(0, 2)
    (first, second) = queue.take(2)
    with pytest.raises(DoesNotAddUp, match="1 of 2 claims"):
        queue.finish([first, (second[0], second[1] + 1)])
    assert queue.holds().left == 2
    queue.finish([first])
    with pytest.raises(DoesNotAddUp, match="0 of 1 claims"):
        queue.turn(first)
    assert queue.holds().left == 1
    queue.close()


def test_a_refusal_by_the_ledger_is_no_work_done(tmp_path: Path) -> None:
    queue = LedgerQueue(tmp_path)
    queue.insert(0, 1)
    (lease,) = queue.take(1)
    queue.finish([lease])
    with pytest.raises(DoesNotAddUp, match="refusal"):
        queue.finish([lease])
    with pytest.raises(DoesNotAddUp, match="nothing is ready"):
        queue.take(1)
    queue.close()


def test_imported_rows_are_items_with_their_edges(tmp_path: Path) -> None:
    imports = Imports(tmp_path, 40)
    assert imports.round().units == 40
    assert imports.round().units == 40
    imports.check()
    found = items(imports.ledger)
    imports.close()
    assert len(found) == 80
    assert sum(len(item.dependencies) for item in found) == 76
    assert sum(item.status is Status.CLOSED for item in found) == 40


def test_a_backlog_names_each_row_once_and_no_row_that_is_not_there(tmp_path: Path) -> None:
    write_backlog(tmp_path / "b.jsonl", 100, 60)
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text("utf-8").splitlines()]
    ids = {row["id"] for row in rows}
    assert len(ids) == 60
    assert {e["depends_on_id"] for row in rows for e in row["dependencies"]} <= ids


def test_walks_count_every_event(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    with ledger.reading() as tx:
        head = tx.head().seq
    assert replaying(ledger) == verifying(ledger) == head > 0
    ledger.close()


def test_a_command_that_fails_has_no_figure(tmp_path: Path) -> None:
    import sys

    broken = ColdStart("broken", "sqlite", [sys.executable, "-c", "raise SystemExit('no')"], {})
    with pytest.raises(DoesNotAddUp, match=r"exit 1 \(no\)"):
        broken.round()
    empty = ColdStart("empty", "sqlite", [sys.executable, "-c", 'print({"data": 0})'], {})
    empty.last = b'{"data": {"items": []}}'
    with pytest.raises(DoesNotAddUp, match="no ready items"):
        empty.check()
