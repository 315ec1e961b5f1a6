"""Closure of a requirement: every row counts, narrower evidence closes nothing, successors stand in."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_bound_verdicts import GREEN, NOTHING, RED, findings, owned, rebind
from tests.core.world import COMMAND, HUMAN, OTHER, RUBRIC, VERIFIER, World

from remit.core import commands as c
from remit.core.change import changed
from remit.core.commands import Text
from remit.core.facts import Item, Requirement, Row, RowOutcome, Work
from remit.core.planning import closure as closures
from remit.core.planning.closure import NO_DIRECT_ROW, NO_ROW, Closure, Known, State, closure
from remit.core.rows import Control, RowKind, RowSpec, Verdict
from remit.core.status import Status
from remit.service.reading.closing import closure_of

REQUIREMENT = Requirement("R-1", 1, 1, "G-1@1", "W-1", False, 1, digest="r" * 64)
WORK = Work("L-1.1", "", "b", "h", "t", 1, "cat", 2, "commit", "b", 3, "PASS")
CLOSED = (State.VERIFIED, State.WAIVED)


def row(number: int, item: str = "W-1", direct: bool = True, requirement: str = "R-1") -> Row:
    found = Row(f"V-{number}", 1, requirement, item, "command", "d" * 64, "explicit", 1)
    return changed(found, direct=direct)


def outcome(of: Row, result: str, **new: Any) -> RowOutcome:
    made = RowOutcome(of.id, of.requirement, result, "commit", 1, 9, True, of.digest, "r" * 64)
    return changed(made, **new) if new else made


STATES: dict[State, tuple[str, dict[str, Any]]] = {
    State.VERIFIED: ("verified", {}),
    State.GAP: ("ship-verify-gap", {}),
    State.CONTRADICTED: ("contradicted", {}),
    State.NOT_MACHINE_CHECKABLE: ("not-machine-checkable", {}),
    State.STALE: ("verified", {"digest": "e" * 64}),
}


class Plan:
    """One requirement with rows in stated states, all of one verified item unless said otherwise."""

    def __init__(self, *states: State, direct: tuple[bool, ...] = ()) -> None:
        base = World()
        self.item: Item = changed(
            base.item(base.create()), status=Status.VERIFIED, work=WORK, results=()
        )
        self.items: dict[str, Item] = {"W-1": self.item}
        self.rows: dict[str, Row] = {}
        self.waived: set[str] = set()
        results = []
        for number, state in enumerate(states, 1):
            mine = row(number, direct=direct[number - 1] if direct else True)
            self.rows[mine.id] = mine
            if state is State.WAIVED:
                self.waived.add(mine.id)
            elif state is not State.OPEN:
                result, new = STATES[state]
                results.append(outcome(mine, result, **new))
        self.set("W-1", results=tuple(results))

    def set(self, name: str, **new: Any) -> None:
        self.items[name] = changed(self.items[name], **new)

    def add(self, name: str, *rows: Row, **new: Any) -> None:
        """Another item with rows, all verified unless ``results`` say otherwise."""
        plan = changed(self.item.plan, rows=tuple(one.id for one in rows))
        results = tuple(outcome(one, "verified") for one in rows)
        more = {"id": name, "plan": plan, "results": results, "successor": "", "stale": (), **new}
        self.items[name] = changed(self.item, **more)
        self.rows |= {one.id: one for one in rows}

    def closed(self, requirement: Requirement = REQUIREMENT) -> Closure:
        mine = [one for one in self.rows.values() if one.requirement == requirement.id]
        waiver = lambda one: "D-1" if one.id in self.waived else ""  # noqa: E731  # one use
        return closure(requirement, mine, Known(self.items.get, self.rows.get, waiver))


# Every row counts.


@pytest.mark.parametrize("states", list(combinations_with_replacement(State, 3)))
def test_the_gravest_row_decides(states: tuple[State, ...]) -> None:
    found = Plan(*states).closed()
    order = list(State)
    assert found.state is min(states, key=order.index)
    assert found.closed is (set(states) <= set(CLOSED))
    assert bool(found.reason) is not found.closed
    assert [each.state for each in found.evidence] == list(states)


def test_nothing_closes_by_absence() -> None:
    found = Plan().closed()
    assert (found.state, found.reason, found.closed) == (State.OPEN, NO_ROW, False)
    plan = Plan(State.VERIFIED)
    plan.items.clear()
    assert plan.closed().state is State.OPEN


@pytest.mark.parametrize("states", list(product(CLOSED, repeat=2)))
def test_narrower_evidence_never_closes_a_broader_claim(states: tuple[State, ...]) -> None:
    found = Plan(*states, direct=(False, False)).closed()
    assert (found.state, found.reason) == (State.OPEN, NO_DIRECT_ROW)
    assert Plan(*states, direct=(False, True)).closed().closed


@pytest.mark.parametrize("state", [s for s in State if s not in CLOSED])
def test_a_narrower_row_that_fails_counts_against_it(state: State) -> None:
    assert Plan(State.VERIFIED, state, direct=(True, False)).closed().state is state


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.VERIFIED])
def test_a_green_row_of_an_item_that_is_not_verified_proves_nothing_yet(status: Status) -> None:
    plan = Plan(State.VERIFIED)
    plan.set("W-1", status=status)
    assert plan.closed().state is State.OPEN


def test_a_result_of_another_commit_or_of_another_digest_is_not_counted() -> None:
    plan = Plan(State.VERIFIED)
    [old] = plan.items["W-1"].results
    for new, state in (
        ({"commit": "another"}, State.OPEN),
        ({"digest": "e" * 64}, State.STALE),
        ({"digest": ""}, State.STALE),
        ({"covers": "e" * 64}, State.STALE),
        ({"covers": ""}, State.STALE),
    ):
        plan.set("W-1", results=(changed(old, **new),))
        assert plan.closed().state is state, new
    plan.set("W-1", results=(old,), stale=("V-1",))
    assert plan.closed().state is State.STALE
    plan.set("W-1", results=(changed(old, result="contradicted"), old), stale=())
    assert plan.closed().state is State.CONTRADICTED


# Successors.


def test_a_successor_of_planned_work_counts_by_the_rows_of_this_requirement() -> None:
    plan = Plan(State.GAP)
    plan.set("W-1", status=Status.CLOSED, successor="W-2")
    plan.add("W-2", row(8, "W-2", requirement="R-9"))
    found = plan.closed()
    assert (found.state, [e.row for e in found.evidence]) == (State.OPEN, ["V-1"])
    plan.add("W-2", row(8, "W-2", requirement="R-9"), row(9, "W-2"))
    found = plan.closed()
    assert found.state is State.VERIFIED
    assert [(e.row, e.stands_for) for e in found.evidence] == [("V-9", ("W-1",))]


def test_a_successor_of_drafted_work_stands_for_the_whole_of_it() -> None:
    drafted = changed(REQUIREMENT, drafted=True)
    plan = Plan(State.STALE, State.VERIFIED)
    plan.set("W-1", stale=("V-1",), successor="W-2")
    plan.add("W-2", row(8, "W-2", requirement="R-2"), successor="W-3")
    last = row(9, "W-3", requirement="R-3")
    plan.add("W-3", last, status=Status.SHIPPED)
    assert plan.closed(drafted).state is State.OPEN
    plan.set("W-3", status=Status.VERIFIED)
    found = plan.closed(drafted)
    assert found.state is State.VERIFIED
    assert found.evidence[0].stands_for == ("W-1", "W-2")
    plan.set("W-3", stale=("V-9",))
    assert plan.closed(drafted).state is State.STALE


def test_a_chain_that_ends_nowhere_or_goes_round_stays_open() -> None:
    plan = Plan(State.VERIFIED)
    plan.set("W-1", successor="W-9")
    assert plan.closed().state is State.OPEN
    plan.set("W-1", successor="W-1")
    assert plan.closed().state is State.OPEN


@given(
    st.lists(st.tuples(st.sampled_from(State), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 5),
    st.sampled_from(State),
)
def test_making_a_row_worse_never_closes_a_requirement(
    rows: list[tuple[State, bool]], place: int, worse: State
) -> None:
    order = list(State)
    states, direct = [s for s, _ in rows], tuple(d for _, d in rows)
    place %= len(rows)
    before = Plan(*states, direct=direct).closed()
    if order.index(worse) >= order.index(states[place]):
        return
    states[place] = worse
    after = Plan(*states, direct=direct).closed()
    assert before.closed or not after.closed
    assert order.index(after.state) <= order.index(before.state) or not before.closed


# From the ledger.


def closed(world: World, requirement: str) -> str:
    with world.store.read() as tx:
        found = closure_of(tx, requirement)
    assert found is not None
    return found.state.value


def test_it_follows_an_item_from_its_creation_to_a_successor() -> None:
    world = World()
    item = world.create(COMMAND, RUBRIC)
    first, requirement = owned(world, item)
    rubric = world.item(item).plan.rows[1]
    for step in ("leased", "in-review", "approved", "shipped"):
        assert closed(world, requirement) == "open"
        world.step(item, step)
    world.ok(VERIFIER, findings(world, item, NOTHING))
    assert closed(world, requirement) == "gap"
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "reverify", "again"))
    world.ok(VERIFIER, findings(world, item, GREEN, ("not-machine-checkable", 0)))
    assert closed(world, requirement) == "open"  # green, of an item that is not verified yet
    world.ok(OTHER, world.findings(item, diff="", rows=[rubric]))
    assert closed(world, requirement) == "verified"
    rebind(world, "row", first)
    assert closed(world, requirement) == "stale"  # also where nobody has marked it
    world.ok(HUMAN, c.Recheck(item))
    successor = world.create()
    world.ok(HUMAN, c.SucceedItem(item, successor, Text("again")))
    assert closed(world, requirement) == "open"
    for step in ("leased", "in-review", "approved", "shipped", "verified"):
        world.step(successor, step)
    assert closed(world, requirement) == "verified"


def test_what_only_a_human_could_score_closes_nothing() -> None:
    world = World()
    item = world.until("shipped", RUBRIC)
    world.ok(VERIFIER, findings(world, item, ("not-machine-checkable", 0)))
    assert closed(world, owned(world, item)[1]) == "not-machine-checkable"


def test_a_contradiction_stays_one() -> None:
    world = World()
    item = world.until("shipped")
    world.ok(VERIFIER, findings(world, item, RED))
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "reverify", "again"))
    world.ok(VERIFIER, findings(world, item, GREEN))
    assert closed(world, owned(world, item)[1]) == "contradicted"


def test_only_a_command_with_a_control_has_something_that_must_be_red() -> None:
    assert COMMAND.red_control
    assert not RUBRIC.red_control
    assert not RowSpec(RowKind.COMMAND, ("x",), control=Control.NONE).red_control
    assert RowSpec(RowKind.COMMAND, ("x",), control=Control.MUTATION).red_control


# Each of these checks can fail.

FAULTS: dict[str, tuple[str, Any, Callable[[], None]]] = {
    "the mildest row decides": (
        "_GRAVEST_FIRST",
        tuple(reversed(State)),
        lambda: test_the_gravest_row_decides((State.GAP, State.VERIFIED, State.VERIFIED)),
    ),
    "digests do not matter": (
        "_other",
        lambda outcome, row, covered: False,
        test_a_result_of_another_commit_or_of_another_digest_is_not_counted,
    ),
    "a gap passes for a human's matter that closes": (
        "_OF_VERDICT",
        {verdict.value: State.VERIFIED for verdict in Verdict},
        test_what_only_a_human_could_score_closes_nothing,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what, fault, probe = FAULTS[name]
    probe()
    monkeypatch.setattr(closures, what, fault)
    with pytest.raises(AssertionError):
        probe()
