"""What a reader sees of any past seq is what a reader saw then (INV-21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.ground.ledgers import all_items, each_event, faults_of, head, made
from tests.reading.histories import History

from remit.core.refusals import Code
from remit.ports import ItemQuery, ReadTx, RemitError
from remit.service.reading import items as reading
from remit.service.reading import triage, waiting
from remit.service.reading.inbox import inbox
from remit.wiring import Ledger


def seen(tx: ReadTx) -> dict[str, Any]:
    """All that lists and items say on a snapshot."""
    names = [item.id for item in all_items(tx)]
    return {
        "list": reading.list_items(tx, ItemQuery(limit=0)),
        "newest": reading.list_items(tx, ItemQuery(limit=5, newest_first=True)),
        "closed": reading.list_items(tx, ItemQuery(statuses=("closed", "triaged"), limit=3)),
        "ready": reading.ready(tx, 20),
        "all ready": reading.ready(tx, 0),
        "blocked": waiting.blocked(tx, 20),
        "records": triage.triage_list(tx, open_only=False, limit=0),
        "inbox": inbox(tx, "ada", 20),
        "items": {name: _shown(tx, name) for name in names},
        "trees": {name: waiting.tree(tx, name) for name in names[:5]},
    }


def _shown(tx: ReadTx, name: str) -> Any:
    found = reading.show(tx, name)
    assert isinstance(found, dict)
    return found


def _history(tmp_path: Path, seed: int, steps: int) -> tuple[Ledger, dict[int, dict[str, Any]]]:
    """A ledger with a random history, and what was seen after each call."""
    ledger = made(tmp_path)
    history = History(ledger, tmp_path, seed)
    then: dict[int, dict[str, Any]] = {}
    for _ in range(steps):
        history.step()
        with ledger.reading() as tx:
            then[tx.head().seq] = seen(tx)
    return ledger, then


def differences(ledger: Ledger, then: dict[int, dict[str, Any]]) -> list[str]:
    """Where the past, read now, is not what was seen then."""
    found = []
    for seq, expected in then.items():
        with ledger.reading(at=seq) as tx:
            now = seen(tx)
        found += [f"seq {seq}: {what}" for what in expected if now[what] != expected[what]]
    return found


def _compare(tmp_path: Path, seed: int, steps: int) -> None:
    ledger, then = _history(tmp_path, seed, steps)
    assert differences(ledger, then) == []
    assert faults_of(ledger) == []
    ledger.close()


@pytest.mark.parametrize("seed", range(3))
def test_the_past_is_what_was_seen_then(tmp_path: Path, seed: int) -> None:
    _compare(tmp_path, seed, 50)


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 115))
def test_the_past_is_what_was_seen_then_in_long_histories(tmp_path: Path, seed: int) -> None:
    _compare(tmp_path, seed, 100)


def test_every_seq_within_a_transaction_can_be_read(tmp_path: Path) -> None:
    ledger, _ = _history(tmp_path, 9, 25)
    versions: dict[str, int] = {}
    expected: dict[int, dict[str, int]] = {0: {}}

    def take(recorded: Any) -> None:
        if recorded.stream.startswith("W-"):
            versions[recorded.stream] = recorded.version
        expected[recorded.seq] = dict(versions)

    each_event(ledger, take)
    for seq, wanted in expected.items():
        with ledger.reading(at=seq) as tx:
            assert tx.head().seq == seq
            assert {item.id: item.version for item in all_items(tx)} == wanted
    ledger.close()


@pytest.mark.parametrize("seq", [-1, 10_000])
def test_a_seq_that_is_not_there_is_named(tmp_path: Path, seq: int) -> None:
    ledger = made(tmp_path)
    with pytest.raises(RemitError) as caught, ledger.reading(at=seq):
        pass
    assert caught.value.code is Code.NOT_FOUND
    assert str(head(ledger)) in caught.value.message
    ledger.close()


@contextmanager
def _late_by_one(ledger: Ledger) -> Iterator[None]:
    """A reader of the past that stops one event too early."""
    right: Callable[..., Any] = ledger.reading
    with mock.patch.object(ledger, "reading", lambda at: right(at=at - 1)):
        yield


def test_a_past_that_is_off_by_one_is_noticed(tmp_path: Path) -> None:
    ledger, then = _history(tmp_path, 1, 20)
    with _late_by_one(ledger):
        assert differences(ledger, then)
    ledger.close()
