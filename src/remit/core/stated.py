"""What an event says of itself by a digest, made again from the rest of it.

A signature covers an acceptance and not the proposal that it accepts, an approval and not the rows that it
names: both are bound to those by a digest that the earlier event holds. So whoever rewrites the earlier event,
with a digest of the event that fits, would have a human's signature under something else. Here that digest is
taken again. ``ledger verify`` asks it of every event, the fold of every proposal, and whoever runs a row of that
row (INV-15).

Long texts of a plan's record lie in blobs, and a record that has some is not made again here.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Final, NamedTuple, Protocol

from remit.core import plan_events as p
from remit.core.canonical import digest_of
from remit.core.decision_events import DecisionProposed
from remit.core.events import Recorded, RequirementDrafted, RowRegistered
from remit.core.planning.bundle import record_digest, undecided

PLANNED: Final = (
    p.GoalRevised,
    p.RequirementRevised,
    p.NodeRevised,
    p.RowPlanned,
    p.ItemPlanned,
    p.ItemReplanned,
)
"""Events that hold a record of a plan with its digests."""


class Misstated(NamedTuple):
    """Which digest is not that of what the event holds; what it should be."""

    name: str
    found: str
    expected: str


def misstated(rec: Recorded) -> Misstated | None:
    """The first digest in an event that is not that of what stands beside it; None where all are."""
    event: Any = rec.event
    if isinstance(event, DecisionProposed):
        return _differing("record", event.record, proposed_digest(event, rec.actor))
    if isinstance(event, RowRegistered | RequirementDrafted):
        return _differing("digest", event.digest, _rest(event))
    elsewhere: Any = getattr(event, "texts", None)
    if not isinstance(event, PLANNED) or elsewhere:
        return None
    whole = record_digest(event.record)
    bare = undecided(event.record)
    proposal = whole if bare is event.record else record_digest(bare)
    return _differing("digest", event.digest, whole) or _differing(
        "proposal digest", event.proposal_digest, proposal
    )


def proposed_digest(event: DecisionProposed, by: str) -> str:
    """The digest of all that is proposed, and of who proposes it."""
    parts = asdict(event)
    del parts["record"]
    return digest_of(["decision", by, parts])


class Ruling(Protocol):
    """What a default rule says, wherever it stands: configuration, command, event or fact."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command."""

    @property
    def rubric(self) -> str:
        """What a human judges by."""

    @property
    def expected_exit(self) -> int:
        """The exit status of success."""

    @property
    def junit(self) -> str:
        """The report that the command writes."""

    @property
    def red_reason(self) -> str:
        """What the red run must say."""

    @property
    def timeout_ms(self) -> int:
        """How long a run may take."""


def rule_digest(rule: Ruling) -> str:
    """The digest of all that a default rule asks for, whatever its own digest says."""
    return digest_of(
        {
            "argv": list(rule.argv),
            "expected_exit": rule.expected_exit,
            "junit": rule.junit,
            "red_reason": rule.red_reason,
            "rubric": rule.rubric,
            "timeout_ms": rule.timeout_ms,
        }
    )


def _rest(event: RowRegistered | RequirementDrafted) -> str:
    """The digest of every field of an event but its own, in their order."""
    return digest_of([getattr(event, f.name) for f in fields(event) if f.name != "digest"])


def _differing(name: str, found: str, expected: str) -> Misstated | None:
    return None if found == expected else Misstated(name, found, expected)
