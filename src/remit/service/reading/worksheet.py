"""The decision worksheet of an item: what was asked, on what evidence, and what the answer is not.

``explain`` answers with it. The checks are made by admission itself on the snapshot, so the sheet
says what admission would say there; what is recorded on the ledger stands beside it, and the two
are never merged. What nobody looked at is NOT_TESTED (INV-1). Effect work has a sheet of its own
(``sheets``), drawn from its events alone.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.facts import LEDGER, Ledger
from remit.core.refusals import Refused
from remit.core.status import Kind
from remit.ports import ReadTx
from remit.service.reading.items import _one, show
from remit.service.reading.lease_now import lease_now
from remit.service.reading.waiting import explain

ASKED: Final = ("draft", "held", "ready")
"""Statuses in which admission is asked at all."""

VERDICTS: Final = ("ADMIT", "HOLD")
"""What admission says of delivery work."""

OUT_OF_SCOPE: Final = (
    "whether the work will succeed",
    "whether what ships will be verified",
    "capacity, spend and deadlines, which this version does not decide on",
)
"""Claims that no answer of admission supports."""


def worksheet(tx: ReadTx, name: str) -> dict[str, Any] | Refused:
    """The worksheet of one item as of this snapshot, with verdict, reason and checks beside it."""
    one = _one(tx, name)
    if isinstance(one, Refused):
        return one
    if one.kind is Kind.EFFECT:
        # What lists and delivery work never need is not loaded with them.
        from remit.service.reading.sheets.effect import worksheet as of_effect

        told = of_effect(tx, one)
        if told is not None:
            return told
    found = explain(tx, one.id)
    if isinstance(found, Refused):
        return found
    item = show(tx, found["id"])
    if isinstance(item, Refused):
        return item
    if item["status"] not in ASKED:
        found = _not_asked(found, item["status"])
    ledger = tx.load([LEDGER])[LEDGER]
    revision = ledger.policy.revision if isinstance(ledger, Ledger) else 0
    lease = item["lease"]
    sheet = {
        "id": found["id"],
        "question": found["question"],
        "controlled_condition": "the ledger as of this seq; nothing outside it was looked at",
        "span": {"as_of_seq": found["as_of_seq"], "item_version": item["version"]},
        "system_boundary": "admission on this ledger; workers, git and remotes lie outside",
        "exact_operation": f"grant one lease on {found['id']}",
        "logical_effect": "one actor may work on it until the lease expires; nothing ships by it",
        "out_of_scope": list(OUT_OF_SCOPE),
        "revisions": {
            "policy": revision,
            "brief": item["plan"]["brief_revision"],
            "requirements": [f"{r['id']}@{r['revision']}" for r in item["expectation"]],
            "rows": {row["id"]: row["digest"] for row in item["rows"]},
        },
        "sections": [
            _section("Admission", found["verdict"], found["checks"], found["verdict"]),
            _section("Recorded", item["status"], _recorded(found, lease)),
            _section("Dependencies", "", _waits(item["dependencies"])),
            _section("Verification", "", _planned(item["rows"])),
        ],
    }
    lease = lease_now(tx, one)
    if lease is not None:
        sheet["sections"].insert(1, lease[0])
        found = {**found, "how_to_open": found["how_to_open"] or lease[1]}
    return {"worksheet": sheet, **found}


def _section(
    title: str, result: str, checks: list[dict[str, Any]], verdict: str = ""
) -> dict[str, Any]:
    """A section in the shape that those of effect work have."""
    boxes = [{"name": name, "chosen": name == verdict} for name in VERDICTS if verdict]
    return {
        "title": title,
        "result": result,
        "lines": [],
        "checks": checks,
        "boxes": boxes,
        "claims": None,
    }


def _not_asked(found: dict[str, Any], status: str) -> dict[str, Any]:
    """Past the queue admission has nothing to say; the status alone answers."""
    stands = _check("status", "FAIL", status, " or ".join(ASKED), "STATUS_PAST_QUEUE")
    return {
        **found,
        "verdict": "NOT_ASKED",
        "reason": "STATUS_PAST_QUEUE",
        "gate": None,
        "checks": [stands],
        "how_to_open": "",
    }


def _check(name: str, result: str, observed: str, required: str, code: str = "") -> dict[str, Any]:
    return {
        "check": name,
        "result": result,
        "observed": observed,
        "required": required,
        "evidence": "",
        "reason": code,
    }


def _recorded(found: dict[str, Any], lease: dict[str, Any] | None) -> list[dict[str, Any]]:
    gate = found["recorded"]["gate"]
    hold = found["recorded"]["hold"]
    return [
        _check("gate", "FAIL" if gate else "PASS", gate or "none", "none"),
        _check("hold", "FAIL" if hold else "PASS", hold["reason"] if hold else "none", "none"),
        _check("lease", "FAIL" if lease else "PASS", lease["id"] if lease else "none", "none"),
    ]


def _waits(dependencies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    results = {"met": "PASS", "unmet": "FAIL", "dead": "FAIL"}
    return [
        _check(
            f"{edge['kind']} {edge['target']}",
            results[edge["state"]] if edge["resolved"] else "BLOCKED",
            edge["status"] or "not on this ledger",
            "verified, or imported closed",
            edge["state"],
        )
        for edge in dependencies
    ]


def _planned(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    results = {"verified": "PASS", "ship-verify-gap": "FAIL", "contradicted": "FAIL"}
    checks = []
    for row in found:
        newest = row["result"]
        said = newest["result"] if newest else "not run"
        checks.append(_check(row["id"], results.get(said, "NOT_TESTED"), said, "verified"))
    return checks
