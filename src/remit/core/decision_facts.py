"""Facts of human decisions: kinds, states, options, and a decision as it stands.

``remit.core.decisions`` gives them as well, and says what a decision covers. They are apart so that a read
of the ledger loads no more than these values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remit.core.change import quick


class DecisionKind(StrEnum):
    """What needs a human's decision."""

    GOAL = "material-goal-or-non-goal-change"
    REQUIREMENT = "requirement-removal-or-scope-reduction"
    BYPASS = "dependency-bypass"
    WAIVER = "verification-waiver"
    IRREVERSIBLE = "irreversible-action-authorization"
    ACTIVATION = "cloud-spend-or-live-autonomy-activation"


class DecisionState(StrEnum):
    """Where a decision stands."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Option:
    """One way that a decision may go. ``permits`` is whether it allows what the kind is about.

    ``against`` is why it should not be chosen, as far as whoever proposes it says so.
    """

    label: str
    text: str
    permits: bool = True
    against: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Decision:
    """A decision as it stands: the fold of its own stream. Its longer texts stay in the events.

    ``record`` is the digest of all that was proposed, ``proposal`` of the plan bundle or the effect
    that it is about, ``choice`` of the text of the option that was chosen, and ``permits`` whether
    that option allows what the kind is about. ``scope`` names things as KIND/LABEL. ``assurance`` is
    how well the acceptance was proved. ``expires_at`` is in microseconds, None for never.
    """

    id: str
    version: int
    kind: DecisionKind
    title: str
    state: DecisionState
    scope: tuple[str, ...]
    plan: str
    proposal: str
    record: str
    options: tuple[Option, ...]
    recommended: str
    proposed_by: str
    proposed_seq: int
    expires_at: int | None = None
    supersedes: str = ""
    superseded_by: str = ""
    chosen: str = ""
    choice: str = ""
    permits: bool = False
    accepted_by: str = ""
    assurance: str = ""
    settled_seq: int = 0
    settled_at: int = 0
    consumed_by: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether a human's own signature accepted it."""
        return self.assurance.startswith("signature")


@dataclass(frozen=True, slots=True)
class Decided:
    """Accepted decisions of one kind about one thing, oldest first; superseded ones are not there."""

    id: str
    decisions: tuple[str, ...]
