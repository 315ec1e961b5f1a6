"""Refusals: a rule said no. They are values, never exceptions.

One table gives each code its exit status, HTTP status and MCP error, so every surface says the same
about the same refusal. Exceptions are kept for a store that is away, an unknown commit outcome,
corruption and bugs; they live beside the ports. A message says operation, subject, what was found
and what was expected in one line; the hint says what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from remit.core.commands import Command


class Code(StrEnum):
    """Stable names of refusals and failures; scripts match on them."""

    BAD_INPUT = "BAD_INPUT"
    AMBIGUOUS_ID = "AMBIGUOUS_ID"
    NOT_FOUND = "NOT_FOUND"
    ALIAS_TAKEN = "ALIAS_TAKEN"
    ACTOR_UNKNOWN = "ACTOR_UNKNOWN"
    ACTOR_REVOKED = "ACTOR_REVOKED"
    ACTOR_KIND_REFUSED = "ACTOR_KIND_REFUSED"
    ACTOR_EXISTS = "ACTOR_EXISTS"
    TRANSITION_REFUSED = "TRANSITION_REFUSED"
    ITEM_NOT_READY = "ITEM_NOT_READY"
    ITEM_LEASED = "ITEM_LEASED"
    ITEM_FINISHED = "ITEM_FINISHED"
    NOTHING_READY = "NOTHING_READY"
    KILL_SWITCH_ON = "KILL_SWITCH_ON"
    CONCURRENCY_LIMIT = "CONCURRENCY_LIMIT"
    RATE_LIMIT = "RATE_LIMIT"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    SPEND_UNESTIMATED = "SPEND_UNESTIMATED"
    STALE_FENCE = "STALE_FENCE"
    LEASE_EXPIRED = "LEASE_EXPIRED"
    LEASE_TOO_LONG = "LEASE_TOO_LONG"
    LEASE_OF_ANOTHER = "LEASE_OF_ANOTHER"
    BRIEF_IS_LIVE = "BRIEF_IS_LIVE"
    COMMAND_ID_REUSED = "COMMAND_ID_REUSED"
    DEPENDENCY_CYCLE = "DEPENDENCY_CYCLE"
    DEPENDENCY_EXISTS = "DEPENDENCY_EXISTS"
    DEPENDENCY_ABSENT = "DEPENDENCY_ABSENT"
    REVIEWER_IS_IMPLEMENTER = "REVIEWER_IS_IMPLEMENTER"
    VERIFIER_IS_IMPLEMENTER = "VERIFIER_IS_IMPLEMENTER"
    VERIFIER_IS_REVIEWER = "VERIFIER_IS_REVIEWER"
    REVIEW_UNPROVED = "REVIEW_UNPROVED"
    REVIEW_STALE = "REVIEW_STALE"
    APPROVAL_STALE = "APPROVAL_STALE"
    NOTHING_TO_REVIEW = "NOTHING_TO_REVIEW"
    VERIFICATION_STALE = "VERIFICATION_STALE"
    RESULTS_CURRENT = "RESULTS_CURRENT"
    COMMIT_ABSENT = "COMMIT_ABSENT"
    COMMIT_UNMERGED = "COMMIT_UNMERGED"
    COMMIT_MISMATCH = "COMMIT_MISMATCH"
    REMOTE_UNREACHABLE = "REMOTE_UNREACHABLE"
    NOT_SENT = "NOT_SENT"
    DESTINATION_REFUSED = "DESTINATION_REFUSED"
    REPOSITORY_REFUSED = "REPOSITORY_REFUSED"
    SHALLOW_CLONE = "SHALLOW_CLONE"
    MAIN_REWRITTEN = "MAIN_REWRITTEN"
    TRIAGE_UNKNOWN = "TRIAGE_UNKNOWN"
    RESOLUTION_REFUSED = "RESOLUTION_REFUSED"
    RULE_UNKNOWN = "RULE_UNKNOWN"
    RULE_CHANGED = "RULE_CHANGED"
    CHANGED_UPSTREAM = "CHANGED_UPSTREAM"
    MESSAGE_CHANGED = "MESSAGE_CHANGED"
    LABEL_TAKEN = "LABEL_TAKEN"
    POLICY_UNKNOWN = "POLICY_UNKNOWN"
    STORAGE_FULL = "STORAGE_FULL"
    TOO_FEW_SAMPLES = "TOO_FEW_SAMPLES"
    IMPORT_CLOSED = "IMPORT_CLOSED"
    UNCHANGED = "UNCHANGED"
    LEDGER_NOT_ADOPTED = "LEDGER_NOT_ADOPTED"
    EPOCH_TOO_LOW = "EPOCH_TOO_LOW"
    BLOB_UNKNOWN = "BLOB_UNKNOWN"
    CURSOR_OF_ANOTHER = "CURSOR_OF_ANOTHER"
    CURSOR_AHEAD = "CURSOR_AHEAD"
    CURSOR_DIVERGED = "CURSOR_DIVERGED"
    EFFECT_UNRECONCILED = "EFFECT_UNRECONCILED"
    EFFECT_PRESENT = "EFFECT_PRESENT"
    EFFECT_CONFLICT = "EFFECT_CONFLICT"
    EFFECT_NOT_INTENDED = "EFFECT_NOT_INTENDED"
    WORK_CANCELLED = "WORK_CANCELLED"
    TOO_EARLY = "TOO_EARLY"
    DEADLINE_PASSED = "DEADLINE_PASSED"
    OBSERVATION_STALE = "OBSERVATION_STALE"
    RECONCILER_IS_HOLDER = "RECONCILER_IS_HOLDER"
    ATOMIC_ABORTED = "ATOMIC_ABORTED"
    TOO_MANY = "TOO_MANY"
    VERIFICATION_NO = "VERIFICATION_NO"
    LEDGER_CORRUPT = "LEDGER_CORRUPT"
    LEDGER_MISSING = "LEDGER_MISSING"
    LEDGER_EXISTS = "LEDGER_EXISTS"
    LEDGER_TOO_NEW = "LEDGER_TOO_NEW"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    STORE_FULL = "STORE_FULL"
    STORE_REFUSED = "STORE_REFUSED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    INTERRUPTED = "INTERRUPTED"
    INPUT_PROBLEM = "INPUT_PROBLEM"
    UNEXPECTED = "UNEXPECTED"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code means on each surface."""

    exit_status: int
    http_status: int
    mcp_code: int


_REFUSED: Final = Meaning(3, 409, -32003)
_BY_EXIT: Final = {
    1: Meaning(1, 500, -32603),
    2: Meaning(2, 400, -32602),
    3: _REFUSED,
    4: Meaning(4, 404, -32004),
    5: Meaning(5, 423, -32005),
    6: Meaning(6, 422, -32006),
    7: Meaning(7, 500, -32007),
    8: Meaning(8, 503, -32008),
    9: Meaning(9, 504, -32009),
    130: Meaning(130, 499, -32010),
}

_EXITS: Final = {
    Code.BAD_INPUT: 2,
    Code.AMBIGUOUS_ID: 2,
    Code.INPUT_PROBLEM: 2,
    Code.TOO_MANY: 2,
    Code.NOT_FOUND: 4,
    Code.TRIAGE_UNKNOWN: 4,
    Code.RULE_UNKNOWN: 4,
    Code.BLOB_UNKNOWN: 4,
    Code.NOTHING_READY: 5,
    Code.KILL_SWITCH_ON: 5,
    Code.CONCURRENCY_LIMIT: 5,
    Code.STORAGE_FULL: 5,
    Code.TOO_FEW_SAMPLES: 5,
    Code.RATE_LIMIT: 5,
    Code.BUDGET_EXHAUSTED: 5,
    Code.REMOTE_UNREACHABLE: 5,
    Code.NOT_SENT: 5,
    Code.EFFECT_UNRECONCILED: 5,
    Code.TOO_EARLY: 5,
    Code.OBSERVATION_STALE: 5,
    Code.VERIFICATION_NO: 6,
    Code.LEDGER_CORRUPT: 7,
    Code.LEDGER_MISSING: 4,
    Code.LEDGER_TOO_NEW: 8,
    Code.STORE_UNAVAILABLE: 8,
    Code.STORE_FULL: 8,
    Code.STORE_REFUSED: 8,
    Code.OUTCOME_UNKNOWN: 9,
    Code.INTERRUPTED: 130,
    Code.UNEXPECTED: 1,
}


def meaning(code: Code) -> Meaning:
    """Exit status, HTTP status and MCP error of a code; a rule's refusal (3) unless listed."""
    return _BY_EXIT[_EXITS.get(code, 3)]


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Refused:
    """A rule refused the command; nothing of it was written.

    ``aside`` holds the commands that the driver runs in their own right beside the refusal: the
    record of a late report and the expiry that the refused command noticed (CONTRACT 6).
    """

    code: Code
    message: str
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    aside: tuple[Command, ...] = ()
