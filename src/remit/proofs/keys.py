"""Keys of states: equal keys mean equal futures, so that each kind of state is explored once.

Absolute times become distances from now, counters that only name things are left out (attempt
numbers, fences, versions, seqs, vtime in a world with one lane), ranks become an order. Implementers
are interchangeable, and so are items that were made alike: a state is keyed under the smallest of
the names that it could bear. One thing is lost by that: which of two items that become ready at the
same instant has the lower number. Both leases are tried by name all the same.

What is local to an item is encoded once and carried from state to state; only distances and
references between items are encoded anew.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import permutations, product
from typing import Any, Final

from remit.core.effect_facts import Effect
from remit.core.facts import DependencyKind, EdgeState, Fact, ImportRun, Item, Ledger, Rule, Triage
from remit.core.ids import EPOCH_SHIFT
from remit.core.status import Status
from remit.proofs.world import HUMAN, IMPLEMENTERS, NO_GHOST, SECOND, UNIT_US, Ghost, Stage, State

SIZE: Final = 10
"""Bytes of a key: two of a million states share one with a chance of about 1 in 10**12."""

_STATUS: Final = {status: n for n, status in enumerate(Status)}
_KIND: Final = {kind: n for n, kind in enumerate(DependencyKind)}
_EDGE: Final = {state: n for n, state in enumerate(EdgeState)}
_QUEUED: Final = (Status.READY, Status.LEASED)
_PAST: Final = 255
"""How a distance in the past is written; what lies ahead is below it."""

_OTHERS: Final = {HUMAN: 2, "remit-verifier": 3, SECOND: 4, "": 9}
LABELS: Final = tuple(
    {**dict(zip(order, range(len(order)), strict=True)), **_OTHERS}
    for order in permutations(IMPLEMENTERS)
)

Get = Callable[[str, str], Any]


def local(item: Item, ghost: Ghost, get: Get) -> tuple[bytes, ...]:
    """What an item is by itself, under each naming of the implementers; once if it names none."""
    work, source, hold = item.work, item.source, item.hold
    rows = {row: n for n, row in enumerate(item.plan.rows)}
    triage = tuple(_kind_of(get, record) for record in item.triage)
    shared = (
        _STATUS[item.status],
        str(item.gate),
        (str(hold.reason), str(hold.owner), hold.trigger.partition(":")[0]) if hold else None,
        item.unmet,
        item.counted,
        item.reported,
        tuple(sorted((rows[r.row], str(r.result), r.commit[:1], r.answered) for r in item.results)),
        triage,
        _STATUS[item.triaged_from] if item.triaged_from else None,
        str(item.outcome or ""),
        (source.digest, source.unconfirmed, source.satisfies, source.failed) if source else None,
        item.alias,
        (len(rows), item.plan.ambiguous, item.plan.rule, item.priority),
        ghost.approved[:1],
        _pushed(item, get),
        sorted((rows[row], commit[:1], said) for row, commit, said in ghost.answers),
    )
    named = bool(item.holders) or (work is not None and work.reviewer != "")
    found = []
    for names in LABELS if named else LABELS[:1]:
        own = (
            shared,
            names[item.lease.actor] if item.lease else None,
            sorted(names[name] for name in item.holders),
            (work.head[:1], names[work.reviewer], work.shipped[:1], str(work.artifact_diff))
            if work
            else None,
        )
        # Version 2 writes no references, which depend on how often a value is held elsewhere.
        found.append(marshal.dumps(own, 2))
    return tuple(found)


def _pushed(item: Item, get: Get) -> tuple[Any, ...] | None:
    """What is known of the push of an item, without its seqs and times."""
    push = item.work.push if item.work is not None else None
    effect = get("effect", push.effect) if push is not None else None
    if push is None or not isinstance(effect, Effect):
        return None
    return (
        push.commit[:1],
        push.markers,
        str(effect.state),
        effect.intents,
        effect.terminated_at is not None,
        effect.confirmed_fence > effect.fence,
        effect.present_seq > 0,
        effect.epoch,
    )


def _kind_of(get: Get, record: str) -> str:
    triage = get("triage", record)
    return str(triage.kind) if isinstance(triage, Triage) else ""


class Keys:
    """Makes the keys of one world."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.longest_us = stage.world.policy.longest_lease_ms * 1_000
        self.step_us = stage.world.policy.age_step_ms * 1_000
        self.known: dict[int, tuple[Fact, bytes]] = {}

    def key(self, state: State) -> bytes:
        """The key of a state; makes the local parts that it lacks."""
        stage = self.stage
        items = stage.items(state)
        parts = state.locals
        for name, item in items.items():
            if name not in parts:
                ghost = state.ghosts.get(name, NO_GHOST)
                parts[name] = local(item, ghost, lambda k, n: stage.get(state, k, n))
        moving = self._moving(state, items)
        linked = any(i.dependencies or i.successor for i in items.values())
        found = []
        named = any(len(parts[name]) > 1 for name in items)
        for label in range(len(LABELS) if named else 1):
            whole = sorted(
                (parts[name][label % len(parts[name])] + moving[name], name) for name in items
            )
            for order in _orders(whole) if linked else ([name for _, name in whole],):
                body = b"".join(part for part, _ in whole)
                found.append(body + links(order, items) if linked else body)
        return blake2b(min(found) + self._around(state, items), digest_size=SIZE).digest()

    def _moving(self, state: State, items: Mapping[str, Item]) -> dict[str, bytes]:
        """What changes with time: how long leases still run, and the order in the queue."""
        now = state.now
        ledger = stage_ledger(self.stage, state)
        latest = now + 2 * self.step_us
        ranks = {i.rank for i in items.values() if i.status in _QUEUED}
        order = {rank: n for n, rank in enumerate(sorted(ranks | {latest}))}
        found = {}
        for name, item in items.items():
            lease = item.lease
            until = self._arrives(state, item)
            place = order[item.rank] if item.status in _QUEUED else _PAST
            if lease is None:
                found[name] = bytes((place, *until))
                continue
            live = lease.fence >> EPOCH_SHIFT == ledger.epoch
            ends = _distance(lease.expires_at - now)
            last = _distance(lease.acquired_at + self.longest_us - now)
            found[name] = bytes((place, live, *ends, *last))
        return found

    def _arrives(self, state: State, item: Item) -> tuple[int, ...]:
        """How long a push may still be under way, where that is known."""
        push = item.work.push if item.work is not None else None
        effect = self.stage.get(state, "effect", push.effect) if push is not None else None
        if not isinstance(effect, Effect) or effect.arrives_until is None:
            return ()
        return _distance(effect.arrives_until - state.now)

    def _around(self, state: State, items: Mapping[str, Item]) -> bytes:
        """What holds for the whole world."""
        stage = self.stage
        ledger = stage_ledger(stage, state)
        flags = [len(items), ledger.kill_switch, state.now % UNIT_US != 0, len(ledger.unsettled)]
        if stage.world.has("import"):
            run, rule = stage.get(state, "import", "I-1"), stage.get(state, "rule", "default")
            flags.append(run.open + 1 if isinstance(run, ImportRun) else 0)
            flags.append(isinstance(rule, Rule) and rule.accepted)
        return bytes(flags)


def stage_ledger(stage: Stage, state: State) -> Ledger:
    """The ledger's own fact."""
    ledger = stage.get(state, "ledger", "ledger")
    assert isinstance(ledger, Ledger)
    return ledger


def _distance(ahead_us: int) -> tuple[int, int]:
    """Whole steps ahead and whether there is a rest; all of the past is one."""
    if ahead_us < 0:
        return _PAST, 0
    return ahead_us // UNIT_US, ahead_us % UNIT_US != 0


def _orders(whole: list[tuple[bytes, str]]) -> Iterator[list[str]]:
    """Every order of names that agrees with the sorted parts: equal parts may swap."""
    groups: dict[bytes, list[str]] = {}
    for part, name in whole:
        groups.setdefault(part, []).append(name)
    if len(groups) == len(whole):
        yield [name for _, name in whole]
        return
    for choice in product(*(permutations(group) for group in groups.values())):
        yield [name for group in choice for name in group]


def links(order: list[str], items: Mapping[str, Item]) -> bytes:
    """Who waits on whom, and who follows whom, by place in the order."""
    place = {name: n for n, name in enumerate(order)}
    found = []
    for name in order:
        item = items[name]
        found += [len(item.dependencies), place.get(item.successor, _PAST)]
        for d in item.dependencies:
            target, via = place.get(d.target, _alias(d.target)), place.get(d.via, _PAST)
            found += [_KIND[d.kind], _EDGE[d.state], d.inner, target, via]
    return bytes(found)


def _alias(target: str) -> int:
    """How a name that is no item yet is written: worlds use aliases of one letter."""
    return 100 + ord(target[-1]) % 100 if target.startswith("?") else _PAST
