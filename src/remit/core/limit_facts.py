"""Facts of limits: what a scope may use, and what it has used (INV-11, INV-12).

A scope is ``ledger``, ``class/NAME``, ``tenant/NAME``, ``actor/NAME`` or ``repository/NAME``; weights
are set for ``class/NAME`` and ``lane/CLASS|TENANT``. Money is whole micro-units of whatever the
ledger's owner counts in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.status import Kind


@dataclass(frozen=True, slots=True)
class Limit:
    """What one scope may use; None is no limit of that sort.

    At most ``rate`` leases are given in each period of ``per_ms``, periods counted from 1970. A lease
    that names no reservation reserves ``reserve_micros``. ``weight`` is the share under load.
    """

    scope: str
    version: int
    concurrency: int | None
    rate: int | None
    per_ms: int
    spend_micros: int | None
    reserve_micros: int
    weight: int
    seq: int


@dataclass(frozen=True, slots=True)
class Spend:
    """What a scope has spent and reserved; ``stopped`` is the triage record that stops it."""

    settled: int
    reserved: int
    stopped: str


@dataclass(frozen=True, slots=True)
class Rate:
    """How many leases a scope was given in the period that begins at ``begins`` (microseconds)."""

    begins: int
    count: int


NO_SPEND: Final = Spend(0, 0, "")

REPOSITORY: Final = "repository/main"
"""The one repository that a ledger's delivery work is for."""


def scopes_of(work_class: str, tenant: str, actor: str, kind: Kind) -> tuple[str, ...]:
    """The scopes of a lease, the widest first."""
    scopes = ("ledger", f"class/{work_class}", f"tenant/{tenant}", f"actor/{actor}")
    return (*scopes, REPOSITORY) if kind is Kind.DELIVERY else scopes


def period_of(now: int, per_ms: int) -> int:
    """When the period began that ``now`` lies in, in microseconds."""
    return now - now % (per_ms * 1_000)


def outstanding(reserved: int, charged: int) -> int:
    """What is still set aside of a reservation of which so much was charged."""
    return max(0, reserved - charged)


def charge_of(item: str, fence: int) -> str:
    """The id of the fact that says what the attempt under a fence was charged."""
    return f"{item}/{fence}"
