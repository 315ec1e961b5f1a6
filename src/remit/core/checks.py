"""Checks: what was looked at, what was found, what was required, and on which evidence.

Four results and no more (INV-1). ``BLOCKED`` means that needed evidence is absent, stale or cannot
be observed; ``NOT_TESTED`` means that nobody looked. Neither ever becomes PASS or FAIL without new
evidence, and what was not asked is NOT_TESTED, never PASS by absence. Checks hold codes and
figures; prose comes from the named rule revision when somebody reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remit.core.change import quick


class Result(StrEnum):
    """The four results of a check."""

    PASS = "PASS"  # noqa: S105  # a result, not a password
    FAIL = "FAIL"
    BLOCKED = "BLOCKED"
    NOT_TESTED = "NOT_TESTED"


@quick
@dataclass(frozen=True, slots=True)
class Check:
    """One recorded comparison.

    ``observed`` and ``required`` are figures or codes as text; ``evidence`` names the event or
    observation that the result rests on (``seq:17``, ``rule:default@2``), empty when there is none.
    """

    check: str
    result: Result
    observed: str = ""
    required: str = ""
    evidence: str = ""
    reason: str = ""
