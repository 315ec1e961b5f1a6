"""Events of runs, of proofs of parity, and of what was seen of an attempt.

A run's events lie on the run's own stream, an attempt's on the attempt's, a proof's on a stream named
by the digest of the code that was proved. None of them changes an item. Money is in micro-units, times
in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.events import Event, event
from remit.core.run_facts import RunBounds


@event("run")
@quick
@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run may begin: who works under which bounds, decision and proof."""

    actor: str
    reviewer: str
    agent: str
    bounds: RunBounds
    decision: str
    proof: str
    options: tuple[tuple[str, str], ...]
    holder: str
    ends_at: int


@event("run")
@quick
@dataclass(frozen=True, slots=True)
class RunItemChosen(Event):
    """The run will ask for a lease of this item; its money is set aside from here on."""

    entry: int
    item: str
    reserve_micros: int


@event("run")
@quick
@dataclass(frozen=True, slots=True)
class RunCheckpointed(Event):
    """One step of an entry is done; empty figures were not given."""

    entry: int
    item: str
    step: str
    lease: str
    attempt: str
    fence: int
    head: str
    spent_micros: int
    detail: str


@event("run")
@quick
@dataclass(frozen=True, slots=True)
class RunItemSettled(Event):
    """The run is through with an entry; its place and its reservation are free again."""

    entry: int
    item: str
    outcome: str
    spent_micros: int
    detail: str


@event("run")
@quick
@dataclass(frozen=True, slots=True)
class RunRefusalNoted(Event):
    """An acquisition of this run was refused, with the code that its caller got."""

    item: str
    code: str
    message: str


@event("run")
@dataclass(frozen=True, slots=True)
class RunResumed(Event):
    """Another process drives the run; the one before is overtaken."""

    holder: str
    previous: str


@event("run")
@dataclass(frozen=True, slots=True)
class RunStopAsked(Event):
    """Somebody wants the run to choose nothing more (``finish``), or to hand everything back (``now``)."""

    how: str


@event("run")
@dataclass(frozen=True, slots=True)
class RunStopped(Event):
    """The run is over, by what."""

    stopped_by: str


@event("proof")
@quick
@dataclass(frozen=True, slots=True)
class ParityProved(Event):
    """Parity was looked at for this code. ``mutants`` counts planted faults that were caught."""

    release: str
    code: str
    scenarios: int
    mutants: int
    result: str


@event("attempt")
@quick
@dataclass(frozen=True, slots=True)
class AttemptNoted(Event):
    """What remit saw of an attempt: checks and figures of one phase.

    ``live`` is whether its lease was live then. ``text_ref`` names the blob of what was said with it.
    """

    item: str
    lease: str
    phase: str
    live: bool
    checks: tuple[Check, ...]
    figures: tuple[tuple[str, str], ...]
    text: str
    text_ref: str
