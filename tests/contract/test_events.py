"""Appending and reading events: dense, ordered, by stream, seq and command (INV-9, INV-20)."""

from __future__ import annotations

import dataclasses

import pytest
from tests.contract.builders import begin, flip, item, note, record
from tests.contract.conftest import Ledger

from remit.core.checks import Check, Result
from remit.core.events import LedgerCreated, Recorded
from remit.core.item_events import ItemAdmitted, NoteAdded
from remit.core.status import Status
from remit.ports import Change, Head, RemitError, Store, StoredEvent


def test_a_new_ledger_is_empty(store: Store) -> None:
    with store.read() as tx:
        assert tx.head() == Head(0, 0)
        assert tx.events(0, 10) == []
        assert tx.stored(0, 10) == []
        assert tx.stream("ledger", 0, 10) == []


def test_what_is_appended_comes_back_equal(ledger: Ledger) -> None:
    store = ledger.store
    check = Check("capacity", Result.BLOCKED, "é\x00😀", "1", "seq:1", "STALE")
    event = ItemAdmitted("T01", "draft", "ready", "ADMIT", "OK", 1 << 52, 3, (check, check))
    with store.write() as tx:
        full = record(
            tx,
            "W-1",
            1,
            event,
            command_id="c/0",
            command_digest=b"\x01" * 32,
            conversation_ref="thread-1",
            trace_context="00-1",
            assurance="signature+presence",
        )
        tx.append(
            [full, dataclasses.replace(full, seq=2, version=2, command_id="", command_digest=b"")]
        )
        assert tx.events(0, 10)[0] == full
        assert tx.head() == Head(2, full.at)
    with ledger.reopen().read() as tx:
        assert tx.events(0, 1) == [full]
        assert tx.events(1, 9)[0].command_id == ""
        assert tx.head() == Head(2, full.at)


def test_events_are_found_by_seq_stream_and_command(store: Store) -> None:
    begin(store)
    first = note(store, "W-1", 1, "a", command_id="c1")
    second = note(store, "W-2", 1, "b", command_id="c1")
    third = note(store, "W-1", 2, "c", command_id="c2")
    with store.read() as tx:
        assert tx.stream("W-1", 0, 10) == [first, third]
        assert tx.stream("W-1", 1, 10) == [third]
        assert tx.stream("W-1", 0, 1) == [first]
        assert tx.stream("W-9", 0, 10) == []
        assert tx.at_seq([4, 2, 99, 0]) == {2: first, 4: third}
        assert tx.commands(["c1", "c2", "nope"]) == {"c1": [first, second], "c2": [third]}
        assert [e.seq for e in tx.events(2, 10)] == [3, 4]


def test_a_gap_or_a_repeated_seq_is_refused(store: Store) -> None:
    begin(store)
    for seq in (1, 3, 0):
        with pytest.raises(RemitError, match=rf"seq {seq}, expected 2"), store.write() as tx:
            tx.append([dataclasses.replace(record(tx, "W-1", 1, flip()), seq=seq)])
    with store.read() as tx:
        assert tx.head().seq == 1


def test_a_gap_within_one_call_is_refused(store: Store) -> None:
    begin(store)
    with (
        pytest.raises(RemitError, match="seq 4, expected 3"),
        store.write() as tx,
    ):  # leaving the transaction is part of what may raise
        one = record(tx, "W-1", 1, NoteAdded("", ""))
        tx.append([one, dataclasses.replace(one, seq=4, version=2)])
    with store.read() as tx:
        assert tx.head().seq == 1


def test_a_stream_version_must_continue_its_stream(store: Store) -> None:
    begin(store)
    note(store, "W-1", 1)
    for version in (1, 3):
        with pytest.raises(RemitError, match=rf"version {version}, expected 2"):
            note(store, "W-1", version)
    with (
        pytest.raises(RemitError, match="version 4, expected 3"),
        store.write() as tx,
    ):  # leaving the transaction is part of what may raise
        one = record(tx, "W-1", 2, NoteAdded("", ""))
        tx.append([one, dataclasses.replace(one, seq=4, version=4)])
    note(store, "W-1", 2)


def test_time_never_runs_backwards_between_events(store: Store) -> None:
    begin(store)
    with pytest.raises(RemitError, match="or later"):
        note(store, "W-1", 1, at=1)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates_are_refused_before_anything_is_written(store: Store, text: str) -> None:
    begin(store)
    with pytest.raises(RemitError, match="surrogates"):
        note(store, "W-1", 1, text)
    with pytest.raises(RemitError, match="surrogates"):
        note(store, "W-1", 1, command_id=text)
    with store.read() as tx:
        assert tx.head().seq == 1


def test_a_failed_transaction_leaves_nothing(ledger: Ledger) -> None:
    store = ledger.store
    begin(store)
    with (
        pytest.raises(ZeroDivisionError),
        store.write() as tx,
    ):  # leaving the transaction is part of what may raise
        tx.append([record(tx, "W-1", 1, NoteAdded("x", ""), command_id="c1")])
        tx.write([Change(("item", "W-1"), None, item(1, Status.READY))])
        assert tx.head().seq == 2
        raise ZeroDivisionError
    with ledger.reopen().read() as tx:
        assert tx.head().seq == 1
        assert tx.commands(["c1"]) == {}
        assert tx.stream("W-1", 0, 9) == []
        assert tx.load([("item", "W-1")]) == {("item", "W-1"): None}
        assert tx.ready("default|default", None, 9) == []
    note(ledger.store, "W-1", 1)


def test_stored_columns_are_the_same_in_every_store(store: Store) -> None:
    """Frozen here: the format that auditors recompute."""
    with store.write() as tx:
        at = tx.now()
        tx.append([Recorded(1, "ledger", 1, "remit", "asserted", at, LedgerCreated("ledger-1", 1))])
    with store.read() as tx:
        (stored,) = tx.stored(0, 9)
    assert stored == StoredEvent(
        ledger_id="ledger-1",
        seq=1,
        stream="ledger",
        stream_version=1,
        type="LedgerCreated",
        actor="remit",
        assurance="asserted",
        created_at=1_700_000_000_000_000,
        payload=b'{"format":1,"ledgerId":"ledger-1"}',
        digest=store.codec.digest_of(stored),
        command_id=None,
        command_digest=None,
        trace_context=None,
        conversation_ref=None,
    )
    assert stored.digest.hex() == (
        "6ed9d885ecd5186be6c79754af6d82d8c639f1b3504e237a24a32cc546ce0042"
    )


def test_appending_nothing_is_nothing(store: Store) -> None:
    with store.write() as tx:
        tx.append([])
    with store.read() as tx:
        assert tx.head() == Head(0, 0)


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(RemitError, match="closed"), store.read():
        pass
    with pytest.raises(RemitError, match="closed"), store.write():
        pass
