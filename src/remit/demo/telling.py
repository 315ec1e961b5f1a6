"""Telling the story: one calm line for each event that a reader wants to see, and the closing parts.

The lines come from the ledger's own events, not from what the demo meant to do, so that the story is
what happened. Nothing is told twice, and text that somebody wrote is neutralised before it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TextIO

from remit.core.authority_events import KeyEnrolled
from remit.core.decision_events import DecisionAccepted, DecisionConsumed, DecisionProposed
from remit.core.events import Recorded, RuleAccepted
from remit.core.facts import Assurance
from remit.core.item_events import (
    CompletionReported,
    ItemHeld,
    ItemReopened,
    LateReportRecorded,
    LeaseExpired,
    LeaseGranted,
    ReviewApproved,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.plan_events import PlanClosed
from remit.demo.room import shown
from remit.wiring import Ledger

_WIDTH: Final = 34


class Teller:
    """Writes the story to a stream; quiet ones write nothing."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self.stream = stream
        self.quiet = quiet
        self.started = time.monotonic()
        self.started_us = time.time_ns() // 1_000
        self.seq = 0
        self.titles: dict[str, str] = {}

    def say(self, text: str = "") -> None:
        """Write lines as they are."""
        if not self.quiet:
            print(text, file=self.stream, flush=True)

    def at(self, text: str) -> None:
        """Write a line with the seconds since the start."""
        self._line(time.monotonic() - self.started, text)

    def _line(self, seconds: float, text: str) -> None:
        self.say(f"{max(seconds, 0):5.1f} s  {shown(text, 160)}")

    def follow(self, ledger: Ledger) -> None:
        """Tell the events that came since the last call, each at its own time."""
        with ledger.reading() as tx:
            news = tx.events(self.seq, 500)
        for recorded in news:
            self.seq = recorded.seq
            tell = _TOLD.get(type(recorded.event))
            if tell is not None:
                line = tell(recorded, recorded.event)
                if isinstance(recorded.event, LeaseGranted):
                    line = f"{line}: {self.titles.get(recorded.stream, '')}"
                self._line((recorded.at - self.started_us) / 1_000_000, line)


def _leased(recorded: Recorded, event: LeaseGranted) -> str:
    lease = event.lease
    more = f", attempt {lease.attempt}" if lease.attempt > 1 else ""
    return f"{lease.actor} leases {lease.item} (fence {lease.fence}{more})"


def _expired(recorded: Recorded, event: LeaseExpired) -> str:
    return f"the lease {event.lease.id} of {event.lease.actor} ran out: {recorded.stream} is {event.to}"


def _handed_in(recorded: Recorded, event: CompletionReported) -> str:
    return f"{recorded.actor} hands in {recorded.stream} at {event.head[:12]}: {event.text}"


def _late(recorded: Recorded, event: LateReportRecorded) -> str:
    return (
        f"{recorded.actor} reports {recorded.stream} under the old fence {event.fence}: refused,"
        " kept as evidence, no status changed"
    )


def _approved(recorded: Recorded, event: ReviewApproved) -> str:
    return f"{recorded.actor} approves {recorded.stream}: {event.reason}"


def _reopened(recorded: Recorded, event: ItemReopened) -> str:
    return f"{recorded.actor} sends {recorded.stream} back: {event.reason}"


def _shipped(recorded: Recorded, event: ShipObserved) -> str:
    how = "as reviewed" if event.matched_by == "sha" else "rebased, the same patch"
    return f"{recorded.stream} is seen on origin's main at {event.observed_commit_sha[:12]}, {how}"


def _verdict(recorded: Recorded, event: VerificationRecorded) -> str:
    rows = ", ".join(f"{r.row} {r.result} ({r.reason})" for r in event.results)
    line = f"{recorded.actor} looks at {recorded.stream}: {rows}"
    if event.artifact_diff not in ("", "PASS"):
        line += f"; promised and not touched: {', '.join(event.missing_artifacts)}"
    return f"{line} -> {event.to}" + (
        f", {event.record} {event.triage_kind}" if event.record else ""
    )


def _held(recorded: Recorded, event: ItemHeld) -> str:
    return f"{recorded.stream} waits: {event.reason}, until {event.trigger}"


def _rule(recorded: Recorded, event: RuleAccepted) -> str:
    return f"{recorded.actor} accepts the {recorded.entity} rule"


def _plan(recorded: Recorded, event: PlanClosed) -> str:
    goals, requirements, nodes, rows, items = event.counts
    line = (
        f"{recorded.actor} applies the plan: {event.plan_revision_id} is in force, {goals} goal,"
        f" {requirements} requirements, {nodes} nodes, {rows} rows, {items} items"
    )
    return line + (f", resting on {', '.join(event.decisions)}" if event.decisions else "")


def _proposed(recorded: Recorded, event: DecisionProposed) -> str:
    return f"{recorded.actor} proposes {recorded.entity}: {event.title} ({event.kind})"


def _key(recorded: Recorded, event: KeyEnrolled) -> str:
    return f"{recorded.actor} enrols a key that asks: {event.fingerprint}"


def _accepted(recorded: Recorded, event: DecisionAccepted) -> str:
    proof = "unproved" if recorded.assurance == Assurance.ASSERTED else recorded.assurance
    return f"{recorded.actor} accepts {recorded.entity}: {event.chosen} ({proof})"


def _consumed(recorded: Recorded, event: DecisionConsumed) -> str:
    return f"{event.revision} consumes {recorded.entity}"


_TOLD: Final[dict[type, Callable[[Recorded, Any], str]]] = {
    LeaseGranted: _leased,
    LeaseExpired: _expired,
    CompletionReported: _handed_in,
    LateReportRecorded: _late,
    ReviewApproved: _approved,
    ItemReopened: _reopened,
    ShipObserved: _shipped,
    VerificationRecorded: _verdict,
    ItemHeld: _held,
    RuleAccepted: _rule,
    PlanClosed: _plan,
    DecisionProposed: _proposed,
    DecisionAccepted: _accepted,
    DecisionConsumed: _consumed,
    KeyEnrolled: _key,
}


def table(items: Sequence[dict[str, Any]]) -> list[str]:
    """All items: id, work id, title, status, commit, triage."""
    found = [("id", "work id", "title", "status", "commit", "triage")]
    for item in items:
        records = ", ".join(f"{r['id']} {r['kind']}" for r in item["triage"])
        title = shown(item["title"], _WIDTH)
        sha = (item["observed_commit_sha"] or "")[:12]
        found.append((item["id"], item["work_id"], title, item["status"], sha, records))
    widths = [max(len(line[i]) for line in found) for i in range(6)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in found
    ]


def chain(trace: dict[str, Any]) -> list[str]:
    """One line for each link of a trace."""
    found = []
    for link in trace["chain"]:
        who = f"  by {link['actor']}" if link.get("actor") else ""
        mark = "  unproved" if link.get("assurance") == "asserted" else ""
        text = f"  {shown(link['text'], 60)}" if link.get("text") else ""
        names = ", ".join(link["ids"]) or ("none" if link["present"] else "missing")
        found.append(f"  {link['stage']:<13} {shown(names, 60)}{text}{who}{mark}")
    return found


def decided(node: str, decision: dict[str, Any]) -> list[str]:
    """Beside a chain: its place in the plan's graph, and the decision that its plan rests on."""
    proof = "unproved" if decision["unproved"] else decision["assurance"]
    rests = ", ".join(each["revision"] for each in decision["consumed"])
    text = shown(f"{decision['chosen']}: {decision['title']}, for {rests}", 60)
    who = decision["decided_by"]
    return [
        f"  {'node':<13} {node}",
        f"  {'decision':<13} {decision['id']}  {text}  by {who}  {proof}",
    ]
