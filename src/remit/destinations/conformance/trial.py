"""One trial: fresh effects, calls whose errors are kept, and waits that end.

Every effect of a trial has an id of its own that no earlier run used, so a real destination may be
tried again and again. All texts that a destination gives are kept, for the check on secrets.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from remit.destinations.conformance.subject import Subject
from remit.ports.destination import (
    Enforced,
    LookUp,
    Request,
    Response,
    Result,
    Seen,
    SendError,
)

_POLL_S = 0.02


@dataclass(slots=True)
class Trial:
    """A subject, and what was said in the course of its checks."""

    subject: Subject
    texts: list[str] = field(default_factory=list)
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def enforced(self) -> Enforced:
        """What the destination declares."""
        return self.subject.destination.enforced

    @property
    def fence(self) -> int:
        """The fence of a first attempt."""
        return self.subject.first_fence

    def payload(self) -> bytes:
        """A payload that was not used before."""
        return self.subject.payload(next(self._numbers))

    def request(self) -> Request:
        """A request for a new effect."""
        number = next(self._numbers)
        effect_id = f"{self.subject.prefix}-{self.run}-{number}"
        return Request(
            effect_id=effect_id,
            key=f"key-{effect_id}",
            fence=self.fence,
            payload=self.payload(),
            operation="conformance",
            manifest_id=f"MANIFEST-{number}",
            timeout_ms=self.subject.timeout_ms,
        )

    def send(self, request: Request) -> Response | SendError:
        """Send, with an error as a value."""
        try:
            response = self.subject.destination.send(request)
        except SendError as error:
            self.texts += [error.message, error.hint, str(dict(error.details)), repr(error)]
            return error
        self.texts += [response.reference, response.text]
        return response

    def look(self, request: Request, fence: int = 0, timeout_ms: int = 0) -> Seen:
        """Look an effect up once, within the time of a call that shall succeed unless one is given."""
        seen = self.subject.destination.look_up(
            LookUp(
                request.effect_id,
                request.key,
                request.operation,
                request.manifest_id,
                fence,
                timeout_ms or self.subject.timeout_ms,
                request.compensates,
            )
        )
        self.texts += [seen.reason, *seen.differences, *(value for _, value in seen.values)]
        return seen

    def settled(self, request: Request, good: Callable[[Seen], bool]) -> Seen:
        """The first good look-up, or the last one within the declared lag."""
        end = time.monotonic() + self.enforced.lookup_lag_ms / 1_000
        while True:
            last = time.monotonic() >= end
            seen = self.look(request)
            if last or good(seen):
                return seen
            time.sleep(_POLL_S)

    def count(self, request: Request) -> int | None:
        """How many objects the effect has now, None where that cannot be seen."""
        asked = LookUp(request.effect_id, request.key, request.operation, request.manifest_id)
        if self.subject.count is not None:
            self.wait(self.enforced.lookup_lag_ms)
            return self.subject.count(asked)
        if not self.enforced.lookup:
            return None
        self.wait(self.enforced.lookup_lag_ms)
        seen = self.look(request)
        if seen.result is Result.UNAVAILABLE:
            return None
        return 0 if seen.result is Result.NONE else seen.objects

    def arrives(self, request: Request) -> bool:
        """Whether one object comes of it within the subject's patience, as early or late as it likes."""
        end = time.monotonic() + self.subject.patience_ms / 1_000
        while self.count(request) != 1:
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
        return True

    @staticmethod
    def wait(duration_ms: int) -> None:
        """Let time pass."""
        time.sleep(duration_ms / 1_000)


def shown(outcome: Response | SendError) -> str:
    """An outcome in a word or two."""
    if isinstance(outcome, Response):
        return "answer" if outcome.replayed is None else f"answer replayed={outcome.replayed}"
    return " ".join((type(outcome).__name__, str(outcome.details.get("reason", "")))).strip()
