"""Decisions on what rules effect work: validation rules, policies, destinations, and capacity.

A label stands for one content for ever: the same again changes nothing, another content is refused.
Only a human registers what decides over others; whoever is enrolled may say what was observed of
capacity. Every fault of a document is named at once. What holds have waited for makes a recheck due.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_events as e
from remit.core.capacity import OPTIONAL
from remit.core.decide.asking import bad, human_only
from remit.core.decide.proving import enact
from remit.core.effect_facts import AdmissionPolicy, Capacity, ReplayClass, Validation
from remit.core.envelope import ALWAYS, MAY_REQUIRE, usable_identity, usable_lane
from remit.core.ids import MAX_INTEGER, is_actor_name
from remit.core.intents import policy_for
from remit.core.rechecking import make_due
from remit.core.refusals import Code, Refused
from remit.core.verdict import ALL_CLASSES
from remit.core.view import Draft

ROWS: Final = ("capacity", "deadline", "cancellation", "destination")
"""Evidence that a policy may ask for."""

MAX_DURATION_MS: Final = 10 * 365 * 24 * 60 * 60 * 1_000
MAX_LIST: Final = 1_000
MAX_HORIZON: Final = 1_000_000

_NUMBERED: Final = re.compile(r"CAP-[0-9]+\Z")


def _given(values: Any, event: Any) -> Any:
    """The event of a document: every part of the value but what the ledger itself sets."""
    return event(**{f.name: getattr(values, f.name) for f in fields(event)})


def _label(label: str) -> Iterator[str]:
    if not usable_identity(label):
        yield f"label: {label!r} is not 1 to 200 printable characters"


def _digest(digest: str) -> Iterator[str]:
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        yield "digest: expected 64 hexadecimal digits in lower case"


def _within(values: Any, names: Iterable[str], low: int, high: int) -> Iterator[str]:
    for name in names:
        value = getattr(values, name)
        if value is not None and not low <= value <= high:
            yield f"{name}: {value} is not within {low}..{high}"


def _known(name: str, found: tuple[str, ...], known: Iterable[str]) -> Iterator[str]:
    allowed = tuple(known)
    if len(set(found)) != len(found):
        yield f"{name}: a value is named twice"
    for value in found:
        if value not in allowed:
            yield f"{name}: {value!r} is not one of {', '.join(sorted(allowed))}"


def _refused(what: str, label: str, problems: Iterable[str]) -> Refused | None:
    """All problems of one document in one refusal."""
    found = list(problems)
    if not found:
        return None
    return Refused(
        Code.BAD_INPUT,
        f"cannot register the {what} {label!r}: " + "; ".join(found[:5]),
        "correct every problem and repeat",
        {"problems": found[:100]},
    )


def _same(draft: Draft, kind: str, label: str, digest: str) -> bool | Refused:
    """Whether this content is registered under this label; a refusal where another one is."""
    known: Any = draft.get(kind, label)
    if known is None:
        return False
    if known.digest == digest:
        return True
    return Refused(
        Code.LABEL_TAKEN,
        f"the {kind} {label!r} is registered with other content (seq {known.seq})",
        "give a changed document a new label",
        {"label": label, "digest": known.digest, "seq": known.seq},
    )


def _validation(draft: Draft, cmd: c.RegisterValidation) -> Refused | None:
    rules = cmd.rules
    problems = [
        *_label(rules.label),
        *_digest(rules.digest),
        *_known("required", rules.required, MAY_REQUIRE),
        *_within(rules, ("max_bytes", "max_text"), 0, MAX_INTEGER),
    ]
    refused = human_only(draft, "register validation rules") or _refused(
        "validation rules", rules.label, problems
    )
    same = refused or _same(draft, "validation", rules.label, rules.digest)
    if same is False:
        act = ("validation", rules.label, _given(rules, e.ValidationRegistered))
        return enact(draft, "register validation rules", act)
    return same if isinstance(same, Refused) else None


def _policy_problems(policy: AdmissionPolicy) -> Iterator[str]:
    yield from _label(policy.label)
    yield from _digest(policy.digest)
    replay = tuple(r for r in ReplayClass if r is not ReplayClass.UNCLASSIFIED)
    yield from _known("replay_classes", policy.replay_classes, replay)
    yield from _known("human_decision", policy.human_decision, replay)
    yield from _known("rows", policy.rows, ROWS)
    yield from _known("capacity_fields", policy.capacity_fields, OPTIONAL)
    for name in ("classes", "operations", "replay_classes"):
        if not 0 < len(getattr(policy, name)) <= MAX_LIST:
            yield f"{name}: expected 1 to {MAX_LIST} values"
    for name in policy.classes:
        if name != ALL_CLASSES and not usable_lane(name):
            yield f"classes: {name!r} is not a work class"
    for pattern in policy.operations:
        if not usable_identity(pattern):
            yield f"operations: {pattern!r} is not 1 to 200 printable characters"
    for name in ("admission_owner", "retry_owner"):
        value = getattr(policy, name)
        if value and not is_actor_name(value):
            yield f"{name}: {value!r} is not 1 to 64 letters, digits or . _ @ + -"
    durations = ("storage_retry_ms", "freshness_limit_ms", "clock_skew_ms", "backoff_base_ms",
                 "backoff_cap_ms", "retry_within_ms")  # fmt: skip
    yield from _within(policy, durations, 0, MAX_DURATION_MS)
    yield from _within(policy, ("max_payload_bytes", "storage_limit"), 0, MAX_INTEGER)
    yield from _within(policy, ("recheck_horizon",), 1, MAX_HORIZON)
    yield from _within(policy, ("attempts", "looks"), 1, 1_000_000)


def _policy(draft: Draft, cmd: c.RegisterPolicy) -> Refused | None:
    policy = cmd.policy
    refused = human_only(draft, "register an admission policy") or _refused(
        "admission policy", policy.label, _policy_problems(policy)
    )
    same = refused or _same(draft, "policy", policy.label, policy.digest)
    if same is not False:
        return same if isinstance(same, Refused) else None
    if not isinstance(draft.get("validation", policy.validation), Validation):
        return Refused(
            Code.NOT_FOUND,
            f"the policy {policy.label!r} names the validation rules {policy.validation!r}, which are"
            " not registered",
            "register them first",
            {"validation": policy.validation},
        )
    act = ("policy", policy.label, _given(policy, e.AdmissionPolicyRegistered))
    refused = enact(draft, "register an admission policy", act)
    if refused is None:
        make_due(draft, "policy:*", policy.recheck_horizon)
    return refused


def _destination(draft: Draft, cmd: c.RegisterDestination) -> Refused | None:
    there = cmd.destination
    problems = [
        *_label(there.label),
        *_digest(there.digest),
        *_within(there, ("key_retention_ms", "in_flight_ms"), 0, MAX_DURATION_MS),
        *_within(there, ("lookup_lag_ms",), 0, MAX_DURATION_MS),
    ]
    if not usable_identity(there.name):
        problems.append(f"name: {there.name!r} is not 1 to 200 printable characters")
    if there.key_retention_ms is not None and not there.idempotency_key:
        problems.append("key_retention_ms: it enforces no key")
    refused = human_only(draft, "register a destination") or _refused(
        "destination", there.label, problems
    )
    same = refused or _same(draft, "destination", there.label, there.digest)
    if same is not False:
        return same if isinstance(same, Refused) else None
    act = ("destination", there.label, _given(there, e.DestinationRegistered))
    refused = enact(draft, "register a destination", act)
    if refused is None:
        make_due(draft, f"destination:{there.name}", MAX_HORIZON)
    return refused


# Capacity.

_FIGURES: Final = tuple(
    f.name for f in fields(Capacity) if f.type == "int | None" and f.name != "observed_at"
)


def _observed(seen: Capacity) -> Iterator[str]:
    if seen.id and (not usable_identity(seen.id) or _NUMBERED.match(seen.id)):
        yield f"id: {seen.id!r} is not 1 to 200 printable characters, and not of the form CAP-1"
    if not usable_lane(seen.work_class):
        yield f"work_class: {seen.work_class!r} is not a work class"
    if not 0 < seen.observed_at <= MAX_INTEGER:
        yield f"observed_at: {seen.observed_at} is not a time after 1970"
    for name in ("start_delay_ms", "duration_ms"):
        yield from _within(seen, (name,), 0, MAX_DURATION_MS)
    yield from _within(seen, _FIGURES, 0, MAX_INTEGER)
    for name in ("dependency_state", "destination_revision", "observer"):
        value = getattr(seen, name)
        if value and not usable_identity(value):
            yield f"{name}: {value!r} is not 1 to 200 printable characters"


def _observe(draft: Draft, cmd: c.ObserveCapacity) -> Refused | None:
    seen = cmd.capacity
    problems = list(_observed(seen))
    if problems:
        return _refused("observation", seen.id, problems)
    if len(cmd.basis) > 500 or not cmd.basis.isprintable():
        return bad("basis", cmd.basis, "at most 500 printable characters")
    event = _given_capacity(seen, seen.observer or draft.ask.actor, cmd.basis)
    if seen.id:
        known = draft.get("capacity", seen.id)
        if isinstance(known, Capacity):
            return _seen_before(known, event)
    name = seen.id or f"CAP-{draft.counter('capacity') + 1}"
    draft.new("capacity", name)
    draft.emit("capacity", name, event)
    policy = policy_for(draft, seen.work_class)
    if policy is not None:
        make_due(draft, f"capacity:{seen.work_class}", policy.recheck_horizon)
    return None


def _given_capacity(seen: Capacity, observer: str, basis: str) -> e.CapacityObserved:
    parts: dict[str, Any] = {f.name: getattr(seen, f.name, "") for f in fields(e.CapacityObserved)}
    return e.CapacityObserved(**{**parts, "observer": observer, "basis": basis})


def _seen_before(known: Capacity, event: e.CapacityObserved) -> Refused | None:
    names = [f.name for f in fields(e.CapacityObserved) if f.name != "basis"]
    if all(getattr(known, n) == getattr(event, n) for n in names):
        return None
    return Refused(
        Code.LABEL_TAKEN,
        f"the observation {known.id!r} was recorded with other figures (seq {known.seq})",
        "give another observation another id, or none",
        {"id": known.id, "seq": known.seq},
    )


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.RegisterValidation: _validation,
    c.RegisterPolicy: _policy,
    c.RegisterDestination: _destination,
    c.ObserveCapacity: _observe,
}

__all__ = ["ALWAYS", "HANDLERS", "ROWS"]
