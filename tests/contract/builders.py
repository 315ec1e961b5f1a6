"""Small ledgers for tests of stores: events and facts that fit together, with little to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from remit.core.events import Event, KillSwitchEngaged, LedgerCreated, Recorded
from remit.core.facts import (
    Dependency,
    DependencyKind,
    EdgeState,
    Fact,
    Hold,
    Item,
    Key,
    Lease,
    Plan,
    Triage,
)
from remit.core.item_events import NoteAdded
from remit.core.status import Kind, Status
from remit.ports import Blob, Change, Store, WriteTx

T0 = 1_700_000_000_000_000
"""Where fake wall clocks start, in microseconds."""


class Hands:
    """Clocks that a test sets by hand."""

    def __init__(self) -> None:
        self.boot, self.up, self.wall = "boot-1", 1_000_000, T0

    def boot_id(self) -> str:
        return self.boot

    def boot_us(self) -> int:
        return self.up

    def wall_us(self) -> int:
        return self.wall

    def pass_us(self, duration: int) -> None:
        """Time goes by on all clocks."""
        self.up += duration
        self.wall += duration

    def reboot(self, wall: int) -> None:
        """The machine starts again, and somebody set its wall clock."""
        self.boot, self.up, self.wall = f"{self.boot}'", 0, wall


def item(number: int, status: Status = Status.DRAFT, version: int = 1, **changes: Any) -> Item:
    """An item whose parts agree; ``changes`` are its attributes."""
    lease = None
    if status is Status.LEASED:
        lease = Lease(f"L-{number}.1", f"W-{number}", 1, "bob", T0, 900_000, T0 + number, number)
    values: dict[str, Any] = {
        "id": f"W-{number}",
        "version": version,
        "number": number,
        "kind": Kind.DELIVERY,
        "status": status,
        "title": f"title {number}",
        "text": "",
        "priority": 2,
        "work_class": "default",
        "tenant": "default",
        "alias": "",
        "plan": Plan("G-1", ("R-1",), ("V-1",), ("**",), (), "", False, 1, 1),
        "gate": "",
        "hold": Hold("WAITING", "admission", "time") if status is Status.HELD else None,
        "dependencies": (),
        "links": (),
        "unmet": 0,
        "ready_at": T0,
        "rank": T0,
        "attempt": 0,
        "counted": 0,
        "reported": False,
        "lease": lease,
        "holders": (),
        "work": None,
        "results": (),
        "triage": (),
        "triaged_from": None,
        "outcome": None,
        "successor": "",
        "source": None,
        "created_at": T0,
        "changed_at": T0,
    }
    return Item(**{**values, **changes})


def edge(
    via: str,
    state: EdgeState = EdgeState.UNMET,
    kind: DependencyKind = DependencyKind.BLOCKS,
    target: str = "",
) -> Dependency:
    """A dependency that is judged by ``via``."""
    return Dependency(target or via, kind, state, via)


def record(tx: WriteTx, stream: str, version: int, event: Event, **more: Any) -> Recorded:
    """An event at the transaction's time, after its head."""
    values = {"actor": "bob", "assurance": "asserted", "at": tx.now(), **more}
    return Recorded(tx.head().seq + 1, stream, version, event=event, **values)


def begin(store: Store) -> None:
    """The first event of a ledger."""
    with store.write() as tx:
        tx.append([record(tx, "ledger", 1, LedgerCreated(store.ledger_id, 1))])


def note(store: Store, stream: str, version: int, text: str = "", **more: Any) -> Recorded:
    """One event in one transaction."""
    with store.write() as tx:
        recorded = record(tx, stream, version, NoteAdded(text, ""), **more)
        tx.append([recorded])
    return recorded


def put(store: Store, facts: Mapping[Key, Fact] | Sequence[Item]) -> None:
    """Facts that were not there."""
    if not isinstance(facts, Mapping):
        facts = {("item", one.id): one for one in facts}
    with store.write() as tx:
        tx.write([Change(key, None, fact) for key, fact in facts.items()])


def blob(text: bytes, salt: bytes = b"0123456789abcdef") -> Blob:
    """A blob under its digest."""
    return Blob(sha256(salt + text).digest(), salt, text)


def triage(number: int, *, open_: bool, seq: int) -> Triage:
    """A triage record."""
    return Triage(f"TR-{number}", "W-1", "ambiguity", open_, seq, "" if open_ else "done")


def flip(reason: str = "") -> KillSwitchEngaged:
    """An event of the ledger's own stream."""
    return KillSwitchEngaged(reason)
