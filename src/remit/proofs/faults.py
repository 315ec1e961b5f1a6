"""What a seeded fault is: where it is planted, where it is sought, and what must catch it.

Faults are kept apart from the lists of them, since each part of the core has a list of its own.
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
