"""A destination in memory: it gets requests late, twice or never, answers or not, and is away at times.

It counts what really came about, so it is the oracle of every test that uses it: how many objects each
effect has, whatever the ledger believes. It declares no more than it enforces.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from remit.core.effect_facts import Destination
from remit.service.reconciling import Question, Shown


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way."""

    effect: str
    attempt: str
    digest: str
    manifest: str
    fence: int
    expires_at: int | None
    arrives_at: int


@dataclass
class Outside:
    """One destination, with a clock that the test moves."""

    declared: Destination
    now: int = 0
    away: bool = False
    objects: dict[str, list[Sent]] = field(default_factory=dict)
    under_way: list[Sent] = field(default_factory=list)
    fences: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    requests: int = 0

    def send(self, sent: Sent, *, lost: bool, twice: bool) -> bool:
        """Take a request; says whether an answer could come back at once."""
        self.requests += 1
        if not lost:
            self.under_way.append(sent)
            if twice and self.declared.idempotency_key:
                self.under_way.append(sent)
        self.move(self.now)
        return not lost and sent.arrives_at <= self.now

    def move(self, now: int) -> None:
        """Time goes by: what is due arrives."""
        self.now = now
        due = [s for s in self.under_way if s.arrives_at <= now]
        self.under_way = [s for s in self.under_way if s.arrives_at > now]
        for sent in sorted(due, key=lambda s: s.arrives_at):
            self._arrive(sent)

    def _arrive(self, sent: Sent) -> None:
        there = self.objects.setdefault(sent.effect, [])
        late = sent.expires_at is not None and sent.arrives_at > sent.expires_at
        if (
            (self.declared.request_expiry and late)
            or (self.declared.fence and sent.fence < self.fences.get(sent.effect, 0))
            or (self.declared.idempotency_key and there)
        ):
            self.refused += 1
        else:
            there.append(sent)
            self.fences[sent.effect] = max(self.fences.get(sent.effect, 0), sent.fence)

    def accepts(self, sent: Sent) -> bool:
        """Whether a request that is under way would still come about, as things stand."""
        late = sent.expires_at is not None and sent.arrives_at > sent.expires_at
        if self.declared.request_expiry and late:
            return False
        if self.declared.idempotency_key and self.objects.get(sent.effect):
            return False
        return not (self.declared.fence and sent.fence < self.fences.get(sent.effect, 0))

    def look_up(self, question: Question) -> Shown:
        """What the record shows now."""
        if self.away:
            return Shown("UNAVAILABLE")
        name = question.effect_id
        confirmed = 0
        if self.declared.fence and question.fence:
            self.fences[name] = max(self.fences.get(name, 0), question.fence)
            confirmed = self.fences[name]
        return self.shown(name, confirmed)

    def shown(self, name: str, confirmed: int = 0) -> Shown:
        """What is there of an effect, as the record or an answer says it."""
        there = self.objects.get(name, [])
        if not there:
            return Shown("NONE", 0, consistent=True, confirmed_fence=confirmed)
        first = there[0]
        values = (
            ("effect_id", name),
            ("digest", first.digest),
            ("manifest_id", first.manifest),
        )
        return Shown("FOUND", len(there), values, consistent=True, confirmed_fence=confirmed)
