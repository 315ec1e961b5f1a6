"""Queries: each answers in its stated order, within its limit, and sees its own transaction."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.builders import T0, blob, edge, item, put, triage

from remit.core.facts import (
    DependencyKind,
    EdgeState,
    Governed,
    GraphNode,
    Hold,
    Item,
    Lane,
    LaneId,
    Plan,
    Work,
)
from remit.core.status import Outcome, Status
from remit.ports import Change, Edge, ItemQuery, Store

DEFAULT = "default|default"


def test_ready_goes_by_rank_and_number(store: Store) -> None:
    put(
        store,
        [
            item(1, Status.READY, rank=T0 + 5),
            item(2, Status.READY, rank=T0 - 5),
            item(10, Status.READY, rank=T0),
            item(9, Status.READY, rank=T0),
            item(3, Status.READY, rank=T0, tenant="other"),
            item(4, Status.DRAFT, rank=T0),
        ],
    )
    with store.read() as tx:
        assert tx.ready(DEFAULT, None, 9) == ["W-2", "W-9", "W-10", "W-1"]
        assert tx.ready(DEFAULT, None, 2) == ["W-2", "W-9"]
        assert tx.ready(DEFAULT, (T0, 9), 9) == ["W-10", "W-1"]
        assert tx.ready("default|other", None, 9) == ["W-3"]
        assert tx.ready("none", None, 9) == []


def test_lanes_come_in_turn(store: Store) -> None:
    lanes = [("b", 5, 1), ("a", 5, 1), ("c", 1, 2), ("idle", 0, 0)]
    put(store, {("lane", n): Lane(LaneId(n), 1, p, r, 0) for n, p, r in lanes})
    with store.read() as tx:
        assert tx.lanes(9) == ["c", "a", "b"]
        assert tx.lanes(1) == ["c"]


def test_dependents_are_edges_of_unfinished_items(store: Store) -> None:
    met, unmet = EdgeState.MET, EdgeState.UNMET
    put(
        store,
        [
            item(
                2, dependencies=(edge("W-1"), edge("W-1", met, DependencyKind.WAITS_FOR)), unmet=1
            ),
            item(3, Status.READY, dependencies=(edge("W-1", met, target="W-7"),)),
            item(4, Status.CLOSED, dependencies=(edge("W-1"),)),
            item(5, dependencies=(edge("?lost"),), unmet=1),
        ],
    )
    with store.read() as tx:
        assert tx.dependents("W-1", 9) == [
            Edge("W-3", "W-7", "blocks", "met"),
            Edge("W-2", "W-1", "blocks", "unmet"),
            Edge("W-2", "W-1", "waits-for", "met"),
        ]
        assert len(tx.dependents("W-1", 2)) == 2
        assert tx.dependents("?lost", 9) == [Edge("W-5", "?lost", "blocks", "unmet")]
        assert tx.waiting("W-1", "blocks", "met", 9) == [Edge("W-2", "W-1", "blocks", "unmet")]
        assert tx.waiting("W-1", DependencyKind.BLOCKS, unmet, 9) == [
            Edge("W-3", "W-7", "blocks", "met")
        ]
        assert len(tx.waiting("W-1", "blocks", "-", 9)) == 2
        assert len(tx.waiting("W-1", "blocks", "-", 1)) == 1
        assert tx.waiting("W-1", "parent-child", "met", 9) == []


def test_awaited_names_what_unfinished_items_wait_on(store: Store) -> None:
    put(
        store,
        [
            item(2, dependencies=(edge("W-1"), edge("?lost")), unmet=2),
            item(3, Status.CLOSED, dependencies=(edge("W-7"),)),
        ],
    )
    with store.read() as tx:
        assert tx.awaited(["W-1", "?lost", "W-7", "W-9", "W-1"]) == {"W-1", "?lost"}
        assert tx.awaited([]) == set()


def test_edges_follow_their_item(store: Store) -> None:
    first = item(2, dependencies=(edge("W-1"), edge("W-3")), unmet=2)
    put(store, [first])
    second = dataclasses.replace(
        first,
        version=2,
        unmet=1,
        dependencies=(edge("W-1", EdgeState.MET), edge("W-4", target="W-3")),
    )
    with store.write() as tx:
        tx.write([Change(("item", "W-2"), first, second)])
        assert tx.dependents("W-1", 9) == [Edge("W-2", "W-1", "blocks", "met")]
        assert tx.dependents("W-3", 9) == []
        assert tx.dependents("W-4", 9) == [Edge("W-2", "W-3", "blocks", "unmet")]
    with store.write() as tx:
        tx.write([Change(("item", "W-2"), second, None)])
        assert tx.dependents("W-1", 9) == []


def test_two_edges_may_be_judged_by_one_item(store: Store) -> None:
    child = DependencyKind.WAITS_FOR_CHILD
    twice = (edge("W-1", kind=child, target="W-5"), edge("W-1", kind=child, target="W-5"))
    put(store, [item(2, dependencies=twice, unmet=2)])
    with store.read() as tx:
        assert tx.dependents("W-1", 9) == [Edge("W-2", "W-5", "waits-for-child", "unmet")]


def test_children_are_known_when_they_are_finished(store: Store) -> None:
    parent = DependencyKind.PARENT
    put(
        store,
        [
            item(3, dependencies=(edge("W-1", kind=parent),), unmet=1),
            item(2, Status.CLOSED, dependencies=(edge("W-1", kind=parent),)),
            item(4, dependencies=(edge("W-1"),), unmet=1),
        ],
    )
    with store.read() as tx:
        assert tx.children("W-1", 9) == ["W-2", "W-3"]
        assert tx.children("W-1", 1) == ["W-2"]
        assert tx.children("W-2", 9) == []


GOVERNED = Governed(
    "P-1", "P-1@1", "G-1@1", "i", "N-1", "d", ("R-1@1",), (), ("N-1",), (), 1, (), "low", "revert",
    reversal_complete=True, decision="",
)  # fmt: skip
PLAN = Plan("G-1", ("R-1", "R-2"), ("V-1",), ("src",), (), "", False, 1, 1, GOVERNED)


def work(shipped: str) -> Work:
    return Work("L", "b", "0", "1", "t", 1, "eve", 2, shipped, "0", 3, "")


def linked(store: Store, *uppers: str) -> list[list[str]]:
    with store.read() as tx:
        return [tx.linked(upper, "", 9) for upper in uppers]


def test_links_are_found_from_their_upper_end(store: Store) -> None:
    first, second = item(1, plan=PLAN), item(2, plan=replace(PLAN, requirements=("R-2",)))
    node = GraphNode("N-1", 1, 1, "P-1", "n", "d", 1, covers=("R-1",))
    put(store, [first, second, item(3, work=work("ab" * 20))])
    with store.write() as tx:
        tx.write([Change(("node", "N-1"), None, node)])
        assert tx.linked("R-1", "", 9) == ["N-1", "W-1"]
        assert tx.linked("R-2", "", 9) == ["W-1", "W-2"]
        assert tx.linked("R-2", "W-1", 9) == tx.linked("N-1", "W-1", 9) == ["W-2"]
        assert tx.linked("R-2", "", 1) == ["W-1"]
        assert tx.linked("G-1", "", 9) == ["W-1", "W-2", "W-3"]
        assert tx.find_links("commit/ab", 9) == [("commit/" + "ab" * 20, "W-3")]
        assert tx.find_links("commit/", 0) == tx.find_links("commit/b", 9) == []


def test_links_follow_what_changes(store: Store) -> None:
    old = item(1, plan=PLAN)
    put(store, [old])
    moved = replace(PLAN, requirements=("R-3",), governed=replace(GOVERNED, node="N-2"))
    new = replace(old, version=2, plan=moved, work=work("cd" * 20))
    node = GraphNode("N-1", 1, 1, "P-1", "n", "d", 1, covers=("R-1",))
    with store.write() as tx:
        tx.write([Change(("item", "W-1"), old, new), Change(("node", "N-1"), None, node)])
    assert linked(store, "R-1", "R-2", "N-1") == [["N-1"], [], []]
    assert linked(store, "R-3", "N-2", "commit/" + "cd" * 20) == [["W-1"]] * 3
    with store.write() as tx:
        later = replace(node, version=2, covers=("R-2",))
        tx.write([Change(("item", "W-1"), new, None), Change(("node", "N-1"), node, later)])
    assert linked(store, "R-1", "R-3", "N-2", "commit/" + "cd" * 20) == [[]] * 4
    assert linked(store, "R-2") == [["N-1"]]


def test_reaches_finds_the_shortest_path(store: Store) -> None:
    put(
        store,
        [
            item(1, dependencies=(edge("W-2"), edge("W-3")), unmet=2),
            item(2, dependencies=(edge("W-4"),), unmet=1),
            item(3, dependencies=(edge("W-5"),), unmet=1),
            item(4, dependencies=(edge("W-5"),), unmet=1),
            item(5, dependencies=(edge("W-6", EdgeState.MET),)),
            item(6, dependencies=(edge("W-1"),), unmet=1),
        ],
    )
    with store.read() as tx:
        assert tx.reaches("W-1", "W-5", 99) == ("W-1", "W-3", "W-5")
        assert tx.reaches("W-1", "W-1", 99) == ("W-1",)
        assert tx.reaches("W-1", "W-6", 99) is None
        assert tx.reaches("W-6", "W-5", 99) == ("W-6", "W-1", "W-3", "W-5")
        assert tx.reaches("W-6", "W-5", 2) == ()
        assert tx.reaches("W-9", "W-1", 99) is None


def test_leases_by_expiry_and_by_fence(store: Store) -> None:
    late, soon = item(1, Status.LEASED), item(2, Status.LEASED)
    assert late.lease is not None
    late = dataclasses.replace(late, lease=dataclasses.replace(late.lease, expires_at=T0 + 99))
    put(store, [late, soon, item(3, Status.READY)])
    with store.read() as tx:
        assert tx.due(T0 + 1, 9) == []
        assert tx.due(T0 + 2, 9) == ["W-2"]
        assert tx.due(T0 + 99, 9) == ["W-2", "W-1"]
        assert tx.due(T0 + 99, 1) == ["W-2"]
        assert tx.leased_before(2, 9) == ["W-1"]
        assert tx.leased_before(99, 9) == ["W-1", "W-2"]
        assert tx.leased_before(99, 1) == ["W-1"]


def test_gated_and_held_items(store: Store) -> None:
    held = [item(n, Status.HELD) for n in (11, 12)]
    put(store, [item(n, gate="import-open") for n in (10, 2, 9)] + [item(3, gate="x")] + held)
    with store.read() as tx:
        assert tx.gated("import-open", 0, 9) == ["W-2", "W-9", "W-10"]
        assert tx.gated("import-open", 2, 1) == ["W-9"]
        assert tx.gated("import", 0, 9) == []
        assert tx.items(ItemQuery(gate="x")) == ["W-3"]
        assert tx.items(ItemQuery(gate="import-open", newest_first=True)) == ["W-10", "W-9", "W-2"]
        assert tx.items(ItemQuery(hold="WAITING")) == ["W-11", "W-12"]
        assert tx.items(ItemQuery(hold="WAITING", newest_first=True, limit=1)) == ["W-12"]
        assert tx.items(ItemQuery(hold="OTHER")) == []


def held(number: int, trigger: str, at: int = 0, rank: int = 0) -> Item:
    """A held item that waits for this."""
    return item(number, Status.HELD, hold=Hold("WAITING", "admission", trigger, "", at, rank))


def test_holds_by_trigger_and_place_in_line(store: Store) -> None:
    put(
        store,
        [
            held(1, "capacity:A", rank=30),
            held(2, "capacity:A", rank=10),
            held(10, "capacity:A", rank=20),
            held(9, "capacity:A", rank=20),
            held(3, "capacity:B", rank=1),
            item(4, Status.READY),
        ],
    )
    with store.read() as tx:
        assert tx.held("capacity:A", None, 9) == ["W-2", "W-9", "W-10", "W-1"]
        assert tx.held("capacity:A", None, 2) == ["W-2", "W-9"]
        assert tx.held("capacity:A", (20, 9), 9) == ["W-10", "W-1"]
        assert tx.held("capacity:A", (30, 1), 9) == []
        assert tx.held("capacity", None, 9) == []
    with store.write() as tx:
        old = held(2, "capacity:A", rank=10)
        moved = held(2, "capacity:B", rank=10)
        tx.write([Change(("item", "W-2"), old, dataclasses.replace(moved, version=2))])
        assert tx.held("capacity:A", None, 1) == ["W-9"]
        assert tx.held("capacity:B", None, 9) == ["W-3", "W-2"]


def test_holds_by_time(store: Store) -> None:
    with store.read() as tx:
        assert tx.next_wake() is None
    put(
        store,
        [
            held(1, "capacity:A"),
            held(2, "time:70", at=70),
            held(3, "capacity:A", at=50),
            held(10, "capacity:A", at=60),
            held(9, "capacity:A", at=60),
        ],
    )
    with store.read() as tx:
        assert tx.waking(70, 9) == ["W-3", "W-9", "W-10", "W-2"]
        assert tx.waking(69, 9) == ["W-3", "W-9", "W-10"]
        assert tx.waking(70, 1) == ["W-3"]
        assert tx.waking(49, 9) == []
        assert tx.next_wake() == 50
    with store.write() as tx:
        old = held(3, "capacity:A", at=50)
        tx.write([Change(("item", "W-3"), old, item(3, Status.READY, version=2))])
        assert tx.next_wake() == 60


def test_ready_items_wake_up_at_the_end_of_their_lifetime(store: Store) -> None:
    """Among held ones, in the order of time; leased they keep it and do not wake up."""
    first = item(1, Status.READY, lapses_at=40)
    put(
        store,
        [
            first,
            held(2, "capacity:A", at=50),
            item(3, Status.LEASED, lapses_at=30),
            item(4, Status.READY),
            item(5, Status.DRAFT, lapses_at=10),
            item(6, Status.CLOSED, outcome=Outcome.FAILED, lapses_at=10),
        ],
    )
    with store.read() as tx:
        assert tx.waking(60, 9) == ["W-1", "W-2"]
        assert tx.waking(39, 9) == []
        assert tx.next_wake() == 40
    leased = item(1, Status.LEASED, version=2, lapses_at=40)
    back = item(1, Status.READY, version=3, lapses_at=40)
    gone = item(1, Status.TRIAGED, version=4, lapses_at=40)
    key = ("item", "W-1")
    for old, new, waking in ((first, leased, []), (leased, back, ["W-1"]), (back, gone, [])):
        with store.write() as tx:
            tx.write([Change(key, old, new)])
        with store.read() as tx:
            assert tx.waking(45, 9) == waking, new.status


def test_items_that_follow_another(store: Store) -> None:
    coalesced: dict[str, Any] = {"outcome": Outcome.COALESCED, "successor": "W-1"}
    put(
        store,
        [
            item(10, Status.CLOSED, **coalesced),
            item(2, Status.CLOSED, **coalesced),
            item(3, Status.CLOSED, outcome=Outcome.SUPERSEDED, successor="W-1"),
            item(4, Status.CLOSED, outcome=Outcome.COALESCED, successor=""),
            item(5, Status.CLOSED, outcome=Outcome.COALESCED, successor="W-9"),
        ],
    )
    with store.read() as tx:
        assert tx.followers("W-1", 9) == ["W-2", "W-10"]
        assert tx.followers("W-1", 1) == ["W-2"]
        assert tx.followers("W-8", 9) == []
    with store.write() as tx:
        old = item(2, Status.CLOSED, **coalesced)
        gone_on = dataclasses.replace(old, version=2, successor="W-11")
        tx.write([Change(("item", "W-2"), old, gone_on)])
        assert tx.followers("W-1", 9) == ["W-10"]


@pytest.fixture
def listed(store: Store) -> Store:
    put(store, [item(n, Status.READY if n % 2 else Status.CLOSED) for n in range(1, 13)])
    return store


def test_listings_page_both_ways(listed: Store) -> None:
    def ids(*numbers: int) -> list[str]:
        return [f"W-{n}" for n in numbers]

    with listed.read() as tx:
        assert tx.items(ItemQuery(limit=3)) == ids(1, 2, 3)
        assert tx.items(ItemQuery(limit=3, after=9)) == ids(10, 11, 12)
        assert tx.items(ItemQuery(limit=0)) == ids(*range(1, 13))
        assert tx.items(ItemQuery(limit=3, newest_first=True)) == ids(12, 11, 10)
        assert tx.items(ItemQuery(limit=0, newest_first=True, after=3)) == ids(2, 1)
        assert tx.items(ItemQuery(statuses=("ready",), limit=2, after=3)) == ids(5, 7)
        both = ("ready", "closed", "ready")
        assert tx.items(ItemQuery(statuses=both, limit=4, after=1)) == ids(2, 3, 4, 5)
        assert tx.items(ItemQuery(statuses=both, limit=3, newest_first=True)) == ids(12, 11, 10)
        assert tx.items(ItemQuery(statuses=("shipped",))) == []


def test_leased_items_are_listed_by_number_among_others(store: Store) -> None:
    leased = [item(n, Status.LEASED) for n in (9, 2, 5)]
    put(store, [*leased, item(3, Status.READY), item(7, Status.READY)])
    with store.read() as tx:
        assert tx.items(ItemQuery(statuses=("leased",))) == ["W-2", "W-5", "W-9"]
        assert tx.items(ItemQuery(statuses=("leased",), after=2, limit=1)) == ["W-5"]
        back = ItemQuery(statuses=("leased",), newest_first=True, after=9)
        assert tx.items(back) == ["W-5", "W-2"]
        both = ItemQuery(statuses=("ready", "leased"), limit=4)
        assert tx.items(both) == ["W-2", "W-3", "W-5", "W-7"]


def test_a_search_looks_at_ids_aliases_titles_and_blobs(store: Store) -> None:
    text = blob("Größe des Puffers\nand more".encode())
    with store.write() as tx:
        tx.put_blobs([text])
    put(
        store,
        [
            item(1, title="Fix the LEAK"),
            item(2, title="", text=text.digest.hex()),
            item(3, alias="bd-leaky"),
            item(4),
        ],
    )
    with store.read() as tx:
        assert tx.items(ItemQuery(text="leak")) == ["W-1", "W-3"]
        assert tx.items(ItemQuery(text="leak", limit=1)) == ["W-1"]
        assert tx.items(ItemQuery(text="größe DES")) == ["W-2"]
        assert tx.items(ItemQuery(text="title", newest_first=True)) == ["W-4", "W-3"]
        assert tx.items(ItemQuery(text="leak", statuses=("closed",))) == []
    with store.write() as tx:
        tx.erase_blobs([text.digest.hex()])
        assert tx.items(ItemQuery(text="größe")) == []


def test_find_and_names(store: Store) -> None:
    put(store, [item(n) for n in (1, 10, 2)])
    put(store, {("alias", "W-like"): "W-1", ("triage", "TR-1"): triage(1, open_=True, seq=1)})
    put(store, {("counter", "W-x"): 1, ("lane", "W|x"): Lane(LaneId("W|x"), 1, 0, 0, 0)})
    with store.read() as tx:
        assert tx.find("W-1", 9) == [("item", "W-1"), ("item", "W-10")]
        assert tx.find("W", 9)[2:] == [("item", "W-2"), ("alias", "W-like")]
        assert len(tx.find("W", 2)) == 2
        assert tx.find("TR", 9) == [("triage", "TR-1")]
        assert tx.find("%", 9) == []
        assert tx.names("item", "", 9) == ["W-1", "W-10", "W-2"]
        assert tx.names("item", "W-1", 1) == ["W-10"]
        assert tx.names("alias", "", 9) == ["W-like"]
        assert tx.names("counter", "", 9) == ["W-x"]
        assert tx.names("triage", "", 9) == ["TR-1"]
        assert tx.names("lane", "", 9) == ["W|x"]
        assert tx.names("goal", "", 9) == []


def test_triage_oldest_first(store: Store) -> None:
    records = [
        triage(1, open_=True, seq=9),
        triage(2, open_=False, seq=3),
        triage(3, open_=True, seq=5),
    ]
    put(store, {("triage", r.id): r for r in records})
    with store.read() as tx:
        assert tx.triage(open_only=True, limit=9) == ["TR-3", "TR-1"]
        assert tx.triage(open_only=False, limit=9) == ["TR-2", "TR-3", "TR-1"]
        assert tx.triage(open_only=False, limit=1) == ["TR-2"]
        assert tx.open_records() == 2


def test_a_transaction_sees_its_own_writes(store: Store) -> None:
    with store.write() as tx:
        tx.write([Change(("item", "W-1"), None, item(1, Status.READY))])
        assert tx.ready(DEFAULT, None, 9) == ["W-1"]
        assert tx.items(ItemQuery()) == ["W-1"]
