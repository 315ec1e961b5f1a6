"""Human decisions: the record, what one covers, and which two of them conflict (CONTRACT 9).

Whoever is enrolled may propose one; only a human's own signature accepts it. What was accepted is
one choice among named options, for one scope and one proposal, and it authorizes nothing else: a
decision about another proposal, another kind or a wider scope covers nothing, and neither does one
that is expired, superseded, or accepted in favour of leaving things as they are.

Pure. ``covers`` is what plans and gates ask; ``rivals`` names current decisions that say otherwise
about the same thing, since neither recency nor confidence picks one of two. The ledger keeps one list of
the pairs that do (``contested``), so that a plan stops at a conflict which it does not name itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from remit.core.canonical import digest_of
from remit.core.decision_facts import Decided, Decision, DecisionKind, DecisionState, Option
from remit.core.effect_facts import Envelope
from remit.core.refusals import Code, Refused

__all__ = [
    "AGENT_MAY_ACCEPT_FOR_HUMAN",
    "CONTESTED",
    "MOST_CONTESTED",
    "Decided",
    "Decision",
    "DecisionKind",
    "DecisionState",
    "Option",
    "Wanted",
    "choice_digest",
    "conflicting",
    "contested",
    "covers",
    "decided_key",
    "effect_proposal",
    "effect_scope",
    "in_force",
    "opposed",
    "rivals",
]

AGENT_MAY_ACCEPT_FOR_HUMAN: Final = False
"""``agentMayAcceptForHuman`` of the lifecycle: there is no setting that turns it on (INV-15)."""

CONTESTED: Final = "contested"
"""The id of the register that lists pairs of accepted decisions which contradict one another."""

MOST_CONTESTED: Final = 100
"""Most such pairs at a time: who accepts one that would make more has to settle some first."""


class Wanted(Protocol):
    """What needs a decision: its kind, and what it is about as KIND/LABEL."""

    @property
    def kind(self) -> str:
        """One of the six kinds."""

    @property
    def scope(self) -> tuple[str, ...]:
        """Everything that the decision has to name."""


def decided_key(kind: str, about: str) -> str:
    """The id of the register of accepted decisions of a kind about one thing."""
    return f"{kind}|{about}"


def choice_digest(text: str) -> str:
    """What two choices are compared by: the text of the option, whatever it was labelled."""
    from remit.core.canonical import digest_of  # a cold read of facts needs no digests

    return digest_of(["choice", " ".join(text.split()).casefold()])


def in_force(decision: Decision, now: int, *, accept_unproved: bool = False) -> Refused | None:
    """Refuse a decision that is not accepted, is superseded, has expired, or that nothing proves.

    ``accept_unproved`` is the policy's figure; without it only a signature counts.
    """
    state = decision.state
    if state is DecisionState.SUPERSEDED:
        return _no(
            Code.DECISION_SUPERSEDED,
            decision,
            f"{decision.superseded_by} took its place",
            f"see 'remit decision show {decision.superseded_by}'",
        )
    if state is not DecisionState.ACCEPTED:
        return _no(
            Code.DECISION_NOT_ACCEPTED,
            decision,
            f"it is {state}, not accepted",
            "a human accepts it with 'remit decision accept'",
        )
    if decision.expires_at is not None and now >= decision.expires_at:
        return _no(
            Code.DECISION_EXPIRED,
            decision,
            f"it held until {decision.expires_at}, now is {now}",
            "propose it anew",
        )
    if not (decision.proved or accept_unproved):
        return _no(
            Code.DECISION_UNPROVED,
            decision,
            f"its acceptance is only {decision.assurance or 'asserted'}",
            "a human signs it anew: propose one that supersedes it",
        )
    return None


def covers(
    decision: Decision | None,
    need: Wanted,
    proposal_digest: str,
    now: int,
    *,
    accept_unproved: bool = False,
) -> Refused | None:
    """Refuse unless this decision authorizes what is needed, in exactly this proposal.

    ``proposal_digest`` is that of the bundle without decision references, or of an effect
    (``effect_proposal``). Each way to fall short has a code of its own.
    """
    if decision is None:
        return Refused(
            Code.DECISION_MISSING,
            f"nobody has decided on {', '.join(need.scope[:5]) or 'it'}: {need.kind} is needed",
            f"propose it with 'remit decision propose --kind {need.kind}'",
            {"kind": need.kind, "scope": list(need.scope)},
        )
    refused = in_force(decision, now, accept_unproved=accept_unproved)
    if refused is not None:
        return refused
    if decision.kind != need.kind:
        return _no(
            Code.DECISION_OF_ANOTHER_KIND,
            decision,
            f"it is a {decision.kind}, {need.kind} is needed",
            "refer to a decision of that kind",
        )
    if not decision.permits:
        return _no(
            Code.DECISION_AGAINST,
            decision,
            f"{decision.chosen!r} was chosen, which does not allow it",
            "leave things as they are, or propose one that supersedes it",
        )
    if decision.proposal != proposal_digest:
        return _no(
            Code.DECISION_STALE,
            decision,
            f"it is about the proposal {decision.proposal[:12]}, this is {proposal_digest[:12]}",
            "what was changed since has to be decided again",
        )
    lacking = [about for about in need.scope if about not in decision.scope]
    if lacking:
        return _no(
            Code.DECISION_SCOPE,
            decision,
            f"its scope lacks {', '.join(lacking[:5])}",
            "propose one whose scope names all of it",
            lacking=lacking,
        )
    return None


def opposed(one: Decision, other: Decision, now: int) -> bool:
    """Whether two decisions that are in force say different things about something in common."""
    if one.id == other.id or one.kind is not other.kind:
        return False
    if in_force(one, now, accept_unproved=True) or in_force(other, now, accept_unproved=True):
        return False
    said = one.choice != other.choice or one.permits != other.permits
    return said and not set(one.scope).isdisjoint(other.scope)


def rivals(get: Callable[[str, str], Any], decision: Decision, now: int) -> tuple[Decision, ...]:
    """Current decisions that conflict with this one, by id.

    ``get`` reads facts: the registers of what is decided about each thing in scope, and decisions.
    """
    found: dict[str, Decision] = {}
    for about in decision.scope:
        register = get("decided", decided_key(decision.kind, about))
        for name in register.decisions if isinstance(register, Decided) else ():
            other = get("decision", name)
            if isinstance(other, Decision) and opposed(decision, other, now):
                found[name] = other
    return tuple(found[name] for name in sorted(found, key=lambda name: int(name[2:])))


def contested(get: Callable[[str, str], Any], now: int) -> tuple[tuple[Decision, Decision], ...]:
    """Every two current decisions of the ledger that contradict one another, oldest pair first."""
    register = get("decided", CONTESTED)
    found = []
    for pair in register.decisions if isinstance(register, Decided) else ():
        one, other = (get("decision", name) for name in pair.split(" "))
        if isinstance(one, Decision) and isinstance(other, Decision) and opposed(one, other, now):
            found.append((one, other))
    return tuple(found)


def conflicting(decision: Decision, others: tuple[Decision, ...]) -> Refused:
    """Both sides of a conflict by name; nothing picks one of them."""
    names = ", ".join(other.id for other in others)
    return Refused(
        Code.DECISIONS_CONFLICT,
        f"{decision.id} and {names} are both in force and say different things about"
        f" {', '.join(decision.scope[:5])}",
        f"a human proposes and accepts one that supersedes {decision.id} or {names}",
        {"decisions": [decision.id, *(other.id for other in others)]},
    )


def effect_proposal(envelope: Envelope) -> str:
    """The digest of an irreversible action: what would be done, with what, where, and how far it goes.

    A person who authorizes it sees these parts; another payload or destination is another action.
    """
    parts = (
        envelope.effect_id,
        envelope.operation_id,
        envelope.payload_digest,
        envelope.destination,
        envelope.blast_radius,
    )
    return digest_of(["effect", *parts])


def effect_scope(effect: str) -> str:
    """How the scope of a decision names an effect."""
    return f"effect/{effect}"


def _no(code: Code, decision: Decision, found: str, hint: str, **more: Any) -> Refused:
    return Refused(
        code,
        f"{decision.id} does not decide this: {found}",
        hint,
        {"decision": decision.id, "state": str(decision.state), **more},
    )
