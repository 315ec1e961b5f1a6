"""Documents that rule effect work: validation rules, admission policies, destinations.

Each names its own revision (``validation: VALIDATION-3``), which stands for exactly one content: the
digest is taken over what the document says, not over how it is written. A file may hold several, each
after a line of three dashes; they are registered in the order in which they refer to one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.core.asking import Command
from remit.core.canonical import digest_of
from remit.core.change import changed
from remit.core.effect_commands import RegisterDestination, RegisterPolicy, RegisterValidation
from remit.core.effect_facts import AdmissionPolicy, Destination, ReplayClass, Validation
from remit.documents.fields import (
    Faults,
    Field,
    duration_ms,
    flag,
    mapping,
    number,
    some_of,
    taken,
    text,
    texts,
)
from remit.documents.intents import INTENT
from remit.documents.marked import Marked, Problem, read

CLASSES: Final = tuple(str(one) for one in ReplayClass if one is not ReplayClass.UNCLASSIFIED)
ROWS: Final = ("capacity", "deadline", "cancellation", "destination")


def _parts(value: Marked) -> tuple[str, ...]:
    """Names of parts of an intent, by what they are called on the ledger."""
    named = ((name, INTENT.get(name)) for name in texts(value))
    return tuple(field.to or name if field is not None else name for name, field in named)


VALIDATION: Final = {
    "validation": Field(text, "label", required=True),
    "required": Field(_parts, absent=()),
    "max_bytes": Field(number, absent=65_536),
    "max_text": Field(number, absent=4_096),
}

POLICY: Final = {
    "policy": Field(text, "label", required=True),
    "validation": Field(text, required=True),
    "classes": Field(texts, required=True, absent=()),
    "operations": Field(texts, absent=("*",)),
    "replay_classes": Field(some_of(*CLASSES), absent=CLASSES),
    "max_payload_bytes": Field(number, absent=0),
    "storage_limit": Field(number, absent=0),
    "storage_retry": Field(duration_ms, "storage_retry_ms", absent=1_000),
    "freshness_limit": Field(duration_ms, "freshness_limit_ms", absent=0),
    "clock_skew": Field(duration_ms, "clock_skew_ms", absent=0),
    "capacity_fields": Field(texts, absent=()),
    "rows": Field(some_of(*ROWS), absent=ROWS),
    "human_decision": Field(some_of(*CLASSES), absent=("IRREVERSIBLE",)),
    "recheck_horizon": Field(number, absent=1_000),
    "attempts": Field(number, absent=5),
    "looks": Field(number, absent=20),
    "backoff_base": Field(duration_ms, "backoff_base_ms", absent=1_000),
    "backoff_cap": Field(duration_ms, "backoff_cap_ms", absent=300_000),
    "retry_within": Field(duration_ms, "retry_within_ms", absent=86_400_000),
    "admission_owner": Field(text, absent=""),
    "retry_owner": Field(text, absent=""),
}

ENFORCES: Final = {
    "idempotency_key": Field(flag, absent=False),
    "key_retention": Field(duration_ms, "key_retention_ms"),
    "fence": Field(flag, absent=False),
    "lookup": Field(flag, absent=False),
    "lookup_consistent": Field(flag, absent=False),
    "lookup_lag": Field(duration_ms, "lookup_lag_ms", absent=0),
    "request_expiry": Field(flag, absent=False),
    "in_flight": Field(duration_ms, "in_flight_ms"),
    "receipt_authoritative": Field(flag, absent=False),
    "compensation": Field(text, absent=""),
}

DESTINATION: Final = {
    "destination": Field(text, "label", required=True),
    "name": Field(text, required=True, absent=""),
    "record": Field(text, absent=""),
    "kind": Field(text, absent=""),
    "settings": Field(mapping, absent=None),
    "enforces": Field(mapping, absent=None),
}


@dataclass(frozen=True, slots=True)
class Ruling:
    """One document that was read: its kind, its label, and the command that registers it."""

    kind: str
    label: str
    digest: str
    command: Command
    at: Marked
    reach: Mapping[str, Any] | None = None
    """How a destination is reached, as its adapter reads it; None where the document says nothing."""

    def with_text(self, text: str) -> Command:
        """The command with the text that was read, which the ledger keeps as it was written."""
        match self.command:
            case RegisterValidation(rules):
                return RegisterValidation(changed(rules, document=text))
            case RegisterPolicy(policy):
                return RegisterPolicy(changed(policy, document=text))
            case RegisterDestination(destination):
                return RegisterDestination(changed(destination, document=text))
        raise AssertionError(f"{self.kind} is no kind of document")


def _validation(parts: dict[str, Any], digest: str, document: str) -> Command:
    return RegisterValidation(
        Validation(version=0, digest=digest, document=document, seq=0, **parts)
    )


def _policy(parts: dict[str, Any], digest: str, document: str) -> Command:
    return RegisterPolicy(
        AdmissionPolicy(version=0, digest=digest, document=document, seq=0, **parts)
    )


def _destination(parts: dict[str, Any], digest: str, document: str) -> Command:
    kept = {name: parts[name] for name in ("label", "name", "record")}
    return RegisterDestination(
        Destination(version=0, digest=digest, document=document, seq=0, **kept, **parts["enforces"])
    )


_Make = Callable[[dict[str, Any], str, str], Command]

KINDS: Final[dict[str, tuple[Mapping[str, Field], _Make]]] = {
    "validation": (VALIDATION, _validation),
    "destination": (DESTINATION, _destination),
    "policy": (POLICY, _policy),
}
"""Kinds in the order in which they are registered; a policy also names its validation."""


def rulings(data: bytes) -> tuple[list[Ruling], list[Problem]]:
    """The documents of a file, in the order in which they are to be registered, and every problem."""
    documents, problems = read(data)
    faults = Faults()
    found: list[Ruling] = []
    for at in documents:
        kind = kind_of(at)
        if not kind:
            faults.add(
                at, "$", f"expected one of the parts {', '.join(KINDS)}, which name a revision"
            )
            continue
        found.append(ruling(kind, at, faults))
    _twice(found, documents, faults)
    order = list(KINDS)
    found.sort(key=lambda ruling: order.index(ruling.kind))
    return found, sorted([*problems, *faults.problems], key=lambda p: (p.line, p.column))


def kind_of(at: Marked) -> str:
    """Which kind of document this is; empty for none."""
    names = at.value if isinstance(at.value, dict) else {}
    return next((kind for kind in ("policy", "validation", "destination") if kind in names), "")


def ruling(kind: str, at: Marked, faults: Faults) -> Ruling:
    """One document of a known kind; a scenario holds them inside its own."""
    fields, make = KINDS[kind]
    said = taken(at, fields, faults)
    reach = None
    if kind == "destination":
        enforces = at.value.get("enforces", Marked({}, at.line, at.column))
        said["enforces"] = taken(enforces, ENFORCES, faults, "$.enforces")
        if said["kind"]:
            wanted = {name: v for name, v in said["enforces"].items() if v not in (None, "", 0)}
            reach = {
                "name": said["name"], "kind": said["kind"], "record": said["record"],
                "settings": said["settings"] or {}, "enforces": wanted,
            }  # fmt: skip
    content = {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}
    digest = digest_of(content)
    said["label"] = said["label"] or ""
    return Ruling(kind, said["label"], digest, make(said, digest, ""), at, reach)


def _twice(found: list[Ruling], documents: list[Marked], faults: Faults) -> None:
    seen: set[tuple[str, str]] = set()
    for ruling, at in zip(found, documents, strict=False):
        key = (ruling.kind, ruling.label)
        if key in seen and ruling.label:
            faults.add(at, "$", f"the {ruling.kind} {ruling.label} stands here twice")
        seen.add(key)
