"""Faults planted in the core: the scenario that is named for each must fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.playing import failed, scenario_of, shipped, small

from remit.core import asked as asking
from remit.core import capacity, effects, in_time, reconcile, retrying, verdict
from remit.core.checks import Check, Result
from remit.core.effect_facts import EffectState
from remit.core.retrying import Next, Retry

Plant = Callable[[pytest.MonkeyPatch], None]


def stale_taken_as_fresh(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "is_fresh", lambda *_: True)


def an_age_at_the_limit_taken_as_stale(patch: pytest.MonkeyPatch) -> None:
    def strict(seen: Any, policy: Any, now: int) -> bool:
        return bool(capacity.age_us(seen, now) < policy.freshness_limit_ms * 1_000)

    patch.setattr(capacity, "is_fresh", strict)


def the_future_taken_as_fresh(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "from_future", lambda *_: False)


def a_debit_forgotten(patch: pytest.MonkeyPatch) -> None:
    start = capacity.start_of
    patch.setattr(capacity, "start_of", lambda seen, _admitted: start(seen, 0))


def what_is_lacking_taken_as_nought(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "lacking", lambda *_: ())


def hold_turned_into_expire(patch: pytest.MonkeyPatch) -> None:
    def eager(sheet: Any, reason: str) -> None:
        sheet.decide(7, verdict.Verdict.EXPIRE, reason)

    patch.setattr(in_time, "_wait", eager)


def what_rests_on_stale_evidence_taken_as_passed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(in_time, "BLOCKED", Result.PASS)


def a_deadline_of_now_taken_as_ahead(patch: pytest.MonkeyPatch) -> None:
    def late(sheet: Any) -> None:
        end = sheet.lifetime
        rest = None if end is None else end - sheet.begin
        if rest is None or rest >= 0:
            sheet.note("deadline", Result.PASS, asking.left(rest or 0), ">=0")
            return
        sheet.note("deadline", Result.FAIL, asking.left(rest), ">=0", "", "DEADLINE_PASSED")
        sheet.decide(4, verdict.Verdict.EXPIRE, "DEADLINE_PASSED")

    patch.setattr(verdict, "_alive", late)


def absence_believed_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "arrival", lambda *_: ("in-flight-bound-passed", None))


def an_outage_taken_for_absence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "_unseen", lambda _effect: EffectState.ABSENT)


def what_is_there_sent_again(patch: pytest.MonkeyPatch) -> None:
    following = reconcile._next

    def again(effect: Any, destination: Any, state: EffectState, *rest: Any) -> Any:
        if state is EffectState.PRESENT:
            return Next(Retry.RETRY, "EFFECT_PRESENT", "time:0", 0), ""
        return following(effect, destination, state, *rest)

    patch.setattr(reconcile, "_next", again)


def a_mismatch_taken_as_a_match(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "compare", lambda *_: ())


def the_end_of_a_lease_taken_for_the_end_of_a_worker(patch: pytest.MonkeyPatch) -> None:
    def ended(_effect: Any) -> Any:
        return Check("worker-termination", Result.PASS, "lease over", "observed")

    decide = effects.decide_retry
    patch.setattr(effects, "_ended", ended)

    def told(draft: Any, item: Any, effect: Any, following: Any, **more: Any) -> None:
        from remit.core.change import changed

        decide(draft, item, changed(effect, terminated_at=draft.now), following, **more)

    patch.setattr(effects, "decide_retry", told)


def attempts_without_a_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(effects, "most_attempts", lambda *_: 1_000)
    found = retrying.retry

    def unbound(effect: Any, bounds: Any, now: int, reason: str) -> Next:
        from remit.core.change import changed

        return found(effect, changed(bounds, attempts=1_000), now, reason)

    patch.setattr(reconcile, "retry", unbound)


def irreversible_work_sent_twice(patch: pytest.MonkeyPatch) -> None:
    found = retrying.retry

    def twice(effect: Any, bounds: Any, now: int, reason: str) -> Next:
        from remit.core.change import changed

        return found(changed(effect, replay_class="RECONCILABLE"), bounds, now, reason)

    patch.setattr(reconcile, "retry", twice)


FAULTS: list[tuple[Plant, tuple[str, ...]]] = [
    (stale_taken_as_fresh, ("stale-capacity", "evidence-is-one-millisecond-too-old")),
    (an_age_at_the_limit_taken_as_stale, ("evidence-is-as-old-as-the-limit",)),
    (the_future_taken_as_fresh, ("evidence-from-the-future",)),
    (a_debit_forgotten, ("one-observation-admits-no-herd",)),
    (what_is_lacking_taken_as_nought, ("policy-asks-for-more-of-an-observation",)),
    (hold_turned_into_expire, ("stale-capacity", "stale-evidence-never-expires-work")),
    (what_rests_on_stale_evidence_taken_as_passed, ("stale-capacity",)),
    (a_deadline_of_now_taken_as_ahead, ("deadline-is-now",)),
    (absence_believed_too_early, ("request-may-still-arrive", "paused-worker-may-wake-up")),
    (an_outage_taken_for_absence, ("response-lost", "record-is-away-and-comes-back")),
    (what_is_there_sent_again, ("response-lost", "effect-is-found")),
    (a_mismatch_taken_as_a_match, ("what-is-there-does-not-match",)),
    (the_end_of_a_lease_taken_for_the_end_of_a_worker, ("response-lost",)),
    (attempts_without_a_bound, ("attempts-are-used-up",)),
    (irreversible_work_sent_twice, ("irreversible-work-is-sent-once",)),
]


@pytest.mark.parametrize(
    ("plant", "names"), FAULTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_planted_fault_makes_the_scenario_fail_that_is_named_for_it(
    plant: Plant, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        assert failed(shipped(name)) == [], "without the fault it passes"
    plant(monkeypatch)
    for name in names:
        try:
            wrong = failed(shipped(name))
        except Exception as broken:  # the fold itself may refuse what the fault leads to
            wrong = [repr(broken)]
        assert wrong, f"{name} did not notice"


def test_a_refusal_that_nobody_expected_fails() -> None:
    found = failed(scenario_of(small("""
        steps:
          - submit: WORK-1
          - lease: WORK-1
        covers: [row-7]
    """)))  # fmt: skip
    assert found == ["line 21, lease: refused: expected accepted, found ITEM_NOT_READY"]


def test_a_label_that_the_trace_never_reached_fails() -> None:
    found = failed(scenario_of(small("""
        covers: [row-9, row-7]
        steps:
          - submit: WORK-1
    """)))  # fmt: skip
    assert found == ["covers row-9: expected reached, found not reached"]


def test_branches_that_differ_where_a_line_names_none_fail() -> None:
    found = failed(scenario_of(small("""
        steps:
          - fork:
              A:
                - submit: WORK-1
              B:
                - observe: {class: EXPORT, observed_at: now, start_delay: 0, duration: 1s}
                - submit: WORK-1
        oracle:
          - {check: verdict, expected: HOLD, probe: {ask: verdict}}
    """)))  # fmt: skip
    assert found == ["verdict: expected HOLD, found A: HOLD, B: ADMIT"]


def test_what_is_not_on_the_ledger_is_said_to_be_so() -> None:
    found = failed(scenario_of(small("""
        steps:
          - at: T0
            advance: 1m
          - submit: WORK-1
        oracle:
          - {check: verdict at T0, expected: HOLD, probe: {ask: verdict, at: T0}}
    """)))  # fmt: skip
    assert found == ["verdict at T0: expected HOLD, found not on the ledger"]
