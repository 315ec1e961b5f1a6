"""What the outside could not say, in the terms of the ledger.

A repository answers with refusals of its own. Surfaces know one list of codes, so each of those has
its place in it here, with the repository's own code kept in the details.
"""

from __future__ import annotations

from typing import Final

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.core.refusals import Code, Refused

_CODES: Final = {
    RepositoryCode.REMOTE_UNREACHABLE: Code.REMOTE_UNREACHABLE,
    RepositoryCode.COMMIT_ABSENT: Code.COMMIT_ABSENT,
    RepositoryCode.COMMIT_UNMERGED: Code.COMMIT_UNMERGED,
    RepositoryCode.PATCH_DIFFERS: Code.COMMIT_MISMATCH,
    RepositoryCode.SHALLOW_CLONE: Code.SHALLOW_CLONE,
    RepositoryCode.MAIN_REWRITTEN: Code.MAIN_REWRITTEN,
    RepositoryCode.BAD_SHA: Code.BAD_INPUT,
    RepositoryCode.BAD_NAME: Code.BAD_INPUT,
}


def refused_by(found: RepositoryRefusal) -> Refused:
    """A repository's refusal in the terms of the ledger."""
    code = _CODES.get(found.code, Code.REPOSITORY_REFUSED)
    details = {"repository_code": found.code.value, **found.details}
    return Refused(code, found.message, found.hint, details)
