"""A process of its own that writes to a ledger, for tests of contention.

``python worker.py write PATH NAME SECONDS`` writes until the time is over and prints what it saw.
"""

from __future__ import annotations

import json
import sys
import time

from remit.core.events import Recorded
from remit.core.item_events import NoteAdded
from remit.ports import Blob, Change
from remit.stores.sqlite.store import SqliteStore, open_store


def write_once(store: SqliteStore, stream: str, version: int) -> int:
    """One event, one counter and one blob that all say the same, in one transaction."""
    with store.write() as tx:
        seq = tx.head().seq + 1
        event = NoteAdded(f"{stream} {version}", "")
        tx.append([Recorded(seq, stream, version, stream, "asserted", tx.now(), event)])
        key = ("counter", stream)
        tx.write([Change(key, version - 1 or None, version)])
        tx.put_blobs([Blob(seq.to_bytes(32), b"s" * 16, stream.encode() * 1000)])
    return seq


def write(path: str, stream: str, seconds: str) -> None:
    store = open_store(path)
    until, longest, done = time.monotonic() + float(seconds), 0.0, 0
    while (start := time.monotonic()) < until:
        done += 1
        write_once(store, stream, done)
        longest = max(longest, time.monotonic() - start)
    print(json.dumps({"done": done, "longest": longest}))


if __name__ == "__main__":
    {"write": write}[sys.argv[1]](*sys.argv[2:])
