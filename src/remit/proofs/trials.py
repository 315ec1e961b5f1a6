"""Trials: each seeded fault planted in turn, and the search that must find it.

A fault counts as caught only by the property that was named for it beforehand; another one, or none
within the bound, fails the run. The fault is taken out again whatever happens.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from remit.proofs.faults import Mutant
from remit.proofs.parallel import explore
from remit.proofs.patching import planted
from remit.proofs.search import Broken


@dataclass(frozen=True, slots=True)
class Caught:
    """What became of a mutant: the property that caught it, or empty."""

    name: str
    expected: str
    caught_by: str
    found: str
    depth: int
    states: int
    broken: Broken | None

    @property
    def good(self) -> bool:
        """Whether the expected property caught it."""
        return self.caught_by == self.expected


def try_one(mutant: Mutant) -> Caught:
    """Plant one fault and search its world until something is caught or the bound is reached."""
    with ExitStack() as stack:
        for patch in mutant.patches:
            stack.enter_context(planted(*patch))
        found = explore(mutant.world, limit=mutant.limit)
    broken = found.broken
    return Caught(
        mutant.name,
        mutant.caught_by,
        broken.property if broken else "",
        broken.found if broken else "",
        broken.depth if broken else 0,
        found.states,
        broken,
    )
