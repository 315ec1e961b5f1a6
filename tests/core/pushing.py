"""What a service says of approved work that it made ready to land: a sound command, or one with faults."""

from __future__ import annotations

from typing import Any

from tests.core.world import HUMAN, LOG, LOGGED, MAIN, World, sha

from remit.core import commands as c
from remit.core.checks import Check, Result
from remit.core.facts import Row, Work
from remit.service.engine import Answer, Call


def work_of(world: World, item: str) -> Work:
    work = world.item(item).work
    assert work is not None
    return work


def about(world: World, item: str, commit: str = "", **how: Any) -> c.IntendPush:
    """What a service says that it tested of an item."""
    work = work_of(world, item)
    result, executed = how.pop("result", "verified"), how.pop("executed", 1)
    checks = (Check("exit-status", how.pop("check", Result.PASS)),)
    facts = [world.fact("row", name) for name in world.item(item).plan.rows]
    findings = tuple(
        c.RowFinding(
            row.id,
            row.digest,
            "not-machine-checkable" if row.kind == "rubric" else result,
            "X",
            executed,
            0,
            LOG,
            checks,
        )
        for row in facts
        if isinstance(row, Row)
    )
    found: dict[str, Any] = {
        "item": item,
        "head": work.head,
        "approval": work.review_seq,
        "way": "merge",
        "main_before": MAIN,
        "commit": commit or sha(7_000),
        "tree": sha(8_000),
        "remote": "origin",
        "ref": "refs/heads/main",
        "findings": findings,
        "artifact_diff": "PASS",
    }
    return c.IntendPush(**{**found, **how})


def say(world: World, command: c.Command, actor: str = HUMAN, command_id: str = "") -> Answer:
    return world.engine.run([Call(command, actor, command_id, (LOGGED,))])[0]
