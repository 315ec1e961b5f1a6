"""What somebody forces in by SQL: forged signatures are broken, unsigned acts unproved, and none is believed.

The attacker writes the file directly: past every rule but those of the database itself, with rows made anew
from the forced events where that helps (INV-15).
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.stage import Stage, make_stage
from tests.hostile.test_human_authority import settle
from tests.surfaces.cli.calling import Ran

from remit.core.authority_events import ActSigned, KeyEnrolled
from remit.core.decision_events import DecisionAccepted
from remit.core.events import Event, PolicySet, Recorded, stream_of
from remit.core.facts import LEDGER, Ledger
from remit.core.item_events import (
    ReviewApproved,
    RowResultRecord,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.signing import content_of, statement_of
from remit.signatures.sshsig import unarmoured
from remit.stores.codec import columns_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("forced")
    with pytest.MonkeyPatch.context() as patch:
        settle(patch, folder)
        stage = make_stage(folder)
        assert stage.proposed() == "D-1"
        assert stage.handed_in("bot") == "W-1"
        stage.done("decision", "accept", stage.proposed())
        yield stage


@pytest.fixture
def stage(
    alone: None, made: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Stage]:
    """The same ledger for each test: what one forces in, the next does not find."""
    settle(monkeypatch, made.folder)
    kept = tmp_path / "kept"
    kept.mkdir()
    for file in made.path.parent.iterdir():
        if file.is_file():
            (kept / file.name).write_bytes(file.read_bytes())
    yield made
    for file in made.path.parent.iterdir():
        if file.is_file():
            file.unlink()
    for file in kept.iterdir():
        (made.path.parent / file.name).write_bytes(file.read_bytes())


def force(stage: Stage, actor: str, *forced: tuple[str, str, Event, str]) -> int:
    """Put events in as (kind, id, event, assurance); returns the seq of the first."""
    ledger = stage.open()
    with ledger.reading() as tx:
        first, at = tx.head().seq + 1, tx.now()
        versions: dict[str, int] = {}
        rows = []
        for n, (kind, name, event, assurance) in enumerate(forced):
            stream = stream_of(kind, name)
            known = len(tx.stream(stream, 0, 1_000))
            versions[stream] = versions.get(stream, known) + 1
            recorded = Recorded(first + n, stream, versions[stream], actor, assurance, at, event)
            rows.append(columns_of(ledger.store.ledger_id, recorded))
    ledger.close()
    with sqlite3.connect(stage.path) as attacker:
        for row in rows:
            attacker.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)
    attacker.close()
    return first


def genuine(stage: Stage) -> tuple[ActSigned, DecisionAccepted]:
    """A signature that a human gave, and what it was given for."""
    ledger = stage.open()
    with ledger.reading() as tx:
        events = [r.event for r in tx.events(0, 1_000)]
    ledger.close()
    at = next(i for i, e in enumerate(events) if isinstance(e, DecisionAccepted))
    signed, accepted = events[at - 1], events[at]
    assert isinstance(signed, ActSigned)
    assert isinstance(accepted, DecisionAccepted)
    return signed, accepted


def accepted_one(stage: Stage) -> DecisionAccepted:
    """An acceptance of D-1 as it would look."""
    found = stage.run("decision", "show", "D-1", actor="bot").data["decision"]
    return replace(genuine(stage)[1], record=found["record"], proposal=found["proposal"])


def verified(stage: Stage) -> Ran:
    return stage.run("ledger", "verify", actor="bot")


def problems(ran: Ran) -> list[dict[str, Any]]:
    assert ran.status == 7, ran
    found: list[dict[str, Any]] = json.loads(ran.out)["data"]["problems"]
    return found


APPROVED = ReviewApproved(
    "T06", "in-review", "approved", "a" * 40, "c" * 40, (), (), (), (), "forced", ""
)


def test_an_unsigned_approval_is_unproved_and_ships_nothing(stage: Stage) -> None:
    seq = force(stage, "ann", ("item", "W-1", APPROVED, "asserted"))
    stage.run("ledger", "replay", "--swap", actor="bot")
    ran = verified(stage)
    assert ran.status == 0, "it is whole: a label is no lie about what it proves"
    assert {"seq": seq, "type": "ReviewApproved", "actor": "ann"} in ran.data["unproved_acts"]
    assert ran.data["unproved"]["ReviewApproved"] == 1
    from remit.core import commands as c
    from remit.core.refusals import Code, Refused

    ledger = stage.open()
    ship = c.ObserveShip("W-1", "a" * 40, "f" * 40, "origin", "main", "b" * 40, "sha", "")
    [answer] = ledger.acting("bot").observed([ship], [""])
    ledger.close()
    assert isinstance(answer, Refused)
    assert answer.code is Code.REVIEW_UNPROVED


def test_an_unsigned_decision_is_unproved_and_covers_nothing(stage: Stage) -> None:
    seq = force(stage, "ann", ("decision", "D-1", accepted_one(stage), "asserted"))
    stage.run("ledger", "replay", "--swap", actor="bot")
    ran = verified(stage)
    assert {"seq": seq, "type": "DecisionAccepted", "actor": "ann"} in ran.data["unproved_acts"]
    found = stage.run("decision", "show", "D-1", actor="bot").data["decision"]
    assert (found["state"], found["unproved"]) == ("accepted", True)
    from remit.core.decisions import Decision, covers
    from remit.core.refusals import Code

    ledger = stage.open()
    with ledger.reading() as tx:
        fact = tx.load([("decision", "D-1")])["decision", "D-1"]
    ledger.close()
    assert isinstance(fact, Decision)
    refused = covers(fact, fact, fact.proposal, 0)
    assert refused is not None
    assert refused.code is Code.DECISION_UNPROVED


def test_an_unsigned_score_is_unproved_and_nothing_relies_on_it(stage: Stage) -> None:
    """Approval, ship and a rubric's score, all put in by hand: the item says verified, and is worth nothing."""
    from remit.core.binding import requirement_digest, row_digest
    from remit.core.rows import Control, RowKind, RowSpec

    item = stage.handed_in(
        "bot", RowSpec(RowKind.RUBRIC, rubric="It reads well.", control=Control.NONE)
    )
    ledger = stage.open()
    with ledger.reading() as tx:
        fact: Any = tx.load([("item", item)])["item", item]
        [row], [requirement] = fact.plan.rows, fact.plan.requirements

        def get(kind: str, name: str) -> Any:
            return tx.load([(kind, name)])[kind, name]

        digests = row_digest(get, row), requirement_digest(get, requirement)
    ledger.close()
    approved = replace(
        APPROVED, row_refs=(row,), row_digests=digests[:1],
        requirement_refs=(requirement,), requirement_digests=digests[1:],
    )  # fmt: skip
    shipped = ShipObserved(
        "T08", "approved", "shipped", "a" * 40, "f" * 40, "origin", "main", "b" * 40, "sha", ""
    )
    score = RowResultRecord(
        row, requirement, *digests, "verified", "SCORED_BY_HUMAN", 1, 0, True, "", ()
    )
    verdict = VerificationRecorded(
        "T09", "shipped", "verified", "VR-1", "a" * 40, (score,), "PASS", (), (), "", "", "", (), ()
    )
    seq = force(
        stage, "ann", *(("item", item, each, "asserted") for each in (approved, shipped, verdict))
    )
    stage.run("ledger", "replay", "--swap", actor="bot")
    ran = verified(stage)
    assert ran.status == 0, ran
    for n, name in ((0, "ReviewApproved"), (2, "VerificationRecorded")):
        assert {"seq": seq + n, "type": name, "actor": "ann"} in ran.data["unproved_acts"]
    shown = stage.run("show", item, actor="bot").data
    assert (shown["status"], shown["stale"]) == ("verified", [row])
    [made] = [e for e in shown["expectation"] if e["id"] == requirement]
    assert made["closure"]["closed"] is False, made
    waits = stage.run("create", "next", "--verify", "true", "--after", item, actor="bot")
    assert stage.run("show", waits.data["item"]["id"], actor="bot").data["status"] == "held"


@pytest.mark.parametrize("claimed", ["signature", "signature+presence", "token"])
def test_more_proof_than_there_is_is_broken(stage: Stage, claimed: str) -> None:
    seq = force(stage, "ann", ("decision", "D-1", accepted_one(stage), claimed))
    found = problems(verified(stage))
    assert (found[0]["seq"], found[0]["where"]) == (seq, "assurance")
    ran = stage.run("ledger", "replay", "--swap", actor="bot")
    assert (ran.status == 7) == (claimed != "token"), ran


def forged(signed: ActSigned, **more: Any) -> ActSigned:
    return replace(signed, **more)


@pytest.mark.parametrize("how", ["edited", "borrowed", "again", "another nonce", "another person"])
def test_a_forged_signature_is_broken(stage: Stage, how: str) -> None:
    signed, accepted = genuine(stage)
    mine = accepted_one(stage)
    nonce = json.loads(signed.statement)["nonce"]
    fresh, actor, event = "f" * 32, "ann", mine
    match how:
        case "edited":  # the statement is made to fit, and the signature is not
            text = signed.statement.replace(nonce, fresh).replace('"D-2"', '"D-1"')
            signed = forged(signed, statement=text)
        case "borrowed":  # a genuine signature before another event
            fresh = "e" * 32
        case "again":
            fresh, event = nonce, accepted
        case "another nonce":
            event = accepted
        case _:
            actor, fresh = "bea", "d" * 32
    seq = force(
        stage,
        actor,
        ("signature", fresh, signed, "asserted"),
        ("decision", "D-1", event, "signature"),
    )
    found = problems(verified(stage))
    assert found[0]["seq"] in (seq, seq + 1), found
    assert "signature" in {p["where"] for p in found}, found


def test_a_signature_that_never_came_proves_no_other_choice(stage: Stage) -> None:
    """ann signed to wait, and the agent kept it back: it forces in that she signed to go ahead."""
    argv = ("decision", "accept", "D-1", "--choose", "wait", "--reject", "pay=too much")
    path = stage.statement(*argv, actor="ann")
    text = stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    statement = path.read_text()
    signed = replace(genuine(stage)[0], statement=statement, signature=one_line(text))
    nonce = json.loads(statement)["nonce"]
    seq = force(
        stage,
        "ann",
        ("signature", nonce, signed, "asserted"),
        ("decision", "D-1", accepted_one(stage), "signature"),
    )
    [problem] = [p for p in problems(verified(stage)) if p["where"] == "signature"]
    assert (problem["seq"], problem["found"]) == (seq + 1, "other events")


def test_a_statement_that_fits_and_nobody_signed_is_forged(stage: Stage) -> None:
    event = accepted_one(stage)
    signed, _ = genuine(stage)
    nonce = "c" * 32
    parts = json.loads(signed.statement)
    statement = statement_of(
        ledger=parts["ledger"],
        epoch=0,
        actor="ann",
        act="DecisionAccepted",
        subject="D-1",
        nonce=nonce,
        until=parts["until"],
        content=content_of([("D-1", event)]),
    )
    seq = force(
        stage,
        "ann",
        ("signature", nonce, replace(signed, statement=statement), "asserted"),
        ("decision", "D-1", event, "signature"),
    )
    [problem] = [p for p in problems(verified(stage)) if p["where"] == "signature"]
    assert problem["seq"] == seq
    assert problem["found"].startswith("forged")


def one_line(text: str) -> str:
    return base64.b64encode(unarmoured(text)).decode()


def test_a_key_that_nobody_signed_in_is_broken_and_signs_nothing(stage: Stage) -> None:
    key = stage.keys["evil"]
    from remit.ports.signing import PublicKey
    from remit.signatures.keys import read_line

    public = read_line(key.line)
    assert isinstance(public, PublicKey)
    event = KeyEnrolled(public.fingerprint, public.kind, public.blob, False, None, "PASS")
    seq = force(stage, "ann", ("actor", "ann", event, "asserted"))
    found = problems(verified(stage))
    assert (found[0]["seq"], found[0]["where"]) == (seq, "fold")
    assert stage.run("ledger", "replay", "--swap", actor="bot").status == 7


def test_a_policy_that_accepts_the_unproved_again_is_broken(stage: Stage) -> None:
    from dataclasses import asdict

    ledger = stage.open()
    with ledger.reading() as tx:
        fact = tx.load([LEDGER])[LEDGER]
    ledger.close()
    assert isinstance(fact, Ledger)
    figures = {**asdict(fact.policy), "accept_unproved": True}
    figures["revision"] += 1
    seq = force(stage, "ann", ("ledger", "ledger", PolicySet(**figures), "asserted"))
    found = problems(verified(stage))
    assert (found[0]["seq"], found[0]["where"]) == (seq, "fold")


def test_rows_alone_make_no_decision(stage: Stage) -> None:
    """The decision's row is edited and no event says so: verification compares rows with events."""
    with sqlite3.connect(stage.path) as attacker:
        changed = attacker.execute(
            "UPDATE fact_rows SET body = CAST(replace(CAST(body AS TEXT), '\"proposed\"',"
            " '\"accepted\"') AS BLOB) WHERE kind = 'decision' AND id = 'D-1'"
        ).rowcount
    attacker.close()
    assert changed == 1
    assert any("decision/D-1" in p["where"] for p in problems(verified(stage)))


def test_what_was_not_touched_is_whole(stage: Stage) -> None:
    ran = verified(stage)
    assert (ran.status, ran.data["problems"]) == (0, [])
