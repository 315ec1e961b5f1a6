"""A quick look at the past says what a whole fold says: at every seq, with moments and without (INV-25).

All commands that there are make the histories, in memory, with a moment every few events. What the fleet's
view, runs and inboxes say of each seq by a glimpse is compared with the same functions on a whole fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.world import Played
from tests.stateful.asking import PROFILES, Everything

from remit.core import moments
from remit.core.change import changed
from remit.core.evolve import evolve
from remit.core.facts import FACT_TYPES, Fact, Item, Key, Ledger, Moment, Run, Triage
from remit.core.moments import Standing, move_of, span, unspan
from remit.core.run_facts import RunStatus
from remit.ports import Change, ReadTx, RemitError, Store
from remit.service.glimpse import Glimpse
from remit.service.integrity import replay, verify
from remit.service.past import as_of
from remit.service.reading.fleet import fleet
from remit.service.reading.inbox import inbox
from remit.service.reading.runs import run_list, run_show
from remit.service.transfer import export, import_into
from remit.stores.memory import MemoryStore

PEOPLE = ("ann", "bob", "cat", "nobody")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "EVERY", 16)


def seen(tx: ReadTx, limit: int = 4) -> dict[str, Any]:
    """All that operators ask."""
    runs = run_list(tx, 0)
    return {
        "fleet": fleet(tx, limit),
        "all": fleet(tx, 0),
        "runs": runs,
        "live": run_list(tx, limit, live_only=True),
        "entries": {run["id"]: run_show(tx, run["id"], limit) for run in runs["runs"]},
        "inboxes": {name: inbox(tx, name, limit) for name in PEOPLE},
    }


def moment_of(facts: Iterable[tuple[Key, Fact]], seq: int) -> Moment:
    """The moment that all facts just after an event make, counted anew."""
    standing = Standing()
    standing.seq = seq
    for (kind, name), fact in facts:
        if isinstance(fact, Item):
            standing.counts[fact.status] = standing.counts.get(fact.status, 0) + 1
            if fact.status in moments.FOLLOWED:
                standing.numbers[fact.status].add(fact.number)
        elif isinstance(fact, Triage) and fact.open:
            standing.triage.add(int(name[2:]))
        elif kind == "run" and isinstance(fact, Run):
            standing.run_count += 1
            if fact.status is not RunStatus.STOPPED:
                standing.runs[name] = fact
        elif isinstance(fact, Ledger):
            standing.ledger = fact
    return standing.moment()


@contextmanager
def folded(tx: ReadTx, seq: int) -> Iterator[ReadTx]:
    """The whole fold up to a seq, at the time of that event."""
    with as_of(tx, seq, MemoryStore) as past:
        past.now = lambda: past.head().time  # type: ignore[method-assign]  # as a glimpse has it
        yield past


def played(seed: int, profile: str, steps: int) -> Store:
    """A ledger with a history of everything."""
    traffic = Everything(Random(seed), 12, profile, "world")
    for _ in range(steps):
        traffic.wander()
    return traffic.world.store


def compare(store: Store, seqs: range) -> None:
    """Every seq, by both ways."""
    with store.read() as tx:
        for seq in seqs:
            with folded(tx, seq) as past:
                assert seen(Glimpse(tx, seq)) == seen(past), f"seq {seq}"  # type: ignore[arg-type]  # what it answers


@settings(max_examples=14, deadline=None)
@given(st.integers(0, 1 << 20), st.sampled_from(sorted(PROFILES)), st.integers(5, 60))
def test_a_glimpse_says_what_the_whole_fold_says(seed: int, profile: str, steps: int) -> None:
    store = played(seed, profile, steps)
    with store.read() as tx:
        head = tx.head().seq
    step = max(1, head // 60)
    compare(store, range(seed % step, head + 1, step))


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(40))
def test_a_glimpse_says_so_at_each_seq_of_long_histories(seed: int) -> None:
    store = played(seed, sorted(PROFILES)[seed % len(PROFILES)], 200)
    with store.read() as tx:
        head = tx.head().seq
    compare(store, range(head + 1))


@pytest.mark.parametrize("profile", ["runs", "mixed"])
def test_without_moments_it_is_only_slower(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "EVERY", 1 << 40)
    store = played(3, profile, 60)
    with store.read() as tx:
        assert tx.names("moment", "", 9) == []
        head = tx.head().seq
    compare(store, range(0, head + 1, max(1, head // 40)))


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_moment_is_what_all_facts_say(profile: str) -> None:
    """However the commits were cut: what was kept is what the facts at that very event make."""
    store = played(11, profile, 120)
    facts: dict[Key, Fact] = {}
    kept = 0
    with store.read() as tx:
        names = tx.names("moment", "", 1_000)
        stored = tx.load([("moment", name) for name in names])
        for recorded in tx.events(0, 1 << 30):
            for key, fact in evolve(lambda k, n: facts.get((k, n)), recorded).items():
                if fact is None:
                    facts.pop(key, None)
                else:
                    facts[key] = fact
            if recorded.seq % moments.EVERY == 0:
                assert stored[moments.key_of(recorded.seq)] == moment_of(
                    facts.items(), recorded.seq
                )
                kept += 1
    assert kept == len(names) > 0


def test_verification_and_replay_make_moments_again() -> None:
    store = played(5, "runs", 80)
    assert verify(store, fold=evolve).problems == ()
    with store.write() as tx:
        name = tx.names("moment", "", 1)[0]
        old = tx.load([("moment", name)])["moment", name]
        assert isinstance(old, Moment)
        tx.write([Change(("moment", name), old, changed(old, run_count=99))])
    [problem] = verify(store, fold=evolve).problems
    assert name in problem.where
    assert replay(store, fold=evolve, swap=True).differences
    with store.write() as tx:
        tx.write([Change(("moment", name), old, None)])
    assert verify(store, fold=evolve).problems == (), "a lacking one is slower and not wrong"
    assert replay(store, fold=evolve, swap=True).differences
    with store.read() as tx:
        assert tx.load([("moment", name)])["moment", name] == old


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_an_import_makes_them_as_it_goes(profile: str) -> None:
    store = played(5, profile, 80)
    copy = MemoryStore(store.ledger_id)
    import_into(copy, export(store))
    assert verify(copy, fold=evolve, signatures=Played()).problems == ()
    with store.read() as ours, copy.read() as theirs:
        names = ours.names("moment", "", 1_000)
        assert theirs.names("moment", "", 1_000) == names != []
        keys = [("moment", name) for name in names]
        assert theirs.load(keys) == ours.load(keys)


def test_a_glimpse_that_misses_an_event_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = played(2, "mixed", 40)
    right = Standing.forward

    def late(self: Standing, rec: Any) -> None:
        move = move_of(rec)
        if move is None or move.target != "ready":
            right(self, rec)
        self.seq = rec.seq

    monkeypatch.setattr(Standing, "forward", late)
    with store.read() as tx:
        head = tx.head().seq
    with pytest.raises(AssertionError):
        compare(store, range(0, head + 1, 3))


def test_a_seq_that_is_not_there_is_named() -> None:
    store = played(1, "mixed", 10)
    with store.read() as tx:
        for seq in (-1, tx.head().seq + 1):
            with pytest.raises(RemitError, match="cannot read the ledger as of seq"):
                Glimpse(tx, seq)


def test_what_a_glimpse_does_not_follow_it_does_not_guess() -> None:
    store = played(1, "mixed", 10)
    with store.read() as tx:
        glimpse = Glimpse(tx, 5)
        with pytest.raises(ValueError, match="no counter"):
            glimpse.load([("counter", "fence")])
        with pytest.raises(ValueError, match="open records only"):
            glimpse.triage(open_only=False, limit=1)


@given(st.sets(st.integers(1, 300)))
def test_spans_say_exactly_their_numbers(numbers: set[int]) -> None:
    assert set(unspan(span(numbers))) == numbers
    assert "moment" in FACT_TYPES
