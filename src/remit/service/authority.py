"""Human authority on a ledger, checked again from its events alone.

Each signature is verified anew, against the keys as they were enrolled at that event, and its statement is
compared with what the events after it really say: whose act, on which ledger, in which epoch, about exactly
which events. An event that claims more proof than there is, or a signature that proves nothing, is a
problem with its seq. Acts that only a human may bring about and that nobody signed are listed as unproved,
and so are the roots that everything else rests on: keys that no other key signed in (INV-15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.authority_events import ActSigned, KeyEnrolled, KeyRevoked, ModeDeclared
from remit.core.events import (
    ActorEnrolled,
    ActorRevoked,
    EpochAdopted,
    Event,
    Recorded,
)
from remit.core.facts import ActorKind, Assurance
from remit.core.services import SERVICES
from remit.core.signing import LONGEST_VALIDITY_US, NAMESPACES, content_of, parts_of
from remit.ports.signing import SignatureFault, Signatures

NEEDS_PROOF: Final = frozenset((*NAMESPACES, "ItemReopened")) - {
    "LimitSet",
    "ValidationRegistered",
    "AdmissionPolicyRegistered",
    "DestinationRegistered",
    "TokenIssued",
}
"""Events whose actor matters to a decision: unsigned ones are listed as unproved (CONTRACT 9)."""

MOST_LISTED: Final = 100

Flaw = tuple[int, str, str, str]
"""Seq, where, what was found, what was expected."""


@dataclass(frozen=True, slots=True)
class Unproved:
    """An act that a human should have signed."""

    seq: int
    type: str
    actor: str


@dataclass(frozen=True, slots=True)
class Root:
    """A key that no other key signed in."""

    seq: int
    actor: str
    fingerprint: str


@dataclass(slots=True)
class _Key:
    actor: str
    expires_at: int | None
    rooted: bool
    revoked: bool = False


@dataclass(slots=True)
class _Open:
    """A signature whose events are still to come."""

    seq: int
    actor: str
    assurance: str
    wanted: str
    count: int
    events: list[tuple[str, Event]] = field(default_factory=list)


@dataclass(slots=True)
class Authority:
    """The check under way; ``step`` takes one event after the other."""

    ledger_id: str
    signatures: Signatures | None
    unproved: Counter[str] = field(default_factory=Counter)
    acts: list[Unproved] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    signed: int = 0
    _keys: dict[str, _Key] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)
    _nonces: set[str] = field(default_factory=set)
    _epoch: int = 0
    _served: bool = False
    _open: _Open | None = None

    def step(self, rec: Recorded) -> Iterator[Flaw]:
        """What is wrong with the proof of this event."""
        event = rec.event
        yield from self._assurance(rec)
        if isinstance(event, ActSigned):
            yield from self._signature(rec, event)
        elif rec.assurance == Assurance.ASSERTED:
            self._without(rec)
        self._note(rec)

    def end(self, seq: int) -> Iterator[Flaw]:
        """What is wrong once there are no more events."""
        if self._open is not None:
            yield (seq, "signature", "no event after it", "the events that were signed")

    def _assurance(self, rec: Recorded) -> Iterator[Flaw]:
        now, found = self._open, rec.assurance
        if now is not None:
            now.events.append((rec.stream, rec.event))
            if (rec.actor, found) != (now.actor, now.assurance):
                said = f"{rec.actor}, {found}"
                yield (rec.seq, "assurance", said, f"{now.actor}, {now.assurance}, as signed")
            if len(now.events) == now.count:
                self._open = None
                if content_of(now.events) != now.wanted:
                    yield (rec.seq, "signature", "other events", f"what was signed at {now.seq}")
            return
        if found == Assurance.ASSERTED or (found == Assurance.TOKEN and self._served):
            return
        expected = "asserted: nothing proves more"
        yield (rec.seq, "assurance", found, expected)

    def _signature(self, rec: Recorded, event: ActSigned) -> Iterator[Flaw]:
        self.signed += 1
        faults = list(self._faults(rec, event))
        for found, expected in faults:
            yield (rec.seq, "signature", found, expected)
        level = Assurance.PRESENCE if event.presence else Assurance.SIGNATURE
        content = str(parts_of(event.statement).get("content", ""))
        if 0 < event.count <= 1_000:
            self._open = _Open(rec.seq, rec.actor, level, content, event.count)
        self._nonces.add(rec.entity)

    def _faults(self, rec: Recorded, event: ActSigned) -> Iterator[tuple[str, str]]:
        if self.signatures is None:
            yield "nothing here can verify it", "a signature that was verified"
            return
        found = self.signatures.examine(event.statement.encode(), event.signature)
        if isinstance(found, SignatureFault):
            yield f"forged: {found.reason}", "a signature of this statement"
            return
        flags = (found.presence, found.verification, found.counter)
        if flags != (event.presence, event.verification, event.counter):
            yield "other flags than were signed", str(flags)
        if (found.key.fingerprint, found.namespace) != (event.fingerprint, event.namespace):
            yield f"{found.key.fingerprint} in {found.namespace}", f"{event.fingerprint}"
        if NAMESPACES.get(event.act) != event.namespace:
            yield event.namespace, str(NAMESPACES.get(event.act))
        if found.key.hardware and not found.presence:
            yield "a security key that nobody touched", "presence"
        yield from self._statement(rec, event)
        yield from self._key(rec, event)

    def _statement(self, rec: Recorded, event: ActSigned) -> Iterator[tuple[str, str]]:
        parts: dict[str, Any] = parts_of(event.statement)
        wanted = {
            "ledger": self.ledger_id,
            "epoch": self._epoch,
            "actor": rec.actor,
            "act": event.act,
            "nonce": rec.entity,
        }
        for name, value in wanted.items():
            if parts.get(name) != value:
                yield f"a statement about {name} {parts.get(name)!r}", repr(value)
        until = parts.get("until")
        if not isinstance(until, int) or not 0 < until - rec.at <= LONGEST_VALIDITY_US:
            yield f"a statement that holds until {until}", f"seven days from {rec.at} at most"
        if rec.entity in self._nonces:
            yield f"the nonce {rec.entity} again", "a nonce that is used once"

    def _key(self, rec: Recorded, event: ActSigned) -> Iterator[tuple[str, str]]:
        key = self._keys.get(event.fingerprint)
        if self._kinds.get(rec.actor) != ActorKind.HUMAN:
            yield f"signed as {rec.actor}, who is no human", "a human"
        if key is None or key.actor != rec.actor:
            yield f"the key {event.fingerprint}", f"a key of {rec.actor}"
        elif not key.rooted:
            yield f"the key {event.fingerprint}, which no key signed in", "a key that counted then"
        elif key.revoked or (key.expires_at is not None and rec.at >= key.expires_at):
            yield f"the key {event.fingerprint}, revoked or expired", "a key that counted then"

    def _without(self, rec: Recorded) -> None:
        """Note an act that nobody signed, unless it is none or the ledger could have no proof yet."""
        event, name = rec.event, type(rec.event).__name__
        if name not in NEEDS_PROOF or (isinstance(event, ActorEnrolled) and self._free(rec, event)):
            return
        if isinstance(event, KeyEnrolled) and not any(not k.revoked for k in self._keys.values()):
            self.roots.append(Root(rec.seq, rec.entity, event.fingerprint))
            return
        if name == "PolicySet" and not self._keys:
            return
        if name == "PolicySet" and self.roots and rec.seq == self.roots[-1].seq + 1:
            return  # a ledger that is born with a key refuses what is unproved from then on
        self.unproved[name] += 1
        if len(self.acts) < MOST_LISTED:
            self.acts.append(Unproved(rec.seq, name, rec.actor))

    def _free(self, rec: Recorded, event: ActorEnrolled) -> bool:
        """Whether an enrolment is of remit itself, of the first human, or of no human."""
        first = ActorKind.HUMAN not in self._kinds.values()
        return event.kind != ActorKind.HUMAN or first or rec.entity in SERVICES

    def _note(self, rec: Recorded) -> None:
        match rec.event:
            case ActorEnrolled(kind=kind):
                self._kinds[rec.entity] = kind
            case ActorRevoked():
                self._kinds.pop(rec.entity, None)
            case KeyEnrolled(fingerprint=fingerprint, expires_at=expires_at):
                root = bool(self.roots) and self.roots[-1].seq == rec.seq
                signed = rec.assurance.startswith("signature")
                self._keys[fingerprint] = _Key(rec.entity, expires_at, root or signed)
            case KeyRevoked(fingerprint=fingerprint) if fingerprint in self._keys:
                self._keys[fingerprint].revoked = True
            case EpochAdopted(epoch=epoch):
                self._epoch = epoch
            case ModeDeclared(served=served):
                self._served = served
            case _:
                pass
