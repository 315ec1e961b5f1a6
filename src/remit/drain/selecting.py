"""Selecting: which item a run takes next, in the order in which leases would be given.

First comes what an earlier run left approved (``left_approved``): it needs no agent, only to land.

The order is the ledger's own, with its turns of classes and tenants, so a run jumps no queue and
nothing waits for ever behind it (INV-12). What this run has at hand, or was refused, is passed over; how
much is looked at is bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from remit.core.facts import Item
from remit.core.status import Kind, Status
from remit.ports import ItemQuery, ReadTx
from remit.service.reading.items import load_items, ready

WINDOW: Final = 200
"""How many ready items one look goes through beside those that are passed over."""


def in_order(tx: ReadTx, limit: int, work_class: str = "", tenant: str = "") -> Iterator[Item]:
    """Ready delivery work in lease order, of one class or tenant where one is named."""
    named = [entry["id"] for entry in ready(tx, limit)["items"]]
    for item in load_items(tx, named):
        fits = work_class in ("", item.work_class) and tenant in ("", item.tenant)
        if fits and item.kind is not Kind.EFFECT:
            yield item


def left_approved(
    tx: ReadTx, actor: str, work_class: str = "", tenant: str = ""
) -> tuple[list[Item], list[Item]]:
    """Approved delivery work that this actor did, the oldest first, of one class or tenant if named.

    The second list has what waits as a pull request: people merge it when they like, so it must not
    use up what a run may choose, and is looked at when nothing else is ready. What others did may
    wait for a reason of theirs, and is left to them.
    """
    names = tx.items(ItemQuery(statuses=(Status.APPROVED.value,), limit=WINDOW))
    found = [
        item
        for item in load_items(tx, names)
        if item.kind is not Kind.EFFECT
        and actor in item.holders
        and work_class in ("", item.work_class)
        and tenant in ("", item.tenant)
    ]
    waits = [item for item in found if item.work is not None and item.work.request is not None]
    return [item for item in found if item not in waits], waits


def next_of(
    tx: ReadTx, passed: Collection[str], work_class: str = "", tenant: str = ""
) -> Item | None:
    """The first of them that is not passed over."""
    for item in in_order(tx, WINDOW + len(passed), work_class, tenant):
        if item.id not in passed:
            return item
    return None
