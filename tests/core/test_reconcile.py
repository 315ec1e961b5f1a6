"""Every row of the table of CONTRACT 7, and each boundary of it, on the pure function (INV-13)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.effect_world import DIGEST, EXACT, RECORD, TEST, THERE

from remit.core.change import changed
from remit.core.checks import Result
from remit.core.effect_facts import Comparison, Destination, Effect, EffectState
from remit.core.ids import effect_key, fence_of
from remit.core.reconcile import Finding, Seen, may_replay, reconcile
from remit.core.retrying import JITTER, Bounds, Retry, retry, wait_us

T = 1_000_000_000
BOUND = 30_000_000
"""In microseconds, what ``THERE`` declares."""

BOUNDS = Bounds(attempts=3, counted=1, looks=4, base_ms=1_000, cap_ms=60_000)
UNCERTAIN, ABSENT, PRESENT = EffectState.UNCERTAIN, EffectState.ABSENT, EffectState.PRESENT
CONTRADICTED = EffectState.CONTRADICTED


def effect(state: EffectState = UNCERTAIN, **more: Any) -> Effect:
    """An effect that was intended once, a minute ago."""
    plain = Effect(
        "E-1", 3, "W-1", "STORE", DIGEST, "OBJECT-DESTINATION-8", "RECONCILABLE", state,
        effect_key("E-1"), "A-1.1", "L-1.1", 5, 1, T - 60_000_000, 7, 8, "", 0, None, None, None, 0,
        0, "", 0, 0, "",
    )  # fmt: skip
    return changed(plain, **more, version=3)


def seen(result: str, **more: Any) -> Seen:
    """A look-up that began at T."""
    if result == "FOUND":
        more = {"objects": 1, "values": EXACT, **more}
    return Seen("OBS-1", more.pop("record", RECORD), result, more.pop("looked_at", T), **more)


def found(
    at: Effect, shown: Seen, *, bounds: Bounds = BOUNDS, test: Any = TEST, **enforced: Any
) -> Finding:
    """What the look-up makes of it."""
    destination = changed(THERE, **enforced, seq=0)
    return reconcile(at, destination, RECORD, test, shown, bounds, shown.looked_at)


def results(finding: Finding) -> dict[str, Result]:
    """The checks by name."""
    return {check.check: check.result for check in finding.checks}


# Row 1: exactly one current object, all of it matching.


@pytest.mark.parametrize("state", [EffectState.INTENDED, UNCERTAIN, PRESENT, CONTRADICTED])
def test_one_exact_object_is_present_and_suppresses_the_retry(state: EffectState) -> None:
    finding = found(effect(state), seen("FOUND"))
    assert (finding.state, finding.next.decision) == (PRESENT, Retry.SUPPRESS)
    assert set(results(finding).values()) == {Result.PASS}
    assert list(results(finding)) == [
        "effect-identity", "one-current-object", "digest", "manifest", "record", "differences",
    ]  # fmt: skip


@pytest.mark.parametrize("missing", ["digest", "manifest_id"])
def test_a_value_that_was_not_seen_is_blocked_and_never_passes(missing: str) -> None:
    shown = seen("FOUND", values=tuple(v for v in EXACT if v[0] != missing))
    finding = found(effect(), shown)
    assert finding.state is UNCERTAIN
    assert finding.next.decision is Retry.HOLD
    assert Result.BLOCKED in results(finding).values()


def test_a_comparison_that_nobody_knows_is_blocked() -> None:
    odd = (*TEST, Comparison("odd", "digest", "resembles", "x"))
    assert found(effect(), seen("FOUND"), test=odd).state is UNCERTAIN


def test_an_unknown_count_of_objects_is_not_one() -> None:
    finding = found(effect(), seen("FOUND", objects=None))
    assert finding.state is UNCERTAIN
    assert results(finding)["one-current-object"] is Result.BLOCKED


# Row 2: none, and nothing can still arrive.


def test_none_is_absent_one_microsecond_after_the_bound() -> None:
    finding = found(effect(arrives_until=T - 1), seen("NONE"))
    assert (finding.state, finding.next.decision) == (ABSENT, Retry.RETRY)
    assert finding.basis == "in-flight-bound-passed"


@pytest.mark.parametrize("until", [T, T + 1, T + BOUND])
def test_none_at_or_before_the_bound_is_uncertain_until_it_passes(until: int) -> None:
    finding = found(effect(arrives_until=until), seen("NONE"))
    assert (finding.state, finding.next.decision) == (UNCERTAIN, Retry.HOLD)
    assert finding.next.at == until + 1
    assert found(effect(arrives_until=until), seen("NONE", looked_at=until + 1)).state is ABSENT


def test_a_look_up_shows_nothing_of_what_came_after_it_began() -> None:
    at = effect(arrives_until=T + 5)
    shown = seen("NONE", looked_at=T)
    late = reconcile(at, THERE, RECORD, TEST, shown, BOUNDS, T + BOUND)
    assert late.state is UNCERTAIN, "it was written down late, and looked up early"


@pytest.mark.parametrize(("lag", "state"), [(0, ABSENT), (1, UNCERTAIN), (2, UNCERTAIN)])
def test_a_record_that_lags_shows_what_arrived_only_later(lag: int, state: EffectState) -> None:
    finding = found(effect(arrives_until=T - 1_000), seen("NONE"), lookup_lag_ms=lag)
    assert finding.state is state


def test_a_confirmed_higher_fence_lets_nothing_arrive() -> None:
    finding = found(effect(), seen("NONE", confirmed_fence=6), fence=True)
    assert (finding.state, finding.basis) == (ABSENT, "higher-fence-confirmed")


@pytest.mark.parametrize("fence", [0, 4, 5])
def test_a_fence_that_is_not_higher_says_nothing(fence: int) -> None:
    assert found(effect(), seen("NONE", confirmed_fence=fence), fence=True).state is UNCERTAIN


def test_a_fence_that_the_destination_does_not_enforce_says_nothing() -> None:
    assert found(effect(), seen("NONE", confirmed_fence=9), fence=False).state is UNCERTAIN


def test_a_fence_of_an_earlier_epoch_says_nothing_of_what_was_lost() -> None:
    at = effect(epoch=2)
    old = seen("NONE", confirmed_fence=fence_of(1, 99))
    assert found(at, old, fence=True).state is UNCERTAIN
    new = seen("NONE", confirmed_fence=fence_of(2, 1))
    assert found(at, new, fence=True).state is ABSENT


def test_a_fence_that_was_confirmed_just_now_does_not_cover_the_lag() -> None:
    just_now = seen("NONE", confirmed_fence=6)
    assert found(effect(), just_now, fence=True, lookup_lag_ms=1).state is UNCERTAIN
    before = effect(confirmed_fence=6, confirmed_at=T - 1_000)
    assert found(before, seen("NONE"), fence=True, lookup_lag_ms=1).state is UNCERTAIN
    before = effect(confirmed_fence=6, confirmed_at=T - 1_001)
    assert found(before, seen("NONE"), fence=True, lookup_lag_ms=1).state is ABSENT


@pytest.mark.parametrize("inconsistent", ["answer", "destination"])
def test_an_inconsistent_look_up_never_shows_absence(inconsistent: str) -> None:
    at = effect(arrives_until=1)
    shown = seen("NONE", consistent=inconsistent != "answer")
    finding = found(at, shown, lookup_consistent=inconsistent != "destination")
    assert (finding.state, finding.why) == (UNCERTAIN, "LOOKUP_INCONSISTENT")


# Row 3: none, but a request may still arrive.


def test_with_no_bound_and_no_key_none_stays_uncertain_however_long() -> None:
    finding = found(effect(), seen("NONE", looked_at=T * 1_000))
    assert (finding.state, finding.why) == (UNCERTAIN, "NO_BOUND")
    assert finding.next.decision is Retry.HOLD


def test_with_no_bound_looks_are_bounded_and_end_in_triage() -> None:
    for looks, kind in ((0, ""), (2, ""), (3, "effect-uncertain"), (9, "effect-uncertain")):
        finding = found(effect(looks=looks), seen("NONE"))
        assert (finding.state, finding.triage) == (UNCERTAIN, kind), looks


def test_a_bound_that_is_to_come_is_waited_for_without_counting_looks() -> None:
    assert found(effect(looks=99, arrives_until=T), seen("NONE")).triage == ""


def test_where_nothing_can_be_looked_up_it_goes_to_triage_at_once() -> None:
    for shown in (seen("UNAVAILABLE"), seen("NONE", consistent=False), seen("NONE")):
        finding = found(effect(), shown, lookup=False)
        assert (finding.state, finding.triage) == (UNCERTAIN, "effect-uncertain")


def test_a_key_alone_is_given_a_bounded_number_of_looks() -> None:
    key: dict[str, Any] = {"lookup": False, "idempotency_key": True}
    assert found(effect(looks=2), seen("UNAVAILABLE"), **key).triage == ""
    assert found(effect(looks=3), seen("UNAVAILABLE"), **key).triage == "effect-uncertain"


# Row 4: contradictions.

WRONG: dict[str, tuple[Effect, Seen]] = {
    "two objects": (effect(), seen("FOUND", objects=2)),
    "another digest": (
        effect(),
        seen("FOUND", values=(*EXACT[:1], ("digest", "OTHER"), EXACT[2])),
    ),
    "another manifest": (effect(), seen("FOUND", values=(*EXACT[:2], ("manifest_id", "M")))),
    "another effect": (effect(), seen("FOUND", values=(("effect_id", "E-2"), *EXACT[1:]))),
    "a difference": (effect(), seen("FOUND", differences=("size",))),
    "present after absent": (effect(ABSENT, absent_seq=9), seen("FOUND")),
    "none after present": (effect(PRESENT, present_seq=9), seen("NONE")),
    "none after present, uncertain since": (effect(present_seq=9, arrives_until=1), seen("NONE")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_contradicted_and_held_for_a_human(name: str) -> None:
    finding = found(*WRONG[name])
    assert (finding.state, finding.triage) == (CONTRADICTED, "effect-mismatch")
    assert finding.next.decision is Retry.HOLD
    assert finding.next.trigger.startswith("decision:")


# Row 5: the look-up is unavailable.


def test_an_unavailable_record_leaves_everything_open_and_waits_for_its_recovery() -> None:
    finding = found(effect(arrives_until=1), seen("UNAVAILABLE"))
    assert (finding.state, finding.next.decision) == (UNCERTAIN, Retry.HOLD)
    assert finding.next.trigger == f"recovery:{RECORD}"
    assert finding.next.at > T
    checks = results(finding)
    wanted = ("effect-identity", "one-current-object", "digest", "manifest", "differences")
    assert {checks[name] for name in wanted} == {Result.BLOCKED}


def test_an_outage_never_ends_in_triage_however_long_it_lasts() -> None:
    assert found(effect(looks=1_000), seen("UNAVAILABLE")).triage == ""


@pytest.mark.parametrize("state", [PRESENT, ABSENT, CONTRADICTED])
def test_an_outage_takes_back_nothing_that_was_observed(state: EffectState) -> None:
    at = effect(state, present_seq=9 if state is PRESENT else 0)
    assert found(at, seen("UNAVAILABLE")).state is state


def test_another_record_than_the_named_one_proves_nothing() -> None:
    finding = found(effect(arrives_until=1), seen("FOUND", record="A-COPY"))
    assert (finding.state, finding.why) == (UNCERTAIN, "OTHER_RECORD")
    assert results(finding)["record"] is Result.FAIL
    assert results(finding)["digest"] is Result.BLOCKED
    assert found(effect(arrives_until=1), seen("NONE", record="A-COPY")).state is UNCERTAIN


# Replay under an enforced key.

KEY = changed(THERE, idempotency_key=True, key_retention_ms=120_000)


@pytest.mark.parametrize(
    ("at", "destination", "allowed"),
    [
        (effect(), KEY, True),
        (effect(), THERE, False),
        (effect(EffectState.INTENDED), KEY, False),
        (effect(PRESENT), KEY, False),
        (effect(ABSENT), KEY, False),
        (effect(intents=0), KEY, False),
        (effect(intended_at=T - 90_000_000 + 1), KEY, True),
        (effect(intended_at=T - 90_000_000), KEY, False),
        (effect(), changed(KEY, in_flight_ms=None), False),
        (effect(), changed(KEY, in_flight_ms=None, key_retention_ms=None), True),
    ],
)
def test_a_request_is_repeated_only_while_its_key_is_surely_kept(
    at: Effect, destination: Destination, allowed: bool
) -> None:
    assert may_replay(at, destination, T) is allowed


# Retries.


def test_irreversible_work_is_never_tried_again_by_itself() -> None:
    at = effect(replay_class="IRREVERSIBLE", arrives_until=1)
    finding = found(at, seen("NONE"))
    assert (finding.state, finding.next.decision) == (ABSENT, Retry.HOLD)
    assert finding.next.trigger == "decision:irreversible-action-authorization"


def test_irreversible_work_that_was_never_sent_may_begin() -> None:
    at = effect(ABSENT, replay_class="IRREVERSIBLE", intents=0)
    assert retry(at, BOUNDS, T, "EFFECT_ABSENT").decision is Retry.RETRY


@pytest.mark.parametrize(
    ("counted", "decision"), [(2, Retry.RETRY), (3, Retry.QUARANTINE), (4, Retry.QUARANTINE)]
)
def test_attempts_are_bounded(counted: int, decision: Retry) -> None:
    finding = found(effect(arrives_until=1), seen("NONE"), bounds=changed(BOUNDS, counted=counted))
    assert finding.next.decision is decision
    assert finding.triage == ("poison" if decision is Retry.QUARANTINE else "")


@pytest.mark.parametrize(
    ("ago_ms", "decision"), [(3_599_000, Retry.RETRY), (3_600_001, Retry.QUARANTINE)]
)
def test_retries_are_bounded_in_time(ago_ms: int, decision: Retry) -> None:
    bounds = changed(BOUNDS, within_ms=3_600_000, started_at=T * 10 - ago_ms * 1_000)
    assert retry(effect(), bounds, T * 10, "EFFECT_ABSENT").decision is decision


def test_back_off_has_full_jitter_and_a_cap() -> None:
    waits = [wait_us(changed(BOUNDS, retries=n, jitter=JITTER - 1)) for n in range(10)]
    assert waits[:3] == [999_999, 1_999_999, 3_999_999]
    assert waits[9] == 59_999_999
    assert wait_us(changed(BOUNDS, retries=5, jitter=0)) == 0
    assert wait_us(changed(BOUNDS, retries=1, jitter=JITTER // 2)) == 1_000_000
    assert wait_us(changed(BOUNDS, retries=1, jitter=JITTER * 9)) == 1_999_999
