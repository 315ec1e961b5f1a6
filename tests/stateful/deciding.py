"""Every command about human decisions, asked of a ledger beside all others.

Few things are decided about, so that decisions meet, conflict and take each other's place.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.core.traffic import Ask
from tests.core.world import HUMAN, OTHER, World

from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option

OPTIONS = (
    Option("go", "Do it"),
    Option("stay", "Leave it", permits=False, against="it is needed"),
)
ABOUT = ("effect/EFFECT-1", "node/n1", "node/n2", "requirement/r1")
EVERYBODY = (HUMAN, HUMAN, OTHER, "bob", "cat")


class Deciding:
    """Asks about decisions in one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def ask(self, rnd: Random) -> Ask:
        """One of all the ways."""
        return rnd.choice(WAYS)(self, rnd)

    def _one(self, rnd: Random) -> str:
        number = self.world.fact("counter", "decision")
        last = number if isinstance(number, int) else 0
        return f"D-{rnd.randint(max(1, last - 3), last + 1)}"

    def _propose(self, rnd: Random) -> Ask:
        kind = rnd.choice((DecisionKind.BYPASS, DecisionKind.IRREVERSIBLE, "a whim"))
        options = rnd.choice((OPTIONS, OPTIONS, OPTIONS[:1], ()))
        scope = tuple(rnd.sample(ABOUT, rnd.randint(1, 3)))
        supersedes = self._one(rnd) if rnd.random() < 0.2 else ""
        expires = self.world.now + rnd.randint(-1, 9_000_000) if rnd.random() < 0.3 else None
        command = c.ProposeDecision(
            kind,
            "a question",
            options,
            scope,
            rnd.choice("ab") * 64,
            recommended=rnd.choice(("", "go", "go")),
            supersedes=supersedes,
            expires_at=expires,
        )
        return rnd.choice(EVERYBODY), command

    def _accept(self, rnd: Random) -> Ask:
        chosen = rnd.choice(("", "go", "stay", "flee"))
        rejected = rnd.choice(((), (), (("go", "not now"),), (("stay", ""),)))
        command = c.AcceptDecision(self._one(rnd), "", chosen, rejected)
        return rnd.choice(EVERYBODY), command

    def _reject(self, rnd: Random) -> Ask:
        last = self.world.fact("counter", "decision")
        newest = f"D-{last}" if isinstance(last, int) and rnd.random() < 0.7 else self._one(rnd)
        command = c.RejectDecision(newest, rnd.choice(("", "no", "no")), rnd.choice(("", "", "x")))
        return rnd.choice(EVERYBODY), command


WAYS: tuple[Callable[[Deciding, Random], Ask], ...] = (
    Deciding._propose,
    Deciding._accept,
    Deciding._accept,
    Deciding._reject,
)
