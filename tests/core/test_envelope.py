"""Validation of envelopes: every fault at once, each with the path of its field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.effects import RULES, envelope

from remit.core.change import changed
from remit.core.effect_facts import Comparison, Envelope, Fault
from remit.core.envelope import ALWAYS, MAX_COMPARISONS, MAX_MARGIN_MS, MAX_TARGETS, faults_of


def faults(parts: dict[str, Any], rules: dict[str, Any] | None = None, size: int = 0) -> list[str]:
    """Path and code of every fault."""
    found = faults_of(envelope(1, **parts), changed(RULES, **rules) if rules else RULES, size)
    return [f"{fault.path} {fault.code}" for fault in found]


def test_a_plain_envelope_is_valid() -> None:
    assert faults({}) == []
    assert faults({"deadline": 10, "not_before": 10, "minimum_completion_margin_ms": 0}) == []


def test_an_empty_envelope_lacks_what_is_always_required_and_says_so_at_once() -> None:
    found = faults_of(Envelope(), RULES)
    assert [(f.path, f.code) for f in found] == [(f"$.{name}", "MISSING") for name in ALWAYS]


@pytest.mark.parametrize("name", ALWAYS)
def test_each_of_the_six_is_required_whatever_the_rules_say(name: str) -> None:
    empty: Any = () if name == "completion_test" else ""
    assert faults({name: empty}) == [f"$.{name} MISSING"]


@pytest.mark.parametrize(
    ("name", "nought"),
    [("deadline", 1), ("payload_bytes", 0), ("minimum_completion_margin_ms", 0), ("tenant", "t")],
)
def test_rules_may_require_more_and_a_nought_is_there(name: str, nought: Any) -> None:
    rules = {"required": (name,)}
    assert faults({}, rules) == [f"$.{name.removesuffix('_ms')} MISSING"]
    assert faults({name: nought}, rules) == []


def test_what_a_policy_asks_for_is_required_beside_the_rules() -> None:
    found = faults_of(envelope(1), RULES, also=("destination",))
    assert [f.path for f in found] == ["$.destination"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"work_id": "W-7"}, "$.work_id MALFORMED"),
        ({"work_id": "a b"}, "$.work_id MALFORMED"),
        ({"message_id": "x" * 201}, "$.message_id MALFORMED"),
        ({"effect_id": "two\nlines"}, "$.effect_id MALFORMED"),
        ({"retry_owner": "no body"}, "$.retry_owner MALFORMED"),
        ({"replay_class": "MAYBE"}, "$.replay_class UNKNOWN"),
        ({"cancellation_state": "PERHAPS"}, "$.cancellation_state UNKNOWN"),
        ({"priority_class": "a|b"}, "$.priority_class MALFORMED"),
        ({"tenant": "x" * 65}, "$.tenant MALFORMED"),
        ({"deadline": -1}, "$.deadline OUT_OF_RANGE"),
        ({"deadline": 9, "not_before": 10}, "$.not_before AFTER_DEADLINE"),
        ({"minimum_completion_margin_ms": -1}, "$.minimum_completion_margin NEGATIVE"),
        (
            {"minimum_completion_margin_ms": MAX_MARGIN_MS + 1},
            "$.minimum_completion_margin OUT_OF_RANGE",
        ),
        ({"payload_bytes": -1}, "$.payload_bytes NEGATIVE"),
        ({"spend_micros": -1}, "$.spend_micros NEGATIVE"),
        ({"priority": 5}, "$.priority OUT_OF_RANGE"),
        ({"depends_on": ("a b",)}, "$.depends_on[0] MALFORMED"),
        ({"depends_on": ("A", "A")}, "$.depends_on[1] REPEATED"),
        ({"depends_on": ("WORK-1",)}, "$.depends_on[0] REPEATED"),
        ({"depends_on": ("A",) * (MAX_TARGETS + 1)}, "$.depends_on TOO_MANY"),
    ],
)
def test_each_fault_names_its_field(parts: dict[str, Any], expected: str) -> None:
    assert faults(parts) == [expected]


def test_an_unclassified_effect_is_valid_and_is_for_policy_to_forbid() -> None:
    assert faults({"replay_class": "UNCLASSIFIED"}) == []


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (("a", "digest", "equals", "x"), []),
        (("a", "object_count", "count", "0"), []),
        (("a", "manifest_id", "present", ""), []),
        (("", "digest", "equals", "x"), ["name MISSING"]),
        (("a", "", "equals", "x"), ["field MISSING"]),
        (("a", "digest", "equals", ""), ["required MISSING"]),
        (("a", "digest", "almost", "x"), ["comparator UNKNOWN"]),
        (("a", "object_count", "count", "one"), ["required MALFORMED"]),
        (("a", "object_count", "count", "-1"), ["required MALFORMED"]),
        (("a", "object_count", "count", "²"), ["required MALFORMED"]),
        (("a", "digest", "present", "x"), ["required MALFORMED"]),
        (("", "", "almost", ""), ["name MISSING", "field MISSING", "comparator UNKNOWN"]),
    ],
)
def test_a_completion_test_is_a_list_of_typed_comparisons(
    comparison: tuple[str, str, str, str], expected: list[str]
) -> None:
    found = faults({"completion_test": (Comparison(*comparison),)})
    assert found == [f"$.completion_test[0].{part}" for part in expected]


def test_comparisons_have_names_of_their_own_and_are_bounded() -> None:
    one = Comparison("a", "digest", "equals", "x")
    assert faults({"completion_test": (one, one)}) == ["$.completion_test[1].name REPEATED"]
    many = (one,) * (MAX_COMPARISONS + 1)
    assert faults({"completion_test": many}) == ["$.completion_test TOO_MANY"]


def test_rules_bound_sizes() -> None:
    rules = {"max_bytes": 100, "max_text": 10}
    short = {"effect_id": "E", "payload_digest": "D"}
    assert faults(short, rules, 100) == []
    assert faults(short, rules, 101) == ["$ TOO_LARGE"]
    assert faults({**short, "payload_digest": "D" * 11}, rules) == ["$.payload_digest TOO_LONG"]


def test_many_faults_are_named_together() -> None:
    parts = {
        "work_id": "",
        "replay_class": "MAYBE",
        "deadline": 1,
        "not_before": 2,
        "minimum_completion_margin_ms": -1,
        "completion_test": (Comparison("a", "", "almost", ""),),
    }
    assert len(faults(parts)) == 6


_text = st.text(max_size=12)
_number = st.one_of(st.none(), st.integers(-(1 << 60), 1 << 60))


@given(
    st.builds(
        Envelope,
        work_id=_text,
        message_id=_text,
        effect_id=_text,
        replay_class=_text,
        deadline=_number,
        not_before=_number,
        minimum_completion_margin_ms=_number,
        priority=st.integers(-9, 9),
        priority_class=_text,
        completion_test=st.lists(st.builds(Comparison, _text, _text, _text, _text), max_size=3).map(
            tuple
        ),
        depends_on=st.lists(_text, max_size=3).map(tuple),
    )
)
def test_whatever_was_submitted_its_faults_can_be_written(asked: Envelope) -> None:
    """Short, printable, with a path: an event can hold them."""
    for fault in faults_of(asked, RULES):
        assert isinstance(fault, Fault)
        assert fault.path.startswith("$")
        assert fault.found.isprintable()
        assert len(fault.found) <= 80
        assert fault.expected
