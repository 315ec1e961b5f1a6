"""Crashes: what was acknowledged is there, what was not is there whole or not at all (INV-22).

Two kinds. A process that is killed at each step of a write. And a power cut, played with a file
system of our own that forgets what was written since the last sync, sector by sector and by chance:
killing a process does not test syncs, since the kernel keeps what it was given.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.stores.disks import Disk, mounted
from tests.stores.test_lock import ENVIRONMENT, WORKER
from tests.stores.worker import write_once

from remit.core.item_events import NoteAdded
from remit.stores.sqlite import connect
from remit.stores.sqlite.store import SqliteStore, create_store, open_store

STEPS = ("begin", "begun", "before events", "after rows", "before commit", "after commit")


def check_whole(path: Path, acknowledged: int) -> int:
    """Every event has its counter and its blob, and all that was acknowledged is there."""
    store = open_store(path)
    with store.read() as tx:
        head = tx.head().seq
        assert head >= acknowledged
        events = tx.stream("W-1", 0, 10_000)
        assert head in (len(events), len(events) + 1)
        assert [e.version for e in events] == list(range(1, len(events) + 1))
        for e in events:
            assert isinstance(e.event, NoteAdded)
            assert e.event.text == f"W-1 {e.version}"
        assert tx.load([("counter", "W-1")])["counter", "W-1"] == (len(events) or None)
        names = [e.seq.to_bytes(32).hex() for e in events]
        assert set(tx.blobs(names)) == set(names)
    connection = connect.connect(path)
    assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]
    connection.close()
    store.close()
    store = open_store(path)
    write_once(store, "W-1", len(events) + 1)
    store.close()
    return head


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [1, 7])
def test_a_killed_writer(store: SqliteStore, path: Path, step: str, number: int) -> None:
    store.close()
    done = subprocess.run(
        [sys.executable, str(WORKER), "crash", str(path), step, str(number)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
    )
    assert done.returncode == -9, done.stderr
    acknowledged = [int(line) for line in done.stdout.split()]
    assert acknowledged == list(range(2, number + 1))
    head = check_whole(path, acknowledged[-1] if acknowledged else 1)
    assert head == number + (step == "after commit")


def cut(folder: Path, disk: Disk, rounds: int, seed: int) -> int:
    """Write, cut the power at a step by chance, and count what was acknowledged and is gone."""
    chance, lost = random.Random(seed), 0
    print(f"seed {seed}")
    for number in range(rounds):
        made = folder / f"disk-{number}"
        target = folder / f"cut-{number}"
        made.mkdir()
        store = create_store(made / "ledger.db", "ledger-1")
        acknowledged = write_until_cut(store, disk, made, target, chance)
        found = open_store(target / "ledger.db")
        with found.read() as tx:
            gone = acknowledged - tx.head().seq
        found.close()
        if gone > 0:
            lost += 1
        else:
            check_whole(target / "ledger.db", acknowledged)
        shutil.rmtree(made)
        shutil.rmtree(target)
    return lost


class Cut(Exception):  # noqa: N818  # an event of the test, not an error
    """The power is gone."""


def write_until_cut(
    store: SqliteStore, disk: Disk, made: Path, target: Path, chance: random.Random
) -> int:
    acknowledged, left = 0, chance.randrange(1, 60)

    def pause(_step: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            disk.power_cut(made, target, chance)
            raise Cut

    store.pause = pause
    with suppress(Cut):
        for version in range(1, 100):
            acknowledged = write_once(store, "W-1", version)
    store.pause = None
    store.close()
    disk.before.clear()
    return acknowledged


def test_a_power_cut_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(monkeypatch) as disk:
        assert cut(tmp_path, disk, 25, seed=11) == 0


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_many_power_cuts_lose_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(monkeypatch) as disk:
        assert cut(tmp_path, disk, 600, seed=random.randrange(1 << 32)) == 0


def test_the_power_cut_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The red control: with synchronous=NORMAL the same cuts lose acknowledged writes."""

    def weaker(settings: str) -> str:
        assert "synchronous = FULL" in settings
        return settings.replace("synchronous = FULL", "synchronous = NORMAL")

    with mounted(monkeypatch, weaker) as disk:
        assert cut(tmp_path, disk, 25, seed=11) > 0
