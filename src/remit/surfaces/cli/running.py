"""Commands of the operator: the fleet on one page, and runs of the drain.

All but one only look. ``run stop`` asks whoever drives a run to stop it, which anyone enrolled may; the
process that drives it finishes or hands back what is live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.surfaces.cli import reads
from remit.surfaces.cli.answers import Answer
from remit.surfaces.cli.declare import LOOK, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import app, run
from remit.surfaces.cli.looking import Limit
from remit.surfaces.cli.planning import event_of
from remit.surfaces.cli.session import Session, accepted, required

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Name = Annotated[str, typer.Argument(metavar="RUN", help="Such as RUN-2.")]
Data = Mapping[str, Any]


def fleet(screen: Screen, data: Data) -> None:
    """The whole fleet: figures first, then each list that has anything."""
    switch = data["kill_switch"]
    if switch["state"] == "engaged":
        why = f": {switch['reason']}" if switch["reason"] else ""
        screen.line(
            f"KILL SWITCH engaged by {switch['actor']} at {switch['at']} (seq {switch['seq']}){why}",
            "bold red",
        )
    counts = {n: many for n, many in data["counts"].items() if many and n != "open_triage"}
    screen.line(", ".join(f"{many} {name}" for name, many in counts.items()) or "no items", "bold")
    for name, headers, row in _LISTS:
        found = data[name]
        if not found:
            continue
        screen.line()
        screen.line(name, "bold")
        screen.table(headers, [row(one) for one in found])
        if data["lists"][name]["truncated"]:
            shown = f"{len(found)} of {data['lists'][name]['total']}; --limit 0 shows all"
            screen.line(shown, "dim")
    screen.line()
    screen.line(f"as of seq {data['as_of_seq']}, {data['as_of']}. {data['claim_limit']}", "dim")


def _lease(one: Data) -> tuple[Any, ...]:
    late = "OVERDUE" if one["overdue"] else ""
    return (one["item"], one["actor"], one["attempt"], one["expires_at"], late, one["title"])


def _hold(one: Data) -> tuple[Any, ...]:
    owner = one["owner"]["identity"] if one["owner"] else ""
    return (one["item"], one["reason"], owner, one["trigger"], one["title"])


def _record(one: Data) -> tuple[Any, ...]:
    return (one["id"], one["item"], one["kind"], one["opened_by"], one["opened_at"])


def _run(one: Data) -> tuple[Any, ...]:
    used, bounds = one["used"], one["bounds"]
    spent = used["settled_micros"] + used["reserved_micros"]
    return (
        one["id"],
        one["status"] + (f" ({one['stopped_by']})" if one["stopped_by"] else ""),
        one["actor"],
        f"{used['items']}/{bounds['items']}",
        f"{used['parallel']}/{bounds['parallel']}",
        f"{spent}/{bounds['spend_micros']}",
        f"{used['failures']}/{bounds['failures']}",
        one["ends_at"],
    )


_RUNS = ("RUN", "STATUS", "ACTOR", "ITEMS", "LIVE", "SPEND", "FAILED", "ENDS")
_LISTS = (
    ("triage", ("RECORD", "ITEM", "KIND", "OPENED BY", "AT"), _record),
    ("leases", ("ITEM", "ACTOR", "ATTEMPT", "EXPIRES", "", "TITLE"), _lease),
    ("runs", _RUNS, _run),
    ("holds", ("ITEM", "REASON", "OWNER", "WAITS FOR", "TITLE"), _hold),
)


def _listed(screen: Screen, data: Data) -> None:
    if not data["runs"]:
        screen.line("no runs")
        return
    screen.table(_RUNS, [_run(one) for one in data["runs"]])
    if data["truncated"]:
        screen.line(f"{len(data['runs'])} of {data['total']}; --limit 0 shows all", "dim")


def shortly(detail: str | None) -> str:
    """What there is to say of an entry beside its outcome: a code, not the figures of its end."""
    said = detail or ""
    if not said.startswith("starts="):
        return said
    figures = dict(word.partition("=")[::2] for word in said.split())
    return "" if figures.get("came") == "done" else figures.get("code", "")


def _shown(screen: Screen, data: Data) -> None:
    found = data["run"]
    screen.line(f"{found['id']} {found['status']}", "bold")
    used, bounds = found["used"], found["bounds"]
    money = f"{used['settled_micros']} settled, {used['reserved_micros']} reserved"
    names = ("agent", "actor", "reviewer", "decision", "started_by", "started_at", "ends_at")
    screen.pairs([(name.replace("_", " "), found[name]) for name in names])
    screen.pairs(
        (
            (
                "stop asked",
                found["stop_asked"] and f"{found['stop_asked']} by {found['stop_asked_by']}",
            ),
            ("stopped", found["stopped_by"] and f"{found['stopped_at']} by {found['stopped_by']}"),
            ("items", f"{used['items']} of {bounds['items']}"),
            ("parallel", f"{used['parallel']} of {bounds['parallel']}"),
            ("spend", f"{money} of {bounds['spend_micros']} micro-units"),
            ("failures", f"{used['failures']} of {bounds['failures']}"),
            ("refusals", found["refusals"]),
            ("newest refusals", ", ".join(f"{r['item']} {r['code']}" for r in found["refused"])),
            ("resumes", found["resumes"]),
        )
    )
    rows = [
        (
            i["entry"],
            i["item"],
            i["step"],
            i["outcome"] or "",
            i["attempt"],
            i["spent_micros"],
            shortly(i["detail"]),
        )
        for i in found["items"]
    ]
    if rows:
        screen.table(("ENTRY", "ITEM", "STEP", "OUTCOME", "ATTEMPT", "SPENT", "DETAIL"), rows)
    if data["truncated"]:
        screen.line(f"{len(rows)} of {data['total']}; --limit 0 shows all", "dim")


@read(app, "fleet", LOOK, "remit fleet", "remit fleet --at 4200 --json")
def fleet_of(session: Session, limit: Limit = reads.LIMIT) -> Answer:
    """Show the whole fleet: counts, open triage, leases, runs, holds and the kill switch.

    It reads over a connection that cannot write. With --at it shows any moment of the past.
    """
    return replace(reads.fleet(session, limit=limit), show=fleet)


@read(run, "list", LOOK, "remit run list", "remit run list --live")
def run_list(
    session: Session,
    live: Annotated[bool, typer.Option("--live", help="Only runs that are not over.")] = False,
    limit: Limit = reads.LIMIT,
) -> Answer:
    """List runs of the drain, the newest first."""
    return replace(reads.run_list(session, live=live, limit=limit), show=_listed)


@read(run, "show", LOOK, "remit run show RUN-2", "remit run show RUN-2 --at 4200 --limit 0")
def run_show(session: Session, run: Name, limit: Limit = reads.LIMIT) -> Answer:
    """Show one run: its bounds and what is used of them, and the items that it chose."""
    return replace(reads.run_show(session, run=run, limit=limit), show=_shown)


@writes(run, "stop", LOOK, "remit run stop RUN-2", "remit run stop RUN-2 --now")
def run_stop(
    session: Session,
    name: Name,
    now: Annotated[
        bool, typer.Option("--now", help="Hand back what is live instead of finishing it.")
    ] = False,
) -> Answer:
    """Ask a run to choose nothing more and to finish what it has. Anyone enrolled may."""
    from remit.service.reading.runs import run_show as shown

    command = c.AskRunStop(name, "now" if now else "finish")
    done = accepted(session.operations.ask_run_stop(command, command_id=session.command_id))
    with session.ledger.reading() as tx:
        found = required(shown(tx, name, reads.LIMIT))
    event = event_of(done) if done.events else None
    return Answer({**found, "event": event}, _shown)
