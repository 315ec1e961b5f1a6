"""What the outside could not say, in the terms of the ledger.

A repository answers with refusals of its own. Surfaces know one list of codes, so each of those has
its place in it here, with the repository's own code kept in the details.
"""

from __future__ import annotations

from typing import Final

from remit.core.commands import OpenTriage, Text
from remit.core.facts import Item
from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, Takeover
from remit.core.refusals import Code, Refused
from remit.core.triage_records import aside, remote_divergence

_CODES: Final = {
    RepositoryCode.REMOTE_UNREACHABLE: Code.REMOTE_UNREACHABLE,
    RepositoryCode.COMMIT_ABSENT: Code.COMMIT_ABSENT,
    RepositoryCode.COMMIT_UNMERGED: Code.COMMIT_UNMERGED,
    RepositoryCode.PATCH_DIFFERS: Code.COMMIT_MISMATCH,
    RepositoryCode.BRANCH_MOVED: Code.APPROVAL_STALE,
    RepositoryCode.SHALLOW_CLONE: Code.SHALLOW_CLONE,
    RepositoryCode.MAIN_REWRITTEN: Code.MAIN_REWRITTEN,
    RepositoryCode.NOTHING_LEFT: Code.NOTHING_TO_INTEGRATE,
    RepositoryCode.BAD_SHA: Code.BAD_INPUT,
    RepositoryCode.BAD_NAME: Code.BAD_INPUT,
}


def refused_by(found: RepositoryRefusal) -> Refused:
    """A repository's refusal in the terms of the ledger."""
    code = _CODES.get(found.code, Code.REPOSITORY_REFUSED)
    details = {"repository_code": found.code.value, **found.details}
    return Refused(code, found.message, found.hint, details)


def divergence(item: str, found: RepositoryRefusal) -> OpenTriage | None:
    """What puts an item aside where the remote's main was rewritten: people have to look at it."""
    if found.code is not RepositoryCode.MAIN_REWRITTEN:
        return None
    told = found.details
    evidence = remote_divergence(
        remote=told["remote"],
        ref=told["ref"],
        expected=told["previous_main_sha"],
        observed=told["main_sha"],
    )
    return aside(evidence, item, Text(found.message[:500]))


def nothing_new(item: Item, taken: Takeover) -> Refused:
    """``NOTHING_TO_REVIEW``: a head that is on main already, and nobody saw main without it."""
    return Refused(
        Code.NOTHING_TO_REVIEW,
        f"cannot complete {item.id}: {taken.head_sha} is on main already, and nothing tells what "
        "it changed",
        "commit the change and report that commit; work that landed before the lease is no change "
        f"of this item: 'remit release {item.id} --fence N', then close it",
        {"item": item.id, "head": taken.head_sha, "main": taken.main_sha},
    )
