"""Work that was coalesced goes on by itself when the work that it followed closes without its effect.

Coalesced work is closed: the survivor brings its effect about for all. If it does not, each follower
becomes a linked successor, a new item with the follower's own message, lifetime and dependencies.
The first of them claims the effect, and the others follow it in turn. Their dependents wait for the
successors from then on, so this comes before anybody is told that the survivor has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from remit.core.effect_events import FollowerReleased, IntentReceived
from remit.core.effect_facts import Effect, EffectState, Intent
from remit.core.facts import Item
from remit.core.intents import ADMISSION, intent_of, validate, want
from remit.core.status import Kind, Outcome, Status
from remit.core.view import Draft, Missing

FOLLOWERS: Final = 50
"""Most followers that go on in the transaction in which the survivor closes."""


def ended_without(draft: Draft, item: Item) -> bool:
    """Whether effect work closed and its effect did not come about, as far as is known."""
    if item.kind is not Kind.EFFECT or item.status is not Status.CLOSED:
        return False
    if item.outcome is Outcome.COALESCED:
        return False
    name = intent_of(draft, item).envelope.effect_id
    effect = draft.get("effect", name) if name else None
    return not (isinstance(effect, Effect) and effect.state is EffectState.PRESENT)


def followers_of(draft: Draft, survivor: Item) -> list[str]:
    """Items that still follow this one, by number; no more than can be looked at, plus one.

    The one whose message it carries on is not among them: it has gone on here.
    """
    before = intent_of(draft, survivor).follows
    asked = draft.query("followers?", survivor.id) if _there_before(draft, survivor.id) else ()
    names = dict.fromkeys(asked)
    names.update(draft.view.followers.get(survivor.id, {}))
    for kind, name in draft.delta:
        if kind == "item":
            names[name] = None
    want(draft, [("item", name) for name in names])
    found = [draft.item(name) for name in names]
    following = [
        f
        for f in found
        if f is not None
        and f.outcome is Outcome.COALESCED
        and f.successor == survivor.id
        and f.id != before
    ]
    return [f.id for f in sorted(following, key=lambda f: f.number)]


def _there_before(draft: Draft, name: str) -> bool:
    """Whether an item is older than this transaction, so that the store may know who follows it."""
    key, view = ("item", name), draft.view
    return key in view.facts and view.original.get(key, name) is not None


def ask_all(draft: Draft, names: Iterable[str]) -> None:
    """Ask who follows all that have ended without their effect at once, instead of one a round."""
    queries = draft.view.queries
    lacking = []
    for name in dict.fromkeys(names):
        item = draft.item(name)
        if item is None or ("followers?", name) in queries or not _there_before(draft, name):
            continue
        if ended_without(draft, item):
            lacking.append(("followers?", name))
    if lacking:
        raise Missing(*lacking)


def release(
    draft: Draft, survivor: Item, depend: Callable[[Draft, str, Intent], None]
) -> tuple[list[str], bool]:
    """Let the followers of work that closed go on: the new items, and whether some are left.

    ``depend`` gives a new item the edges that its intent names. Admission has still to look at it.
    """
    names = followers_of(draft, survivor)
    following = [f for f in map(draft.item, names[:FOLLOWERS]) if f is not None]
    want(draft, [("intent", f.id) for f in following])
    return [_go_on(draft, f, survivor, depend) for f in following], len(names) > FOLLOWERS


def _go_on(
    draft: Draft,
    follower: Item,
    survivor: Item,
    depend: Callable[[Draft, str, Intent], None],
) -> str:
    intent = intent_of(draft, follower)
    name = f"W-{draft.counter('work-item') + 1}"
    received = IntentReceived(
        intent.receipt,
        intent.digest,
        intent.document,
        intent.envelope,
        follower.work_class,
        follower.tenant,
        f"item:{follower.id}",
        draft.load(f"stored/{follower.work_class}") + 1,
        (),
        follower.id,
        intent.authorized_by,
        (),
    )
    draft.new("intent", name)
    draft.open("item", name, received, ADMISSION)
    draft.emit("item", follower.id, FollowerReleased(survivor.id, name), ADMISSION)
    validate(draft, draft.item(name) or follower)
    depend(draft, name, intent)
    return name
