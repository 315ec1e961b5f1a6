"""Ledgers that go back in time, are copied, or change hands under a running worker (INV-14).

The request has left when the ledger forgets that it was intended. Nobody may send before a look-up.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.stores.postgres.test_forgetting import Copy
from tests.workers.ground import Ground, payload_of, reopened
from tests.workers.test_jobs import IDLE, run

from remit.core.commands import Recheck, ReleaseLease
from remit.core.effect_events import RetryDecided
from remit.core.facts import Item, Lease
from remit.core.refusals import Code, Refused
from remit.ports import RemitError, StoreUnavailable
from remit.ports.destination import NoAnswer, Request, Response
from remit.service.adoption import adopt
from remit.service.reconciling import Reconciler
from remit.service.submitting import Submitted, intent_of, submit
from remit.stores.sqlite.store import SqliteStore
from remit.wiring import Ledger, backup, destination, open_ledger, url_of
from remit.wiring.reaching import lookup
from remit.workers import App, Job
from remit.workers.main import make


class Recording:
    """The folder ``exports``, with a note of every request, and something that happens after one."""

    def __init__(self, ground: Ground) -> None:
        ground.folder_destination()
        self.there = destination(ground.document)
        self.name, self.enforced = self.there.name, self.there.enforced
        self.requests: list[Request] = []
        self.then: Callable[[], None] = lambda: None
        self.loses = False

    def send(self, request: Request) -> Response:
        self.requests.append(request)
        if self.loses:
            raise NoAnswer("nobody answered", "look it up")
        response = self.there.send(request)
        then, self.then = self.then, lambda: None
        then()
        return response

    def look_up(self, look_up: Any) -> Any:
        return self.there.look_up(look_up)


def app_of(there: Recording) -> App:
    app = App()
    app.destination("exports", there)

    @app.handler("export", destination="exports")
    def export(job: Job) -> None:
        job.send(payload_of(job.effect_id))

    return app


def work(ledger: Ledger, there: Recording, actor: str = "bot-1") -> list[dict[str, Any]]:
    """Run a worker on this handle of the ledger until it is idle or cannot go on."""
    events: list[dict[str, Any]] = []
    settings = replace(IDLE, reconcile=True, ttl_ms=2_000)
    make(
        ledger, actor, app_of(there), settings, lambda e, m: events.append({"event": e, **m})
    ).run()
    return events


def files_of(ground: Ground) -> Path:
    return ground.folder / "ledger.db"


def swapped(ground: Ground, copy: Path) -> None:
    """The usual restore: the files are exchanged for others."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{files_of(ground)}{ending}").unlink(missing_ok=True)
    shutil.copy(copy, files_of(ground))


def overwritten(ground: Ground, copy: Path) -> None:
    """``cp`` over the file that everybody has open, its log thrown away."""
    Path(f"{files_of(ground)}-wal").unlink(missing_ok=True)
    Path(f"{files_of(ground)}-shm").unlink(missing_ok=True)
    shutil.copyfile(copy, files_of(ground))


PUT_BACK = {"swapped": swapped, "overwritten": overwritten}


@pytest.mark.parametrize("way", list(PUT_BACK))
def test_inv_14_an_older_file_put_back_under_a_worker_sends_nothing_twice(
    ground: Ground, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.workers.worker.AWAY_S", 5.0)
    there = Recording(ground)
    item = ground.submit()
    copy = ground.folder / "old.db"
    assert isinstance(ground.ledger.store, SqliteStore)
    ground.ledger.store.close()
    shutil.copyfile(files_of(ground), copy)
    ledger = reopened(ground)
    there.then = lambda: PUT_BACK[way](ground, copy)
    with closing(ledger), pytest.raises(RemitError):
        work(ledger, there)
    assert len(there.requests) == 1
    after_restore(ground, there, item)


def test_inv_14_a_failover_that_lost_the_intent_sends_nothing_twice(
    postgres: Any, wiped: str, tmp_path: Path
) -> None:
    ground = Ground(tmp_path, postgres.url(wiped))
    there = Recording(ground)
    item = ground.submit()
    copy = Copy(ground.url)
    there.then = copy.put_back
    with closing(reopened(ground)) as ledger, pytest.raises(RemitError) as caught:
        work(ledger, there)
    assert caught.value.code is Code.LEDGER_NOT_ADOPTED
    assert len(there.requests) == 1
    after_restore(ground, there, item)
    ground.close()


def after_restore(ground: Ground, there: Recording, item: str) -> None:
    """Nobody works on it before it is adopted, and then it is looked up first."""
    with closing(reopened(ground)) as ledger:
        with pytest.raises(RemitError) as caught:
            work(ledger, there, "bot-2")
        assert caught.value.code is Code.LEDGER_NOT_ADOPTED
        taken = adopt(ledger.acting("ann"), "restored")
        assert isinstance(taken, dict), taken
        work(ledger, there, "bot-2")
        with ledger.reading() as tx:
            found = tx.load([("item", item)])["item", item]
    assert len(there.requests) == 1
    assert getattr(found, "status", "") == "verified", found


def test_inv_14_a_copy_beside_the_ledger_is_worked_on_by_nobody(ground: Ground) -> None:
    """A backup under a running worker, with its effect in flight."""
    there = Recording(ground)
    item = ground.submit()
    copies: list[Path] = []

    def back_up() -> None:
        with closing(open_ledger(ground.url)) as other:
            copies.append(ground.folder / "backup.db")
            backup(other, copies[0])

    there.then = back_up
    work(ground.ledger, there)
    assert ground.status(item) == "verified"
    with closing(open_ledger(url_of(copies[0]))) as copy:
        with copy.reading() as tx:
            found = tx.load([("item", item)])["item", item]
        assert isinstance(found, Item)
        lease = found.lease
        assert isinstance(lease, Lease)
        with pytest.raises(RemitError) as caught:
            copy.acting("bot-1").release(ReleaseLease(item, lease.fence, "back"))
        assert caught.value.code is Code.LEDGER_NOT_ADOPTED
        ground.until(lambda: later(copy) > lease.expires_at)
        with pytest.raises(RemitError) as caught:
            work(copy, there, "bot-2")
    assert caught.value.code is Code.LEDGER_NOT_ADOPTED
    assert len(there.requests) == 1


def later(ledger: Ledger) -> int:
    with ledger.reading() as tx:
        return tx.now()


def test_inv_14_reconcilers_that_race_come_to_one_decision(either: Ground) -> None:
    """Eight of them look the same absent effect up at once: one retry, one more request."""
    there = Recording(either)
    app = app_of(there)
    there.loses = True
    item = either.submit()
    run(either, app, max_jobs=1)
    there.loses = False
    assert str(either.effect().state) in ("INTENDED", "UNCERTAIN")
    start, answers = threading.Barrier(8), []

    def look() -> None:
        with closing(reopened(either)) as ledger:
            found = Reconciler(ledger.store, {"exports": lookup(there)}, lambda: 7)
            start.wait(60)
            answers.append(found.one("E-1"))

    racing = [threading.Thread(target=look) for _ in range(8)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join(60)
    assert len(answers) == 8
    taken = [a for a in answers if not isinstance(a, Refused)]
    assert taken, answers
    decided = [
        r
        for r in either.events("RetryDecided")
        if isinstance(r.event, RetryDecided) and r.event.decision == "RETRY"
    ]
    assert len(decided) == 1
    either.until(lambda: either.status(item) == "ready" or _rechecked(either, item))
    run(either, app, reconcile=True)
    assert either.status(item) == "verified"
    assert len(there.requests) == 2


def _rechecked(ground: Ground, item: str) -> bool:
    ground.ann.recheck(Recheck(item))
    return False


@pytest.mark.parametrize("jump_s", [-86_400, 86_400, 3_600 * 24 * 400])
def test_inv_14_a_wall_clock_that_jumps_makes_nothing_absent(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, jump_s: int
) -> None:
    """The in-flight bound and the lease are reckoned on the ledger's clock, which jumps with nobody."""
    there = Recording(ground)
    real = time.time_ns

    def jump() -> None:
        monkeypatch.setattr(time, "time_ns", lambda: real() + jump_s * 1_000_000_000)

    there.then = jump
    item = ground.submit()
    before = ground.now()
    work(ground.ledger, there)
    assert len(there.requests) == 1
    assert ground.status(item) == "verified"
    assert ground.now() - before < 3_600 * 1_000_000


def test_a_message_waits_on_another_handles_transaction_that_is_then_undone(
    either: Ground,
) -> None:
    """A unique insert against a transaction that later rolls back, on two connections of a store.

    A queue that asks "is it there?" of the other one's uncommitted row drops the message.
    """
    inside, undo = threading.Event(), threading.Event()

    def pause(step: str) -> None:
        if step == "before commit" and not inside.is_set():
            inside.set()
            assert undo.wait(60)
            raise StoreUnavailable("the machine went away", "ask again")

    store: Any = either.ledger.store
    store.pause = pause
    intent = intent_of(either.envelope(replay_class="PURE", destination=""))
    told: dict[str, Any] = {}

    def one(name: str, ledger: Ledger) -> None:
        try:
            told[name] = submit(ledger.acting("ann"), [intent])[0]
        except StoreUnavailable as error:
            told[name] = error

    with closing(reopened(either)) as other:
        first = threading.Thread(target=one, args=("first", either.ledger))
        first.start()
        assert inside.wait(60)
        second = threading.Thread(target=one, args=("second", other))
        second.start()
        either.until(lambda: waits(either))
        undo.set()
        first.join(60)
        second.join(60)
    assert isinstance(told["first"], StoreUnavailable)
    kept = told["second"]
    assert (kept.verdict, kept.repeated) == ("ADMIT", False)
    again = submit(either.ann, [intent])[0]
    assert isinstance(again, Submitted)
    assert (again.item, again.repeated) == (kept.item, True)
    assert len(either.events("IntentReceived")) == 1


def waits(ground: Ground) -> bool:
    """Whether somebody waits for the writer's lock, by what kernel or server say."""
    if not ground.url.startswith("postgresql"):
        return any(thread.name == "remit-lock" for thread in threading.enumerate())
    with psycopg.connect(ground.url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    return found is not None and found[0] > 0
