"""Where handlers send to: the adapter of each destination, held to what the ledger says of it.

An adapter comes from the app, or from the document that was registered. It must enforce at least what
is registered: the ledger decides on those promises whether a request may still arrive and whether it
may be sent again, so an adapter that keeps less would turn a wait into a second payment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from remit.core.effect_facts import Destination as Registered
from remit.core.refusals import Code
from remit.ports import ReadTx, RemitError, Store
from remit.ports.destination import Destination, Enforced
from remit.workers.app import App

Build = Callable[[Mapping[str, Any]], Destination]
"""Makes an adapter of a document."""

Parse = Callable[[bytes, str], Mapping[str, Any]]
"""Reads the text that was registered with a label."""

FLAGS: Final = (
    "idempotency_key",
    "fence",
    "lookup",
    "lookup_consistent",
    "request_expiry",
    "receipt_authoritative",
)


def in_force(tx: ReadTx, name: str) -> Registered | None:
    """The revision of a destination that is in force, None where it was never registered."""
    label = tx.load([("current", f"destination/{name}")])["current", f"destination/{name}"]
    found = tx.load([("destination", str(label))])["destination", str(label)] if label else None
    return found if isinstance(found, Registered) else None


def name_of(tx: ReadTx, said: str) -> str:
    """The name of the destination that a label or a name stands for, empty where none does."""
    if not said:
        return ""
    found = tx.load([("destination", said)])["destination", said]
    if isinstance(found, Registered):
        return found.name
    there = in_force(tx, said)
    return there.name if there is not None else ""


def reach(store: Store, app: App, build: Build, parse: Parse) -> dict[str, Destination]:
    """The adapters of all destinations that the app's handlers name, and of those that it gives.

    Raises ``NOT_FOUND`` for one that is not registered, and ``BAD_INPUT`` for one that cannot be
    made, or that enforces less than is registered.
    """
    names = [handler.destination for handler in app.handlers if handler.destination]
    found = {}
    for name in dict.fromkeys([*names, *app.destinations]):
        with store.read() as tx:
            there = in_force(tx, name)
            text = tx.blobs([there.document]).get(there.document) if there else None
        if there is None:
            raise RemitError(
                f"cannot send to {name!r}: no destination of this name is registered",
                "register it first, then start the worker",
                {"destination": name},
                code=Code.NOT_FOUND,
            )
        adapter = _adapter(there, app.destinations.get(name), text, build, parse)
        _demand(name, there, adapter.enforced)
        found[name] = adapter
    return found


def _adapter(
    there: Registered,
    given: Destination | Mapping[str, Any] | None,
    text: bytes | None,
    build: Build,
    parse: Parse,
) -> Destination:
    if isinstance(given, Mapping):
        return build(given)
    if given is not None:
        return given
    if not text:
        raise RemitError(
            f"cannot reach {there.name!r}: its document is not kept on the ledger",
            f"give the app an adapter or a document: app.destination({there.name!r}, …)",
            {"destination": there.name},
            code=Code.BAD_INPUT,
        )
    return build(parse(text, there.label))


def _demand(name: str, there: Registered, kept: Enforced) -> None:
    faults = overclaims(Enforced.of(there), kept)
    if faults:
        raise RemitError(
            f"cannot send to {name!r}: {there.label} says more than its adapter keeps: "
            + "; ".join(faults),
            "register what it enforces under a new label, or mend the adapter",
            {"destination": name, "label": there.label, "faults": faults},
            code=Code.BAD_INPUT,
        )


def overclaims(said: Enforced, kept: Enforced) -> list[str]:
    """What is said to be enforced and is not."""
    faults = [
        f"{flag} is registered, and not enforced"
        for flag in FLAGS
        if getattr(said, flag) and not getattr(kept, flag)
    ]
    if said.record != kept.record:
        faults.append(f"record is {said.record!r}, the adapter's is {kept.record!r}")
    if said.idempotency_key and _shorter(kept.key_retention_ms, said.key_retention_ms):
        faults.append(f"key_retention_ms is {said.key_retention_ms}, kept {kept.key_retention_ms}")
    if said.in_flight_ms is not None and _shorter(said.in_flight_ms, kept.in_flight_ms):
        faults.append(f"in_flight_ms is {said.in_flight_ms}, the adapter's {kept.in_flight_ms}")
    if said.lookup and said.lookup_lag_ms < kept.lookup_lag_ms:
        faults.append(f"lookup_lag_ms is {said.lookup_lag_ms}, the adapter's {kept.lookup_lag_ms}")
    return faults


def _shorter(one: int | None, other: int | None) -> bool:
    """Whether one time is shorter than another; None is for ever."""
    return one is not None and (other is None or one < other)
