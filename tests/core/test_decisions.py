"""What a decision covers, each way to fall short of it, and which two of them conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from remit.core.change import changed
from remit.core.decisions import (
    Decided,
    Decision,
    DecisionKind,
    DecisionState,
    Option,
    choice_digest,
    conflicting,
    covers,
    decided_key,
    opposed,
    rivals,
)
from remit.core.refusals import Code

NOW = 1_000


@dataclass(frozen=True, slots=True)
class Need:
    """What a plan says that it needs."""

    kind: str = "dependency-bypass"
    scope: tuple[str, ...] = ("node/n1", "node/n2")


def decision(**more: Any) -> Decision:
    """An accepted, signed decision about two nodes of one proposal."""
    plain = Decision(
        id="D-1",
        version=2,
        kind=DecisionKind.BYPASS,
        title="Skip the migration",
        state=DecisionState.ACCEPTED,
        scope=("node/n1", "node/n2", "node/n3"),
        plan="P-1",
        proposal="p" * 64,
        record="r" * 64,
        options=(Option("skip", "Skip it"), Option("wait", "Wait", permits=False)),
        recommended="skip",
        proposed_by="bob",
        proposed_seq=5,
        chosen="skip",
        choice=choice_digest("Skip it"),
        permits=True,
        accepted_by="ann",
        assurance="signature",
    )
    return changed(plain, **more)


def test_a_signed_decision_covers_its_scope_in_its_proposal() -> None:
    assert covers(decision(), Need(), "p" * 64, NOW) is None
    assert covers(decision(assurance="signature+presence"), Need(), "p" * 64, NOW) is None
    assert covers(decision(expires_at=NOW + 1), Need(), "p" * 64, NOW) is None


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"state": DecisionState.PROPOSED}, Code.DECISION_NOT_ACCEPTED),
        ({"state": DecisionState.REJECTED}, Code.DECISION_NOT_ACCEPTED),
        ({"state": DecisionState.SUPERSEDED, "superseded_by": "D-2"}, Code.DECISION_SUPERSEDED),
        ({"expires_at": NOW}, Code.DECISION_EXPIRED),
        ({"assurance": "asserted"}, Code.DECISION_UNPROVED),
        ({"assurance": "token"}, Code.DECISION_UNPROVED),
        ({"kind": DecisionKind.WAIVER}, Code.DECISION_OF_ANOTHER_KIND),
        ({"permits": False}, Code.DECISION_AGAINST),
        ({"proposal": "q" * 64}, Code.DECISION_STALE),
        ({"scope": ("node/n1",)}, Code.DECISION_SCOPE),
    ],
)
def test_each_way_to_fall_short_has_its_own_code(more: dict[str, Any], code: Code) -> None:
    refused = covers(decision(**more), Need(), "p" * 64, NOW)
    assert refused is not None
    assert refused.code is code
    assert "D-1" in refused.message


def test_nothing_decided_covers_nothing() -> None:
    refused = covers(None, Need(), "p" * 64, NOW)
    assert refused is not None
    assert refused.code is Code.DECISION_MISSING


def test_the_policy_alone_lets_an_unproved_one_count() -> None:
    unproved = decision(assurance="asserted")
    assert covers(unproved, Need(), "p" * 64, NOW, accept_unproved=True) is None


def test_two_choices_about_one_thing_conflict_and_both_are_named() -> None:
    one, two = decision(), decision(id="D-2", choice=choice_digest("Wait"), permits=False)
    assert opposed(one, two, NOW)
    same = decision(id="D-2", choice=choice_digest(" SKIP  it"))
    assert not opposed(one, same, NOW)
    assert not opposed(one, changed(two, scope=("node/n9",)), NOW)
    assert not opposed(one, changed(two, kind=DecisionKind.WAIVER), NOW)
    assert not opposed(one, changed(two, expires_at=NOW), NOW)
    facts: dict[tuple[str, str], Any] = {
        ("decision", "D-1"): one,
        ("decision", "D-2"): two,
        ("decided", decided_key(one.kind, "node/n2")): Decided("x", ("D-1", "D-2")),
    }
    found = rivals(lambda kind, name: facts.get((kind, name)), one, NOW)
    assert [other.id for other in found] == ["D-2"]
    refused = conflicting(one, found)
    assert refused.code is Code.DECISIONS_CONFLICT
    assert refused.details["decisions"] == ["D-1", "D-2"]
