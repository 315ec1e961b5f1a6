"""Integrity: whether the ledger is what was written, and the rows are what it says.

``verify`` walks all events once, in chunks, and looks at everything that can be checked without
believing the store: numbers without a gap, versions of each stream, time, every digest made again
from the stored columns, canonical payloads, known types, the Merkle tree with a root that somebody
noted earlier, the blobs, and last the rows against a fold of the very same events (INV-20, INV-21,
INV-23). It reports what it found where and goes on, up to a bound, so that one flaw does not hide
another; the first bad seq comes first. An event that cannot be folded ends the fold: rows are then
not compared, and the report says so.

``replay`` folds the events again and, where asked, puts the rows that they make in place. Neither
ever changes an event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from remit.core.events import Event, Recorded
from remit.core.facts import Fact, Key
from remit.core.fold import FoldError
from remit.core.merkle import Tree
from remit.core.moments import Standing, apply
from remit.ports import Blob, Difference, LedgerCorrupt, ReadTx, Store, StoredEvent
from remit.ports.signing import Signatures
from remit.service.authority import Authority, Root, Unproved
from remit.service.collecting import held_back

Get = Callable[[str, str], Fact | None]
Fold = Callable[[Get, Recorded], Mapping[Key, Fact | None]]
Progress = Callable[[int, int], None]
"""Called with how many events are done and how many there are."""

CHUNK: Final = 1_000
LIMIT: Final = 100
"""How many problems are named before verification stops looking."""

_HEX = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be; ``seq`` is 0 where no single event is meant."""

    seq: int
    where: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Report:
    """What verification found.

    ``root`` is the Merkle root over all stored digests, hexadecimal. ``rows_compared`` is False
    where the fold ended early. ``truncated`` says that there were more problems than are named.
    ``acts`` are the first unproved ones, ``roots`` keys that no key signed in, ``signed`` how many
    signatures were verified.
    """

    events: int
    root: str
    problems: tuple[Problem, ...]
    unproved: Mapping[str, int]
    rows_compared: bool
    truncated: bool
    acts: tuple[Unproved, ...] = ()
    roots: tuple[Root, ...] = ()
    signed: int = 0

    @property
    def first_bad_seq(self) -> int | None:
        """The lowest seq that a problem names."""
        return min((p.seq for p in self.problems if p.seq), default=None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay did: how many events it folded, and where the rows were not what they say."""

    events: int
    differences: tuple[Difference, ...]


class _Full(Exception):  # noqa: N818  # not an error: the report is full
    """Enough problems were named."""


@dataclass(slots=True)
class _Walk:
    """Verification under way: what is known after the events so far."""

    store: Store
    fold: Fold
    noted: tuple[int, str] | None
    authority: Authority
    seq: int = 0
    time: int = 0
    streams: dict[str, int] = field(default_factory=dict)
    tree: Tree = field(default_factory=Tree)
    facts: dict[Key, Fact] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    folding: bool = True
    named: set[str] = field(default_factory=set)
    redacted: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    note_seen: bool = False

    def problem(self, seq: int, where: str, found: object, expected: object) -> None:
        """Name one problem, and stop where there are enough."""
        if len(self.problems) >= LIMIT:
            raise _Full
        self.problems.append(Problem(seq, where, str(found), str(expected)))

    def step(self, event: StoredEvent) -> None:
        """Check one event and fold it."""
        self._place(event)
        if self.store.codec.digest_of(event) != event.digest:
            self.problem(
                event.seq,
                "digest",
                event.digest.hex(),
                self.store.codec.digest_of(event).hex(),
            )
        if not self.store.codec.is_canonical(event.payload):
            self.problem(event.seq, "payload", "bytes that are not canonical", "RFC 8785")
        self.tree.append(event.digest)
        if self.noted is not None and self.tree.size == self.noted[0]:
            self._compare_root(event.seq)
        try:
            recorded = self.store.codec.recorded(event)
        except LedgerCorrupt as error:
            self.problem(event.seq, "type", error.message, "an event that this version knows")
            self.folding = False
            return
        for flaw in self.authority.step(recorded):
            self.problem(*flaw)
        self._names(recorded.event)
        if self.folding:
            self._fold(recorded)

    def _place(self, event: StoredEvent) -> None:
        seq, stream = event.seq, event.stream
        if event.ledger_id != self.store.ledger_id:
            self.problem(seq, "ledger_id", event.ledger_id, self.store.ledger_id)
        if seq != self.seq + 1:
            self.problem(self.seq + 1, "seq", f"seq {seq}", f"seq {self.seq + 1}")
        self.seq = seq
        version = self.streams.get(stream, 0) + 1
        if event.stream_version != version:
            self.problem(seq, f"stream {stream}", f"version {event.stream_version}", version)
        self.streams[stream] = event.stream_version
        if event.created_at < self.time:
            self.problem(seq, "created_at", event.created_at, f"{self.time} or later")
        self.time = event.created_at

    def _compare_root(self, seq: int) -> None:
        assert self.noted is not None
        self.note_seen = True
        found = self.tree.root().hex()
        if self.noted[1] and found != self.noted[1]:
            self.problem(0, f"root of the first {self.tree.size} events", found, self.noted[1])

    def _names(self, event: Event) -> None:
        """Which blobs an event names, and which it says are erased."""
        for attribute in ("text_ref", "statement_ref"):
            self._name(getattr(event, attribute, ""))
        for result in getattr(event, "results", ()):
            self._name(result.log)
        if type(event).__name__ == "BlobRedacted":
            self.redacted.add(event.digest)  # type: ignore[attr-defined]  # of that class

    def _name(self, text: str) -> None:
        if _HEX.match(text):
            self.named.add(text)

    def _fold(self, recorded: Recorded) -> None:
        try:
            delta = self.fold(lambda kind, name: self.facts.get((kind, name)), recorded)
        except (FoldError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.problem(recorded.seq, "fold", str(error), "an event that follows on the facts")
            self.folding = False
            return
        apply(self.facts, delta, self.standing, recorded.seq)

    def catch_up(self, tx: ReadTx, until: int | None = None) -> Iterator[int]:
        """Walk on to the head of a snapshot, a chunk at a time; yields the seq reached."""
        while until is None or self.seq < until:
            chunk = tx.stored(self.seq, CHUNK)
            for event in chunk:
                self.step(event)
            if not chunk:
                return
            yield self.seq

    def rows(self, tx: ReadTx) -> Iterable[tuple[Key, Fact]]:
        """All facts as of a snapshot's head."""
        for _ in self.catch_up(tx):
            pass
        return self.facts.items()

    def blobs(self, tx: ReadTx) -> None:
        """Every blob against its digest, and those that events name against those that are there."""
        after, missing = b"", set(self.named)
        while chunk := tx.stored_blobs(after, CHUNK):
            for blob in chunk:
                after = blob.digest if isinstance(blob, Blob) else blob
                name = after.hex()
                missing.discard(name)
                if not isinstance(blob, Blob):
                    if name not in self.redacted:
                        self.problem(0, f"blobs {name}", "erased", "a redaction on the ledger")
                elif (found := sha256(blob.salt + blob.data).hexdigest()) != name:
                    self.problem(0, f"blobs {name}", f"bytes of {found}", f"bytes of {name}")
        for name in sorted(missing):
            self.problem(0, f"blobs {name}", "no blob", "a blob that an event names")


@held_back()
def verify(
    store: Store,
    *,
    fold: Fold,
    root: str | None = None,
    size: int | None = None,
    progress: Progress | None = None,
    signatures: Signatures | None = None,
) -> Report:
    """Check events, blobs and rows of a ledger, and name what is wrong, where.

    ``root`` (hexadecimal) and ``size`` are what somebody noted of the ledger earlier: fewer events
    than ``size``, or another root over the first ``size`` of them, means that it was cut or
    rewritten. With ``root`` alone the whole ledger must have it. ``fold`` is the core's ``evolve``.
    ``signatures`` verifies each signature again; without it, one that is met is a problem.
    """
    noted = None if size is None else (size, root or "")
    walk = _Walk(store, fold, noted, Authority(store.ledger_id, signatures))
    compared, truncated = False, False
    try:
        _walk_events(walk, progress)
        for flaw in walk.authority.end(walk.seq):
            walk.problem(*flaw)
        _compare_note(walk, root, size)
        with store.read() as tx:
            walk.blobs(tx)
        compared = _compare_rows(walk)
    except _Full:
        truncated = True
    return Report(
        walk.tree.size,
        walk.tree.root().hex(),
        tuple(sorted(walk.problems, key=lambda p: (p.seq == 0, p.seq))),
        dict(walk.authority.unproved),
        compared,
        truncated,
        tuple(walk.authority.acts),
        tuple(walk.authority.roots),
        walk.authority.signed,
    )


def _compare_rows(walk: _Walk) -> bool:
    """Whether the rows could be compared; events that came meanwhile are checked first."""
    differences = walk.store.rebuild(walk.rows, swap=False) if walk.folding else []
    if not walk.folding:
        return False
    lacking = [d for d in differences if _is_absent_moment(d)]
    if len(differences) >= LIMIT:
        lacking = []  # there may be more behind them that were not named
    for d in differences:
        if d in lacking:
            continue
        walk.problem(0, f"{d.table} {d.id}", d.found, d.expected)
    return True


def _is_absent_moment(found: Difference) -> bool:
    """Whether a row is only lacking because the ledger was written before moments were kept.

    Reads of the past are slower without it and say the same; a replay makes it.
    """
    return found.id.startswith("moment/") and found.found == "no row"


def _walk_events(walk: _Walk, progress: Progress | None) -> None:
    """All events, each chunk in a short transaction of its own: nothing before it can change."""
    while True:
        with walk.store.read() as tx:
            done = next(walk.catch_up(tx), None)
            head = tx.head().seq
        if done is None:
            return
        if progress is not None:
            progress(done, head)


def _compare_note(walk: _Walk, root: str | None, size: int | None) -> None:
    """What was noted earlier, once all events were seen."""
    if size == 0 or (size is None and root is not None):
        found = walk.tree.root().hex() if size is None else Tree().root().hex()
        if root is not None and found != root:
            walk.problem(0, "root", found, root)
    elif size is not None and not walk.note_seen:
        walk.problem(walk.seq + 1, "seq", f"{walk.tree.size} events", f"{size} events, as noted")


@held_back()
def replay(store: Store, *, fold: Fold, swap: bool, progress: Progress | None = None) -> Replayed:
    """Fold all events again and compare the rows; with ``swap`` put the folded rows in place.

    Raises ``LedgerCorrupt`` with the seq of an event that cannot be folded; rows stay as they are.
    """
    facts: dict[Key, Fact] = {}
    standing = Standing()
    reached = 0

    def get(kind: str, name: str) -> Fact | None:
        return facts.get((kind, name))

    def advance(tx: ReadTx) -> bool:
        nonlocal reached
        chunk = tx.events(reached, CHUNK)
        for recorded in chunk:
            try:
                apply(facts, fold(get, recorded), standing, recorded.seq)
            except FoldError as error:
                raise LedgerCorrupt(
                    f"cannot replay {store.ledger_id}: {error}",
                    "run 'remit ledger verify'; the rows were left as they are",
                    {"seq": error.seq},
                ) from error
            reached = recorded.seq
        if chunk and progress is not None:
            progress(reached, max(reached, tx.head().seq))
        return bool(chunk)

    def rest(tx: ReadTx) -> Iterable[tuple[Key, Fact]]:
        while advance(tx):
            pass
        return facts.items()

    more = True
    while more:
        with store.read() as tx:
            more = advance(tx)
    return Replayed(reached, tuple(store.rebuild(rest, swap=swap)))
