"""The judge of a run: pure. It knows what reached destinations, what ledgers say, and no decision.

Each send has an id of its own, which its sender writes down before it sends and the request carries.
What arrives twice under one id, marked as a twin by the way itself, is one send that the way doubled;
a second arrival without that mark is a request that somebody sent again. A second *send* is one under
another intent, that is under another fence. Fences grow with each lease, over epochs too, so they say
which of two intents was later, also where one of them lies in a history that was lost.

A later intent of an effect is sound only if the history in which it lies shows, before it, a look-up
that began after each earlier intent (in whatever history) and found the effect absent, in the same
epoch. And what was found absent must be: nothing of an earlier intent may come about from then on.
A repetition of the identical request under a key that is enforced counts as a look-up, not a send. A
ledger that was put back may repeat what a lost one had found absent: of that absence it knows nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from remit.core.effect_events import EffectIntended, EffectObserved
from remit.core.effect_facts import Effect, EffectState, Intent
from remit.core.events import EpochAdopted, Recorded
from remit.core.facts import Fact, Item, Key, Triage
from remit.core.ids import EPOCH_SHIFT
from remit.core.item_events import LeaseGranted

SECOND_SEND: Final = "second-send-while-uncertain"
SECOND_INTENT: Final = "second-intent-while-uncertain"
SENT_PRESENT: Final = "sent-when-there"
EARLY: Final = "absence-believed-too-early"
SECOND_OBJECT: Final = "second-object"
NO_INTENT: Final = "sent-without-an-intent"
AGAIN: Final = "sent-again-under-one-intent"
ON_THE_WIRE: Final = "request-twice-on-the-wire"
BAD_REPEAT: Final = "repeated-where-no-key-is-enforced"
NOT_SO: Final = "ledger-says-what-is-not-so"
NO_END: Final = "no-end-and-no-reason"
FENCES: Final = "fence-given-twice"


@dataclass(frozen=True)
class Sent:
    """What a sender wrote down before it sent.

    ``repeat`` is a repetition by a reconciler, ``epoch`` that of the ledger whose effect it repeated.
    """

    id: str
    effect: str
    mode: str
    fence: int
    repeat: bool = False
    epoch: int = 0


@dataclass(frozen=True)
class Arrived:
    """A request that reached a destination, and what became of it: (outcome, twin, time)."""

    mode: str
    number: int
    send: str
    effect: str
    fence: int
    digest: str
    at: int
    way: str
    outcomes: tuple[tuple[str, bool, int], ...]

    def made(self, *, twins: bool = False) -> list[int]:
        """When it made objects: by itself, or by its twins."""
        return [at for what, twin, at in self.outcomes if what == "made" and twin == twins]


@dataclass(frozen=True)
class Wrong:
    """One thing that may not be."""

    kind: str
    subject: str
    found: str


@dataclass
class Run:
    """All that is known: ``histories`` are of lost ledgers and, last, of the one in use."""

    sent: Sequence[Sent]
    arrived: Sequence[Arrived]
    histories: Sequence[Sequence[Recorded]]
    facts: Mapping[Key, Fact]
    works: Mapping[str, str]
    """Effect by work id."""
    digests: Mapping[str, str]
    keyed: frozenset[str] = frozenset(("keyed",))
    counts: Counter[str] = field(default_factory=Counter)


def judge(run: Run) -> list[Wrong]:
    """Everything that is wrong with a run; it also counts what there was."""
    intents = _intents(run)
    arrivals: dict[str, list[Arrived]] = defaultdict(list)
    for one in run.arrived:
        arrivals[one.effect].append(one)
    found = [*_sends(run, intents), *_fences(run)]
    for history in run.histories:
        found += _absent_first(history, intents, arrivals)
    for effect, some in arrivals.items():
        found += _objects(effect, some, intents, run)
    found += _ends(run, arrivals)
    return list(dict.fromkeys(found))


Intents = dict[str, dict[int, int]]
"""By effect and fence: when it was intended."""


def _intents(run: Run) -> Intents:
    found: Intents = defaultdict(dict)
    for history in run.histories:
        for r in history:
            if isinstance(r.event, EffectIntended):
                found[r.entity][r.event.fence] = r.at
    run.counts["intents"] = sum(len(of) for of in found.values())
    return found


def _sends(run: Run, intents: Intents) -> Iterable[Wrong]:
    """Each request was announced, intended, and sent once."""
    announced = {one.id: one for one in run.sent}
    wire: Counter[str] = Counter()
    under: dict[tuple[str, int], set[str]] = defaultdict(set)
    for one in run.arrived:
        name = f"{one.effect} #{one.fence}"
        said = announced.get(one.send)
        intended = intents.get(one.effect, {}).get(one.fence)
        if intended is None or one.at < intended:
            yield Wrong(NO_INTENT, name, f"{one.send} at {one.at}, intended {intended}")
        if said is None or (said.effect, said.fence) != (one.effect, one.fence):
            yield Wrong(NO_INTENT, name, f"{one.send} says of itself: {said}")
            continue
        wire[one.send] += 1
        if wire[one.send] > 1:
            yield Wrong(ON_THE_WIRE, name, f"{one.send}, {wire[one.send]} times")
        same = one.digest == run.digests[one.effect]
        if said.repeat and (one.mode not in run.keyed or not same):
            yield Wrong(BAD_REPEAT, name, f"{one.send} to {one.mode}")
        if not said.repeat:
            under[one.effect, one.fence].add(one.send)
    for (effect, fence), sends in under.items():
        if len(sends) > 1:
            yield Wrong(AGAIN, f"{effect} #{fence}", f"{sorted(sends)}")
    run.counts["effects sent more than once, each after it was found absent"] += sum(
        len({fence for name, fence in under if name == effect}) > 1
        for effect in {name for name, _ in under}
    )


def _absent_first(
    history: Sequence[Recorded], intents: Intents, arrivals: Mapping[str, Sequence[Arrived]]
) -> Iterable[Wrong]:
    """An intent after another lies behind a look-up that found the effect absent."""
    absent: dict[str, int] = {}
    present: dict[str, int] = {}
    for r in history:
        match r.event:
            case EpochAdopted():
                absent.clear()
            case EffectObserved(state=EffectState.ABSENT, looked_at=at):
                absent[r.entity] = at
            case EffectObserved(state=EffectState.PRESENT):
                present[r.entity] = r.seq
            case EffectIntended(fence=fence):
                earlier = [a for f, a in intents[r.entity].items() if f < fence]
                name = f"{r.entity} #{fence}"
                if r.entity in present:
                    yield Wrong(SENT_PRESENT, name, f"found at seq {present[r.entity]}")
                if earlier and absent.get(r.entity, 0) < max(earlier):
                    said = (
                        f"intended at {r.at}, before at {earlier}, absent at {absent.get(r.entity)}"
                    )
                    yield Wrong(SECOND_INTENT, name, said)
                    if any(one.fence == fence for one in arrivals.get(r.entity, ())):
                        yield Wrong(SECOND_SEND, name, said)


def _objects(
    effect: str, arrived: Sequence[Arrived], intents: Intents, run: Run
) -> Iterable[Wrong]:
    """It came about once, by one send; later intents neither met it nor were overtaken by it."""
    counts = run.counts
    repeated = {one.id: one for one in run.sent if one.repeat}
    makers = [(one, at) for one in arrived for at in one.made()]
    counts["objects"] += len(makers)
    counts["objects doubled by the way"] += sum(len(one.made(twins=True)) for one in arrived)
    if len(makers) > 1:
        found = [f"{one.send} #{one.fence} at {at}" for one, at in makers]
        yield Wrong(SECOND_OBJECT, effect, "; ".join(found))
    for maker, at in makers:
        for fence, intended in intents.get(effect, {}).items():
            known = _known(repeated.get(maker.send), fence)
            if fence > maker.fence and intended <= at and known:
                said = f"{maker.send} #{maker.fence} came about at {at}, #{fence} intended at {intended}"
                yield Wrong(EARLY, effect, said)
        for other in arrived:
            if other.fence > maker.fence and other.at > at:
                yield Wrong(SENT_PRESENT, effect, f"{other.send} after {maker.send} made it")


def _known(repeat: Sent | None, fence: int) -> bool:
    """Whether the ledger that a request came from can know of a later intent.

    A repetition is of the newest intent of its ledger, so a newer one of an epoch before lies in a
    history that was lost.
    """
    return repeat is None or fence >> EPOCH_SHIFT >= repeat.epoch


def _fences(run: Run) -> Iterable[Wrong]:
    """A fence stands for one lease, over all histories, and they go up in each."""
    given: dict[int, str] = {}
    for history in run.histories:
        last = 0
        for r in history:
            if isinstance(r.event, LeaseGranted):
                lease = r.event.lease
                if given.setdefault(lease.fence, lease.id) != lease.id:
                    yield Wrong(FENCES, lease.id, f"{lease.fence} was of {given[lease.fence]}")
                if lease.fence <= last:
                    yield Wrong(FENCES, lease.id, f"{lease.fence} after {last}")
                last = lease.fence


def _ends(run: Run, arrivals: Mapping[str, Sequence[Arrived]]) -> Iterable[Wrong]:
    """Each effect is present exactly once, or its work is held or in triage and says why."""
    items = {f.id: f for f in run.facts.values() if isinstance(f, Item)}
    of_work = {
        fact.envelope.work_id: items[fact.item]
        for fact in run.facts.values()
        if isinstance(fact, Intent)
    }
    for work, effect in run.works.items():
        item, fact = of_work.get(work), run.facts.get(("effect", effect))
        made = sum(len(a.made()) + len(a.made(twins=True)) for a in arrivals.get(effect, ()))
        if item is None:
            yield Wrong(NO_END, work, "it is not on the ledger")
            continue
        state = fact.state if isinstance(fact, Effect) else EffectState.NOT_STARTED
        status = str(item.status)
        if state is EffectState.PRESENT and (made != 1 or status != "verified"):
            yield Wrong(NOT_SO, work, f"PRESENT, {status}, {made} objects")
        if status == "verified" and state is not EffectState.PRESENT:
            yield Wrong(NOT_SO, work, f"verified, {state}")
        if state is EffectState.ABSENT and made:
            yield Wrong(NOT_SO, work, f"ABSENT, {made} objects")
        if status == "verified":
            run.counts["PRESENT"] += 1
            continue
        reason = _reason(run, item)
        run.counts[status] += 1
        run.counts[f"{status}: {reason}"] += 1
        if not reason:
            yield Wrong(NO_END, work, f"{status}, {state}, hold {item.hold}, triage {item.triage}")


def _reason(run: Run, item: Item) -> str:
    """Why work is held or in triage; empty where it does not say all of why, who and until when."""
    hold = item.hold
    if str(item.status) == "held" and hold is not None and hold.owner and hold.trigger:
        return f"{hold.reason} until {hold.trigger.partition(':')[0]}" if hold.reason else ""
    if str(item.status) == "triaged":
        records = [run.facts.get(("triage", name)) for name in item.triage]
        kinds = [record.kind for record in records if isinstance(record, Triage)]
        return ", ".join(kinds) if len(kinds) == len(item.triage) else ""
    return ""
