"""Facts of runs: what a drain may use, what it has chosen, how far each piece of its work is.

A run is a record beside the work and never part of it: no item folds differently because a run chose
it (INV-17). The fact of a run stays small however long it lasts, since it holds only the entries that
are not settled; a settled entry is a fact of its own and never changes again. ``RunUse`` is what all
runs under one decision have cost together, and which of them is not over. ``Proof`` is the last proof
of parity of one state of the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.change import quick


class RunStatus(StrEnum):
    """Whether a run still chooses work, only finishes what it has, or is over."""

    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class RunStep(StrEnum):
    """How far the work on one entry is, in order; ``settled`` is the last of every entry."""

    CHOSEN = "chosen"
    LEASED = "leased"
    CLONED = "cloned"
    BRIEFED = "briefed"
    PROBED = "probed"
    STARTED = "started"
    ENDED = "ended"
    HANDED_IN = "handed-in"
    REVIEWED = "reviewed"
    INTEGRATED = "integrated"
    SHIPPED = "shipped"
    VERIFIED = "verified"
    SETTLED = "settled"


class RunOutcome(StrEnum):
    """What became of an entry, as far as the run got with it."""

    VERIFIED = "verified"
    SHIPPED = "shipped"
    APPROVED = "approved"
    IN_REVIEW = "in-review"
    RELEASED = "released"
    TRIAGED = "triaged"
    REFUSED = "refused"
    LOST = "lost"


class StoppedBy(StrEnum):
    """What ended a run; ``decision`` where the one it runs under is no longer in force."""

    DONE = "done"
    ITEMS = "items"
    MINUTES = "minutes"
    SPEND = "spend"
    FAILURES = "failures"
    KILL_SWITCH = "kill-switch"
    ASKED = "asked"
    NOTHING_READY = "nothing-ready"
    DECISION = "decision"


KEPT_REFUSALS: Final = 10
"""Refusals whose item and code a run's fact names; all of them are on its stream."""

FAILED: Final = (RunOutcome.TRIAGED, RunOutcome.LOST)
"""Outcomes that count against the bound on failures."""

STEPS: Final = {step: place for place, step in enumerate(RunStep)}
"""Each step's place in the order."""


@quick
@dataclass(frozen=True, slots=True)
class RunBounds:
    """What a run may use: items chosen, entries at a time, milliseconds, micro-units, failures."""

    items: int
    parallel: int
    minutes_ms: int
    spend_micros: int
    failures: int


@quick
@dataclass(frozen=True, slots=True)
class RunEntry:
    """One choice of one item by a run. ``number`` counts the run's choices from 1.

    ``lease``, ``attempt``, ``fence`` and ``head`` are as the last checkpoints gave them. Times are in
    microseconds, money in micro-units. ``outcome`` is empty until it is settled.
    """

    number: int
    item: str
    step: RunStep
    reserved_micros: int
    chosen_at: int
    changed_at: int
    spent_micros: int = 0
    lease: str = ""
    attempt: str = ""
    fence: int = 0
    head: str = ""
    outcome: str = ""
    detail: str = ""

    @property
    def committed_micros(self) -> int:
        """What it takes of the spend bound while it is live: what is set aside, or more if spent."""
        return max(self.reserved_micros, self.spent_micros)


@quick
@dataclass(frozen=True, slots=True)
class Run:
    """A bounded run of a drain: the fold of its own stream.

    ``actor`` works and ``reviewer`` (empty: nobody in this run) reviews; ``agent`` names the adapter;
    ``driver`` is who started or last resumed it, and ``holder`` the nonce of the process that drives
    it. ``live`` are the entries that are not settled, oldest first. ``chosen`` counts choices and
    numbers entries, ``failed`` those settled as triaged or lost. ``refused`` are the newest refusals as item
    and code.
    """

    id: str
    version: int
    number: int
    actor: str
    reviewer: str
    agent: str
    bounds: RunBounds
    decision: str
    proof: str
    options: tuple[tuple[str, str], ...]
    started_at: int
    started_seq: int
    ends_at: int
    started_by: str
    driver: str
    holder: str
    status: RunStatus
    live: tuple[RunEntry, ...] = ()
    chosen: int = 0
    failed: int = 0
    refusals: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    resumes: int = 0
    settled_micros: int = 0
    stop_asked: str = ""
    stop_asked_by: str = ""
    stopped_by: str = ""
    stopped_at: int = 0
    stopped_seq: int = 0

    @property
    def reserved_micros(self) -> int:
        """What its live entries take of the spend bound."""
        return sum(entry.committed_micros for entry in self.live)

    def entry_of(self, item: str) -> RunEntry | None:
        """The live entry of an item."""
        return next((entry for entry in self.live if entry.item == item), None)


@dataclass(frozen=True, slots=True)
class RunUse:
    """What runs under one decision have cost together, and the one that is not over."""

    id: str
    runs: int
    live: str
    settled_micros: int


@dataclass(frozen=True, slots=True)
class Proof:
    """The last proof of parity of one state of the code, whose digest is its id."""

    id: str
    version: int
    release: str
    scenarios: int
    mutants: int
    result: str
    seq: int
    at: int


def entry_id(run: str, number: int) -> str:
    """The id of a settled entry: ``RUN-2/7``."""
    return f"{run}/{number}"
