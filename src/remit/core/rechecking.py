"""Holds are looked at again when what they wait for has come: in their order, a bounded batch at a time.

A trigger that came is noted on the ledger as due, with how many holds it may reach (the policy's
horizon), in the transaction of the event that it is. Batches carry on from where the one before
ended, each in a transaction of its own, so a hundred thousand holds never keep the writer; and a
process that dies between two of them leaves the rest to the next call. Time makes no such note:
holds whose time has come are found by it.
"""

from __future__ import annotations

import re
from typing import Final

from remit.core.effect_events import HoldsRechecked, RechecksDue
from remit.core.effect_facts import Effect
from remit.core.facts import Item, Key
from remit.core.intents import ADMISSION, evidence_keys, intent_of, policy_keys, want
from remit.core.settlement import review
from remit.core.status import Kind
from remit.core.view import Draft, Missing

BATCH: Final = 32
"""Most holds that one transaction looks at."""

_PLACE: Final = re.compile(r"-?[0-9]{1,18}:[0-9]{1,18}")


def waiting_for(draft: Draft, trigger: str) -> bool:
    """Whether anything is held for this trigger."""
    if draft.view.held.get(trigger):
        return True
    return bool(draft.query("held?", f"{trigger}#"))


def make_due(draft: Draft, trigger: str, horizon: int) -> None:
    """Note that a trigger came, where anything waits for it."""
    if waiting_for(draft, trigger):
        draft.emit("ledger", "ledger", RechecksDue(trigger, horizon), ADMISSION)


def place(item: Item) -> tuple[int, int]:
    """The place in line of a held item."""
    return (item.hold.rank if item.hold is not None else 0, item.number)


def place_of(after: str) -> tuple[int, int] | None:
    """The place in line that a text names, as it is written in events; None where it names none."""
    if _PLACE.fullmatch(after) is None:
        return None
    rank, _, number = after.partition(":")
    return int(rank), int(number)


def batch_of(draft: Draft, trigger: str, after: str) -> tuple[list[str], bool]:
    """The next held items that wait for a trigger, and whether there may be more behind them."""
    ids: list[str] = list(draft.query("held?", f"{trigger}#{after}"))
    more = len(ids) >= BATCH
    fresh = draft.view.held.get(trigger, {})
    if fresh:
        load(draft, [*ids, *fresh])
        since = place_of(after)
        found = [draft.item(name) for name in dict.fromkeys((*ids, *fresh))]
        held = [i for i in found if i is not None and i.hold is not None]
        held = [i for i in held if i.hold is not None and i.hold.trigger == trigger]
        ids = [i.id for i in sorted(held, key=place) if since is None or place(i) > since]
    return ids[:BATCH], more or len(ids) > BATCH


def load(draft: Draft, names: list[str]) -> None:
    """Ask at once for all that verdicts on these items will read."""
    want(draft, [("item", name) for name in names])
    held = [i for i in map(draft.item, names) if i is not None and i.kind is Kind.EFFECT]
    want(draft, [("intent", item.id) for item in held])
    keys: dict[Key, None] = {}
    for item in held:
        keys.update(dict.fromkeys(policy_keys(item.work_class)))
        keys.update(dict.fromkeys(evidence_keys(item, intent_of(draft, item))))
    want(draft, keys)
    more: dict[Key, None] = {}
    for kind, name in keys:
        fact = draft.get(kind, name)
        if kind == "current" and isinstance(fact, str):
            more.update(_behind(name, fact))
        elif isinstance(fact, Effect):
            more["item", fact.item] = None
    want(draft, more)
    rules = [draft.get(kind, name) for kind, name in more if kind == "policy"]
    want(draft, [("validation", rule.validation) for rule in rules])  # type: ignore[union-attr]  # policies


def _behind(pointer: str, label: str) -> dict[Key, None]:
    kind = pointer.partition("/")[0]
    if kind == "capacity":
        return {("capacity", label): None, ("debit", label): None}
    return {("policy", label): None} if kind == "policy" else {}


def recheck(draft: Draft, names: list[str]) -> int:
    """Let admission look at items; how many of them it decided otherwise than before."""
    load(draft, names)
    lacking: dict[Key, None] = {}
    known, changed = len(draft.events), 0
    for name in names:
        try:
            review(draft, name)
        except Missing as more:  # the rest can say what it lacks in the same round
            lacking.update(dict.fromkeys(more.keys))
        changed += len(draft.events) > known
        known = len(draft.events)
    if lacking:
        raise Missing(*lacking)
    return changed


def through(draft: Draft, names: list[str], after: str) -> str:
    """The place in line of the last of these, as they stood before."""
    if not names:
        return after
    fact = draft.view.facts["item", names[-1]]
    rank, number = place(fact) if isinstance(fact, Item) else (0, 0)
    return f"{rank}:{number}"


def tell(draft: Draft, trigger: str, looked: int, changed: int, at: str, *, finished: bool) -> None:
    """One event for a whole batch; those whose verdict stayed are counted only."""
    event = HoldsRechecked(trigger, looked, changed, at, finished)
    draft.emit("ledger", "ledger", event, ADMISSION)


__all__ = ["BATCH", "batch_of", "make_due", "recheck", "tell", "through"]
