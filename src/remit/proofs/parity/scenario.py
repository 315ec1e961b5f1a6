"""A scenario: items, what each attempt at them comes to, and what goes wrong meanwhile.

It is all that both sides are told beforehand. What an agent does in which attempt, what a reviewer says,
what becomes of the change on main, what the verifier finds, who else interferes and when: all of that is
given, so that whatever differs afterwards comes from the one who worked, a drain or a hand. Times are
microseconds from the beginning, or from the moment before; no two are alike on purpose.

A scenario is plain data: it is written as JSON, read back, and made smaller piece by piece.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

SECOND: Final = 1_000_000

CAME: Final = ("done", "declined", "failed", "crashed", "timed-out")
"""What may come of an agent, by the words of ``drain.agents.outcomes``."""

LEFT: Final = ("", "secret", "out-of-scope", "dirty", "nothing")
"""What an agent that says it is done left in its clone; empty is a commit in scope."""

LANDING: Final = ("clean", "moved", "conflict", "red", "unanswered", "raced")
"""What integration meets: main as it was, main moved on, a conflict, rows that fail on the result, a push
that arrives though nobody answers, a push that another one overtook."""

FINDING: Final = ("verified", "gap", "contradicted")
"""What the verifier finds at the shipped commit."""

ACTS: Final = (
    "kill-switch",
    "cancel",
    "adopt",
    "requeue",
    "reverify",
    "rival",
    "cycle",
    "budget",
    "raise",
    "note",
    "stop",
)
"""What others do meanwhile; see ``meddling``."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt: how long its agent works, what it says on the way, and what comes of it.

    ``progress`` pairs a moment from the start with the cost told then (None: none). ``spent`` is the
    total told at the end. ``probe`` says whether the cell holds.
    """

    works_us: int = 5 * SECOND
    came: str = "done"
    left: str = ""
    progress: tuple[tuple[int, int | None], ...] = ()
    spent: int | None = None
    probe: bool = True
    approve: bool = True
    reviews_us: int = SECOND
    landing: str = "clean"
    findings: tuple[str, ...] = ("verified",)


@dataclass(frozen=True, slots=True)
class Thing:
    """One item: what it waits on (numbers of earlier items), and its attempts, the last for all later."""

    priority: int = 2
    tenant: str = "default"
    waits_on: tuple[int, ...] = ()
    tries: tuple[Try, ...] = (Try(),)
    rubric: bool = False

    def at(self, attempt: int) -> Try:
        """The script of an attempt, counted from 1."""
        return self.tries[min(attempt, len(self.tries)) - 1]


@dataclass(frozen=True, slots=True)
class Act:
    """Something that somebody else does at a moment, to an item (by number) where it names one."""

    at_us: int
    what: str
    thing: int = 0
    lasts_us: int = 0


@dataclass(frozen=True, slots=True)
class Kill:
    """The drain is killed at the so-many-th point that it comes to, and is gone for so long."""

    point: int
    away_us: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of the run; money in micro-units."""

    items: int = 8
    parallel: int = 2
    minutes_ms: int = 3_600_000
    spend: int = 1_000_000
    failures: int = 8


@dataclass(frozen=True, slots=True)
class Scenario:
    """The whole. ``lost`` numbers the writes whose answer does not come back; ``seed`` names where
    it came from.
    """

    things: tuple[Thing, ...]
    acts: tuple[Act, ...] = ()
    kills: tuple[Kill, ...] = ()
    lost: tuple[int, ...] = ()
    bounds: Bounds = Bounds()
    ttl_ms: int = 30_000
    longest_ms: int = 120_000
    attempts: int = 3
    reserve: int = 1_000
    reviewer: bool = True
    seed: int = 0


def plain(scenario: Scenario) -> dict[str, Any]:
    """The scenario as JSON has it."""
    return asdict(scenario)


def read(values: dict[str, Any]) -> Scenario:
    """The scenario that ``plain`` made. Raises ``TypeError`` or ``KeyError`` for anything else."""
    things = tuple(
        Thing(
            **{
                **thing,
                "waits_on": tuple(thing["waits_on"]),
                "tries": tuple(_try(one) for one in thing["tries"]),
            }
        )
        for thing in values["things"]
    )
    known = {f.name for f in fields(Scenario)}
    if unknown := sorted(set(values) - known):
        raise KeyError(unknown[0])
    return Scenario(
        **{
            **values,
            "things": things,
            "acts": tuple(Act(**one) for one in values["acts"]),
            "kills": tuple(Kill(**one) for one in values["kills"]),
            "lost": tuple(values["lost"]),
            "bounds": Bounds(**values["bounds"]),
        }
    )


def _try(values: dict[str, Any]) -> Try:
    progress = tuple((at, spent) for at, spent in values["progress"])
    return Try(**{**values, "progress": progress, "findings": tuple(values["findings"])})
