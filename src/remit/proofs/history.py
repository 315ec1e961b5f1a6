"""The history checker: whether a recorded ledger could have come about by the rules.

It is pure: it takes events in order, and where they are known what callers were told (which command
was acknowledged, with which events, when it was asked and when it was answered) and the rows that the
store holds. It keeps its own books (who holds what under which fence until when, how many leases are
live, where each item stands) and trusts no decision. So one checker judges what any store holds after
a crash, a power loss, a race or a restore, and says everything that is wrong, not only the first.

What it cannot know: a write that was never acknowledged and is not there (that is allowed), and
what happened outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from remit.core import events as le
from remit.core import item_events as e
from remit.core.events import Recorded
from remit.core.evolve import FoldError, evolve
from remit.core.facts import FACT_TYPES, Fact, Key, Lease, Policy
from remit.core.ids import EPOCH_SHIFT
from remit.core.moments import Standing, apply
from remit.ports import ReadTx
from remit.proofs import oracle

PAGE: Final = 5_000
"""Events or rows that are read at once."""


class Kind(StrEnum):
    """What may be wrong with a history."""

    SEQ = "seq-not-dense"
    STREAM = "stream-not-dense"
    TIME = "time-ran-backwards"
    LOST = "acknowledged-and-lost"
    ALTERED = "acknowledged-otherwise"
    DENIED = "refused-and-done"
    UNEXPECTED = "nobody-asked-for-it"
    TWICE = "command-done-twice"
    ORDER = "answered-before-and-later-in-line"
    LEASES = "two-live-leases"
    FENCE = "fence-not-up"
    STALE = "write-under-a-dead-lease"
    EARLY = "expiry-before-its-time"
    LIMIT = "limit-exceeded"
    ATTEMPTS = "attempts-past-the-bound"
    MOVE = "move-not-in-the-table"
    SWITCH = "lease-with-the-kill-switch-on"
    ACTORS = "implementer-reviewer-verifier"
    FOLD = "cannot-be-folded"
    ROWS = "rows-are-not-the-fold"


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation: its kind, the event (0 where none is meant), whom it concerns, what was found."""

    kind: Kind
    seq: int
    subject: str
    found: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a caller was told: its command id and the events of the answer.

    ``asked_us`` and ``answered_us`` are readings of one monotonic clock of the test, both 0 where
    they were not taken; a command that was answered before another was asked must lie before it.
    """

    command_id: str
    events: tuple[Recorded, ...]
    asked_us: int = 0
    answered_us: int = 0


@dataclass(slots=True)
class _Book:
    """What the checker keeps of one item."""

    status: str
    work_class: str
    tenant: str
    lease: Lease | None = None
    counted: int = 0
    reported: bool = False
    holders: set[str] = field(default_factory=set)
    reviewer: str = ""


def judge(
    events: Sequence[Recorded],
    *,
    acknowledged: Sequence[Acknowledged] = (),
    refused: Collection[str] = (),
    sent: Collection[str] | None = None,
    rows: Mapping[Key, Fact] | None = None,
) -> tuple[Problem, ...]:
    """Everything that is wrong with a history, in the order of its events.

    ``refused`` are the command ids whose last answer was a refusal: nothing was done under them.
    ``sent`` are the command ids that anybody ever used (None: not known); an event under another is
    one that nobody asked for. ``rows`` are the store's facts by key (None: not compared).
    """
    history = _History()
    for recorded in events:
        history.step(recorded)
    problems = history.problems
    problems += _acknowledged(events, acknowledged)
    problems += _commands(events, sent, frozenset(refused))
    if rows is not None:
        problems += _rows(events, rows)
    return tuple(sorted(problems, key=lambda p: p.seq))


def read_rows(tx: ReadTx) -> tuple[list[Recorded], dict[Key, Fact]]:
    """All events and all rows of one snapshot."""
    events: list[Recorded] = []
    while page := tx.events(events[-1].seq if events else 0, PAGE):
        events += page
    rows: dict[Key, Fact] = {}
    for kind in FACT_TYPES:
        after = ""
        while names := tx.names(kind, after, PAGE):
            found = tx.load([(kind, name) for name in names])
            rows.update({key: fact for key, fact in found.items() if fact is not None})
            after = names[-1]
    return events, rows


def _acknowledged(
    events: Sequence[Recorded], acknowledged: Sequence[Acknowledged]
) -> Iterator[Problem]:
    """Nothing that a caller was told is missing, other than told, or out of line."""
    by_seq = {r.seq: r for r in events}
    done = {r.command_id for r in events} | {""}
    for told in acknowledged:
        for r in told.events:
            kept = by_seq.get(r.seq)
            if kept is None:
                yield Problem(Kind.LOST, r.seq, told.command_id, f"{r.event} is not there")
            elif kept != r:
                # Numbers are dense, so the place of what was lost is taken by what came after.
                kind = Kind.ALTERED if r.command_id in done else Kind.LOST
                yield Problem(kind, r.seq, told.command_id, f"told {r}, kept {kept}")
    timed = [a for a in acknowledged if a.events and a.answered_us]
    tellings = Counter(a.events[0].seq for a in timed)
    answered = iter(sorted(timed, key=lambda a: a.answered_us))
    before, highest, whose = next(answered, None), 0, ""
    for told in sorted(timed, key=lambda a: a.asked_us):
        while before is not None and before.answered_us < told.asked_us:
            if before.events[-1].seq > highest:
                highest, whose = before.events[-1].seq, before.command_id
            before = next(answered, None)
        first = told.events[0].seq
        # A repeated command is answered with events of long ago: those are its first answer's.
        if first <= highest and tellings[first] == 1:
            said = f"asked after {whose} was answered with seq {highest}"
            yield Problem(Kind.ORDER, first, told.command_id, said)


def _commands(
    events: Sequence[Recorded], sent: Collection[str] | None, refused: Collection[str]
) -> Iterator[Problem]:
    """Each command was done at most once, in one piece, and somebody asked for it."""
    last: dict[str, Recorded] = {}
    for r in events:
        name = r.command_id
        if not name:
            continue
        if sent is not None and name not in sent and name.removesuffix("/late") not in sent:
            yield Problem(Kind.UNEXPECTED, r.seq, name, f"{type(r.event).__name__} of {r.actor}")
        if name in refused:
            found = f"{type(r.event).__name__} of {r.actor}, who was told that nothing was done"
            yield Problem(Kind.DENIED, r.seq, name, found)
        before = last.get(name)
        if before is not None and (
            before.seq != r.seq - 1 or before.command_digest != r.command_digest
        ):
            yield Problem(Kind.TWICE, r.seq, name, f"done at seq {before.seq} already")
        last[name] = r


def _rows(events: Sequence[Recorded], rows: Mapping[Key, Fact]) -> Iterator[Problem]:
    """The rows are what the events fold to, no more and no less; a counter of zero is none."""
    facts: dict[Key, Fact | None] = {}
    standing = Standing()
    for r in events:
        try:
            delta = evolve(lambda kind, name: facts.get((kind, name)), r)
            apply(facts, delta, standing, r.seq)
        except FoldError as fault:
            yield Problem(Kind.FOLD, r.seq, r.stream, str(fault))
            return
    for key in sorted(facts.keys() | rows.keys()):
        row, fold = rows.get(key) or None, facts.get(key) or None
        if row != fold:
            yield Problem(Kind.ROWS, 0, "/".join(key), f"row {row}, fold {fold}")


class _History:
    """The books, kept event by event."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.seq = self.time = self.epoch = self.fence = 0
        self.switch = False
        self.policy = Policy()
        self.streams: Counter[str] = Counter()
        self.live: Counter[str] = Counter()
        self.items: dict[str, _Book] = {}

    def say(self, kind: Kind, r: Recorded, found: object) -> None:
        """Note a violation."""
        self.problems.append(Problem(kind, r.seq, r.stream, str(found)))

    def step(self, r: Recorded) -> None:
        """Judge one event, and note what it changes."""
        if r.seq != self.seq + 1:
            self.say(Kind.SEQ, r, f"seq {r.seq} after {self.seq}")
        if r.at < self.time:
            self.say(Kind.TIME, r, f"at {r.at} after {self.time}")
        self.streams[r.stream] += 1
        if r.version != self.streams[r.stream]:
            said = f"version {r.version}, expected {self.streams[r.stream]}"
            self.say(Kind.STREAM, r, said)
        self.seq, self.time, self.streams[r.stream] = r.seq, max(self.time, r.at), r.version
        match r.event:
            case le.PolicySet() as ev:
                names = [f.name for f in fields(ev)]
                self.policy = Policy(**{name: getattr(ev, name) for name in names})
            case le.EpochAdopted():
                self._adopted(r, r.event)
            case le.KillSwitchEngaged() | le.KillSwitchReleased():
                self.switch = isinstance(r.event, le.KillSwitchEngaged)
            case e.ItemCreated():
                self.items[r.stream] = _Book("draft", r.event.work_class, r.event.tenant)
            case e.ItemImported():
                status = "closed" if r.event.closed else "draft"
                self.items[r.stream] = _Book(status, r.event.work_class, r.event.tenant)
            case _:
                book = self.items.get(r.stream)
                if book is not None:
                    self._item(r, r.event, book)

    def _adopted(self, r: Recorded, ev: le.EpochAdopted) -> None:
        if ev.epoch <= self.epoch:
            self.say(Kind.FENCE, r, f"epoch {ev.epoch} after {self.epoch}")
        self.epoch = ev.epoch

    def _item(self, r: Recorded, ev: Any, book: _Book) -> None:
        """Lease events first, as they find the item; then the move itself."""
        match ev:
            case e.LeaseGranted():
                self._granted(r, ev, book)
            case e.LeaseRenewed():
                self._under(r, ev.lease.fence, book)
                if self.switch:
                    self.say(Kind.SWITCH, r, f"{ev.lease.id} was renewed")
                book.lease = ev.lease
            case e.ProgressReported():
                self._under(r, ev.fence, book)
                book.reported = True
            case e.LeaseReleased():
                self._under(r, ev.lease.fence, book)
                book.counted -= ev.returned
            case e.CompletionReported():
                self._under(r, ev.lease.fence, book)
                book.reviewer = ""
            case e.LeaseExpired():
                self._over(r, book)
            case e.ReviewApproved():
                book.reviewer = r.actor
            case e.ItemReopened():
                book.counted = 0
            case e.TriageResolved():
                if ev.to in ("ready", "held"):
                    book.counted = 0
            case _:
                pass
        if isinstance(ev, (e.ReviewApproved, e.VerificationRecorded)):
            self._apart(r, ev, book)
        self._move(r, ev, book)

    def _granted(self, r: Recorded, ev: e.LeaseGranted, book: _Book) -> None:
        lease, policy = ev.lease, self.policy
        if book.lease is not None:
            self.say(Kind.LEASES, r, f"{lease.id} beside {book.lease.id}")
        if lease.fence <= self.fence or lease.fence >> EPOCH_SHIFT != self.epoch:
            said = f"fence {lease.fence} after {self.fence} in epoch {self.epoch}"
            self.say(Kind.FENCE, r, said)
        self.fence = max(self.fence, lease.fence)
        if self.switch:
            self.say(Kind.SWITCH, r, f"{lease.id} was given")
        book.counted += 1
        if book.counted > policy.attempts:
            self.say(Kind.ATTEMPTS, r, f"lease {book.counted} of {policy.attempts}")
        if book.lease is None:
            self._count(book, lease.actor, 1)
        book.lease, book.reported = lease, False
        book.holders.add(lease.actor)
        for name, limit in (
            ("ledger", policy.ledger_leases),
            (f"class/{book.work_class}", policy.class_leases),
            (f"tenant/{book.tenant}", policy.tenant_leases),
            (f"actor/{lease.actor}", policy.actor_leases),
        ):
            if self.live[name] > limit:
                self.say(Kind.LIMIT, r, f"{self.live[name]} live leases of {name}, limit {limit}")

    def _count(self, book: _Book, actor: str, by: int) -> None:
        names = ("ledger", f"class/{book.work_class}", f"tenant/{book.tenant}", f"actor/{actor}")
        for name in names:
            self.live[name] += by

    def _under(self, r: Recorded, fence: int, book: _Book) -> None:
        """A write under a lease: its own, live, by its holder."""
        lease = book.lease
        live = (
            lease is not None
            and lease.fence == fence
            and r.at < lease.expires_at
            and lease.actor == r.actor
            and fence >> EPOCH_SHIFT == self.epoch
        )
        if not live:
            self.say(Kind.STALE, r, f"{r.actor} under fence {fence} at {r.at}, lease {lease}")

    def _over(self, r: Recorded, book: _Book) -> None:
        lease = book.lease
        if lease is None:
            self.say(Kind.EARLY, r, "there was no lease")
        elif r.at < lease.expires_at and lease.fence >> EPOCH_SHIFT == self.epoch:
            self.say(Kind.EARLY, r, f"at {r.at}, {lease.id} runs until {lease.expires_at}")

    def _apart(self, r: Recorded, ev: Any, book: _Book) -> None:
        """Who held a lease neither approves nor verifies, and who approved does not verify."""
        judged = isinstance(ev, e.VerificationRecorded)
        if r.actor in book.holders or (judged and r.actor == book.reviewer):
            said = f"{r.actor} after holders {sorted(book.holders)}, reviewer {book.reviewer}"
            self.say(Kind.ACTORS, r, said)

    def _move(self, r: Recorded, ev: Any, book: _Book) -> None:
        tid = getattr(ev, "transition_id", "")
        if not tid:
            return
        if ev.from_ != book.status or (tid, book.status, str(ev.to)) not in oracle.TABLE:
            said = f"{tid} from {ev.from_} to {ev.to}, it stood in {book.status}"
            self.say(Kind.MOVE, r, said)
        book.status = str(ev.to)
        if book.lease is not None and book.status != "leased":
            self._count(book, book.lease.actor, -1)
            book.lease = None


__all__ = ["Acknowledged", "Kind", "Problem", "judge", "read_rows"]
