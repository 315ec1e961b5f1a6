"""Watching: every command that goes through the operations, and every write that does not.

The engine is the only writer of a ledger. Here it is wrapped, so that a proof can say which operations
were accepted and in what order; and the store is wrapped, so that a write beside the engine is seen
however it came about. On the side of the drain the wrapper can lose the answer of a commit, and it
belongs to one process: once that is killed, nothing of it is answered any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from remit.core.events import Recorded
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, Store, WriteTx
from remit.proofs.parity.timing import Buried
from remit.service.engine import Answer, Call, Done, Engine


@dataclass(frozen=True, slots=True)
class Noted:
    """One command: when (microseconds since the beginning), who, what, and what came of it.

    ``seqs`` are the events that it led to; empty where it was refused or changed nothing. ``code`` is
    that of a refusal.
    """

    at: int
    actor: str
    what: str
    item: str
    command_id: str
    code: str
    repeated: bool
    streams: tuple[str, ...]
    command: Any


@dataclass(slots=True)
class Watch:
    """What was seen on one ledger. ``past`` holds the seqs that were written beside the engine."""

    noted: list[Noted] = field(default_factory=list)
    past: list[tuple[int, str]] = field(default_factory=list)
    within: int = 0

    def item_operations(self) -> dict[str, list[str]]:
        """By item, the accepted operations that left an event on its stream, in order."""
        found: dict[str, list[str]] = {}
        for one in self.noted:
            if one.repeated or one.code:
                continue
            for stream in one.streams:
                if stream.startswith("W-"):
                    found.setdefault(stream, []).append(f"{one.what} by {one.actor}")
        return found


class WatchedStore:
    """A store whose writes beside the engine are noted; all else is the store's own."""

    def __init__(self, store: Store, watch: Watch) -> None:
        self._store = store
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        """Everything else."""
        return getattr(self._store, name)

    @contextmanager
    def write(self, **how: bool) -> Iterator[WriteTx]:
        """The writer, and what it wrote if nobody was within the engine."""
        with self._store.write(**how) as tx:
            yield tx if self._watch.within else cast(WriteTx, _Noting(tx, self._watch))


class _Noting:
    """A writer's transaction that notes what is appended past the operations."""

    def __init__(self, tx: WriteTx, watch: Watch) -> None:
        self._tx = tx
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def append(self, events: Sequence[Recorded]) -> None:
        """Append, and note it."""
        self._watch.past += [(r.seq, r.stream) for r in events]
        self._tx.append(events)


class WatchedEngine(Engine):
    """An engine that says what it was asked.

    ``lose`` says of the so-many-th call of this world whether its answer is lost: 1 after the commit,
    -1 so that nothing was committed, 0 not at all. ``alive`` says whether the process that calls is
    still there.
    """

    def __init__(
        self,
        store: Store,
        watch: Watch,
        now: Callable[[], int],
        *,
        lose: Callable[[], int] = lambda: 0,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(store)
        self._watch = watch
        self._now = now
        self._lose = lose
        self._alive = alive

    def run(
        self,
        calls: Sequence[Call],
        *,
        atomic: bool = False,
        urgent: bool = False,
        adopting: bool = False,
    ) -> list[Answer]:
        """Run, note, and perhaps lose the answer."""
        if not self._alive():
            raise Buried
        lost = self._lose()
        if lost < 0:
            raise OutcomeUnknown("the answer was lost", "repeat with the same command id")
        self._watch.within += 1
        try:
            answers = super().run(calls, atomic=atomic, urgent=urgent, adopting=adopting)
        finally:
            self._watch.within -= 1
        for call, answer in zip(calls, answers, strict=True):
            self._watch.noted.append(_noted(self._now(), call, answer))
        if lost:
            raise OutcomeUnknown("the answer was lost", "repeat with the same command id")
        return answers


def _noted(at: int, call: Call, answer: Answer) -> Noted:
    done = answer if isinstance(answer, Done) else None
    return Noted(
        at,
        call.actor,
        type(call.command).__name__,
        str(getattr(call.command, "item", "")),
        call.command_id,
        answer.code.value if isinstance(answer, Refused) else "",
        done.repeated if done else False,
        tuple(dict.fromkeys(r.stream for r in done.events)) if done else (),
        call.command,
    )
