"""Human authority in the core: what a signature must be, whose key counts, and what a decision opens.

INV-4, INV-15.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.effects import Effects, envelope
from tests.core.world import HUMAN, KEYS, OTHER, SECOND, World, key_spec

from remit.core import commands as c
from remit.core.authority_events import ActSigned
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Text
from remit.core.decision_events import DecisionConsumed, DecisionSuperseded
from remit.core.decisions import Decision, DecisionKind, Option, effect_proposal
from remit.core.effect_facts import EffectState
from remit.core.events import ActorEnrolled
from remit.core.facts import Actor, Ledger, Token
from remit.core.item_events import ItemTriaged
from remit.core.refusals import Code, Refused
from remit.core.signing import Shown
from remit.core.triage_shapes import values_of
from remit.service.engine import Call, Done

GO = (Option("go", "Do it"), Option("stay", "Leave it", permits=False, against="it is needed"))
PROPOSE = c.ProposeDecision("dependency-bypass", "Skip it", GO, ("node/n1",), "a" * 64, "", "go")


def keyed() -> World:
    """A world in which ann and eve have keys, and nothing unproved is accepted."""
    world = World()
    world.keyed()
    world.signed(HUMAN, c.EnrolKey(OTHER, KEYS[OTHER]))
    return world


def decision(world: World, name: str = "D-1") -> Decision:
    found = world.fact("decision", name)
    assert isinstance(found, Decision)
    return found


def code(answer: Any) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


# What a signature must be.


@pytest.mark.parametrize(
    ("flaws", "expected"),
    [
        ({"namespace": "remit-review"}, Code.SIGNATURE_NAMESPACE),
        ({"fingerprint": "SHA256:" + "z" * 43}, Code.KEY_UNKNOWN),
        ({"fingerprint": KEYS[OTHER].fingerprint}, Code.KEY_OF_ANOTHER),
        ({"reach": Result.FAIL}, Code.KEY_IN_REACH),
        ({"reach": Result.BLOCKED}, Code.KEY_REACH_UNKNOWN),
        ({"reach": Result.NOT_TESTED}, Code.KEY_REACH_UNKNOWN),
        ({"reach": Result.FAIL, "presence": True}, Code.KEY_IN_REACH),
        ({"hardware": True}, Code.PRESENCE_MISSING),
        ({"statement": "{}"}, Code.SIGNATURE_OF_ANOTHER_LEDGER),
        ({"statement": "[" * 9_000}, Code.SIGNATURE_OF_ANOTHER_LEDGER),
        ({"nonce": "5" * 32}, Code.SIGNATURE_STALE),
        ({"until": 1}, Code.SIGNATURE_STALE),
    ],
)
def test_a_signature_that_does_not_prove_the_act(flaws: dict[str, Any], expected: Code) -> None:
    world = keyed()
    world.ok("bob", PROPOSE)
    before = world.state()
    assert code(world.prove(HUMAN, c.AcceptDecision("D-1"), **flaws)) is expected
    assert world.state() == before


@pytest.mark.parametrize(
    "found", [{}, {"hardware": True, "presence": True}, {"presence": True, "reach": Result.BLOCKED}]
)
def test_a_signature_that_proves_it(found: dict[str, Any]) -> None:
    world = keyed()
    world.ok("bob", PROPOSE)
    answer = world.prove(HUMAN, c.AcceptDecision("D-1"), **found)
    assert isinstance(answer, Done), answer
    signed, accepted = answer.events
    assert isinstance(signed.event, ActSigned)
    level = "signature+presence" if found.get("presence") else "signature"
    assert accepted.assurance == decision(world).assurance == level
    assert decision(world).proved


def test_nothing_is_signed_for_longer_than_seven_days() -> None:
    world = keyed()
    world.ok("bob", PROPOSE)
    world.nonces += 1
    from remit.core.signing import Proof

    wish = Proof("7" * 32, world.now + 8 * 86_400 * SECOND)
    [asked] = world.engine.run([Call(c.AcceptDecision("D-1"), HUMAN, proof=wish)])
    assert isinstance(asked, Refused)
    found = {"signature": "c2ln", "namespace": "remit-decision", "reach": Result.PASS}
    proof = changed(
        wish,
        statement=asked.details["statement"],
        fingerprint=KEYS[HUMAN].fingerprint,
        **found,
    )
    [answer] = world.engine.run([Call(c.AcceptDecision("D-1"), HUMAN, proof=proof)])
    assert code(answer) is Code.SIGNATURE_EXPIRED


# Keys.


def test_the_first_key_is_the_root_and_every_other_is_signed_in() -> None:
    world = World()
    world.no(
        HUMAN, c.SetPolicy(changed(ledger(world).policy, accept_unproved=False)), Code.KEY_NEEDED
    )
    world.ok(HUMAN, c.EnrolKey(HUMAN, KEYS[HUMAN]))
    world.no(HUMAN, c.EnrolKey(OTHER, KEYS[OTHER]), Code.SIGNATURE_MISSING)
    world.no(HUMAN, c.EnrolActor("fay", "human"), Code.SIGNATURE_MISSING)
    world.no(HUMAN, c.RevokeActor(OTHER), Code.SIGNATURE_MISSING)
    world.no(HUMAN, c.RevokeKey(HUMAN, KEYS[HUMAN].fingerprint), Code.SIGNATURE_MISSING)
    world.ok(HUMAN, c.EnrolActor("gus", "agent"))
    world.signed(HUMAN, c.EnrolActor("fay", "human", KEYS["fay"]))
    world.no("fay", c.EnrolKey(OTHER, KEYS[OTHER]), Code.SIGNATURE_MISSING)
    world.signed("fay", c.EnrolKey(OTHER, KEYS[OTHER]))
    assert [len(actor(world, name).keys) for name in (HUMAN, "fay", OTHER)] == [1, 1, 1]


def ledger(world: World) -> Ledger:
    found = world.fact("ledger", "ledger")
    assert isinstance(found, Ledger)
    return found


def actor(world: World, name: str) -> Actor:
    found = world.fact("actor", name)
    assert isinstance(found, Actor)
    return found


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"reach": "FAIL"}, Code.KEY_IN_REACH),
        ({"reach": "BLOCKED"}, Code.KEY_REACH_UNKNOWN),
        ({"reach": "NOT_TESTED"}, Code.KEY_REACH_UNKNOWN),
        ({"fingerprint": "MD5:00"}, Code.BAD_INPUT),
        ({"blob": "no base64 !"}, Code.BAD_INPUT),
        ({"expires_at": 1}, Code.BAD_INPUT),
        ({"fingerprint": KEYS[HUMAN].fingerprint}, Code.KEY_TAKEN),
    ],
)
def test_a_key_that_cannot_count_is_not_enrolled(more: dict[str, Any], expected: Code) -> None:
    world = keyed()
    assert code(world.prove(HUMAN, c.EnrolKey(HUMAN, key_spec("y", **more)))) is expected


def test_a_key_that_was_revoked_or_has_expired_signs_nothing() -> None:
    world = keyed()
    soon = key_spec("y", expires_at=world.now + 9 * SECOND)
    world.signed(HUMAN, c.EnrolKey(HUMAN, soon))
    world.ok("bob", PROPOSE)
    accept = c.AcceptDecision("D-1")
    world.pass_us(9 * SECOND)
    expired = world.prove(HUMAN, accept, fingerprint=soon.fingerprint)
    assert code(expired) is Code.KEY_EXPIRED
    gone = KEYS[OTHER].fingerprint
    world.signed(HUMAN, c.RevokeKey(OTHER, gone, "lost"))
    assert code(world.prove(OTHER, accept)) is Code.KEY_REVOKED
    assert code(world.prove(HUMAN, c.RevokeKey(OTHER, gone))) is Code.KEY_REVOKED
    assert code(world.prove(HUMAN, c.RevokeKey(OTHER, "SHA256:none"))) is Code.KEY_UNKNOWN


def test_the_last_key_stays() -> None:
    world = World()
    world.keyed()
    last = c.RevokeKey(HUMAN, KEYS[HUMAN].fingerprint)
    assert code(world.prove(HUMAN, last)) is Code.KEY_LAST


def test_agents_have_no_keys() -> None:
    world = keyed()
    command = c.EnrolActor("gus", "agent", key_spec("y"))
    assert code(world.prove(HUMAN, command)) is Code.BAD_INPUT
    assert code(world.prove(HUMAN, c.EnrolKey("bob", key_spec("y")))) is Code.BAD_INPUT


def test_unproved_acts_are_accepted_again_only_by_signature() -> None:
    world = keyed()
    lax = c.SetPolicy(changed(ledger(world).policy, accept_unproved=True))
    world.no(HUMAN, lax, Code.SIGNATURE_MISSING)
    world.signed(HUMAN, lax)
    world.ok("bob", PROPOSE)
    world.ok(HUMAN, c.AcceptDecision("D-1"))
    assert decision(world).assurance == "asserted"
    assert not decision(world).proved


# Tokens.


def served() -> World:
    """A world that agents reach through a server alone; bob has a token."""
    world = World(served=True)
    world.ok(HUMAN, c.IssueToken("bob", "1" * 16, "d" * 64))
    return world


def shown(world: World, name: str, token: Shown | None, command: c.Command | None = None) -> Any:
    command = command or c.CreateItem("work")
    return world.engine.run([Call(command, name, token=token)])[0]


GOOD = Shown("1" * 16, "d" * 64)


def test_a_served_ledger_wants_tokens_of_agents_and_believes_them() -> None:
    world = served()
    assert code(shown(world, "bob", None)) is Code.TOKEN_MISSING
    answer = shown(world, "bob", GOOD)
    assert isinstance(answer, Done)
    assert {r.assurance for r in answer.events if r.actor == "bob"} == {"token"}
    assert code(shown(world, "cat", GOOD)) is Code.TOKEN_OF_ANOTHER
    assert code(shown(world, "bob", Shown("1" * 16, "e" * 64))) is Code.TOKEN_UNKNOWN
    assert code(shown(world, "bob", Shown("2" * 16, "d" * 64))) is Code.TOKEN_UNKNOWN


def test_where_agents_share_the_file_a_token_counts_as_asserted() -> None:
    world = World()
    world.ok(HUMAN, c.IssueToken("bob", "1" * 16, "d" * 64))
    answer = shown(world, "bob", GOOD)
    assert isinstance(answer, Done)
    assert {r.assurance for r in answer.events} == {"asserted"}


def test_a_token_is_good_for_its_item_its_lease_and_its_time() -> None:
    world = World()
    one, two = world.create(), world.create()
    lease = world.lease(one)
    until = world.now + 60 * SECOND
    world.ok(HUMAN, c.IssueToken("bob", "1" * 16, "d" * 64, one, lease.id, until))
    note = c.AddNote(one, Text("x"))
    assert isinstance(shown(world, "bob", GOOD, note), Done)
    assert code(shown(world, "bob", GOOD, c.AddNote(two, Text("x")))) is Code.TOKEN_SCOPE
    assert code(shown(world, "bob", GOOD)) is Code.TOKEN_SCOPE
    world.ok("bob", c.ReleaseLease(one, lease.fence))
    world.lease(one)
    assert code(shown(world, "bob", GOOD, note)) is Code.TOKEN_SCOPE, "another lease"
    world.ok(HUMAN, c.IssueToken("bob", "3" * 16, "d" * 64, one, "", until))
    later = Shown("3" * 16, "d" * 64)
    world.pass_us(60 * SECOND)
    assert code(shown(world, "bob", later, note)) is Code.TOKEN_EXPIRED


def test_a_token_can_be_revoked_and_is_kept_as_a_digest() -> None:
    world = World()
    world.ok(HUMAN, c.IssueToken("bob", "1" * 16, "d" * 64))
    world.no("bob", c.RevokeToken("1" * 16), Code.ACTOR_KIND_REFUSED)
    world.ok(HUMAN, c.RevokeToken("1" * 16, "seen in a log"))
    assert code(shown(world, "bob", GOOD)) is Code.TOKEN_REVOKED
    world.no(HUMAN, c.RevokeToken("1" * 16), Code.TOKEN_REVOKED)
    world.no(HUMAN, c.RevokeToken("9" * 16), Code.TOKEN_UNKNOWN)
    found = world.fact("token", "1" * 16)
    assert isinstance(found, Token)
    assert found.revoked


def test_a_token_never_makes_a_human() -> None:
    world = keyed()
    world.no(HUMAN, c.IssueToken(HUMAN, "1" * 16, "d" * 64), Code.BAD_INPUT)
    world.ok(HUMAN, c.IssueToken("bob", "1" * 16, "d" * 64))
    world.ok("bob", PROPOSE)
    accept = c.AcceptDecision("D-1")
    assert code(shown(world, "bob", GOOD, accept)) is Code.ACTOR_KIND_REFUSED
    assert code(shown(world, HUMAN, GOOD, accept)) is Code.TOKEN_OF_ANOTHER


# Decisions.


def test_an_agent_proposes_and_never_accepts() -> None:
    world = World()
    world.ok("bob", PROPOSE)
    world.no("bob", c.AcceptDecision("D-1"), Code.ACTOR_KIND_REFUSED)
    world.no("bob", c.RejectDecision("D-1", "no"), Code.ACTOR_KIND_REFUSED)
    world.no("remit-admission", c.AcceptDecision("D-1"), Code.ACTOR_KIND_REFUSED)


def test_every_option_that_was_not_chosen_is_rejected_for_a_reason() -> None:
    world = keyed()
    options = (Option("go", "Do it"), Option("stay", "Leave it", permits=False))
    world.ok("bob", changed(PROPOSE, options=options))
    assert code(world.prove(HUMAN, c.AcceptDecision("D-1"))) is Code.BAD_INPUT
    both = (("go", "no"), ("stay", "no"))
    assert code(world.prove(HUMAN, c.AcceptDecision("D-1", rejected=both))) is Code.BAD_INPUT
    assert code(world.prove(HUMAN, c.AcceptDecision("D-1", chosen="flee"))) is Code.BAD_INPUT
    world.signed(HUMAN, c.AcceptDecision("D-1", rejected=(("stay", "too slow"),)))
    assert decision(world).chosen == "go"
    assert code(world.prove(HUMAN, c.AcceptDecision("D-1"))) is Code.DECISION_SETTLED
    assert code(world.prove(HUMAN, c.AcceptDecision("D-9"))) is Code.NOT_FOUND


def test_one_decision_takes_the_place_of_another_and_both_stay() -> None:
    world = keyed()
    world.ok("bob", PROPOSE)
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    world.ok("bob", changed(PROPOSE, supersedes="D-1", recommended="stay"))
    assert decision(world).state == "accepted"
    answer = world.signed(OTHER, c.AcceptDecision("D-2", rejected=(("go", "no"),)))
    superseded = [r for r in answer.events if isinstance(r.event, DecisionSuperseded)]
    assert [(r.stream, r.assurance) for r in superseded] == [("D-1", "signature")]
    assert (decision(world).state, decision(world).superseded_by) == ("superseded", "D-2")
    register = world.fact("decided", "dependency-bypass|node/n1")
    assert register.decisions == ("D-2",)  # type: ignore[union-attr]  # of that kind


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "a whim"},
        {"title": ""},
        {"title": "two\nlines"},
        {"options": ()},
        {"options": (GO[0], GO[0])},
        {"options": (Option("a b", "x"),)},
        {"recommended": "flee"},
        {"scope": ()},
        {"scope": ("node/n1", "node/n1")},
        {"scope": ("no label",)},
        {"proposal": "short"},
        {"expires_at": 1},
        {"question": "x" * 4_001},
    ],
)
def test_what_is_no_decision_is_not_proposed(more: dict[str, Any]) -> None:
    World().no("bob", changed(PROPOSE, **more), Code.BAD_INPUT)


def test_only_one_of_the_same_kind_is_superseded() -> None:
    world = World()
    world.ok("bob", PROPOSE)
    other = changed(PROPOSE, kind="verification-waiver", supersedes="D-1")
    world.no("bob", other, Code.BAD_INPUT)
    world.no("bob", changed(PROPOSE, supersedes="D-7"), Code.NOT_FOUND)


# Irreversible work.

FINAL = {"replay_class": "IRREVERSIBLE", "destination": "INDEX", "blast_radius": "one invoice"}


def final() -> tuple[Effects, str]:
    """Irreversible work that is held for a human, where nothing unproved is accepted."""
    world = Effects()
    world.destination()
    world.keyed()
    world.observe()
    item = world.submit(1, **FINAL)
    assert world.verdicts(item) == [("HOLD", "HUMAN_DECISION_MISSING")]
    return world, item


def about(world: Effects, item: str, **more: Any) -> c.ProposeDecision:
    """A proposal to do it."""
    wanted = world.intent(item).envelope
    plain = changed(
        PROPOSE,
        kind=DecisionKind.IRREVERSIBLE,
        scope=("effect/PACKAGE-1",),
        proposal=effect_proposal(wanted),
    )
    return changed(plain, **more)


def test_a_signed_decision_opens_irreversible_work_once() -> None:
    world, item = final()
    world.ok("bob", about(world, item))
    assert world.status(item) == "held"
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    assert world.status(item) == "ready", "its holds were looked at again"
    assert world.check(item, "human-decision").observed == "D-1"
    lease = world.lease(item)
    answer = world.ok("bob", c.IntendEffect(item, lease.fence))
    [consumed] = [r.event for r in answer.events if isinstance(r.event, DecisionConsumed)]
    assert consumed.revision == "PACKAGE-1#1"
    assert decision(world).consumed_by == ("PACKAGE-1#1",)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"proposal": "f" * 64}, "DECISION_STALE"),
        ({"recommended": "stay"}, "DECISION_AGAINST"),
        ({"scope": ("effect/PACKAGE-2",)}, ""),
        ({"scope": ("unresolved/PACKAGE-1",)}, ""),
        ({"kind": DecisionKind.WAIVER}, ""),
    ],
)
def test_another_decision_opens_nothing(more: dict[str, Any], found: str) -> None:
    world = Effects()
    world.destination()
    world.keyed()
    world.observe()
    plain = changed(
        PROPOSE,
        kind=DecisionKind.IRREVERSIBLE,
        scope=("effect/PACKAGE-1",),
        proposal=effect_proposal(envelope(1, **FINAL)),
    )
    world.ok("bob", changed(plain, **more))
    world.signed(HUMAN, c.AcceptDecision("D-1", rejected=reasons(more)))
    item = world.submit(1, **FINAL)
    assert world.verdicts(item) == [("HOLD", "HUMAN_DECISION_MISSING")]
    seen = world.check(item, "human-decision")
    assert (seen.result, seen.observed) == ("BLOCKED", f"D-1:{found}" if found else "")


def reasons(more: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("go", "no"),) if more.get("recommended") == "stay" else ()


def test_two_decisions_that_conflict_open_nothing() -> None:
    world, item = final()
    world.ok("bob", about(world, item))
    world.ok("bob", about(world, item, recommended="stay"))
    world.signed(HUMAN, c.AcceptDecision("D-2", rejected=(("go", "no"),)))
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    assert world.status(item) == "held"


@pytest.mark.parametrize("stage", ["ready", "leased", "intended"])
def test_work_under_way_is_put_aside_when_its_decisions_come_to_conflict(stage: str) -> None:
    """Both are named; an effect that is on its way is for a look-up instead (INV-13, INV-19)."""
    world, item = final()
    world.ok("bob", about(world, item))
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    assert world.status(item) == "ready"
    if stage != "ready":
        lease = world.lease(item)
        if stage == "intended":
            world.ok("bob", c.IntendEffect(item, lease.fence))
    world.ok("bob", about(world, item, recommended="stay"))
    world.signed(HUMAN, c.AcceptDecision("D-2", rejected=(("go", "no"),)))
    if stage == "intended":
        assert world.status(item) == "leased"
        return
    assert world.triage_of(item) == ("conflicting-decisions",)
    event = next(r.event for r in world.events() if isinstance(r.event, ItemTriaged))
    assert values_of(event.evidence) == {"decision": ["D-2", "D-1"], "about": ["effect/PACKAGE-1"]}
    record = world.item(item).triage[0]
    world.no(HUMAN, c.ResolveTriage(record, "fail", "so"), Code.RESOLUTION_REFUSED)
    world.ok(HUMAN, c.ResolveTriage(record, "requeue", "let us see"))
    assert world.status(item) == "held", "they conflict still"


def test_what_was_decided_holds_at_the_lease_and_at_the_intent_too() -> None:
    world, item = final()
    world.ok("bob", about(world, item, expires_at=world.now + 60 * SECOND))
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    lease = world.lease(item)
    world.pass_us(60 * SECOND)
    world.no("bob", c.IntendEffect(item, lease.fence), Code.DECISION_EXPIRED)
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    assert world.status(item) == "held"


def test_a_lease_of_what_was_decided_on_ends_with_the_decision() -> None:
    world, item = final()
    world.ok("bob", about(world, item, expires_at=world.now + 60 * SECOND))
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    world.pass_us(60 * SECOND)
    world.no("bob", c.GrantLease(item), Code.DECISION_EXPIRED)


def test_inv_4_an_open_effect_is_closed_over_only_by_a_decision_that_says_so() -> None:
    world, item = final()
    world.ok("bob", about(world, item))
    world.signed(HUMAN, c.AcceptDecision("D-1"))
    lease = world.lease(item)
    world.ok("bob", c.IntendEffect(item, lease.fence))
    world.ok("bob", c.FailWork(item, lease.fence, reason=Text("no answer")))
    world.pass_us(SECOND)
    close = c.CloseItem(item, "failed", Text("nobody can say"))
    world.no(HUMAN, close, Code.EFFECT_UNRECONCILED)
    world.no(HUMAN, changed(close, decision="D-1"), Code.DECISION_SCOPE)
    world.no(HUMAN, changed(close, decision="D-7"), Code.DECISION_MISSING)
    world.ok("bob", about(world, item, scope=("unresolved/PACKAGE-1",)))
    world.no(HUMAN, changed(close, decision="D-2"), Code.DECISION_NOT_ACCEPTED)
    world.signed(HUMAN, c.AcceptDecision("D-2"))
    answer = world.ok(HUMAN, changed(close, decision="D-2"))
    assert world.status(item) == "closed"
    assert [r.event.revision for r in answer.events if isinstance(r.event, DecisionConsumed)] == [
        item
    ]
    effect = world.effect(1)
    assert effect is not None
    assert effect.state in (EffectState.INTENDED, EffectState.UNCERTAIN), "it stays unresolved"


# Work.


def test_what_is_approved_unproved_does_not_ship_where_proof_is_needed() -> None:
    world = World()
    item = world.create()
    world.complete(world.lease(item))
    world.ok(HUMAN, c.ReviewWork(item, True, Text("fine")))
    ship = world.ship_of(item)
    world.keyed()
    world.no(HUMAN, ship, Code.REVIEW_UNPROVED)


def test_a_signed_approval_ships() -> None:
    world = keyed()
    item = world.create()
    world.complete(world.lease(item))
    answer = world.prove("cat", c.ReviewWork(item, True, Text("fine")))
    assert code(answer) is Code.ACTOR_KIND_REFUSED
    world.signed(OTHER, c.ReviewWork(item, True, Text("fine")))
    world.ok(HUMAN, world.ship_of(item))
    assert world.status(item) == "shipped"


def test_an_unsigned_rule_counts_no_more_once_proof_is_needed() -> None:
    world = World()
    world.ok(HUMAN, c.RegisterRule("default", "d1", ("check",), ""))
    world.ok(HUMAN, c.AcceptRule("default"))
    world.keyed()
    item = next(
        r.stream
        for r in world.ok("bob", c.CreateItem("no rows")).events
        if r.stream.startswith("W-")
    )
    assert world.item(item).gate == "rule/default"
    world.no(HUMAN, c.AcceptRule("default"), Code.SIGNATURE_MISSING)
    world.signed(HUMAN, c.AcceptRule("default"))
    world.ok("bob", c.Recheck(item))
    assert world.status(item) == "ready"


def test_a_ledger_that_is_born_with_a_key_accepts_nothing_unproved() -> None:
    from tests.contract.builders import Hands

    from remit.service.engine import Engine
    from remit.stores.memory import MemoryStore

    engine = Engine(MemoryStore("born", readings=Hands()))
    [answer] = engine.run([Call(c.CreateLedger("born", HUMAN, KEYS[HUMAN], served=True), HUMAN)])
    assert isinstance(answer, Done), answer
    enrolled = [r.entity for r in answer.events if isinstance(r.event, ActorEnrolled)]
    assert enrolled[-1] == HUMAN
    [refused] = engine.run([Call(c.EnrolActor("bob", "agent"), HUMAN)])
    assert code(refused) is Code.SIGNATURE_MISSING


def test_every_command_that_writes_an_act_is_offered_a_signature() -> None:
    """What ``enact`` writes and what a caller may sign for are the same commands."""
    from pathlib import Path

    from remit.core import decide
    from remit.core.signing import NAMESPACES
    from remit.service.calling import ACTS

    folder = Path(decide.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    assert text.count("enact(") > 15
    names = {command.__name__ for command in ACTS}
    assert {"AcceptDecision", "ReviewWork", "AdoptEpoch", "SetPolicy", "EnrolKey"} <= names
    assert len(ACTS) == len(NAMESPACES)
