"""A history that somebody rewrote: triggers dropped, an event edited, its digest made to fit, the rows made anew.

Without a root that was noted nothing tells that an event is another one; but what a human signed is bound, by
digests, to what was decided on and what was reviewed, and those do not fit any more (INV-15).
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from tests.hostile.stage import Stage
from tests.hostile.test_forced_authority import made, problems, stage
from tests.surfaces.cli.calling import Ran

from remit.ports import LedgerCorrupt
from remit.service.registered import rows_of

__all__ = ["made", "stage"]


def rewrite(stage: Stage, event: str, subject: str, parts: dict[str, Any]) -> int:
    """Edit the payload of one event in place, with a digest that fits; the rows are made anew."""
    with sqlite3.connect(stage.path) as attacker:
        guards = attacker.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = guards.fetchall()
        for name, _ in triggers:
            attacker.execute(f"DROP TRIGGER {name}")
        seq, payload = attacker.execute(
            "SELECT seq, payload FROM events WHERE type = ? AND stream = ?", (event, subject)
        ).fetchone()
        found = json.loads(payload) | parts
        assert found != json.loads(payload)
        body = json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        attacker.execute("UPDATE events SET payload = ? WHERE seq = ?", (body.encode(), seq))
    attacker.close()
    ledger = stage.open()
    with ledger.reading() as tx:
        [stored] = tx.stored(seq - 1, 1)
        digest = ledger.store.codec.digest_of(stored)
    ledger.close()
    with sqlite3.connect(stage.path) as attacker:
        attacker.execute("UPDATE events SET digest = ? WHERE seq = ?", (digest, seq))
        for _, sql in triggers:
            attacker.execute(sql)
    attacker.close()
    return int(seq)


def verified(stage: Stage) -> Ran:
    return stage.run("ledger", "verify", actor="bot")


@pytest.fixture
def ledger_is_whole(stage: Stage) -> None:
    assert verified(stage).status == 0, verified(stage).out


@pytest.mark.parametrize(
    "parts",
    [
        {"scope": ["node/n9"]},
        {"kind": "verification-waiver"},
        {"proposal": "b" * 64},
        {"title": "Something harmless"},
        {"expiresAt": 1 << 50},
        {"options": [{"against": "", "label": "pay", "permits": True, "text": "Pay twice"}]},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_what_was_decided_on_is_not_exchanged_beneath_a_signature(
    stage: Stage, ledger_is_whole: None, parts: dict[str, Any]
) -> None:
    seq = rewrite(stage, "DecisionProposed", "D-2", parts)
    assert stage.run("ledger", "replay", "--swap", actor="bot").status == 7, "no fold takes it"
    found = [p for p in problems(verified(stage)) if p["seq"] == seq]
    assert {p["where"] for p in found} == {"record", "fold"}, found


@pytest.mark.parametrize(
    ("event", "subject", "parts"),
    [
        ("RowRegistered", "V-1", {"argv": ["true", "anyway"]}),
        ("RowRegistered", "V-1", {"control": "none"}),
        ("RequirementDrafted", "R-1", {"statement": "something smaller"}),
    ],
)
def test_what_was_reviewed_is_not_exchanged_beneath_an_approval(
    stage: Stage, ledger_is_whole: None, event: str, subject: str, parts: dict[str, Any]
) -> None:
    seq = rewrite(stage, event, subject, parts)
    stage.run("ledger", "replay", "--swap", actor="bot")
    [found] = [p for p in problems(verified(stage)) if p["seq"] == seq]
    assert found["where"] == "digest"


def test_a_row_that_was_exchanged_is_not_run(stage: Stage) -> None:
    rewrite(stage, "RowRegistered", "V-1", {"argv": ["true", "anyway"]})
    ledger = stage.open()
    with ledger.reading() as tx:
        item: Any = tx.load([("item", "W-1")])["item", "W-1"]
        with pytest.raises(LedgerCorrupt, match="V-1"):
            rows_of(tx, item)
    ledger.close()
