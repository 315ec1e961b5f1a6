"""The comparison of two histories: what it looks at, what it takes away, and that it can say no (INV-18)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.core.change import changed
from remit.proofs.parity.comparing import (
    EVENT,
    EVIDENCE,
    FOLDED,
    PAYLOAD,
    TAKEN_AWAY,
    Happening,
    History,
    compare,
    happening,
    side_by_side,
)

SHOWN: dict[str, Any] = {
    "kind": "delivery",
    "title": "a thing",
    "body": "do it",
    "status": "ready",
    "priority": 2,
    "expectation": [],
    "graphRefs": [],
    "orphanedRefs": [],
    "lease": None,
}
BODY: dict[str, Any] = {
    "phase": "report:completion",
    "from": "leased",
    "to": "in-review",
    "transitionId": "T05",
    "lease": {"id": "L-1.1", "fence": 1, "expiresAt": 9},
    "branch": "remit/A-1.1",
    "commits": ["a" * 40],
    "prUrl": "",
    "observedCommitSha": "b" * 40,
    "outcome": "",
    "graphVersion": 3,
    "triageKind": "refusal",
    "spentMicros": 5,
    "text": "words that nobody compares",
}


def one(seq: int = 7, actor: str = "drone", command_id: str = "x", **other: Any) -> Happening:
    body = json.dumps({**BODY, **other}).encode()
    return happening(seq, "item", "CompletionReported", actor, body, command_id)


def other_than(name: str, value: Any) -> Happening:
    """The event with one field changed."""
    changes: dict[str, Any] = {name: value}
    return one(**changes)


def history(*events: Any, **shown: Any) -> History:
    return History({"W-1": {**SHOWN, **shown}}, {"W-1": events}, {"W-1": ["GrantLease by drone"]})


def test_inv_18_the_contract_s_fields_are_compared() -> None:
    assert FOLDED == (
        "kind", "title", "body", "status", "priority", "expectation", "graphRefs", "orphanedRefs",
        "lease",
    )  # fmt: skip
    assert {*EVENT, *PAYLOAD} == {
        "entityKind", "eventType", "actor", "phase", "from", "to", "transitionId", "lease",
        "branch", "commits", "prUrl", "observedCommitSha", "outcome", "graphVersion",
    }  # fmt: skip


def test_what_is_taken_away_is_three_fields_and_none_that_is_compared() -> None:
    assert TAKEN_AWAY == ("seq", "createdAt", "conversationRef")
    assert not set(TAKEN_AWAY) & {*FOLDED, *EVENT, *PAYLOAD, *EVIDENCE}


def test_equal_histories_are_alike_whatever_their_seqs_and_command_ids() -> None:
    assert compare(history(one(7)), history(one(99, command_id="y", text="other"))) == []


@pytest.mark.parametrize("name", FOLDED)
def test_a_field_of_the_folded_state_that_differs_is_found(name: str) -> None:
    [found] = compare(history(one()), history(one(), **{name: "another"}))
    assert (found.property, found.subject, found.place) == ("folded-state", "W-1", name)


@pytest.mark.parametrize("name", PAYLOAD)
def test_a_field_of_an_event_that_differs_is_found(name: str) -> None:
    [found] = compare(history(one()), history(other_than(name, "another")))
    assert (found.property, found.place) == ("semantic-events", f"event 1, {name}")


def test_the_actor_is_never_taken_away() -> None:
    [found] = compare(history(one()), history(one(actor="ann")))
    assert found.property == "semantic-events"


@pytest.mark.parametrize("name", [x for x in EVIDENCE if x in BODY])
def test_evidence_that_differs_is_found_as_that(name: str) -> None:
    [found] = compare(history(one()), history(other_than(name, 9)))
    assert found.property == "evidence"


def test_order_and_number_of_events_count() -> None:
    a, b = one(), one(to="ready")
    assert compare(history(a, b), history(b, a))
    [missing, *_] = compare(history(a, b), history(a))
    assert missing.place == "event 2"


def test_operations_and_accounts_that_differ_are_found() -> None:
    left = history(one())
    other = changed(left, operations={"W-1": []}, accounts={"ledger": (5, 0)})
    assert [x.property for x in compare(left, other)] == ["operations", "accounts"]


def test_both_histories_are_shown_side_by_side_with_a_mark_where_they_part() -> None:
    head, same, apart = side_by_side(history(one(), one()), history(one(), one(actor="ann")), "W-1")
    assert "by hand" in head
    assert " | " not in same
    assert " | " in apart
