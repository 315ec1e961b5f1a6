"""What is tried in a state: every step that somebody in the world might take.

Right and wrong actors, right and stale fences, the instants just before, at and after an expiry,
commands that must be refused: all are tried. Two bounds keep a world finite, and are part of what is
claimed: leases are given on whole steps of time only (reports, renewals and expiries also just
before one), and an item bears at most two open triage records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from remit.core import commands as c
from remit.core.facts import Item, Triage
from remit.core.status import Status
from remit.core.triage import Resolution
from remit.core.triage_records import Evidence, ambiguity, aside, ship_unverifiable
from remit.proofs.effect_moves import effect_moves
from remit.proofs.keys import stage_ledger
from remit.proofs.plan_moves import moments, plan_moves
from remit.proofs.push_moves import push_moves
from remit.proofs.push_steps import pushed
from remit.proofs.world import (
    BASE,
    HEADS,
    HUMAN,
    IMPLEMENTERS,
    NO_GHOST,
    ROW,
    SECOND,
    UNIT_US,
    Ghost,
    Stage,
    State,
    Step,
    creation,
)

JUST_BEFORE_US: Final = UNIT_US - 1
VERIFIER: Final = "remit-verifier"
MOST_RECORDS: Final = 2
LOG: Final = "d" * 64
_REASON: Final = c.Text("because")
_QUEUED: Final = (Status.DRAFT, Status.HELD, Status.READY)

Offer = Callable[[Stage, State, Item], Iterator[Step]]


def moves(stage: Stage, state: State) -> Iterator[Step]:
    """Every step that is tried in a state, in an order that never changes."""
    world = stage.world
    if world.effects is not None:
        yield from effect_moves(stage, state)
        return
    items = stage.items(state)
    for group, offer in _EACH.items():
        if world.has(group):
            for item in list(items.values())[: world.worked or None]:
                yield from offer(stage, state, item)
    yield from _once(stage, state, items)
    ends = [i.lease.expires_at for i in items.values() if i.lease is not None]
    if world.plans is not None:
        yield from plan_moves(stage, state)
        ends += moments(stage, state)
    if world.has("push"):
        found = [pushed(stage, state, item) for item in items.values()]
        ends += [e.arrives_until for e in found if e is not None and e.arrives_until is not None]
    yield from _time(state, ends)


def _time(state: State, ends: list[int]) -> Iterator[Step]:
    """Time goes on while a lease runs, or has run out and nobody has noticed for a step.

    ``ends`` are when leases, and decisions that run out, do so.
    """
    off = state.now % UNIT_US
    if off:
        yield Step(after_us=UNIT_US - off)
    elif any(end >= state.now for end in ends):
        yield Step(after_us=UNIT_US)
        if any(end == state.now + UNIT_US for end in ends):
            yield Step(after_us=JUST_BEFORE_US)


@cache
def _step(actor: str, kind: type[c.Command], *args: object) -> Step:
    return Step(actor, kind(*args))


def _lease(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if state.now % UNIT_US:
        return
    ready = item.status in (Status.READY, Status.LEASED)
    for actor in stage.world.actors if ready else stage.world.actors[:1]:
        yield _step(actor, c.GrantLease, item.id)


def _hold(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    """What is done under a lease: by its holder, by others, and under fences of the past."""
    world, lease = stage.world, item.lease
    if lease is not None:
        holder, fence = lease.actor, lease.fence
        yield _step(holder, c.RenewLease, item.id, fence)
        yield _step(holder, c.ReleaseLease, item.id, fence)
        if world.has("progress"):
            yield _step(holder, c.ReportProgress, item.id, fence)
        for head in HEADS[: world.heads]:
            yield _step(holder, c.ReportCompletion, item.id, fence, head, BASE)
        if world.has("triage"):
            yield _step(holder, c.FailWork, item.id, fence, "refusal", _REASON)
        other = next(a for a in (*IMPLEMENTERS, HUMAN) if a != holder)
        yield _step(other, c.ReportCompletion, item.id, fence, HEADS[0], BASE)
        yield _step(other, c.RenewLease, item.id, fence)
        yield _step(holder, c.ReportCompletion, item.id, fence + 1, HEADS[0], BASE)
        yield _step("remit-queue", c.ExpireLease, item.id)
    ended = state.ghosts.get(item.id, NO_GHOST).fence
    for actor in item.holders if ended else ():
        yield _step(actor, c.ReportCompletion, item.id, ended, HEADS[0], BASE)
        yield _step(actor, c.RenewLease, item.id, ended)
        if world.has("progress"):
            yield _step(actor, c.ReportProgress, item.id, ended)
            yield _step(actor, c.ReleaseLease, item.id, ended)


def _review(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if item.work is None:
        return
    live = item.status in (Status.IN_REVIEW, Status.APPROVED)
    yield _step(HUMAN, c.ReviewWork, item.id, True, _REASON)
    if live:
        yield _step(HUMAN, c.ReviewWork, item.id, False, _REASON)
        for actor in (*IMPLEMENTERS, VERIFIER):
            yield _step(actor, c.ReviewWork, item.id, True, _REASON)
        yield _step(item.holders[0], c.ReviewWork, item.id, False, _REASON)
        other = HEADS[item.work.head == HEADS[0]]
        yield _step(HUMAN, c.ReviewWork, item.id, True, _REASON, other)


def _ship(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if item.work is None:
        return
    head = item.work.head
    yield _observed(item.id, head)
    if item.status is Status.APPROVED:
        yield _observed(item.id, HEADS[head == HEADS[0]])


@cache
def _observed(item: str, sha: str) -> Step:
    command = c.ObserveShip(item, sha, "f" * 40, "origin", "refs/heads/main", BASE, "sha", "")
    return Step(HUMAN, command)


_FINDINGS: Final = (
    (("verified", 1), ("verified", 1)),
    (("verified", 1), None),
    (("ship-verify-gap", 1), ("verified", 1)),
    (("ship-verify-gap", 0), None),
    (None, ("ship-verify-gap", 1)),
    (("contradicted", 1), None),
)
"""What a verifier may find for the first and the second row: result and checks executed."""


def _verify(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    work = item.work
    if work is None or not item.plan.rows:
        return
    if item.status is not Status.SHIPPED:
        yield _found(stage, state, item, work.head, VERIFIER, _FINDINGS[0], "PASS")
        return
    tainted = VERIFIER in (*item.holders, work.reviewer)
    for findings in _FINDINGS:
        if any(findings[: len(item.plan.rows)]):
            actor = SECOND if tainted else VERIFIER
            yield _found(stage, state, item, work.shipped, actor, findings, "PASS")
    yield _found(stage, state, item, work.shipped, VERIFIER, _FINDINGS[0], "FAIL")
    yield _found(
        stage, state, item, HEADS[work.shipped == HEADS[0]], VERIFIER, _FINDINGS[0], "PASS"
    )
    for actor in (HUMAN, VERIFIER, *IMPLEMENTERS):
        yield _found(stage, state, item, work.shipped, actor, _FINDINGS[0], "PASS")


def _found(
    stage: Stage,
    state: State,
    item: Item,
    commit: str,
    actor: str,
    findings: tuple[tuple[str, int] | None, ...],
    diff: str,
) -> Step:
    rows = tuple(
        c.RowFinding(row, stage.get(state, "row", row).digest, found[0], "", found[1], 0, LOG)  # type: ignore[union-attr]  # a row of the plan
        for row, found in zip(item.plan.rows, findings, strict=False)
        if found is not None
    )
    return Step(actor, c.RecordVerification(item.id, commit, rows, diff))


def _triage(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if len(item.triage) < MOST_RECORDS:
        yield Step(HUMAN, aside(_put_aside_for(item), item.id, _REASON))
        yield _step(HUMAN, c.OpenTriage, item.id, "ambiguity", _REASON)  # which shows nothing
    others = [i for i in stage.items(state) if i != item.id]
    for record in item.triage:
        fact = stage.get(state, "triage", record)
        if not isinstance(fact, Triage):
            continue
        yield _step(IMPLEMENTERS[0], c.ResolveTriage, record, "requeue", "so")
        for way in Resolution:
            if way is not Resolution.SUPERSEDE:
                yield _step(HUMAN, c.ResolveTriage, record, way.value, "so")
            elif others and stage.world.has("supersede"):
                yield _step(HUMAN, c.ResolveTriage, record, way.value, "so", others[-1])


def _put_aside_for(item: Item) -> Evidence:
    """What a person sees in an item: of what was handed in another thing than of what was not."""
    if (item.triaged_from or item.status) in (Status.IN_REVIEW, Status.APPROVED, Status.SHIPPED):
        return ship_unverifiable(why="main has another patch")
    return ambiguity(unclear="what it is for", asks="planner")


def _close(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    yield _step(HUMAN, c.CloseItem, item.id, "cancelled", _REASON)
    if not item.terminal:
        yield _step(HUMAN, c.CloseItem, item.id, "failed", _REASON)
        if stage.world.has("supersede"):
            for other in stage.items(state):
                yield _step(HUMAN, c.CloseItem, item.id, "superseded", _REASON, other)


def _waits(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    for target in stage.items(state):
        for kind in stage.world.kinds:
            if any(d.target == target and d.kind == kind for d in item.dependencies):
                yield _step(HUMAN, c.RemoveDependency, item.id, target, kind)
            elif not item.terminal:
                yield _step(HUMAN, c.AddDependency, item.id, target, kind)


def _recheck(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if item.status in _QUEUED:
        yield _step(HUMAN, c.Recheck, item.id)


def _revise(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    if item.source is not None and item.source.unconfirmed:
        confirm = c.ReviseItem(item.id, confirm_import=True)
        yield Step(HUMAN, confirm)


_EACH: Final[dict[str, Offer]] = {
    "lease": _lease,
    "hold": _hold,
    "review": _review,
    "ship": _ship,
    "verify": _verify,
    "push": push_moves,
    "triage": _triage,
    "close": _close,
    "waits": _waits,
    "recheck": _recheck,
    "import": _revise,
}


def _once(stage: Stage, state: State, items: dict[str, Item]) -> Iterator[Step]:
    """Steps that are no single item's."""
    world = stage.world
    if world.has("next") and not state.now % UNIT_US:
        for actor in world.actors:
            yield _step(actor, c.GrantLease)
    if world.has("create") and len(items) < world.items:
        yield Step(HUMAN, creation(len(items) + 1, (ROW,) * world.rows))
        for target in items:
            for kind in world.kinds:
                yield Step(HUMAN, creation(len(items) + 1, (ROW,) * world.rows, (target, kind)))
    if world.has("kill"):
        yield _step("ann", c.EngageKillSwitch)
        yield _step("ann", c.ReleaseKillSwitch)
        yield _step(HUMAN, c.ReleaseKillSwitch)
    if world.has("adopt") and any(i.lease is not None for i in items.values()):
        yield _step(HUMAN, c.AdoptEpoch, 0, "copied")
    if world.has("import"):
        yield from _importing(stage, state)
    for item in stage_ledger(stage, state).unsettled:
        yield _step("remit-admission", c.Settle, item)


ROWS: Final = (
    ("a", "1", False, (("blocks", "b"),)),
    ("a", "2", False, ()),
    ("b", "1", False, ()),
    ("b", "2", True, ()),
    ("c", "1", True, ()),
    ("c", "1", False, (("parent-child", "a"), ("blocks", "b"))),
)
"""Rows of a backlog: alias, digest, closed, edges. Two digests of one alias are two revisions."""


def _importing(stage: Stage, state: State) -> Iterator[Step]:
    if stage.get(state, "import", "I-1") is None:
        yield _step(HUMAN, c.StartImport, "beads", "backlog", "dd")
        return
    for n, (alias, digest, closed, edges) in enumerate(ROWS):
        known = stage.get(state, "alias", alias) is not None
        if known or len(stage.items(state)) < stage.world.items:
            yield Step(HUMAN, _row(n, alias, digest, closed, edges))
    yield _step(HUMAN, c.CloseImport, "I-1", 3, 3, 0, 0)
    yield _step(HUMAN, c.AcceptRule, "default")


@cache
def _row(
    n: int, alias: str, digest: str, closed: bool, edges: tuple[tuple[str, str], ...]
) -> c.ImportItem:
    return c.ImportItem(
        "I-1", n, alias, digest, "", 2, "open", n == 2, closed, edges=edges, satisfies=n != 4
    )


__all__ = ["JUST_BEFORE_US", "MOST_RECORDS", "ROWS", "Ghost", "moves"]
