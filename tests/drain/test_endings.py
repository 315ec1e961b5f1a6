"""What a checkpoint keeps of an agent's end says the same when it is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.checks import Result
from remit.core.decide.run_starting import LONGEST, one_line
from remit.core.run_facts import RunStep
from remit.core.triage_shapes import faults
from remit.drain import endings, words
from remit.drain.agents.outcomes import TRIAGE, Came
from remit.drain.endings import Ending

CODES = st.from_regex(r"[A-Z][A-Z0-9_]{0,40}", fullmatch=True)
FIGURES = st.integers(min_value=0, max_value=10**12)
ENDINGS = st.builds(
    Ending,
    came=st.sampled_from(Came),
    code=CODES,
    exit=st.integers(min_value=-1, max_value=255),
    signal=st.integers(min_value=-1, max_value=64),
    bound=st.sampled_from(["", "wall", "idle", "memory", "processes", "cpu"]),
    limit_ms=FIGURES,
    elapsed_ms=FIGURES,
    terminated=st.sampled_from(Result),
    figured=st.booleans(),
    killed=st.booleans(),
)


@given(ENDINGS, st.integers(min_value=0, max_value=99))
def test_an_ending_is_read_as_it_was_written(ending: Ending, starts: int) -> None:
    detail = ending.detail(starts)
    assert one_line(detail)
    assert len(detail) <= LONGEST
    assert (endings.read(detail), endings.starts_in(detail)) == (ending, starts)


@given(ENDINGS)
def test_every_ending_that_is_no_success_has_the_evidence_of_its_kind(ending: Ending) -> None:
    if ending.came not in TRIAGE:
        return
    refs = ("refs/remit/attempts/A-1.1/taken/" + "a" * 40,)
    record = endings.record_of(ending, "A-1.1", refs)
    assert record.kind.value == TRIAGE[ending.came]
    assert faults(record.kind, record.entries) == []


@pytest.mark.parametrize("detail", ["", "starts=x came=won exit=99999999999999999999", "came="])
def test_what_says_no_ending_was_a_crash_that_nobody_saw(detail: str) -> None:
    found = endings.read(detail)
    assert (found.came, found.terminated) == (Came.CRASHED, Result.BLOCKED)
    assert endings.starts_in(detail) == 0


def test_steps_are_in_the_order_of_the_record() -> None:
    assert list(words.STEPS) == [step.value for step in RunStep]
