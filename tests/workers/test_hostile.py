"""Handlers and destinations that misbehave as they please: no thread of a worker ends by it (INV-14).

Whatever a handler returns, raises or forks, its lease ends by what came of it, and the worker goes on to
other work. Whatever a destination answers, nothing is sent twice, and each look-up is an observation.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.workers.ground import Ground, payload_of
from tests.workers.test_jobs import run

from remit.core.effect_facts import EffectState
from remit.ports.destination import Destination, LookUp, Request, Response, Seen
from remit.stores.sqlite.lock import WriterLock
from remit.wiring import destination
from remit.workers import App, GiveUp, HandBack, Job


class SpeechlessError(Exception):
    """An error that cannot even be told."""

    def __str__(self) -> str:
        raise RuntimeError("not a word")


class Unfit(dict[str, int]):
    """A result whose own methods raise."""

    def items(self) -> Any:
        raise OSError("no")


def too_deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


def raising(error: BaseException) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


ACTS: dict[str, tuple[Callable[[], object], str]] = {
    "too deep for JSON": (too_deep, "RESULT_UNFIT"),
    "a class that raises": (lambda: Unfit(a=1), "RESULT_UNFIT"),
    "no JSON": (lambda: {1, 2}, "RESULT_UNFIT"),
    "no text": (lambda: "\ud800", "RESULT_UNFIT"),
    "an error that says nothing": (raising(SpeechlessError()), "HANDLER_RAISED"),
    "sys.exit": (lambda: sys.exit(3), "HANDLER_RAISED"),
    "an interrupt": (raising(KeyboardInterrupt()), "HANDLER_RAISED"),
    "any other BaseException": (raising(BaseException("odd")), "HANDLER_RAISED"),
    "ten megabytes of error": (raising(ValueError("x" * 10_000_000)), "HANDLER_RAISED"),
}


def behind(act: Callable[[], object], kind: str) -> App:
    """An app that acts so in one operation, and does its work in another."""
    app = App()
    if kind == "async":

        @app.handler("count")
        async def awry(job: Job) -> object:
            await asyncio.sleep(0)
            return act()

        @app.handler("well")
        async def well(job: Job) -> str:
            await asyncio.sleep(0)
            return "done"

        return app
    app.handler("count")(lambda job: act())
    app.handler("well")(lambda job: "done")
    return app


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("name", list(ACTS))
def test_whatever_a_handler_does_its_attempt_counts_and_others_go_on(
    ground: Ground, name: str, kind: str
) -> None:
    act, reason = ACTS[name]
    item = ground.pure()
    well = ground.submit(replay_class="PURE", operation_id="well")
    report, events = run(ground, behind(act, kind), max_jobs=2)
    (failed,) = [e for e in events if e["event"] == "failed"]
    assert (failed["item"], failed["reason"]) == (item, reason)
    assert len(failed["text"]) <= 1_000
    assert (ground.item(item).counted, ground.status(item)) == (1, "ready")
    assert ground.status(well) in ("held", "verified"), "its result is on the ledger"
    assert report.as_data()["still_running"] == 0


@pytest.mark.parametrize(
    ("error", "status"), [(HandBack(SpeechlessError()), "ready"), (GiveUp("\0\ud800"), "triaged")]
)
def test_what_a_handler_says_at_its_end_need_be_no_text(
    ground: Ground, error: Exception, status: str
) -> None:
    item = ground.pure()
    run(ground, behind(raising(error), "plain"), max_jobs=1)
    assert ground.status(item) == status


def test_a_result_of_fifty_megabytes_is_kept_as_its_digest(ground: Ground) -> None:
    item = ground.pure()
    run(ground, behind(lambda: "x" * 50_000_000, "plain"), reconcile=True)
    assert ground.status(item) == "verified"


def test_a_task_that_a_handler_left_behind_does_not_end_the_loop(ground: Ground) -> None:
    """asyncio lets SystemExit of any task through, and with it everything on that loop."""
    app = App()

    async def leaves() -> None:
        sys.exit(1)

    @app.handler("count")
    async def count(job: Job) -> str:
        task = asyncio.get_running_loop().create_task(leaves())
        await asyncio.wait([task])
        return "1"

    items = [ground.pure(), ground.pure()]
    run(ground, app, reconcile=True)
    assert [ground.status(item) for item in items] == ["verified"] * 2


def test_a_task_that_waits_for_the_end_holds_up_no_send(ground: Ground) -> None:
    """``wait`` and ``send`` of one async job at once, under a lease of a minute."""
    ground.folder_destination()
    app = App()
    sent_after: list[float] = []

    @app.handler("export", destination="exports")
    async def export(job: Any) -> None:
        began = time.monotonic()
        waiting = asyncio.create_task(job.wait(50))
        await asyncio.sleep(0.05)
        await job.send(payload_of(job.effect_id))
        sent_after.append(time.monotonic() - began)
        job.tenure.tell("SENT")
        await waiting

    item = ground.submit()
    run(ground, app, reconcile=True, ttl_ms=60_000)
    assert ground.status(item) == "verified"
    assert sent_after[0] < 40, "it waited for the wait"


# Handlers that fork.


@pytest.fixture
def children() -> Iterator[list[int]]:
    """Processes that a handler forked, ended at the end."""
    found: list[int] = []
    yield found
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        os.waitpid(pid, 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_inv_14_a_handler_that_forks_is_no_two_workers(
    ground: Ground, children: list[int], kind: str
) -> None:
    """Both processes come back from the fork and go on to send: one of them does."""
    ground.folder_destination()
    tries = ground.folder / "tries"
    app, there = App(), destination(ground.document)

    class Counting:
        name, enforced, look_up = there.name, there.enforced, staticmethod(there.look_up)

        def send(self, request: Request) -> Response:
            with tries.open("a") as file:
                file.write(f"{os.getpid()}\n")
            return there.send(request)

    app.destination("exports", Counting())

    def fork() -> None:
        pid = os.fork()
        if pid:
            children.append(pid)

    if kind == "async":

        @app.handler("export", destination="exports")
        async def forks(job: Any) -> None:
            fork()
            job.job.send(payload_of(job.effect_id))
    else:

        @app.handler("export", destination="exports")
        def export(job: Job) -> None:
            fork()
            job.send(payload_of(job.effect_id))

    item = ground.submit()
    run(ground, app, reconcile=True, ttl_ms=60_000)
    assert ground.status(item) == "verified"
    (child,) = children
    children.clear()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the other process ends with its handler"
    assert tries.read_text().split() == [str(os.getpid())]
    assert ground.effect().intents == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_child_that_a_handler_leaves_behind_keeps_nobody_from_writing(
    ground: Ground, children: list[int]
) -> None:
    """It was forked while another thread held the writer's lock, and lives on."""
    held, forked = threading.Event(), threading.Event()
    lock = WriterLock(ground.folder / "ledger.db")

    def write() -> None:
        with lock.held():
            held.set()
            assert forked.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    assert held.wait(60)
    pid = os.fork()
    if not pid:
        time.sleep(600)
        os._exit(0)
    children.append(pid)
    forked.set()
    writer.join()
    item = ground.pure()
    assert ground.status(item) == "ready"


# Destinations that lie.


class Lying:
    """A folder behind an adapter that does one thing wrong."""

    def __init__(self, there: Destination, answer: Any = None, shows: Any = None) -> None:
        self.there, self.answer, self.shows = there, answer, shows
        self.name, self.enforced = there.name, there.enforced
        self.requests: list[Request] = []

    def send(self, request: Request) -> Any:
        self.requests.append(request)
        response = self.there.send(request)
        return self.answer() if self.answer is not None else response

    def look_up(self, look_up: LookUp) -> Any:
        seen = self.there.look_up(look_up)
        return self.shows(seen) if self.shows is not None else seen


def lying(ground: Ground, **how: Any) -> tuple[App, Lying]:
    ground.folder_destination()
    there, app = Lying(destination(ground.document), **how), App()
    app.destination("exports", there)

    @app.handler("export", destination="exports")
    def export(job: Job) -> None:
        job.send(payload_of(job.effect_id))

    return app, there


ANSWERS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "no text": lambda: Response(12345, None, b"bytes"),  # type: ignore[arg-type]  # it lies
    "sixty megabytes": lambda: Response("x" * 10_000_000, None, "y" * 50_000_000),
    "no ledger's text": lambda: Response("\ud800\0", None, "\0\ud800"),
    "sys.exit": lambda: sys.exit(1),
    "an interrupt": raising(KeyboardInterrupt()),
    "an error of its own": raising(SpeechlessError()),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_inv_14_whatever_a_destination_answers_it_is_asked_once(ground: Ground, name: str) -> None:
    app, there = lying(ground, answer=ANSWERS[name])
    item = ground.submit()
    run(ground, app, reconcile=True)
    assert (ground.status(item), ground.effect().state) == ("verified", EffectState.PRESENT)
    assert len(there.requests) == 1


def bent(seen: Seen, **parts: Any) -> Seen:
    """What was seen, with parts that no adapter should give."""
    fields: dict[str, Any] = {name: getattr(seen, name) for name in asdict(seen)}
    return Seen(**{**fields, **parts})


SHOWN: dict[str, Callable[[Seen], object]] = {
    "raises": raising(SpeechlessError()),  # type: ignore[dict-item]  # called with what is there
    "nothing": lambda seen: None,
    "another thing": lambda seen: {"result": "FOUND"},
    "an unknown result": lambda seen: bent(seen, result="MAYBE"),
    "no objects": lambda seen: bent(seen, objects=0),
    "objects beneath zero": lambda seen: bent(seen, objects=-1),
    "a fraction of objects": lambda seen: bent(seen, objects=1.0),
    "objects without end": lambda seen: bent(seen, objects=1 << 70),
    "a truth for a count": lambda seen: bent(seen, objects=True),
    "a fence without end": lambda seen: bent(seen, confirmed_fence=1 << 70),
    "a fence that is text": lambda seen: bent(seen, confirmed_fence="9"),
    "a value that is no text": lambda seen: bent(seen, values=(("digest", 7),)),
    "values in a list": lambda seen: bent(seen, values=list(seen.values)),
    "pairs of three": lambda seen: bent(seen, values=(("digest", "a", "b"),)),
    "one name twice": lambda seen: bent(seen, values=(("digest", "a"), ("digest", "b"))),
    "a value of megabytes": lambda seen: bent(seen, values=(("digest", "a" * 5_000_000),)),
    "a hundred thousand values": lambda seen: bent(
        seen, values=tuple((f"n-{n}", "x") for n in range(100_000))
    ),
    "a lone surrogate": lambda seen: bent(seen, values=(("digest", "\ud800"),)),
    "a NUL": lambda seen: bent(seen, values=(("digest", "a\0"),)),
    "differences without end": lambda seen: bent(seen, differences=("x" * 5_000,)),
    "consistent, perhaps": lambda seen: bent(seen, consistent="perhaps"),
}


def looked(shows: Callable[[Seen], object], how: str) -> Callable[[Seen], object]:
    if how == "raises":
        return lambda _seen: shows()  # type: ignore[call-arg]  # it raises
    return shows


@pytest.mark.parametrize("name", list(SHOWN))
def test_inv_14_what_cannot_be_written_down_is_a_record_that_could_not_be_read(
    ground: Ground, name: str
) -> None:
    """It used to end the reconciler, or to be refused for ever, and the hold never moved."""
    app, there = lying(ground, shows=looked(SHOWN[name], name))
    item = ground.submit()
    _, events = run(ground, app, reconcile=True)
    effect = ground.effect()
    unread = [e for e in events if e["event"] == "unread"]  # on a busy machine the next is due soon
    assert unread
    assert (effect.state, effect.looks) == (EffectState.UNCERTAIN, len(unread))
    hold = ground.item(item).hold
    assert hold is not None
    assert hold.trigger.startswith("recovery:"), hold
    assert [e for e in events if e["event"] in ("fault", "look-up-refused")] == []
    assert all(0 < len(one["text"]) <= 500 for one in unread)
    there.shows = None
    ground.until(lambda: ground.effect().look_at <= ground.now())
    run(ground, app, reconcile=True)
    assert ground.status(item) == "verified"
    assert len(there.requests) == 1


def test_who_listens_to_a_worker_cannot_stop_it(ground: Ground, tmp_path: Path) -> None:
    from tests.workers.test_jobs import IDLE

    from remit.workers.main import make

    def tell(_event: str, _more: dict[str, Any]) -> None:
        raise OSError("the disk of the log is full")

    item = ground.pure()
    worker = make(ground.ledger, "bot-1", behind(lambda: "1", "plain"), replace(IDLE, reconcile=True), tell)  # fmt: skip
    worker.run()
    assert ground.status(item) == "verified"
