"""Repeating the identical request, where that is all the look-up that there is.

A destination that enforces an idempotency key and has no look-up can still say what became of an
effect: by its answer to the very same request, under the same key. The app makes the payload again
(``app.payload``), and unless its digest is the one that was intended nothing leaves. The core decides
first whether it may (within the retention, not after a cancellation, not behind the kill switch) and
has it on record before it leaves: it is a send, and nobody knows whether the first one arrived.

Where there is a look-up, nothing is repeated: a question that cannot bring anything about is better.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from remit.core.effect_facts import Effect, Intent
from remit.core.ids import effect_key
from remit.core.reconcile import FOUND, UNAVAILABLE
from remit.ports import Store
from remit.ports.destination import Answered, Destination, Reason, Request, SendError, digest_of
from remit.service.reconciling import Repeat, Shown
from remit.workers.app import App
from remit.workers.endings import said
from remit.workers.settings import Tell

OTHER_PAYLOAD: Final = "key-stands-for-another-payload"


def repeats(
    app: App, reached: Mapping[str, Destination], store: Store, timeout_ms: int, tell: Tell
) -> dict[str, Repeat]:
    """What repeats requests, by the names of the destinations where nothing else shows an effect."""
    return {
        name: Repeating(app, there, store, timeout_ms, tell).of
        for name, there in reached.items()
        if there.enforced.idempotency_key and not there.enforced.lookup and app.payloads
    }


class Repeating:
    """The requests to one destination."""

    def __init__(
        self, app: App, there: Destination, store: Store, timeout_ms: int, tell: Tell
    ) -> None:
        self._app = app
        self._there = there
        self._store = store
        self._timeout_ms = timeout_ms
        self._tell = tell
        self._told: set[str] = set()

    def of(self, effect: Effect) -> Callable[[], Shown] | None:
        """What would repeat the request of an effect; None where it cannot be made the same."""
        made = self._app.payload_of(effect.operation)
        if made is None:
            return None
        with self._store.read() as tx:
            intent = tx.load([("intent", effect.item)])["intent", effect.item]
            if not isinstance(intent, Intent):
                return None
            kept = tx.blobs([intent.document]) if intent.document else {}
        try:
            payload = made.make(intent.envelope, kept.get(intent.document))
        except Exception as error:  # noqa: BLE001  # whatever the app's function raises
            self._not(effect, "PAYLOAD_FAULT", said(error))
            return None
        if payload.__class__ is not bytes or digest_of(payload) != effect.payload_digest:
            self._not(effect, "OTHER_PAYLOAD", "what is made now is not what was intended")
            return None
        return lambda: self._repeat(effect, intent, payload)

    def _not(self, effect: Effect, reason: str, text: str) -> None:
        """Say once for each effect why its request is not repeated."""
        if effect.id not in self._told:
            self._told.add(effect.id)
            self._tell("not-repeated", {"effect": effect.id, "reason": reason, "text": text})

    def _repeat(self, effect: Effect, intent: Intent, payload: bytes) -> Shown:
        """Send it once, with an end of its own, and say what the answer shows."""
        manifest = intent.envelope.manifest_id
        request = Request(
            effect.id,
            effect.key,
            effect.fence,
            payload,
            effect.operation,
            manifest,
            time.time_ns() // 1_000 + self._timeout_ms * 1_000,
            self._timeout_ms,
            effect_key(effect.compensates) if effect.compensates else "",
        )
        values: tuple[tuple[str, str], ...] = (("effect_id", effect.id),)
        try:
            response = self._there.send(request)
        except Answered as error:
            if error.reason is Reason.KEY_REUSED:
                return Shown(FOUND, None, values, (OTHER_PAYLOAD,), consistent=True)
            return Shown(UNAVAILABLE)
        except SendError:
            return Shown(UNAVAILABLE)
        values += (("digest", effect.payload_digest), ("receipt", response.reference[:500]))
        if manifest:
            values += (("manifest_id", manifest),)
        self._tell("repeated", {"effect": effect.id, "replayed": response.replayed})
        return Shown(FOUND, 1, values, consistent=True)
