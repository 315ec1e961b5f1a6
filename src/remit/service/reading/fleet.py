"""The operator's read model: the whole fleet on one page, now or as of any event (INV-25).

Counts come from figures that the ledger keeps, lists from an index each, and every list is bounded and says
how much there is. Each entry names who is behind it, the event that it rests on where there is one, and
where to look on. Nothing here can change anything: it takes a snapshot of a connection that cannot write.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.facts import LEDGER, Item, Ledger, Triage
from remit.core.status import Status
from remit.ports import ItemQuery, ReadTx
from remit.service.reading.items import load_items, titles
from remit.service.reading.rendering import lease as lease_of
from remit.service.reading.rendering import rfc3339
from remit.service.reading.runs import live_first, run_summary

CLAIM_LIMIT: Final = (
    "What the ledger held after this event. It does not say that a worker is alive, that a process"
    " has ended, or what is true outside of what was observed."
)


def fleet(tx: ReadTx, limit: int) -> dict[str, Any]:
    """Counts, leases, runs, open triage, holds and the kill switch; ``limit`` 0 lists all."""
    small = tx.small()
    counts = {str(status): _figure(small.get(("count", status))) for status in Status}
    leases, held = _of(tx, Status.LEASED, limit), _of(tx, Status.HELD, limit)
    named = titles(tx, [*leases, *held])
    runs, run_total = live_first(tx, limit)
    records, open_total = _open_records(tx, limit)
    shown: dict[str, tuple[list[dict[str, Any]], int]] = {
        "leases": ([_leased(tx, item, named) for item in leases], counts["leased"]),
        "runs": ([run_summary(run) for run in runs], run_total),
        "triage": (records, open_total),
        "holds": ([_held(item, named) for item in held], counts["held"]),
    }
    head = tx.head()
    lists = {
        name: {"total": total, "truncated": total > len(found)}
        for name, (found, total) in shown.items()
    }
    return {
        "counts": {**counts, "total": sum(counts.values()), "open_triage": open_total},
        **{name: found for name, (found, _) in shown.items()},
        "lists": lists,
        "total": sum(counts.values()),
        "truncated": any(one["truncated"] for one in lists.values()),
        "kill_switch": _kill_switch(tx, small.get(LEDGER)),
        "as_of_seq": head.seq,
        "as_of": rfc3339(head.time),
        "claim_limit": CLAIM_LIMIT,
    }


def _figure(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _of(tx: ReadTx, status: Status, limit: int) -> list[Item]:
    return load_items(tx, tx.items(ItemQuery(statuses=(status.value,), limit=limit)))


def _leased(tx: ReadTx, item: Item, named: dict[str, str]) -> dict[str, Any]:
    assert item.lease is not None, "an item that is leased has a lease"
    return {
        **lease_of(item.lease),
        "title": named[item.id],
        "class": item.work_class,
        "tenant": item.tenant,
        "overdue": tx.now() >= item.lease.expires_at,
        "spend_micros": item.lease.spend_micros,
        "trace": f"remit trace {item.id}",
    }


def _held(item: Item, named: dict[str, str]) -> dict[str, Any]:
    hold, owner = item.hold, item.owner
    assert hold is not None, "an item that is held has a hold (INV-3)"
    return {
        "item": item.id,
        "title": named[item.id],
        "reason": hold.reason,
        "owner": {"kind": owner.kind.value, "identity": owner.identity} if owner else None,
        "trigger": hold.trigger,
        "recheck_at": rfc3339(hold.at) if hold.at else None,
        "unmet": item.unmet,
        "changed_at": rfc3339(item.changed_at),
        "trace": f"remit trace {item.id}",
    }


def _open_records(tx: ReadTx, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Records that wait for somebody, the oldest first, and how many there are."""
    total = tx.open_records()
    names = tx.triage(open_only=True, limit=limit or total)
    facts = tx.load([("triage", name) for name in names]).values()
    records = [fact for fact in facts if isinstance(fact, Triage)]
    opened = tx.at_seq([record.opened_seq for record in records])
    return [
        {
            "id": record.id,
            "item": record.item,
            "kind": record.kind,
            "opened_by": opened[record.opened_seq].actor,
            "opened_at": rfc3339(opened[record.opened_seq].at),
            "seq": record.opened_seq,
            "trace": f"remit triage show {record.id}",
        }
        for record in records
    ], total


def _kill_switch(tx: ReadTx, ledger: Any) -> dict[str, Any]:
    """Whether it is on, and who engaged it, when and why."""
    on = isinstance(ledger, Ledger) and ledger.kill_switch
    found: dict[str, Any] = {"state": "engaged" if on else "released"}
    seq = ledger.engaged_seq if isinstance(ledger, Ledger) and on else 0
    recorded = tx.at_seq([seq]).get(seq) if seq else None
    if recorded is None:
        return {**found, "actor": None, "at": None, "seq": None, "reason": None}
    return {
        **found,
        "actor": recorded.actor,
        "at": rfc3339(recorded.at),
        "seq": seq,
        "reason": getattr(recorded.event, "reason", "") or None,
    }
