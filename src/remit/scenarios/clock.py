"""The clock of a scenario, and how a scenario writes moments.

Nothing passes by itself: time moves where a step says so. A moment is a name and a distance
(``T0+20m``, ``now-12m``); names are ``start``, ``now`` and the labels that steps carry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

START_US: Final = 1_893_456_000_000_000
"""2030-01-01T00:00:00Z: where every scenario begins, so that its answers are the same for ever."""

MOST_US: Final = 100 * 366 * 24 * 3_600 * 1_000_000
"""Furthest that a moment may lie from its name: a hundred years."""

_UNITS: Final = {"ms": 1_000, "s": 10**6, "m": 60 * 10**6, "h": 3_600 * 10**6, "d": 86_400 * 10**6}
_SPAN: Final = re.compile(r"(?:[0-9]{1,12}(?:ms|[smhd]))+\Z")
_PART: Final = re.compile(r"([0-9]{1,12})(ms|[smhd])")
_MOMENT: Final = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:([+-])(\w+))?\Z")

BUILT_IN: Final = ("start", "now")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time as a scenario writes it: from a name, so many microseconds on."""

    name: str
    offset_us: int


def span_us(text: str) -> int:
    """A duration such as ``90s`` or ``15m40s``. Raises ``ValueError`` with what was expected."""
    if _SPAN.match(text):
        found = sum(int(n) * _UNITS[unit] for n, unit in _PART.findall(text))
        if found <= MOST_US:
            return found
    raise ValueError("a duration such as 90s, 20m or 15m40s")


def moment(text: str) -> Moment:
    """A moment such as ``T0+20m``. Raises ``ValueError`` with what was expected."""
    found = _MOMENT.match(text)
    if found is None:
        raise ValueError("a moment such as T0, T0+20m or now-12m")
    offset = span_us(found[3]) if found[3] else 0
    return Moment(found[1], -offset if found[2] == "-" else offset)


class Clock:
    """Clocks that a scenario sets; the machine's are never read."""

    def __init__(self) -> None:
        self.up, self.wall = 1_000_000, START_US

    def boot_id(self) -> str:
        """One boot for the whole trace."""
        return "scenario"

    def boot_us(self) -> int:
        """Time since it began."""
        return self.up

    def wall_us(self) -> int:
        """The wall clock, which a step may put wrong."""
        return self.wall

    def advance(self, us: int) -> None:
        """Time goes by on both clocks."""
        self.up += us
        self.wall += us

    def step(self, us: int) -> None:
        """Somebody puts the wall clock forward or back."""
        self.wall += us
