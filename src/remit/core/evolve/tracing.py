"""Folds of traceability: the newest judgement about each link.

Links themselves follow from the records that they join; only what somebody said of one is folded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out
from remit.core.facts import ClearedLink
from remit.core.fold import FoldError
from remit.core.trace_events import LinkCleared

Handler = Callable[[Get, Recorded, Any, Out], None]


def _cleared(get: Get, rec: Recorded, ev: LinkCleared, out: Out) -> None:
    if rec.entity != f"{ev.upper}>{ev.lower}":
        raise FoldError(rec, f"{rec.entity} is not the link from {ev.upper} to {ev.lower}")
    old = get("link", rec.entity)
    version = old.version if isinstance(old, ClearedLink) else 0
    if rec.version != version + 1:
        raise FoldError(rec, f"there is no link {rec.entity} at version {rec.version - 1}")
    out["link", rec.entity] = ClearedLink(
        rec.entity,
        rec.version,
        ev.upper_digest,
        ev.lower_digest,
        rec.actor,
        rec.assurance,
        rec.seq,
    )


HANDLERS: Final[dict[type[Event], Handler]] = {LinkCleared: _cleared}
