"""The push of approved work as an effect: its name, what it says, and what a look-up makes of it.

An integration intends its push without a lease (CONTRACT 7). One effect stands for an item, with one
push open at a time; each intent of it is an attempt with a fence of its own, which counts intents,
since no lease gives one. Two things can keep a late push out: remit's marker on the remote, whose
fence a look-up raises, and the lease on main itself, which no push passes once main names something
else. The second one needs no help of the remote, and says nothing while main has not moved.

Pure: no git, no clock.
"""

from __future__ import annotations

from typing import Final

from remit.core.canonical import canonical, digest_of
from remit.core.checks import Check, Result
from remit.core.effect_facts import Comparator, Comparison, Destination, Effect, EffectState
from remit.core.facts import Push
from remit.core.ids import fence_of
from remit.core.reconcile import NONE, Seen, arrival, compare, known

OPERATION: Final = "integrate"
"""What a push does, in the terms of effects."""

REQUEST: Final = "pull-request"
"""The way, and the operation, of work that is proposed to a host instead of being pushed to main."""

OVERTAKEN: Final = "main-moved"
"""Nothing can arrive any more: main names another commit than the push expects."""


def push_effect(item: str) -> str:
    """The effect that stands for the push of an item."""
    return f"push/{item}"


def request_effect(lease: str) -> str:
    """The effect that stands for the pull request of an attempt, by its lease."""
    return f"{REQUEST}/{lease.replace('L-', 'A-', 1)}"


def request_branch(effect: str) -> str:
    """The branch that a pull request proposes."""
    return f"remit/{effect.partition('/')[2]}"


def push_attempt(epoch: int, item: str, intents: int) -> str:
    """The name of one try to push."""
    return f"P-{item[2:]}.{intents}" + (f"e{epoch}" if epoch else "")


def push_fence(epoch: int, intents: int) -> int:
    """The fence of the push that follows ``intents`` earlier ones."""
    return fence_of(epoch, intents + 1)


def push_payload(commit: str, expected: str) -> bytes:
    """What is asked of the remote: this commit, over that one."""
    return canonical({"commit": commit, "expected": expected})


def push_digest(commit: str, expected: str) -> str:
    """The digest of the payload."""
    return digest_of({"commit": commit, "expected": expected})


def push_record(push: Push) -> str:
    """The authoritative record of a push: the branch itself."""
    kind = "pull-requests" if push.way == REQUEST else "git"
    return f"{kind}:{push.remote}/{push.ref}"


def push_destination(push: Push) -> Destination:
    """What the remote enforces of a push, as far as that was declared when it was intended."""
    return Destination(
        push_record(push), 0, push.remote, "", "", push_record(push), push.markers, None,
        push.markers and push.way != REQUEST, True, True, 0, False, push.in_flight_ms, False, "", 0,
    )  # fmt: skip


def push_claims(push: Push) -> tuple[Check, ...]:
    """What holds of a push because its remote enforces it; BLOCKED where it does not.

    Every remote compares the lease on its branch, so the same commit cannot land twice while main
    only goes forward. Only a marker keeps a late push out while main has not moved.
    """
    record = push_record(push)

    def claimed(name: str, enforced: bool, figure: str) -> Check:
        result = Result.PASS if enforced else Result.BLOCKED
        reason = "" if enforced else "NOT_ENFORCED"
        return Check(name, result, figure if enforced else "", "enforced", record, reason)

    bound = push.in_flight_ms
    if push.way == REQUEST:
        return (
            claimed("external-duplicate-prevention", push.markers, "one request for a branch"),
            claimed("tested-is-what-lands", False, ""),
            claimed("look-up", True, record),
        )
    return (
        claimed("lease-on-main", True, push.expected),
        claimed("external-fencing", push.markers, "marker"),
        claimed("external-duplicate-prevention", push.markers, "marker"),
        claimed("in-flight-bound", bound is not None, f"{bound} ms"),
        claimed("look-up", True, record),
    )


def settle_push(
    effect: Effect, push: Push, seen: Seen
) -> tuple[EffectState, str, str, int | None, tuple[Check, ...]]:
    """What a look-up makes of a push: state, reason code, basis, until when, and the checks.

    Of one that this ledger never intended (it was adopted, and lost what it knew) any commit will do
    that the marker names; whether that is the approved change is asked again when it ships.
    """
    wanted = Comparison("commit", "commit", Comparator.EQUALS, push.commit)
    checks = compare(effect, push_record(push), (wanted,) if effect.intents else (), seen)
    destination = push_destination(push)
    basis, until = arrival(effect, destination, seen)
    if not basis and seen.result == NONE and effect.intents and push.way != REQUEST:
        now = dict(seen.values).get("ref_now", "")
        if now not in ("", push.expected):
            basis, until = OVERTAKEN, None
    state, why = known(effect, destination, checks, seen, basis, until)
    return state, why, basis, until, checks
