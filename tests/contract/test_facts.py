"""Facts: loaded as they were written, and written only over what was loaded (compare-and-set)."""

from __future__ import annotations

import dataclasses

import pytest
from tests.contract.builders import begin, edge, item, put, triage
from tests.contract.conftest import Ledger as Opened
from tests.core.effects import POLICY, RULES, capacity, envelope

from remit.core.change import changed
from remit.core.effect_facts import Effect, EffectState, Fault, Intent, Message
from remit.core.facts import (
    Actor,
    ActorKind,
    Attempt,
    Fact,
    Key,
    Lane,
    LaneId,
    Ledger,
    Policy,
    Redaction,
    Triage,
)
from remit.core.status import Status
from remit.ports import Change, RemitError, Store

LANE = Lane(LaneId("default|default"), 1, 0, 1, 0)
LEDGER = Ledger(1, "ledger-1", 0, False, Policy(), ())

FACTS: dict[Key, Fact] = {
    ("item", "W-1"): item(1, Status.READY, dependencies=()),
    ("lane", "default|default"): LANE,
    ("ledger", "ledger"): LEDGER,
    ("actor", "bob"): Actor("bob", 1, ActorKind.AGENT, False),
    ("attempt", "A-1.1"): Attempt("A-1.1", 1, "W-1", "abc"),
    ("triage", "TR-1"): triage(1, open_=True, seq=1),
    ("redaction", "ab"): Redaction("ab", 1, 2),
    ("counter", "fence"): 7,
    ("count", "ready"): 1,
    ("load", "actor/bob"): 2,
    ("alias", "bd-1"): "W-1",
    ("intent", "W-1"): Intent(
        "W-1", "RECEIPT-1", "ab", "", envelope(1, deadline=7, depends_on=("W-9",)), 3, 4, True,
        "V", "P", "D", "HOLD", "NOT_BEFORE", 5, "CAP-1", 0, 0, "",
        (Fault("$.deadline", "MISSING", "", "a time"),),
    ),
    ("message", "MESSAGE-1"): Message("MESSAGE-1", "RECEIPT-1", "ab", "W-1"),
    ("effect", "PACKAGE-1"): Effect(
        "PACKAGE-1", 1, "W-1", "EXPORT", "A", "D", "PURE", EffectState.UNCERTAIN, "k", "", "", 0, 0,
        0, 0, 0, "", 0, None, 9, None, 0, 0, "", 0, 0, "",
    ),
    ("capacity", "CAP-1"): capacity(id="CAP-1", version=1),
    ("validation", "VALIDATION-3"): changed(RULES, version=1),
    ("policy", "POLICY-8"): changed(POLICY, version=1),
    ("current", "policy/*"): "POLICY-8",
    ("debit", "CAP-1"): 3,
}  # fmt: skip


def test_every_kind_comes_back_as_it_was(ledger: Opened) -> None:
    put(ledger.store, FACTS)
    with ledger.reopen().read() as tx:
        assert tx.load(FACTS) == FACTS
        assert tx.load([("item", "W-9"), ("alias", "x")]) == {
            ("item", "W-9"): None,
            ("alias", "x"): None,
        }


def test_many_are_loaded_as_few_are(store: Store) -> None:
    items = [item(n, Status.READY) for n in range(1, 30)]
    put(store, items)
    put(store, {("counter", f"c{n}"): n for n in range(30)})
    put(store, {("alias", f"a{n}"): f"W-{n}" for n in range(1, 30)})
    wanted: list[Key] = [("item", one.id) for one in items]
    wanted += [("counter", f"c{n}") for n in range(30)] + [("alias", "a3"), ("alias", "zz")]
    wanted += [("alias", f"a{n}") for n in range(1, 9)] + [("item", "W-99")]
    with store.read() as tx:
        found = tx.load(wanted)
    assert found[("item", "W-7")] == items[6]
    assert found[("counter", "c29")] == 29
    assert found[("alias", "a3")] == "W-3"
    assert found[("item", "W-99")] is None
    assert found[("alias", "zz")] is None
    assert len(found) == len(set(wanted))


def test_small_holds_counters_counts_and_the_ledger(store: Store) -> None:
    put(store, FACTS)
    with store.read() as tx:
        assert tx.small() == {
            key: fact for key, fact in FACTS.items() if key[0] in ("counter", "count", "ledger")
        }


@pytest.mark.parametrize("key", sorted(FACTS))
def test_a_change_is_written_and_a_removal_removes(store: Store, key: Key) -> None:
    old = FACTS[key]
    new = _changed(old)
    put(store, FACTS)
    with store.write() as tx:
        tx.write([Change(key, old, new)])
        assert tx.load([key]) == {key: new}
    with store.write() as tx:
        tx.write([Change(key, new, None)])
    with store.write() as tx:
        assert tx.load([key]) == {key: None}
        tx.write([Change(key, None, None)])
        assert tx.load([key]) == {key: None}


@pytest.mark.parametrize("key", sorted(FACTS))
@pytest.mark.parametrize("wrong", ["stale", "there", "absent", "stale removal"])
def test_what_was_not_loaded_is_not_written_over(store: Store, key: Key, wrong: str) -> None:
    old = FACTS[key]
    newer = _changed(old)
    if wrong != "absent":
        put(store, {key: newer if wrong.startswith("stale") else old})
    change = {
        "stale": Change(key, old, newer),
        "there": Change(key, None, newer),
        "absent": Change(key, old, newer),
        "stale removal": Change(key, old, None),
    }[wrong]
    other: Key = ("counter", "other")
    with pytest.raises(RemitError, match="as it was loaded") as caught, store.write() as tx:
        tx.write([Change(other, None, 1), change])
    assert key[1] in caught.value.message
    with store.read() as tx:
        assert tx.load([other]) == {other: None}


def test_a_mismatch_names_its_own_key(store: Store) -> None:
    items = [item(n, Status.READY) for n in range(1, 6)]
    put(store, items)
    stale = [dataclasses.replace(one, version=3) for one in items]
    changes = [
        Change(
            ("item", one.id),
            one if one.number != 4 else stale[3],
            dataclasses.replace(one, version=4),
        )
        for one in items
    ]
    with pytest.raises(RemitError, match="write item W-4"), store.write() as tx:
        tx.write(changes)


def test_one_call_writes_a_key_once(store: Store) -> None:
    begin(store)
    with pytest.raises(RemitError, match="twice"), store.write() as tx:
        tx.write([Change(("counter", "a"), None, 1), Change(("counter", "a"), 1, 2)])


def test_a_later_call_sees_an_earlier_one(store: Store) -> None:
    with store.write() as tx:
        tx.write([Change(("counter", "a"), None, 1)])
        tx.write([Change(("counter", "a"), 1, 2)])
    with store.read() as tx:
        assert tx.load([("counter", "a")]) == {("counter", "a"): 2}


def _changed(fact: Fact) -> Fact:
    if isinstance(fact, int):
        return fact + 1
    if isinstance(fact, str):
        return "W-2"
    if isinstance(fact, Lane):
        return dataclasses.replace(fact, passed=5, ready=0)
    if isinstance(fact, Message | Intent):
        return dataclasses.replace(fact, item="W-3")
    if isinstance(fact, Triage):
        return dataclasses.replace(fact, open=False, resolution="done")
    return dataclasses.replace(fact, version=2)  # type: ignore[arg-type]  # all that are put here have one


def test_an_item_moves_through_its_statuses(store: Store) -> None:
    ready = item(1, Status.READY, dependencies=(edge("W-2"),), unmet=0)
    put(store, [ready])
    leased = item(1, Status.LEASED, 2, dependencies=ready.dependencies)
    same = dataclasses.replace(leased, version=3, title="another")
    closed = item(1, Status.CLOSED, 4, dependencies=ready.dependencies)
    for old, new in ((ready, leased), (leased, same), (same, closed)):
        with store.write() as tx:
            tx.write([Change(("item", "W-1"), old, new)])
    with store.read() as tx:
        assert tx.load([("item", "W-1")]) == {("item", "W-1"): closed}
        assert tx.dependents("W-2", 9) == []
