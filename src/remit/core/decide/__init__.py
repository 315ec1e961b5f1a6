"""The second door: ``decide(view, command, ask)`` says what a command does, or why not.

It is pure. Handlers read facts from the view, refuse with a typed value or emit events, each folded
at once; afterwards the news of what changed is carried to dependents. Nothing is written here: the
caller applies ``Accepted.delta`` and stores both in one transaction. A fact that was not loaded
turns into ``NeedMore``, so absence is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.core.change import quick
from remit.core.commands import Ask, Command, CreateLedger
from remit.core.decide import (
    attempts,
    compensating,
    decisions,
    delivery,
    documents,
    effects,
    imports,
    integrating,
    intents,
    items,
    leases,
    ledger,
    limits,
    observing,
    planning,
    rechecks,
    records,
    repeating,
    reports,
    runs,
    tracing,
)
from remit.core.decide.proving import shown_token
from remit.core.events import Recorded
from remit.core.facts import Actor, ActorKind, Fact, Key
from remit.core.refusals import Code, Refused
from remit.core.services import SERVICES
from remit.core.settlement import settle
from remit.core.view import Draft, Missing, MoveRefused, View

__all__ = ["Accepted", "Decision", "NeedMore", "Refused", "decide"]


@quick
@dataclass(frozen=True, slots=True)
class Accepted:
    """The events that the command leads to, and the facts as they are after them."""

    events: tuple[Recorded, ...]
    delta: Mapping[Key, Fact | None]


@dataclass(frozen=True, slots=True)
class NeedMore:
    """Facts or queries to load before the command can be decided."""

    keys: tuple[Key, ...]


Decision = Accepted | Refused | NeedMore

Handler = Callable[[Draft, Any], Refused | None]

_HANDLERS: Final[dict[type[Command], Handler]] = {
    **ledger.HANDLERS,
    **items.HANDLERS,
    **leases.HANDLERS,
    **reports.HANDLERS,
    **effects.HANDLERS,
    **observing.HANDLERS,
    **repeating.HANDLERS,
    **compensating.HANDLERS,
    **delivery.HANDLERS,
    **integrating.HANDLERS,
    **records.HANDLERS,
    **imports.HANDLERS,
    **documents.HANDLERS,
    **intents.HANDLERS,
    **rechecks.HANDLERS,
    **limits.HANDLERS,
    **planning.HANDLERS,
    **decisions.HANDLERS,
    **tracing.HANDLERS,
    **runs.HANDLERS,
    **attempts.HANDLERS,
}


def _may_act(draft: Draft, command: Command) -> Refused | None:
    if isinstance(command, CreateLedger):
        return None
    name = draft.ask.actor
    actor = draft.get("actor", name)
    if not isinstance(actor, Actor):
        return Refused(
            Code.ACTOR_UNKNOWN,
            f"cannot act as {name!r}: nobody of this name is enrolled",
            "enrol it with 'remit actor add NAME --kind human|agent|service', or name another"
            " with --as",
            {"actor": name},
        )
    if actor.revoked:
        return Refused(
            Code.ACTOR_REVOKED,
            f"cannot act as {name}: its enrolment was revoked",
            "act as somebody else with --as",
            {"actor": name},
        )
    if draft.ask.token is not None:
        return shown_token(draft, getattr(command, "item", ""))
    if draft.ledger.served and actor.kind is not ActorKind.HUMAN and name not in SERVICES:
        return Refused(
            Code.TOKEN_MISSING,
            f"cannot act as {name}: this ledger is served, and no token was shown",
            "set REMIT_TOKEN to a token that a human issued with 'remit actor token'",
            {"actor": name},
        )
    return None


def decide(view: View, command: Command, ask: Ask) -> Decision:
    """Decide one command on what the view holds, at ``ask.now``.

    Returns the events and changed facts, a refusal, or the keys that are lacking. The view is not
    changed.
    """
    draft = Draft(view, ask)
    try:
        refused = _may_act(draft, command) or _HANDLERS[type(command)](draft, command)
        if refused is not None:
            return refused
        settle(draft)
    except Missing as lacking:
        return NeedMore(lacking.keys)
    except MoveRefused as barred:
        return barred.refused
    return Accepted(tuple(draft.events), draft.delta)
