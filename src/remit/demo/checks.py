"""What must have come true: each promise of the demo compared with what the ledger and git hold.

``judge`` is a function of what was found, so that it can be shown to fail: hand it another
expectation, or something else found, and it says no. Nothing here trusts what the play meant to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from remit.core.events import Event, Recorded
from remit.core.item_events import (
    CompletionReported,
    LateReportRecorded,
    LeaseExpired,
    LeaseGranted,
    ReviewApproved,
    RowsAttached,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.plan_events import PlanClosed, RowPlanned
from remit.core.planning.check import Problem
from remit.core.refusals import Code
from remit.demo import plan
from remit.demo.bundle import PLANNED
from remit.demo.draining import Drained
from remit.demo.governing import COMING, Governed
from remit.demo.person import NO_KEY
from remit.demo.play import Witness
from remit.demo.stage import Imported
from remit.service.integrity import Report

E = TypeVar("E", bound=Event)

_OPEN: Final = [Problem.AMBIGUITY_OPEN.value]
_REFUSED: Final = {
    "apply": Code.PLAN_INADMISSIBLE.value,
    "accept": Code.ACTOR_KIND_REFUSED.value,
    "key": Code.KEY_IN_REACH.value,
}
_REFUSALS: Final = (Code.STALE_FENCE.value, Code.LEASE_EXPIRED.value)


@dataclass(frozen=True, slots=True)
class Found:
    """All that the checks look at. ``items`` and ``blocked`` are by work id.

    ``node`` is the place of the traced item in the graph, ``decision`` the record that its plan rests on.
    """

    items: Mapping[str, Mapping[str, Any]]
    blocked: Mapping[str, Mapping[str, Any]]
    events: Sequence[Recorded]
    on_main: frozenset[str]
    imported: Imported
    governed: Governed
    witness: Witness
    trace: Mapping[str, Any]
    decision: Mapping[str, Any]
    node: str
    report: Report
    output: str
    drained: Drained

    def of(self, kind: type[E], alias: str = "") -> list[tuple[Recorded, E]]:
        """Events of a kind, of one item or of all."""
        stream = self.items[alias]["id"] if alias else ""
        return [
            (r, r.event)
            for r in self.events
            if isinstance(r.event, kind) and stream in ("", r.stream)
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One promise: kept or not, with what was seen and what was required."""

    name: str
    passed: bool
    observed: str
    required: str


def judge(found: Found, expected: Mapping[str, str] = plan.EXPECTED) -> list[Outcome]:
    """Every promise; ``expected`` is the status of each item by work id."""
    outcomes = [
        _is(
            f"{alias} ends {status}",
            found.items[alias]["status"] if alias in found.items else "absent",
            status,
        )
        for alias, status in expected.items()
    ]
    for check in _CHECKS:
        outcomes += check(found)
    return outcomes


def _is(name: str, observed: object, required: object) -> Outcome:
    return Outcome(name, observed == required, str(observed), str(required))


def _drains(found: Found) -> list[Outcome]:
    """What a drain brought to its end; nothing is promised where there is no sandbox."""
    if found.drained.why_not:
        return []
    name = f"a drain in a sandbox brings {found.drained.item or 'an item'} to its end"
    return [_is(name, found.drained.status, "verified")]


def _imports(found: Found) -> list[Outcome]:
    first, again = found.imported.first, found.imported.again
    known = first["imported"] + first["unchanged"] + first["quarantined_total"]
    rules = [r for r, e in found.of(RowsAttached) if r.actor == "remit-admission"]
    return [
        _is("every row of the backlog has an outcome", known, first["rows"]),
        _is(
            "a second import changes nothing",
            (again["unchanged"], again["changed"]),
            (first["rows"], False),
        ),
        Outcome(
            "nothing imported may be worked on before something would prove it",
            found.imported.gated == first["imported"] - 1,
            f"{found.imported.gated} at a gate",
            f"{first['imported'] - 1} at a gate, 1 closed",
        ),
        _is(
            "the accepted rule gave rows to one item",
            [r.stream for r in rules],
            [found.items[plan.RULED]["id"]],
        ),
    ]


def _plan(found: Found) -> list[Outcome]:
    """The plan was unclear, then decided on by a human alone; its items have what the plan says."""
    governed, known = found.governed, found.decision
    planned = sorted(found.items[alias]["id"] for alias in PLANNED)
    dropped = found.items[plan.DROPPED]["outcome"]
    registered = sorted(e.work_item_id for _, e in found.of(RowPlanned))
    applied = [e for _, e in found.of(PlanClosed)]
    first = min(r.seq for r, _ in found.of(LeaseGranted))
    untried = governed.unsigned and governed.refused["key"] == NO_KEY
    refused = _REFUSED | ({"key": NO_KEY} if untried else {})
    return [
        _is("the check names what is not clear", governed.problems, _OPEN),
        _is("what rests on it may not start", governed.shut, [plan.DROPPED]),
        _is("without its requirement it is cancelled", dropped, "cancelled"),
        _is("no agent decides, and no key that signs by itself counts", governed.refused, refused),
        _is("two revisions of the plan came into force", governed.revisions, ["P-1@1", "P-1@2"]),
        _is("the second one lists the decision", [e.decisions for e in applied], [(), (COMING,)]),
        _is(
            "the decision is a human's, and says what proves it",
            (known["state"], known["decided_by"], known["assurance"]),
            ("accepted", plan.OWNER, "asserted" if governed.unsigned else "signature"),
        ),
        _is(
            "it names exactly the revision that consumed it",
            [each["revision"] for each in known["consumed"]],
            ["P-1@2"],
        ),
        _is("the plan gave each of its items a row before any lease", registered, planned),
        Outcome(
            "no item was leased before the plan was decided",
            all(r.seq < first for r, _ in found.of(PlanClosed)),
            f"first lease at {first}",
            "a lease after the last apply",
        ),
    ]


def _kill(found: Found) -> list[Outcome]:
    witness, item = found.witness, found.items[plan.KILLED]
    leases = [e.lease for _, e in found.of(LeaseGranted, plan.KILLED)]
    expired = [e.lease.fence for _, e in found.of(LeaseExpired, plan.KILLED)]
    handed_in = [e.lease.fence for _, e in found.of(CompletionReported, plan.KILLED)]
    late = found.of(LateReportRecorded, plan.KILLED)
    old = witness.half_done.get("fence")
    fences = [lease.fence for lease in leases]
    return [
        _is("an agent was killed by SIGKILL", witness.killed_exit, -9),
        _is("its lease ran out", expired, [old]),
        Outcome(
            "the next attempt has a higher fence, and another holder",
            len(leases) == 2
            and fences[0] == old
            and fences[1] > fences[0]
            and leases[0].actor != leases[1].actor,
            ", ".join(f"{x.actor} fence {x.fence}" for x in leases),
            f"fence {old}, then a higher one of another agent",
        ),
        Outcome(
            "its late report was refused",
            witness.late.get("code") in _REFUSALS,
            f"{witness.late.get('code')} under fence {witness.late.get('fence')}",
            " or ".join(_REFUSALS),
        ),
        _is(
            "the late report is on the ledger, once, and moved nothing",
            [(e.fence, e.head) for _, e in late],
            [(old, witness.late.get("head"))],
        ),
        _is(f"{item['id']} was completed under the new fence only", handed_in, fences[1:]),
        Outcome(
            "agents were processes of their own",
            len({pid for pids in witness.pids.values() for pid in pids}) == 3,
            str(witness.pids),
            "three different process ids",
        ),
    ]


def _gap(found: Found) -> list[Outcome]:
    records = [(r["kind"], r["open"]) for r in found.items[plan.UNDONE]["triage"]]
    verdicts = [e for _, e in found.of(VerificationRecorded, plan.UNDONE)]
    results = [r.result for e in verdicts for r in e.results]
    missing = [path for e in verdicts for path in e.missing_artifacts]
    waiting = found.blocked.get(plan.WAITING, {})
    waits_on = [edge["via"] for edge in waiting.get("waits_on", ())]
    undone = found.items[plan.UNDONE]["id"]
    return [
        _is("the gap is in triage, open", records, [("verifier-gap", True)]),
        _is("a check that was skipped is no pass", results, ["ship-verify-gap"]),
        _is("the promised file was not touched", missing, ["units/families/temperature.py"]),
        _is("what waits on it stays blocked", waits_on, [undone]),
        Outcome(
            "and says why, and how to open it",
            waiting.get("blocked_by") == "hold UNMET_DEPENDENCY"
            and undone in waiting.get("how_to_open", ""),
            f"{waiting.get('blocked_by')}; {waiting.get('how_to_open')}",
            f"hold UNMET_DEPENDENCY; finish {undone}",
        ),
    ]


def _landed(found: Found) -> list[Outcome]:
    ships = found.of(ShipObserved)
    ways = {e.matched_by for _, e in ships}
    absent = [e.observed_commit_sha for _, e in ships if e.observed_commit_sha not in found.on_main]
    return [
        _is("every shipped commit is on origin's main", absent, []),
        _is("heads landed as reviewed, and rebased", sorted(ways), ["patch-id", "sha"]),
        _is("the program on main works", found.output, "25 m/s"),
    ]


def _people(found: Found) -> list[Outcome]:
    mixed = []
    for name in {r.stream for r, _ in found.of(ShipObserved)}:
        events = [r for r in found.events if r.stream == name]
        holders = {r.event.lease.actor for r in events if isinstance(r.event, LeaseGranted)}
        reviewers = {r.actor for r in events if isinstance(r.event, ReviewApproved)}
        verifiers = {r.actor for r in events if isinstance(r.event, VerificationRecorded)}
        if holders & reviewers or holders & verifiers or reviewers & verifiers:
            mixed.append(name)
    return [_is("implementer, reviewer and verifier are different", mixed, [])]


def _proof(found: Found) -> list[Outcome]:
    report = found.report
    return [
        _is(
            "the traced chain has no gap",
            (found.trace["complete"], found.trace["gaps"]),
            (True, []),
        ),
        Outcome(
            "its links are marked unproved",
            {"review", "verify"} <= set(found.trace["unproved"]),
            ", ".join(found.trace["unproved"]),
            "review and verify among them",
        ),
        _is("it leads from the goal's revision over a node", _upper(found), ("G", "N")),
        Outcome(
            "ledger verify finds nothing",
            not report.problems and report.rows_compared and report.events == len(found.events),
            f"{len(report.problems)} problems in {report.events} events",
            f"0 problems in {len(found.events)} events, rows compared",
        ),
    ]


def _upper(found: Found) -> tuple[str, str]:
    """What the chain of the traced item begins with, and what its place in the graph is."""
    goal = ", ".join(found.trace["chain"][0]["ids"])
    return goal.partition("-")[0], found.node.partition("-")[0]


_CHECKS: Final[tuple[Callable[[Found], list[Outcome]], ...]] = (
    _imports,
    _plan,
    _kill,
    _gap,
    _landed,
    _people,
    _proof,
    _drains,
)


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """0 where every promise was kept, else 6: verification says no."""
    return 0 if outcomes and all(outcome.passed for outcome in outcomes) else 6
