"""Finding: which ledger, repository and configuration a command means, from where it was called.

The order is: what was named, ``REMIT_LEDGER``, the ledger that a clone of an attempt notes, the
repository's own ledger in its git common directory, the nearest ``.remit/ledger.db`` upwards. It
reads the few small files by which git marks a repository and starts no process, because every cold
read passes through here. It never makes or changes anything.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import stop

IN_GIT: Final = "remit/ledger.db"
"""Where a repository's own ledger lies, within its git common directory."""

IN_FOLDER: Final = ".remit/ledger.db"
"""Where a ledger outside any repository lies."""

LONGEST_NOTE: Final = 65_536
"""Most bytes that are read of what a clone says of itself."""

ATTEMPT_NOTE: Final = "remit/attempt.json"
"""What a clone of an attempt notes of the ledger that it belongs to, within its git directory."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command stands: the work tree's top and the git common directory, if any."""

    cwd: Path
    top: Path | None
    common: Path | None
    git_dir: Path | None = None


def place(cwd: Path | None = None) -> Place:
    """The repository that a folder lies in, by the marks that git leaves."""
    here = cwd or working_directory()
    for folder in (here, *here.parents):
        mark = folder / ".git"
        if mark.is_dir():
            return Place(here, folder, _common(mark), mark)
        if mark.is_file():
            target = _pointed(mark)
            if target is not None:
                return Place(here, folder, _common(target), target)
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return Place(here, None, _common(folder), folder)
    return Place(here, None, None)


def working_directory() -> Path:
    """The current folder. Raises ``BAD_INPUT`` where it is gone."""
    try:
        return Path.cwd()
    except OSError as error:
        raise stop(
            Code.BAD_INPUT,
            f"cannot tell where this is: {error.strerror}",
            "change to a folder that exists",
        ) from error


def _pointed(mark: Path) -> Path | None:
    """The git directory that a ``.git`` file points to."""
    text = _text(mark)
    if not text.startswith("gitdir:"):
        return None
    return (mark.parent / text.removeprefix("gitdir:").strip()).resolve()


def _common(git_dir: Path) -> Path:
    text = _text(git_dir / "commondir").strip()
    return (git_dir / text).resolve() if text else git_dir


def _text(path: Path) -> str:
    try:
        if not path.is_file():  # a clone is somebody else's: no pipe that never ends
            return ""
        with path.open("rb") as file:
            return file.read(4096).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def attempt_note(at: Place) -> dict[str, Any]:
    """What the clone of an attempt knows of its ledger; empty elsewhere."""
    if at.common is None:
        return {}
    note = at.common / ATTEMPT_NOTE
    if not note.is_file():
        return {}
    import msgspec

    try:
        with note.open("rb") as file:
            text = file.read(LONGEST_NOTE)
        found: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return found


def existing(at: Place) -> str:
    """The URL of the ledger that belongs here, or empty where there is none."""
    from remit.wiring import url_of

    note = attempt_note(at)
    if isinstance(note.get("ledger"), str):
        return str(note["ledger"])
    if at.common is not None and (at.common / IN_GIT).exists():
        return url_of(at.common / IN_GIT)
    for folder in (at.cwd, *at.cwd.parents):
        if (folder / IN_FOLDER).exists():
            return url_of(folder / IN_FOLDER)
    return ""


def ledger_url(named: str) -> str:
    """The URL of the ledger that is meant. Raises ``LEDGER_MISSING`` where there is none."""
    chosen = named or os.environ.get("REMIT_LEDGER", "")
    if chosen:
        return chosen
    at = place()
    found = existing(at)
    if found:
        return found
    where = at.common / IN_GIT if at.common is not None else at.cwd / IN_FOLDER
    raise stop(
        Code.LEDGER_MISSING,
        f"cannot find a ledger: looked for {where} and for {IN_FOLDER} in {at.cwd} and upwards",
        "make one with 'remit init', or name one with --ledger sqlite:///path",
        looked_for=str(where),
    )


def new_ledger(at: Place) -> Path:
    """Where ``remit init`` puts a ledger: in the git common directory, elsewhere in ``.remit``."""
    return at.common / IN_GIT if at.common is not None else at.cwd / IN_FOLDER


def repository(url: str, named: Path | None = None) -> Path:
    """The repository whose remote is observed: the ledger's own, else named, noted, or this one.

    A ledger within a repository belongs to it: what a worker's clone notes, or a caller names, does
    not choose the remote on which work is seen to ship. Raises ``BAD_INPUT`` for another one.
    """
    from remit.wiring import on_server, path_of

    if not on_server(url):
        path = path_of(url)
        if path.as_posix().endswith(f"/{IN_GIT}"):
            return _owned(path.parent.parent, named)
    if named is not None:
        return named
    at = place()
    noted = attempt_note(at).get("repository")
    return Path(noted) if isinstance(noted, str) else at.top or at.cwd


def _owned(common: Path, named: Path | None) -> Path:
    """The repository that a ledger in its git folder belongs to."""
    own = common.parent if common.name == ".git" else common
    if named is None or _same(place(named.absolute()).common, common):
        return named or own
    raise stop(
        Code.BAD_INPUT,
        f"cannot look at {named}: this ledger belongs to the repository {own}",
        "leave --repository out, or name a work tree of that repository",
        path=str(named),
    )


def _same(one: Path | None, other: Path) -> bool:
    return one is not None and one.resolve() == other.resolve()


def head_of(folder: Path) -> str:
    """The commit that is checked out in a folder, read from git's own files; no hook can run.

    Raises ``BAD_INPUT`` where it cannot be told.
    """
    at = place(folder.absolute())
    if at.git_dir is not None and at.common is not None:
        head = _text(at.git_dir / "HEAD").strip()
        if head.startswith("ref:"):
            head = _ref(at, head.removeprefix("ref:").strip())
        if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head):
            return head
    raise stop(
        Code.BAD_INPUT,
        f"cannot tell which commit {folder} is at",
        "name the commit with --head, in full, or the clone with --clone",
        path=str(folder),
    )


def _ref(at: Place, name: str) -> str:
    assert at.git_dir is not None
    assert at.common is not None
    for folder in (at.git_dir, at.common):
        found = _text(folder / name).strip() if ".." not in name else ""
        if found:
            return found
    try:
        packed = (at.common / "packed-refs").read_text("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.partition(" ") for line in packed.splitlines())
    return next((sha for sha, _, ref in lines if ref == name), "")


def noted_clone(folder: Path, item: str, fence: int) -> dict[str, Any] | None:
    """The clone that was made in a folder for this very lease before, if it was."""
    note = attempt_note(place(folder.absolute()))
    if note.get("item") != item or note.get("fence") != fence:
        return None
    return {
        "path": os.path.normpath(folder.absolute()),
        "branch": note.get("branch"),
        "base": note.get("base"),
    }


def note_attempt(clone: Path, note: dict[str, Any]) -> None:
    """Let the clone of an attempt know its ledger, so that reports from within it need no options."""
    import msgspec

    folder = clone / ".git" / "remit"
    folder.mkdir(exist_ok=True)
    (folder / "attempt.json").write_bytes(msgspec.json.encode(note) + b"\n")
