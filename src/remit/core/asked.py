"""The sheet that a verdict is drawn up on: the rows asked so far, every check, and what decided.

Most checks of most works are the same few, so equal ones are made once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from remit.core.checks import Check, Result
from remit.core.effect_facts import AdmissionPolicy, Envelope
from remit.core.evidence import Evidence, Verdict


@lru_cache(maxsize=4_096)
def check(
    name: str, result: Result, observed: str, required: str, evidence: str, reason: str
) -> Check:
    """A check; most work leads to the same ones, so those are made once."""
    return Check(name, result, observed, required, evidence, reason)


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """A shell pattern: ``*`` for any text, ``?`` for one character."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in text)
    return re.compile("".join(parts), re.DOTALL)


class Asked:
    """The checks so far, and the first row that decided."""

    def __init__(self, envelope: Envelope, policy: AdmissionPolicy, at: Evidence, now: int) -> None:
        self.envelope = envelope
        self.policy = policy
        self.at = at
        self.now = now
        self.begin = max(now, envelope.not_before or 0, at.retry_at)
        self.source = f"seq:{at.stored_seq}" if at.stored_seq else ""
        self.checks: list[Check] = []
        self.decided: tuple[Verdict, str, str, str, int] | None = None
        self.survivor = ""

    def applies(self, row: str) -> bool:
        """Whether the policy asks for this evidence."""
        return row in self.policy.rows

    def note(
        self,
        name: str,
        result: Result,
        observed: str = "",
        required: str = "",
        evidence: str = "",
        reason: str = "",
    ) -> None:
        """Record a check."""
        self.checks.append(check(name, result, observed, required, evidence, reason))

    def decide(
        self, row: int, verdict: Verdict, reason: str, trigger: str = "", owner: str = "admission"
    ) -> None:
        """Decide, unless an earlier row has."""
        if self.decided is None:
            self.decided = (verdict, reason, trigger, owner, row)

    @property
    def lifetime(self) -> int | None:
        """The deadline, where there is one and policy asks for it."""
        return self.envelope.deadline if self.applies("deadline") else None

    @property
    def margin_us(self) -> int | None:
        """The margin, in microseconds."""
        margin = self.envelope.minimum_completion_margin_ms
        return None if margin is None else margin * 1_000


def left(us: int) -> str:
    """Time that is left, rounded down to milliseconds."""
    return str(us // 1_000)


def passed(us: int) -> str:
    """Time that has gone by, rounded up to milliseconds."""
    return str(-(-us // 1_000))
