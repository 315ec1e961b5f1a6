"""Scenarios with faults: every one is named at once, with line and column, and nothing is played."""

from __future__ import annotations

import pytest
from tests.scenarios.playing import SMALL, problems_of, small

from remit.scenarios.reading import MAX_BYTES


def places(text: str) -> list[str]:
    return [str(problem) for problem in problems_of(text)]


def test_every_fault_of_a_file_is_named_at_once() -> None:
    text = """scenario: bad
covers: [row-99]
documents:
  - validation: RULES-1
    reqired: [deadline]
  - policy: POLICY-1
    validation: RULES-1
    classes: [EXPORT]
    freshness_limit: two minutes
works:
  WORK-1:
    message_id: MESSAGE-1
    deadline: T9+1m
    payload_bytes: many
steps:
  - submitt: WORK-1
  - submit: WORK-2
  - lease: WORK-1
    by: "no actor"
  - submit: WORK-1
    decide: WORK-1
  - submit: WORK-1
    expect: {verdict: MAYBE}
  - fork:
      A:
        - decide: WORK-1
  - advance: 1m
oracle:
  - {check: one, expected: PASS, probe: {ask: verdikt}}
  - {check: two, expected: PASS}
  - {check: three, branch: Z, expected: PASS, probe: {ask: verdict, of: WORK-1, at: T7}}
  - {check: four, expected: PASS, holds: [{ask: verdict, of: WORK-1}]}
"""
    found = places(text)
    wanted = (
        "2:9: $.covers: 'row-99' is no label: did you mean row-9?",
        "5:14: $.reqired: this part is not known: did you mean required?",
        "9:22: $.freshness_limit: found text 'two minutes', expected a duration",
        "14:20: $.works.WORK-1.payload_bytes: found text 'many', expected a whole number",
        "16:14: $.steps[0].submitt: this is no step: did you mean submit?",
        "17:5: submit: there is no work 'WORK-2'",
        "18:5: lease: WORK-1 was not handed in before this step",
        "18:5: lease.by: 'no actor' cannot name an actor",
        "20:5: $.steps[3]: found several verbs: submit, decide; a step has one",
        "22:5: submit.deadline: the moment 'T9' is not named by this step or one before",
        "23:23: $.steps[4].expect.verdict: found text 'MAYBE', expected one of ADMIT",
        "25:7: $.steps[5].fork: found 1 branches, expected two or more",
        "24:5: $.steps[5].fork: a fork must be the last step of its list",
        "29:1: oracle: one: 'verdikt' is no probe: did you mean verdict?",
        "30:5: $.oracle[1]: expected either probe or holds",
        "31:1: oracle: three: there is no branch 'Z'",
        "32:43: $.oracle[3].holds[0]: the part is is missing",
    )
    for one in wanted:
        assert any(line.startswith(one) for line in found), f"{one}\nin\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("- 7", "found a whole number, expected a step"),
        ("- {}", "found no verb"),
        ("- {advance: 1m, at: [x]}", "found a list, expected text"),
        ("- {advance: soon}", "found text 'soon', expected a duration"),
        ("- {register: POLICY-1}", "there is no document 'POLICY-1' with later: true"),
        ("- {redeliver: WORK-1}", "WORK-1 was not handed in before this step"),
        ("- {submit: WORK-1, at: 'a b'}", "'a b' cannot name a moment"),
        ("- {submit: {work: WORK-1, wrok: x}}", "this part is not known: did you mean work?"),
        ("- {submit: WORK-1, expect: {checks: {margin: MAYBE}}}", "expected one of PASS, FAIL"),
        ("- {submit: WORK-1, expect: {work: WORK-9}}", "there is no work 'WORK-9'"),
        ("- {advance: 1s, at: now}", "the moment 'now' has a name already"),
        ("- {advance: 1s, at: T}\n  - {advance: 1s, at: T}", "the moment 'T' has a name already"),
        ("- {advance: 30000d}\n  - {advance: 30000d}", "more than a hundred years go by"),
        ("- {advance: 40000d}", "expected a duration"),
        ("- {fork: [x]}", "found a list, expected a mapping"),
        ("- {fork: {A: [], B: []}}", "found no step"),
        ("[]", "found no step"),
    ],
)
def test_a_bad_step_is_named(step: str, said: str) -> None:
    found = places(small(f"steps:\n  {step}\n"))
    assert any(said in line for line in found), found
    assert all(line.split(":")[0].isdigit() and line.split(":")[1].isdigit() for line in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found 0 documents, expected one scenario"),
        ("scenario: a\n---\nscenario: b\n", "found 2 documents, expected one scenario"),
        ("- a\n", "found a list, expected a mapping"),
        ("scenario: [\n", "this is not YAML"),
        ("scenario: a\nsteps: *x\n", "found the alias *x"),
        ("scenario: &x a\nsteps: []\n", "found the anchor &x"),
        ("scenario: !!python/object:os.system a\nsteps: []\n", "found the tag"),
        ("scenario: a\nscenario: b\nsteps: []\n", "this key stands here twice"),
        ("scenario: a\nsteps: " + "[" * 40 + "]" * 40 + "\n", "found more than 32 levels"),
        ("scenario: a\n", "the part steps is missing"),
        ("x" * (MAX_BYTES + 1), "at most 1048576 are read"),
    ],
)
def test_a_text_that_is_no_scenario_is_refused(text: str, said: str) -> None:
    assert any(said in line for line in places(text)), places(text)[:3]


def test_too_many_steps_are_refused_with_one_fault() -> None:
    text = SMALL + "steps:\n" + "  - {advance: 1s}\n" * 2_500
    assert len([line for line in places(text) if "more than 2000 steps" in line]) == 1


def test_a_scenario_that_expects_nothing_is_refused() -> None:
    """It could not fail, so that it passes would say nothing."""
    quiet = small("steps:\n  - {submit: WORK-1}\n")
    assert ["it expects nothing" in line for line in places(quiet)] == [True]
    assert places(quiet + "covers: [row-7]\n") == []


def test_too_many_branches_are_refused_and_not_played() -> None:
    branches = "".join(f"      B{n}:\n        - {{advance: 1s}}\n" for n in range(65))
    found = places(SMALL + "steps:\n  - fork:\n" + branches)
    assert ["found 65 branches" in line for line in found] == [True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{next_fence: 0}", "expected 1 to 2000"),
        ("{next_fence: 999999}", "expected 1 to 2000"),
        ("{stored: {EXPORT: -1}}", "expected 0 to 2000"),
        ("{stored: 3}", "found a whole number, expected a mapping"),
        ("{fence: 3}", "this part is not known"),
        ("{work: [{work: WORK-1, until: finished}]}", "expected one of stored, decided"),
    ],
)
def test_a_bad_given_state_is_named(given: str, said: str) -> None:
    found = places(small(f"given: {given}\nsteps:\n  - advance: 1s\n"))
    assert any(said in line for line in found), found


def test_labels_stand_for_known_kinds_of_ids() -> None:
    found = places(
        small(
            "labels:\n  A: {fence: 1}\n  B: {lease: x}\n  C: {receipt: WORK-9}\ncovers: [row-7]\nsteps:\n  - advance: 1s\n"
        )
    )
    assert len(found) == 2
    assert "expected {fence: N}" in found[0]
    assert "there is no work 'WORK-9'" in found[1]
