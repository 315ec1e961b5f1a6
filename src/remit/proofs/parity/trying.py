"""Trying one scenario: drained, then by hand, then compared.

What is compared is only as good as what happened, so a try also says which rare things it went through
(``marks``); a proof that never saw an expiry or a resume has shown nothing about them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from remit.core import commands as c
from remit.core.item_events import LeaseGranted
from remit.proofs.parity.comparing import PROPERTIES as COMPARED
from remit.proofs.parity.comparing import History, Unlike, compare
from remit.proofs.parity.drained import Drained, prepare
from remit.proofs.parity.hand import Hand, Told
from remit.proofs.parity.scenario import Scenario
from remit.proofs.parity.world import HUMAN, REVIEWER, RIVAL, WORKER, World, build, history

CANONICAL: Final = frozenset(
    (
        "AddDependency",
        "AddNote",
        "AdoptEpoch",
        "CloseItem",
        "CreateItem",
        "ExpireLease",
        "FailIntegration",
        "FailWork",
        "GrantLease",
        "IntendPush",
        "ObserveShip",
        "OpenTriage",
        "RecordVerification",
        "ReleaseLease",
        "RenewLease",
        "ReportCompletion",
        "ReportProgress",
        "ResolveTriage",
        "ReviewWork",
    )
)
"""Commands of the canonical operations by which an item may change in these worlds."""

WORKING: Final = frozenset(
    (
        "FailWork",
        "GrantLease",
        "ObserveShip",
        "OpenTriage",
        "RecordVerification",
        "ReleaseLease",
        "ReportCompletion",
        "ReportProgress",
        "ReviewWork",
    )
)
"""Those of them for which a drain derives a command id, so that a resume repeats and never redoes."""

PROPERTIES: Final = {
    **COMPARED,
    "canonical-operations": "INV-17",
    "one-effect": "INV-14",
    "bounds": "INV-11",
    "comes-to-an-end": "INV-18",
}
"""Every property, and the invariant that asks for it."""

MARKS: Final = frozenset(
    (
        "verified",
        "declined",
        "crashed",
        "timed-out",
        "secret",
        "out-of-scope",
        "dirty",
        "probe-refused",
        "reviewed-and-rejected",
        "moved-main",
        "merge-conflict",
        "red-on-the-result",
        "verifier-gap",
        "contradicted",
        "late-report",
        "stale-fence",
        "expired",
        "renewed",
        "progress",
        "poison",
        "budget-exhausted",
        "cancelled",
        "kill-switch",
        "adopted",
        "cycle-refused",
        "dependency",
        "killed-and-resumed",
        "answer-lost",
        "bound-reached",
        "rival",
    )
)
"""Rare things; a full proof that leaves one out has not looked there."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What one scenario came to: differences (none where both are alike), marks, and counts."""

    scenario: Scenario
    unlike: tuple[Unlike, ...]
    marks: frozenset[str]
    operations: int
    events: int
    drained: History | None = None
    by_hand: History | None = None
    points: tuple[str, ...] = field(default=())
    told: Told | None = None


def try_one(scenario: Scenario) -> Tried:
    """Drain a scenario, work it by hand, and compare.

    A drain that does not end, and a fault that it raises, is a difference like any other.
    """
    left = build(scenario)
    prepare(left)
    drained = Drained(left)
    try:
        told = drained.drain()
    except Exception as fault:  # noqa: BLE001  # whatever it is, no hand would have ended so
        found = f"{type(fault).__name__}: {fault}"
        unlike = (*_past_operations(left), Unlike("comes-to-an-end", "the run", "drain", found, ""))
        return Tried(scenario, unlike, frozenset(), 0, 0)
    right = build(scenario)
    prepare(right)
    Hand(right, told).work()
    for world in (left, right):
        _close(world, max(left.now, right.now))
    one, other = history(left), history(right)
    unlike = (
        *compare(one, other),
        *_past_operations(left),
        *_beyond(left, drained),
        *(Unlike("comes-to-an-end", "the run", "process", f, "") for f in drained.faults),
    )
    events = sum(len(stream) for stream in one.events.values())
    return Tried(
        scenario,
        unlike,
        frozenset(_marks(left, drained)),
        sum(len(done) for done in one.operations.values()),
        events,
        one,
        other,
        tuple(drained.points),
        told,
    )


def _close(world: World, at: int) -> None:
    """Both sides look once more at the same moment, so that whatever ran out by then is recorded."""
    world.clock.passed = max(world.clock.passed, at)
    for name in world.items:
        world.operations(HUMAN).run(c.ExpireLease(name))


def _past_operations(world: World) -> list[Unlike]:
    """Writes beside the engine, and events of an item that no canonical operation accounts for."""
    found = [
        Unlike("canonical-operations", stream, f"seq {seq}", "written past the operations", "never")
        for seq, stream in world.watch.past
    ]
    for one in world.watch.noted:
        changes = [name for name in one.streams if name.startswith("W-")]
        if not changes or one.repeated:
            continue
        if one.what not in CANONICAL:
            found.append(
                Unlike("canonical-operations", changes[0], one.what, "changes an item", "never")
            )
        mine = one.actor in (WORKER, REVIEWER) and one.what in WORKING
        if mine and not one.command_id.startswith("RUN-"):
            found.append(
                Unlike(
                    "canonical-operations", changes[0], one.what, one.command_id, "an id of its run"
                )
            )
    return found


def _beyond(world: World, drained: Drained) -> list[Unlike]:
    """No change lands twice, and no run goes past its bounds."""
    pushes = Counter(world.remote.pushes)
    found = [
        Unlike("one-effect", head, "pushes", number, 1)
        for head, number in pushes.items()
        if number > 1
    ]
    for run in drained.runs:
        if run.chosen > run.bounds.items:
            found.append(Unlike("bounds", run.id, "items", run.chosen, run.bounds.items))
    most = _most_at_once(world)
    if most > world.scenario.bounds.parallel:
        found.append(Unlike("bounds", "the runs", "parallel", most, world.scenario.bounds.parallel))
    return found


def _most_at_once(world: World) -> int:
    """The largest number of leases that the worker held at any seq."""
    held: set[str] = set()
    most = 0
    with world.store.read() as tx:
        for recorded in tx.events(0, 1 << 40):
            if recorded.stream not in world.numbers:
                continue
            if isinstance(recorded.event, LeaseGranted) and recorded.actor == WORKER:
                held.add(recorded.stream)
            elif getattr(recorded.event, "from_", "") == "leased":
                held.discard(recorded.stream)
            most = max(most, len(held))
    return most


_KINDS: Final = {
    "secret-found": "secret",
    "scope-breach": "out-of-scope",
    "dirty-tree": "dirty",
    "sandbox-probe-failed": "probe-refused",
    "agent-crash": "crashed",
    "timeout": "timed-out",
    "refusal": "declined",
    "merge-conflict": "merge-conflict",
    "test-failure": "red-on-the-result",
    "verifier-gap": "verifier-gap",
    "contradicted": "contradicted",
    "poison": "poison",
    "budget-exhausted": "budget-exhausted",
}
_TYPES: Final = {
    "LeaseExpired": "expired",
    "LeaseRenewed": "renewed",
    "ProgressReported": "progress",
    "LateReportRecorded": "late-report",
    "ItemReopened": "reviewed-and-rejected",
    "DependencySettled": "dependency",
}


def _marks(world: World, drained: Drained) -> set[str]:
    found = set()
    with world.store.read() as tx:
        events = [r for name in world.items for r in tx.stream(name, 0, 1 << 40)]
    for recorded in events:
        found.add(_TYPES.get(type(recorded.event).__name__, ""))
        found.add(_KINDS.get(str(getattr(recorded.event, "triage_kind", "")), ""))
        if recorded.actor == RIVAL:
            found.add("rival")
        if getattr(recorded.event, "to", "") == "verified":
            found.add("verified")
        if getattr(recorded.event, "outcome", "") == "cancelled":
            found.add("cancelled")
        if getattr(recorded.event, "matched_by", "") == "patch-id":
            found.add("moved-main")
    codes = {one.code for one in world.watch.noted}
    named = {
        "STALE_FENCE": "stale-fence",
        "DEPENDENCY_CYCLE": "cycle-refused",
        "RUN_BOUND": "bound-reached",
    }
    found |= {mark for code, mark in named.items() if code in codes}
    acts = {one.what for one in world.watch.noted if not one.code}
    found |= {
        mark
        for what, mark in (("EngageKillSwitch", "kill-switch"), ("AdoptEpoch", "adopted"))
        if what in acts
    }
    if drained.gaps:
        lost = bool(world.scenario.lost)
        found |= {"killed-and-resumed"} if world.scenario.kills else set()
        found |= {"answer-lost"} if lost else set()
    return found - {""}
