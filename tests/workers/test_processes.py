"""Worker processes that are paused, killed, stopped and restarted: INV-7, INV-10, INV-13, INV-14."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.destinations.processes import Service
from tests.destinations.subjects import http_document
from tests.ground.pausing import stop_between_writes
from tests.workers.ground import Ground, Worker, key_of

from remit.core import commands as c
from remit.core.effect_facts import EffectState

Start = Callable[..., Worker]
TOKEN = {"EXPORTS_TOKEN": "Bearer nobody"}
QUICK = ("--ttl", "1s")


class Place:
    """Where the effects of a test come about, and how many objects and requests there are."""

    def __init__(self, ground: Ground, service: Service | None, **enforces: Any) -> None:
        self.ground, self.service = ground, service
        if service is None:
            self.root = ground.folder / "exports"
            self.root.mkdir()
            self.document: dict[str, Any] = {
                "name": "exports", "kind": "filesystem", "record": "exports folder",
                "settings": {"root": str(self.root), "path": "{effect_id}.txt"},
            }  # fmt: skip
        else:
            self.document = http_document(service.url)
            said = self.document["enforces"] | enforces
            self.document["enforces"] = {k: v for k, v in said.items() if v is not None}
        ground.register(self.document)

    def objects(self, effect: str) -> int:
        if self.service is None:
            return len(list(self.root.glob(f"{effect}.txt")))
        return self.service.objects(key_of(effect))

    def made(self, effect: str) -> int:
        """How often it was made."""
        if self.service is None:
            return self.objects(effect)
        return sum(e["outcome"] == "made" for e in self.service.log(key_of(effect)))

    def arrived(self, effect: str) -> int:
        """Requests that reached it, as far as it tells."""
        return len(self.service.log(key_of(effect))) if self.service is not None else -1

    def env(self, point: str) -> dict[str, str]:
        return {**TOKEN, "POINT": point, "DOCUMENT": json.dumps(self.document)}


def cases(*quick: tuple[str, str]) -> Any:
    """Every kind of destination at every point; those that are not quick are the long form."""
    return pytest.mark.parametrize(
        ("kind", "point"),
        [
            pytest.param(k, p, marks=() if (k, p) in quick else pytest.mark.torture)
            for k in ("filesystem", "http")
            for p in ("begun", "intended", "sending")
        ],
    )


@pytest.fixture
def place(kind: str, ground: Ground, service: Service) -> Place:
    return Place(ground, service if kind == "http" else None)


def paused(ground: Ground, worker: Worker, point: str) -> None:
    """Stop a worker at its place, until its lease is over."""
    ground.until((ground.folder / f"at-{point}").exists)
    stop_between_writes(worker.process.pid, ground.folder / "ledger.db")
    (lease,) = ground.leases()

    def over() -> bool:
        with ground.ledger.reading() as tx:
            return tx.now() >= lease.expires_at

    ground.until(over)


def woken(ground: Ground, worker: Worker) -> int:
    """Let it go on, and see it end."""
    (ground.folder / "hold").unlink()
    worker.wake()
    return worker.ended()


def unique(ground: Ground) -> str:
    """An effect id that the shared service has not seen."""
    return f"E-{ground.ledger.store.ledger_id[:13]}"


@cases(
    ("filesystem", "intended"), ("filesystem", "sending"), ("http", "intended"), ("http", "sending")
)
def test_a_worker_paused_past_its_lease_adds_no_second_effect_after_another_took_over(
    ground: Ground, place: Place, start: Start, point: str
) -> None:
    effect = unique(ground)
    item = ground.submit(effect_id=effect)
    (ground.folder / "hold").touch()
    first = start(*QUICK, "--max-jobs", "1", **place.env(point))
    paused(ground, first, point)
    second = start(*QUICK, "--reconcile", actor="bot-2", **place.env(""))
    ground.until(lambda: ground.status(item) == "verified")
    fence = ground.effect(effect).fence
    assert woken(ground, first) == 0
    assert [e["event"] for e in first.events if e["event"] == "lost"] == ["lost"]
    second.signal(signal.SIGTERM)
    assert second.ended() == 0
    assert (place.objects(effect), place.made(effect)) == (1, 1)
    assert ground.status(item) == "verified"
    found = ground.effect(effect)
    assert (found.state, found.fence) == (EffectState.PRESENT, fence)
    assert len(ground.events("LateReportRecorded", item)) >= 1
    answers = [r.event.fence for r in ground.events("EffectAnswered")]  # type: ignore[attr-defined]  # of this type
    assert answers == [fence], "the first worker's report counts for nothing"
    if point != "sending":
        assert place.arrived(effect) in (1, -1), "the late worker sent nothing at all"


@cases(("filesystem", "begun"), ("filesystem", "intended"), ("http", "sending"))
def test_a_worker_paused_past_its_lease_can_do_nothing_though_nobody_took_over(
    ground: Ground, place: Place, start: Start, point: str
) -> None:
    effect = unique(ground)
    item = ground.submit(effect_id=effect)
    (ground.folder / "hold").touch()
    worker = start(*QUICK, "--max-jobs", "1", **place.env(point))
    paused(ground, worker, point)
    before = len(ground.events("LeaseRenewed"))
    assert woken(ground, worker) == 0
    assert ground.leases() == []
    assert len(ground.events("LeaseRenewed")) == before
    for kind in ("EffectAnswered", "LeaseReleased", "ItemTriaged", "EffectSent"):
        assert ground.events(kind) == [], kind
    assert len(ground.events("LateReportRecorded", item)) >= 1
    assert len(ground.events("EffectIntended")) == (point != "begun")
    assert ground.status(item) == ("ready" if point == "begun" else "held")
    assert place.made(effect) == (point == "sending"), "what had left is one effect, and no more"
    if point != "sending":
        assert place.arrived(effect) in (0, -1)
    finish = start("--reconcile", actor="bot-2", **place.env(""))
    ground.until(lambda: ground.status(item) == "verified")
    finish.signal(signal.SIGTERM)
    assert finish.ended() == 0
    assert (place.objects(effect), place.made(effect)) == (1, 1)


def test_no_retry_runs_beside_a_paused_attempt_where_nothing_bounds_it(
    ground: Ground, service: Service, start: Start
) -> None:
    nothing = dict.fromkeys(("fence", "idempotency_key", "request_expiry"), False)
    place = Place(ground, service, **nothing, key_retention_ms=None, in_flight_ms=None)
    effect = unique(ground)
    item = ground.submit(effect_id=effect)
    (ground.folder / "hold").touch()
    first = start(*QUICK, "--max-jobs", "1", **place.env("intended"))
    paused(ground, first, "intended")
    second = start(*QUICK, "--reconcile", actor="bot-2", **place.env(""))
    ground.until(lambda: len(ground.events("EffectObserved")) >= 2)
    assert (ground.status(item), ground.item(item).attempt) == ("held", 1)
    assert woken(ground, first) == 0
    second.signal(signal.SIGTERM)
    assert second.ended() == 0
    assert place.arrived(effect) == 0
    assert ground.item(item).attempt == 1


@pytest.mark.parametrize("how", ["raises", "returns"])
def test_a_zombie_changes_nothing_of_what_the_new_holder_did(
    ground: Ground, start: Start, how: str
) -> None:
    """Its failure does not overwrite the new holder, nor its result what was completed."""
    Place(ground, None)
    item = ground.pure()
    (ground.folder / "hold").touch()
    zombie = {"RAISES": "1"} if how == "raises" else {"RESULT": "the zombie's"}
    first = start(*QUICK, "--max-jobs", "1", POINT="begun", **zombie)
    paused(ground, first, "begun")
    second = start("--max-jobs", "1", actor="bot-2", TAKES="1" if how == "raises" else "0")
    second.saw("leased")
    if how == "returns":
        assert second.ended() == 0
    assert woken(ground, first) == 0
    assert second.ended() == 0
    assert [e["event"] for e in second.events if e["event"] == "reported"] == ["reported"]
    assert first.saw("lost")["reason"] in ("STALE_FENCE", "LEASE_EXPIRED")
    assert len(ground.events("EffectAnswered")) == 1
    assert (ground.status(item), ground.item(item).attempt) == ("held", 2)
    assert len(ground.events("LateReportRecorded", item)) >= 1


def test_a_worker_started_again_under_its_name_has_nothing_of_its_former_self(
    ground: Ground, start: Start
) -> None:
    place = Place(ground, None)
    item = ground.submit()
    (ground.folder / "hold").touch()
    first = start(*QUICK, "--max-jobs", "1", **place.env("begun"))
    paused(ground, first, "begun")
    again = start("--max-jobs", "1", **place.env(""))
    assert again.ended() == 0
    assert woken(ground, first) == 0
    assert first.saw("lost")["reason"] in ("STALE_FENCE", "LEASE_EXPIRED")
    assert len(ground.events("EffectIntended")) == 1
    assert ground.effect().fence == again.saw("leased")["fence"]
    assert ground.status(item) == "held"
    assert place.objects("E-1") == 1


def test_a_handler_that_kills_its_process_each_time_is_put_aside_after_the_bound(
    ground: Ground, start: Start
) -> None:
    Place(ground, None)
    item = ground.submit(replay_class="PURE", operation_id="die", destination="", payload_digest="")
    for attempt in range(1, 4):
        worker = start(*QUICK)
        assert worker.process.wait(60) == -signal.SIGKILL
        assert ground.item(item).attempt == attempt
    last = start(*QUICK)
    ground.until(lambda: ground.status(item) == "triaged")
    last.signal(signal.SIGTERM)
    assert last.ended() == 0
    assert last.of("leased") == []
    assert [r.event.triage_kind for r in ground.events("ItemTriaged")] == ["poison"]  # type: ignore[attr-defined]  # of this type
    assert len(ground.events("LeaseGranted")) == 3, "counted by leases"


def stuck(ground: Ground, start: Start, *options: str) -> tuple[str, str, Worker]:
    """A worker with two jobs that never return: one that sent nothing, one that intended."""
    Place(ground, None)
    pure = ground.submit(
        replay_class="PURE", operation_id="stick", destination="", payload_digest=""
    )
    effect = ground.submit(operation_id="stick")
    worker = start("--concurrency", "2", *options)
    for item in (pure, effect):
        ground.until((ground.folder / f"stuck-{item}").exists)
    return pure, effect, worker


@pytest.mark.parametrize("twice", [False, True])
def test_a_stop_leaves_no_active_job(ground: Ground, start: Start, twice: bool) -> None:
    pure, effect, worker = stuck(ground, start, "--grace", "30s" if twice else "1s")
    begun = time.monotonic()
    worker.signal(signal.SIGTERM)
    if twice:
        worker.saw("stopping")
        worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert time.monotonic() - begun < 29, "it waited for what never returns"
    assert ground.leases() == []
    assert (ground.status(pure), ground.item(pure).counted) == ("ready", 0)
    assert (ground.status(effect), ground.item(effect).attempt) == ("held", 1)
    assert worker.saw("stopped")["live_leases"] == []
    assert worker.saw("stopped")["still_running"] == 2


def test_a_stop_lets_what_runs_finish_and_takes_no_more(ground: Ground, start: Start) -> None:
    Place(ground, None)
    items = [ground.pure() for _ in range(3)]
    (ground.folder / "hold").touch()
    worker = start(POINT="begun")
    ground.until((ground.folder / "at-begun").exists)
    worker.signal(signal.SIGINT)
    worker.saw("stopping")
    (ground.folder / "hold").unlink()
    assert worker.ended() == 0
    assert sorted(ground.status(item) for item in items) == ["held", "ready", "ready"]
    assert worker.saw("stopped")["reported"] == 1
    assert ground.leases() == []


@pytest.mark.torture
def test_a_stop_with_the_store_away_says_which_leases_it_leaves(
    ground: Ground, start: Start
) -> None:
    """Nobody can end a lease in a ledger that cannot be written: it is said, and exits with 8."""
    Place(ground, None)
    item = ground.submit(
        replay_class="PURE", operation_id="stick", destination="", payload_digest=""
    )
    worker = start("--grace", "1s", "--ttl", "60s")
    ground.until((ground.folder / f"stuck-{item}").exists)
    with ground.ledger.store.write():  # the writer is held while it stops
        worker.signal(signal.SIGTERM)
        status = worker.ended(60)
    assert status == 8
    assert worker.saw("stopped")["live_leases"] != []
    assert ground.leases() != []


def test_many_workers_share_the_work_without_a_double(ground: Ground, start: Start) -> None:
    place = Place(ground, None)
    items = [ground.submit() for _ in range(40)]
    workers = [
        start("--concurrency", "4", "--reconcile", "--exit-when-idle", actor=f"bot-{n}", **place.env(""))
        for n in (1, 2)
    ]  # fmt: skip
    assert [worker.ended(60) for worker in workers] == [0, 0]
    assert {ground.status(item) for item in items} == {"verified"}
    assert all(ground.item(item).attempt == 1 for item in items)
    assert len(list(place.root.glob("*.txt"))) == 40


def test_a_limit_is_never_exceeded_by_several_workers(ground: Ground, start: Start) -> None:
    Place(ground, None)
    ground.ok(ground.ann.set_limit(c.SetLimit("class/STANDARD", concurrency=2)))
    for _ in range(12):
        ground.pure()
    workers = [
        start("--concurrency", "4", "--exit-when-idle", actor=f"bot-{n}", TAKES="0.05")
        for n in (1, 2)
    ]
    assert [worker.ended(60) for worker in workers] == [0, 0]
    live, most = 0, 0
    for recorded in ground.events():
        name = type(recorded.event).__name__
        live += name == "LeaseGranted"
        live -= name in ("ResponseReported", "LeaseReleased", "LeaseExpired")
        most = max(most, live)
    assert (live, most) == (0, 2)
