"""How a job ends, and what a handler raises to end it.

Everything that leaves a handler is one of these or an error of the handler's own. None of them says
anything of the world outside: whether an effect is there is for a look-up to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.triage_kinds import TriageKind
from remit.core.triage_rules import RULES
from remit.core.triage_shapes import faults
from remit.ports import RemitError

MOST_SAID: Final = 1_000
"""Longest text of an error that is reported, in characters."""


class Ending(StrEnum):
    """What became of one lease of a worker."""

    REPORTED = "reported"
    """Its result or response is on the ledger, and waits for a look-up."""
    UNCERTAIN = "uncertain"
    """Its effect was intended, and nobody knows what became of it."""
    FAILED = "failed"
    """The handler raised, or did nothing; the attempt counts."""
    GIVEN_UP = "given-up"
    """The handler put the work aside with a typed record."""
    HANDED_BACK = "handed-back"
    """Nothing was sent, and the attempt does not count."""
    LOST = "lost"
    """The lease ended before its work did; what was said since is late evidence."""


class JobError(RemitError):
    """What a job's own calls raise."""


class LeaseLost(JobError):  # noqa: N818  # a state of the world
    """The lease has run out, was refused, or is ended: nothing may be sent or reported under it."""

    code = Code.LEASE_EXPIRED


class AlreadySent(JobError):  # noqa: N818  # a state of the world
    """The job has intended its effect before: one attempt sends once."""

    code = Code.EFFECT_UNRECONCILED


class IntentRefused(JobError):  # noqa: N818  # a rule's answer
    """The ledger refused the intent; nothing was sent. ``refused`` says why."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message, refused.hint, refused.details, refused.code)
        self.refused = refused


class HandBack(Exception):  # noqa: N818  # raised by a handler to say what it wants
    """Raise it to hand work back: nothing was sent, and the attempt shall not count."""


class GiveUp(Exception):  # noqa: N818  # raised by a handler to say what it wants
    """Raise it to put work aside for a person, with a typed record (default: ``refusal``).

    Every other kind needs its evidence, as ``NAME:VALUE``; ``remit triage kinds`` names the fields.
    Raises ``ValueError`` where it does not fit the kind, or where only the ledger opens such records.
    """

    def __init__(
        self,
        reason: str = "",
        kind: str = TriageKind.REFUSAL.value,
        evidence: Sequence[str] = ("code:DECLINED",),
    ) -> None:
        super().__init__(reason)
        self.kind = TriageKind(kind).value
        self.evidence = tuple(evidence)
        rule = RULES[TriageKind(kind)]
        wrong = faults(TriageKind(kind), self.evidence)
        if rule.core or Status.LEASED not in rule.origins:
            wrong = ["no holder of a lease opens such a record"]
        if wrong:
            raise ValueError(f"cannot give up as {kind}: {'; '.join(wrong)}")


@dataclass(frozen=True, slots=True)
class Ended:
    """One job's end: which, and why in a code and a few words."""

    ending: Ending
    reason: str = ""
    text: str = ""


def said(error: BaseException) -> str:
    """An error in one bounded text that any ledger can hold."""
    return plain(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def plain(text: str, most: int = MOST_SAID) -> str:
    """A foreign text, bounded and free of what no ledger holds."""
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return text if len(text) <= most else text[: most - 3] + "..."
