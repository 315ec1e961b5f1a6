"""What is tried of pushes: tests that pass, fail or say nothing, senders that end, look-ups of all kinds.

A push may be intended twice, and no more: that bounds a world.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from remit.core import commands as c
from remit.core.checks import Check, Result
from remit.core.facts import Item, Row, Work
from remit.core.pushes import push_fence
from remit.core.services import RECONCILER
from remit.core.status import Status
from remit.proofs.push_steps import pushed
from remit.proofs.world import HUMAN, IMPLEMENTERS, Stage, State, Step

MAIN: Final = "f" * 40
MOVED: Final = "e" * 40
MADE: Final = ("a" * 40, "b" * 40)
LOG: Final = "d" * 64
MOST_INTENTS: Final = 2
_FAILED: Final = (Check("exit-status", Result.FAIL),)
_SILENT: Final = (Check("ran-to-end", Result.BLOCKED),)


def push_moves(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    """Integrations of one item, and looks at what it pushed."""
    work = item.work
    if work is None or not item.plan.rows:
        return
    effect = pushed(stage, state, item)
    intents = effect.intents if effect is not None else 0
    if item.status in (Status.APPROVED, Status.IN_REVIEW) and intents < MOST_INTENTS:
        made = MADE[intents]
        for result, checks in (("verified", ()), ("ship-verify-gap", _FAILED)):
            yield from _tests(stage, state, item, work, made, result, checks)
        yield from _tests(stage, state, item, work, made, "ship-verify-gap", _SILENT)
        yield Step(HUMAN, _test(stage, state, item, made, work.head, 0, "verified", ()))
    if effect is None or work.push is None:
        return
    for end in ("refused", "unanswered"):
        yield Step(RECONCILER, c.NotePush(effect.id, effect.attempt, end))
    fence = push_fence(effect.epoch, effect.intents)
    seen = (
        ("FOUND", 1, (("commit", work.push.commit),), 0),
        ("FOUND", 1, (("commit", MOVED),), 0),
        ("NONE", None, (), fence if work.push.markers else 0),
        ("NONE", None, (("ref_now", MOVED),), 0),
        ("UNAVAILABLE", None, (), 0),
    )
    for result, objects, values, confirmed in seen:
        command = c.ObserveEffect(
            effect.id, "", result, state.now, effect.version, objects, values,
            confirmed_fence=confirmed,
        )  # fmt: skip
        yield Step(RECONCILER, command)
    yield Step(IMPLEMENTERS[0], c.ObserveEffect(effect.id, "", "NONE", state.now, effect.version))


def _tests(
    stage: Stage,
    state: State,
    item: Item,
    work: Work,
    made: str,
    result: str,
    checks: tuple[Check, ...],
) -> Iterator[Step]:
    for markers in (True, False) if result == "verified" else (True,):
        command = _test(
            stage, state, item, made, work.head, work.review_seq, result, checks, markers=markers
        )
        yield Step(HUMAN, command)


def _test(
    stage: Stage,
    state: State,
    item: Item,
    made: str,
    head: str,
    approval: int,
    result: str,
    checks: tuple[Check, ...],
    *,
    markers: bool = True,
) -> c.IntendPush:
    facts = [stage.get(state, "row", row) for row in item.plan.rows]
    rows = tuple((row.id, row.digest) for row in facts if isinstance(row, Row))
    findings = tuple(_finding(name, digest, result, checks) for name, digest in rows)
    return c.IntendPush(
        item.id, head, approval, "merge", MAIN, made, "c" * 40, "origin", "refs/heads/main",
        findings, "PASS", markers=markers,
    )  # fmt: skip


@cache
def _finding(row: str, digest: str, result: str, checks: tuple[Check, ...]) -> c.RowFinding:
    return c.RowFinding(row, digest, result, "", 1, 0, LOG, checks)
