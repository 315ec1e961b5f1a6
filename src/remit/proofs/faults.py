"""What a seeded fault is: where it is planted, where it is sought, and what must catch it.

It stands by itself because faults of several sorts are listed in several places, and ``trials`` plants
each of them without knowing where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.proofs.world import World

BOUND: Final = 12_000
"""Most states that a mutant's search may look at."""

Patch = tuple[str, str, str]
"""A function as ``module:name``, the text to replace, and what takes its place."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault, and the property that must catch it."""

    name: str
    world: World
    caught_by: str
    patches: tuple[Patch, ...]
    limit: int = BOUND
