"""Disks that are full, at every write of every call: exit 8, no half change, and on once there is room.

For SQLite a file system of our own takes so many writes and no more, also in the checkpoint after a
commit, which then stands all the same. For PostgreSQL a real server has its tables, or its log, on a
small file system in memory, which is filled for real. The caller's record is held against the ledger
before there is room again and after (INV-9, INV-22).
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import psycopg
import pytest
from tests.ground.ledgers import HUMAN, enrolled, faults_of, made, opened
from tests.ground.load import AWAY, UNKNOWN, VERBS, Load, accepted, exit_status, prepared
from tests.ground.sidelog import SideLog, told
from tests.stores.disks import mounted
from tests.stores.postgres.server import UNSYNCED, Server

from remit.core.refusals import Code
from remit.ports import RemitError
from remit.stores.sqlite import place
from remit.stores.sqlite import store as store_module
from remit.stores.sqlite.store import SqliteStore
from remit.wiring import Ledger, create_ledger, open_ledger

SEGMENT = 16 << 20
"""Bytes of one file of PostgreSQL's log."""


def full_at_each_write(folder: Path, patch: pytest.MonkeyPatch, verb: str, every: int) -> int:
    """Make this call on a disk that is full after so many writes; how often it found no room."""
    stage = folder / "stage"
    stage.mkdir()
    ledger = made(stage)
    load = Load(ledger, SideLog(folder / "stage-log", durable=False), 0, "stage")
    asked = prepared(load)[verb]
    load.log.close()
    ledger.close()
    left: list[tuple[Path, Path]] = []
    refused = 0
    with mounted(patch) as disk:
        patch.setattr(store_module, "CHECKPOINT_PAGES", 1)
        for room in range(0, 1_000, every):
            home = folder / f"room-{room}"
            shutil.copytree(stage, home)
            log = home / "log"
            with closing(opened(home)) as ledger:
                load = Load(ledger, SideLog(log, durable=False), 0, "once")
                disk.room = room
                try:
                    load.call(asked)
                except RemitError as error:
                    refused += 1
                    assert (error.code, exit_status(error)) == (Code.STORE_FULL, AWAY)  # noqa: PT017  # some find room
                spare, disk.room = disk.room, None
                shutil.copytree(home, folder / f"left-{room}")
                left += [(folder / f"left-{room}", home)]
                assert not any(done.repeated for a in load.again(log) for done in accepted(a))
                load.call([HUMAN, "create", "and on"])
                load.log.close()
            if spare:
                break
    for image, home in left:
        for each in (image, home):
            with closing(opened(each)) as ledger:
                assert faults_of(ledger, told(folder / "stage-log", each / "log")) == [], each
            shutil.rmtree(each)
    print(f"{verb}: {len(left)} sizes of the room, too small {refused} times")
    return refused


@pytest.mark.parametrize("verb", ["completion", "create many"])
def test_a_disk_that_fills_up_in_a_call_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    assert full_at_each_write(tmp_path, monkeypatch, verb, 4) > 3


def test_a_store_that_takes_a_full_disk_for_done_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = store_module.SqliteStore._commit

    def careless(store: SqliteStore, connection: apsw.Connection) -> None:
        with suppress(RemitError):
            real(store, connection)

    monkeypatch.setattr(store_module.SqliteStore, "_commit", careless)
    monkeypatch.setattr(place, "note_head", lambda *_: None)  # it would notice by itself
    with pytest.raises(AssertionError, match="acknowledged-and-lost"):
        full_at_each_write(tmp_path, monkeypatch, "create", 9)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_fills_up_at_any_write_of_any_call_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    assert full_at_each_write(tmp_path, monkeypatch, verb, 1) > 10


@contextmanager
def small(folder: Path, size: str, user: str | None) -> Iterator[Path]:
    """A file system of this size, for this user; a test that may not mount one is skipped."""
    folder.mkdir()
    command = [
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={size},mode=0700",
        "remit-small-disk",
        str(folder),
    ]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        if user:
            shutil.chown(folder, user)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def filled(folder: Path, spare: int) -> Path:
    """A file that takes all room but this much."""
    filler = folder / "filler"
    free = shutil.disk_usage(folder).free
    with filler.open("wb") as file:
        for _ in range(max(0, free - spare) >> 16):
            file.write(b"\0" * 65_536)
    return filler


def until_full(load: Load, most: int = 2_000) -> RemitError:
    """Create items until that fails."""
    for number in range(most):
        try:
            load.call([HUMAN, "create", f"item {number}"])
        except RemitError as error:
            return error
    raise AssertionError(f"{most} items fitted")


def on_again(load: Load, server: Server) -> None:
    """There is room again: start the server if it gave up, and ask again what failed."""
    until = time.monotonic() + 60
    while True:
        if server.ended:
            server.start()
        try:
            for answers in load.again(load.log.path):
                accepted(answers)
        except RemitError as error:
            if time.monotonic() > until:
                raise
            print(f"not yet: {error}")
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(UNSYNCED)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def ledger_on(server: Server, more: str = "") -> Ledger:
    """A ledger in a new database of this server."""
    server.run(f"CREATE DATABASE work {more}")
    return enrolled(create_ledger(server.url("work"), HUMAN))


def test_a_server_whose_tables_find_no_room(server: Server, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with small(server.folder / "small", "48m", server.user) as room:
        server.run(f"CREATE TABLESPACE small LOCATION '{room}'")
        with closing(ledger_on(server, "TABLESPACE small")) as ledger:
            load = Load(ledger, SideLog(log, durable=False), 0)
            load.step()
            filler = filled(room, 64 << 10)
            error = until_full(load)
            assert (error.code, exit_status(error)) == (Code.STORE_FULL, AWAY)
            assert error.hint
            assert faults_of(ledger, told(log)) == []
            assert until_full(load).code is Code.STORE_FULL
            filler.unlink()
            on_again(load, server)
            for _ in range(5):
                load.step()
            assert faults_of(ledger, told(log)) == []
        load.log.close()
        server.halt()


def to_the_end_of_a_segment(server: Server, spare: int) -> None:
    """Write to the server's log until only this much of its file is left."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
        assert found is not None
        left = SEGMENT - int(found[0]) % SEGMENT
        if left > spare:
            emit = "SELECT pg_logical_emit_message(false, 'remit', repeat('x', %s))"
            connection.execute(emit, (left - spare,))


def test_a_server_whose_log_finds_no_room(server: Server, tmp_path: Path) -> None:
    """It gives up at once, and what it had said stands when it is back."""
    log = tmp_path / "log"
    ledger_on(server).close()
    server.halt()
    with small(server.folder / "small", "80m", server.user) as room:
        data = server.folder / "data"
        subprocess.run(["cp", "-a", f"{data}/pg_wal", str(room)], check=True)
        shutil.rmtree(data / "pg_wal")
        (data / "pg_wal").symlink_to(room / "pg_wal")
        server.start()
        with closing(open_ledger(server.url("work"))) as ledger:
            load = Load(ledger, SideLog(log, durable=False), 0)
            load.step()
            filler = filled(room, 0)
            to_the_end_of_a_segment(server, 400_000)
            error = until_full(load)
            assert exit_status(error) in (AWAY, UNKNOWN)
            filler.unlink()
            on_again(load, server)
            for _ in range(5):
                load.step()
            assert faults_of(ledger, told(log)) == []
            print(f"the log was full: {error.code}")
        load.log.close()
        server.halt()
