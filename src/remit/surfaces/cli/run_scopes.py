"""What a decision about runs is about, from what was typed: numbers, in the one form that is signed.

The core reads the same text back (``remit.core.run_decisions``), so nothing is rounded or filled in here:
whoever proposes writes each of the five bounds.
"""

from __future__ import annotations

from typing import Final

from remit.core.decisions import Decision, DecisionKind, DecisionState
from remit.core.refusals import Code
from remit.core.run_decisions import WITHOUT_SANDBOX, allowance, run_proposal
from remit.surfaces.cli.answers import stop

FORM: Final = "items=20,parallel=4,minutes=90,spend-micros=5000000,failures=3"


def run_decision(
    bounds: str, agents: list[str], scope: list[str], proposal: str
) -> tuple[list[str], str]:
    """Scope and proposal of a decision about runs, or about working without a sandbox.

    Raises ``BAD_INPUT`` where the bounds are not whole, no agent is named, or a digest was given too.
    """
    named = [f"run-agent/{name}" for name in agents]
    whole = [*([f"run-bounds/{bounds}"] if bounds else []), *named, *scope]
    if proposal:
        raise stop(
            Code.BAD_INPUT,
            "--proposal is given, and a decision about runs is about its own scope",
            "leave --proposal out",
        )
    bare = WITHOUT_SANDBOX in whole and not bounds and not agents
    if not bare and (not bounds or not agents or not _read(tuple(whole))):
        raise stop(
            Code.BAD_INPUT,
            f"the bounds of a run are {bounds!r} for {', '.join(agents) or 'no agent'}, expected"
            f" {FORM} and one agent at least",
            "give all five with --run-bounds, each a whole number, and --run-agent NAME",
        )
    return whole, run_proposal(tuple(whole))


def _read(scope: tuple[str, ...]) -> bool:
    """Whether the core reads bounds from this scope."""
    made = Decision(
        "", 1, DecisionKind.ACTIVATION, "", DecisionState.PROPOSED, scope, "", "", "", (), "", "", 0
    )
    return allowance(made) is not None
