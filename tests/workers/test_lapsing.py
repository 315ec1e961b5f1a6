"""Ready work whose lifetime is over is closed by event: by the next write, or by a worker that only waits.

On both stores. Nobody rechecks it by name, and no worker here has a handler for it.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.workers.ground import Ground, Worker

from remit.core import commands as c
from remit.core.effect_events import AdmissionDecided
from remit.core.evolve import evolve
from remit.core.refusals import Code, Refused
from remit.core.status import Outcome
from remit.service.integrity import verify
from remit.service.operations import lease_of

SOON_US = 400_000


def lasting(ground: Ground, us: int = SOON_US, **parts: Any) -> str:
    """Ready work with so long to live."""
    return ground.submit(deadline=ground.now() + us, **parts)


def passed(ground: Ground, *items: str) -> None:
    """Wait until the lifetime of items is over, and see that nobody has noticed."""
    ends = max(ground.item(item).lapses_at for item in items)
    ground.until(lambda: ground.now() > ends)
    assert {ground.status(item) for item in items} == {"ready"}


def ended(ground: Ground, item: str, reason: str = "DEADLINE_PASSED") -> None:
    """It expired by a verdict of its own, and the rows are what the events fold to."""
    last = ground.events("AdmissionDecided", item)[-1]
    assert isinstance(last.event, AdmissionDecided)
    assert (last.event.verdict, last.event.reason) == ("EXPIRE", reason)
    assert (last.event.transition_id, last.event.from_, last.actor) == (
        "T12", "ready", "remit-admission",
    )  # fmt: skip
    assert ground.item(item).outcome is Outcome.EXPIRED
    assert list(verify(ground.ledger.store, fold=evolve).problems) == []


def test_the_next_write_closes_it_whoever_writes(either: Ground) -> None:
    either.folder_destination()
    item, other = lasting(either), either.submit()
    passed(either, item)
    either.ok(either.ann.run(c.AddNote(other, c.Text("about something else"))))
    assert (either.status(item), either.status(other)) == ("closed", "ready")
    ended(either, item)


def test_a_lease_that_is_asked_for_finds_it_closed(either: Ground) -> None:
    either.folder_destination()
    item = lasting(either)
    passed(either, item)
    answer = either.ledger.acting("bot-1").lease(c.GrantLease(item))
    assert isinstance(answer, Refused)
    assert answer.code is Code.ITEM_NOT_READY
    ended(either, item)


@pytest.mark.parametrize("rows", [("deadline", "destination"), ("destination",)])
def test_a_margin_ends_it_earlier_also_where_the_policy_asks_for_no_deadline(
    either: Ground, rows: tuple[str, ...]
) -> None:
    """At the lease both count whatever the policy asks for, so nobody could ever take it."""
    either.folder_destination()
    either.policy(rows=rows)
    item = lasting(either, 60_000_000 + SOON_US, minimum_completion_margin_ms=60_000)
    passed(either, item)
    either.pure()
    ended(either, item, "MARGIN_IMPOSSIBLE")


def test_a_worker_that_only_waits_closes_what_it_has_no_handler_for(either: Ground) -> None:
    either.folder_destination()
    item = lasting(either, 1_500_000, operation_id="nobody-does-this")
    worker = Worker(either, "tests.workers.handlers:app")
    try:
        worker.saw("started")
        either.until(lambda: either.status(item) == "closed")
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    finally:
        worker.kill()
    ended(either, item)


def test_leased_work_is_left_to_its_holder(either: Ground) -> None:
    """A live lease may still complete after the deadline; handed back, it expires."""
    either.folder_destination()
    item = lasting(either)
    acting = either.ledger.acting("bot-1")
    fence = lease_of(acting.lease(c.GrantLease(item, 60_000))).fence
    ends = either.item(item).lapses_at
    either.until(lambda: either.now() > ends)
    either.pure()
    assert either.status(item) == "leased"
    either.ok(acting.release(c.ReleaseLease(item, fence, "too late")))
    either.pure()
    assert (either.status(item), either.item(item).outcome) == ("closed", Outcome.EXPIRED)


def test_many_go_in_bounded_batches_and_hold_up_nothing(either: Ground) -> None:
    """More than one batch, with a hold for a time behind them: each write takes some of them."""
    either.folder_destination()
    items = [lasting(either, 3_000_000) for _ in range(40)]
    early = either.now() + 3_100_000
    (told,) = either.told(not_before=early)
    assert told.verdict == "HOLD"
    ends = max(either.item(item).lapses_at for item in items)
    either.until(lambda: either.now() > max(ends, early))
    before = either.count()
    either.pure()
    batch = [r for r in either.events("AdmissionDecided") if r.seq > before and r.entity in items]
    assert 0 < len(batch) <= 32
    for _ in range(3):
        either.pure()
    assert {either.status(item) for item in items} == {"closed"}
    assert either.status(told.item) == "ready", "the hold was not starved"
