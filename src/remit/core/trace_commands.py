"""Commands of traceability.

There is one: links follow from plans and work, and only a judgement about one can be asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Command, Text


@dataclass(frozen=True, slots=True)
class ClearLink(Command):
    """Say that both ends of a suspect link still belong together, and why.

    ``upper`` and ``lower`` are ids, such as ``R-1`` and ``V-3``. Where digests are given they must be
    what the ends mean now, so that nobody clears what was not looked at.
    """

    upper: str
    lower: str
    reason: Text = NO_TEXT
    upper_digest: str = ""
    lower_digest: str = ""
