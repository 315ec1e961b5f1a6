"""Commands of judging work that was handed in: review, ship and verify.

The first is somebody's word. The other two say what remit itself saw, so no caller may make them.
``remit.core.commands`` gives them as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Command, Text
from remit.core.checks import Check


@dataclass(frozen=True, slots=True)
class ReviewWork(Command):
    """Approve or reject what was handed in.

    Where they are given, ``head`` must be the head handed in, and ``bound`` the digest of the rows
    and requirements as they are registered (``binding.binding_digest``).
    """

    item: str
    approve: bool
    reason: Text = NO_TEXT
    head: str = ""
    bound: str = ""


@dataclass(frozen=True, slots=True)
class ObserveShip(Command):
    """What the repository adapter saw on the remote's main; only it makes this command."""

    item: str
    sha: str
    main_sha: str
    remote: str
    ref: str
    base: str
    matched_by: str
    patch_id: str


@dataclass(frozen=True, slots=True)
class RowFinding:
    """What a verifier found for one row; ``log`` is the digest of the log blob.

    ``answered`` says that the command answered though no check of it was counted.
    """

    row: str
    digest: str
    result: str
    reason: str
    executed: int
    skipped: int
    log: str
    checks: tuple[Check, ...] = ()
    answered: bool = False


@dataclass(frozen=True, slots=True)
class RecordVerification(Command):
    """A verifier's findings at exactly the shipped commit."""

    item: str
    commit: str
    findings: tuple[RowFinding, ...]
    artifact_diff: str
    missing_artifacts: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    requested_by: str = ""
