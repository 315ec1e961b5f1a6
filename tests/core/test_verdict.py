"""The pure function: each row, each boundary, and an oracle that was written from the contract."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.effects import MINUTE, MINUTE_US, POLICY, capacity, envelope

from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.effect_facts import EffectState, Envelope
from remit.core.verdict import Evidence, Finding, Rival, Verdict, assess
from remit.proofs import verdicts as admission_oracle

NOW = 1_000 * MINUTE_US
FRESH = capacity(id="CAP-1", observed_at=NOW)
ADMITTED = Evidence(work_class="STANDARD", validated_seq=2, stored_seq=1, seen=FRESH)

NAMES = [
    "prior-effect", "envelope", "cancellation", "operation", "work-class", "replay-class",
    "payload-size", "storage-limit", "same-effect", "deadline", "margin-zero-delay", "not-before",
    "dependencies", "destination-revision", "human-decision", "capacity-freshness",
    "capacity-completeness", "capacity-workers", "start-delay", "expected-start", "margin",
    "expected-completion",
]  # fmt: skip


def look(
    parts: dict[str, Any] | None = None,
    at: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
    now: int = NOW,
) -> Finding:
    """A verdict on what would be admitted, but for what is named."""
    asked = envelope(1, **(parts or {}))
    ruled = changed(POLICY, **policy) if policy else POLICY
    return assess(asked, ruled, changed(ADMITTED, **at) if at else ADMITTED, now)


def said(found: Finding) -> tuple[str, str]:
    return found.verdict.value, found.reason


def check(found: Finding, name: str) -> Check:
    return next(one for one in found.checks if one.check == name)


def test_what_nothing_holds_is_admitted_with_every_check_recorded() -> None:
    found = look()
    assert said(found) == ("ADMIT", "ELIGIBLE")
    assert [one.check for one in found.checks] == NAMES
    assert found.observation == "CAP-1"
    not_asked = {c.check for c in found.checks if c.result is Result.NOT_TESTED}
    assert {"cancellation", "deadline", "margin-zero-delay", "not-before", "margin"} <= not_asked


RIVAL = Rival("W-9", "live", EffectState.NOT_STARTED, "EXPORT", "SYNTHETIC-DIGEST-A")

ROWS: list[tuple[int, dict[str, Any], tuple[str, str]]] = [
    (0, {"at": {"own": EffectState.INTENDED}}, ("HOLD", "PRIOR_EFFECT_UNRECONCILED")),
    (0, {"at": {"own": EffectState.UNCERTAIN}}, ("HOLD", "PRIOR_EFFECT_UNRECONCILED")),
    (0, {"at": {"own": EffectState.CONTRADICTED}}, ("HOLD", "PRIOR_EFFECT_UNRECONCILED")),
    (0, {"at": {"own": EffectState.PRESENT}}, ("HOLD", "PRIOR_EFFECT_PRESENT")),
    (1, {"at": {"faults": 1}}, ("REJECT", "INVALID_ENVELOPE")),
    (1, {"parts": {"cancellation_state": "REQUESTED"}}, ("REJECT", "CANCELLED")),
    (
        1,
        {"parts": {"cancellation_state": "UNOBSERVABLE"}},
        ("HOLD", "CANCELLATION_UNOBSERVABLE"),
    ),
    (2, {"policy": {"operations": ("DEPLOY*",)}}, ("REJECT", "OPERATION_FORBIDDEN")),
    (2, {"policy": {"classes": ("URGENT",)}}, ("REJECT", "CLASS_FORBIDDEN")),
    (2, {"policy": {"replay_classes": ("PURE",)}}, ("REJECT", "REPLAY_CLASS_FORBIDDEN")),
    (
        2,
        {"parts": {"payload_bytes": 11}, "policy": {"max_payload_bytes": 10}},
        ("REJECT", "PAYLOAD_TOO_LARGE"),
    ),
    (3, {"at": {"rival": changed(RIVAL, operation="OTHER")}}, ("REJECT", "EFFECT_CONFLICT")),
    (3, {"at": {"rival": changed(RIVAL, payload_digest="B")}}, ("REJECT", "EFFECT_CONFLICT")),
    (
        3,
        {"at": {"rival": changed(RIVAL, state=EffectState.UNCERTAIN)}},
        ("HOLD", "EFFECT_UNCERTAIN"),
    ),
    (3, {"at": {"rival": RIVAL}}, ("COALESCE", "SAME_EFFECT")),
    (4, {"parts": {"deadline": NOW}}, ("EXPIRE", "DEADLINE_PASSED")),
    (
        4,
        {"parts": {"deadline": NOW + MINUTE_US, "minimum_completion_margin_ms": MINUTE + 1}},
        ("EXPIRE", "MARGIN_IMPOSSIBLE"),
    ),
    (5, {"parts": {"not_before": NOW + 1}}, ("HOLD", "NOT_BEFORE")),
    (5, {"at": {"retry_at": NOW + 1}}, ("HOLD", "RETRY_BACKOFF")),
    (6, {"at": {"unmet": ("W-2",)}}, ("HOLD", "UNMET_DEPENDENCY")),
    (
        6,
        {
            "parts": {"destination": "INDEX"},
            "policy": {"rows": ("capacity", "deadline", "destination")},
        },
        ("HOLD", "DESTINATION_UNKNOWN"),
    ),
    (6, {"parts": {"replay_class": "IRREVERSIBLE"}}, ("HOLD", "HUMAN_DECISION_MISSING")),
    (7, {"at": {"seen": None}}, ("HOLD", "CAPACITY_EVIDENCE_MISSING")),
    (
        7,
        {"at": {"seen": changed(FRESH, observed_at=NOW - 120_000_001)}},
        ("HOLD", "STALE_CAPACITY_EVIDENCE"),
    ),
    (
        7,
        {"at": {"seen": changed(FRESH, observed_at=NOW + 1_000_001)}},
        ("HOLD", "CAPACITY_EVIDENCE_FROM_FUTURE"),
    ),
    (
        7,
        {"at": {"seen": changed(FRESH, start_delay_ms=None)}},
        ("HOLD", "INCOMPLETE_CAPACITY_EVIDENCE"),
    ),
    (7, {"at": {"seen": changed(FRESH, worker_limit=0)}}, ("HOLD", "NO_FREE_WORKER")),
    (
        8,
        {
            "parts": {
                "deadline": NOW + 4 * MINUTE_US,
                "minimum_completion_margin_ms": 3 * MINUTE,
            },
            "at": {"seen": changed(FRESH, start_delay_ms=2 * MINUTE)},
        },
        ("EXPIRE", "MARGIN_NOT_PRESERVED"),
    ),
    (
        8,
        {
            "parts": {"deadline": NOW + MINUTE_US},
            "at": {"seen": changed(FRESH, start_delay_ms=1)},
        },
        ("EXPIRE", "DEADLINE_UNREACHABLE"),
    ),
]
"""One way at least into every row of the table."""


@pytest.mark.parametrize(("row", "world", "expected"), ROWS, ids=lambda v: str(v)[:40])
def test_every_row_of_the_table(row: int, world: dict[str, Any], expected: tuple[str, str]) -> None:
    found = look(**world)
    assert said(found) == expected
    assert [one.check for one in found.checks] == NAMES, "every check is there, whatever decides"


@pytest.mark.parametrize("first", range(len(ROWS)))
@pytest.mark.parametrize("second", range(len(ROWS)))
def test_the_first_row_that_matches_decides(first: int, second: int) -> None:
    """Two faults at once: the earlier row's reason, whichever of them it is."""
    (row, one, expected), (other_row, other, _) = ROWS[first], ROWS[second]
    if row >= other_row:
        return
    both: dict[str, Any] = {
        k: {**other.get(k, {}), **one.get(k, {})} for k in ("parts", "at", "policy")
    }
    if "rows" in one.get("policy", {}) or "rows" in other.get("policy", {}):
        both["policy"]["rows"] = ("capacity", "deadline", "destination")
    found = look(**both)
    assert said(found) == expected, f"row {row} before row {other_row}"


def test_a_hold_names_an_owner_and_a_trigger_that_a_machine_can_act_on() -> None:
    """INV-3."""
    triggers = {
        "PRIOR_EFFECT_UNRECONCILED": ("retry", "reconcile:PACKAGE-1"),
        "PRIOR_EFFECT_PRESENT": ("retry", "reconcile:PACKAGE-1"),
        "CANCELLATION_UNOBSERVABLE": ("admission", "cancellation:WORK-1"),
        "EFFECT_UNCERTAIN": ("admission", "reconcile:PACKAGE-1"),
        "NOT_BEFORE": ("admission", f"time:{NOW + 1}"),
        "RETRY_BACKOFF": ("retry", f"time:{NOW + 1}"),
        "UNMET_DEPENDENCY": ("admission", "dependency:W-2"),
        "DESTINATION_UNKNOWN": ("admission", "destination:INDEX"),
        "HUMAN_DECISION_MISSING": ("admission", "decision:irreversible-action-authorization"),
    }
    seen = set()
    for _, world, (verdict, reason) in ROWS:
        found = look(**world)
        if verdict == "HOLD":
            wanted = triggers.get(reason, ("admission", "capacity:STANDARD"))
            assert (found.owner, found.trigger) == wanted
            seen.add(reason)
        else:
            assert (found.trigger, found.recheck_at) == ("", 0)
    assert len(seen) == 14


LIFE = {"deadline": NOW + 20 * MINUTE_US, "minimum_completion_margin_ms": 6 * MINUTE}


@pytest.mark.parametrize(("row", "world", "expected"), ROWS, ids=lambda v: str(v)[:40])
def test_a_hold_with_a_lifetime_wakes_where_row_4_decides(
    row: int, world: dict[str, Any], expected: tuple[str, str]
) -> None:
    if expected[0] != "HOLD":
        return
    parts = {**LIFE, **world.get("parts", {})}
    found = look(**{**world, "parts": parts})
    if row < 4:
        assert found.recheck_at == 0, "an earlier row would decide again, whatever the time"
        return
    times = [LIFE["deadline"] - 6 * MINUTE_US]
    if found.trigger.startswith("time:"):
        times.append(int(found.trigger[5:]))
    assert found.recheck_at == min(times)
    later = look(**{**world, "parts": parts}, now=times[0] + 1)
    assert later.verdict is Verdict.EXPIRE


def test_stale_evidence_blocks_what_depends_on_it_and_is_neither_pass_nor_fail() -> None:
    """INV-1."""
    stale = changed(FRESH, observed_at=NOW - 12 * MINUTE_US, start_delay_ms=None, duration_ms=None)
    found = look(LIFE, {"seen": stale})
    assert said(found) == ("HOLD", "STALE_CAPACITY_EVIDENCE")
    fresh = check(found, "capacity-freshness")
    assert (fresh.result, fresh.observed, fresh.required) == ("FAIL", "720000", "<=120000")
    assert fresh.evidence == "capacity:CAP-1"
    for name in NAMES[16:]:
        assert check(found, name).result is Result.BLOCKED
    assert check(found, "deadline").result is Result.PASS
    for name in ("cancellation", "payload-size", "human-decision"):
        assert check(found, name).result is Result.NOT_TESTED


def test_the_worked_example_expires_at_t2_on_4_minutes_of_6() -> None:
    seen = changed(FRESH, start_delay_ms=16 * MINUTE, duration_ms=5 * MINUTE)
    found = look(LIFE, {"seen": seen})
    assert said(found) == ("EXPIRE", "MARGIN_NOT_PRESERVED")
    margin = check(found, "margin")
    assert (margin.result, margin.observed, margin.required) == ("FAIL", "240000", ">=360000")
    done = check(found, "expected-completion")
    assert (done.result, done.reason) == ("FAIL", "DEADLINE_UNREACHABLE")
    assert check(found, "capacity-freshness").result is Result.PASS


def test_an_absent_part_is_not_tested_and_never_zero() -> None:
    only_margin = look({"minimum_completion_margin_ms": 6 * MINUTE})
    assert said(only_margin) == ("ADMIT", "ELIGIBLE")
    assert check(only_margin, "margin").result is Result.NOT_TESTED
    only_deadline = look({"deadline": NOW + MINUTE_US})
    assert check(only_deadline, "margin").result is Result.NOT_TESTED
    assert check(only_deadline, "expected-completion").result is Result.PASS
    zero = look({"deadline": NOW + MINUTE_US, "minimum_completion_margin_ms": 0})
    assert check(zero, "margin").result is Result.PASS
    asked = look(policy={"rows": ("capacity", "cancellation")})
    assert said(asked) == ("HOLD", "CANCELLATION_UNOBSERVABLE")


# Boundaries.


@pytest.mark.parametrize(
    ("age_us", "expected"),
    [
        (0, "ELIGIBLE"),
        (120_000_000, "ELIGIBLE"),
        (120_000_001, "STALE_CAPACITY_EVIDENCE"),
        (-1_000_000, "ELIGIBLE"),
        (-1_000_001, "CAPACITY_EVIDENCE_FROM_FUTURE"),
    ],
)
def test_an_age_equal_to_the_limit_is_fresh_and_one_beyond_the_skew_is_not(
    age_us: int, expected: str
) -> None:
    assert look(at={"seen": changed(FRESH, observed_at=NOW - age_us)}).reason == expected


@pytest.mark.parametrize(("limit", "expected"), [(0, "ELIGIBLE")])
def test_a_freshness_limit_of_nought_takes_only_what_was_seen_just_now(
    limit: int, expected: str
) -> None:
    policy = {"freshness_limit_ms": limit, "clock_skew_ms": 0}
    assert look(policy=policy).reason == expected
    old = {"seen": changed(FRESH, observed_at=NOW - 1)}
    assert look(at=old, policy=policy).reason == "STALE_CAPACITY_EVIDENCE"
    ahead = {"seen": changed(FRESH, observed_at=NOW + 1)}
    assert look(at=ahead, policy=policy).reason == "CAPACITY_EVIDENCE_FROM_FUTURE"


@pytest.mark.parametrize(
    ("left_us", "expected"),
    [(-1, "DEADLINE_PASSED"), (0, "DEADLINE_PASSED"), (1, "ELIGIBLE")],
)
def test_a_deadline_that_is_now_has_passed(left_us: int, expected: str) -> None:
    seen = changed(FRESH, duration_ms=0)
    found = look({"deadline": NOW + left_us}, {"seen": seen})
    assert found.reason == expected


@pytest.mark.parametrize(
    ("left_us", "expected"),
    [(MINUTE_US - 1, "MARGIN_IMPOSSIBLE"), (MINUTE_US, "ELIGIBLE"), (MINUTE_US + 1, "ELIGIBLE")],
)
def test_a_margin_equal_to_what_is_left_is_preserved(left_us: int, expected: str) -> None:
    parts = {"deadline": NOW + left_us, "minimum_completion_margin_ms": MINUTE}
    assert look(parts).reason == expected


@pytest.mark.parametrize(
    ("delay_ms", "expected"),
    [(14 * MINUTE, "ELIGIBLE"), (14 * MINUTE + 1, "MARGIN_NOT_PRESERVED")],
)
def test_a_margin_equal_to_what_is_left_at_the_expected_start(delay_ms: int, expected: str) -> None:
    assert look(LIFE, {"seen": changed(FRESH, start_delay_ms=delay_ms)}).reason == expected


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [(20 * MINUTE, "ELIGIBLE"), (20 * MINUTE + 1, "DEADLINE_UNREACHABLE")],
)
def test_a_completion_at_the_deadline_is_in_time(duration_ms: int, expected: str) -> None:
    parts = {"deadline": NOW + 20 * MINUTE_US}
    assert look(parts, {"seen": changed(FRESH, duration_ms=duration_ms)}).reason == expected


@pytest.mark.parametrize(
    ("ahead_us", "expected"), [(-1, "ELIGIBLE"), (0, "ELIGIBLE"), (1, "NOT_BEFORE")]
)
def test_what_may_begin_now_is_not_early(ahead_us: int, expected: str) -> None:
    assert look({"not_before": NOW + ahead_us}).reason == expected


def test_a_lifetime_is_measured_from_when_work_may_begin() -> None:
    begin = NOW + 10 * MINUTE_US
    dead = look({"not_before": begin, "deadline": begin})
    assert said(dead) == ("EXPIRE", "DEADLINE_PASSED")
    short = {"not_before": begin, "deadline": begin + MINUTE_US}
    assert look({**short, "minimum_completion_margin_ms": MINUTE + 1}).reason == "MARGIN_IMPOSSIBLE"
    assert look({**short, "minimum_completion_margin_ms": MINUTE}).reason == "NOT_BEFORE"


@pytest.mark.parametrize(
    ("limit", "reserved", "expected"),
    [
        (1, 0, "ELIGIBLE"),
        (2, 1, "ELIGIBLE"),
        (1, 1, "NO_FREE_WORKER"),
        (1, 2, "NO_FREE_WORKER"),
        (0, None, "NO_FREE_WORKER"),
        (None, None, "ELIGIBLE"),
        (2, None, "ELIGIBLE"),
    ],
)
def test_no_worker_that_is_ever_free_is_a_hold(
    limit: int | None, reserved: int | None, expected: str
) -> None:
    seen = changed(FRESH, worker_limit=limit, reserved=reserved)
    found = look(at={"seen": seen})
    assert found.reason == expected
    if expected == "ELIGIBLE" and (limit is None or reserved is None):
        assert check(found, "capacity-workers").result is Result.NOT_TESTED


@pytest.mark.parametrize(
    ("limit", "reserved", "admitted", "delay"),
    [
        (2, 0, 0, 0),
        (2, 0, 1, 30_000),
        (2, 0, 3, 90_000),
        (3, 0, 1, 20_000),
        (7, 0, 1, 8_572),
        (2, 1, 1, 60_000),
        (None, None, 2, 120_000),
        (2, None, 2, 120_000),
    ],
)
def test_each_admit_debits_its_observation(
    limit: int | None, reserved: int | None, admitted: int, delay: int
) -> None:
    seen = changed(FRESH, worker_limit=limit, reserved=reserved)
    found = look(at={"seen": seen, "admitted": admitted})
    assert check(found, "start-delay").observed == str(delay)


@pytest.mark.parametrize("name", ["queued_items", "dependency_state", "destination_revision"])
def test_an_absent_optional_part_holds_only_where_policy_asks_for_it(name: str) -> None:
    assert look().verdict is Verdict.ADMIT
    found = look(policy={"capacity_fields": (name,)})
    assert said(found) == ("HOLD", "INCOMPLETE_CAPACITY_EVIDENCE")
    assert check(found, "capacity-completeness").observed == name
    value: object = 0 if name == "queued_items" else "known"
    told = look(at={"seen": changed(FRESH, **{name: value})}, policy={"capacity_fields": (name,)})
    assert told.verdict is Verdict.ADMIT, "a nought that was observed is there"


def test_what_policy_does_not_ask_is_not_tested() -> None:
    found = look(LIFE, {"seen": None}, {"rows": ()})
    assert said(found) == ("ADMIT", "ELIGIBLE")
    for name in ("deadline", "capacity-freshness", "start-delay", "margin", "expected-completion"):
        assert check(found, name).result is Result.NOT_TESTED
    assert found.observation == ""


def test_eligible_work_is_not_asked_for_capacity_again() -> None:
    found = look(LIFE, {"seen": None, "eligible": True})
    assert said(found) == ("ADMIT", "ELIGIBLE")
    assert check(found, "capacity-freshness").result is Result.NOT_TESTED


@pytest.mark.parametrize(
    ("rival", "expected"),
    [
        (changed(RIVAL, standing="completed", state=EffectState.PRESENT), "SAME_EFFECT"),
        (changed(RIVAL, state=EffectState.INTENDED), "SAME_EFFECT"),
        (changed(RIVAL, standing="closed"), "ELIGIBLE"),
        (changed(RIVAL, standing="closed", state=EffectState.ABSENT), "ELIGIBLE"),
        (changed(RIVAL, standing="closed", state=EffectState.INTENDED), "EFFECT_UNCERTAIN"),
        (changed(RIVAL, standing="closed", state=EffectState.UNCERTAIN), "EFFECT_UNCERTAIN"),
        (changed(RIVAL, state=EffectState.CONTRADICTED), "EFFECT_UNCERTAIN"),
        (changed(RIVAL, state=EffectState.UNCERTAIN, operation="OTHER"), "EFFECT_CONFLICT"),
        (changed(RIVAL, waits=True), "EFFECT_CONFLICT"),
    ],
)
def test_another_work_of_the_same_effect(rival: Rival, expected: str) -> None:
    found = look(at={"rival": rival})
    assert found.reason == expected
    assert found.survivor == ("W-9" if expected == "SAME_EFFECT" else "")


def test_what_cannot_be_undone_waits_for_a_human_and_goes_once() -> None:
    parts = {"replay_class": "IRREVERSIBLE", "decision": "D-1"}
    assert look(parts).reason == "HUMAN_DECISION_MISSING", "a name is no decision"
    assert look(parts, {"authorized_by": "ann"}).reason == "ELIGIBLE"
    assert check(look(parts, {"authorized_by": "ann"}), "human-decision").observed == "unproved:ann"
    again = look(parts, {"authorized_by": "ann", "intents": 1})
    assert again.reason == "HUMAN_DECISION_MISSING", "the decision was for the first time"


def test_unclassified_is_never_eligible() -> None:
    policy = {"replay_classes": ("UNCLASSIFIED", "PURE")}
    found = look({"replay_class": "UNCLASSIFIED"}, policy=policy)
    assert said(found) == ("REJECT", "REPLAY_CLASS_FORBIDDEN")


# Against the oracle.

_small = st.integers(-3, 3)
_near = st.one_of(st.none(), st.builds(lambda k, e: NOW + k * MINUTE_US + e, _small, _small))
_ms = st.one_of(
    st.none(), st.builds(lambda k, e: max(0, k * MINUTE + e), st.integers(0, 3), _small)
)
_some = st.one_of(st.none(), st.integers(0, 3))
_states = st.sampled_from(list(EffectState))
_classes = st.sampled_from(
    ["PURE", "RECONCILABLE", "IDEMPOTENT", "IRREVERSIBLE", "UNCLASSIFIED", "X"]
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Envelope, Any, Evidence]:
    """Envelopes, policies and evidence in which every row has a fair chance to decide."""
    asked = envelope(
        1,
        replay_class=draw(_classes),
        operation_id=draw(st.sampled_from(["EXPORT", "EXPORT-2", "DEPLOY"])),
        payload_digest=draw(st.sampled_from(["A", "B"])),
        payload_bytes=draw(st.one_of(st.none(), st.integers(0, 12))),
        not_before=draw(_near),
        deadline=draw(_near),
        minimum_completion_margin_ms=draw(_ms),
        cancellation_state=draw(
            st.sampled_from(["", "", "NOT_REQUESTED", "REQUESTED", "UNOBSERVABLE"])
        ),
        destination=draw(st.sampled_from(["", "INDEX"])),
        decision=draw(st.sampled_from(["", "D-1"])),
    )
    rows = ("capacity", "deadline", "cancellation", "destination")
    policy = changed(
        POLICY,
        operations=draw(st.sampled_from([("*",), ("EXPORT",), ("EXPORT*", "MAIL")])),
        classes=draw(st.sampled_from([("*",), ("STANDARD",), ("OTHER",)])),
        replay_classes=draw(
            st.sampled_from([("PURE", "RECONCILABLE", "IRREVERSIBLE"), ("UNCLASSIFIED", "PURE")])
        ),
        max_payload_bytes=draw(st.sampled_from([0, 10])),
        rows=tuple(r for r in rows if draw(st.integers(0, 3))),
        human_decision=draw(st.sampled_from([(), ("RECONCILABLE",)])),
        capacity_fields=draw(st.sampled_from([(), ("queued_items",), ("dependency_state",)])),
    )
    return asked, policy, draw(evidence())


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    """What may be known."""
    seen = capacity(
        id="CAP-1",
        observed_at=NOW - draw(st.sampled_from([0, 1, 119_999_999, 120_000_000, 120_000_001,
                                                -1_000_000, -1_000_001])),
        start_delay_ms=draw(_ms),
        duration_ms=draw(_ms),
        worker_limit=draw(_some),
        reserved=draw(_some),
        queued_items=draw(_some),
        dependency_state=draw(st.sampled_from(["", "up"])),
    )  # fmt: skip
    rival = Rival(
        "W-9",
        draw(st.sampled_from(["live", "completed", "closed"])),
        draw(_states),
        draw(st.sampled_from(["EXPORT", "DEPLOY"])),
        draw(st.sampled_from(["A", "B"])),
        draw(st.booleans()),
    )
    often = st.integers(0, 4)
    return Evidence(
        work_class="STANDARD",
        faults=0 if draw(often) else 1,
        own=EffectState.NOT_STARTED if draw(often) else draw(_states),
        intents=draw(st.integers(0, 1)),
        rival=None if draw(often) else rival,
        unmet=() if draw(often) else ("W-2",),
        destination=draw(st.sampled_from(["", "INDEX-1"])),
        authorized_by=draw(st.sampled_from(["", "ann"])),
        seen=seen if draw(often) else None,
        admitted=draw(st.integers(0, 3)),
        retry_at=0 if draw(often) else NOW + draw(_small),
        eligible=not draw(often),
    )


@given(worlds())
def test_the_decision_is_what_the_oracle_says(world: tuple[Envelope, Any, Evidence]) -> None:
    asked, policy, at = world
    found = assess(asked, policy, at, NOW)
    assert said(found) == admission_oracle.expected(asked, policy, at, NOW)
    assert [one.check for one in found.checks] == NAMES
    sound(found)


def sound(found: Finding) -> None:
    """What holds of every finding, whatever it rests on (INV-1, INV-3)."""
    results = {one.check: one.result for one in found.checks}
    if found.verdict is Verdict.HOLD:
        assert found.owner in ("admission", "retry")
        assert ":" in found.trigger
    if found.verdict is Verdict.ADMIT:
        assert set(results.values()) <= {Result.PASS, Result.NOT_TESTED}
    if results["capacity-freshness"] in (Result.FAIL, Result.BLOCKED):
        later = {results[n] for n in NAMES[16:]}
        assert later <= {Result.BLOCKED, Result.NOT_TESTED}
    for one in found.checks:
        assert (one.result in (Result.FAIL, Result.BLOCKED)) == bool(one.reason)


def test_the_oracle_is_no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one of them is seen by the other."""
    from remit.core import capacity as figures

    monkeypatch.setattr(figures, "is_fresh", lambda seen, policy, now: True)
    stale = changed(ADMITTED, seen=changed(FRESH, observed_at=NOW - 120_000_001))
    assert said(assess(envelope(1), POLICY, stale, NOW)) != admission_oracle.expected(
        envelope(1), POLICY, stale, NOW
    )
