"""Leftovers: what a supervisor wrote down of its processes, and the end of those that outlived it.

Each tree has a record on disk from before it is started until it is known to be gone: the boot, a
token that its environment carries, its control group, and, once they are known, warden and agent with
the moments of their starts. The warden notes beside it whom it saw below it, ten times a second. A
process counts as left behind if it is one of these, carries the token, or descends from one that does. After a restart of the machine there is nothing to end: the boot
is another one. Nothing is ever ended for its number alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from remit.drain.groups import Group
from remit.drain.processes import Identity, Seen, boot_id, carries, everything, look, send

TOKEN: Final = "REMIT_SUPERVISED"  # noqa: S105  # the name of a variable, not a secret
"""The variable that every supervised process is started with."""

SUFFIX: Final = ".process.json"
_SEEN_BYTES: Final = 1 << 20
_RECORD_BYTES: Final = 65_536
_STEP_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one tree. ``name`` is the supervisor's for it; ids are None until known."""

    name: str
    boot: str
    token: str
    group: str = ""
    warden: Identity | None = None
    agent: Identity | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of one record: how many were ended, and how many would not end."""

    name: str
    ended: int
    left: int
    other_boot: bool = False


def record_path(folder: Path, name: str) -> Path:
    """Where the record of a tree lies. ``name`` is one of ours, such as an attempt's id."""
    assert name == Path(name).name, f"{name!r} is no name of a file"
    return folder / f"{name}{SUFFIX}"


def seen_path(folder: Path, name: str) -> Path:
    """Where a warden notes whom it saw."""
    return record_path(folder, name).with_suffix(".seen")


def noted(folder: Path, name: str) -> set[Identity]:
    """Whom a warden saw below it; a line that is none is left out."""
    found = set()
    with contextlib.suppress(OSError), seen_path(folder, name).open("rb") as opened:
        for line in opened.read(_SEEN_BYTES).splitlines():
            words = line.split()
            if len(words) == 2 and all(word.isdigit() for word in words):
                found.add(Identity(int(words[0]), int(words[1])))
    return found


def keep(folder: Path, record: Record) -> None:
    """Write a record so that it survives a kill at any moment, in place of an earlier one."""
    path = record_path(folder, record.name)
    fresh = path.with_suffix(".new")
    try:
        with fresh.open("wb") as opened:
            opened.write(msgspec.json.encode(record))
            opened.flush()
            os.fsync(opened.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)  # on a full disk half a record would stay for good
        raise


def forget(folder: Path, name: str) -> None:
    """Take a record away, once its tree is known to be gone."""
    seen_path(folder, name).unlink(missing_ok=True)
    record_path(folder, name).unlink(missing_ok=True)


def records(folder: Path) -> list[Record]:
    """The records in a folder, by name; a file that is none is left where it is."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            with path.open("rb") as opened:
                data = opened.read(_RECORD_BYTES)
            found.append(msgspec.json.decode(data, type=Record))
    return found


def recover(folder: Path, within_ms: int = 5_000) -> list[Swept]:
    """End what an earlier supervisor left behind, and forget each record whose tree is gone.

    To be called before anything is started with the same folder: a record that is there is of a
    process that nobody supervises any more.
    """
    found = []
    for record in records(folder):
        swept = sweep(record, folder, within_ms)
        found.append(swept)
        if not swept.left:
            forget(folder, record.name)
    return found


def sweep(record: Record, folder: Path, within_ms: int = 5_000) -> Swept:
    """End the tree of a record. SIGKILL at once: whoever would have asked it to stop is gone."""
    if record.boot != boot_id():
        return Swept(record.name, 0, 0, other_boot=True)
    group = Group(Path(record.group)) if record.group else None
    until = time.monotonic() + within_ms / 1000
    ended: set[Identity] = set()
    before = noted(folder, record.name)
    while True:
        living = belonging(record, everything(), ended | before)
        if group is not None:
            group.kill()
        for one in living:
            send(one.identity, signal.SIGSTOP)
        for one in living:
            send(one.identity, signal.SIGKILL)
        ended |= {one.identity for one in living}
        if not living or time.monotonic() > until:
            break
        time.sleep(_STEP_S)
    if group is not None and not living:
        group.remove()
    return Swept(record.name, len(ended), sum(1 for one in living if _still(one)))


def belonging(record: Record, seen: Iterable[Seen], before: Iterable[Identity] = ()) -> list[Seen]:
    """Those of these processes that are of a record's tree, without the one who asks."""
    own = {one for one in (record.warden, record.agent, *before) if one is not None}
    living = {one.identity.pid: one for one in seen if one.alive}
    found = {
        pid
        for pid, one in living.items()
        if one.identity in own or carries(pid, TOKEN, record.token)
    }
    grown = True
    while grown:
        more = {pid for pid, one in living.items() if one.parent in found} - found
        found |= more
        grown = bool(more)
    return [living[pid] for pid in sorted(found - {os.getpid()})]


def _still(one: Seen) -> bool:
    now = look(one.identity.pid)
    return now is not None and now.identity == one.identity and now.alive
