"""Decisions on suspect links: clearing one is a judgement, so it is attributed and has a reason.

Whoever held a lease on the work beneath a link does not judge it (INV-16). It opens no gate and
changes no status; it says that the evidence was looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.asking import Command
from remit.core.decide.asking import bad
from remit.core.facts import Item, PlanRevision, Row
from remit.core.planning.suspicion import KINDS, End, end_of, joined, link_id, suspect
from remit.core.refusals import Code, Refused
from remit.core.trace_commands import ClearLink
from remit.core.trace_events import LinkCleared
from remit.core.view import Draft

KIND_OF: Final = {
    "G": "goal",
    "R": "requirement",
    "N": "node",
    "V": "row",
    "W": "item",
}
"""Which kind of record an id names, by its letter."""


def _end(draft: Draft, name: str) -> End | Refused:
    letter, dash, number = name.partition("-")
    kind = KIND_OF.get(letter, "")
    if not kind or not dash or not number.isdigit():
        return bad("link end", name, "an id such as G-1, R-1, N-1, V-1 or W-1")
    found = end_of(draft.get, kind, name)
    if found is not None:
        return found
    return Refused(
        Code.NOT_FOUND,
        f"no plan has {name}",
        "see what is suspect with 'remit trace --suspect'",
        {"id": name},
    )


def _held(draft: Draft, lower: End) -> tuple[str, ...]:
    """Who held a lease on the work beneath a link."""
    fact = draft.get(lower.kind, lower.id)
    item = draft.get("item", fact.item) if isinstance(fact, Row) else fact
    return item.holders if isinstance(item, Item) else ()


def _clear(draft: Draft, cmd: ClearLink) -> Refused | None:
    upper, lower = _end(draft, cmd.upper), _end(draft, cmd.lower)
    if isinstance(upper, Refused) or isinstance(lower, Refused):
        return upper if isinstance(upper, Refused) else lower  # type: ignore[return-value]  # a refusal
    name = link_id(upper.id, lower.id)
    if not (cmd.reason.inline.strip() or cmd.reason.ref):
        return bad("reason", "", "why both ends still belong together")
    if (upper.kind, lower.kind) not in KINDS or not joined(draft.get, upper, lower):
        return _no(Code.NOT_FOUND, name, "there is no such link", upper, lower)
    pairs = ((cmd.upper_digest, upper), (cmd.lower_digest, lower))
    for asked, end in pairs:
        if asked and asked != end.digest:
            return _no(Code.PLAN_MOVED, name, f"{end.id} means something else by now", upper, lower)
    if suspect(draft.get, upper, lower) is None:
        return _no(Code.UNCHANGED, name, "it is not suspect", upper, lower)
    if draft.ask.actor in _held(draft, lower):
        why = f"{draft.ask.actor} held a lease on the work beneath it (INV-16)"
        return _no(Code.REVIEWER_IS_IMPLEMENTER, name, why, upper, lower)
    plan = draft.get("plan", lower.plan)
    revision = f"{lower.plan}@{plan.revision if isinstance(plan, PlanRevision) else 0}"
    event = LinkCleared(
        revision,
        upper.kind,
        upper.id,
        upper.digest,
        lower.kind,
        lower.id,
        lower.digest,
        cmd.reason.inline,
        cmd.reason.ref,
    )
    draft.emit("link", name, event)
    return None


def _no(code: Code, name: str, found: str, upper: End, lower: End) -> Refused:
    return Refused(
        code,
        f"cannot clear the link {name}: {found}",
        "see what is suspect with 'remit trace --suspect'",
        {
            "link": name,
            "upper_digest": upper.digest,
            "lower_digest": lower.digest,
        },
    )


HANDLERS: Final[dict[type[Command], Callable[[Draft, Any], Refused | None]]] = {ClearLink: _clear}
