"""Policies, rules, destinations, intents and observations: read whole, or every fault named."""

from __future__ import annotations

import pytest

from remit.core.effect_commands import RegisterDestination, RegisterPolicy, RegisterValidation
from remit.core.effect_facts import Envelope
from remit.core.envelope import faults_of
from remit.documents.fields import Faults, duration_ms, time_us
from remit.documents.intents import observations, submissions
from remit.documents.marked import Marked
from remit.documents.rulings import rulings
from remit.wiring.reaching import rulings as wired

GOOD = b"""
policy: P-1
validation: V-1
classes: [export]
freshness_limit: 2m
---
validation: V-1
required: [deadline]
---
destination: D-1
name: exports
enforces: {lookup: true, in_flight: 30s}
"""


def test_documents_come_in_the_order_in_which_they_are_registered() -> None:
    found, problems = rulings(GOOD)
    assert problems == []
    assert [(r.kind, r.label) for r in found] == [
        ("validation", "V-1"), ("destination", "D-1"), ("policy", "P-1"),
    ]  # fmt: skip
    commands = [r.with_text("as written") for r in found]
    assert isinstance(commands[0], RegisterValidation)
    assert isinstance(commands[1], RegisterDestination)
    assert commands[1].destination.in_flight_ms == 30_000
    assert isinstance(commands[2], RegisterPolicy)
    assert commands[2].policy.freshness_limit_ms == 120_000
    assert commands[2].policy.document == "as written"


def test_a_digest_is_of_what_is_said_and_not_of_how() -> None:
    [one] = rulings(b"validation: V\nrequired: [deadline]\nmax_bytes: 9\n")[0]
    [same] = rulings(b'{"max_bytes": 9, "required": "deadline", "validation": "V"}')[0]
    [other] = rulings(b"validation: V\nrequired: [deadline]\nmax_bytes: 8\n")[0]
    assert one.digest == same.digest != other.digest


def test_rules_name_parts_of_an_intent_as_intents_do() -> None:
    said = b"validation: V\nrequired: [minimum_completion_margin, deadline]\n"
    (one,), problems = rulings(said)
    assert problems == []
    assert isinstance(one.command, RegisterValidation)
    assert one.command.rules.required == ("minimum_completion_margin_ms", "deadline")
    (same,), _ = rulings(said.replace(b"margin", b"margin_ms"))
    assert one.digest == same.digest
    faults = faults_of(Envelope(deadline=1), one.command.rules)
    assert "$.minimum_completion_margin" in {fault.path for fault in faults}


def test_every_fault_of_every_document_is_named_with_line_and_column() -> None:
    text = b"""policy: P-1
classes: [export]
freshness: 2m
attempts: -1
rows: [capacity, weather]
---
validation: 7
---
nothing: here
---
destination: D-1
name: exports
enforces: {fence: "yes"}
"""
    _, problems = rulings(text)
    assert [(p.line, p.path) for p in problems] == [
        (1, "$"), (3, "$.freshness"), (4, "$.attempts"), (5, "$.rows"), (7, "$.validation"),
        (9, "$"), (13, "$.enforces.fence"),
    ]  # fmt: skip
    assert "validation is missing" in problems[0].message
    assert "freshness_limit" in problems[1].message, "the nearest name is given"
    assert "'weather'" in problems[3].message


def test_the_same_label_twice_is_a_fault() -> None:
    _, problems = rulings(b"validation: V\n---\nvalidation: V\nmax_bytes: 3\n")
    assert [(p.line, p.message) for p in problems] == [(3, "the validation V stands here twice")]


def test_what_a_destination_enforces_comes_from_its_adapter() -> None:
    text = b"""destination: D-1
name: files
record: index
kind: filesystem
settings: {root: /nowhere/remit, path: "{effect_id}.bin"}
"""
    [found], problems = wired(text)
    assert problems == []
    assert isinstance(found.command, RegisterDestination)
    fact = found.command.destination
    assert (fact.idempotency_key, fact.fence, fact.lookup) == (True, True, True)
    _, wrong = wired(text.replace(b"filesystem", b"carrier-pigeon"))
    assert wrong
    assert wrong[0].line == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("90s", 90_000), ("20m", 1_200_000), ("2h", 7_200_000), ("1d", 86_400_000), ("5ms", 5),
     (0, 0)],
)  # fmt: skip
def test_durations(text: object, wanted: int) -> None:
    assert duration_ms(Marked(text, 1, 1)) == wanted


@pytest.mark.parametrize("text", ["20", "m", "-1m", "1.5h", 20, True, None, "1 m", "9" * 13 + "s"])
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        duration_ms(Marked(text, 1, 1))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01 01:00:00+01:00", 0),
        ("2026-05-01T08:00:00.000001Z", 1_777_622_400_000_001),
    ],
)
def test_times(text: str, wanted: int) -> None:
    assert time_us(Marked(text, 1, 1)) == wanted


@pytest.mark.parametrize("text", ["2026-05-01", "2026-02-30T00:00:00Z", "2026-05-01T08:00:00", 5])
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError, match="time"):
        time_us(Marked(text, 1, 1))


def test_intents_come_alone_in_lists_and_in_documents() -> None:
    one = b"work_id: A\nmessage_id: M\n"
    for text in (
        one,
        b"- work_id: A\n  message_id: M\n",
        b"intents:\n- {work_id: A, message_id: M}",
    ):
        [found], problems = submissions(text)
        assert problems == []
        assert (found.envelope.work_id, found.faults) == ("A", ())
    assert len(submissions(one + b"---\n" + one)[0]) == 2


def test_a_wrong_envelope_is_read_and_carries_its_faults() -> None:
    [found], problems = submissions(
        b"work_id: 7\ndeadline: soon\nwhat: is this\ncompletion_test: [{field: digest}, 3]\n"
    )
    assert problems == [], "it is stored and found invalid, not refused"
    assert [f.path for f in found.faults] == [
        "$.what", "$.work_id", "$.deadline", "$.completion_test[0]", "$.completion_test[1]",
    ]  # fmt: skip
    assert found.envelope.deadline is None


def test_what_is_no_intent_is_refused() -> None:
    for text in (b"", b"- 1\n", b"just text", b"intents: []"):
        _, problems = submissions(text)
        assert problems, text


def test_observations_name_their_faults() -> None:
    [found], problems = observations(b"class: x\nobserved_at: 2026-05-01T08:00:00Z\nduration: 5m\n")
    assert problems == []
    assert (found.duration_ms, found.start_delay_ms) == (300_000, None)
    _, problems = observations(b"clas: x\nduration: five\n")
    assert [p.path for p in problems] == ["$.clas", "$.duration", "$", "$"] or len(problems) == 4


def test_faults_keep_what_they_are_given() -> None:
    faults = Faults()
    faults.add(Marked(1, 3, 4), "$.x", "wrong")
    assert str(faults.problems[0]) == "3:4: $.x: wrong"
