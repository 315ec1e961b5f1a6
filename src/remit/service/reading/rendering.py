"""How facts and events look to programs: plain values with the names of the interface.

Nothing here is neutralised: text from outside is data, and whoever shows it to people makes it safe.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remit.core.events import Recorded
    from remit.core.facts import Dependency, Item, Lease

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(micros: int) -> str:
    """A point in time as RFC 3339 in UTC with microseconds: ``2026-01-02T03:04:05.000006Z``."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"+{micros}us"
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def plain(value: Any) -> Any:
    """A fact, event or part of one as dictionaries, lists, strings and numbers."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name.rstrip("_"): plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.hex()
    return value


def event(recorded: Recorded) -> dict[str, Any]:
    """An event with its place on the ledger."""
    return {
        "seq": recorded.seq,
        "stream": recorded.stream,
        "stream_version": recorded.version,
        "type": type(recorded.event).__name__,
        "actor": recorded.actor,
        "assurance": recorded.assurance,
        "at": rfc3339(recorded.at),
        "command_id": recorded.command_id or None,
        "payload": plain(recorded.event),
    }


def lease(found: Lease) -> dict[str, Any]:
    """A lease as the interface names it."""
    return {
        "id": found.id,
        "item": found.item,
        "attempt": found.attempt,
        "actor": found.actor,
        "fence": found.fence,
        "ttl_ms": found.ttl_ms,
        "acquired_at": rfc3339(found.acquired_at),
        "expires_at": rfc3339(found.expires_at),
    }


def dependency(edge: Dependency) -> dict[str, Any]:
    """One edge of an item."""
    return {
        "target": edge.target.removeprefix("?"),
        "kind": edge.kind.value,
        "state": edge.state.value,
        "via": edge.via.removeprefix("?"),
        "resolved": not edge.target.startswith("?"),
    }


def summary(item: Item, title: str) -> dict[str, Any]:
    """What lists show of an item."""
    owner = item.owner
    return {
        "id": item.id,
        "work_id": item.alias or None,
        "title": title,
        "kind": item.kind.value,
        "status": item.status.value,
        "priority": item.priority,
        "class": item.work_class,
        "tenant": item.tenant,
        "owner": {"kind": owner.kind.value, "identity": owner.identity} if owner else None,
        "gate": item.gate or None,
        "hold": plain(item.hold),
        "unmet": item.unmet,
        "lease": lease(item.lease) if item.lease else None,
        "attempt": item.attempt,
        "outcome": item.outcome.value if item.outcome else None,
        "successor": item.successor or None,
        "triage": list(item.triage),
        "observed_commit_sha": (item.work.shipped or None) if item.work else None,
        "imported": item.source is not None,
        "created_at": rfc3339(item.created_at),
        "changed_at": rfc3339(item.changed_at),
    }
