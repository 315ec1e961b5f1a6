"""The history checker: quiet on what the product wrote, and loud on each thing that may be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.core.traffic import LATE, Traffic
from tests.core.world import HUMAN, World
from tests.ground.sidelog import SideLog, open_calls, words

from remit.core import commands as c
from remit.core import item_events as e
from remit.core import moments
from remit.core.events import PolicySet, Recorded
from remit.core.facts import Fact, Key, Policy
from remit.core.ids import EPOCH_SHIFT
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.proofs.history import Acknowledged, Kind, judge, read_rows
from remit.proofs.main import main, run_history
from remit.proofs.told import Said, Word, account
from remit.service.engine import Done
from remit.service.operations import Caller, Operations
from remit.wiring import create_ledger, url_of

Events = list[Recorded]
POLICY = Policy(ttl_ms=2_000, longest_lease_ms=6_000, attempts=3, actor_leases=1)


def told_world() -> World:
    """Two items on their way, a lease that expired, one that was renewed, and one after adoption."""
    world = World(POLICY)
    first = world.until("verified")
    second = world.create()
    lease = world.lease(second, "bob")
    world.ok("bob", c.RenewLease(second, lease.fence, 3_000), "renewal")
    world.ok("bob", c.ReportProgress(second, lease.fence))
    world.pass_us(3_000_000)
    world.lease(second, "cat")
    world.ok(HUMAN, c.AdoptEpoch(0, "copied"))
    dead = world.item(second).lease
    assert dead is not None
    world.do("cat", c.ReportProgress(second, dead.fence), "late")
    lease = world.lease(second, "cat")
    world.ok("cat", c.ReleaseLease(second, lease.fence, "tired"))
    world.ok(HUMAN, c.EngageKillSwitch("enough"))
    assert world.status(first) == "verified"
    return world


@pytest.fixture(scope="module")
def events() -> Events:
    return told_world().events()


def test_what_the_product_wrote_is_without_fault() -> None:
    world = told_world()
    with world.store.read() as tx:
        events, rows = read_rows(tx)
    told = [Acknowledged("renewal", tuple(r for r in events if r.command_id == "renewal"))]
    assert judge(events, acknowledged=told, sent={"renewal", "late"}, rows=rows) == ()
    assert len(rows) > 20


@pytest.mark.parametrize("seed", range(12))
def test_random_traffic_leaves_histories_without_fault(seed: int) -> None:
    traffic = Traffic(Random(seed), 4, LATE) if seed % 2 else Traffic(Random(seed))
    traffic.run(100)
    with traffic.world.store.read() as tx:
        events, rows = read_rows(tx)
    assert judge(events, rows=rows) == ()


def at(events: Events, kind: type, nth: int = 0) -> int:
    """Where the nth event of a type stands."""
    return [n for n, r in enumerate(events) if isinstance(r.event, kind)][nth]


def altered(events: Events, kind: type, nth: int = 0, **changes: Any) -> Events:
    """The history with fields of one event changed; ``by`` and ``when`` are of its envelope."""
    n = at(events, kind, nth)
    envelope = {
        name: changes.pop(key) for key, name in (("by", "actor"), ("when", "at")) if key in changes
    }
    changed = replace(events[n], event=replace(events[n].event, **changes), **envelope)
    return [*events[:n], changed, *events[n + 1 :]]


def without(events: Events, kind: type, nth: int = 0) -> Events:
    """The history without one event, closed up so that only its meaning is missing."""
    n = at(events, kind, nth)
    gone = events[n]
    after = [
        replace(r, seq=r.seq - 1, version=r.version - (r.stream == gone.stream))
        for r in events[n + 1 :]
    ]
    return [*events[:n], *after]


def twice(events: Events, kind: type, nth: int = 0, **changes: Any) -> Events:
    """The history with one event once more at its end."""
    last, r = events[-1], events[at(events, kind, nth)]
    version = max(x.version for x in events if x.stream == r.stream) + 1
    event = replace(r.event, **changes)
    return [*events, replace(r, seq=last.seq + 1, version=version, at=last.at, event=event)]


def lease_of(events: Events, nth: int) -> Any:
    granted: Any = events[at(events, e.LeaseGranted, nth)].event
    return granted.lease


MUTATIONS: dict[Kind, Callable[[Events], Events]] = {
    Kind.SEQ: lambda h: [*h[:9], *h[10:]],
    Kind.STREAM: lambda h: [*h[:9], replace(h[9], version=h[9].version + 1), *h[10:]],
    Kind.TIME: lambda h: [*h[:-1], replace(h[-1], at=h[0].at - 1)],
    Kind.LEASES: lambda h: without(h, e.LeaseExpired),
    Kind.FENCE: lambda h: altered(h, e.LeaseGranted, 1, lease=replace(lease_of(h, 1), fence=1)),
    Kind.STALE: lambda h: altered(h, e.ProgressReported, fence=1),
    Kind.EARLY: lambda h: altered(h, e.LeaseExpired, when=h[at(h, e.LeaseRenewed)].at),
    Kind.LIMIT: lambda h: altered(h, PolicySet, actor_leases=0),
    Kind.MOVE: lambda h: altered(h, e.ReviewApproved, to="shipped"),
    Kind.SWITCH: lambda h: twice(
        h, e.LeaseGranted, 3, lease=replace(lease_of(h, 3), fence=(1 << EPOCH_SHIFT) + 9)
    ),
    Kind.ACTORS: lambda h: altered(h, e.ReviewApproved, by="bob"),
    Kind.ATTEMPTS: lambda h: twice(
        twice(twice(h, e.LeaseGranted, 3), e.LeaseGranted, 3), e.LeaseGranted, 3
    ),
}
"""For each kind that events alone can show, a history that has it."""


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_wrong_history_is_called_by_its_name(kind: Kind, events: Events) -> None:
    assert kind not in {p.kind for p in judge(events)}
    found = judge(MUTATIONS[kind](events))
    assert kind in {p.kind for p in found}, found


def test_a_verification_by_the_reviewer_is_called(events: Events) -> None:
    found = judge(altered(events, e.VerificationRecorded, by="cat"))
    assert [p.kind for p in found] == [Kind.ACTORS]


def test_a_lease_of_a_dead_epoch_is_called(events: Events) -> None:
    lease = lease_of(events, 3)
    assert lease.fence >> EPOCH_SHIFT == 1
    wrong = altered(events, e.LeaseGranted, 3, lease=replace(lease, fence=lease.fence & 0xFF))
    assert Kind.FENCE in {p.kind for p in judge(wrong)}


def acknowledge(events: Sequence[Recorded], name: str, *when: int) -> Acknowledged:
    return Acknowledged(name, tuple(events), *when)


def test_an_acknowledged_event_that_is_gone_is_lost(events: Events) -> None:
    told = acknowledge(events[-1:], "a")
    assert [p.kind for p in judge(events[:-1], acknowledged=[told])] == [Kind.LOST]


def test_an_acknowledged_event_whose_place_is_taken_is_lost(events: Events) -> None:
    told = acknowledge([replace(events[-1], command_id="gone")], "gone")
    assert [p.kind for p in judge(events, acknowledged=[told])] == [Kind.LOST]


def test_an_acknowledged_event_that_reads_otherwise_is_called(events: Events) -> None:
    told = acknowledge([replace(events[-1], actor="eve")], "a")
    assert [p.kind for p in judge(events, acknowledged=[told])] == [Kind.ALTERED]


def test_what_was_answered_first_may_not_come_later(events: Events) -> None:
    early, late = acknowledge(events[-1:], "early", 1, 2), acknowledge(events[-3:-2], "late", 3, 4)
    assert [p.kind for p in judge(events, acknowledged=[early, late])] == [Kind.ORDER]
    fine = [acknowledge(events[-1:], "b", 1, 4), acknowledge(events[-3:-2], "a", 3, 5)]
    assert judge(events, acknowledged=fine) == ()


def test_the_first_answer_given_again_is_no_fault(events: Events) -> None:
    once = acknowledge(events[-3:-2], "a", 1, 2)
    other = acknowledge(events[-1:], "b", 3, 4)
    again = acknowledge(events[-3:-2], "a", 5, 6)
    assert judge(events, acknowledged=[once, other, again]) == ()


def test_an_event_that_nobody_asked_for_is_called(events: Events) -> None:
    found = judge(events, sent={"late"})
    assert [(p.kind, p.subject) for p in found] == [(Kind.UNEXPECTED, "renewal")]


def test_a_refused_command_that_was_done_is_called(events: Events) -> None:
    assert judge(events, refused={"another"}) == ()
    found = judge(events, refused={"renewal"})
    assert [(p.kind, p.subject) for p in found] == [(Kind.DENIED, "renewal")]


def word(name: str, said: Said, *when: int, events: Events | None = None) -> Word:
    return Word(name, said, tuple(events or ()), *when)


def test_what_callers_heard_adds_up(events: Events) -> None:
    last = events[-1:]
    added = account(
        [
            word("a", Said.UNKNOWN, 1, 2),
            word("a", Said.DONE, 7, 8, events=last),
            word("b", Said.AWAY, 3, 4),
            word("b", Said.REFUSED, 5, 6),
            word("c", Said.AWAY, 9, 10),
            word("c", Said.NOTHING, 11),
            word("d", Said.UNKNOWN, 12, 13),
        ]
    )
    assert added.sent == {"a", "b", "c", "d"}
    assert added.denied == {"b"}
    assert added.acknowledged == (Acknowledged("a", tuple(last), 1, 8),)


def test_an_answer_to_a_call_made_again_counts_from_its_first_asking(events: Events) -> None:
    """What was unknown may have been done at once; another command may since have been answered."""
    heard = [
        word("a", Said.UNKNOWN, 1, 2),
        word("b", Said.DONE, 3, 4, events=events[-1:]),
        word("a", Said.DONE, 5, 6, events=events[-3:-2]),
    ]
    assert judge(events, acknowledged=account(heard).acknowledged) == ()
    assert [p.kind for p in judge(events, acknowledged=account(heard[1:]).acknowledged)] == [
        Kind.ORDER
    ]


def test_a_record_reads_back_as_what_was_said(events: Events, tmp_path: Path) -> None:
    log = SideLog(tmp_path / "log")
    refused = Refused(Code.NOTHING_READY, "nothing", "wait")
    log.hears(log.asks(["a/0", "a/1"], ["x"]), [Done(tuple(events)), refused])
    log.hears(log.asks(["b"], ["y", 2]), OutcomeUnknown("cut"))
    log.hears(log.asks(["c"], ["z"]), StoreUnavailable("away"))
    log.asks(["d"], ["w"])
    log.hears(log.asks(["e"], ["v"]), [Done(tuple(events[:1]))])
    log.close()
    with log.path.open("ab") as file:
        file.write(b'{"call": 6, "ids": ["never')
    found = words(log.path)
    assert [(w.command_id, w.said) for w in found] == [
        ("a/0", Said.DONE),
        ("a/1", Said.REFUSED),
        ("b", Said.UNKNOWN),
        ("c", Said.AWAY),
        ("d", Said.NOTHING),
        ("e", Said.DONE),
    ]
    assert found[0].events == tuple(events)
    assert all(0 < w.asked_us <= w.answered_us for w in found if w.said is not Said.NOTHING)
    assert [(o.ids, o.asked) for o in open_calls(log.path)] == [
        (("b",), ["y", 2]),
        (("c",), ["z"]),
        (("d",), ["w"]),
    ]


def test_a_command_done_twice_is_called(events: Events) -> None:
    found = judge(twice(events, e.LateReportRecorded))
    assert [p.kind for p in found] == [Kind.TWICE]


def test_events_that_no_fold_takes_are_called(events: Events) -> None:
    found = judge(altered(events, e.ReviewApproved, head="0" * 40), rows={})
    assert [p.kind for p in found if p.kind is Kind.FOLD] == [Kind.FOLD]


def test_rows_that_are_not_the_fold_are_called() -> None:
    world = told_world()
    with world.store.read() as tx:
        events, rows = read_rows(tx)
    key: Key = ("item", "W-2")
    item: Any = rows[key]
    wrong: list[dict[Key, Fact]] = [
        {**rows, key: replace(item, counted=item.counted + 1)},
        {k: fact for k, fact in rows.items() if k != key},
        {**rows, ("item", "W-9"): item},
    ]
    for some in wrong:
        assert [p.kind for p in judge(events, rows=some)] == [Kind.ROWS]


def test_moments_that_a_ledger_keeps_are_of_the_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "EVERY", 4)
    ledger = create_ledger(url_of(tmp_path / "ledger.db"), "ann")
    acting = Operations(ledger.store, Caller("ann"))
    for title in "abc":
        acting.run(c.CreateItem(title))
    with ledger.store.read() as tx:
        events, rows = read_rows(tx)
    ledger.close()
    kept = [key for key in rows if key[0] == "moment"]
    assert [int(name) for _, name in kept] == list(range(4, len(events) + 1, 4))
    assert judge(events, rows=rows) == ()
    wrong = {key: fact for key, fact in rows.items() if key != kept[0]}
    assert [p.kind for p in judge(events, rows=wrong)] == [Kind.ROWS]


def test_every_kind_of_problem_is_shown_once() -> None:
    elsewhere = {
        Kind.LOST,
        Kind.ALTERED,
        Kind.DENIED,
        Kind.ORDER,
        Kind.DENIED,
        Kind.UNEXPECTED,
        Kind.TWICE,
        Kind.FOLD,
        Kind.ROWS,
    }
    assert MUTATIONS.keys() | elsewhere == set(Kind)


def test_a_stored_ledger_is_judged_by_its_url(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = create_ledger(url_of(tmp_path / "ledger.db"), "ann")
    Operations(ledger.store, Caller("ann")).run(c.EngageKillSwitch("x"))
    ledger.close()
    url = url_of(tmp_path / "ledger.db")
    assert run_history(url) == {"ok": True, "events": 7, "problems": []}
    assert main(["history", url]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
