"""How people see triage: a list, one record with its evidence laid out, and the table of kinds.

Paths, reasons and what an agent said are foreign; the screen escapes every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.surfaces.cli.visible import plain

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Data = Mapping[str, Any]


def triage_records(screen: Screen, data: Data) -> None:
    """A list of triage records."""
    if not data["records"]:
        screen.line("no records to settle")
        return
    rows = [
        (
            r["id"], r["item"], r["kind"], r["owner"], r["opened_at"][:16],
            "open" if r["open"] else r["resolution"], r["reason"],
        )
        for r in data["records"]
    ]  # fmt: skip
    headers = ("RECORD", "ITEM", "KIND", "FOR THE", "SINCE", "STATE", "REASON")
    screen.table(headers, rows)
    if data["truncated"]:
        screen.line(f"{len(rows)} of {data['total']}; --limit 0 shows all", "dim")


def triage_one(screen: Screen, data: Data) -> None:
    """One record whole, with what became of it."""
    for record in data["records"]:
        triage_record(screen, record)
        _settled(screen, record)


def triage_record(screen: Screen, record: Data) -> None:
    """One record, with its evidence and what may be done."""
    state = "open" if record["open"] else f"settled by {record['resolution']}"
    screen.line(f"{record['id']} on {record['item']}: {record['kind']}, {state}", "bold")
    screen.line(f"{record['meaning']}; the {record['owner']} settles it")
    told = [(f["name"], _values(f)) for f in record["fields"]]
    screen.pairs(
        (
            ("opened", f"{record['opened_at']} by {record['opened_by']} (seq {record['seq']})"),
            ("from", record["origin"]),
            ("reason", record["reason"]),
            ("said", _text_of(record)),
            *told,
            ("notes", record["notes"]),
        )
    )
    for found in record["payload"].get("results", ()):
        if found["result"] != "verified" and found["log"]:
            screen.line(f"what {found['row']} wrote: 'remit ledger text {found['log']}'")
    if not record["open"]:
        return
    screen.line(f"next: {record['next']}")
    for way in record["ways"]:
        screen.line(f"  {way['command']}{'   (a human)' if way['human'] else ''}")


def _text_of(record: Data) -> str | None:
    ref = record["payload"].get("text_ref")
    return f"'remit ledger text {ref}'" if ref else None


def _values(field: Data) -> str:
    """The values of a field in one line; digests become the command that shows them."""
    values = [str(value) for value in field["values"]]
    if field["form"] == "digest":
        values = [f"'remit ledger text {value}'" for value in values]
    if field["form"] == "micros":
        values = [f"{value} micro-units" for value in values]
    more = f", and {field['more']} more" if field["more"] else ""
    return plain(values) + more


def _settled(screen: Screen, record: Data) -> None:
    told = record["settled"]
    if told is not None:
        reason = f": {told['reason']}" if told["reason"] else ""
        screen.line(
            f"settled {told['at']} by {told['by']} (seq {told['seq']}), {told['resolution']}{reason}"
        )
    screen.line()
    rows = [
        (e["seq"], e["at"], e["actor"], e["type"], e["payload"].get("reason", "") or "")
        for e in record["history"]
    ]
    screen.table(("SEQ", "AT", "ACTOR", "EVENT", "REASON"), rows)


def triage_kinds(screen: Screen, data: Data) -> None:
    """The table of kinds; one kind with its fields."""
    if len(data["kinds"]) > 1:
        rows = [(k["kind"], k["owner"], k["meaning"]) for k in data["kinds"]]
        screen.table(("KIND", "FOR THE", "MEANING"), rows)
        return
    for kind in data["kinds"]:
        screen.line(f"{kind['kind']}: {kind['meaning']}", "bold")
        screen.pairs(
            (
                ("for the", kind["owner"]),
                ("next", kind["next"]),
                ("only by a human", kind["human"]),
                *((f"from {status}", ways) for status, ways in kind["resolutions"].items()),
            )
        )
        if kind["opened_by_ledger_alone"]:
            screen.line("the ledger alone opens it")
        fields = [(f["name"], _how_often(f), f["form"], f["meaning"]) for f in kind["fields"]]
        screen.table(("EVIDENCE", "", "FORM", "MEANING"), fields)


def _how_often(field: Data) -> str:
    often = "many" if field["many"] else "one"
    return often if field["required"] else f"{often}, or none"
