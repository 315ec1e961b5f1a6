"""The store's port: one ledger, its events, the rows folded from them, and its blobs.

One writer at a time, so ``seq`` is dense and no two decisions race; readers never wait for it. Stores
compute no state: they load facts, append events and write the rows that the core made, all in one
transaction. Every implementation passes ``tests/contract`` (INV-20 to INV-22).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from remit.core.change import quick

if TYPE_CHECKING:  # a cold read loads this module, and none of these
    from remit.core.events import Recorded
    from remit.core.facts import Fact, Key


@quick
@dataclass(frozen=True, slots=True)
class Head:
    """The newest seq (0 when empty) and the ledger time of its event, in microseconds."""

    seq: int
    time: int


@dataclass(frozen=True, slots=True)
class ClockJump:
    """How far the wall clock came away from the ledger's clock since that was last recorded.

    ``difference_us`` is positive where the wall clock went ahead.
    """

    wall_us: int
    ledger_us: int
    difference_us: int


@dataclass(frozen=True, slots=True)
class Edge:
    """One dependency edge seen from its target."""

    dependent: str
    target: str
    kind: str
    state: str


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as stored, for verification: canonical payload bytes and digest untouched."""

    ledger_id: str
    seq: int
    stream: str
    stream_version: int
    type: str
    actor: str
    assurance: str
    created_at: int
    payload: bytes
    digest: bytes
    command_id: str | None
    command_digest: bytes | None
    trace_context: str | None
    conversation_ref: str | None


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes kept beside the ledger; the event names SHA-256 of salt and bytes."""

    digest: bytes
    salt: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Which items a listing wants, newest number last unless ``newest_first``.

    ``limit`` 0 means all. ``gate`` and ``hold`` select drafts by gate and held items by reason.
    """

    statuses: tuple[str, ...] = ()
    gate: str = ""
    after: int = 0
    limit: int = 50
    text: str = ""
    newest_first: bool = False
    hold: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Change:
    """A fact to write: what was loaded (None: absent) and what it is now (None: remove)."""

    key: Key
    old: Fact | None
    new: Fact | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is not what the events fold to: which table and id, and how it differs."""

    table: str
    id: str
    found: str
    expected: str


class Codec(Protocol):
    """What verification needs to know of the event format; stores bring it along."""

    def digest_of(self, event: StoredEvent) -> bytes:
        """The digest that the stored columns should have."""
        ...

    def recorded(self, event: StoredEvent) -> Recorded:
        """The event that stored columns stand for; raises ``LedgerCorrupt`` where none."""
        ...

    def is_canonical(self, payload: bytes) -> bool:
        """Whether a payload is the canonical JSON of what it says."""
        ...


class ReadTx(Protocol):
    """A consistent snapshot of one ledger. Every query is bounded by its ``limit``."""

    def head(self) -> Head:
        """The newest event."""
        ...

    def now(self) -> int:
        """Ledger time of this transaction: never before ``head().time`` (INV-24)."""
        ...

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key; None for each that does not exist."""
        ...

    def small(self) -> dict[Key, Fact]:
        """All counters and counts, and the ledger fact: what every decision may need."""
        ...

    def ready(self, lane: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Ids of ready items of a lane by (rank, number), after a given pair."""
        ...

    def dependents(self, via: str, limit: int) -> list[Edge]:
        """Edges of items that are not terminal and that are judged by this item (or ``?alias``)."""
        ...

    def awaited(self, vias: Iterable[str]) -> set[str]:
        """Which of these (ids or ``?alias``) any unfinished item waits on."""
        ...

    def waiting(self, via: str, kind: str, state: str, limit: int) -> list[Edge]:
        """Like ``dependents``, only edges of this kind whose state is another one."""
        ...

    def children(self, parent: str, limit: int) -> list[str]:
        """Items, finished ones too, with a parent-child edge that is judged by ``parent``."""
        ...

    def linked(self, upper: str, after: str, limit: int) -> list[str]:
        """What hangs on the upper end of links of traceability, by name, after a given one.

        Nodes and items on a requirement, items on a node or on a commit (``commit/SHA``).
        """
        ...

    def find_links(self, text: str, limit: int) -> list[tuple[str, str]]:
        """Links (upper, lower) whose upper end starts with this text, in order."""
        ...

    def lanes(self, limit: int) -> list[str]:
        """Ids of lanes that have something ready, the next in turn first."""
        ...

    def reaches(self, start: str, goal: str, limit: int) -> tuple[str, ...] | None:
        """Shortest path along unmet dependency edges from ``start`` to ``goal``, or None.

        Looks at no more than ``limit`` items; past that it answers with an empty path, which proves
        nothing.
        """
        ...

    def due(self, now: int, limit: int) -> list[str]:
        """Leased items whose lease has run out, the longest overdue first."""
        ...

    def next_expiry(self) -> int | None:
        """When the first of all leases runs out, None where nothing is leased."""
        ...

    def held(self, trigger: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Held items that wait for this trigger by (rank of the hold, number), after a pair."""
        ...

    def waking(self, now: int, limit: int) -> list[str]:
        """Held items whose time trigger has come, and ready ones whose lifetime has ended.

        The longest overdue first, then by number.
        """
        ...

    def next_wake(self) -> int | None:
        """When the first of these times comes, None where nothing waits for one."""
        ...

    def followers(self, survivor: str, limit: int) -> list[str]:
        """Items that were coalesced onto this one and still follow it, by number."""
        ...

    def leased_before(self, fence: int, limit: int) -> list[str]:
        """Leased items whose fence is below this one (leases of an earlier epoch)."""
        ...

    def gated(self, gate: str, after: int, limit: int) -> list[str]:
        """Draft items behind a gate (exact code), by number."""
        ...

    def items(self, query: ItemQuery) -> list[str]:
        """Item ids that a listing wants."""
        ...

    def find(self, text: str, limit: int) -> list[Key]:
        """Facts whose id starts with this text, and aliases too, for abbreviations on reads."""
        ...

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Ids of facts of one kind, in order."""
        ...

    def triage(self, *, open_only: bool, limit: int) -> list[str]:
        """Triage record ids, oldest first."""
        ...

    def open_records(self) -> int:
        """How many triage records are open."""
        ...

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """Events of one stream by version."""
        ...

    def events(self, after: int, limit: int) -> list[Recorded]:
        """Events by seq."""
        ...

    def at_seq(self, seqs: Iterable[int]) -> dict[int, Recorded]:
        """Single events by seq."""
        ...

    def commands(self, ids: Iterable[str]) -> dict[str, list[Recorded]]:
        """Events that were written under these command ids (INV-9); ids unknown are absent."""
        ...

    def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Bytes of blobs by hexadecimal digest; redacted and unknown ones are absent."""
        ...

    def stored(self, after: int, limit: int) -> list[StoredEvent]:
        """Events as stored, by seq, for verification."""
        ...

    def stored_blobs(self, after: bytes, limit: int) -> list[Blob | bytes]:
        """Blobs as stored, by digest after the given one; an erased one is its digest alone."""
        ...


class WriteTx(ReadTx, Protocol):
    """The one writer's transaction. Leaving it without an exception commits."""

    def clock_jump(self) -> ClockJump | None:
        """What a ``ClockJumped`` event has to record now; None while the clocks agree (INV-24).

        It is reported again in every transaction until such an event is appended.
        """
        ...

    def put_blobs(self, blobs: Sequence[Blob]) -> None:
        """Keep blobs; one that is there already is left as it is."""
        ...

    def erase_blobs(self, digests: Sequence[str]) -> None:
        """Erase salt and bytes for good, leaving the digest."""
        ...

    def append(self, events: Sequence[Recorded]) -> None:
        """Append events whose seq continues the head without a gap (INV-20)."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Write rows, compare-and-set on what was loaded; a mismatch is a bug and raises."""
        ...


class Store(Protocol):
    """One ledger in one database."""

    ledger_id: str
    url: str

    @property
    def codec(self) -> Codec:
        """What verification needs of the event format."""
        ...

    def read(self) -> AbstractContextManager[ReadTx]:
        """A short snapshot that never blocks the writer."""
        ...

    def write(
        self, *, urgent: bool = False, adopting: bool = False, importing: bool = False
    ) -> AbstractContextManager[WriteTx]:
        """The writer; ``urgent`` goes first (kill switch and renewals).

        A ledger that was restored, copied or put back takes no writes until it is adopted
        (``LEDGER_NOT_ADOPTED``); an ``adopting`` transaction is let through, and must append an
        ``EpochAdopted`` whose epoch is above ``epoch_known()`` (``EPOCH_TOO_LOW``). An ``importing``
        transaction takes events of another ledger's past, and leaves a copy that has to be adopted,
        whatever they adopted; a ledger that is in use already takes none (``LEDGER_EXISTS``).

        Raises ``StoreUnavailable`` when it cannot start or surely did nothing, ``OutcomeUnknown``
        when the commit's outcome cannot be known.
        """
        ...

    def epoch_known(self) -> int:
        """The highest epoch that the ledger, or the note kept outside it, knows of."""
        ...

    def rebuild(
        self, fold: Callable[[ReadTx], Iterable[tuple[Key, Fact]]], *, swap: bool
    ) -> list[Difference]:
        """Compare the rows with freshly folded facts, byte for byte, and say where they differ.

        ``fold`` is called once, inside the transaction whose rows are compared, and yields every
        fact as of that snapshot's head. With ``swap`` that is the writer's transaction, and rows
        made of these facts take the old ones' place in it. Names at most 100 differences.
        """
        ...

    def close(self) -> None:
        """Release what is held; safe to call twice."""
        ...
