"""Commands on work that was handed in, and on its end: review, ship, verify, triage, close.

``remit.core.commands`` gives them as well, beside those of everything before.
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


@dataclass(frozen=True, slots=True)
class SucceedItem(Command):
    """Let work on a verified item whose results are stale go on in another item."""

    item: str
    successor: str
    reason: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class OpenTriage(Command):
    """Put an item aside with a typed record (T10)."""

    item: str
    triage_kind: str
    reason: Text = NO_TEXT
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolveTriage(Command):
    """Settle one record by a named resolution."""

    record: str
    resolution: str
    reason: str = ""
    successor: str = ""


@dataclass(frozen=True, slots=True)
class CloseItem(Command):
    """Finish an item without verifying it.

    ``decision`` records the item's open effect as unresolved; nothing else closes over one.
    """

    item: str
    outcome: str
    reason: Text = NO_TEXT
    successor: str = ""
    decision: str = ""
