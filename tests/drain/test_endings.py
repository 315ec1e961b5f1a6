"""What a checkpoint keeps of an agent's end says the same when it is read again."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
from remit.drain.processes import WardenLost, refused
from remit.drain.workplace import Keep, Task
from remit.wiring.agents import builtin
from remit.wiring.places import Place

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


@pytest.mark.parametrize(
    ("error", "killed"),
    [
        (WardenLost(0, "the warden ended at once"), True),
        (refused(errno.EAGAIN, "fork"), True),
        (OSError(2, "no such program"), False),
    ],
)
def test_a_warden_that_was_killed_at_its_start_is_no_fault_of_the_agent(
    error: OSError, killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("remit.wiring.places.run", run)
    ground: Any = SimpleNamespace(limits=None, records=tmp_path, model="", command=(), extra=())
    task = Task("RUN-1", "W-1", "A-1.1", "remit/A-1.1")
    [agent] = [one.agent for one in builtin() if one.agent.name == "scripted"]
    place = Place(ground, task, agent, tmp_path)
    worked = place.work("", Keep(lambda: 1, lambda: 1, lambda: False), lambda _: None)
    assert (worked.ending.code, worked.ending.killed) == ("AGENT_NOT_STARTED", killed)


def test_steps_are_in_the_order_of_the_record() -> None:
    assert list(words.STEPS) == [step.value for step in RunStep]
