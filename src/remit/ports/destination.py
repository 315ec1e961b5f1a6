"""The port to a destination: where the consequence of effect work comes about.

Two calls, and they are never mixed up. ``send`` asks for the consequence under an idempotency key and
a fence; whatever it returns or raises says nothing certain of the effect, since an answer may be lost
and a request may come late (INV-13). ``look_up`` asks the authoritative record what is there; only it
leads to a claim. So ``send`` raises one of three errors and a timeout is never a failure:

- ``NotSent``: nothing left this machine. The adapter knows that by itself.
- ``NoAnswer``: something may have left and nobody answered; the outcome is unknown.
- ``Answered``: the destination answered with an error, whose ``reason`` is typed.

``look_up`` raises nothing for the state of the world: a record that cannot be read is ``UNAVAILABLE``
with a reason, which is never ``NONE``. No text of any of them holds a credential.

A compensation is an effect of its own: a request whose ``compensates`` names the key of the effect
that it undoes. Times are UTC microseconds, durations milliseconds, digests SHA-256 in hexadecimal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Protocol

from remit.core.effect_facts import Destination as Registered
from remit.core.refusals import Code
from remit.ports.failures import RemitError


@dataclass(frozen=True, slots=True)
class Enforced:
    """What a destination enforces; the fields are those of ``core.effect_facts.Destination``.

    Said by the adapter and its settings, recorded when the destination is registered, and checked
    against the real thing by ``remit.destinations.conformance``. What is not enforced is a narrowed
    claim. ``key_retention_ms`` None with ``idempotency_key``: kept as long as the object itself.
    ``in_flight_ms`` is counted from the end of the sender (or of its ``send``), None where nobody
    can say. ``lookup_lag_ms`` is how late a look-up may show what has arrived.
    """

    record: str
    idempotency_key: bool = False
    key_retention_ms: int | None = None
    fence: bool = False
    lookup: bool = False
    lookup_consistent: bool = False
    lookup_lag_ms: int = 0
    request_expiry: bool = False
    in_flight_ms: int | None = None
    receipt_authoritative: bool = False
    compensation: str = ""

    @classmethod
    def of(cls, registered: Registered) -> Enforced:
        """What the ledger says that a registered destination enforces."""
        return cls(**{f.name: getattr(registered, f.name) for f in fields(cls)})

    def registered(self, label: str, name: str, digest: str, document: str) -> Registered:
        """The fact to register; its ``version`` and ``seq`` are set by the ledger."""
        said: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return Registered(label, 0, name, digest, document, seq=0, **said)


def digest_of(payload: bytes) -> str:
    """SHA-256 of a payload in hexadecimal, as ``digest`` is compared everywhere."""
    return hashlib.sha256(payload).hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """One request for an effect.

    ``key`` derives from the effect id alone, so every attempt has the same. ``fence`` is the lease's.
    ``expires_at`` is when the destination shall refuse it, None for never. ``timeout_ms`` bounds the
    whole call. ``compensates`` is the key of the effect that this one undoes.
    """

    effect_id: str
    key: str
    fence: int
    payload: bytes
    operation: str = ""
    manifest_id: str = ""
    expires_at: int | None = None
    timeout_ms: int = 30_000
    compensates: str = ""

    @property
    def digest(self) -> str:
        """The payload's digest."""
        return digest_of(self.payload)


@dataclass(frozen=True, slots=True)
class LookUp:
    """One question to the authoritative record.

    ``fence`` above 0 asks a destination that enforces fences to confirm it first: from then on it
    refuses every request of a lower one, also one that is still under way.
    """

    effect_id: str
    key: str
    operation: str = ""
    manifest_id: str = ""
    fence: int = 0
    timeout_ms: int = 30_000
    compensates: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """The destination's own answer that it did what was asked, or had done so before.

    ``reference`` is what it calls the object. ``replayed`` says that the key was known, None where
    it did not say.
    """

    reference: str
    replayed: bool | None = None
    text: str = ""


class Result(StrEnum):
    """What a look-up came to. ``UNAVAILABLE`` means that nobody knows, and is never ``NONE``."""

    FOUND = "FOUND"
    NONE = "NONE"
    UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look-up found, in the terms of ``core.effect_commands.ObserveEffect``.

    ``objects`` counts current objects (None where that was not seen). ``values`` are name and
    observed text: ``effect_id``, ``digest``, ``manifest_id`` and what else the destination shows; a
    value that was not observed is left out. ``differences`` are what the record itself contradicts.
    ``consistent`` says that it showed all that had arrived by then. ``reason`` says why it is
    unavailable.
    """

    result: Result
    objects: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    consistent: bool = False
    confirmed_fence: int = 0
    reason: str = ""

    def value(self, name: str) -> str | None:
        """One observed value, None where it was not observed."""
        return dict(self.values).get(name)


def unavailable(reason: str, confirmed_fence: int = 0) -> Seen:
    """A look-up that nobody could make."""
    return Seen(Result.UNAVAILABLE, confirmed_fence=confirmed_fence, reason=reason)


class Reason(StrEnum):
    """Why a destination answered with an error."""

    KEY_REUSED = "KEY_REUSED"
    """The key was used before with another payload."""
    STALE_FENCE = "STALE_FENCE"
    """It has confirmed a higher fence."""
    EXPIRED = "EXPIRED"
    """The request came after its own end."""
    REJECTED = "REJECTED"
    """It says no to the request as such."""
    FAILED = "FAILED"
    """It failed half-way for all we know: the outcome is unknown."""


class SendError(RemitError):
    """A request that was not simply answered. ``uncertain`` is true where it may have an effect."""

    uncertain: bool = True


class NotSent(SendError):  # noqa: N818  # a state of the world
    """Nothing left this machine: no connection, an expired request, or an unusable one."""

    code = Code.NOT_SENT
    uncertain = False


class NoAnswer(SendError):  # noqa: N818  # a state of the world
    """Something may have left, and nobody answered in time: the outcome is unknown (INV-13)."""

    code = Code.OUTCOME_UNKNOWN


class Answered(SendError):  # noqa: N818  # a state of the world
    """The destination answered with an error; only ``FAILED`` leaves the outcome unknown."""

    code = Code.DESTINATION_REFUSED

    def __init__(
        self,
        reason: Reason,
        message: str,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, hint, {"reason": reason.value, **(details or {})})
        self.reason = reason
        self.uncertain = reason is Reason.FAILED


class Destination(Protocol):
    """Where effects come about. Safe to call from several threads and processes at once."""

    @property
    def name(self) -> str:
        """What it is called on the ledger."""
        ...

    @property
    def enforced(self) -> Enforced:
        """What it enforces."""
        ...

    def send(self, request: Request) -> Response:
        """Ask for the effect once: no retry within. Raises ``NotSent``, ``NoAnswer``, ``Answered``.

        An identical request under a key that is kept returns a ``Response`` and makes no second
        object.
        """
        ...

    def look_up(self, look_up: LookUp) -> Seen:
        """Say what the authoritative record shows of an effect, within ``timeout_ms``."""
        ...
