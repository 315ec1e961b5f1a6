"""Names of the plan gates that keep an item in draft, in the order in which they are asked.

A gate that is not open names itself on the item, so that ``blocked`` can say which gate stops it
and what would open it, and so that opening one finds the items behind it without a scan.
"""

from __future__ import annotations

from typing import Final

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
