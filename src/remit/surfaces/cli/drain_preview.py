"""``drain --dry-run``: what a run would choose, why the rest would not be, and what stands in its way.

It reads one snapshot and this machine, and writes nothing anywhere. What only the start itself can
refuse is asked of the same pure rules on the same snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from remit.core import commands as c
from remit.surfaces.cli.session import Session

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen
    from remit.wiring.draining import Here, Told

WAITING: Final = 50
"""How many of those that would not be chosen are listed."""


def preview(session: Session, here: Here, command: c.StartRun, told: Told) -> dict[str, Any]:
    """All of it, as the interface answers it."""
    from remit.drain.selecting import WINDOW, in_order, left_approved
    from remit.drain.standing import sort
    from remit.service.foreseeing import would_refuse
    from remit.service.reading.items import summaries
    from remit.service.reading.waiting import blocked
    from remit.surfaces.cli.draining import refusals
    from remit.wiring.draining import left_alone

    o = told.options
    looks = [
        {"check": "this-machine", "result": "FAIL", "code": refused.code.value,
         "reason": refused.message, "hint": refused.hint}
        for refused in refusals(session, here, told)
    ] or [{"check": "this-machine", "result": "PASS", "code": "", "reason": "agent and sandbox are there",
           "hint": ""}]  # fmt: skip
    with session.ledger.reading() as tx:
        refused = would_refuse(session.operations, command)
        looks.append(
            {
                "check": "decision-and-proof",
                "result": "PASS" if refused is None else "FAIL",
                "code": "" if refused is None else refused.code.value,
                "reason": "it may start" if refused is None else refused.message,
                "hint": "" if refused is None else refused.hint,
            }
        )
        lands = o.way != "none"
        left, waits = (
            left_approved(tx, command.actor, o.work_class, o.tenant) if lands else ([], [])
        )
        ready = list(in_order(tx, WINDOW + command.bounds.items, o.work_class, o.tenant))
        stands = sort(tx, left, o.way)
        alone = left_alone(here, command.actor, o.way, stands)
        last = [item for item in left if item.id in stands.last and item.id not in alone]
        left = [item for item in left if item.id not in (*alone, *stands.last)]
        found = [*left, *ready, *waits, *last]
        would = found[: command.bounds.items]
        over = found[command.bounds.items :]
        shut = blocked(tx, WAITING)
        chosen = summaries(tx, would)
        rest = [
            {"id": item.id, "why": "bound:items", "open_by": "raise --max-items"}
            for item in over[:WAITING]
        ] + [
            {"id": name, "why": code, "open_by": "approve it anew, or integrate it by hand"}
            for name, code in alone.items()
        ]
    return {
        "run": {"id": None, "bounds": {n: getattr(command.bounds, n) for n in command.bounds.__slots__},
                "items": [], "stopped_by": None},
        "would_start": all(look["result"] == "PASS" for look in looks),
        "checks": looks,
        "would_choose": chosen,
        "not_chosen": rest,
        "blocked": shut["items"],
        "blocked_total": shut["total"],
        "truncated": shut["truncated"] or len(over) > WAITING,
    }  # fmt: skip


def previewed(screen: Screen, data: Any) -> None:
    """The same for people."""
    rows = [(o["result"], o["check"], o["code"], o["reason"], o["hint"]) for o in data["checks"]]
    screen.table(("RESULT", "CHECK", "CODE", "FOUND", "WHAT TO DO"), rows)
    screen.line("would be chosen, in this order:", "bold")
    screen.table(("ID", "STATUS", "TITLE"), [
        (one["id"], one["status"], one["title"]) for one in data["would_choose"]
    ])  # fmt: skip
    if data["not_chosen"]:
        screen.line("ready or approved, but not chosen:", "bold")
        screen.table(("ID", "WHY", "OPENED BY"), [
            (one["id"], one["why"], one["open_by"]) for one in data["not_chosen"]
        ])  # fmt: skip
    if data["blocked"]:
        screen.line(f"not ready ({data['blocked_total']} in all):", "bold")
        screen.table(("ID", "BLOCKED BY", "OPENED BY"), [
            (one["id"], one["blocked_by"], one["how_to_open"])
            for one in data["blocked"]
        ])  # fmt: skip
