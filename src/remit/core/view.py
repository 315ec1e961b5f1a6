"""What a decision sees: the facts that were loaded, with the decision's own events folded on top.

``View`` holds what one transaction loaded. Reading a fact that was not loaded raises ``Missing``,
which the door turns into ``NeedMore``: nothing is ever taken as absent because nobody looked.
``Draft`` is one decision in the making: it emits events, folds each at once, and keeps the changed
facts apart, so that a refusal leaves no trace and a batch sees the decisions before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from remit.core.checks import Check
from remit.core.commands import Ask
from remit.core.effect_states import epoch_of, shut, standing
from remit.core.events import Event, Recorded, stream_of
from remit.core.evolve import evolve
from remit.core.facts import LEDGER, DependencyKind, Fact, Item, Key, Lane, Ledger, Policy
from remit.core.item_events import (
    DependenciesSet,
    DependencyAdded,
    DependencySettled,
    ItemImported,
)
from remit.core.refusals import Code, Refused
from remit.core.status import Kind, Outcome, Status

_ABSENT: Final = object()

UNCOUNTED: Final = ("counter", "count")
"""Kinds of which all facts are always loaded, so that what is not there is zero."""


EDGES: Final = frozenset((DependencyAdded, DependencySettled, DependenciesSet, ItemImported))
"""Events that give an item edges, or say what they are worth."""


class Missing(Exception):  # noqa: N818  # not an error: it asks for a fact
    """A fact or query that the decision needs was not loaded."""

    def __init__(self, *keys: Key) -> None:
        super().__init__(keys)
        self.keys = keys


class MoveRefused(Exception):  # noqa: N818  # not an error: the door returns what it carries
    """A move of an item that its effect forbids; ``refused`` says so."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


class View:
    """Loaded facts and query answers of one transaction.

    Queries are addressed like facts: ``("ready?", lane)`` a window of item ids, ``("waiting?", id)``
    edges, ``("waiters?", id)`` those that wait for all its children, ``("held?", "TRIGGER#PLACE")`` held items behind a place in line, ``("waking?", now)`` those
    whose time has come, ``("followers?", id)`` items that were coalesced onto one. ``("onward+", id)`` loads ahead what an item waits for, ``("lineage+", id)`` what it lies
    beneath and ``("chain+", id)`` what follows on it. Answers come from the store as it was when the
    transaction began; ``fresh``, ``edges``, ``held`` and ``followers`` hold what has changed since, so
    that both together are the truth.
    """

    def __init__(self, facts: Mapping[Key, Fact | None], seq: int) -> None:
        self.facts: dict[Key, Fact | None] = dict(facts)
        self.queries: dict[Key, Any] = {}
        self.seq = seq
        self.original: dict[Key, Fact | None] = {}
        self.fresh: dict[str, list[str]] = {}
        self.edges: dict[str, dict[str, None]] = {}
        self.heads: dict[str, int] = {}
        self.held: dict[str, dict[str, None]] = {}
        self.followers: dict[str, dict[str, None]] = {}

    def get(self, kind: str, name: str) -> Fact | None:
        """A loaded fact; raises ``Missing`` if it was not loaded."""
        fact = self.facts.get((kind, name), _ABSENT)
        if fact is _ABSENT:
            if kind in UNCOUNTED:
                return None
            raise Missing((kind, name))
        return fact  # type: ignore[return-value]  # _ABSENT was handled

    def query(self, kind: str, name: str) -> Any:
        """The answer of a query; raises ``Missing`` if it was not asked."""
        answer = self.queries.get((kind, name), _ABSENT)
        if answer is _ABSENT:
            raise Missing((kind, name))
        return answer

    def apply(self, delta: Mapping[Key, Fact | None]) -> None:
        """Take a decision's changed facts into the view."""
        facts, original = self.facts, self.original
        items = []
        for key, fact in delta.items():
            if key not in original:
                original[key] = facts.get(key)
            if fact.__class__ is Item:
                items.append((facts.get(key), fact))
        facts.update(delta)
        for old, item in items:
            self._note(old, item)

    def carry_on(self) -> None:
        """Make ready for a transaction that goes on where this one ended, with nothing between.

        Lanes and their windows stay: with what has changed since, they are as true as before. Not so
        lanes of which there were more than were asked for, since others may be next in turn by now,
        nor answers that were cut at a bound, which the changes may have used up.
        """
        self.original.clear()
        self.edges.clear()
        self.held.clear()
        self.followers.clear()
        some = self.queries.get(("lanes?", "more"))
        kinds = ("ready?",) if some else ("ready?", "lanes?")
        self.queries = {key: told for key, told in self.queries.items() if key[0] in kinds}

    def _note(self, old: Fact | None, new: Item) -> None:
        if new.status is Status.READY and not (
            isinstance(old, Item) and old.status is Status.READY and old.rank == new.rank
        ):
            self.fresh.setdefault(new.lane, []).append(new.id)
        elif isinstance(old, Item) and old.status is Status.READY:
            self._pass(new.lane)
        if new.hold is not None:
            self.held.setdefault(new.hold.trigger, {})[new.id] = None
        elif new.outcome is Outcome.COALESCED:
            self.followers.setdefault(new.successor, {})[new.id] = None
        if not isinstance(old, Item) or old.dependencies is not new.dependencies:
            for edge in new.dependencies:
                self.edges.setdefault(edge.via, {})[new.id] = None
                if edge.kind is DependencyKind.WAITS_FOR:
                    self.edges.setdefault(f"{edge.via}|{edge.kind}", {})[new.id] = None

    def _pass(self, lane: str) -> None:
        """Move on in a lane's window past items that are not ready any more."""
        window = self.queries.get(("ready?", lane))
        at = self.heads.get(lane, 0)
        while window is not None and at < len(window.ids):
            item = self.facts.get(("item", window.ids[at]))
            if not isinstance(item, Item) or item.status is Status.READY:
                break
            at += 1
        self.heads[lane] = at


def _pushed(item: Item) -> bool:
    """Whether a push of its work or a request was intended, which then is its effect."""
    work = item.work
    return work is not None and (work.push is not None or work.request is not None)


class Draft:
    """One decision in the making, over a view that it does not change."""

    def __init__(self, view: View, ask: Ask) -> None:
        self.view = view
        self._loaded = view.facts
        self.ask = ask
        self.now = ask.now
        self.events: list[Recorded] = []
        self.delta: dict[Key, Fact | None] = {}
        self._ledger = view.facts.get(LEDGER)
        self.acquired: tuple[Item, int, tuple[Check, ...] | Refused] | None = None
        """What acquisition said of an item, and after how many events: ``core/effects.py`` keeps it."""
        self.edged: dict[str, dict[str, None]] = {}
        self.judged: set[str] = set()

    def get(self, kind: str, name: str) -> Fact | None:
        """A fact as this decision has left it so far."""
        key = (kind, name)
        if key in self.delta:
            return self.delta[key]
        fact = self._loaded.get(key, _ABSENT)
        if fact is not _ABSENT:
            return fact  # type: ignore[return-value]  # _ABSENT was handled
        if kind in UNCOUNTED:
            return None
        raise Missing(key)

    def query(self, kind: str, name: str) -> Any:
        """The answer of a query, as of the beginning of the transaction."""
        return self.view.query(kind, name)

    @property
    def ledger(self) -> Ledger:
        """The ledger's own fact."""
        ledger = self._ledger
        if ledger.__class__ is not Ledger:
            raise Missing(LEDGER)
        return ledger

    @property
    def policy(self) -> Policy:
        """The present policy revision."""
        return self.ledger.policy

    def counter(self, name: str) -> int:
        """A counter; absent means zero."""
        value = self.get("counter", name)
        return value if value.__class__ is int else 0

    def load(self, name: str) -> int:
        """Live leases of ``actor/NAME``, ``class/NAME`` or ``tenant/NAME``."""
        value = self.get("load", name)
        return value if value.__class__ is int else 0

    def item(self, item: str) -> Item | None:
        """An item, or None where there is none."""
        fact = self.get("item", item)
        return fact if fact.__class__ is Item else None

    def item_along(self, way: str, item: str) -> Item | None:
        """An item; where it lacks, all that lies this ``way`` of it is asked for in one round."""
        key = ("item", item)
        if key not in self.view.facts and key not in self.delta:
            raise Missing((way, item))
        return self.item(item)

    def lanes(self) -> list[Lane]:
        """Lanes that had something ready, or have by now."""
        names = self.query("lanes?", "")
        if self.view.fresh:
            names = dict.fromkeys((*names, *self.view.fresh))
        facts = [self.get("lane", name) for name in names]
        return [lane for lane in facts if isinstance(lane, Lane)]

    def changed_items(self) -> Iterable[str]:
        """Items that this decision has changed, in order."""
        return [name for kind, name in self.delta if kind == "item"]

    def new(self, kind: str, name: str) -> None:
        """Say that this id is the ledger's next: it cannot exist yet, so nobody has to look."""
        self.delta[kind, name] = None

    def open(self, kind: str, name: str, event: Event, by: str = "") -> Recorded:
        """Add the first event of something whose id is the ledger's next."""
        self.new(kind, name)
        return self.emit(kind, name, event, by)

    def emit(
        self, kind: str, name: str, event: Event, by: str = "", assurance: str = ""
    ) -> Recorded:
        """Add an event, by the asking actor or a built-in service, and fold it at once.

        ``assurance`` is given where more is proved of this one event than of the whole call.
        """
        ask = self.ask
        fact = self.get(kind, name)
        if fact.__class__ is Item and (fact.kind is Kind.EFFECT or _pushed(fact)):
            self._demand_open(fact, event)
        recorded = Recorded(
            self.view.seq + len(self.events) + 1,
            stream_of(kind, name),
            1 if fact is None else fact.version + 1,  # type: ignore[union-attr]  # streams fold
            by or ask.actor,
            assurance or ("asserted" if by else ask.assurance),
            ask.now,
            event,
            ask.command_id,
            ask.command_digest,
            ask.conversation_ref,
            ask.trace_context,
        )
        changes = evolve(self.get, recorded)
        facts, delta = self.view.facts, self.delta
        for key in changes:
            if key not in facts and key not in delta and key[0] not in UNCOUNTED:
                raise Missing(key)
        delta.update(changes)
        if LEDGER in changes:
            self._ledger = changes[LEDGER]
        self.events.append(recorded)
        if event.__class__ in EDGES:
            self._note_edges(recorded.stream, event)
        return recorded

    def _demand_open(self, item: Item, event: Any) -> None:
        """Refuse a move that the item's effect forbids, whoever asks for it (INV-4)."""
        tid = getattr(event, "transition_id", "")
        effect = shut(self.get, item, tid, event.to) if tid else None
        if effect is None or (tid == "T12" and getattr(event, "decision", "")):
            return  # a decision that records it as unresolved was asked for by who closes it
        state = standing(effect, epoch_of(self.get))
        raise MoveRefused(
            Refused(
                Code.EFFECT_PRESENT if state == "PRESENT" else Code.EFFECT_UNRECONCILED,
                f"cannot move {item.id} to {event.to} ({tid}): its effect {effect.id} is {state}",
                f"see 'remit explain {item.id}'; 'remit reconcile {effect.id}' looks it up",
                {"item": item.id, "effect": effect.id, "state": str(state), "transition": tid},
            )
        )

    def _note_edges(self, stream: str, event: Event) -> None:
        """Keep by what they are judged which edges this decision has made or judged so far."""
        if isinstance(event, DependencyAdded | DependencySettled):
            self.judged.add(event.via)
            self.edged.setdefault(event.via, {})[stream] = None
        elif isinstance(event, DependenciesSet | ItemImported):
            for edge in event.edges:
                self.edged.setdefault(edge[3], {})[stream] = None
