"""A world in which runs may begin: a decision with bounds, a proof of parity, and work that is ready."""

from __future__ import annotations

from typing import Any

from tests.core.world import HUMAN, VERIFIER, World

from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.run_decisions import MINUTE_MS, run_proposal, run_scope
from remit.core.run_facts import Run, RunBounds

CODE = "c" * 64
BOUNDS = RunBounds(items=5, parallel=2, minutes_ms=10 * MINUTE_MS, spend_micros=1_000, failures=2)
OPTIONS = (
    Option("allow", "Let it run"),
    Option("leave", "Do not", permits=False, against="there is work"),
)


def propose(
    bounds: RunBounds = BOUNDS, agents: tuple[str, ...] = ("scripted",), **more: Any
) -> c.ProposeDecision:
    """The proposal of a decision on runs within these bounds."""
    scope = more.pop("scope", None) or run_scope(bounds, agents, each=more.pop("each", False))
    kind = more.pop("kind", DecisionKind.ACTIVATION)
    return c.ProposeDecision(
        kind, "a night's drain", OPTIONS, scope, run_proposal(scope), recommended="allow", **more
    )


def start(decision: str = "D-1", bounds: RunBounds = BOUNDS, **more: Any) -> c.StartRun:
    """The command that begins a run of ``bob``, which reaches nothing outside."""
    parts = {
        "actor": "bob",
        "reviewer": "cat",
        "agent": "scripted",
        "proof": CODE,
        "holder": "h1",
        "options": (("egress", "none"),),
        **more,
    }
    return c.StartRun(bounds=bounds, decision=decision, **parts)


class Drained(World):
    """A world with an accepted decision D-1 on ``BOUNDS`` and a passing proof."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.ok(VERIFIER, c.RecordParityProof("1.0", CODE, 12, 5, "PASS"))
        self.decide()

    def decide(self, **more: Any) -> str:
        """Propose and accept a decision on runs; returns its id."""
        answer = self.ok(HUMAN, propose(**more))
        name = answer.events[0].entity
        self.ok(HUMAN, c.AcceptDecision(name))
        return name

    def run(self, name: str = "RUN-1") -> Run:
        """A run that is there."""
        found = self.fact("run", name)
        assert isinstance(found, Run)
        return found
