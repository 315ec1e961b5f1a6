"""What looking at a git repository can yield: facts, or a refusal with a code.

The core never runs git. It decides on what an adapter saw, and these closed types are all that an
adapter may hand it: an observation of the remote's main, of a shipped commit, of commits taken
over from an attempt, of a diff, of a clone or a checkout that was made. What could not be observed
is a `RepositoryRefusal`, a value like any other, so that "absent", "unmerged" and "unreachable"
are never mistaken for one another and none of them is mistaken for success.

Pure: no I/O, no clock. A fact carries no time; whoever records it adds the ledger's time. URLs and
messages in here are free of credentials: `redact_url` and `redact_text` are applied before a value
is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_FULL_SHA = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+@-]*)*\Z")
_URL_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)\Z", re.DOTALL)

NAME_LIMIT_CHARS = 200
"""The longest branch, remote or attempt name that is accepted."""


class RepositoryCode(StrEnum):
    """Why a repository operation yielded no fact."""

    GIT_MISSING = "GIT_MISSING"
    GIT_TIMEOUT = "GIT_TIMEOUT"
    GIT_FAILED = "GIT_FAILED"
    OUTPUT_TOO_LARGE = "OUTPUT_TOO_LARGE"
    REPOSITORY_MISSING = "REPOSITORY_MISSING"
    REPOSITORY_CORRUPT = "REPOSITORY_CORRUPT"
    REPOSITORY_UNTRUSTED = "REPOSITORY_UNTRUSTED"
    REF_LOCKED = "REF_LOCKED"
    BAD_SHA = "BAD_SHA"
    BAD_NAME = "BAD_NAME"
    REMOTE_MISSING = "REMOTE_MISSING"
    REMOTE_UNREACHABLE = "REMOTE_UNREACHABLE"
    MAIN_ABSENT = "MAIN_ABSENT"
    MAIN_UNOBSERVED = "MAIN_UNOBSERVED"
    MAIN_REWRITTEN = "MAIN_REWRITTEN"
    SHALLOW_CLONE = "SHALLOW_CLONE"
    COMMIT_ABSENT = "COMMIT_ABSENT"
    COMMIT_UNMERGED = "COMMIT_UNMERGED"
    NOT_A_COMMIT = "NOT_A_COMMIT"
    PATCH_DIFFERS = "PATCH_DIFFERS"
    BRANCH_MOVED = "BRANCH_MOVED"
    BASE_UNUSABLE = "BASE_UNUSABLE"
    HISTORY_UNRELATED = "HISTORY_UNRELATED"
    DIRECTORY_IN_USE = "DIRECTORY_IN_USE"
    CLONE_FAILED = "CLONE_FAILED"
    TAKEOVER_FAILED = "TAKEOVER_FAILED"
    CHECKOUT_FAILED = "CHECKOUT_FAILED"
    GIT_TOO_OLD = "GIT_TOO_OLD"
    HISTORY_NOT_LINEAR = "HISTORY_NOT_LINEAR"
    NOTHING_LEFT = "NOTHING_LEFT"
    REMOTE_SPLIT = "REMOTE_SPLIT"


@dataclass(frozen=True, slots=True)
class RepositoryRefusal:
    """A repository operation that could not say what it was asked, as a value.

    `message` names the operation, its subject, what was found and what was expected; `hint` says
    what to do next; `details` holds the figures (shas, refs, git's own last words) as short
    strings without credentials.
    """

    code: RepositoryCode
    message: str
    hint: str
    details: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class MainObservation:
    """The commit that the remote's main names, as fetched from the remote just now.

    `ref` is the name on the remote (`refs/heads/main`), `url` is free of credentials.
    `previous_main_sha` is what the last observation saw, None at the first. `rewritten` is true
    only where the caller accepted that the new main does not contain the previous one.
    """

    remote: str
    url: str
    ref: str
    main_sha: str
    previous_main_sha: str | None
    rewritten: bool = False


class MatchedBy(StrEnum):
    """How the shipped commit was tied to what was reviewed."""

    SHA = "sha"
    PATCH_ID = "patch-id"


@dataclass(frozen=True, slots=True)
class ShipObservation:
    """A commit within the observed main that is the reviewed change (T08).

    `base_sha..head_sha` is the landed change: scope, artifact diff and negative control use it.
    `head_sha` equals `observed_commit_sha`. `landed_sha` is the commit on main's first-parent line
    that brought the change in (the merge commit, or the head itself); None where it lies deeper
    than the search bound. `patch_id` is git's stable patch id of the change, "" for a change
    without content or, where the name alone tied it, one too large to compare.
    """

    observed_commit_sha: str
    main_sha: str
    remote: str
    url: str
    ref: str
    base_sha: str
    head_sha: str
    reviewed_head_sha: str
    matched_by: MatchedBy
    patch_id: str
    landed_sha: str | None


@dataclass(frozen=True, slots=True)
class Takeover:
    """Commits of an attempt, now in the host repository under a ref that clean-up keeps.

    `commits` are those that the observed main lacks, oldest first, bounded; `commits_truncated`
    says that older ones were left out. Empty commits mean that the head brings nothing new. `tree`
    is the tree of the head, which a review binds to. `main_sha` is the observed main that the base
    was computed against.
    """

    attempt_id: str
    head_sha: str
    base_sha: str
    main_sha: str
    commits: tuple[str, ...]
    commits_truncated: bool
    ref: str
    tree: str


@dataclass(frozen=True, slots=True)
class ArtifactDiff:
    r"""Which paths `base_sha..head_sha` changed, against a declared scope and expected artifacts.

    Paths are text for reading: bytes that are not UTF-8 appear as `\xNN`. Matching was done on
    the exact bytes. Lists are bounded; the counts are exact and `truncated` says whether a list
    was cut. A deleted path is a change, and is no delivered artifact.
    """

    base_sha: str
    head_sha: str
    changed: tuple[str, ...]
    changed_count: int
    out_of_scope: tuple[str, ...]
    out_of_scope_count: int
    missing_artifacts: tuple[str, ...]
    truncated: bool


class Way(StrEnum):
    """How an approved head got onto main; ``THERE`` where it was within it already."""

    MERGE = "merge"
    REBASE = "rebase"
    FAST_FORWARD = "fast-forward"
    THERE = "there"


@dataclass(frozen=True, slots=True)
class Brought:
    """What was made of an approved head on an observed main; nothing of it was pushed.

    `commit` is what would land, kept under `ref` of the host. `ships` is the commit whose arrival on
    main ships the work: `commit` itself, where its change is the reviewed one verbatim, else the
    reviewed head, which a merge contains.
    """

    way: Way
    head_sha: str
    main_sha: str
    commit: str
    tree: str
    ships: str
    ref: str


@dataclass(frozen=True, slots=True)
class Clash:
    """An approved head that cannot be brought onto an observed main without a person.

    `commit` is the one that does not fit, `base` what it started from. `paths` are for reading, and
    bounded; `path_count` is exact.
    """

    head_sha: str
    main_sha: str
    base_sha: str
    commit: str
    paths: tuple[str, ...]
    path_count: int


class ObjectSharing(StrEnum):
    """Where a clone's objects live.

    `OWN`: the clone holds a copy of main's history and nothing of the host's is reachable from it.
    `BORROWED`: the clone reads the host's object store through an alternates file; small, but
    whoever works in the clone can read every object of the host. Hard links are not offered: they
    share the file itself, so that a guest who writes to its clone writes to the host.
    """

    OWN = "own"
    BORROWED = "borrowed"


@dataclass(frozen=True, slots=True)
class CloneMade:
    """An attempt's clone, on its own branch at the observed main.

    `origin_url` is the remote's URL without credentials; `base_ref` in the host repository keeps
    the base alive while the attempt runs.
    """

    path: str
    branch: str
    base_sha: str
    origin_url: str
    base_ref: str
    sharing: ObjectSharing


@dataclass(frozen=True, slots=True)
class CheckoutMade:
    """A directory that holds exactly one commit, detached, without remote, hooks or filters."""

    path: str
    sha: str
    tree: str


def is_full_sha(text: str) -> bool:
    """Say whether `text` is a full object name: 40 or 64 lower-case hexadecimal digits."""
    return _FULL_SHA.match(text) is not None


def is_branch_name(text: str) -> bool:
    """Say whether `text` is a branch or remote name that this program accepts.

    Stricter than git: ASCII letters, digits and `_.+@-`, parts joined by `/`, no part that starts
    with a dot or a dash, no `..`, no `@{`, no `.lock` at the end of a part, at most
    `NAME_LIMIT_CHARS`. What git would read as an option or a revision is thereby refused.
    """
    if len(text) > NAME_LIMIT_CHARS or text in ("HEAD", "@") or ".." in text:
        return False
    parts = text.split("/")
    return _BRANCH.match(text) is not None and not any(
        part.endswith((".lock", ".")) for part in parts
    )


def is_attempt_id(text: str) -> bool:
    """Say whether `text` can name an attempt: 1 to 128 visible ASCII characters, no blank."""
    return 1 <= len(text) <= 128 and all("!" <= char <= "~" for char in text)


def attempt_ref(attempt_id: str, leaf: str) -> str:
    """Return the ref under which the host keeps `leaf` ("head", "base") of an attempt.

    Ids that are plain ref parts stay readable; any other character becomes `%XX`, so that two ids
    never share a ref.
    """
    part = attempt_id
    if "/" in part or "@" in part or not is_branch_name(part):
        part = "".join(
            char if char.isalnum() or char in "_-" else f"%{ord(char):02X}" for char in part
        )
    return f"refs/remit/attempts/{part}/{leaf}"


def redact_url(url: str) -> str:
    """Return `url` without user information, query and fragment that could hold a secret.

    Over HTTP every user part goes, since a bare user is often a token; elsewhere the password
    goes and the user stays, since `ssh://git@host` needs it. A path or `git@host:path` is returned
    as it is.
    """
    match = _URL.match(url)
    if match is None:
        return url
    scheme, rest = match["scheme"], match["rest"]
    if scheme == "file":
        return url
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if at and not scheme.lower().startswith(("http", "ftp")):
        user = user.partition(":")[0]
        authority = f"{user}@{host}" if user else host
    else:
        authority = host
    path = re.split(r"[?#]", path, maxsplit=1)[0]
    return f"{scheme}://{authority}{slash}{path}"


def redact_text(text: str) -> str:
    """Return `text` with every URL in it put through `redact_url`."""
    return _URL_IN_TEXT.sub(lambda found: redact_url(found[0]), text)
