"""Planted shortcuts: ways in which a drain could be other than a hand, each of which must be found.

A proof that no shortcut can break looks at nothing. Each one here is a small change of one function of the
drain, planted in this process, and the property that is expected to notice; the scenarios are those of
the proof itself, in order, until one of them does. One that survives them all fails the proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain

from remit.proofs.parity.scenario import Scenario
from remit.proofs.parity.trying import Tried, try_one
from remit.proofs.patching import planted

Patch = tuple[str, str, str]
"""A function as ``module:Class.name``, the text to replace, and what takes its place."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One fault: what the drain would do, where it is planted, and which properties may notice it.

    ``first`` are scenarios that are tried before the proof's own: those in which it does harm.
    """

    name: str
    caught_by: tuple[str, ...]
    patches: tuple[Patch, ...]
    first: tuple[Scenario, ...] = ()


@dataclass(frozen=True, slots=True)
class Caught:
    """What became of a shortcut: the property that noticed it, or empty, and in how many scenarios."""

    name: str
    expected: tuple[str, ...]
    caught_by: str
    found: str
    scenarios: int

    @property
    def good(self) -> bool:
        """Whether one of the expected properties noticed it."""
        return self.caught_by in self.expected


def plant(shortcut: Shortcut, scenarios: Iterable[Scenario]) -> Caught:
    """Plant one shortcut and try scenarios until something is noticed."""
    tried = 0
    with ExitStack() as stack:
        for patch in shortcut.patches:
            stack.enter_context(planted(*patch))
        for scenario in chain(shortcut.first, scenarios):
            tried += 1
            noticed = _noticed(try_one(scenario), shortcut.caught_by)
            if noticed:
                name, found = noticed
                return Caught(shortcut.name, shortcut.caught_by, name, found, tried)
    return Caught(shortcut.name, shortcut.caught_by, "", "", tried)


def _noticed(tried: Tried, expected: tuple[str, ...]) -> tuple[str, str] | None:
    """An expected property that is broken, else any other one."""
    broken = [(one.property, str(one)) for one in tried.unlike]
    return next((one for one in broken if one[0] in expected), broken[0] if broken else None)
