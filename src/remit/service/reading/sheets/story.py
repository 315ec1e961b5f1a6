"""What the ledger holds of one effect work, gathered once for all sections of its worksheet.

A story is read from one snapshot, now or of the past, and never from the clock: "now" is the time of
the snapshot's newest event, so the same ledger gives the same sheet for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from remit.core.checks import Check, Result
from remit.core.effect_events import (
    AdmissionDecided,
    EffectIntended,
    EffectObserved,
    IntentReceived,
    IntentValidated,
    RetryDecided,
)
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Destination,
    Effect,
    EffectState,
    Intent,
    Validation,
)
from remit.core.effect_states import standing
from remit.core.events import Event, Recorded, stream_of
from remit.core.facts import LEDGER, Fact, Item, Ledger
from remit.core.item_events import LeaseExpired, LeaseGranted, LeaseReleased, LeaseRenewed
from remit.ports import ReadTx
from remit.service.reading.rendering import rfc3339

MOST: Final = 10_000
"""Most events of one stream that a worksheet reads beside its beginning; the newest are kept."""

BEGINNING: Final = 100
"""Events at the beginning of a stream that are always read: receipt, validation, first verdict."""

ABSENT: Final = "-"
"""What is written where the ledger holds nothing."""

V = TypeVar("V", bound=Event)


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a known kind, and where it stands."""

    recorded: Recorded
    event: Any

    @property
    def seq(self) -> int:
        """Its place on the ledger."""
        return self.recorded.seq

    @property
    def evidence(self) -> str:
        """How checks and states name it."""
        return f"seq:{self.recorded.seq}"


class Story:
    """One effect work with everything that was recorded of it."""

    def __init__(self, tx: ReadTx, item: Item, intent: Intent) -> None:
        self.item = item
        self.intent = intent
        self.envelope = intent.envelope
        head = tx.head()
        self.seq, self.now = head.seq, head.time
        ledger = tx.load([LEDGER])[LEDGER]
        self.ledger_id = ledger.ledger_id if isinstance(ledger, Ledger) else ""
        self.epoch = ledger.epoch if isinstance(ledger, Ledger) else 0
        self.events = _stream(tx, item.id, item.version)
        self.left_out = item.version - len(self.events)
        self.effect = self._effect(tx)
        self.outside = self._outside(tx)
        self.admission = self.last(AdmissionDecided)
        names = self._named()
        facts = tx.load([key for key in names.values() if key[1]])
        self.policy = _as(facts, names["policy"], AdmissionPolicy)
        self.validation = _as(facts, names["validation"], Validation)
        self.destination = _as(facts, names["destination"], Destination)
        self.capacity = _as(facts, names["capacity"], Capacity)

    def _effect(self, tx: ReadTx) -> Effect | None:
        key = ("effect", self.envelope.effect_id)
        fact = tx.load([key])[key] if key[1] else None
        return fact if isinstance(fact, Effect) else None

    def _outside(self, tx: ReadTx) -> list[Recorded]:
        """Events of the effect, where it belongs to this work."""
        effect = self.effect
        if effect is None or effect.item != self.item.id:
            return []
        return _stream(tx, stream_of("effect", effect.id), effect.version)

    def _named(self) -> dict[str, tuple[str, str]]:
        decided = self.admission.event if self.admission else None
        seen = self.check("capacity-freshness")
        kind, _, observation = seen.evidence.partition(":") if seen else ("", "", "")
        validated = self.last(IntentValidated)
        rules = validated.event.validation if validated else self.intent.validation
        return {
            "policy": ("policy", decided.policy if decided else self.intent.policy),
            "validation": ("validation", rules),
            "destination": (
                "destination",
                (decided.destination if decided else "") or self.intent.destination,
            ),
            "capacity": ("capacity", observation if kind == "capacity" else ""),
        }

    @property
    def own(self) -> Effect | None:
        """The effect, where it belongs to this work and not to another."""
        effect = self.effect
        return effect if effect is not None and effect.item == self.item.id else None

    @property
    def state(self) -> EffectState:
        """What is known of the effect at this moment of the ledger."""
        effect = self.own
        return EffectState.NOT_STARTED if effect is None else standing(effect, self.epoch)

    def all(self, *kinds: type[Event]) -> Iterator[Told]:
        """Events of these kinds in the order of the ledger."""
        found = [r for r in (*self.events, *self.outside) if isinstance(r.event, kinds)]
        for recorded in sorted(found, key=lambda r: r.seq):
            yield Told(recorded, recorded.event)

    def last(self, *kinds: type[Event]) -> Told | None:
        """The newest event of these kinds."""
        return max(self.all(*kinds), key=lambda told: told.seq, default=None)

    def first(self, *kinds: type[Event]) -> Told | None:
        """The oldest event of these kinds."""
        return next(self.all(*kinds), None)

    def check(self, name: str) -> Check | None:
        """A check of the newest verdict."""
        checks = self.admission.event.checks if self.admission else ()
        return next((one for one in checks if one.check == name), None)

    def result(self, name: str) -> Result:
        """The result of a check of the newest verdict; NOT_TESTED where nobody asked."""
        found = self.check(name)
        return found.result if found is not None else Result.NOT_TESTED

    @property
    def received(self) -> Told | None:
        """The receipt."""
        return self.first(IntentReceived)

    @property
    def validated(self) -> Told | None:
        """The newest validation."""
        return self.last(IntentValidated)

    @property
    def granted(self) -> Told | None:
        """The newest lease, or its newest renewal."""
        return self.last(LeaseGranted, LeaseRenewed)

    @property
    def lease_ended(self) -> Told | None:
        """The event that ended the newest lease, None while it runs or where there was none."""
        granted = self.granted
        if granted is None or self.item.lease is not None:
            return None
        ends = [
            told
            for told in self.all(Event)
            if told.seq > granted.seq and getattr(told.event, "from_", "") == "leased"
        ]
        return ends[0] if ends else None

    @property
    def intended(self) -> Told | None:
        """The newest intent of the effect."""
        return self.last(EffectIntended)

    @property
    def observed(self) -> Told | None:
        """The newest look-up since the effect was last intended."""
        seen, intended = self.last(EffectObserved), self.intended
        if seen is not None and intended is not None and seen.seq < intended.seq:
            return None
        return seen

    @property
    def retry(self) -> Told | None:
        """The newest retry decision of the current attempt."""
        decided, granted = self.last(RetryDecided), self.last(LeaseGranted)
        if decided is not None and granted is not None and decided.seq < granted.seq:
            return None
        return decided


def _stream(tx: ReadTx, name: str, version: int) -> list[Recorded]:
    first = tx.stream(name, 0, BEGINNING)
    rest = max(BEGINNING, version - MOST)
    return first + (tx.stream(name, rest, MOST) if version > rest else [])


def _as(facts: dict[tuple[str, str], Fact | None], key: tuple[str, str], kind: type[Any]) -> Any:
    fact = facts.get(key)
    return fact if isinstance(fact, kind) else None


# How parts of a sheet look.


def line(name: str, value: object) -> dict[str, Any]:
    """One name with its value; what is not held is a dash."""
    text = ABSENT if value is None or value == "" else str(value)
    return {"name": name, "value": text}


def at(micros: int | None) -> str:
    """A point in time, or a dash."""
    return ABSENT if micros is None else rfc3339(micros)


def ms(figure: int | None) -> str:
    """A duration, or a dash."""
    return ABSENT if figure is None else f"{figure} ms"


def section(title: str, result: object = "", **parts: Any) -> dict[str, Any]:
    """A section; each has all parts, so that programs need not ask whether one is there."""
    empty: dict[str, Any] = {"lines": [], "checks": [], "boxes": [], "claims": None}
    return {"title": title, "result": str(result), **empty, **parts}


def check_of(
    name: str,
    result: object,
    observed: object = "",
    required: str = "",
    evidence: str = "",
    reason: str = "",
) -> dict[str, Any]:
    """A comparison that the sheet itself draws from what is recorded."""
    return {
        "check": name,
        "result": str(result),
        "observed": str(observed),
        "required": required,
        "evidence": evidence,
        "reason": reason,
    }


__all__ = [
    "ABSENT",
    "LeaseExpired",
    "LeaseReleased",
    "Story",
    "Told",
    "at",
    "check_of",
    "line",
    "ms",
    "section",
]
