"""Reading what is known of capacity, and the documents that are in force.

An observation is told with its age now and how many admissions have used it, so that a reader sees
what a verdict would see.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.effect_facts import AdmissionPolicy, Capacity, Destination, Validation
from remit.ports import ReadTx
from remit.service.reading import rendering

PAGE: Final = 1_000

KINDS: Final = ("validation", "policy", "destination")


def observation(tx: ReadTx, name: str) -> dict[str, Any]:
    """One observation, its age in milliseconds, and how many ADMITs it was debited with."""
    facts = tx.load([("capacity", name), ("debit", name)])
    fact, debit = facts["capacity", name], facts["debit", name]
    assert isinstance(fact, Capacity), "asked for an observation that is there"
    shown: dict[str, Any] = rendering.plain(fact)
    shown["observed_at"] = rendering.rfc3339(fact.observed_at)
    shown["age_ms"] = (tx.now() - fact.observed_at) // 1_000
    shown["admitted"] = debit if isinstance(debit, int) else 0
    return shown


def newest(tx: ReadTx, limit: int) -> dict[str, Any]:
    """The newest observation of each work class, by class."""
    names = [name for name in _names(tx, "current") if name.startswith("capacity/")]
    cut = names[:limit] if limit else names
    pointers = tx.load([("current", name) for name in cut])
    found = [observation(tx, str(pointers["current", name])) for name in cut]
    return {"observations": found, "total": len(names), "truncated": len(names) > len(cut)}


def in_force(tx: ReadTx, limit: int) -> dict[str, Any]:
    """Documents in force: policies by class, destinations by name, and all validation rules."""
    found: list[dict[str, Any]] = []
    for name in _names(tx, "current"):
        kind, _, of = name.partition("/")
        if of and kind in ("policy", "destination"):
            label = str(tx.load([("current", name)])["current", name])
            found.append(_document(tx, kind, of, label))
    found += [_document(tx, "validation", "", label) for label in _names(tx, "validation")]
    cut = found[:limit] if limit else found
    return {"documents": cut, "total": len(found), "truncated": len(found) > len(cut)}


def _document(tx: ReadTx, kind: str, of: str, label: str) -> dict[str, Any]:
    fact = tx.load([(kind, label)])[kind, label]
    assert isinstance(fact, AdmissionPolicy | Destination | Validation), "a pointer leads to one"
    shown: dict[str, Any] = rendering.plain(fact)
    return {"kind": kind, "of": of, **shown}


def _names(tx: ReadTx, kind: str) -> list[str]:
    found: list[str] = []
    while page := tx.names(kind, found[-1] if found else "", PAGE):
        found += page
    return found
