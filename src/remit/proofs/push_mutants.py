"""Seeded faults of pushes: what would push a red row, move on over an open push, or believe a silence.

Each is a change of one function that a property of ``push_steps`` must catch by its name, in the world
where approved work is integrated. They must never be caught by a property that only happens to break
as well, since then the named one would look at nothing.
"""

from __future__ import annotations

from typing import Final

from remit.proofs import worlds
from remit.proofs.faults import Mutant

PUSH_MUTANTS: Final = (
    Mutant(
        "red-row-pushed",
        worlds.LANDING,
        "push-as-tested",
        (
            (
                "remit.core.decide.integrating:_intend",
                "if failed or diff == Result.FAIL:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "moves-on-over-an-open-push",
        worlds.LANDING,
        "push-bars-moves",
        (("remit.core.view:Draft.emit", " or _pushed(fact)", ""),),
    ),
    Mutant(
        "silence-of-a-push-is-absence",
        worlds.LANDING,
        "push-absent-for-a-reason",
        (
            (
                "remit.core.reconcile:_none",
                "if basis or effect.state is EffectState.ABSENT:",
                "if True:",
            ),
        ),
    ),
)
"""Each with the property that must catch it."""
