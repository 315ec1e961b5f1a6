"""The second worked example: a response is lost, and the external effect is uncertain (INV-13).

Times, identities and the fence are those of the example. Each branch begins with the same history.
"""

from __future__ import annotations

from tests.core.effect_world import RECONCILER, EffectWorld
from tests.core.world import HUMAN

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.effect_events import EffectIntended, EffectVerified
from remit.core.effect_facts import EffectState
from remit.core.facts import Lease

EFFECT = "PACKAGE-72"
VALUES = (
    ("effect_id", EFFECT),
    ("digest", "SYNTHETIC-DIGEST-A"),
    ("manifest_id", "MANIFEST-72"),
)


def until_u2() -> tuple[EffectWorld, str, Lease]:
    """U0 to U2: admitted, leased, intended, sent; no response, no acknowledgement, lease over."""
    world = EffectWorld(in_flight_ms=None)
    item = world.submit(
        work_id="WORK-205",
        message_id="MESSAGE-990",
        effect_id=EFFECT,
        candidate_revision="PACKAGE-CANDIDATE-9",
    )
    lease = world.lease(item)
    world.intend(lease)
    world.ok("bob", c.NoteSent(item, lease.fence, "SYNTHETIC-DIGEST-A"))
    world.until_over(lease)
    return world, item, lease


def test_local_ownership_is_kept_apart_from_external_duplicate_prevention() -> None:
    world, _, lease = until_u2()
    checks = {check.check: check for check in world.last(EffectIntended).checks}
    assert checks["local-fencing"].result is Result.PASS
    assert checks["local-fencing"].observed == str(lease.fence)
    assert checks["external-fencing"].result is Result.BLOCKED
    assert checks["external-duplicate-prevention"].result is Result.BLOCKED


def test_the_ambiguous_attempt_is_uncertain_and_its_retry_is_held() -> None:
    world, item, lease = until_u2()
    decided = world.retry()
    assert (decided.attempt_result, decided.lease_state) == ("UNCERTAIN", "EXPIRED")
    assert (decided.worker_termination, decided.effect_state) == ("BLOCKED", "UNCERTAIN")
    assert decided.acknowledgement == "NOT_RECORDED"
    assert (decided.decision, decided.reason) == ("HOLD", "PRIOR_EFFECT_UNRECONCILED")
    assert (decided.owner, decided.execution) == ("RETRY-3", "NOT_STARTED")
    assert decided.candidate_fence == lease.fence + 1
    assert world.effect(EFFECT).sent_seq > 0
    assert world.effect(EFFECT).response_seq == 0
    redelivered = c.SubmitIntent(world.intent(item).envelope, world.intent(item).digest)
    assert world.ok(HUMAN, redelivered).events == (), "redelivery is not permission"
    assert world.status(item) == "held"


def test_branch_a_the_exact_effect_is_found_and_the_retry_suppressed() -> None:
    world, item, _ = until_u2()
    world.look("FOUND", EFFECT, values=VALUES, replacement="cat")
    verified = world.last(EffectVerified)
    names = ("effect-identity", "one-current-object", "digest", "manifest")
    checks = {check.check: check.result for check in verified.checks}
    assert {checks[name] for name in names} == {Result.PASS}
    decided = world.retry()
    assert (decided.decision, decided.execution) == ("SUPPRESS", "NOT_STARTED")
    assert decided.replacement == "cat"
    assert world.status(item) == "verified"
    assert world.effect(EFFECT).intents == 1


def test_branch_b_an_outage_leaves_it_uncertain_and_the_retry_held() -> None:
    world, item, _ = until_u2()
    world.look("UNAVAILABLE", EFFECT)
    checks = {check.check: check.result for check in world.seen().checks}
    names = ("effect-identity", "one-current-object", "digest", "manifest")
    assert {checks[name] for name in names} == {Result.BLOCKED}
    assert world.effect(EFFECT).state is EffectState.UNCERTAIN
    decided = world.retry()
    assert (decided.decision, decided.execution) == ("HOLD", "NOT_STARTED")
    assert decided.trigger == "recovery:DESTINATION-INDEX-8"
    assert world.status(item) == "held"
    world.look("FOUND", EFFECT, values=VALUES)
    assert world.status(item) == "verified", "the same exact look-up, after its recovery"
    assert world.last(EffectVerified).reconciler == RECONCILER
