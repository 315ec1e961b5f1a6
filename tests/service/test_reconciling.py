"""The service of reconciliation: what is due, what it asks, and what it writes down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.effect_world import DIGEST, EffectWorld
from tests.core.outside import Outside, Sent
from tests.core.world import HUMAN, SECOND

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.effect_facts import Effect, EffectState
from remit.core.facts import Lease
from remit.core.refusals import Code, Refused
from remit.service.adoption import adopt
from remit.service.engine import Done
from remit.service.reconciling import Question, Reconciler, Shown, refused

LONG = "x" * 9_000


class Bench:
    """A world, its destination, and the reconciler between them."""

    def __init__(self, **enforced: Any) -> None:
        self.world = EffectWorld(**enforced)
        self.there = Outside(self.world.destination, self.world.now)
        self.asked: list[str] = []

    def look_up(self, question: Question) -> Shown:
        self.asked.append(question.effect_id)
        self.there.move(self.world.now)
        return self.there.look_up(question)

    @property
    def reconciler(self) -> Reconciler:
        operations = self.world.ops(HUMAN)
        return Reconciler(
            self.world.store, {"objects": self.look_up}, lambda: 0, operations=operations
        )

    def send(self, lease: Lease, effect: str = "E-1") -> None:
        """The request arrives at once."""
        at = self.world.now
        self.there.move(at)
        sent = Sent(effect, "A", DIGEST, "MANIFEST-72", lease.fence, None, at)
        self.there.send(sent, lost=False, twice=False)

    def due(self, limit: int = 0) -> list[str]:
        """Looks up what is due; the effects that were asked for."""
        before = len(self.asked)
        assert refused(self.reconciler.due(limit)) == {}
        return self.asked[before:]


def test_one_look_up_ships_and_verifies_what_is_there() -> None:
    bench = Bench()
    item, lease = bench.world.started()
    bench.send(lease)
    bench.world.ok("bob", c.ReportEffect(item, lease.fence, "200"))
    assert bench.due() == ["E-1"]
    assert bench.world.status(item) == "verified"
    assert bench.due() == [], "what is settled is not asked again"


def test_what_is_due_waits_for_its_time() -> None:
    bench = Bench()
    bench.world.lost()
    bench.there.away = True
    assert bench.due() == ["E-1"]
    assert bench.due() == [], "the record is away: later"
    bench.world.pass_us(SECOND)
    assert bench.due() == ["E-1"]


def test_one_named_effect_is_looked_up_at_any_time() -> None:
    bench = Bench()
    item, lease = bench.world.lost()
    bench.due()
    bench.send(lease)
    assert isinstance(bench.reconciler.one("E-1", "cat"), Done)
    assert bench.world.status(item) == "verified"
    assert bench.world.retry().replacement == "cat"
    answer = bench.reconciler.one("E-unknown")
    assert isinstance(answer, Refused)
    assert answer.code is Code.NOT_FOUND


def test_many_are_looked_up_in_bounded_batches() -> None:
    bench = Bench()
    for number in range(230):
        bench.world.lost(effect_id=f"E-{number}")
    assert len(bench.due(limit=7)) == 7
    assert len(bench.due()) == 223


def test_what_changed_while_it_was_looked_up_is_not_written_down() -> None:
    bench = Bench()
    world = bench.world
    world.lost()

    def meanwhile(question: Question) -> Shown:
        world.ended()
        return bench.look_up(question)

    operations = world.ops(HUMAN)
    slow = Reconciler(world.store, {"objects": meanwhile}, lambda: 0, operations=operations)
    [(name, answer)] = slow.due()
    assert isinstance(answer, Refused)
    assert (name, answer.code) == ("E-1", Code.OBSERVATION_STALE)
    assert bench.due() == ["E-1"]


def test_a_destination_that_nobody_gave_is_unavailable_and_not_absent() -> None:
    bench = Bench()
    bench.world.lost()
    blind = Reconciler(bench.world.store, {}, lambda: 0, operations=bench.world.ops(HUMAN))
    blind.due()
    assert bench.world.effect().state is EffectState.UNCERTAIN
    assert bench.world.seen().result == "UNAVAILABLE"


def test_a_destination_that_enforces_fences_is_told_the_next_one() -> None:
    bench = Bench(in_flight_ms=None, fence=True)
    item, lease = bench.world.lost()
    bench.due()
    assert bench.there.fences["E-1"] == lease.fence + 1
    assert bench.world.effect().state is EffectState.ABSENT
    late = Sent("E-1", "A", DIGEST, "MANIFEST-72", lease.fence, None, bench.world.now)
    bench.there.send(late, lost=False, twice=False)
    assert bench.there.objects["E-1"] == [], "the paused worker's request is refused"
    second = bench.world.lease(item)
    bench.world.intend(second)
    bench.send(second)
    assert len(bench.there.objects["E-1"]) == 1


@pytest.mark.parametrize("result", ["42", LONG])
def test_pure_work_ships_on_its_stored_result_read_again(result: str) -> None:
    bench = Bench()
    world = bench.world
    item = world.pure()
    lease = world.lease(item)
    digest = hashlib.sha256(result.encode()).hexdigest()
    report = c.ReportEffect(item, lease.fence, text=Text(result), result_digest=digest)
    assert isinstance(world.ops("bob").report_effect(report), Done)
    assert bench.due() == []
    assert world.status(item) == "verified"
    assert bench.asked == [], "nothing outside was asked"


def test_pure_work_whose_result_was_erased_is_made_again() -> None:
    bench = Bench()
    world = bench.world
    item = world.pure()
    lease = world.lease(item)
    digest = hashlib.sha256(LONG.encode()).hexdigest()
    report = c.ReportEffect(item, lease.fence, text=Text(LONG), result_digest=digest)
    assert isinstance(world.ops("bob").report_effect(report), Done)
    ref = world.last(type(world.events()[-1].event)).response_ref
    assert isinstance(world.ops(HUMAN).redact(ref, "it held a name"), Done)
    bench.due()
    assert (world.status(item), world.retry().reason) == ("ready", "RESULT_LOST")


def test_an_authoritative_receipt_is_read_again_where_the_destination_declares_it() -> None:
    bench = Bench(lookup=False, receipt_authoritative=True)
    world = bench.world
    item, lease = world.started(authoritative_effect_record="")
    world.ok("bob", c.ReportEffect(item, lease.fence, "RECEIPT-9", authoritative=True))
    bench.due()
    assert world.status(item) == "verified"
    assert world.seen().record.startswith("receipt:")


def test_a_receipt_that_no_destination_declares_is_evidence_only() -> None:
    bench = Bench(lookup=False)
    world = bench.world
    item, lease = world.started()
    world.ok("bob", c.ReportEffect(item, lease.fence, "RECEIPT-9", authoritative=True))
    bench.due()
    assert world.triage_of(item) == ("effect-uncertain",)


def test_repeating_the_identical_request_under_an_enforced_key_counts_as_a_look_up() -> None:
    bench = Bench(lookup=False, idempotency_key=True, key_retention_ms=10**9)
    world = bench.world
    item, lease = world.lost()

    def repeat(effect: Effect) -> Callable[[], Shown]:
        def send() -> Shown:
            bench.send(lease, effect.id)
            question = Question(effect.id, effect.key, effect.operation, "", 0, "")
            return bench.there.look_up(question)

        return send

    given = Reconciler(
        world.store, {}, lambda: 0, operations=world.ops(HUMAN), repeats={"objects": repeat}
    )
    assert refused(given.due()) == {}
    assert world.status(item) == "verified"
    assert (world.seen().replayed, world.effect().intents) == (True, 1)
    assert len(bench.there.objects["E-1"]) == 1


class Repeating(Bench):
    """A bench whose request was lost, at a destination that enforces a key."""

    def __init__(self) -> None:
        super().__init__(idempotency_key=True, key_retention_ms=10**9)
        _, self.lease = self.world.lost()
        self.world.ended()
        self.world.pass_us(31 * SECOND)

    def given(self, request: Callable[[], Shown] | None) -> Reconciler:
        """A reconciler that has this request at hand, or none."""
        return Reconciler(
            self.world.store,
            {"objects": self.look_up},
            lambda: 0,
            operations=self.world.ops(HUMAN),
            repeats={"objects": lambda _: request},
        )


def test_inv_13_a_repetition_that_was_not_answered_may_still_arrive() -> None:
    bench = Repeating()
    world = bench.world
    bench.given(lambda: Shown("UNAVAILABLE")).one("E-1")
    assert world.effect().state is EffectState.UNCERTAIN, "nothing there is no absence yet"
    world.pass_us(29 * SECOND)
    bench.reconciler.one("E-1")
    assert world.effect().state is EffectState.UNCERTAIN, "it may still be on its way"
    bench.send(bench.lease)
    bench.reconciler.one("E-1")
    assert world.effect().state is EffectState.PRESENT


def test_an_unanswered_repetition_ends_with_its_own_bound() -> None:
    bench = Repeating()
    bench.given(lambda: Shown("UNAVAILABLE")).one("E-1")
    bench.world.pass_us(31 * SECOND)
    bench.reconciler.one("E-1")
    assert bench.world.effect().state is EffectState.ABSENT


def test_inv_13_a_reconciler_that_stops_before_it_repeats_may_still_send() -> None:
    bench = Repeating()
    world = bench.world

    class Stopped(BaseException):  # no error of a destination: the process stands still
        """It goes no further."""

    def stops() -> Shown:
        raise Stopped

    with pytest.raises(Stopped):
        bench.given(stops).one("E-1")
    world.pass_us(3_600 * SECOND)
    bench.reconciler.one("E-1")
    assert world.effect().state is EffectState.UNCERTAIN, "its request may leave at any time"
    bench.given(None).one("E-1")
    assert world.effect().state is EffectState.UNCERTAIN
    bench.send(bench.lease)
    bench.reconciler.one("E-1")
    assert world.effect().state is EffectState.PRESENT


def test_a_repetition_is_written_down_before_it_is_sent_and_on_a_new_epoch_too() -> None:
    bench = Repeating()
    world = bench.world
    assert not isinstance(adopt(world.ops(HUMAN), "restored"), Refused)
    written: list[str] = []

    def request() -> Shown:
        written.extend(type(r.event).__name__ for r in world.events()[-2:])
        bench.send(bench.lease)
        question = Question("E-1", world.effect().key, "", "", 0, "")
        return bench.there.look_up(question)

    bench.given(request).one("E-1")
    assert written[-1] == "RequestRepeated"
    assert world.effect().state is EffectState.PRESENT


def test_nobody_says_that_it_repeated_what_was_not_written_down() -> None:
    bench = Repeating()
    seen = bench.world.seeing("FOUND", replayed=True)
    [answer] = bench.world.ops("remit-reconciler").observed([seen], [""])
    assert isinstance(answer, Refused)
    assert answer.code is Code.BAD_INPUT


def test_work_of_another_with_the_same_effect_is_decided_once_it_was_looked_up() -> None:
    bench = Bench()
    _, lease = bench.world.lost()
    second = bench.world.submit()
    bench.send(lease)
    assert bench.due() == ["E-1"]
    bench.world.engine.settle()
    assert bench.world.item(second).outcome == "coalesced"


def test_adoption_holds_work_in_chunks_and_every_effect_is_looked_up_first() -> None:
    bench = Bench()
    world = bench.world
    items = [world.submit(effect_id=f"E-{n}") for n in range(120)]
    pure = world.pure()
    lost, lease = world.lost(effect_id="E-sent")
    bench.send(lease, "E-sent")
    answer = adopt(world.ops(HUMAN), "restored")
    assert not isinstance(answer, Refused)
    assert answer["held"] == 121
    assert {world.status(item) for item in items} == {"held"}
    assert world.lease(actor="bob").item == pure
    world.pass_us(31 * SECOND)
    assert len(bench.due()) == 121
    assert world.status(lost) == "verified"
    assert {world.status(item) for item in items} == {"ready"}
