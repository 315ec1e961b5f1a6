"""Reconciliation: look effects up in their destinations, and let the core decide on what was seen.

The look-up is made outside any transaction, because a destination may take its time. It carries the
effect's version and the ledger's time from before it began, so that what was intended meanwhile makes
it worth nothing. Looks are bounded in number and in time; a destination that cannot be asked gives
UNAVAILABLE, which is an observation too. PURE work has nothing outside: its stored result is read
again and its digest made anew. The built-in ``remit-reconciler`` writes what was seen, and it never
holds a lease.

Where a destination enforces an idempotency key, the identical request may be repeated before it is
looked up while its key is surely kept, if the caller has the request (``repeats``). It is a send like
any other, so it is written down before it leaves, and one that was not answered proves no absence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from remit.core import effect_commands as k
from remit.core.change import changed, quick
from remit.core.decide.ledger import RECONCILER
from remit.core.decide.observing import STORED, record_of
from remit.core.effect_events import EffectAnswered, RequestRepeated
from remit.core.effect_facts import Destination, Effect, EffectState, Intent, ReplayClass
from remit.core.effect_states import standing
from remit.core.effects import UNRECONCILED
from remit.core.facts import LEDGER, Item, Key, Ledger
from remit.core.ids import fence_of
from remit.core.reconcile import FOUND, NONE, UNAVAILABLE, may_replay
from remit.core.refusals import Refused
from remit.core.status import Kind, Status
from remit.ports import ItemQuery, ReadTx, Store
from remit.service.engine import Answer, Done
from remit.service.operations import Caller, Operations
from remit.service.showing import Shown, shown

BATCH: Final = 100
"""Most effects that are looked up between two transactions."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a destination: one effect, by its id and key.

    ``fence`` above 0 asks a destination that enforces fences to confirm it first.
    """

    effect_id: str
    key: str
    operation: str
    manifest_id: str
    fence: int
    compensates: str


class Lookup(Protocol):
    """Asks the authoritative record of one destination. What it raises, or shows and nobody can write
    down, is taken as UNAVAILABLE (``remit.service.showing``).
    """

    def __call__(self, question: Question) -> Shown:
        """Say what the record shows of an effect."""
        ...


Repeat = Callable[[Effect], Callable[[], Shown] | None]
"""What would repeat the identical request of an effect under its key and say what the destination
answered: UNAVAILABLE where it did not. None where the request is not at hand."""

Jitter = Callable[[], int]


@quick
@dataclass(frozen=True, slots=True)
class Task:
    """An effect to look up, with what stood on the ledger when that began."""

    effect: Effect
    intent: Intent
    destination: Destination | None
    stored: EffectAnswered | None
    fence: int
    looked_at: int


class Reconciler:
    """Looks up effects of one ledger in the destinations that it was given, by their names.

    With ``given_only`` what is due in another destination is left to somebody who can ask there,
    instead of being recorded as unavailable. ``unread`` says of each effect whose record could not be
    read at its last look-up why: a foreign text, which no ledger keeps.
    """

    def __init__(
        self,
        store: Store,
        lookups: Mapping[str, Lookup],
        jitter: Jitter,
        *,
        operations: Operations | None = None,
        repeats: Mapping[str, Repeat] | None = None,
        given_only: bool = False,
    ) -> None:
        self.store = store
        self.lookups = lookups
        self.jitter = jitter
        self.repeats = repeats or {}
        self.given_only = given_only
        self.unread: dict[str, str] = {}
        engine = operations.engine if operations is not None else None
        self.operations = Operations(store, Caller(RECONCILER), engine)

    def one(self, effect: str, replacement: str = "") -> Answer:
        """Look one effect up now, whether it is due or not."""
        with self.store.read() as tx:
            tasks = _tasks(tx, [effect], tx.now())
        if not tasks:
            # The decision itself says what is wrong with it.
            command = k.ObserveEffect(effect, "", UNAVAILABLE, 0, 0)
            return self.operations.observed([command], [""])[0]
        return self._record(tasks, replacement)[0]

    def these(self, effects: Sequence[str]) -> list[tuple[str, Answer]]:
        """Look these effects up now, in batches, whether they are due or not; in their order.

        One that the ledger does not know is left out.
        """
        answers: list[tuple[str, Answer]] = []
        for start in range(0, len(effects), BATCH):
            answers += self._batch(effects[start : start + BATCH])
        return answers

    def due(self, limit: int = 0) -> list[tuple[str, Answer]]:
        """Look up every effect that is due, in batches; at most ``limit`` of them, 0 for all."""
        return self.these(self.waiting(limit))

    def waiting(self, limit: int = 0) -> list[str]:
        """The effects that are due; at most ``limit`` of them, 0 for all."""
        with self.store.read() as tx:
            return list(_due(tx, limit, self._asks))

    def _asks(self, tx: ReadTx, effect: Effect) -> bool:
        """Whether this one looks this effect up."""
        if not self.given_only or effect.replay_class == ReplayClass.PURE:
            return True
        there = tx.load([("destination", effect.destination)])["destination", effect.destination]
        return isinstance(there, Destination) and there.name in self.lookups

    def _batch(self, names: Sequence[str]) -> list[tuple[str, Answer]]:
        if not names:
            return []
        with self.store.read() as tx:
            tasks = _tasks(tx, names, tx.now())
        answers = self._record(tasks, "")
        return [(task.effect.id, a) for task, a in zip(tasks, answers, strict=True)]

    def _record(self, tasks: list[Task], replacement: str) -> list[Answer]:
        commands = [self._look(task, replacement) for task in tasks]
        return self.operations.observed(commands, [""] * len(commands))

    def _look(self, task: Task, replacement: str) -> k.ObserveEffect:
        effect, destination = task.effect, task.destination
        version = self._repeating(task)
        seen = shown(lambda: self._shown(task) if version is None else self._repeated(task))
        self.unread.pop(effect.id, None)
        if seen.reason:
            self.unread[effect.id] = seen.reason
        return k.ObserveEffect(
            effect.id,
            record_of(task.intent, effect, destination),
            seen.result,
            task.looked_at,
            effect.version if version is None else version,
            seen.objects,
            seen.values,
            seen.differences,
            seen.consistent,
            seen.confirmed_fence,
            version is not None,
            replacement,
            self.jitter(),
        )

    def _repeating(self, task: Task) -> int | None:
        """Write down that the request will be repeated, where it may be; the effect's version then."""
        effect, destination = task.effect, task.destination
        if destination is None or self._request(task) is None:
            return None
        if not may_replay(effect, destination, task.looked_at):
            return None
        [answer] = self.operations.observed([k.RepeatRequest(effect.id, effect.version)], [""])
        if isinstance(answer, Refused):
            return None
        return next(r.version for r in answer.events if isinstance(r.event, RequestRepeated))

    def _request(self, task: Task) -> Callable[[], Shown] | None:
        repeat = self.repeats.get(task.destination.name) if task.destination is not None else None
        return repeat(task.effect) if repeat is not None else None

    def _repeated(self, task: Task) -> Shown:
        """What the repeated request was answered, or else what the record shows after it."""
        request = self._request(task)
        seen = shown(request) if request is not None else Shown(UNAVAILABLE)
        return seen if seen.result == FOUND else self._shown(task)

    def _shown(self, task: Task) -> Shown:
        """What can be seen."""
        effect, destination = task.effect, task.destination
        if destination is None:
            return _stored(task)
        if not destination.lookup and effect.receipt:
            return _receipt(task)
        lookup = self.lookups.get(destination.name) if destination.lookup else None
        if lookup is None:
            return Shown(UNAVAILABLE, reason=f"nothing here can ask {destination.name}")
        envelope = task.intent.envelope
        question = Question(
            effect.id,
            effect.key,
            effect.operation,
            envelope.manifest_id,
            task.fence if destination.fence else 0,
            effect.compensates,
        )
        return lookup(question)


def _tasks(tx: ReadTx, names: Sequence[str], now: int) -> list[Task]:
    """What is to be looked up, in one read for each kind of fact; what is not there is left out."""
    effects = [f for f in tx.load([("effect", n) for n in names]).values() if isinstance(f, Effect)]
    keys: dict[Key, None] = {LEDGER: None, ("counter", "fence"): None}
    for effect in effects:
        keys["intent", effect.item] = keys["destination", effect.destination] = None
    facts = tx.load(list(keys))
    ledger, counter = facts[LEDGER], facts["counter", "fence"]
    epoch = ledger.epoch if isinstance(ledger, Ledger) else 0
    fence = fence_of(epoch, (counter if isinstance(counter, int) else 0) + 1)
    stored = _answers(tx, effects)
    tasks = []
    for effect in effects:
        intent = facts["intent", effect.item]
        if not isinstance(intent, Intent):
            continue
        there = facts["destination", effect.destination]
        if not isinstance(there, Destination) or effect.replay_class == ReplayClass.PURE:
            there = None
        tasks.append(Task(effect, intent, there, stored.get(effect.response_seq), fence, now))
    return tasks


def _answers(tx: ReadTx, effects: Sequence[Effect]) -> dict[int, EffectAnswered]:
    """The stored answers that are looked at: results of PURE work, and authoritative receipts."""
    seqs = [
        effect.response_seq
        for effect in effects
        if effect.response_seq and (effect.replay_class == ReplayClass.PURE or effect.receipt)
    ]
    found = {seq: recorded.event for seq, recorded in tx.at_seq(seqs).items()} if seqs else {}
    return {
        seq: _with_text(tx, event)
        for seq, event in found.items()
        if isinstance(event, EffectAnswered)
    }


def _with_text(tx: ReadTx, event: EffectAnswered) -> EffectAnswered:
    """The answer with its digest made anew from what is kept, empty where that is gone.

    A result that was handed in as a digest alone is that digest, which the ledger keeps.
    """
    if event.response_ref:
        data = tx.blobs([event.response_ref]).get(event.response_ref)
        digest = hashlib.sha256(data).hexdigest() if data is not None else ""
        return changed(event, result_digest=digest)
    if event.text:
        return changed(event, result_digest=hashlib.sha256(event.text.encode()).hexdigest())
    return event


def _stored(task: Task) -> Shown:
    """The stored result of PURE work, read again."""
    if task.stored is None or not task.stored.result_digest:
        return Shown(UNAVAILABLE)
    values = (("effect_id", task.effect.id), ("digest", task.stored.result_digest))
    return Shown(FOUND, 1, values, consistent=True)


def _receipt(task: Task) -> Shown:
    """A receipt that the destination declares to be authoritative."""
    if task.stored is None:
        return Shown(UNAVAILABLE)
    values: tuple[tuple[str, str], ...] = (
        ("effect_id", task.effect.id),
        ("digest", task.effect.payload_digest),
        ("receipt", task.stored.response),
    )
    if task.intent.envelope.manifest_id:
        values += (("manifest_id", task.intent.envelope.manifest_id),)
    return Shown(FOUND, 1, values, consistent=True)


# What is due.


def _due(tx: ReadTx, limit: int, asks: Callable[[ReadTx, Effect], bool]) -> Iterator[str]:
    now, epoch = tx.now(), _epoch(tx)
    found = 0
    for name, shipped in dict(_named(tx)).items():
        effect = tx.load([("effect", name)])["effect", name] if name else None
        due = isinstance(effect, Effect) and _is_due(effect, epoch, now, shipped=shipped)
        if isinstance(effect, Effect) and due and asks(tx, effect):
            yield name
            found += 1
            if limit and found >= limit:
                return


def _is_due(effect: Effect, epoch: int, now: int, *, shipped: bool) -> bool:
    """Whether a look-up could say more than is known, and it is time for it.

    What is settled is not asked again by itself, but for work that is shipped and not yet verified.
    """
    state = standing(effect, epoch)
    if state is EffectState.NOT_STARTED:
        return effect.replay_class == ReplayClass.PURE and effect.response_seq > 0
    if state in (EffectState.INTENDED, EffectState.UNCERTAIN):
        return state is not effect.state or effect.look_at <= now
    return shipped


def _epoch(tx: ReadTx) -> int:
    ledger = tx.load([LEDGER])[LEDGER]
    return ledger.epoch if isinstance(ledger, Ledger) else 0


def _named(tx: ReadTx) -> Iterator[tuple[str, bool]]:
    """Effects that held, shipped or triaged work waits for, and whether it is shipped."""
    for reason in (*UNRECONCILED, "EFFECT_UNCERTAIN"):
        for item in _items(tx, ItemQuery(hold=reason, limit=BATCH)):
            yield _effect_of(tx, item), False
    for status in (Status.SHIPPED, Status.TRIAGED):
        for item in _items(tx, ItemQuery(statuses=(status,), limit=BATCH)):
            if item.kind is Kind.EFFECT:
                yield _effect_of(tx, item), status is Status.SHIPPED


def _items(tx: ReadTx, query: ItemQuery) -> Iterator[Item]:
    while True:
        names = tx.items(query)
        items = [f for f in tx.load([("item", n) for n in names]).values() if isinstance(f, Item)]
        yield from items
        if len(names) < query.limit or not items:
            return
        query = replace(query, after=items[-1].number)


def _effect_of(tx: ReadTx, item: Item) -> str:
    if item.hold is not None and item.hold.trigger.startswith("reconcile:"):
        return item.hold.trigger.partition(":")[2]
    intent = tx.load([("intent", item.id)])["intent", item.id]
    return intent.envelope.effect_id if isinstance(intent, Intent) else ""


def refused(answers: Iterable[tuple[str, Answer]]) -> dict[str, Refused]:
    """The effects whose look-up could not be recorded, and why."""
    return {name: a for name, a in answers if isinstance(a, Refused)}


__all__ = ["FOUND", "NONE", "STORED", "Done", "Question", "Reconciler", "Shown", "refused"]
