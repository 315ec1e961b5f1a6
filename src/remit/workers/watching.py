"""What a worker does for others between its jobs: times that have come, and effects that are due.

Leases that ran out and holds whose time has come are noticed by whoever writes; a worker that only
waits writes nothing, so it looks, and writes where something is overdue. With ``--reconcile`` it also
looks effects up, under the built-in reconciler and never as the holder, in the destinations that it
can reach; what is due elsewhere is left to somebody else.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Final

from remit.core.effect_events import EffectObserved
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.ports.destination import Destination
from remit.service.operations import Operations
from remit.service.reconciling import Reconciler, Repeat
from remit.wiring.reaching import lookup
from remit.workers.endings import said
from remit.workers.settings import Tell

BATCH: Final = 100
"""Most effects of one round."""

SHORTEST_S: Final = 0.1
LONGEST_S: Final = 2.0
"""Pauses between rounds, the longer the less there is to do."""


class Watcher:
    """Reconciles in a thread of its own, so that a slow record holds no job up."""

    def __init__(
        self,
        operations: Operations,
        reached: Mapping[str, Destination],
        timeout_ms: int,
        tell: Tell,
        repeats: Mapping[str, Repeat] | None = None,
    ) -> None:
        self._reconciler = Reconciler(
            operations.store,
            {name: lookup(adapter, timeout_ms) for name, adapter in reached.items()},
            lambda: random.getrandbits(32),
            operations=operations,
            repeats=repeats,
            given_only=True,
        )
        self._tell = tell
        self._why: dict[str, str] = {}
        self._turn = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remit-watcher", daemon=True)
        self._thread.start()

    def round(self) -> int:
        """Look up what is due; returns how many effects that were."""
        with self._turn:
            answers = self._reconciler.due(BATCH)
        for name, answer in answers:
            if isinstance(answer, Refused):
                self._tell("look-up-refused", {"effect": name, "code": str(answer.code)})
                continue
            for recorded in answer.events:
                if isinstance(recorded.event, EffectObserved):
                    why = self._reconciler.unread.get(name, "")
                    self._told(name, str(recorded.event.state), why)
        return len(answers)

    def _told(self, effect: str, state: str, why: str) -> None:
        self._tell("observed", {"effect": effect, "state": state})
        if why and self._why.get(effect) != why:  # each reason once, however often it is looked up
            self._tell("unread", {"effect": effect, "text": why})
        if why:
            self._why[effect] = why
        else:
            self._why.pop(effect, None)

    def stop(self) -> None:
        """End after the round that is under way."""
        self._stopped.set()
        self._thread.join(5)

    def _run(self) -> None:
        pause = SHORTEST_S
        while not self._stopped.wait(pause * random.uniform(0.5, 1.0)):  # noqa: S311  # jitter
            try:
                found = self.round()
            except (StoreUnavailable, OutcomeUnknown) as error:
                self._tell("store-away", {"text": said(error)})
                found = 0
            except Exception as error:  # noqa: BLE001  # without this thread nothing is looked up
                code = str(getattr(error, "code", Code.UNEXPECTED))
                self._tell("fault", {"item": "", "code": code, "text": said(error)})
                found = 0
            pause = SHORTEST_S if found else min(2 * pause, LONGEST_S)
