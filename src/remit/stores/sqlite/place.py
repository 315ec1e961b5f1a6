"""The place of a ledger: its folder, its file system, and the small file that remembers its epoch.

SQLite's locks and shared memory do not hold across machines, so a ledger on NFS, SMB, 9p or FUSE is
refused before it is opened. A file is put in its place whole or not at all: written under another
name, flushed, then linked, which never replaces what is there.

The epoch is kept outside the database as well, in ``<ledger>.epoch``: when an older copy of the
ledger is put back under it, the file knows a higher epoch, and writes are refused until the ledger
is adopted. It is raised before the commit that adopts, so a crash between the two costs one epoch
number and never lets one be used twice.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, RemitError, StoreUnavailable

REFUSED: Final = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "fuse",
    "fuseblk",
    "virtiofs",
    "afs",
)
"""File systems on which SQLite's locks cannot be trusted; ``fuse.`` followed by anything as well."""

_NOTE_BYTES: Final = 512

SIDECARS: Final = ("-wal", "-shm", "-journal")


def file_system(path: Path, table: str = "/proc/self/mountinfo") -> str:
    """The type of the file system that a path lies on; empty where the system does not tell."""
    try:
        lines = Path(table).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    target = path.resolve()
    best, found = -1, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        cells = before.split()
        if not separator or len(cells) < 5:
            continue
        point = Path(_unescaped(cells[4]))
        if target.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), after.split()[0]
    return found


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def demand_local(path: Path, table: str = "/proc/self/mountinfo") -> None:
    """Refuse a file system on which the locks of SQLite do not hold (``STORE_REFUSED``)."""
    found = file_system(path, table)
    if found in REFUSED or found.startswith("fuse."):
        raise StoreUnavailable(
            f"cannot keep a ledger at {path}: it lies on {found}, where locks do not hold",
            "put it on a local disk, or use PostgreSQL",
            {"path": str(path), "file_system": found},
            code=Code.STORE_REFUSED,
        )


def flush(path: Path) -> None:
    """Make a file or a folder's list of names durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_log(path: Path) -> None:
    """Make durable what a log already holds (INV-22), before anything of it is answered.

    Whoever wrote it may have been killed between writing and syncing. SQLite takes such a commit for
    done, and so would whoever asks again under its command id, while a power cut could still undo it.
    """
    log = Path(f"{path}-wal")
    try:
        flush(log)
        flush(log.parent)
    except FileNotFoundError:
        return  # the usual case: nobody left one
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write {path}: its log cannot be synced ({error.strerror})",
            "see that the file and its folder can be read and written",
            {"path": str(path)},
        ) from error


def demand_free(path: Path, operation: str) -> None:
    """Refuse a name that is taken, or beside which an older database left its journal.

    SQLite would replay a journal that it finds under the name into the new file.
    """
    if os.path.lexists(path):
        raise _taken(path, operation)
    for ending in SIDECARS:
        left = Path(f"{path}{ending}")
        if os.path.lexists(left):
            raise RemitError(
                f"cannot {operation} {path}: {left.name} of an earlier database is still there",
                "move it away with the database that it belongs to",
                {"path": str(path), "found": str(left)},
                code=Code.LEDGER_EXISTS,
            )


def publish(temporary: Path, path: Path, operation: str) -> None:
    """Give a finished file its name, durably; never replaces what has the name."""
    try:
        flush(temporary)
        os.link(temporary, path)
        temporary.unlink()
        flush(path.parent)
    except FileExistsError:
        raise _taken(path, operation) from None
    except OSError as error:
        raise StoreUnavailable(
            f"cannot {operation} {path}: {error}",
            "see that the folder can be written and has room",
            {"path": str(path)},
        ) from error


def _taken(path: Path, operation: str) -> RemitError:
    return RemitError(
        f"cannot {operation} {path}: there is something of that name",
        "give another name, or move it away",
        {"path": str(path)},
        code=Code.LEDGER_EXISTS,
    )


def epoch_file(path: Path) -> Path:
    """Where the epoch of a ledger is kept outside it."""
    return Path(f"{path}.epoch")


def read_epoch(path: Path, ledger_id: str) -> int:
    """The epoch that the file beside a ledger knows of it; 0 where it knows none.

    Raises ``LedgerCorrupt`` where the file cannot be read as what it should be.
    """
    return _epochs(path).get(ledger_id, 0)


def _epochs(path: Path) -> dict[str, int]:
    """Epochs by ledger id: a name may have been another ledger's before."""
    note = epoch_file(path)
    try:
        return msgspec.json.decode(note.read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LedgerCorrupt(
            f"cannot read the epoch of {path}: {note.name} is not what remit wrote ({error})",
            "restore the file; without it an old copy of the ledger could not be told from this",
            {"path": str(note)},
        ) from error


def knows_others_only(path: Path, ledger_id: str) -> bool:
    """Whether the file beside a ledger knows ledgers, but not this one."""
    known = _epochs(path)
    return bool(known) and ledger_id not in known


def noted_head(descriptor: int, ledger_id: str) -> int:
    """The seq that was noted in the writer's lock file after the last commit, 0 where none was."""
    note, _, _ = os.pread(descriptor, _NOTE_BYTES, 0).decode("utf-8", "replace").partition("\n")
    seq, _, name = note.partition(" ")
    return int(seq) if name == ledger_id and seq.isdecimal() else 0


def note_head(descriptor: int, ledger_id: str, seq: int) -> None:
    """Note the newest seq in the writer's lock file, so that an older copy put back is noticed.

    It is written after the commit and not flushed: it may fall behind, and never runs ahead.
    """
    note = f"{seq:016d} {ledger_id}\n".encode()
    try:
        os.pwrite(descriptor, note, 0)  # what a longer note left behind the first line is ignored
    except OSError:
        return  # the commit stands; without the note one safeguard less is left


def write_epoch(path: Path, ledger_id: str, epoch: int) -> None:
    """Keep an epoch beside the ledger, durably and whole or not at all; never a lower one."""
    known = _epochs(path)
    if known.get(ledger_id, -1) >= epoch:
        return
    note = epoch_file(path)
    temporary = Path(f"{note}.{os.getpid()}")
    try:
        temporary.write_bytes(msgspec.json.encode({**known, ledger_id: epoch}) + b"\n")
        flush(temporary)
        temporary.replace(note)
        flush(note.parent)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot keep the epoch of {path} in {note}: {error}",
            "see that the folder can be written and has room",
            {"path": str(note)},
        ) from error
