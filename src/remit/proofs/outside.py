"""The outside of a small world: workers, requests under way, and one destination that gets them.

It is part of a state and no part of the ledger: a worker that has intended may send at any later time
until it ends, whatever became of its lease, and a request may arrive at any moment up to the bound
that the destination declares (or for ever, where it declares none), or never. The destination keeps
what it says that it enforces and nothing else. So it is the oracle of what really came about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from remit.core.effect_commands import ObserveEffect
from remit.core.effect_facts import Destination


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt that intended: ``sent_at`` 0 while nothing left, ``ended_at`` 0 while it lives.

    ``gone`` says that it arrived or can no longer do so.
    """

    effect: str
    attempt: str
    fence: int
    expires_at: int | None
    sent_at: int = 0
    ended_at: int = 0
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything that the ledger cannot know; ``look`` is a look-up whose result is not written yet.

    ``asked`` is the fence that the last look-up asked the destination to confirm. ``objects`` counts what came about of each effect and ``floors`` holds the highest fence that the
    destination has seen of it. ``restored`` counts restores from the backup, ``adopting`` says that
    one was put back and is not adopted yet. ``strange`` are effects with an object that is not theirs.
    """

    requests: tuple[Request, ...] = ()
    objects: tuple[tuple[str, int], ...] = ()
    floors: tuple[tuple[str, int], ...] = ()
    strange: frozenset[str] = frozenset()
    look: ObserveEffect | None = None
    asked: int = 0
    restored: int = 0
    adopting: bool = False

    def there(self, effect: str) -> int:
        """How many objects of an effect there are."""
        return dict(self.objects).get(effect, 0)

    def floor(self, effect: str) -> int:
        """The highest fence that the destination has seen of an effect."""
        return dict(self.floors).get(effect, 0)

    def of(self, attempt: str) -> Request | None:
        """The request of an attempt."""
        return next((r for r in self.requests if r.attempt == attempt), None)

    def change(self, old: Request, new: Request) -> Outside:
        """The same with one request changed."""
        return replace(self, requests=tuple(new if r is old else r for r in self.requests))


NOWHERE: Final = Outside()


def last_arrival(request: Request, there: Destination) -> int | None:
    """The last moment at which a request that was sent may arrive, None where that is not bounded."""
    if there.in_flight_ms is None:
        return None
    return request.sent_at + there.in_flight_ms * 1_000


def under_way(request: Request, there: Destination, now: int) -> bool:
    """Whether a request may still arrive."""
    if not request.sent_at or request.gone:
        return False
    last = last_arrival(request, there)
    return last is None or now <= last


def accepted(outside: Outside, request: Request, there: Destination, now: int) -> bool:
    """Whether the destination would let a request that arrives now come about."""
    late = request.expires_at is not None and now > request.expires_at
    if there.request_expiry and late:
        return False
    if there.fence and request.fence < outside.floor(request.effect):
        return False
    return not (there.idempotency_key and outside.there(request.effect))


def may_come(outside: Outside, request: Request, there: Destination, now: int) -> bool:
    """Whether this attempt may still bring something about: sent already or not."""
    able = not request.sent_at and not request.ended_at and not request.gone
    return (able or under_way(request, there, now)) and accepted(outside, request, there, now)


def arrive(outside: Outside, request: Request, there: Destination, now: int) -> Outside:
    """A request arrives, and comes about or not; under a key the network may bring it again."""
    effect = request.effect
    changed = outside.change(request, replace(request, gone=not there.idempotency_key))
    if not accepted(outside, request, there, now):
        return changed
    counts, floors = dict(outside.objects), dict(outside.floors)
    counts[effect] = counts.get(effect, 0) + 1
    floors[effect] = max(floors.get(effect, 0), request.fence)
    return replace(
        changed, objects=tuple(sorted(counts.items())), floors=tuple(sorted(floors.items()))
    )


def settled(outside: Outside, there: Destination, now: int) -> Outside:
    """The same without requests that can never arrive and that nobody will ask about."""
    kept = []
    for request in outside.requests:
        over = bool(request.sent_at) and not under_way(request, there, now)
        kept.append(replace(request, gone=True) if over and not request.gone else request)
    return replace(outside, requests=tuple(kept))
