"""Rounds: how contestants are timed so that their ratio means something.

All contestants of a trial run in one process on one file system, one warm-up round each, then in turn
(A B C, A B C, ...), so that a machine that grows slower meanwhile is slower for all of them. A ratio
is taken within each round, and the median over the rounds is what a row shows. Garbage is collected
before a round, outside its time; within it the collector is left as the program measured has it.

A trial ends with every contestant being asked what it really holds. One that lost or invented a job
has no figure: ``DoesNotAddUp`` ends the run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

HAND_WRITTEN: Final = "hand-written apsw"
"""The contestant that ratios of throughput refer to: the same SQLite library that remit uses."""

HAND_WRITTEN_POSTGRES: Final = "hand-written psycopg"
"""The same on PostgreSQL."""

REMIT: Final = "remit"
"""What everybody else is set beside."""

BARE_PYTHON: Final = "python -c pass"
"""The contestant that cold starts refer to."""

Settings = Mapping[str, str | int]


class DoesNotAddUp(Exception):  # noqa: N818  # the name says what was found
    """A contestant does not hold what it was given; its figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did: how many units, in how many seconds of wall time."""

    units: int
    seconds: float

    @property
    def per_s(self) -> float:
        """Units a second."""
        return self.units / self.seconds


class Contestant(Protocol):
    """One program in one trial, with a store of its own."""

    @property
    def peer(self) -> str:
        """Its name in the table."""

    @property
    def store(self) -> str:
        """What it writes to; empty where it writes nothing."""

    @property
    def settings(self) -> Settings:
        """What bears on the figure, durability above all."""

    def round(self) -> Round:
        """Do the work once; only the work itself is in the time."""

    def check(self) -> None:
        """Raise ``DoesNotAddUp`` unless everything that was given is there."""

    def close(self) -> None:
        """Release what it holds."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing to measure; ``entrants`` make contestants, each in a folder of its own."""

    metric: str
    batch: int
    entrants: tuple[Callable[[Path], Contestant], ...]
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``per_s`` is the median, ``low`` and ``high`` the slowest and fastest round.

    ``ratio`` is the share of the hand-written loop's rate in the same rounds, None where there is no
    such loop; ``ratios``, only in remit's own rows, is its share of each other contestant's rate.
    ``times_bare_python`` is a cold start's time as a multiple of an empty interpreter's.
    """

    peer: str
    store: str
    metric: str
    batch: int
    workers: int
    per_s: float
    settings: Settings
    ratio: float | None
    times_bare_python: float | None
    repeats: int
    low: float
    high: float
    ratios: Mapping[str, float] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """The row as it stands in JSON."""
        return {
            "peer": self.peer,
            "store": self.store,
            "metric": self.metric,
            "batch": self.batch,
            "workers": self.workers,
            "per_s": round(self.per_s, 2),
            "settings": dict(self.settings),
            "ratio_to_hand_written": _shortened(self.ratio),
            "ratios": {peer: _shortened(share) for peer, share in self.ratios.items()},
            "times_bare_python": _shortened(self.times_bare_python),
            "repeats": self.repeats,
            "spread": {"min": round(self.low, 2), "max": round(self.high, 2)},
        }


def _shortened(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def compete(trial: Trial, folder: Path, repeats: int) -> list[Row]:
    """Run one trial in a folder and return a row for each contestant, in the order of entry.

    ``repeats``: rounds that count, one or more. Raises ``DoesNotAddUp``.
    """
    contestants: list[Contestant] = []
    try:
        for number, enter in enumerate(trial.entrants):
            place = folder / str(number)
            place.mkdir(parents=True)
            contestants.append(enter(place))
        rounds: list[list[Round]] = [[] for _ in contestants]
        for number in range(repeats + 1):
            for contestant, seen in zip(contestants, rounds, strict=True):
                gc.collect()
                done = contestant.round()
                if number:
                    seen.append(done)
        for contestant in contestants:
            contestant.check()
        return rows_of(trial, contestants, rounds)
    finally:
        for contestant in contestants:
            contestant.close()


def rows_of(trial: Trial, contestants: list[Contestant], rounds: list[list[Round]]) -> list[Row]:
    """Rows from rounds; ratios are taken round by round."""
    rates = [[r.per_s for r in seen] for seen in rounds]
    by_peer = {c.peer: seen for c, seen in zip(contestants, rates, strict=True)}
    hand = by_peer.get(HAND_WRITTEN, by_peer.get(HAND_WRITTEN_POSTGRES))
    bare = by_peer.get(BARE_PYTHON)
    return [
        Row(
            contestant.peer,
            contestant.store,
            trial.metric,
            trial.batch,
            trial.workers,
            median(seen),
            contestant.settings,
            _ratio(seen, hand),
            _ratio(bare, seen) if bare is not None else None,
            len(seen),
            min(seen),
            max(seen),
            _beside(seen, by_peer) if contestant.peer == REMIT else {},
        )
        for contestant, seen in zip(contestants, rates, strict=True)
    ]


def _beside(rates: list[float], by_peer: Mapping[str, list[float]]) -> dict[str, float]:
    """The share of each other contestant's rate, but for the empty interpreter, which does nothing."""
    others = {peer: seen for peer, seen in by_peer.items() if peer not in (REMIT, BARE_PYTHON)}
    return {
        peer: median(rate / other for rate, other in zip(rates, seen, strict=True))
        for peer, seen in others.items()
    }


def _ratio(rates: list[float], to: list[float] | None) -> float | None:
    if to is None:
        return None
    return median(rate / other for rate, other in zip(rates, to, strict=True))
