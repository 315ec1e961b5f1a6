"""The words that a drain writes onto items and attempts: one table, so that documents can name them.

Codes and figures go into events; what they mean stands in docs/reference/cli.md. Nothing here is
foreign text, and nothing depends on the machine.
"""

from __future__ import annotations

from typing import Final

STEPS: Final = (
    "chosen", "leased", "cloned", "briefed", "probed", "started", "ended", "handed-in", "reviewed",
    "integrated", "shipped", "verified", "settled",
)  # fmt: skip
"""The steps of one entry, in order."""

ORDER: Final = {step: number for number, step in enumerate(STEPS)}

PROBE_REFUSED: Final = "SANDBOX_PROBE_FAILED"
NO_CLONE: Final = "NO_CLONE"
NO_START: Final = "AGENT_NOT_STARTED"
NOTHING_COMMITTED: Final = "NOTHING_COMMITTED"
HEAD_DIFFERS: Final = "REPORT_HEAD_DIFFERS"
OUT_OF_SCOPE: Final = "OUT_OF_SCOPE"
TREE_DIRTY: Final = "TREE_DIRTY"
UNREADABLE: Final = "CLONE_UNREADABLE"
TOO_LARGE: Final = "CHANGE_TOO_LARGE"
SECRET: Final = "SECRET_FOUND"  # noqa: S105  # a code, not a secret
SCAN_BLOCKED: Final = "SECRET_SCAN_BLOCKED"  # a code, not a secret
DISK_BREACH: Final = "DISK_LIMIT"
STOPPED: Final = "RUN_STOPPED"
INTERRUPTED: Final = "RUN_INTERRUPTED"
LEASE_LOST: Final = "LEASE_LOST"
UNCHANGED: Final = "LANDING_UNCHANGED"
"""Approved work is left, since it could not land and nothing has changed since; see ``drain.standing``."""

REASONS: Final = {
    NO_CLONE: "no clone could be made",
    PROBE_REFUSED: "a probe of the sandbox got out or could not look",
    STOPPED: "the run was stopped before the work was done",
    INTERRUPTED: "the run was interrupted while the agent worked",
    NO_START: "the agent could not be started",
    LEASE_LOST: "the lease ended while the run was away",
    NOTHING_COMMITTED: "it said done, and brought no commit",
    HEAD_DIFFERS: "it named another commit than its clone holds",
    OUT_OF_SCOPE: "it changed paths outside its scope",
    TREE_DIRTY: "its clone holds changes that no commit does",
    SECRET: "the scanner found secrets in what it brought",
    SCAN_BLOCKED: "the scanner could not look for secrets",
    DISK_BREACH: "it filled more of the disk than it may",
    UNREADABLE: "what the agent left in its clone is no repository that can be read",
    TOO_LARGE: "the change is larger than what can be looked at whole",
}
"""What stands in a release or a record beside its code."""

RESTARTS: Final = 2
"""How often an agent that was killed from outside is started again within one attempt."""

TURNS: Final = 3
"""How often a run takes one item that comes back to the queue each time, before it leaves it to others."""


def later(step: str, than: str) -> bool:
    """Whether a step comes after another one."""
    return ORDER[step] > ORDER[than]
