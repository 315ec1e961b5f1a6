"""Folds of what rules effect work: validation rules, policies, destinations, capacity, rechecks.

A document's label stands for one content for ever, so its stream has one event. Which label is in
force is a pointer (``current``) that a later registration moves on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from remit.core import effect_events as e
from remit.core.change import changed
from remit.core.effect_facts import AdmissionPolicy, Capacity, Destination, Validation
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first
from remit.core.facts import LEDGER, DueRecheck, Ledger
from remit.core.fold import FoldError

Handler = Callable[[Get, Recorded, Any, Out], None]

_OWN: Final = frozenset(("label", "id", "version", "seq"))
"""Fields of a fact that its event does not name."""


def _parts(cls: Any, ev: Any) -> dict[str, Any]:
    return {f.name: getattr(ev, f.name) for f in fields(cls) if f.name not in _OWN}


def _validation(get: Get, rec: Recorded, ev: e.ValidationRegistered, out: Out) -> None:
    first(get, rec, "validation")
    parts = _parts(Validation, ev)
    out["validation", rec.entity] = Validation(label=rec.entity, version=1, seq=rec.seq, **parts)


def _policy(get: Get, rec: Recorded, ev: e.AdmissionPolicyRegistered, out: Out) -> None:
    first(get, rec, "policy")
    parts = _parts(AdmissionPolicy, ev)
    out["policy", rec.entity] = AdmissionPolicy(label=rec.entity, version=1, seq=rec.seq, **parts)
    out["current", "policy"] = rec.entity
    for work_class in ev.classes:
        out["current", f"policy/{work_class}"] = rec.entity


def _destination(get: Get, rec: Recorded, ev: e.DestinationRegistered, out: Out) -> None:
    first(get, rec, "destination")
    parts = _parts(Destination, ev)
    out["destination", rec.entity] = Destination(label=rec.entity, version=1, seq=rec.seq, **parts)
    out["current", f"destination/{ev.name}"] = rec.entity


def _capacity(get: Get, rec: Recorded, ev: e.CapacityObserved, out: Out) -> None:
    first(get, rec, "capacity")
    parts = _parts(Capacity, ev)
    out["capacity", rec.entity] = Capacity(id=rec.entity, version=1, seq=rec.seq, **parts)
    add(get, out, "counter", "capacity", 1)
    pointer = f"capacity/{ev.work_class}"
    name = get("current", pointer)
    newest = get("capacity", name) if isinstance(name, str) else None
    if not isinstance(newest, Capacity) or _follows(ev, newest, rec):
        out["current", pointer] = rec.entity


def _follows(ev: e.CapacityObserved, newest: Capacity, rec: Recorded) -> bool:
    """Whether it takes the place of the newest one; one that claims the future gives way at once."""
    return ev.observed_at >= newest.observed_at or newest.observed_at > rec.at


def _ledger(get: Get, rec: Recorded) -> Ledger:
    ledger = get(*LEDGER)
    if not isinstance(ledger, Ledger) or ledger.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow")
    return ledger


def _due(get: Get, rec: Recorded, ev: e.RechecksDue, out: Out) -> None:
    """From the front again, also where an earlier round was still on its way."""
    ledger = _ledger(get, rec)
    rest = tuple(d for d in ledger.rechecks if d.trigger != ev.trigger)
    due = DueRecheck(ev.trigger, "", ev.horizon)
    out[LEDGER] = changed(ledger, version=rec.version, rechecks=(*rest, due))


def _rechecked(get: Get, rec: Recorded, ev: e.HoldsRechecked, out: Out) -> None:
    ledger = _ledger(get, rec)
    left = tuple(
        changed(due, through=ev.through, left=due.left - ev.looked_at)
        if due.trigger == ev.trigger
        else due
        for due in ledger.rechecks
        if due.trigger != ev.trigger or not ev.finished
    )
    out[LEDGER] = changed(ledger, version=rec.version, rechecks=left)


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.ValidationRegistered: _validation,
    e.AdmissionPolicyRegistered: _policy,
    e.DestinationRegistered: _destination,
    e.CapacityObserved: _capacity,
    e.RechecksDue: _due,
    e.HoldsRechecked: _rechecked,
}
