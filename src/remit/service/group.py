"""Group commit: calls of many threads in one process share a transaction, and so a flush of the disk.

A commit that survives power loss costs a flush, whatever it holds. So threads that ask at the same
time are served together: one of them, the leader, takes what everybody is waiting for, runs it as one
list, and hands each its own answers. The calls are decided one after the other on the same view, as
in any list, so nobody's call depends on having company.

A fault in one call fails that call alone: if a shared transaction could not be written for a reason
that is not the store's, nothing of it is, and each member's calls run again by themselves. An unknown
commit is unknown for all of them (INV-9).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from remit.ports import LedgerCorrupt, OutcomeUnknown, Store, StoreUnavailable
from remit.service.engine import MOST, Answer, Call, Engine

NO_WAIT: Final = 0.0
"""A leader that waits for nobody: whoever comes while it works is in the next group."""


@dataclass(slots=True, eq=False)
class _Member:
    """One thread's calls, and what became of them."""

    calls: Sequence[Call]
    answers: list[Answer] = field(default_factory=list)
    error: BaseException | None = None
    settled: bool = False
    leads: bool = False
    turn: threading.Event = field(default_factory=threading.Event)
    """Set once its calls are settled, or once it leads."""


class GroupEngine(Engine):
    """An engine that joins the calls of its threads.

    ``wait_s`` is how long a leader waits for others to join it, in seconds; that is the most that a
    call is delayed for the sake of company. ``groups`` and ``grouped_calls`` count what was joined.
    """

    def __init__(self, store: Store, wait_s: float = NO_WAIT) -> None:
        super().__init__(store)
        self._wait_s = wait_s
        self._gate = threading.Lock()
        self._lead = threading.Lock()
        self._waiting: list[_Member] = []
        self._led = False
        self._company = threading.Condition(self._gate)
        self.groups = 0
        self.grouped_calls = 0

    def run(
        self,
        calls: Sequence[Call],
        *,
        atomic: bool = False,
        urgent: bool = False,
        adopting: bool = False,
    ) -> list[Answer]:
        """Like ``Engine.run``; lists that are atomic, urgent or adopting go by themselves."""
        if atomic or urgent or adopting or len(calls) >= MOST:
            with self._lead:
                return super().run(calls, atomic=atomic, urgent=urgent, adopting=adopting)
        if self._wait_s == 0 and self._alone():
            try:  # nobody to join: who comes now is the next group
                with self._lead:
                    self.groups += 1
                    self.grouped_calls += len(calls)
                    return super().run(calls)
            finally:
                with self._gate:
                    self._pass_on()
        mine = _Member(calls)
        with self._gate:
            mine.leads = not self._led
            self._led = True
            self._waiting.append(mine)
            self._company.notify()
        try:
            if not mine.leads:
                mine.turn.wait()
            if mine.leads and not mine.settled:
                with self._lead:
                    self._serve(self._gather())
        finally:
            self._hand_on(mine)
        if mine.error is not None:
            raise mine.error
        return mine.answers

    def _alone(self) -> bool:
        """Take the lead where nobody has it; whoever has none waits, so nobody waits then."""
        with self._gate:
            free = not self._led
            self._led = True
        return free

    def _hand_on(self, mine: _Member) -> None:
        """Leave, and pass the lead on where this member has it."""
        with self._gate:
            if mine in self._waiting:  # it was broken off while it waited
                self._waiting.remove(mine)
            if mine.leads:
                self._pass_on()

    def _pass_on(self) -> None:
        """Let the next in line lead, who would else wait behind those that are settled already."""
        self._led = bool(self._waiting)
        if self._led:
            self._waiting[0].leads = True
            self._waiting[0].turn.set()

    def _gather(self) -> list[_Member]:
        """Everybody who waits, oldest first, up to the size of one transaction."""
        with self._gate:
            if self._wait_s > 0 and len(self._waiting) == 1:
                self._company.wait(self._wait_s)
            group: list[_Member] = []
            size = 0
            while self._waiting and (not group or size + len(self._waiting[0].calls) <= MOST):
                member = self._waiting.pop(0)
                size += len(member.calls)
                group.append(member)
            self.groups += 1
            self.grouped_calls += size
            return group

    def _serve(self, group: list[_Member]) -> None:
        flat = [call for member in group for call in member.calls]
        try:
            answers = iter(super().run(flat))
            for member in group:
                member.answers = [next(answers) for _ in member.calls]
        except (StoreUnavailable, OutcomeUnknown, LedgerCorrupt) as error:
            for member in group:
                member.error = error
        except Exception as error:  # noqa: BLE001  # whose fault it is shows when each runs alone
            if len(group) == 1:
                group[0].error = error
            else:
                for member in group:
                    self._serve([member])
        finally:
            for member in group:
                if member.error is None and len(member.answers) != len(member.calls):
                    member.error = OutcomeUnknown(
                        "the group that this call was in was broken off",
                        "repeat it with the same command id",
                    )
                member.settled = True
                member.turn.set()
