"""Commands about human decisions: propose, accept, reject.

``remit.core.commands`` gives them as well. Who asks and what proves it travel beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import Command
from remit.core.decisions import Option


@dataclass(frozen=True, slots=True)
class ProposeDecision(Command):
    """Ask for a human's decision. Anyone enrolled may; it allows nothing until it is accepted.

    ``scope`` names things as KIND/LABEL; ``proposal`` is the digest of the plan bundle without
    decision references, or of an effect (``remit.core.decisions.effect_proposal``).
    """

    kind: str
    title: str
    options: tuple[Option, ...]
    scope: tuple[str, ...]
    proposal: str
    question: str = ""
    recommended: str = ""
    rationale: str = ""
    plan: str = ""
    supersedes: str = ""
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class AcceptDecision(Command):
    """A human chooses one option; the rest is rejected, each for a reason.

    ``record`` is the digest of what was looked at (empty: whatever is there), ``chosen`` an option
    (empty: the recommended one), ``rejected`` pairs of option and reason beside those proposed.
    """

    decision: str
    record: str = ""
    chosen: str = ""
    rejected: tuple[tuple[str, str], ...] = ()
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class RejectDecision(Command):
    """A human wants none of the options."""

    decision: str
    reason: str
    record: str = ""
