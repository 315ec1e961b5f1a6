"""Statuses of a work item and the twelve transitions between them, as one table (CONTRACT 5).

``move`` is the one place where a change of status is allowed or refused, for every caller and for
the fold alike (INV-4): an event whose move is not in the table cannot be decided, and one forced
into the ledger by other means stops the fold. Owners follow from the status (INV-5), so an item
that is not finished always has exactly one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.refusals import Code, Refused


class Status(StrEnum):
    """Where an item stands."""

    DRAFT = "draft"
    HELD = "held"
    READY = "ready"
    LEASED = "leased"
    IN_REVIEW = "in-review"
    APPROVED = "approved"
    SHIPPED = "shipped"
    VERIFIED = "verified"
    TRIAGED = "triaged"
    CLOSED = "closed"


class Kind(StrEnum):
    """Delivery work ends in a verified commit, effect work in an observed effect."""

    DELIVERY = "delivery"
    EFFECT = "effect"


class Outcome(StrEnum):
    """Why an item was closed without being verified."""

    REJECTED = "rejected"
    EXPIRED = "expired"
    COALESCED = "coalesced"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    IMPORTED = "imported"


class OwnerKind(StrEnum):
    """Who has to act next on an item that is not finished."""

    ADMISSION = "admission"
    RETRY = "retry"
    QUEUE = "queue"
    EXECUTION = "execution"
    REVIEW = "review"
    SHIP = "ship"
    VERIFY = "verify"
    TRIAGE = "triage"


@dataclass(frozen=True, slots=True)
class Owner:
    """Exactly one kind and one identity (INV-5)."""

    kind: OwnerKind
    identity: str


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: its name, from which statuses to which."""

    id: str
    name: str
    sources: frozenset[Status]
    targets: frozenset[Status]


def _row(name: str, tid: str, sources: tuple[Status, ...], *targets: Status) -> Transition:
    return Transition(tid, name, frozenset(sources), frozenset(targets))


_S = Status
_OPEN: Final = tuple(s for s in Status if s not in (_S.VERIFIED, _S.CLOSED))
TERMINAL: Final = frozenset((Status.VERIFIED, Status.CLOSED))

TRANSITIONS: Final[dict[str, Transition]] = {
    row.id: row
    for row in (
        _row("admit", "T01", (_S.DRAFT, _S.HELD), _S.READY),
        _row("hold", "T02", (_S.DRAFT, _S.READY), _S.HELD),
        _row("lease", "T03", (_S.READY,), _S.LEASED),
        _row("release", "T04", (_S.LEASED,), _S.READY, _S.HELD),
        _row("complete", "T05", (_S.LEASED,), _S.IN_REVIEW),
        _row("approve", "T06", (_S.IN_REVIEW,), _S.APPROVED),
        _row("reopen", "T07", (_S.IN_REVIEW, _S.APPROVED), _S.READY, _S.HELD),
        _row("ship", "T08", (_S.APPROVED, _S.LEASED, _S.HELD), _S.SHIPPED),
        _row("verify", "T09", (_S.SHIPPED,), _S.VERIFIED),
        _row("triage", "T10", tuple(s for s in _OPEN if s is not _S.TRIAGED), _S.TRIAGED),
        _row(
            "resolve",
            "T11",
            (_S.TRIAGED,),
            _S.DRAFT,
            _S.HELD,
            _S.READY,
            _S.IN_REVIEW,
            _S.APPROVED,
            _S.SHIPPED,
        ),
        _row("close", "T12", (_S.DRAFT, _S.HELD, _S.READY, _S.TRIAGED), _S.CLOSED),
    )
}
"""The twelve transitions. T08 leaves leased and held only for effect work (see ``move``)."""

ORDER: Final = {
    s: i
    for i, s in enumerate(
        (_S.DRAFT, _S.HELD, _S.READY, _S.LEASED, _S.IN_REVIEW, _S.APPROVED, _S.SHIPPED, _S.VERIFIED)
    )
}
"""How far along a status is; T11 may return to where triage came from or earlier, never later."""

_OWNERS: Final = {
    _S.DRAFT: OwnerKind.ADMISSION,
    _S.HELD: OwnerKind.ADMISSION,
    _S.READY: OwnerKind.QUEUE,
    _S.LEASED: OwnerKind.EXECUTION,
    _S.IN_REVIEW: OwnerKind.REVIEW,
    _S.APPROVED: OwnerKind.SHIP,
    _S.SHIPPED: OwnerKind.VERIFY,
    _S.TRIAGED: OwnerKind.TRIAGE,
}


def permitted(tid: str, kind: Kind, source: Status, target: Status) -> bool:
    """Whether the table has this move for this kind of work."""
    row = TRANSITIONS[tid]
    if source not in row.sources or target not in row.targets:
        return False
    if tid == "T08":
        return (source is Status.APPROVED) == (kind is Kind.DELIVERY)
    if tid in ("T05", "T06", "T07"):
        return kind is Kind.DELIVERY
    return True


def move(tid: str, item: str, kind: Kind, source: Status, target: Status) -> Refused | None:
    """Refuse a change of status that the table does not have (INV-4).

    Returns None where it is permitted, else a ``TRANSITION_REFUSED`` that names what was found.
    """
    if permitted(tid, kind, source, target):
        return None
    row = TRANSITIONS[tid]
    expected = " or ".join(sorted(row.sources))
    return Refused(
        Code.TRANSITION_REFUSED,
        f"cannot {row.name} {item}: it is {source}, expected {expected} ({tid})",
        f"see where it stands with 'remit show {item}'",
        {"item": item, "transition": tid, "from": str(source), "to": str(target)},
    )


def owner_kind(status: Status, *, retrying: bool = False) -> OwnerKind | None:
    """The one kind of owner of an item in this status; none when it is terminal (INV-5)."""
    if status is Status.HELD and retrying:
        return OwnerKind.RETRY
    return _OWNERS.get(status)
