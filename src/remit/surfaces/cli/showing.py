"""How answers look to people: lists, one item, a trace, a worksheet.

Each function takes a ``Screen`` and the very data that ``--json`` would print, so nothing is shown
that programs cannot have. A list says when it is cut, and every answer that stops somewhere says
what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.surfaces.cli.triage_views import triage_record

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen

Data = Mapping[str, Any]


def _name(item: Data) -> str:
    return f"{item['id']} ({item['work_id']})" if item.get("work_id") else str(item["id"])


def _more(screen: Screen, data: Data, shown: int) -> None:
    if data.get("truncated"):
        screen.line(f"{shown} of {data['total']}; --limit 0 shows all", "dim")


def items(screen: Screen, data: Data) -> None:
    """A list of items."""
    found = data["items"]
    if not found:
        screen.line("no items")
        return
    rows = [(_name(i), i["status"], f"P{i['priority']}", _holder(i), i["title"]) for i in found]
    screen.table(("ID", "STATUS", "PRIO", "OWNER", "TITLE"), rows)
    _more(screen, data, len(found))


def ready(screen: Screen, data: Data) -> None:
    """What may be leased."""
    if not data["items"]:
        screen.line("nothing is ready; see what waits, and for what, with 'remit blocked'")
        return
    rows = [(_name(i), f"P{i['priority']}", i["class"], i["title"]) for i in data["items"]]
    screen.table(("ID", "PRIO", "CLASS", "TITLE"), rows)
    _more(screen, data, len(data["items"]))


def _holder(item: Data) -> str:
    if item["lease"]:
        return str(item["lease"]["actor"])
    return str(item["owner"]["kind"]) if item["owner"] else item["outcome"] or "-"


def blocked(screen: Screen, data: Data) -> None:
    """What waits, what stops it and how to open that."""
    if not data["items"]:
        screen.line("nothing is blocked")
        return
    if screen.tty:
        for i in data["items"]:
            screen.line(f"{_name(i)}  {i['status']}, {i['blocked_by']}: {i['title']}")
            screen.line(f"    {i['how_to_open']}", "dim")
        _more(screen, data, len(data["items"]))
        return
    rows = [
        (_name(i), i["status"], i["blocked_by"], i["how_to_open"], i["title"])
        for i in data["items"]
    ]
    screen.table(("ID", "STATUS", "STOPPED BY", "HOW TO OPEN", "TITLE"), rows)
    _more(screen, data, len(data["items"]))


def inbox(screen: Screen, data: Data) -> None:
    """What waits for somebody."""
    if not data["items"] and not data["rules"] and not data["decisions"]:
        screen.line(f"nothing waits for {data['actor']}")
        return
    if data["items"]:
        rows = [(i["act"], _name(i), i["status"], i["title"]) for i in data["items"]]
        screen.table(("TO DO", "ID", "STATUS", "TITLE"), rows)
    for rule in data["rules"]:
        screen.line(f"rule {rule['name']} waits for a human: 'remit rule accept {rule['name']}'")
    for one in data["decisions"]:
        screen.line(
            f"{one['id']} waits for a human: {one['title']} ('remit decision show {one['id']}')"
        )
    _more(screen, data, len(data["items"]))


def item(screen: Screen, data: Data) -> None:
    """One item whole."""
    screen.line(f"{_name(data)}  {data['title']}", "bold")
    owner = data["owner"]
    lease = data["lease"]
    screen.pairs(
        (
            ("status", data["status"] + (f" ({data['outcome']})" if data["outcome"] else "")),
            ("owner", f"{owner['kind']}: {owner['identity']}" if owner else None),
            ("gate", data["gate"]),
            ("hold", data["hold"]["reason"] if data["hold"] else None),
            ("priority", data["priority"]),
            ("lane", f"{data['class']} / {data['tenant']}"),
            ("lease", _lease(lease) if lease else None),
            ("attempts", data["attempt"] or None),
            ("scope", data["plan"]["scope"]),
            ("artifacts", data["plan"]["artifacts"]),
            ("commit", data["observed_commit_sha"]),
            ("successor", data["successor"]),
            ("imported", data["source"]["status"] if data["source"] else None),
        )
    )
    if data["body"]:
        screen.line()
        screen.block(data["body"])
    _parts(screen, data)
    screen.line()
    rows = [(e["seq"], e["at"], e["actor"], e["type"], note(e)) for e in data["history"]]
    screen.table(("SEQ", "AT", "ACTOR", "EVENT", ""), rows)


def _lease(lease: Data) -> str:
    return f"{lease['id']} of {lease['actor']}, fence {lease['fence']}, until {lease['expires_at']}"


def _said_of(row: Data) -> str:
    """The newest result of a row, or that it no longer counts."""
    if row["stale"]:
        return "stale"
    return row["result"]["result"] if row["result"] else "NOT_TESTED"


def _parts(screen: Screen, data: Data) -> None:
    if data["rows"]:
        screen.line()
        rows = [(r["id"], r["kind"], _said_of(r), asked(r)) for r in data["rows"]]
        screen.table(("ROW", "KIND", "RESULT", "WHAT DECIDES"), rows)
    if data["stale"]:
        screen.line(f"stale: {', '.join(data['stale'])}; 'remit succeed {data['id']} ID' goes on")
    if data["dependencies"]:
        screen.line()
        edges = [
            (d["target"], d["kind"], d["state"], d["status"] or "not here", d["title"] or "-")
            for d in data["dependencies"]
        ]
        screen.table(("WAITS ON", "KIND", "STATE", "STATUS", "TITLE"), edges)
    for record in data["records"]:
        screen.line()
        triage_record(screen, record)


def asked(row: Data) -> str:
    """What a row runs or asks, in one line."""
    argv = row["argv"]
    if argv[:2] == ["sh", "-c"] and len(argv) == 3:
        return str(argv[2])
    return " ".join(argv) or str(row["rubric"])


def note(event: Data) -> str:
    """What an event says in a few words: the move that it made, and its reason or text."""
    payload = event["payload"]
    moved = f"{payload['from']} -> {payload['to']}" if payload.get("to") else ""
    said = payload.get("reason") or payload.get("text") or payload.get("reason_code") or ""
    return "  ".join(part for part in (moved, str(said)) if part)


def tree(screen: Screen, data: Data) -> None:
    """What an item waits on."""
    for node in data["nodes"]:
        screen.line(f"{'  ' * node['depth']}{node['id']} [{node['status']}] {node['title']}")
        for edge in node["dependencies"]:
            if not edge["resolved"]:
                indent = "  " * (node["depth"] + 1)
                screen.line(f"{indent}{edge['target']} [not on this ledger]")
    if data["truncated"]:
        screen.line(f"cut after {len(data['nodes'])} items", "dim")


def actors(screen: Screen, data: Data) -> None:
    """Who is enrolled."""
    rows = [(a["name"], a["kind"], "revoked" if a["revoked"] else "") for a in data["actors"]]
    screen.table(("ACTOR", "KIND", ""), rows)


def rules(screen: Screen, data: Data) -> None:
    """Default rules."""
    if not data["rules"]:
        screen.line("no rules; name one under [rules.default] in .remit/config.toml")
        return
    rows = [
        (r["name"], r["revision"], "accepted by " + r["accepted_by"] if r["accepted"] else "open",
         asked(r))
        for r in data["rules"]
    ]  # fmt: skip
    screen.table(("RULE", "REV", "STATE", "WHAT DECIDES"), rows)


def rule(screen: Screen, data: Data) -> None:
    """One rule, complete: what a human accepts."""
    found = data["rule"]
    state = f"accepted by {found['accepted_by']}" if found["accepted"] else "not accepted"
    screen.line(f"rule {found['name']} revision {found['revision']}: {state}", "bold")
    screen.pairs(
        (
            ("command", asked({**found, "rubric": ""})),
            ("expected exit", found["expected_exit"] if found["argv"] else None),
            ("JUnit report", found["junit"]),
            ("red reason", found["red_reason"]),
            ("time limit", f"{found['timeout_ms'] / 1000:g} s"),
            ("rubric", found["rubric"]),
            ("digest", found["digest"]),
        )
    )


def policy(screen: Screen, data: Data) -> None:
    """The figures that decisions use."""
    screen.pairs(tuple(data["policy"].items()))
