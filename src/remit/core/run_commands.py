"""Commands about runs, proofs of parity, and what was seen of an attempt.

``holder`` is the nonce of the process that drives a run: a command with another one is refused, so
that a process which was overtaken can change nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Command, Text
from remit.core.change import quick
from remit.core.checks import Check
from remit.core.run_facts import RunBounds


@dataclass(frozen=True, slots=True)
class StartRun(Command):
    """Begin a bounded run. ``proof`` is the digest of the code that was proved.

    ``options`` are pairs of text that are kept as they are. Those that decide something: ``egress``
    (``none`` where the agent reaches nothing outside; absent counts as reaching out), ``sandbox``
    (``none`` where there is none) with ``sandbox-decision``.
    """

    actor: str
    reviewer: str
    agent: str
    bounds: RunBounds
    decision: str
    proof: str
    holder: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChooseItem(Command):
    """Take an item into the run, before its lease is asked for."""

    run: str
    holder: str
    item: str
    reserve_micros: int = 0


@quick
@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a checkpoint knows by now; empty or 0: as before. ``spent_micros`` never goes back.

    ``detail`` is remit's own words or codes, since facts hold no text from outside.
    """

    lease: str = ""
    attempt: str = ""
    fence: int = 0
    head: str = ""
    spent_micros: int = 0
    detail: str = ""


NO_FIGURES = RunFigures()


@dataclass(frozen=True, slots=True)
class CheckpointRun(Command):
    """Say that a step of an entry is done; the same step again adds figures."""

    run: str
    holder: str
    item: str
    step: str
    figures: RunFigures = NO_FIGURES


@dataclass(frozen=True, slots=True)
class SettleRunItem(Command):
    """Say what became of an entry; what was spent is never below what a checkpoint said."""

    run: str
    holder: str
    item: str
    outcome: str
    spent_micros: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NoteRefusal(Command):
    """Keep the refusal of an acquisition on the run's stream."""

    run: str
    holder: str
    item: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ResumeRun(Command):
    """Drive a run on from another process."""

    run: str
    holder: str


@dataclass(frozen=True, slots=True)
class AskRunStop(Command):
    """Ask a run to finish what it has (``finish``), or to hand everything back (``now``)."""

    run: str
    how: str = "finish"


@dataclass(frozen=True, slots=True)
class StopRun(Command):
    """End a run that has nothing live."""

    run: str
    holder: str
    stopped_by: str


@dataclass(frozen=True, slots=True)
class RecordParityProof(Command):
    """Keep what looking at parity found for this code: PASS or FAIL."""

    release: str
    code: str
    scenarios: int
    mutants: int
    result: str


@dataclass(frozen=True, slots=True)
class RecordAttempt(Command):
    """Keep what was seen of an attempt in one phase.

    Under a live lease ``fence`` names it. Afterwards ``attempt`` does, for what is only known later: how
    an agent ended, what was saved of its work.
    """

    item: str
    fence: int
    phase: str
    checks: tuple[Check, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    text: Text = NO_TEXT
    attempt: str = ""
