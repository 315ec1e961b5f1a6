"""A store that goes away, or does not say what became of a commit, at every call of a job (INV-9)."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tests.workers.ground import Ground, payload_of
from tests.workers.test_jobs import kinds, run, sending

from remit.core import effect_commands as k
from remit.core.commands import ReleaseLease
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.service.engine import Batch
from remit.service.operations import Operations
from remit.service.submitting import Submitted, intent_of, submit
from remit.workers import App, Job


class Trouble:
    """Lets calls with one sort of command fail, before or after they were committed."""

    def __init__(
        self, patch: pytest.MonkeyPatch, command: type, times: int, *, committed: bool
    ) -> None:
        self.command, self.left, self.committed = command, times, committed
        self._run = Operations.run
        self._observed = Operations.observed
        patch.setattr(Operations, "run", lambda o, *a, **h: self._call(self._run, o, a, h))
        patch.setattr(
            Operations, "observed", lambda o, *a, **h: self._call(self._observed, o, a, h)
        )

    def _call(self, real: Any, operations: Operations, given: Any, how: Any) -> Any:
        commands = given[0] if isinstance(given[0], list) else [given[0]]
        if self.left <= 0 or not any(isinstance(c, self.command) for c in commands):
            return real(operations, *given, **how)
        self.left -= 1
        if self.committed:
            real(operations, *given, **how)
            raise OutcomeUnknown("the line went dead", "repeat it with the same command id")
        raise StoreUnavailable("nobody answers", "wait")


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("command", [k.IntendEffect, k.ReportEffect])
def test_a_call_of_unknown_outcome_is_repeated_and_done_once(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, command: type, committed: bool
) -> None:
    app, requests = sending(ground)
    item = ground.submit()
    Trouble(monkeypatch, command, 3, committed=committed)
    report, _ = run(ground, app)
    assert report.as_data()["reported"] == 1
    assert len(requests) == 1
    assert kinds(ground, "EffectIntended", "EffectSent", "EffectAnswered") == [
        "EffectIntended", "EffectSent", "EffectAnswered",
    ]  # fmt: skip
    assert ground.status(item) == "held"


@pytest.mark.parametrize("committed", [True, False])
def test_nothing_is_sent_when_nobody_can_say_that_the_intent_is_on_record(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    app, requests = sending(ground)
    ground.submit()
    monkeypatch.setattr("remit.workers.keeping.Keeper._renew", lambda *_: None)
    Trouble(monkeypatch, k.IntendEffect, 10_000, committed=committed)
    report, _ = run(ground, app, ttl_ms=1_000, max_jobs=1)
    assert requests == []
    assert report.as_data()["lost"] + report.as_data()["uncertain"] == 1
    assert kinds(ground, "EffectSent", "EffectAnswered") == []


def test_a_lease_whose_grant_was_never_answered_is_found_and_handed_back(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.core.commands import GrantLease

    app = App()
    app.handler("count")(lambda _job: "1")
    item = ground.pure()
    monkeypatch.setattr("remit.workers.worker.UNKNOWN_S", 0.2)
    Trouble(monkeypatch, GrantLease, 10_000, committed=True)
    with pytest.raises(OutcomeUnknown):
        run(ground, app)
    assert ground.leases() == []
    assert ground.status(item) == "ready"
    assert len(ground.events("LeaseGranted")) == 1


@pytest.mark.parametrize("seconds", [0.3, 60.0])
def test_a_worker_that_looks_for_work_waits_for_its_store_and_not_for_ever(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    from remit.workers.choosing import Chooser

    app = App()
    app.handler("count")(lambda _job: "1")
    item = ground.pure()
    looked, asked = Chooser.look, list[float]()

    def away(*given: Any) -> Any:
        asked.append(time.monotonic())
        if (
            seconds < 1 or asked[-1] < asked[0] + 1
        ):  # back a second after it was asked first, or never
            raise StoreUnavailable("nobody answers", "wait")
        return looked(*given)

    monkeypatch.setattr("remit.workers.worker.AWAY_S", seconds)
    monkeypatch.setattr(Chooser, "look", away)
    if seconds < 1:
        with pytest.raises(StoreUnavailable):
            run(ground, app)
        assert ground.status(item) == "ready"
    else:
        _, events = run(ground, app)
        assert [e["event"] for e in events if e["event"] == "store-away"] == ["store-away"]
        assert ground.status(item) == "held"


def test_a_stop_that_cannot_hand_back_names_the_lease(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from tests.workers.test_jobs import IDLE

    from remit.workers.main import make

    app, goes_on = App(), threading.Event()

    @app.handler("count")
    def stuck(_job: Job) -> str:
        goes_on.wait(60)
        return "1"

    ground.pure()
    monkeypatch.setattr("remit.workers.leaving.LAST_S", 0.2)
    worker = make(ground.ledger, "bot-1", app, replace(IDLE, exit_when_idle=False, grace_s=0.1))
    runs = threading.Thread(target=worker.run)
    runs.start()
    ground.until(ground.leases)
    (lease,) = ground.leases()
    trouble = Trouble(monkeypatch, ReleaseLease, 10_000, committed=False)
    worker.stop()
    runs.join(60)
    trouble.left = 0
    goes_on.set()
    assert worker._report.left == (lease.id,)
    ground.until(lambda: not worker._running)


def test_a_message_that_waited_on_one_that_was_rolled_back_is_stored(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unique insert against a transaction that rolls back later: neither is lost nor doubled."""
    stored, first = Batch.store, threading.Event()

    def failing(batch: Batch) -> None:
        stored(batch)
        if not first.is_set():
            first.set()
            time.sleep(0.2)  # the second one waits behind it by now
            raise StoreUnavailable("the disk went away", "ask again")

    monkeypatch.setattr(Batch, "store", failing)
    intent = intent_of(ground.envelope(replay_class="PURE", destination=""))
    told: list[Any] = []

    def one(wait: threading.Event | None) -> None:
        if wait is not None:
            wait.wait(60)
        try:
            told.append(submit(ground.ann, [intent])[0])
        except StoreUnavailable as error:
            told.append(error)

    threads = [threading.Thread(target=one, args=(wait,)) for wait in (None, first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (kept,) = [t for t in told if isinstance(t, Submitted)]
    (gone,) = [t for t in told if not isinstance(t, Submitted)]
    assert isinstance(gone, StoreUnavailable)
    assert (kept.verdict, kept.repeated) == ("ADMIT", False)
    again = submit(ground.ann, [intent])[0]
    assert isinstance(again, Submitted)
    assert (again.item, again.repeated) == (kept.item, True)
    assert payload_of("E-1")
