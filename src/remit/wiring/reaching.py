"""Wiring of destinations: from documents to adapters, and from adapters to what reconciles.

A destination's document says what it is called, how it is reached and what it enforces. What it
enforces is taken from its adapter, which refuses claims that it cannot keep.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remit.core.change import changed
from remit.core.decide.ledger import RECONCILER
from remit.core.effect_commands import RegisterDestination
from remit.core.effect_facts import Destination as Registered
from remit.core.ids import effect_key
from remit.core.refusals import Code
from remit.documents.marked import Problem
from remit.documents.rulings import Ruling
from remit.documents.rulings import rulings as read
from remit.ports import RemitError
from remit.ports.destination import Destination, LookUp
from remit.service.reading.capacity import in_force
from remit.service.reconciling import Lookup, Question, Reconciler, Shown
from remit.wiring import destination, enforced

if TYPE_CHECKING:
    from remit.wiring import Ledger


def rulings(data: bytes) -> tuple[list[Ruling], list[Problem]]:
    """Policies, validation rules and destinations of a text, and every problem of it."""
    found, problems = read(data)
    for i, ruling in enumerate(found):
        if ruling.reach is None or not isinstance(ruling.command, RegisterDestination):
            continue
        at, fact = ruling.at, ruling.command.destination
        try:
            kept = enforced(ruling.reach).registered(
                fact.label, fact.name, fact.digest, fact.document
            )
        except RemitError as wrong:
            faults = wrong.details.get("faults", [{"path": "$", "expected": wrong.message}])
            problems += (
                [Problem(at.line, at.column, "$", wrong.message)]
                if not faults
                else [
                    Problem(at.line, at.column, str(f.get("path", "$")), _fault(f)) for f in faults
                ]
            )
            continue
        command = RegisterDestination(changed(kept, digest=fact.digest))
        found[i] = replace(ruling, command=command)
    return found, problems


def _fault(fault: Mapping[str, Any]) -> str:
    return f"found {fault.get('found', '')}, expected {fault.get('expected', '')}"


def destinations_in_force(ledger: Ledger) -> dict[str, Destination]:
    """The adapters of all destinations in force whose documents say how they are reached, by name.

    Raises ``BAD_INPUT`` where a document names an environment variable that is not set.
    """
    with ledger.reading() as tx:
        names = [d["label"] for d in in_force(tx, 0)["documents"] if d["kind"] == "destination"]
        facts = tx.load([("destination", name) for name in names])
        registered = [f for f in facts.values() if isinstance(f, Registered) and f.document]
        texts = tx.blobs([f.document for f in registered])
    found: dict[str, Destination] = {}
    for fact in registered:
        for ruling in read(texts.get(fact.document, b""))[0]:
            if (ruling.kind, ruling.label) == ("destination", fact.label) and ruling.reach:
                found[fact.name] = destination(ruling.reach)
    return found


def document_of(text: bytes, label: str) -> Mapping[str, Any]:
    """How the destination of a label is reached, from the text that was registered with it.

    That is the document of this label in a file of documents, or the adapter's own document as JSON.
    Raises ``BAD_INPUT`` where the text says neither.
    """
    for ruling in read(text)[0]:
        if (ruling.kind, ruling.label) == ("destination", label) and ruling.reach:
            return ruling.reach
    try:
        found: Any = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict) and "kind" in found:
        return found
    raise RemitError(
        f"cannot reach the destination {label!r}: its document does not say how",
        "register one with a kind and settings under a new label",
        {"label": label},
        code=Code.BAD_INPUT,
    )


def lookup(adapter: Destination, timeout_ms: int = 30_000) -> Lookup:
    """How the reconciler asks one destination, each question bounded in time."""

    def ask(question: Question) -> Shown:
        # On the ledger a compensation names the effect that it undoes, outside that effect's key.
        undone = effect_key(question.compensates) if question.compensates else ""
        seen = adapter.look_up(
            LookUp(
                question.effect_id,
                question.key,
                question.operation,
                question.manifest_id,
                question.fence,
                timeout_ms,
                undone,
            )
        )
        return Shown(
            str(seen.result),
            seen.objects,
            seen.values,
            seen.differences,
            seen.consistent,
            seen.confirmed_fence,
            seen.reason,
        )

    return ask


def reconciler(ledger: Ledger) -> Reconciler:
    """What looks effects up in the destinations in force, over their adapters."""
    lookups = {name: lookup(adapter) for name, adapter in destinations_in_force(ledger).items()}
    operations = ledger.acting(RECONCILER)
    return Reconciler(ledger.store, lookups, lambda: secrets.randbits(32), operations=operations)
