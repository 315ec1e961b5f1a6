"""Moving a ledger between stores: all of it as lines of JSON, and back, the same to the last byte.

The first line says what follows; then come the blobs and the events in order, and the last line
holds how many events there were and the Merkle root over their digests. An event's line carries the
stored columns: its payload is the JSON that was stored, and reading it back and encoding it again gives
the same bytes, because they are canonical. On the way in every digest is made again and compared, rows
are folded with the very ``evolve`` that made them, and the root at the end must be the one that was
noted: a ledger that was cut, changed or reordered on the way is refused.

An import goes on where an interrupted one ended, since what is there must be the beginning of what
comes. The ledger that it makes is a copy: from its first line on it takes no other writes until it is
adopted, because the one that it came from may still be in use. A ledger that is in use takes no import.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import msgspec

from remit.core import moments
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import Fact, Key
from remit.core.merkle import Tree
from remit.core.moments import WATCHED, Standing
from remit.core.refusals import Code
from remit.ports import Blob, Change, RemitError, Store, StoredEvent, WriteTx

FORMAT: Final = "remit-ledger"
VERSION: Final = 1
CHUNK: Final = 1_000
"""Events of one transaction, and lines that are read at once."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved: events, blobs, and the Merkle root over the events (hexadecimal)."""

    events: int
    blobs: int
    root: str


def export(store: Store) -> Iterator[bytes]:
    """All of a ledger as of now, a line at a time, each with its newline.

    Reads in short snapshots. What is appended meanwhile is left out: the end is fixed first.
    """
    with store.read() as tx:
        head = tx.head().seq
    yield _line({"format": FORMAT, "version": VERSION, "ledger_id": store.ledger_id})
    yield from _blob_lines(store)
    tree, after = Tree(), 0
    while after < head:
        with store.read() as tx:
            chunk = tx.stored(after, min(CHUNK, head - after))
        for event in chunk:
            tree.append(event.digest)
            yield _line({"event": _columns(event)})
        after = chunk[-1].seq
    yield _line({"end": {"events": tree.size, "root": tree.root().hex()}})


def _line(value: dict[str, Any]) -> bytes:
    return _encode(value) + b"\n"


def _blob_lines(store: Store) -> Iterator[bytes]:
    after = b""
    while True:
        with store.read() as tx:
            chunk = tx.stored_blobs(after, 100)
        for blob in chunk:
            if isinstance(blob, Blob):
                after = blob.digest
                words = {
                    "salt": b64encode(blob.salt).decode(),
                    "data": b64encode(blob.data).decode(),
                }
            else:
                after, words = blob, {}
            yield _line({"blob": {"digest": after.hex(), **words}})
        if not chunk:
            return


def _columns(event: StoredEvent) -> dict[str, Any]:
    digest = event.command_digest
    return {
        "seq": event.seq,
        "stream": event.stream,
        "stream_version": event.stream_version,
        "type": event.type,
        "actor": event.actor,
        "assurance": event.assurance,
        "created_at": event.created_at,
        "payload": msgspec.Raw(event.payload),
        "digest": event.digest.hex(),
        "command_id": event.command_id,
        "command_digest": None if digest is None else digest.hex(),
        "trace_context": event.trace_context,
        "conversation_ref": event.conversation_ref,
    }


def ledger_of(lines: Iterable[bytes]) -> tuple[str, Iterable[bytes]]:
    """The id of the exported ledger, and the lines again, the first one with them.

    Raises ``INPUT_PROBLEM`` where the first line is not that of an export.
    """
    rest = iter(lines)
    first = next(rest, b"")
    try:
        name = _decode(first)["ledger_id"]
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise _problem(
            1, f"{type(error).__name__}: {error}", "the first line of an export"
        ) from error
    return str(name), chain([first], rest)


def import_into(store: Store, lines: Iterable[bytes]) -> Moved:
    """Write exported lines into an empty ledger of the same id, or go on with it.

    What was made has to be adopted. Raises ``LEDGER_EXISTS`` for a ledger that is in use, and
    ``INPUT_PROBLEM`` with the line's number for lines that are not an export, that do not give the
    digests or the root that they name, or that do not begin with what the ledger holds.
    """
    incoming = _Incoming(store)
    number = 0
    for number, line in enumerate(lines, 1):  # the number is named when all are read
        try:
            incoming.take(number, _decode(line))
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise _problem(
                number, f"{type(error).__name__}: {error}", "a line of an export"
            ) from error
    if incoming.moved is None:
        raise _problem(number, "no last line", "a line with the number of events and the root")
    return incoming.moved


@dataclass(slots=True)
class _Incoming:
    """An import under way."""

    store: Store
    held: int = 0
    begun: bool = False
    tree: Tree = field(default_factory=Tree)
    facts: dict[Key, Fact] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    blobs: list[Blob] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    kept: int = 0
    events: list[StoredEvent] = field(default_factory=list)
    moved: Moved | None = None

    def take(self, number: int, line: dict[str, Any]) -> None:
        """Take one line; a full chunk is written."""
        if self.moved is not None:
            raise _problem(number, "a line after the last one", "nothing")
        if not self.begun:
            self._begin(number, line)
        elif "blob" in line:
            self._blob(number, line["blob"])
        elif "event" in line:
            self.events.append(_stored(self.store.ledger_id, line["event"]))
            if len(self.events) >= CHUNK:
                self._flush(number)
        elif "end" in line:
            self._flush(number)
            self._end(number, line["end"])
        else:
            raise _problem(number, f"a line with {', '.join(sorted(line))}", "blob, event or end")

    def _begin(self, number: int, line: dict[str, Any]) -> None:
        wanted = {"format": FORMAT, "version": VERSION, "ledger_id": self.store.ledger_id}
        if line != wanted:
            raise _problem(number, str(line), f"{wanted}; make the new ledger with the same id")
        with self.store.write(importing=True) as tx:  # it is a copy before it holds anything
            self.held = tx.head().seq
        self.begun = True

    def _blob(self, number: int, words: dict[str, str]) -> None:
        digest = bytes.fromhex(words["digest"])
        self.kept += 1
        if "data" not in words:
            self.blobs.append(Blob(digest, b"", b""))
            self.erased.append(words["digest"])
        else:
            self.blobs.append(Blob(digest, b64decode(words["salt"]), b64decode(words["data"])))
        if len(self.blobs) >= 100:
            self._flush(number)

    def _flush(self, number: int) -> None:
        if not self.blobs and not self.events:
            return
        recorded = [self._checked(number, event) for event in self.events]
        known = [event for event in self.events if event.seq <= self.held]
        self._compare(number, known)
        fresh = recorded[len(known) :]
        for event in recorded[: len(known)]:
            self._evolve(event)
        with self.store.write(importing=True) as tx:
            if self.blobs:
                tx.put_blobs(self.blobs)
            if self.erased:
                tx.erase_blobs(self.erased)
            if fresh:
                self._append(tx, fresh)
        self.blobs, self.erased, self.events = [], [], []

    def _checked(self, number: int, event: StoredEvent) -> Recorded:
        """The event, if it is the next one and has the digest that it names."""
        if event.seq != self.tree.size + 1:
            raise _problem(number, f"event {event.seq}", f"event {self.tree.size + 1}")
        digest = self.store.codec.digest_of(event)
        if digest != event.digest:
            raise _problem(
                number, f"event {event.seq} with digest {digest.hex()}", event.digest.hex()
            )
        self.tree.append(digest)
        return self.store.codec.recorded(event)

    def _compare(self, number: int, known: list[StoredEvent]) -> None:
        """What the ledger holds already must be what comes."""
        if not known:
            return
        with self.store.read() as tx:
            held = tx.stored(known[0].seq - 1, len(known))
        for ours, theirs in zip(held, known, strict=True):
            if ours.digest != theirs.digest:
                raise _problem(
                    number, f"another event {ours.seq} in the ledger", "an empty ledger, or the"
                    " beginning of this export"
                )  # fmt: skip

    def _append(self, tx: WriteTx, fresh: list[Recorded]) -> None:
        old: dict[Key, Fact | None] = {}
        for event in fresh:
            for key, before in self._evolve(event).items():
                old.setdefault(key, before)
        tx.append(fresh)
        tx.write(
            [
                Change(key, before, self.facts.get(key))
                for key, before in old.items()
                if self.facts.get(key) is not before
            ]
        )

    def _evolve(self, event: Recorded) -> dict[Key, Fact | None]:
        """Fold one event; gives the facts that it changed as they were before."""
        facts = self.facts
        delta = evolve(lambda kind, name: facts.get((kind, name)), event)
        before = {key: facts.get(key) for key in delta}
        for key, fact in delta.items():
            if key[0] in WATCHED:
                self.standing.put(key, before[key], fact)
            if fact is None:
                facts.pop(key, None)
            else:
                facts[key] = fact
        if event.seq % moments.EVERY == 0:
            self.standing.seq = event.seq
            key = moments.key_of(event.seq)
            before[key], facts[key] = None, self.standing.moment()
        return before

    def _end(self, number: int, end: dict[str, Any]) -> None:
        found = Moved(self.tree.size, self.kept, self.tree.root().hex())
        if (found.events, found.root) != (end["events"], end["root"]):
            raise _problem(
                number, f"{found.events} events with root {found.root}",
                f"{end['events']} with root {end['root']}",
            )  # fmt: skip
        if self.held > found.events:
            raise _problem(number, f"{self.held} events in the ledger", f"at most {found.events}")
        self.moved = found


def _stored(ledger_id: str, words: dict[str, Any]) -> StoredEvent:
    command = words["command_digest"]
    return StoredEvent(
        ledger_id, words["seq"], words["stream"], words["stream_version"], words["type"],
        words["actor"], words["assurance"], words["created_at"], _encode(words["payload"]),
        bytes.fromhex(words["digest"]), words["command_id"],
        None if command is None else bytes.fromhex(command), words["trace_context"],
        words["conversation_ref"],
    )  # fmt: skip


def _problem(number: int, found: str, expected: str) -> RemitError:
    return RemitError(
        f"cannot import line {number}: found {found}, expected {expected}",
        "export the ledger again; what was imported so far can be continued with the same export",
        {"line": number},
        code=Code.INPUT_PROBLEM,
    )
