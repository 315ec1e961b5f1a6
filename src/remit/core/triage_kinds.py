"""Names of triage: why an item is put aside, and what may be done about it (CONTRACT 12).

Only names: what each kind has to show is in ``triage_shapes``, who owns it and which resolutions it
allows in ``triage_rules``, and the one way into triage in ``triage``.
"""

from __future__ import annotations

from enum import StrEnum


class TriageKind(StrEnum):
    """Why an item was put aside."""

    VERIFIER_GAP = "verifier-gap"
    CONTRADICTED = "contradicted"
    TEST_FAILURE = "test-failure"
    MERGE_CONFLICT = "merge-conflict"
    DIRTY_TREE = "dirty-tree"
    REMOTE_DIVERGENCE = "remote-divergence"
    AMBIGUITY = "ambiguity"
    CONFLICTING_DECISIONS = "conflicting-decisions"
    BUDGET_EXHAUSTED = "budget-exhausted"
    REFUSAL = "refusal"
    EFFECT_UNCERTAIN = "effect-uncertain"
    EFFECT_MISMATCH = "effect-mismatch"
    POISON = "poison"
    PROBE_FAILED = "sandbox-probe-failed"
    SECRET_FOUND = "secret-found"  # noqa: S105  # a kind of record, not a secret
    SCOPE_BREACH = "scope-breach"
    AGENT_CRASH = "agent-crash"
    TIMEOUT = "timeout"
    SHIP_UNVERIFIABLE = "ship-unverifiable"
    SCOPE_CHANGED = "scope-changed"
    CANCELLED_IN_FLIGHT = "cancelled-in-flight"
    TRIGGER_IMPOSSIBLE = "trigger-impossible"
    IMPORT_INCONSISTENT = "import-inconsistent"


class Resolution(StrEnum):
    """What may be done with a record.

    ``requeue`` runs admission; the two that name what became of a secret do so as well. ``return``
    goes where triage came from, ``reverify`` back to shipped; the others close the item.
    """

    REQUEUE = "requeue"
    REQUEUE_ROTATED = "requeue-rotated"
    REQUEUE_REMOVED = "requeue-removed"
    RETURN = "return"
    REVERIFY = "reverify"
    SUPERSEDE = "supersede"
    CANCEL = "cancel"
    FAIL = "fail"
