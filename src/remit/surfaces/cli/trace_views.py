"""How traces and coverage look to people: chains, the matrix, orphans, suspect links, changes.

Each takes the very data that ``--json`` would print, and says what to do next where it stops short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.surfaces.cli.trace_forms import cells
from remit.surfaces.cli.visible import plain

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen

Data = Mapping[str, Any]


def trace(screen: Screen, data: Data) -> None:
    """The chain of an item, or those of whatever else was asked for."""
    if "chain" in data:
        _chain(screen, data)
        return
    screen.line(f"{data['kind']} {data['id']}: {data['total']} work items")
    for each in data["chains"]:
        _chain(screen, each)
    if not data["chains"]:
        screen.line("no work hangs on it")
    if data["truncated"]:
        screen.line(f"{len(data['chains'])} of {data['total']}; --limit 0 shows all", "dim")


def _chain(screen: Screen, data: Data) -> None:
    rows = []
    for link in data["chain"]:
        mark = "present" if link["present"] else "missing"
        who = link.get("actor", "")
        proof = "unproved" if link.get("unproved") else ""
        rows.append((link["stage"], mark, link["ids"], who, proof, link.get("text", "")))
    screen.table(("STAGE", "", "IDS", "BY", "", "TEXT"), rows)
    state = "complete" if data["complete"] else "not complete: " + plain(data["gaps"])
    screen.line(f"{data['id']} is {data['status']}; the chain is {state}")
    for fault in data["faults"]:
        screen.line(f"{fault['link']} {fault['upper']} > {fault['lower']}: {fault['fault']}")
    for link in data["suspect"]:
        screen.line(f"suspect: {_doubt(link)}")


def _doubt(link: Data) -> str:
    return (
        f"{link['upper']} > {link['lower']}: {link['upper_label']} changed in {link['changed_in']},"
        f" {link['lower_label']} is of {link['stated_in']}"
    )


def matrix(screen: Screen, data: Data) -> None:
    """One line for each requirement."""
    rows = []
    for line in data["requirements"]:
        told = cells(line)
        rows.append((told[0], told[1], *told[4:7], told[9], told[10], told[11]))
    headers = ("REQUIREMENT", "LABEL", "NODES", "ROWS", "ITEMS", "RESULTS", "COVERAGE", "WHY")
    screen.table(headers, rows)
    counts = [f"{number} {state}" for state, number in data["coverage"].items() if number]
    screen.line(f"{data['revision']}: {_number(data['total'])}: {', '.join(counts) or 'none'}")
    if data["truncated"]:
        shown = len(data["requirements"])
        screen.line(f"{shown} of {data['total']}; --limit 0 shows all", "dim")


def _number(count: int) -> str:
    return f"{count} requirement{'' if count == 1 else 's'}"


def orphans(screen: Screen, data: Data) -> None:
    """What hangs on nothing, or has nothing beneath it."""
    found = [
        (kind[:-1], each["id"], each["label"], "; ".join(each["lacks"]))
        for kind in ("requirements", "nodes", "rows", "items")
        for each in data[kind]
    ]
    if not found:
        screen.line(f"{data['revision']}: no orphans")
        return
    screen.table(("KIND", "ID", "LABEL", "LACKS"), found)


def suspect(screen: Screen, data: Data) -> None:
    """Links that nobody has looked at since one end changed."""
    if not data["links"]:
        screen.line(f"{data['revision']}: no suspect links")
        return
    rows = [
        (
            x["upper"],
            x["lower"],
            x["upper_label"],
            x["lower_label"],
            x["changed_in"],
            x["stated_in"],
        )
        for x in data["links"]
    ]
    screen.table(("UPPER", "LOWER", "CHANGED", "BENEATH", "CHANGED IN", "STATED IN"), rows)
    screen.line(
        "state the lower end anew in the plan, or: remit clear-suspect UPPER LOWER --reason …"
    )


def delta(screen: Screen, data: Data) -> None:
    """What changed in coverage."""
    rows = [
        (x["id"], x["label"], x["change"], x["from"] or "", x["to"] or "") for x in data["changes"]
    ]
    if rows:
        screen.table(("REQUIREMENT", "LABEL", "CHANGE", "FROM", "TO"), rows)
    screen.line(f"{data['from']} to {data['to']}: {data['total']} requirements changed in coverage")


def cleared(screen: Screen, data: Data) -> None:
    """One line about a link that was cleared."""
    screen.line(f"{data['link']} was cleared by {data['by']}: event {data['seq']}")
