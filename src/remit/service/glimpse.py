"""A quick look at the past: what the operator's views ask, after any event, without a whole fold (INV-25).

``past.as_of`` folds everything, which takes as long as the ledger is. The fleet's view asks for less: how
many items stand where, the first few of each list, and those few in full. Numbers and places come from the
last moment before that event and the events since; whatever is shown in full is folded from its own stream
alone, up to that event. The same reading functions run on this as on the present, and a test compares it
with the whole fold at every seq.

Only what those functions ask is answered. Anything else raises ``AttributeError`` or ``ValueError``: a
snapshot that guessed would be worse than none. Text that was erased is erased here too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from remit.core.events import Recorded, stream_of
from remit.core.facts import LEDGER, Fact, Key, Moment, Run
from remit.core.moments import FOLLOWED, Standing, alone_facts
from remit.core.refusals import Code
from remit.core.run_facts import RunStatus, entry_id
from remit.ports import Head, ItemQuery, ReadTx, RemitError

CHUNK: Final = 2_000
PAGE: Final = 1_000
ALONE: Final = ("item", "decision", "rule", "actor")
"""Kinds of facts that are folded from their own stream."""


def newest_moment(tx: ReadTx, seq: int) -> Moment | None:
    """The newest moment that is kept of ``seq`` or before; ledgers of before may have none."""
    names = tx.names("moment", "", PAGE * PAGE)
    fit = [name for name in names if int(name) <= seq]
    found = tx.load([("moment", fit[-1])])["moment", fit[-1]] if fit else None
    return found if isinstance(found, Moment) else None


class Glimpse:
    """A snapshot of the past for the operator's views; see ``remit.ports.ReadTx``."""

    def __init__(self, tx: ReadTx, seq: int) -> None:
        head = tx.head().seq
        if not 0 <= seq <= head:
            raise RemitError(
                f"cannot read the ledger as of seq {seq}: it has events 1 to {head}",
                f"give a seq from 0 to {head} with --at",
                {"at": seq, "head": head},
                code=Code.NOT_FOUND,
            )
        self._tx = tx
        self._seq = seq
        last = tx.at_seq([seq]).get(seq) if seq else None
        self._time = last.at if last is not None else 0
        self._known: dict[Key, Fact | None] = {}
        self._standing = Standing(newest_moment(tx, seq))
        while self._standing.seq < seq:
            after = self._standing.seq
            for recorded in tx.events(after, min(CHUNK, seq - after)):
                self._standing.forward(recorded)

    def head(self) -> Head:
        """The event that is looked at."""
        return Head(self._seq, self._time)

    def now(self) -> int:
        """The time of that event."""
        return self._time

    def small(self) -> dict[Key, Fact]:
        """Counts by status, how many runs there were, and of the ledger its kill switch."""
        standing = self._standing
        found: dict[Key, Fact] = {("count", n): many for n, many in standing.counts.items()}
        found["counter", "run"] = standing.run_count
        found["counter", "decision"] = self._counted("decision")
        if standing.ledger is not None:
            found[LEDGER] = standing.ledger
        return found

    def _counted(self, kind: str) -> int:
        """How many of what is numbered were there: those whose first event had happened."""
        last = self._tx.small().get(("counter", kind), 0)
        low, high = 0, last if isinstance(last, int) else 0
        prefix = {"decision": "D"}[kind]
        while low < high:
            middle = (low + high + 1) // 2
            first = self._tx.stream(f"{prefix}-{middle}", 0, 1)
            low, high = (middle, high) if first[0].seq <= self._seq else (low, middle - 1)
        return low

    def items(self, query: ItemQuery) -> list[str]:
        """Items that stood in some statuses, by number."""
        if not query.statuses or not set(query.statuses) <= {str(s) for s in FOLLOWED}:
            raise ValueError(f"a glimpse does not follow {query}")
        numbers = sorted(
            number
            for status in query.statuses
            for number in self._standing.numbers[status]
            if number > query.after
        )
        return [f"W-{number}" for number in numbers[: query.limit or None]]

    def triage(self, *, open_only: bool, limit: int) -> list[str]:
        """Records that were open, oldest first."""
        if not open_only:
            raise ValueError("a glimpse follows open records only")
        return [f"T-{number}" for number in sorted(self._standing.triage)[:limit]]

    def open_records(self) -> int:
        """How many records were open."""
        return len(self._standing.triage)

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key, of the kinds that the views show."""
        return {key: self._one(key) for key in keys}

    def _one(self, key: Key) -> Fact | None:
        kind, name = key
        if key not in self._known:
            if kind == "run":
                self._known[key] = self._run(name)
            elif kind == "run-entry":
                self._known[key] = self._entry(name)
            elif kind == "triage":
                self._known[key] = self._record(name)
            elif kind == "load":
                self._known[key] = None  # not followed: who asks looks at the leases themselves
            elif kind == "ledger":
                self._known[key] = self._standing.ledger
            elif kind == "intent":
                self._fold("item", name)
            elif kind in ALONE:
                self._fold(kind, name)
            else:
                raise ValueError(f"a glimpse has no {kind}")
        return self._known.setdefault(key, None)

    def _fold(self, kind: str, name: str) -> None:
        """Fold one stream up to the event that is looked at, with all facts that it makes."""
        facts: dict[Key, Fact | None] = {(kind, name): None}
        for recorded in self._events(stream_of(kind, name)):
            facts.update(alone_facts(facts, recorded))
        kept = (kind, "triage", "intent") if kind == "item" else (kind,)
        self._known.update({key: fact for key, fact in facts.items() if key[0] in kept})

    def _events(self, stream: str) -> Iterable[Recorded]:
        after = 0
        while chunk := self._tx.stream(stream, after, PAGE):
            for recorded in chunk:
                if recorded.seq > self._seq:
                    return
                yield recorded
            after = chunk[-1].version

    def _run(self, name: str) -> Run | None:
        """A run: a live one is followed; one that was over by then never changed again."""
        if name in self._standing.runs:
            return self._standing.runs[name]
        found = self._tx.load([("run", name)])["run", name]
        if not isinstance(found, Run) or found.status is not RunStatus.STOPPED:
            return None
        return found if found.stopped_seq <= self._seq else None

    def _entry(self, name: str) -> Fact | None:
        """A settled entry: one that was chosen by then and was live no more."""
        run_name, _, number = name.rpartition("/")
        run = self._one(("run", run_name))
        if not isinstance(run, Run) or int(number) > run.chosen:
            return None
        if any(entry_id(run.id, entry.number) == name for entry in run.live):
            return None
        return self._tx.load([("run-entry", name)])["run-entry", name]

    def _record(self, name: str) -> Fact | None:
        present: Any = self._tx.load([("triage", name)])["triage", name]
        if present is None:
            return None
        self._one(("item", present.item))
        return self._known.get(("triage", name))

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Ids of facts that were there by then."""
        if kind == "run":
            names = sorted(f"RUN-{n}" for n in range(1, self._standing.run_count + 1))
            return [name for name in names if name > after][:limit]
        found = self._tx.names(kind, after, limit)
        return [name for name in found if self._one((kind, name)) is not None]

    def at_seq(self, seqs: Iterable[int]) -> dict[int, Recorded]:
        """Single events by seq, as far as they had happened."""
        return self._tx.at_seq([seq for seq in seqs if seq <= self._seq])

    def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Bytes of blobs that are still kept."""
        return self._tx.blobs(digests)

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """Events of one stream by version, as far as they had happened."""
        return [r for r in self._tx.stream(stream, after, limit) if r.seq <= self._seq]
