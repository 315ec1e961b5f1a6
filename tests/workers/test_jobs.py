"""Handlers and what becomes of their jobs, on a real ledger and folder, within this process."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.workers.ground import Ground, payload_of

import remit
from remit.core import commands as c
from remit.core.effect_facts import EffectState
from remit.core.refusals import Code
from remit.ports import RemitError
from remit.ports.destination import Answered, NoAnswer, NotSent, Reason, Request, Response
from remit.service.group import GroupEngine
from remit.wiring import destination
from remit.workers import (
    AlreadySent,
    App,
    AsyncJob,
    GiveUp,
    HandBack,
    IntentRefused,
    Job,
    LeaseLost,
    Settings,
)
from remit.workers.leaving import Report
from remit.workers.main import make

IDLE = Settings(exit_when_idle=True, shortest_s=0.01, longest_s=0.05, grace_s=5)


def run(ground: Ground, app: App, **settings: Any) -> tuple[Report, list[dict[str, Any]]]:
    """Run a worker until nothing is left to do."""
    events: list[dict[str, Any]] = []
    chosen = replace(IDLE, **settings)
    worker = make(ground.ledger, "bot-1", app, chosen, lambda e, more: events.append({"event": e, **more}))  # fmt: skip
    report = worker.run()
    assert ground.leases() == [], "no lease of it is live"
    return report, events


def sending(ground: Ground, raises: Exception | None = None, after: bool = False) -> tuple[App, list[Request]]:  # fmt: skip
    """An app whose destination is the folder behind something that may fail."""
    root = ground.folder_destination()
    there = destination(
        {
            "name": "exports", "kind": "filesystem", "record": "exports folder",
            "settings": {"root": str(root), "path": "{effect_id}.txt"},
        }
    )  # fmt: skip
    requests: list[Request] = []

    class Wrapped:
        name, enforced, look_up = there.name, there.enforced, staticmethod(there.look_up)

        def send(self, request: Request) -> Response:
            requests.append(request)
            if raises is not None and not after:
                raise raises
            response = there.send(request)
            if raises is not None:
                raise raises
            return response

    app = remit.App()
    app.destination("exports", Wrapped())

    @app.handler("export", destination="exports")
    def export(job: Job) -> None:
        job.send(payload_of(job.effect_id))

    return app, requests


def kinds(ground: Ground, *names: str) -> list[str]:
    return [type(r.event).__name__ for r in ground.events() if type(r.event).__name__ in names]


def test_an_effect_is_intended_sent_answered_and_found(ground: Ground) -> None:
    app, requests = sending(ground)
    item = ground.submit()
    report, events = run(ground, app, reconcile=True)
    assert ground.status(item) == "verified"
    order = kinds(ground, "LeaseGranted", "EffectIntended", "EffectSent", "EffectAnswered", "EffectObserved")  # fmt: skip
    assert order == ["LeaseGranted", "EffectIntended", "EffectSent", "EffectAnswered", "EffectObserved"]  # fmt: skip
    (request,) = requests
    effect = ground.effect()
    assert (request.key, request.fence) == (effect.key, effect.fence)
    assert request.expires_at is not None
    assert effect.request_expires_at is not None
    assert request.expires_at <= effect.request_expires_at
    assert report.as_data()["reported"] == 1
    assert [e["event"] for e in events if e["event"] in ("leased", "reported", "observed")] == [
        "leased", "reported", "observed",
    ]  # fmt: skip
    assert ground.effect().response == "E-1.txt"


def test_the_intent_is_on_the_ledger_before_anything_leaves(ground: Ground) -> None:
    root = ground.folder_destination()
    states: list[str] = []

    class Looking:
        name = "exports"

        def __init__(self) -> None:
            self.enforced = there.enforced
            self.look_up = there.look_up

        def send(self, request: Request) -> Response:
            states.append(str(ground.effect().state))
            return there.send(request)

    there = destination(
        {
            "name": "exports", "kind": "filesystem", "record": "exports folder",
            "settings": {"root": str(root), "path": "{effect_id}.txt"},
        }
    )  # fmt: skip
    app = App()
    app.destination("exports", Looking())
    app.handler("export", destination="exports")(lambda job: job.send(payload_of(job.effect_id)))
    ground.submit()
    run(ground, app)
    assert states == ["INTENDED"]


@pytest.mark.parametrize("after", [False, True])
def test_a_lost_answer_is_uncertain_and_never_a_failure(ground: Ground, after: bool) -> None:
    app, requests = sending(ground, NoAnswer("nobody answered"), after)
    item = ground.submit()
    report, _ = run(ground, app)
    assert (ground.status(item), ground.effect().state) == ("held", EffectState.UNCERTAIN)
    assert report.as_data()["uncertain"] == 1
    assert kinds(ground, "EffectSent", "EffectUncertain", "WorkerTerminated", "LeaseReleased") == [
        "EffectSent", "EffectUncertain", "WorkerTerminated", "EffectUncertain", "LeaseReleased",
    ]  # fmt: skip
    assert len(requests) == 1


def test_a_request_that_arrived_without_an_answer_is_found_and_not_sent_again(
    ground: Ground,
) -> None:
    app, requests = sending(ground, NoAnswer("nobody answered"), after=True)
    item = ground.submit()
    run(ground, app, reconcile=True)
    assert ground.status(item) == "verified"
    assert len(requests) == 1


def test_what_never_left_is_said_to_be_uncertain_and_is_sent_again_once_it_was_looked_up(
    ground: Ground,
) -> None:
    app, requests = sending(ground, NotSent("no connection"))
    item = ground.submit()
    run(ground, app)
    assert kinds(ground, "EffectSent") == []
    assert ground.effect().state is EffectState.UNCERTAIN
    whole, sent = sending_again(ground)
    run(ground, whole, reconcile=True)

    def verified() -> bool:
        run(ground, whole, reconcile=True)
        return ground.status(item) == "verified"

    ground.until(verified)
    assert len(requests) == len(sent) == 1
    assert ground.item(item).attempt == 2


def sending_again(ground: Ground) -> tuple[App, list[str]]:
    """An app on the registered document itself, and what it sent."""
    app, sent = App(), list[str]()

    @app.handler("export", destination="exports")
    def export(job: Job) -> None:
        sent.append(job.effect_id)
        job.send(payload_of(job.effect_id))

    return app, sent


def test_a_destinations_no_is_a_response_and_its_worth_is_looked_up(ground: Ground) -> None:
    app, _ = sending(ground, Answered(Reason.REJECTED, "not like this"))
    item = ground.submit()
    run(ground, app)
    assert ground.status(item) == "held"
    assert ground.effect().response == "REJECTED"
    assert ground.effect().state is EffectState.INTENDED


def test_a_second_send_of_one_job_is_refused_before_anything_leaves(ground: Ground) -> None:
    app, requests = sending(ground)
    app.handlers.clear()
    raised: list[type[BaseException]] = []

    @app.handler("export", destination="exports")
    def twice(job: Job) -> None:
        job.send(payload_of(job.effect_id))
        for _ in range(2):
            try:
                job.send(payload_of(job.effect_id))
            except (AlreadySent, LeaseLost) as error:
                raised.append(type(error))

    ground.submit()
    run(ground, app)
    assert len(requests) == 1
    assert raised == [LeaseLost, LeaseLost]


def test_two_threads_of_one_handler_send_once(ground: Ground) -> None:
    app, requests = sending(ground)
    app.handlers.clear()
    raised: list[str] = []

    @app.handler("export", destination="exports")
    def both(job: Job) -> None:
        gate = threading.Barrier(4)

        def go() -> None:
            gate.wait()
            try:
                job.send(payload_of(job.effect_id))
            except RemitError as error:
                raised.append(type(error).__name__)

        threads = [threading.Thread(target=go) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ground.submit()
    run(ground, app)
    assert len(requests) == 1
    assert len(raised) == 3
    assert len(kinds(ground, "EffectIntended")) == 1


def test_nothing_is_sent_when_the_intent_is_refused(ground: Ground) -> None:
    app, requests = sending(ground)
    app.handlers.clear()
    codes: list[Code] = []

    @app.handler("export", destination="exports")
    def other(job: Job) -> None:
        try:
            job.send(b"something else than was accepted")
        except IntentRefused as error:
            codes.append(error.code)
            raise

    item = ground.submit()
    report, _ = run(ground, app, max_jobs=1)
    assert (codes, requests) == ([Code.EFFECT_CONFLICT], [])
    assert report.as_data()["failed"] == 1
    assert (ground.item(item).attempt, ground.item(item).counted) == (1, 1)


def test_a_kill_switch_before_the_intent_hands_the_work_back_uncounted(ground: Ground) -> None:
    app, requests = sending(ground)
    app.handlers.clear()

    @app.handler("export", destination="exports")
    def stopped(job: Job) -> None:
        ground.ok(ground.ann.engage_kill_switch())
        job.send(payload_of(job.effect_id))

    item = ground.submit()
    report, events = run(ground, app)
    assert requests == []
    assert report.as_data()["handed_back"] == 1
    assert (ground.status(item), ground.item(item).counted) == ("ready", 0)
    assert "kill-switch" in [e["event"] for e in events]


def test_an_error_of_a_handler_is_reported_and_counts_until_the_work_is_put_aside(
    ground: Ground,
) -> None:
    app = App()

    @app.handler("count")
    def broken(_job: Job) -> None:
        raise ValueError("x" * 5_000 + "\0")

    item = ground.pure()
    report, events = run(ground, app, max_jobs=3, exit_when_idle=False)
    assert report.as_data()["failed"] == 3
    assert ground.status(item) == "triaged"
    assert [r.event.triage_kind for r in ground.events("ItemTriaged")] == ["poison"]  # type: ignore[attr-defined]  # of this type
    texts = [r.event.text for r in ground.events("ProgressReported")]  # type: ignore[attr-defined]  # of this type
    assert [len(text) for text in texts] == [1_000] * 3
    assert all(text.startswith("ValueError: xxx") for text in texts)
    failed = [e for e in events if e["event"] == "failed"]
    assert failed[0]["reason"] == "HANDLER_RAISED"


def test_an_error_after_the_intent_leaves_the_effect_uncertain(ground: Ground) -> None:
    ground.folder_destination()
    app = App()

    @app.handler("export")
    def own(job: Job) -> None:
        job.intend()
        job.note_sent()
        raise RuntimeError("the connection broke")

    item = ground.submit()
    run(ground, app)
    assert (ground.status(item), ground.effect().state) == ("held", EffectState.UNCERTAIN)
    event = ground.events("EffectUncertain")[0].event
    assert "RuntimeError: the connection broke" in event.reason  # type: ignore[attr-defined]  # of this type


def test_a_handler_that_sends_by_itself_says_each_step(ground: Ground) -> None:
    ground.folder_destination()
    app = App()

    @app.handler("export")
    def own(job: Job) -> None:
        job.intend()
        job.note_sent()
        job.answered("201 Created", "Location: /records/1")

    item = ground.submit()
    run(ground, app)
    assert ground.status(item) == "held"
    assert ground.effect().response == "201 Created"


@pytest.mark.parametrize("how", ["returns", "intends"])
def test_a_handler_that_returns_without_an_answer(ground: Ground, how: str) -> None:
    ground.folder_destination()
    app = App()

    @app.handler("export")
    def silent(job: Job) -> None:
        if how == "intends":
            job.intend()

    item = ground.submit()
    report, _ = run(ground, app, max_jobs=1)
    if how == "intends":
        assert (ground.status(item), ground.effect().state) == ("held", EffectState.UNCERTAIN)
    else:
        assert report.as_data()["failed"] == 1
        assert ground.item(item).counted == 1


def test_a_handler_may_give_up_or_hand_back(ground: Ground) -> None:
    app = App()

    @app.handler("count")
    def choosy(job: Job) -> None:
        raise GiveUp("nobody can count this") if job.effect_id == "E-1" else HandBack("not here")

    given_up, back = ground.pure(), ground.pure()
    report, _ = run(ground, app, max_jobs=2, concurrency=2)
    assert ground.status(given_up) == "triaged"
    assert (ground.status(back), ground.item(back).counted) == ("ready", 0)
    assert (report.as_data()["given_up"], report.as_data()["handed_back"]) == (1, 1)


@pytest.mark.parametrize(
    ("result", "text"),
    [("42", "42"), (b"bytes", "bytes"), ({"b": 1, "a": "ü"}, '{"a":"ü","b":1}'), (None, "null"), ("", "")],
)  # fmt: skip
def test_pure_work_ships_on_the_digest_of_what_was_returned(
    ground: Ground, result: object, text: str
) -> None:
    app = App()
    app.handler("count")(lambda _job: result)
    item = ground.pure()
    run(ground, app, reconcile=True)
    assert ground.status(item) == "verified"
    (event,) = [r.event for r in ground.events("EffectAnswered")]
    assert event.result_digest == hashlib.sha256(text.encode()).hexdigest()  # type: ignore[attr-defined]  # of this type


@pytest.mark.parametrize("result", [object(), float("nan"), "\ud800"])
def test_a_result_that_nothing_can_hold_is_a_failure(ground: Ground, result: object) -> None:
    app = App()
    app.handler("count")(lambda _job: result)
    item = ground.pure()
    report, _ = run(ground, app, max_jobs=1)
    assert report.as_data()["failed"] == 1
    assert ground.item(item).counted == 1


def test_pure_work_is_taken_in_the_commit_of_the_result_before(ground: Ground) -> None:
    app = App()
    app.handler("count")(lambda _job: "1")
    for _ in range(20):
        ground.pure()
    before = ground.ledger.engine.groups  # type: ignore[attr-defined]  # it is a GroupEngine
    report, _ = run(ground, app)
    assert report.as_data()["reported"] == 20
    commits = ground.ledger.engine.groups - before  # type: ignore[attr-defined]  # it is a GroupEngine
    assert commits < 35, "one for each turn-around, not one for a report and one for a lease"


def test_reports_of_many_handlers_share_commits(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them stand in line at one time, and whoever leads them takes them along."""
    app, done, gather = App(), threading.Event(), GroupEngine._gather
    gate = threading.Barrier(8, action=done.set)

    @app.handler("count")
    def together(_job: Job) -> str:
        gate.wait(60)
        return "1"

    def gathered(engine: GroupEngine) -> Any:
        if done.is_set():
            ground.until(lambda: len(engine._waiting) >= 8)
            done.clear()
        return gather(engine)

    for _ in range(8):
        ground.pure()
    ground.ledger.settings = replace(ground.ledger.settings, group_wait_ms=200)
    ground.ledger._engine = None
    monkeypatch.setattr(GroupEngine, "_gather", gathered)
    run(ground, app, concurrency=8)
    engine = ground.ledger.engine
    assert isinstance(engine, GroupEngine)
    assert engine.grouped_calls > engine.groups + 4


def test_the_end_of_the_last_job_is_told_before_that_of_the_worker(ground: Ground) -> None:
    """A thread that is held up when it tells would else be outrun by the end of its process."""
    app, told, stopped = App(), list[str](), threading.Event()
    app.handler("count")(lambda _job: "1")

    def tell(event: str, _more: dict[str, Any]) -> None:
        if event == "reported":
            stopped.wait(1)
        told.append(event)
        if event == "stopped":
            stopped.set()

    ground.pure()
    make(ground.ledger, "bot-1", app, replace(IDLE, max_jobs=1), tell).run()
    assert told[-1] == "stopped"
    assert told.count("reported") == 1


def test_spend_goes_with_the_report(ground: Ground) -> None:
    ground.ok(ground.ann.set_limit(c.SetLimit("class/STANDARD", spend_micros=10_000)))
    app = App()

    @app.handler("count")
    def costly(job: Job) -> str:
        job.spent(300)
        job.progress("half way")
        job.spent(700)
        return "1"

    ground.pure(spend_micros=1_000)
    run(ground, app)
    settled = [r.event.spent_micros for r in ground.events("SpendSettled")]  # type: ignore[attr-defined]  # of this type
    assert settled == [300, 700]


@pytest.mark.parametrize("micros", [-1, 1.5, True])
def test_spend_that_is_no_amount_is_refused(ground: Ground, micros: Any) -> None:
    app, told = App(), list[Code]()

    @app.handler("count")
    def wrong(job: Job) -> str:
        try:
            job.spent(micros)
        except RemitError as error:
            told.append(error.code)
        return "1"

    ground.pure()
    run(ground, app)
    assert told == [Code.BAD_INPUT]


def test_async_handlers_share_a_loop_and_the_order_of_sending(ground: Ground) -> None:
    root = ground.folder_destination()
    app, at_once = App(), [0, 0]

    @app.handler("export", destination="exports")
    async def export(job: AsyncJob) -> None:
        at_once[0] += 1
        at_once[1] = max(at_once)
        until = time.monotonic() + 60
        while at_once[1] < 2 and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await job.progress("half way")
        await job.send(payload_of(job.effect_id))
        at_once[0] -= 1

    items = [ground.submit() for _ in range(4)]
    run(ground, app, concurrency=4, reconcile=True)
    assert {ground.status(item) for item in items} == {"verified"}
    assert len(list(root.glob("*.txt"))) == 4
    assert at_once[1] > 1


def test_a_lease_is_renewed_while_the_handler_is_busy(ground: Ground) -> None:
    """The lease is shorter than the run: the visibility time-out of a queue, kept up."""
    app = App()

    @app.handler("count")
    def slow(_job: Job) -> str:
        ground.until(lambda: len(ground.events("LeaseRenewed")) >= 3)
        return "1"

    item = ground.pure()
    report, _ = run(ground, app, ttl_ms=3_000)
    assert report.as_data()["reported"] == 1
    assert ground.item(item).attempt == 1
    assert len(ground.events("LeaseRenewed")) >= 3


def test_a_blocked_event_loop_loses_no_lease(ground: Ground) -> None:
    app = App()

    @app.handler("count")
    async def blocking(_job: AsyncJob) -> str:
        time.sleep(4)  # that is the fault
        return "1"

    item = ground.pure()
    report, _ = run(ground, app, ttl_ms=3_000)
    assert report.as_data()["reported"] == 1
    assert ground.item(item).attempt == 1


def test_a_heartbeat_slower_than_the_lease_tells_the_job_and_revives_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.workers.keeping.Keeper._renew", lambda *_: None)
    app, requests = sending(ground)
    app.handlers.clear()
    told: list[tuple[bool, str]] = []

    @app.handler("export", destination="exports")
    def slow(job: Job) -> None:
        while not job.wait(0.1):
            pass
        told.append((job.lost, job.stop_reason))
        job.send(payload_of(job.effect_id))

    item = ground.submit()
    report, _ = run(ground, app, ttl_ms=1_000, max_jobs=1)
    assert told == [(True, "LEASE_EXPIRED")]
    assert requests == []
    assert report.as_data()["lost"] == 1
    assert kinds(ground, "EffectIntended") == []
    assert len(ground.events("LateReportRecorded")) == 1
    assert (ground.status(item), ground.item(item).counted) == ("ready", 1)


def test_a_refused_renewal_tells_the_job(ground: Ground) -> None:
    app, told = App(), list[tuple[bool, str]]()

    @app.handler("count")
    def patient(job: Job) -> str:
        ground.ok(ground.ann.engage_kill_switch())
        while not job.wait(0.1):
            pass
        told.append((job.lost, job.stop_reason))
        return "1"

    item = ground.pure()
    run(ground, app, ttl_ms=6_000)
    assert told == [(False, "KILL_SWITCH_ON")]
    assert ground.status(item) == "held", "what was done in time still counts"


def test_the_longest_lease_of_the_policy_is_a_bound(ground: Ground) -> None:
    from remit.core.facts import Ledger, Policy

    with ground.ledger.reading() as tx:
        ledger = tx.load([("ledger", "ledger")])["ledger", "ledger"]
    assert isinstance(ledger, Ledger)
    policy: Policy = replace(ledger.policy, ttl_ms=3_000, longest_lease_ms=5_000)
    ground.ok(ground.ann.run(c.SetPolicy(policy)))
    app, told = App(), list[str]()

    @app.handler("count")
    def long(job: Job) -> None:
        while not job.lost:
            job.wait(0.1)
            told.append(job.stop_reason)

    ground.pure()
    run(ground, app, ttl_ms=3_000, max_jobs=1)
    assert "LEASE_TOO_LONG" in told


def test_a_job_that_another_worker_must_do_blocks_nothing_behind_it(ground: Ground) -> None:
    """Head of line: two hundred jobs that nobody here can do stand before one that can be done."""
    app = App()
    app.handler("count")(lambda _job: "1")
    for _ in range(230):
        ground.submit(replay_class="PURE", operation_id="paint", destination="", payload_digest="")
    mine = ground.pure()
    run(ground, app)
    assert ground.status(mine) == "held"
    assert len(ground.events("LeaseGranted")) == 1


def test_a_class_at_its_limit_blocks_no_other(ground: Ground) -> None:
    ground.ok(ground.ann.set_limit(c.SetLimit("class/STANDARD", concurrency=1)))
    app, order = App(), list[str]()

    @app.handler("count")
    def work(job: Job) -> str:
        order.append(job.item.work_class)
        until = time.monotonic() + 60
        while len(order) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        return "1"

    for _ in range(3):
        ground.pure()
    ground.pure(priority_class="BULK")
    run(ground, app, concurrency=2)
    assert order[:2] in (["STANDARD", "BULK"], ["BULK", "STANDARD"])
    assert len(order) == 4


def test_fresh_urgent_work_does_not_starve_what_is_older(ground: Ground) -> None:
    from remit.core.facts import Ledger

    with ground.ledger.reading() as tx:
        ledger = tx.load([("ledger", "ledger")])["ledger", "ledger"]
    assert isinstance(ledger, Ledger)
    policy = replace(ledger.policy, age_step_ms=50)
    ground.ok(ground.ann.run(c.SetPolicy(policy)))
    app, order = App(), list[str]()

    @app.handler("count")
    def work(job: Job) -> str:
        order.append(job.item.id)
        if len(order) < 30:  # another urgent one comes while each is done
            ground.pure(priority=0)
            time.sleep(0.02)
        return "1"

    old = ground.pure(priority=4)
    for _ in range(5):
        ground.pure(priority=0)
    run(ground, app, max_jobs=30)
    assert old in order[:25]


def test_only_the_classes_and_tenants_that_were_named_are_taken(ground: Ground) -> None:
    app = App()
    app.handler("*")(lambda _job: "1")
    items = {
        (own, tenant): ground.pure(priority_class=own, tenant=tenant)
        for own in ("STANDARD", "BULK")
        for tenant in ("red", "blue")
    }
    run(ground, app, classes=frozenset(("BULK",)), tenants=frozenset(("red",)))
    held = [pair for pair, item in items.items() if ground.status(item) == "held"]
    assert held == [("BULK", "red")]


def test_handlers_are_found_by_operation_and_class(ground: Ground) -> None:
    app, found = App(), dict[str, str]()

    def noting(name: str) -> Callable[[Job], str]:
        def work(job: Job) -> str:
            found[job.envelope.operation_id + "/" + job.item.work_class] = name
            return "1"

        return work

    app.handler("count-*")(noting("pattern"))
    app.handler("count-sheep")(noting("exact"))
    app.handler(work_class="BULK")(noting("class"))
    for operation, own in (
        ("count-sheep", "STANDARD"),
        ("count-cows", "STANDARD"),
        ("paint", "BULK"),
    ):
        ground.submit(
            replay_class="PURE", operation_id=operation, destination="", payload_digest="",
            priority_class=own,
        )  # fmt: skip
    run(ground, app)
    assert found == {
        "count-sheep/STANDARD": "exact", "count-cows/STANDARD": "pattern", "paint/BULK": "class",
    }  # fmt: skip


def test_work_for_another_destination_is_passed_over_and_told(ground: Ground) -> None:
    ground.folder_destination("exports")
    ground.folder_destination("elsewhere")
    app = App()
    app.handler("export", destination="elsewhere")(lambda job: job.send(b""))
    item = ground.submit()
    _, events = run(ground, app)
    assert [e["wants"] for e in events if e["event"] == "passed-over"] == ["exports"]
    assert ground.status(item) == "ready"


def test_the_document_that_was_submitted_is_at_hand(ground: Ground) -> None:
    app, seen = App(), list[bytes | None]()

    @app.handler("count")
    def reading(job: Job) -> str:
        seen.append(job.document)
        return "1"

    ground.submit("sheep: 3\n", replay_class="PURE", operation_id="count", destination="", payload_digest="")  # fmt: skip
    ground.pure()
    run(ground, app)
    assert seen == [b"sheep: 3\n", None]


def on_hold(ground: Ground) -> str:
    """PURE work whose time comes soon; later, where a busy machine was slower than that."""
    for soon_us in (400_000, 4_000_000, 40_000_000):
        soon = ground.now() + soon_us
        (told,) = ground.told(replay_class="PURE", operation_id="count", not_before=soon)
        if told.verdict == "HOLD":
            return str(told.item)
        ground.ok(ground.ann.close(c.CloseItem(told.item, "cancelled", c.Text("too early"))))
    raise AssertionError("its time had come each time")


def test_time_that_has_come_is_noticed_by_an_idle_worker(ground: Ground) -> None:
    app = App()
    app.handler("count")(lambda _job: "1")
    item = on_hold(ground)
    run(ground, app, max_jobs=1, exit_when_idle=False)
    assert ground.status(item) == "held"
    assert len(ground.events("LeaseGranted")) == 1


def test_an_adapter_that_keeps_less_than_is_registered_is_refused(ground: Ground) -> None:
    root = ground.folder_destination()
    document = {
        "name": "exports", "kind": "http", "record": "exports folder",
        "settings": {"send_url": "http://127.0.0.1:9/effects"}, "enforces": {"in_flight_ms": 10},
    }  # fmt: skip
    app = App()
    app.destination("exports", document)
    app.handler("export", destination="exports")(lambda job: job.send(b""))
    with pytest.raises(RemitError) as raised:
        make(ground.ledger, "bot-1", app)
    assert raised.value.code is Code.BAD_INPUT
    faults = " ".join(raised.value.details["faults"])
    for word in ("idempotency_key", "fence", "lookup", "request_expiry", "receipt", "in_flight_ms"):
        assert word in faults
    assert root.exists()


def test_nobody_works_under_a_name_of_remits_own_or_of_nobody(ground: Ground) -> None:
    app = App()
    app.handler("count")(lambda _job: "1")
    for name, code in (("remit-queue", Code.ACTOR_KIND_REFUSED), ("nobody", Code.ACTOR_UNKNOWN)):
        with pytest.raises(RemitError) as raised:
            make(ground.ledger, name, app)
        assert raised.value.code is code


def test_two_handlers_of_the_same_work_are_refused() -> None:
    app = App()
    app.handler("count")(lambda _job: "1")
    for operation in ("count", ""):
        with pytest.raises(RemitError) as raised:
            app.handler(operation)(lambda _job: "2")
        assert raised.value.code is Code.BAD_INPUT
