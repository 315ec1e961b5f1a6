"""The shipped scenarios: each comes out as it says, and together they reach every row and boundary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.scenarios.playing import NAMES, SHIPPED, failed, played, scenario_of, shipped

from remit.scenarios.coverage import LABELS
from remit.scenarios.model import Step
from remit.scenarios.running import play
from remit.scenarios.verbs import VERBS
from remit.service.reading.sheets.questions import QUESTIONS

STALE = [
    ("Stale observation detected at T1", "PASS"),
    ("Missing margin preserved as uncertainty at T1", "PASS"),
    ("Decision at T1", "HOLD"),
    ("Fresh observation evaluated at T2", "PASS"),
    ("Insufficient remaining margin detected at T2", "PASS"),
    ("Decision at T2", "EXPIRE"),
    ("Execution attempted", "NOT_TESTED"),
    ("Durable package effect", "NOT_TESTED"),
    ("External package effect", "NOT_TESTED"),
]
STALE_REVIEW = [
    ("stored", "PASS"),
    ("valid", "PASS"),
    ("capacity observation at T1", "BLOCKED by staleness"),
    ("admission at T1", "HOLD"),
    ("fresh lifetime comparison at T2", "FAIL"),
    ("admission at T2", "EXPIRE"),
]
LOST = [
    ("Lost response preserved as uncertainty", "PASS"),
    ("Lease expiry kept separate from worker termination", "PASS"),
    ("New local ownership kept separate from external effect safety", "PASS"),
    ("Retry held before reconciliation", "PASS"),
    ("Branch A exact effect found", "PASS"),
    ("Branch A retry suppressed", "PASS"),
    ("Branch A completion scoped to identified evidence", "PASS"),
    ("Branch B destination unavailable", "BLOCKED"),
    ("Branch B effect state", "UNCERTAIN"),
    ("Branch B retry remains held", "PASS"),
    ("Second external request sent", "NOT_TESTED"),
    ("Duplicate effect created", "NOT_TESTED"),
    ("Compensation attempted", "NOT_TESTED"),
]
LOST_REVIEW = [
    ("initial admission", "ADMIT"),
    ("first request send", "observed"),
    ("first external outcome", "UNCERTAIN"),
    ("replacement local ownership", "available but not effect authority"),
    ("retry before reconciliation", "HOLD"),
    ("exact reconciled effect", "COMPLETED and SUPPRESS"),
    ("unavailable reconciliation", "UNCERTAIN and HOLD"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_scenario_comes_out_as_it_says(name: str) -> None:
    found = shipped(name)
    assert found.name == name
    assert found.about
    assert failed(found) == []


def section(name: str, wanted: str) -> list[tuple[str, str]]:
    lines = played(shipped(name))["oracle"]
    return [(line["check"], line["actual"]) for line in lines if line["section"] == wanted]


def test_the_trace_of_stale_capacity_gives_each_line() -> None:
    assert section("stale-capacity", "oracle") == STALE
    assert section("stale-capacity", "review") == STALE_REVIEW


def test_the_trace_of_a_lost_response_gives_each_line() -> None:
    assert section("response-lost", "oracle") == LOST
    assert section("response-lost", "review") == LOST_REVIEW


def test_the_two_traces_answer_all_ten_questions_together() -> None:
    first, second = section("stale-capacity", "questions"), section("response-lost", "questions")
    assert [check for check, _ in first] == [check for check, _ in second]
    assert len(first) == 10
    for (check, one), (_, other) in zip(first, second, strict=True):
        assert {one, other} <= {"PASS", "NOT_TESTED"}, check
        assert "PASS" in (one, other), f"neither trace came to: {check}"


def test_only_the_age_of_the_evidence_changes_between_the_decisions() -> None:
    """The same remaining lifetime at T0, T1 and T2; four minutes would be left where six are needed."""
    steps = {s["at"]: s for s in played(shipped("stale-capacity"))["steps"] if s["at"]}
    assert list(steps) == ["T0", "T1", "T2", "T2_DECIDED"]
    assert steps["T0"]["time"] == steps["T1"]["time"] == steps["T2"]["time"]
    world = play(shipped("stale-capacity"))[0].world
    story = world.story("WORK-104", "T2_DECIDED")
    assert story is not None
    assert story.capacity is not None
    assert story.capacity.observed_at == world.times["T2"]
    margin, age = story.check("margin"), story.check("capacity-freshness")
    assert margin is not None
    assert age is not None
    assert (margin.observed, margin.required, age.observed) == ("240000", ">=360000", "20000")
    assert story.envelope.deadline == world.times["T2"] + 20 * 60 * 1_000_000


def test_nothing_is_expected_that_probes_do_not_answer() -> None:
    """An expectation turned round must fail: no actual is taken from what is expected."""
    text = (SHIPPED / "stale-capacity.yaml").read_text()
    wrong = text.replace("expected: EXPIRE", "expected: ADMIT").replace(
        "expected: PASS", "expected: FAIL"
    )
    found = failed(scenario_of(wrong))
    right = played(shipped("stale-capacity"))["oracle"]
    turned = [line for line in right if line["section"] not in ("steps", "coverage")]
    turned = [line for line in turned if line["expected"] in ("EXPIRE", "PASS")]
    assert len(found) == len(turned) > 10


def covered() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {label: [] for label in LABELS}
    for name in NAMES:
        for label in shipped(name).covers:
            found[label].append(name)
    return found


def test_every_row_every_table_row_and_every_boundary_is_covered() -> None:
    """The labels themselves are asked of the events by each scenario's own run."""
    assert [label for label, names in covered().items() if not names] == []
    assert len(NAMES) >= 42


def test_every_scenario_says_what_it_covers() -> None:
    assert [name for name in NAMES if not shipped(name).covers] == []


def steps_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        for branch in step.forks.values():
            yield from steps_of(branch)


def test_every_verb_and_every_question_is_used() -> None:
    used = {step.verb for name in NAMES for step in steps_of(shipped(name).steps)}
    assert set(VERBS) - used == set()
    asked = {
        p.name
        for n in NAMES
        for line in shipped(n).oracle
        for p in line.probes
        if p.ask == "question"
    }
    assert set(QUESTIONS) - asked == set()


def test_the_same_scenario_gives_the_same_answer_each_time() -> None:
    assert played(shipped("response-lost")) == played(shipped("response-lost"))
