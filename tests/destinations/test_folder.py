"""A folder: nothing half written, nothing outside it, and no late writer (INV-13)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.destinations.subjects import folder_destination

from remit.destinations.naming import short
from remit.ports.destination import (
    Answered,
    Destination,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Result,
)

REQUEST = Request("E-1", "key-1", 7, b"one\n", "export", "M-1", timeout_ms=2_000)
LOOK = LookUp("E-1", "key-1", "export", "M-1", timeout_ms=300)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def made(root: Path) -> list[str]:
    """Every file but remit's own."""
    found = [path for path in root.rglob("*") if path.is_file() and ".remit" not in path.parts]
    return sorted(str(path.relative_to(root)) for path in found)


@pytest.mark.parametrize(
    "effect_id",
    ["../E", "..", ".", "a/b", "/etc/passwd", "", "a\0b", "a\nb", ".remit", "x" * 300, "é", "-rf"],
)
def test_an_id_that_steps_out_of_its_place_is_not_sent(root: Path, effect_id: str) -> None:
    outside = sorted(root.parent.rglob("*"))
    folder = folder_destination(root)
    with pytest.raises(NotSent):
        folder.send(replace(REQUEST, effect_id=effect_id))
    seen = folder.look_up(replace(LOOK, effect_id=effect_id))
    assert seen.result is Result.UNAVAILABLE
    assert made(root) == []
    assert [path for path in sorted(root.parent.rglob("*")) if path not in outside] == []


@pytest.mark.parametrize("which", ["root", "out", "export", "file", "home"])
def test_no_symbolic_link_is_followed(root: Path, tmp_path: Path, which: str) -> None:
    outside = tmp_path / "outside"
    (outside / "export").mkdir(parents=True)
    (outside / "E-1.txt").write_bytes(b"one\n")
    folder = folder_destination(root)
    if which == "root":
        root.rmdir()
        root.symlink_to(outside)
    elif which == "out":
        (root / "out").symlink_to(outside)
    elif which == "home":
        (root / ".remit").symlink_to(outside)
    else:
        (root / "out").mkdir()
        if which == "export":
            (root / "out" / "export").symlink_to(outside / "export")
        else:
            (root / "out" / "export").mkdir()
            (root / "out" / "export" / "E-1.txt").symlink_to(outside / "E-1.txt")
    with pytest.raises(NotSent):
        folder.send(REQUEST)
    assert folder.look_up(LOOK).result is Result.UNAVAILABLE
    assert sorted(path.name for path in outside.rglob("*")) == ["E-1.txt", "export"]


def test_somebody_elses_file_is_never_overwritten(root: Path) -> None:
    place = root / "out" / "export" / "E-1.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"theirs\n")
    folder = folder_destination(root)
    with pytest.raises(Answered) as refused:
        folder.send(REQUEST)
    assert refused.value.reason is Reason.KEY_REUSED
    assert place.read_bytes() == b"theirs\n"
    seen = folder.look_up(LOOK)
    assert (seen.result, seen.differences) == (Result.FOUND, ("no record beside the file",))


def test_a_file_that_was_changed_afterwards_is_a_difference(root: Path) -> None:
    folder = folder_destination(root)
    folder.send(REQUEST)
    (root / "out" / "export" / "E-1.txt").write_bytes(b"other\n")
    seen = folder.look_up(LOOK)
    assert seen.value("digest") != REQUEST.digest
    assert len(seen.differences) == 1


def test_a_full_disk_leaves_no_file_and_an_unknown_outcome(root: Path) -> None:
    folder = folder_destination(root)
    program = (
        "import resource, signal, sys\n"
        "from tests.destinations.test_folder import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    folder_destination(Path(sys.argv[1])).send(replace(REQUEST, payload=b'x' * 9000))\n"
        "except NoAnswer as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, timeout=60
    )
    assert "cannot finish writing E-1" in done.stdout, done.stderr
    assert folder.look_up(LOOK).result is Result.NONE
    assert made(root) == []
    assert not folder.send(replace(REQUEST, payload=b"x" * 9000)).replayed


def test_a_lock_that_is_held_is_no_answer_and_no_absence(root: Path) -> None:
    import fcntl

    folder = folder_destination(root)
    folder.send(REQUEST)
    with (root / ".remit" / f"{short('key-1')}.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert folder.look_up(LOOK).result is Result.UNAVAILABLE
        with pytest.raises(NotSent):
            folder.send(replace(REQUEST, timeout_ms=100))
    assert folder.look_up(LOOK).result is Result.FOUND


def test_a_record_that_cannot_be_read_is_unavailable(root: Path) -> None:
    folder = folder_destination(root)
    folder.send(REQUEST)
    (root / ".remit" / f"{short('key-1')}.json").write_text("[]")
    assert folder.look_up(LOOK).result is Result.UNAVAILABLE
    with pytest.raises(NotSent):
        folder.send(REQUEST)


SENDER = """
import os, sys
from tests.destinations.test_folder import *
from remit.destinations import filesystem
stop = filesystem.FolderDestination._held
def held(self, *args):
    os.kill(os.getpid(), signal.SIGSTOP)
    return stop(self, *args)
filesystem.FolderDestination._held = held
folder = folder_destination(Path(sys.argv[1]))
try:
    print(folder.send(replace(REQUEST, expires_at=int(sys.argv[2]) or None)))
except SendError as error:
    print(error.details)
"""


class NotPaused(AssertionError):  # noqa: N818  # an assertion with a name
    """It ended before it came to the place where it stops."""


def paused(root: Path, expires_at: int = 0) -> subprocess.Popen[str]:
    """A sender that stopped just before it sends."""
    program = SENDER.replace("import *", "import *\nfrom remit.ports.destination import SendError")
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(root), str(expires_at)],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid, status = os.waitpid(process.pid, os.WUNTRACED)
    assert pid == process.pid
    if not os.WIFSTOPPED(status):
        process.communicate()
        raise NotPaused
    return process


def woken(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=60)
    return said


def test_a_paused_sender_meets_the_fence_that_was_confirmed_meanwhile(root: Path) -> None:
    process = paused(root)
    folder = folder_destination(root)
    seen = folder.look_up(replace(LOOK, fence=8))
    assert (seen.result, seen.confirmed_fence) == (Result.NONE, 8)
    assert "STALE_FENCE" in woken(process)
    assert folder.look_up(LOOK).result is Result.NONE


def test_a_paused_sender_meets_its_own_end(root: Path) -> None:
    ends = time.time_ns() // 1_000 + 3_000_000
    try:
        process = paused(root, ends)
    except NotPaused:  # on a busy machine it began when its end was over
        ends = time.time_ns() // 1_000 + 30_000_000
        process = paused(root, ends)
    while time.time_ns() // 1_000 < ends:
        time.sleep(0.05)
    assert "EXPIRED" in woken(process)
    assert folder_destination(root).look_up(LOOK).result is Result.NONE


def test_a_paused_sender_without_either_sends_late(root: Path) -> None:
    process = paused(root)
    folder = folder_destination(root)
    assert folder.look_up(LOOK).result is Result.NONE
    assert "Response" in woken(process)
    assert folder.look_up(LOOK).result is Result.FOUND


KILLED = """
import os, signal, sys
from tests.destinations.test_folder import *

CALLS = ("open", "fdopen", "mkdir", "fsync", "link", "rename", "unlink")
GOOD = {name: getattr(os, name) for name in CALLS}

def die_at(step):
    left = [step]
    def counted(good):
        def call(*args, **named):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return good(*args, **named)
        return call
    for name in CALLS:
        setattr(os, name, counted(GOOD[name]))

for step in range(1, 200):
    root = Path(sys.argv[1], str(step))
    root.mkdir()
    child = os.fork()
    if not child:
        folder = folder_destination(root)
        die_at(step)
        folder.send(REQUEST)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        print(step, os.WEXITSTATUS(status))
        break
"""


def test_a_sender_killed_anywhere_leaves_all_or_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, timeout=100
    )
    steps, status = map(int, done.stdout.split())
    assert (status, steps > 20) == (0, True), done
    results = []
    for step in range(1, steps):
        folder = folder_destination(tmp_path / str(step))
        seen = folder.look_up(LOOK)
        results.append(seen.result)
        assert seen.differences == (), step
        if seen.result is Result.FOUND:
            assert (seen.value("digest"), seen.value("manifest_id")) == (REQUEST.digest, "M-1")
        assert folder.send(REQUEST).replayed == (seen.result is Result.FOUND), step
        assert made(tmp_path / str(step)) == ["out/export/E-1.txt"]
        assert folder.look_up(LOOK).value("digest") == REQUEST.digest
    assert set(results) == {Result.NONE, Result.FOUND}


def test_the_record_holds_no_payload(root: Path) -> None:
    folder: Destination = folder_destination(root)
    folder.send(REQUEST)
    record = json.loads((root / ".remit" / f"{short('key-1')}.json").read_text())
    assert record["digest"] == REQUEST.digest
    assert "one" not in record.values()
    with pytest.raises(Answered):
        folder.send(replace(REQUEST, fence=6))
    assert NoAnswer("x").uncertain
