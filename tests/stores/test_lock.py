"""The writer's lock: fair between processes, urgent first, bounded, and free when its holder dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from remit.core.refusals import Code
from remit.ports import StoreUnavailable
from remit.stores.sqlite.lock import WriterLock, holder_of
from remit.stores.sqlite.store import SqliteStore

WORKER = Path(__file__).with_name("worker.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def contend(store: SqliteStore, processes: int, seconds: float) -> list[dict[str, float]]:
    running = [
        subprocess.Popen(
            [sys.executable, str(WORKER), "write", str(store.path), f"P-{n}", str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for n in range(processes)
    ]
    outputs = [process.communicate(timeout=seconds + 60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return [json.loads(output) for output in outputs]


def check_kept(store: SqliteStore, seen: list[dict[str, float]]) -> None:
    """Everybody wrote, and all that anybody was told is there."""
    print(f"longest wait {max(s['longest'] for s in seen):.3f} s, {[s['done'] for s in seen]}")
    assert min(s["done"] for s in seen) > 0
    with store.read() as tx:
        assert tx.head().seq == 1 + sum(s["done"] for s in seen)
        for n, one in enumerate(seen):
            assert tx.load([("counter", f"P-{n}")]) == {("counter", f"P-{n}"): one["done"]}


def test_processes_that_contend_all_write(store: SqliteStore) -> None:
    check_kept(store, contend(store, 8, 2.5))


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_processes_get_even_shares_for_long(store: SqliteStore) -> None:
    """How even they are, and how long anybody waits, rests on the machine too: it should be quiet."""
    seen = contend(store, 16, 60)
    check_kept(store, seen)
    assert max(s["longest"] for s in seen) < 1.0
    mean = sum(s["done"] for s in seen) / len(seen)
    assert min(s["done"] for s in seen) > mean / 4


def waiting(path: Path) -> int:
    """How many the kernel keeps waiting for any of a ledger's lock files."""
    inodes = {
        str(file.stat().st_ino)
        for file in (Path(f"{path}.{name}") for name in ("lock", "queue", "urgent"))
        if file.exists()
    }
    lines = Path("/proc/locks").read_text("ascii").splitlines()
    blocked = (line.split() for line in lines if "-> FLOCK" in line)
    return sum(cells[6].rpartition(":")[2] in inodes for cells in blocked)


def until_waiting(path: Path, many: int) -> None:
    """Wait until so many stand in the kernel's queues."""
    deadline = time.monotonic() + 60
    while waiting(path) < many:
        assert time.monotonic() < deadline, f"{waiting(path)} wait, expected {many}"
        time.sleep(0.002)


@pytest.mark.parametrize("others", [1, 4])
def test_whoever_is_next_is_not_overtaken_by_who_had_the_lock(tmp_path: Path, others: int) -> None:
    """What shares rest on, on a machine however busy: who has just finished stands behind the next.

    A lock without a queue goes at once to whoever runs already, which is who has just given it back.
    """
    path = tmp_path / "ledger.db"
    lock = WriterLock(path, wait_ms=60_000)
    for _ in range(20):
        order: list[str] = []

        def take(order: list[str] = order) -> None:
            with lock.held():
                order.append("other")

        threads = [threading.Thread(target=take) for _ in range(others)]
        with lock.held():
            for many, thread in enumerate(threads, 1):
                thread.start()
                until_waiting(path, many)
        with lock.held():
            order.append("again")
        for thread in threads:
            thread.join(60)
        assert order[0] == "other"
        assert len(order) == others + 1


@pytest.fixture
def lock(tmp_path: Path) -> WriterLock:
    return WriterLock(tmp_path / "ledger.db", wait_ms=150)


def test_a_wait_is_bounded_and_names_the_holder(tmp_path: Path, lock: WriterLock) -> None:
    holder = WriterLock(tmp_path / "ledger.db", wait_ms=60_000)
    for urgent in (False, True):
        with holder.held():
            start = time.monotonic()
            with (
                pytest.raises(StoreUnavailable, match=f"held by process {os.getpid()}") as caught,
                lock.held(urgent=urgent),
            ):
                pass
            assert time.monotonic() - start > 0.1
            assert caught.value.code is Code.STORE_UNAVAILABLE
            assert caught.value.details["holder"] == os.getpid()
        with holder.held(urgent=urgent):  # once the wait that was given up has left the queue
            pass


def test_a_wait_that_was_given_up_takes_nothing_later(lock: WriterLock) -> None:
    with lock.held(), pytest.raises(StoreUnavailable), lock.held():
        pass
    deadline = time.monotonic() + 60
    while any(t.name == "remit-lock" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with lock.held():
        pass


def test_an_interrupted_wait_takes_nothing_later(tmp_path: Path) -> None:
    """The signal comes while the main thread waits for its turn."""
    lock = WriterLock(tmp_path / "ledger.db", wait_ms=60_000)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with lock.held(), pytest.raises(KeyboardInterrupt):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            with lock.held():
                pass
    finally:
        signal.signal(signal.SIGUSR1, before)
    with WriterLock(tmp_path / "ledger.db", wait_ms=60_000).held():
        pass


def test_an_urgent_writer_goes_before_those_that_wait(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    lock = WriterLock(path, wait_ms=60_000)
    order: list[str] = []

    def take(name: str, urgent: bool) -> None:
        with lock.held(urgent=urgent):
            order.append(name)

    normal = [threading.Thread(target=take, args=(f"normal {n}", False)) for n in range(6)]
    with lock.held():
        for thread in normal:
            thread.start()
        until_waiting(path, 6)
        urgent = threading.Thread(target=take, args=("urgent", True))
        urgent.start()
        until_waiting(path, 7)
    for thread in (*normal, urgent):
        thread.join(60)
    assert sorted(order) == sorted([f"normal {n}" for n in range(6)] + ["urgent"])
    assert order[0] == "urgent"


def test_a_dead_holder_frees_the_lock(tmp_path: Path) -> None:
    code = (
        "import sys,os,signal;from pathlib import Path\n"
        "from remit.stores.sqlite.lock import WriterLock\n"
        "with WriterLock(Path(sys.argv[1])).held():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "ledger.db"
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=ENVIRONMENT, timeout=60)
    assert done.returncode == -9
    with WriterLock(path, wait_ms=60_000).held():
        assert holder_of(f"{path}.lock") == os.getpid()
    assert holder_of(f"{path}.lock") == 0
    assert holder_of(f"{path}.none") == 0
    assert holder_of(f"{path}.lock", "/nonexistent") == 0


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "no" / "ledger.db")
    with pytest.raises(StoreUnavailable, match="cannot be opened"), lock.held():
        pass
