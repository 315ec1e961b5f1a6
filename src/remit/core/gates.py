"""Names of the plan gates that keep an item in draft, in the order in which they are asked.

A gate that is not open names itself on the item, so that ``blocked`` can say which gate stops it
and what would open it, and so that opening one finds the items behind it without a scan.
"""

from __future__ import annotations

from typing import Final

from remit.core.planning.findings import Gate

UNASSESSED: Final = "unassessed"
IMPORT_OPEN: Final = "import-open"
IMPORT_STATUS: Final = "import-status"
REQUIREMENTS: Final = "requirements"
RULE: Final = "rule"
AMBIGUITY: Final = "ambiguity"
VERIFICATION_PLAN: Final = "verification-plan"
SCOPE: Final = "scope"

HOW_TO_OPEN: Final[dict[str, str]] = {
    UNASSESSED: "run 'remit recheck {id}'",
    IMPORT_OPEN: "the import that brought it has not ended: run the same 'remit import' again",
    IMPORT_STATUS: (
        "its source says that somebody may be at work on it: make sure that nobody is, then"
        " 'remit edit {id} --confirm-import'"
    ),
    REQUIREMENTS: "it owns no requirement: create it again with one",
    RULE: "no accepted rule gives it a verification row: 'remit rule accept {rule}', by a human",
    AMBIGUITY: "its requirement carries an open ambiguity: 'remit edit {id} --clarify'",
    VERIFICATION_PLAN: (
        "nothing would prove it: 'remit edit {id} --verify CMD', or put a rule for all such items"
        " under [rules.{rule}] in .remit/config.toml, then 'remit rule accept {rule}'"
    ),
    SCOPE: "it names no scope: 'remit edit {id} --scope PATHS'",
}
"""What opens each gate, for people; ``{id}`` and ``{rule}`` are filled in."""


def planned_gate(gate: Gate, plan: str) -> str:
    """A gate of planned work, with the plan that it belongs to: ``goal/P-1``."""
    return f"{gate}/{plan}"


HOW_TO_OPEN_PLANNED: Final[dict[str, str]] = {
    Gate.PLAN_OPEN: "an apply of the plan {rule} has not ended: run the same 'remit plan apply' again",
    Gate.GOAL: (
        "its goal is not clear or not covered: settle every ambiguity, name authority and provenance,"
        " cover or exclude each clause; 'remit plan check FILE' lists them, then apply the plan"
    ),
    Gate.REQUIREMENTS: (
        "a requirement of it is open, gone or unclear: 'remit plan check FILE' says which, then apply"
        " the plan"
    ),
    Gate.GRAPH: "it stands on no node of the plan's graph: put it on one and apply the plan",
    Gate.VERIFICATION_PLAN: (
        "a requirement of it has no direct row: add one for this item and apply the plan"
    ),
    Gate.RED_CONTROL: (
        "a claim of high risk has no row that can turn red: add a command with its negative control"
        " and apply the plan"
    ),
    Gate.SCOPE: "it names no scope: list the paths that it may change and apply the plan",
    Gate.REVERSAL: (
        "it does not say what would undo its effect: complete 'reversal' and apply the plan"
    ),
    Gate.DECISION: (
        "it needs a decision that a human has accepted: 'remit decision list', name it in the plan"
        " and apply it"
    ),
}
"""The same for items of a plan, whose id is ``{rule}``."""
