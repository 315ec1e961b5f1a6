"""What may be done with each kind of triage record: one table (CONTRACT 12, INV-19).

For each kind it says what it means, who settles it, from which statuses it is opened and by whom, which
resolutions it allows, which of them only a human may give, and what people do next. A way that the
table does not have is refused for everybody. ``return`` leads only to review or approval, so it is
offered only where triage came from there. Once a commit or an effect was observed, what came about is a
fact: then any record is settled by verifying again or by a successor, and by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.status import Status
from remit.core.triage_kinds import Resolution
from remit.core.triage_kinds import TriageKind as K


class Role(StrEnum):
    """Who settles a record: what somebody does, not who somebody is."""

    PLANNER = "planner"
    MAINTAINER = "maintainer"
    VERIFIER = "verifier"
    OPERATOR = "operator"
    RECONCILER = "reconciler"
    SECURITY = "security"
    BUDGET = "budget holder"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table.

    ``origins`` are the statuses from which a command may open it, ``ways`` what settles it while
    nothing was observed, ``human`` those of them that only a human may give. ``core`` kinds rest on
    what the ledger itself found, and are opened by no command.
    """

    meaning: str
    owner: Role
    origins: frozenset[Status]
    ways: tuple[Resolution, ...]
    next: str
    human: frozenset[Resolution] = frozenset()
    core: bool = False


_S, _R = Status, Resolution
_QUEUED: Final = frozenset((_S.DRAFT, _S.HELD, _S.READY))
_LEASED: Final = frozenset((_S.LEASED,))
_HANDED: Final = frozenset((_S.IN_REVIEW, _S.APPROVED))
_SHIPPED: Final = frozenset((_S.SHIPPED,))
_OPEN: Final = _QUEUED | _LEASED | _HANDED | _SHIPPED

OBSERVED: Final = (_R.REVERIFY, _R.SUPERSEDE)
"""What settles any record once a commit or an effect was observed."""

_ENDS: Final = (_R.SUPERSEDE, _R.CANCEL, _R.FAIL)
_AGAIN: Final = (_R.REQUEUE, *_ENDS)
_BACK: Final = (_R.RETURN, *_AGAIN)

RULES: Final[dict[K, Rule]] = {
    K.VERIFIER_GAP: Rule(
        "what shipped was not proved: a row, an artifact, or a path outside the scope",
        Role.VERIFIER,
        _SHIPPED,
        (),
        "read what the rows wrote; repair what keeps them from answering and verify again, or let"
        " another item put it right",
        core=True,
    ),
    K.CONTRADICTED: Rule(
        "a row gave two answers on one commit",
        Role.VERIFIER,
        _SHIPPED,
        (),
        "no further run turns this green: waive the row by an accepted decision and verify again, or"
        " let another item replace it",
        core=True,
    ),
    K.TEST_FAILURE: Rule(
        "rows failed on exactly what would land",
        Role.MAINTAINER,
        _LEASED | _HANDED,
        _BACK,
        "read what the rows wrote; requeue the work to be changed, or return it where main was at fault",
    ),
    K.MERGE_CONFLICT: Rule(
        "the reviewed head does not go onto the main that was observed",
        Role.MAINTAINER,
        _LEASED | _HANDED,
        _BACK,
        "requeue it, so that it is made again on the new main",
    ),
    K.DIRTY_TREE: Rule(
        "a tree holds changes that no commit does",
        Role.MAINTAINER,
        _LEASED | _HANDED,
        _BACK,
        "keep or drop what the paths hold, then requeue or return it",
    ),
    K.REMOTE_DIVERGENCE: Rule(
        "the remote's main no longer holds what was observed of it",
        Role.MAINTAINER,
        _LEASED | _HANDED | _SHIPPED,
        _BACK,
        "find out who rewrote main; return the work and ship it with --accept-rewrite, or requeue it",
    ),
    K.AMBIGUITY: Rule(
        "something that the work rests on is not clear",
        Role.PLANNER,
        _OPEN,
        _BACK,
        "ask whom the record names, write the answer into the item or its plan, then requeue it",
    ),
    K.CONFLICTING_DECISIONS: Rule(
        "decisions in force say different things about what the work rests on",
        Role.PLANNER,
        _OPEN,
        (_R.RETURN, _R.REQUEUE, _R.SUPERSEDE, _R.CANCEL),
        "a human accepts a decision that supersedes one of them; then requeue or return the work",
    ),
    K.BUDGET_EXHAUSTED: Rule(
        "more was spent than was set aside, or a scope has no money left",
        Role.BUDGET,
        _OPEN,
        _BACK,
        "look at what it cost and raise the limit or not; its scopes lease nothing until then",
        frozenset((*_BACK, *OBSERVED)),
    ),
    K.REFUSAL: Rule(
        "leased work was declined",
        Role.OPERATOR,
        _LEASED,
        _AGAIN,
        "read the reason; change the brief and requeue it, or close it",
    ),
    K.EFFECT_UNCERTAIN: Rule(
        "nothing can say what became of an effect",
        Role.RECONCILER,
        _LEASED | _QUEUED | _HANDED,
        _AGAIN,
        "look it up with 'remit reconcile' once that can be done; else close it by a signed decision that"
        " records the effect as unresolved",
        frozenset(_AGAIN),
        core=True,
    ),
    K.EFFECT_MISMATCH: Rule(
        "what was observed of an effect contradicts what was intended",
        Role.RECONCILER,
        _LEASED | _QUEUED | _HANDED | _SHIPPED,
        _AGAIN,
        "put the outside right or compensate, then look it up with 'remit reconcile'; else close it by a"
        " signed decision that records the effect as unresolved",
        frozenset(_AGAIN),
        core=True,
    ),
    K.POISON: Rule(
        "every attempt that it may have ended without a result",
        Role.OPERATOR,
        _LEASED | _QUEUED,
        _AGAIN,
        "find out what ends its workers before it gets more attempts",
        frozenset((_R.REQUEUE,)),
        core=True,
    ),
    K.PROBE_FAILED: Rule(
        "a probe got out of the sandbox, or could not run",
        Role.OPERATOR,
        _LEASED | _QUEUED,
        (_R.REQUEUE, _R.CANCEL, _R.FAIL),
        "repair the sandbox until 'remit doctor' finds it whole, then requeue it",
        frozenset((_R.REQUEUE,)),
    ),
    K.SECRET_FOUND: Rule(
        "what came back holds a secret",
        Role.SECURITY,
        _LEASED | _HANDED,
        (_R.REQUEUE_ROTATED, _R.REQUEUE_REMOVED, _R.CANCEL, _R.FAIL),
        "rotate the secret, or make sure that it never left and remove it; say which",
        frozenset((_R.REQUEUE_ROTATED, _R.REQUEUE_REMOVED)),
    ),
    K.SCOPE_BREACH: Rule(
        "what came back changes paths outside the scope",
        Role.MAINTAINER,
        _LEASED | _HANDED,
        _AGAIN,
        "requeue it, or let an item with a wider scope take its place",
    ),
    K.AGENT_CRASH: Rule(
        "an agent ended otherwise than it should",
        Role.OPERATOR,
        _LEASED,
        (_R.REQUEUE, _R.CANCEL, _R.FAIL),
        "read what it wrote, look at the commits that were kept, then requeue it",
    ),
    K.TIMEOUT: Rule(
        "an agent passed a bound of time or means",
        Role.OPERATOR,
        _LEASED,
        _AGAIN,
        "raise the bound or split the work, then requeue or supersede it",
    ),
    K.SHIP_UNVERIFIABLE: Rule(
        "what landed cannot be tied to what was reviewed",
        Role.MAINTAINER,
        _HANDED | _SHIPPED,
        _BACK,
        "find the commit on main; return the work and ship it, or requeue it",
    ),
    K.SCOPE_CHANGED: Rule(
        "what the work was made or approved for is another now",
        Role.PLANNER,
        _OPEN,
        (_R.REQUEUE, _R.SUPERSEDE, _R.CANCEL),
        "let an item for the new scope take its place",
    ),
    K.CANCELLED_IN_FLIGHT: Rule(
        "the work was cancelled while its effect was under way",
        Role.RECONCILER,
        _LEASED | _QUEUED | _HANDED,
        (_R.REQUEUE, _R.CANCEL),
        "look its effect up with 'remit reconcile': found, it ships; absent, it closes",
        frozenset((_R.REQUEUE,)),
        core=True,
    ),
    K.TRIGGER_IMPOSSIBLE: Rule(
        "what the work waits on can no longer come",
        Role.PLANNER,
        _QUEUED,
        _AGAIN,
        "remove the dependency or let another item take its place, then requeue it",
        core=True,
    ),
    K.IMPORT_INCONSISTENT: Rule(
        "what was imported contradicts itself",
        Role.PLANNER,
        _QUEUED,
        (_R.REQUEUE, _R.SUPERSEDE, _R.CANCEL),
        "remove an edge of the cycle, then requeue it",
        core=True,
    ),
}
"""Each kind's row."""

EFFECT_KINDS: Final = frozenset((K.EFFECT_UNCERTAIN, K.EFFECT_MISMATCH, K.CANCELLED_IN_FLIGHT))
"""Records that stand until their effect is known, or a signed decision leaves it unknown."""


def ways_of(kind: K, origin: Status | None, shipped: str) -> tuple[Resolution, ...]:
    """What settles a record of this kind on an item that was put aside from ``origin``."""
    if shipped or origin is _S.SHIPPED:
        return OBSERVED
    ways = RULES[kind].ways or OBSERVED
    if origin in _HANDED:
        return ways
    return tuple(way for way in ways if way is not _R.RETURN)
