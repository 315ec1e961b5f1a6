"""Pushes as effects: where one stands, how its sender ended, and what the remote shows of it.

Looking is the reconciler's, as for every effect: what was seen is written under its name, with the
effect's version and the ledger's time from before. A look-up confirms a fence where the remote keeps
markers, unless it is known already that nothing is under way.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.effect_facts import OPEN_EFFECT, Effect, EffectState
from remit.core.effect_states import standing
from remit.core.facts import LEDGER, Item, Ledger, Push
from remit.core.outside_events import EffectObserved
from remit.core.pushes import push_effect, push_fence, push_record
from remit.core.refusals import Code, Refused
from remit.core.retrying import JITTER
from remit.core.services import RECONCILER
from remit.core.status import Kind, Status
from remit.ports import ItemQuery, ReadTx
from remit.ports.destination import Answered, Destination, LookUp, NoAnswer, NotSent, Request
from remit.service.engine import Answer
from remit.service.operations import Caller, Operations

LOOKS: Final = 3
"""How often one call looks again where it can be known a moment later."""

LOOK_MS: Final = 60_000
"""How long one look-up may take, in milliseconds of wall time."""

BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the push of an item stands in this epoch; ``main`` is what main named when it was seen.

    ``result`` is what the last look-up came to, empty where nobody has looked, and ``shown`` what
    it showed.
    """

    effect: Effect
    push: Push
    state: EffectState
    main: str = ""
    result: str = ""
    now: int = 0
    shown: tuple[tuple[str, str], ...] = ()

    @property
    def open(self) -> bool:
        """Whether it is not known what became of it."""
        return self.state in OPEN_EFFECT


class Pushes:
    """The pushes to one destination, looked up under the reconciler's name."""

    def __init__(
        self, operations: Operations, push: Destination, *, requests: bool = False
    ) -> None:
        self.operations = operations
        self.push = push
        self.requests = requests
        self._reconciler = Operations(operations.store, Caller(RECONCILER), operations.engine)

    def standing(self, item: str) -> Standing | None:
        """Where the push of an item stands, None where none was ever intended."""
        with self.operations.store.read() as tx:
            return _standing(tx, item, self.requests)

    def note(self, item: str, end: str, said: str) -> None:
        """Write down how the sender of a push ended; a push that has gone on since needs no note."""
        stands = self.standing(item)
        if stands is not None:
            note = c.NotePush(stands.effect.id, stands.effect.attempt, end, said)
            self._reconciler.observed([note], [""])

    def look(self, item: str) -> Standing | Refused:
        """Look the push of an item up now, and write down what was seen."""
        stands = self.standing(item)
        for _ in range(LOOKS):
            if stands is None:
                break
            answer = self._look(stands)
            if isinstance(answer, Refused) and answer.code is not Code.OBSERVATION_STALE:
                return answer
            stands = self.standing(item)
            soon = stands is not None and stands.open and 0 < stands.effect.look_at <= stands.now
            if not soon and not isinstance(answer, Refused):
                break
        return stands or _no_push(push_effect(item))

    def one(self, effect: str) -> Answer:
        """Look a push up by the name of its effect."""
        stands = self.standing(_item_of(effect))
        known = stands is not None and stands.effect.id == effect
        return self._look(stands) if stands is not None and known else _no_push(effect)

    def commit_there(self, tx: ReadTx, item: Item) -> str:
        """Which commit of an item the remote was last seen with, empty where with none."""
        stands = _standing(tx, item.id, self.requests)
        if stands is None or not stands.effect.present_seq:
            return ""
        event = tx.at_seq([stands.effect.present_seq])[stands.effect.present_seq].event
        shown = dict(event.values) if isinstance(event, EffectObserved) else {}
        return shown.get("commit", stands.push.commit)

    def repeat(self, item: str, request: Request) -> Standing | Refused:
        """Ask the same once more where a key keeps it from coming about twice, and look again.

        It is written down before it leaves, and counts as a look-up: whatever it answers, only the
        record says what is there.
        """
        stands = self.standing(item)
        if stands is None:
            return _no_push(push_effect(item))
        effect = stands.effect
        asked = self._reconciler.observed([k.RepeatRequest(effect.id, effect.version)], [""])[0]
        if isinstance(asked, Refused):
            return asked
        send_once(self.push, request)
        stands = self.standing(item)
        assert stands is not None, "a push is never taken back"
        answer = self._look(stands, replayed=True)
        return answer if isinstance(answer, Refused) else self.standing(item) or stands

    def _look(self, stands: Standing, *, replayed: bool = False) -> Answer:
        effect, push = stands.effect, stands.push
        over = effect.arrives_until is not None and effect.arrives_until < stands.now
        fence = 0 if over or self.requests or not push.markers else self._fence(effect)
        question = LookUp(effect.id, effect.key, effect.operation, push.commit, fence, LOOK_MS)
        seen = self.push.look_up(question)
        command = k.ObserveEffect(
            effect.id,
            push_record(push),
            str(seen.result),
            stands.now,
            effect.version,
            seen.objects,
            seen.values,
            seen.differences,
            seen.consistent,
            seen.confirmed_fence,
            replayed,
            jitter=secrets.randbelow(JITTER),
        )
        return self._reconciler.observed([command], [""])[0]

    def _fence(self, effect: Effect) -> int:
        with self.operations.store.read() as tx:
            ledger = tx.load([LEDGER])[LEDGER]
        epoch = ledger.epoch if isinstance(ledger, Ledger) else 0
        return push_fence(epoch, effect.intents)


def send_once(push: Destination, request: Request) -> tuple[str, str]:
    """Send a request once: how that ended, as ``NotePush`` has it, and what was said."""
    try:
        response = push.send(request)
    except NotSent as error:
        return "unsent", str(error)
    except NoAnswer as error:
        return "unanswered", str(error)
    except Answered as error:
        return ("unanswered" if error.uncertain else "refused"), str(error)
    return "answered", response.reference


def _item_of(effect: str) -> str:
    """The item of an effect's name: ``push/W-7``, or an attempt's as ``pull-request/A-7.1``."""
    named = effect.partition("/")[2]
    return f"W-{named[2:].partition('.')[0]}" if named.startswith("A-") else named


def _standing(tx: ReadTx, name: str, requests: bool) -> Standing | None:
    item = tx.load([("item", name)])["item", name]
    work = item.work if isinstance(item, Item) else None
    push = (work.request if requests else work.push) if work is not None else None
    if push is None:
        return None
    effect, ledger = tx.load([("effect", push.effect), LEDGER]).values()
    if not isinstance(effect, Effect) or not isinstance(ledger, Ledger):
        return None
    main = result = ""
    shown: tuple[tuple[str, str], ...] = ()
    if effect.observed_seq:
        event = tx.at_seq([effect.observed_seq])[effect.observed_seq].event
        if isinstance(event, EffectObserved):
            main, result = dict(event.values).get("ref_now", ""), event.result
            shown = event.values
    return Standing(effect, push, standing(effect, ledger.epoch), main, result, tx.now(), shown)


def is_push(tx: ReadTx, effect: str) -> bool:
    """Whether an effect is a push or a pull request of delivery work."""
    found = (_standing(tx, _item_of(effect), requests) for requests in (False, True))
    return any(stands is not None and stands.effect.id == effect for stands in found)


def due(tx: ReadTx) -> list[str]:
    """The effects of pushes and pull requests of which nobody knows what became, if it is time to look."""
    found: list[str] = []
    query = ItemQuery(statuses=(Status.APPROVED, Status.TRIAGED), limit=BATCH)
    while True:
        names = tx.items(query)
        facts = tx.load([("item", name) for name in names]).values()
        items = [fact for fact in facts if isinstance(fact, Item)]
        for item in items:
            stood = [_standing(tx, item.id, requests) for requests in (False, True)]
            for stands in stood if item.kind is Kind.DELIVERY else ():
                if stands is not None and stands.open and stands.effect.look_at <= stands.now:
                    found.append(stands.effect.id)
        if len(names) < BATCH or not items:
            return found
        query = replace(query, after=max(item.number for item in items))


def _no_push(effect: str) -> Refused:
    return Refused(
        Code.NOT_FOUND, f"there is no push {effect!r}", "see what there is with 'remit reconcile'"
    )
