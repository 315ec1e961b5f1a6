"""An HTTP service as a destination: one POST an effect, and a GET that looks it up.

The request carries ``Idempotency-Key``, ``Remit-Fence``, ``Remit-Expires-At`` (microseconds), the
payload's digest and the effect id; what the service makes of them is what its settings declare. One
call is one request: no retry, no redirect (a redirected POST could arrive twice, and credentials
elsewhere), a bound on time and on what is read. TLS is verified against the system's authorities.

What an answer means: 2xx is an answer; 409 and 422 say that the key stands for another payload; 412
with ``Remit-Fence`` above ours is a stale fence; 410 or 408 an expired request; other 4xx a refusal.
Everything else, 5xx and any break after the connection stood, leaves the outcome unknown. Looking up,
404 is NONE (where ``absent_header`` is set, only if that header echoes the key, since a wrong route
gives 404 too), 200 with the expected JSON is FOUND, and all else is UNAVAILABLE.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.destinations.calling import Caller, HttpAnswer
from remit.destinations.expiry import Clock, refuse_ended, wall_us
from remit.destinations.naming import checked, url
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    unavailable,
)

_SAID_CHARS = 400
_REASONS = {
    408: Reason.EXPIRED,
    409: Reason.KEY_REUSED,
    410: Reason.EXPIRED,
    412: Reason.STALE_FENCE,
    422: Reason.KEY_REUSED,
}
FIELDS: Mapping[str, str] = {
    "effect_id": "effect_id",
    "digest": "digest",
    "manifest_id": "manifest_id",
}


@dataclass(frozen=True, slots=True)
class HttpDestination:
    """One service. ``send_url``, ``lookup_url`` and ``fence_url`` are templates.

    ``fields`` maps a value's name to its place in the looked-up JSON (``data.checksum``); the JSON
    is one object, or a list of all that match, and ``objects`` may name a count in it. ``headers``
    may hold credentials: they are sent, and cut out of whatever is said.
    """

    name: str
    send_url: str
    declared: Enforced
    lookup_url: str = ""
    fence_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    fields: Mapping[str, str] = field(default_factory=lambda: FIELDS)
    objects: str = ""
    absent_header: str = ""
    media_type: str = "application/octet-stream"
    now: Clock = wall_us
    caller: Caller = field(default_factory=Caller)

    def __post_init__(self) -> None:
        if self.lookup_url:
            checked(self.lookup_url, "lookup_url")
        if self.fence_url:
            checked(self.fence_url, "fence_url")

    @property
    def enforced(self) -> Enforced:
        """What the settings declare; a look-up needs a URL."""
        return self.declared

    def send(self, request: Request) -> Response:
        """POST the payload once."""
        refuse_ended(request, self.now(), self.name)
        said = {
            "Content-Type": self.media_type,
            "Idempotency-Key": request.key,
            "Remit-Fence": str(request.fence),
            "Remit-Effect": request.effect_id,
            "Remit-Digest": request.digest,
            "Remit-Manifest": request.manifest_id,
            "Remit-Operation": request.operation,
            "Remit-Compensates": request.compensates,
            "Remit-Expires-At": "" if request.expires_at is None else str(request.expires_at),
        }
        target = url(self.send_url, request)
        what = f"send {request.effect_id} to {self.name}"
        answer = self._call("POST", target, request.timeout_ms, said, request.payload, what)
        text = self._clean(answer.body.decode("utf-8", "replace"))[:_SAID_CHARS]
        if 200 <= answer.status < 300:
            reference = answer.headers.get("Location") or target
            replayed = answer.headers.get("Idempotent-Replayed")
            known = None if replayed is None else replayed.lower() == "true"
            return Response(self._clean(reference), known, text)
        reason = _REASONS.get(answer.status, Reason.REJECTED)
        if not 400 <= answer.status < 500:
            reason = Reason.FAILED
        raise Answered(
            reason,
            f"cannot {what}: HTTP {answer.status}",
            "look the effect up" if reason is Reason.FAILED else "read what the service said",
            {"status": answer.status, "said": text},
        )

    def look_up(self, look_up: LookUp) -> Seen:
        """GET the record by key, after the fence was confirmed where one is given."""
        if not self.lookup_url:
            return unavailable(f"{self.name} has no look-up")
        end = time.monotonic() + look_up.timeout_ms / 1_000
        what = f"look {look_up.effect_id} up in {self.name}"
        try:
            fence = self._confirm(look_up, what) if look_up.fence and self.fence_url else 0
            left = max(1, int((end - time.monotonic()) * 1_000))
            answer = self._call("GET", url(self.lookup_url, look_up), left, {}, None, what)
            return self._seen(look_up, answer, fence)
        except (NotSent, NoAnswer, Answered) as error:
            return unavailable(error.message)
        except ValueError as error:
            return unavailable(f"cannot {what}: {self._clean(str(error))[:_SAID_CHARS]}")

    def _confirm(self, look_up: LookUp, what: str) -> int:
        """PUT the fence; the answer says which one now stands."""
        said = {"Remit-Fence": str(look_up.fence), "Idempotency-Key": look_up.key}
        target = url(self.fence_url, look_up)
        answer = self._call("PUT", target, look_up.timeout_ms, said, b"", what)
        stands = answer.headers.get("Remit-Fence", "")
        if not 200 <= answer.status < 300 or not stands.isdecimal():
            raise ValueError(f"the fence was not confirmed (HTTP {answer.status})")
        return int(stands)

    def _seen(self, look_up: LookUp, answer: HttpAnswer, fence: int) -> Seen:
        told = answer.headers.get("Remit-Fence", "")
        fence = max(fence, int(told) if told.isdecimal() else 0)
        consistent = self.declared.lookup_consistent
        if answer.status == 404:
            if self.absent_header and answer.headers.get(self.absent_header) != look_up.key:
                return unavailable(f"HTTP 404 without {self.absent_header}: no answer of theirs")
            return Seen(Result.NONE, 0, consistent=consistent, confirmed_fence=fence)
        if answer.status != 200:
            return unavailable(f"HTTP {answer.status}", fence)
        found = json.loads(answer.body)
        rows = found if isinstance(found, list) else [found]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("the answer is no JSON object, nor a list of them")
        count = len(rows)
        if self.objects and not isinstance(found, list):
            count = _at(found, self.objects)
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise ValueError(f"no count at {self.objects}")
        if not count:
            return Seen(Result.NONE, 0, consistent=consistent, confirmed_fence=fence)
        values = tuple(
            (name, str(value))
            for name, place in self.fields.items()
            if len(rows) == 1 and (value := _at(rows[0], place)) is not None
        )
        return Seen(Result.FOUND, count, values, (), consistent, fence)

    def _call(
        self,
        method: str,
        target: str,
        timeout_ms: int,
        headers: Mapping[str, str],
        body: bytes | None,
        what: str,
    ) -> HttpAnswer:
        sent = {**self.headers, **{name: value for name, value in headers.items() if value}}
        return self.caller.call(
            method,
            target,
            what,
            timeout_ms=timeout_ms,
            headers=sent,
            body=body,
        )

    def _clean(self, text: str) -> str:
        """A text without any of the credentials that were sent."""
        for secret in self.headers.values():
            for part in {secret, secret.rpartition(" ")[2]}:
                if part:
                    text = text.replace(part, "***")
        return text


def _at(row: Any, place: str) -> Any:
    """A value at a dotted place, None where there is none."""
    for part in place.split("."):
        if not isinstance(row, dict):
            return None
        row = row.get(part)
    return row
