"""The comparison of two histories of the same items: one that a drain made, one that a hand made.

Two things have to be equal for each item (INV-18): what its events fold to, and the events themselves,
in their order. Which fields count is the contract's list, and only ``seq``, ``createdAt`` and
``conversationRef`` are taken away before; who acted is evidence and stays. Three further comparisons
are this project's own and stricter: ``evidence`` (figures and codes that the contract does not name),
``operations`` (which canonical operations were accepted, in order), and ``accounts`` (what was spent).

Nothing here knows how either history came about. It reads events as they are stored, by their stored
names, and the folded state as ``remit show`` answers it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

FOLDED: Final = (
    "kind",
    "title",
    "body",
    "status",
    "priority",
    "expectation",
    "graphRefs",
    "orphanedRefs",
    "lease",
)
"""Fields of the folded state, by the contract's names."""

SHOWN_AS: Final = {"graphRefs": "graph_refs", "orphanedRefs": "orphaned_refs"}
"""Where the folded state calls a field otherwise."""

EVENT: Final = ("entityKind", "eventType", "actor")
PAYLOAD: Final = (
    "phase",
    "from",
    "to",
    "transitionId",
    "lease",
    "branch",
    "commits",
    "prUrl",
    "observedCommitSha",
    "outcome",
    "graphVersion",
)
"""Fields of an event's payload, by the contract's names, which are the stored ones."""

EVIDENCE: Final = (
    "triageKind",
    "head",
    "base",
    "tree",
    "takenOver",
    "fence",
    "phaseReported",
    "returned",
    "counted",
    "holdReason",
    "trigger",
    "resolution",
    "matchedBy",
    "artifactDiff",
    "requestedBy",
    "spentMicros",
    "chargedMicros",
    "reservedMicros",
    "overrun",
    "state",
    "target",
)
"""Fields that this project compares beyond the contract's."""

TAKEN_AWAY: Final = ("seq", "createdAt", "conversationRef")
"""What no comparison looks at."""

PROPERTIES: Final = {
    "folded-state": "INV-18",
    "semantic-events": "INV-18",
    "evidence": "INV-18",
    "operations": "INV-18",
    "accounts": "INV-11",
}
"""What is compared, and the invariant that asks for it."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of an item's stream: the contract's fields, the further ones, and its seq to find it."""

    seq: int
    fields: Mapping[str, Any]
    evidence: Mapping[str, Any]
    command_id: str


@dataclass(frozen=True, slots=True)
class History:
    """What became of all items: by item, its folded state, its events, and accepted operations.

    ``accounts`` is what each scope has settled and still has reserved, by scope.
    """

    folded: Mapping[str, Mapping[str, Any]]
    events: Mapping[str, Sequence[Happening]]
    operations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    accounts: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unlike:
    """One difference: which property, of what, at which place, and both sides as they are."""

    property: str
    subject: str
    place: str
    drained: Any
    by_hand: Any

    def __str__(self) -> str:
        """One line for people."""
        drained, by_hand = _short(self.drained), _short(self.by_hand)
        return (
            f"{self.property} of {self.subject}, {self.place}: drained {drained}, by hand {by_hand}"
        )


def happening(
    seq: int, kind: str, event_type: str, actor: str, payload: bytes, command_id: str
) -> Happening:
    """One stored event, with the fields that are compared."""
    body = json.loads(payload)
    fields = {"entityKind": kind, "eventType": event_type, "actor": actor}
    fields |= {name: body[name] for name in PAYLOAD if name in body}
    evidence = {name: body[name] for name in EVIDENCE if name in body}
    return Happening(seq, fields, evidence, command_id)


def folded(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The compared fields of an item as ``remit show`` answers it.

    A closure names the seq at which it came about, and a seq is never compared.
    """
    found = {name: shown[SHOWN_AS.get(name, name)] for name in FOLDED}
    return {name: _without_seq(value) for name, value in found.items()}


def compare(drained: History, by_hand: History) -> list[Unlike]:
    """All differences, in the order of properties and items; none where both are alike."""
    return [
        *_folded(drained, by_hand),
        *_events(drained, by_hand, "semantic-events"),
        *_events(drained, by_hand, "evidence"),
        *_operations(drained, by_hand),
        *_accounts(drained, by_hand),
    ]


def _folded(drained: History, by_hand: History) -> Iterable[Unlike]:
    for item in _both(drained.folded, by_hand.folded):
        left, right = drained.folded.get(item), by_hand.folded.get(item)
        if left is None or right is None:
            yield Unlike("folded-state", item, "whole", left is not None, right is not None)
            continue
        for name in FOLDED:
            if left[name] != right[name]:
                yield Unlike("folded-state", item, name, left[name], right[name])


def _events(drained: History, by_hand: History, name: str) -> Iterable[Unlike]:
    """The first difference of each stream: what follows one is a consequence as a rule."""
    for item in _both(drained.events, by_hand.events):
        left, right = drained.events.get(item, ()), by_hand.events.get(item, ())
        for number, (a, b) in enumerate(zip_longest(left, right), 1):
            one = _said(a, name)
            other = _said(b, name)
            if one == other:
                continue
            at = [key for key in (*one, *other) if one.get(key) != other.get(key)]
            place = f"event {number}, {at[0]}" if a and b else f"event {number}"
            yield Unlike(name, item, place, one, other)
            break


def _said(one: Happening | None, name: str) -> dict[str, Any]:
    if one is None:
        return {}
    if name == "semantic-events":
        return dict(one.fields)
    return {"eventType": one.fields["eventType"], **one.evidence}


def _operations(drained: History, by_hand: History) -> Iterable[Unlike]:
    for item in _both(drained.operations, by_hand.operations):
        left = list(drained.operations.get(item, ()))
        right = list(by_hand.operations.get(item, ()))
        if left != right:
            at = next((n for n, (a, b) in enumerate(zip_longest(left, right)) if a != b), 0)
            yield Unlike("operations", item, f"operation {at + 1}", left, right)


def _accounts(drained: History, by_hand: History) -> Iterable[Unlike]:
    for scope in _both(drained.accounts, by_hand.accounts):
        left, right = drained.accounts.get(scope), by_hand.accounts.get(scope)
        if left != right:
            yield Unlike("accounts", scope, "settled and reserved", left, right)


def side_by_side(drained: History, by_hand: History, item: str) -> list[str]:
    """Both streams of one item for people, line by line; what differs is marked in the middle."""
    left = [_line(one) for one in drained.events.get(item, ())]
    right = [_line(one) for one in by_hand.events.get(item, ())]
    width = max([len("drained"), *(len(line) for line in left)])
    lines = [f"{'drained':<{width}}   by hand"]
    for a, b in zip_longest(left, right, fillvalue=""):
        lines.append(f"{a:<{width}} {' ' if a == b else '|'} {b}")
    return lines


def _line(one: Happening) -> str:
    fields = one.fields
    said = [f"{fields['eventType']} by {fields['actor']}"]
    if fields.get("transitionId"):
        said.append(f"{fields['transitionId']} {fields['from']} to {fields['to']}")
    lease = fields.get("lease")
    if isinstance(lease, dict):
        said.append(f"{lease['id']} until {lease['expiresAt']}")
    for name in ("triageKind", "spentMicros", "observedCommitSha"):
        value = fields.get(name, one.evidence.get(name))
        if value:
            said.append(f"{name}={value}"[:40])
    return ", ".join(said)


def _without_seq(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_seq(v) for k, v in value.items() if not k.endswith("seq")}
    if isinstance(value, list | tuple):
        return [_without_seq(one) for one in value]
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, default=str, sort_keys=True)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _both(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    return sorted({*left, *right}, key=lambda name: (len(name), name))
