"""Meddling: what others do while somebody works, at the moments that the scenario gives.

It is the same on both sides, and goes through the operations like everything else. What is refused on
one side is refused on the other, or the difference shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remit.core import commands as c
from remit.core.facts import Triage
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.proofs.parity.scenario import Act
from remit.proofs.parity.world import HUMAN, RIVAL, WORKER, World
from remit.service.adoption import adopt
from remit.service.operations import lease_of

RAISED: Final = 1 << 40
"""A limit on spend that nothing here reaches."""


class Meddler:
    """The others of one world. ``called`` is told when somebody wants the drain to end, and how."""

    def __init__(self, world: World, called: Callable[[str], None] = lambda how: None) -> None:
        self.world = world
        self._called = called
        self._todo: list[tuple[int, int, Act, str]] = [
            (act.at_us, number, act, act.what) for number, act in enumerate(world.scenario.acts)
        ]
        self._todo.sort(key=lambda one: one[:2])
        self._fences: dict[int, int] = {}

    def due(self) -> int | None:
        """When the next of them does something."""
        return self._todo[0][0] if self._todo else None

    def happen(self) -> None:
        """Let the next of them do it."""
        _, number, act, what = self._todo.pop(0)
        done = getattr(self, f"_{what.replace('-', '_')}")
        done(number, act)

    def _later(self, number: int, act: Act, what: str) -> None:
        self._todo.append((act.at_us + act.lasts_us, number, act, what))
        self._todo.sort(key=lambda one: one[:2])

    def _item(self, act: Act) -> str:
        return self.world.items[act.thing % len(self.world.items)]

    def _kill_switch(self, number: int, act: Act) -> None:
        self.world.operations(HUMAN).engage_kill_switch("stop")
        if act.lasts_us:
            self._later(number, act, "switch-off")

    def _switch_off(self, number: int, act: Act) -> None:
        self.world.operations(HUMAN).release_kill_switch("go on")

    def _cancel(self, number: int, act: Act) -> None:
        close = c.CloseItem(self._item(act), "cancelled", c.Text("not wanted"))
        self.world.operations(HUMAN).close(close)

    def _adopt(self, number: int, act: Act) -> None:
        adopt(self.world.operations(HUMAN), "put back")

    def _requeue(self, number: int, act: Act) -> None:
        self._resolve(act, "requeue")

    def _reverify(self, number: int, act: Act) -> None:
        self._resolve(act, "reverify")

    def _resolve(self, act: Act, resolution: str) -> None:
        """Settle every open record of an item; what a record does not allow is refused."""
        for record in self.world.item(self._item(act)).triage:
            with self.world.store.read() as tx:
                found = tx.load([("triage", record)])["triage", record]
            if isinstance(found, Triage) and found.open:
                settle = c.ResolveTriage(record, resolution, "looked at")
                self.world.operations(HUMAN).resolve(settle)

    def _rival(self, number: int, act: Act) -> None:
        """Somebody else takes an item by hand, and hands it back or never comes again."""
        answer = self.world.operations(RIVAL).lease(c.GrantLease(self._item(act)))
        if not isinstance(answer, Refused):
            self._fences[number] = lease_of(answer).fence
            if act.lasts_us:
                self._later(number, act, "rival-leaves")

    def _rival_leaves(self, number: int, act: Act) -> None:
        fence = self._fences[number]
        self.world.operations(RIVAL).release(c.ReleaseLease(self._item(act), fence, "not for me"))

    def _cycle(self, number: int, act: Act) -> None:
        """Somebody would have everything wait on everything."""
        name = self._item(act)
        for other in self.world.items:
            self.world.operations(HUMAN).add_dependency(c.AddDependency(name, other))

    def _budget(self, number: int, act: Act) -> None:
        """There is a limit on what the worker may spend, and it is low."""
        spend = max(1, 2 * self.world.scenario.reserve)
        limit = c.SetLimit(f"actor/{WORKER}", spend_micros=spend)
        self.world.operations(HUMAN).set_limit(limit)

    def _raise(self, number: int, act: Act) -> None:
        limit = c.SetLimit(f"actor/{WORKER}", spend_micros=RAISED)
        self.world.operations(HUMAN).set_limit(limit)

    def _stop(self, number: int, act: Act) -> None:
        """Somebody wants whoever works to end: at once, or when what was begun is done."""
        self._called("now" if act.lasts_us else "finish")

    def _note(self, number: int, act: Act) -> None:
        self.world.operations(HUMAN).note(c.AddNote(self._item(act), c.Text("seen")))

    def _review(self, number: int, act: Act) -> None:
        """A person reviews what waits for one."""
        item = self.world.item(self._item(act))
        if item.status is Status.IN_REVIEW and item.work is not None:
            approve = self.world.thing(item.id).at(item.attempt).approve
            verdict = c.ReviewWork(item.id, approve, c.Text("read"), item.work.head)
            self.world.operations(HUMAN).review(verdict)
