"""What lies before a change: the main that it landed on, and what was not committed to it.

The base of a change is where it left main. While the change is only on its branch, the main that is
observed now answers that. People push first and report afterwards, though, and then main holds the
change already. The answer then lies in what was seen earlier: where the attempt's clone began, what
this program observed, and what the person's own git noted at each fetch, pull and push. All of it
is read from the host; the worker's clone is not asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remit.core.gitfacts import RepositoryRefusal
from remit.machine.git import Git, Trust
from remit.repository.host import Host
from remit.repository.remotes import Upstream

_LATEST: Final = 200
"""As many notes of each kind are looked at."""


def main_before(
    host: Host, upstream: Upstream, head: str, attempt_base: str
) -> str | RepositoryRefusal | None:
    """Return the last main known before `head` landed on it, None where none is known.

    People push before they report. What main was before lies in three places: where the attempt's
    clone began, what this program observed, and what the person's own git saw with each fetch, pull
    and push. Of those within `head` the nearest one counts.
    """
    operation = "find the main before"
    known: list[str] = []
    start = host.read_ref(attempt_base, operation)
    if isinstance(start, RepositoryRefusal):
        return start
    known += [start] if start else []
    for ref in (upstream.observed_ref, f"refs/remotes/{upstream.remote}/{upstream.main}"):
        args = ["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"]
        there = host.run(args, operation, answers=(0, 1))
        if isinstance(there, RepositoryRefusal):
            return there
        if there.exit_code:
            continue
        # Not `log`, which settings may have print more than names.
        args = ["rev-list", "--walk-reflogs", f"--max-count={_LATEST}", ref, "--"]
        past = host.run(args, operation)
        if isinstance(past, RepositoryRefusal):
            return past
        known += past.text.split()
    known = [sha for sha in dict.fromkeys(known) if sha != head]
    nearest: tuple[int, str] | None = None
    for sha in known:
        inside = host.is_ancestor(sha, head, operation)
        if isinstance(inside, RepositoryRefusal):
            return inside
        if not inside:
            continue
        count = host.run(["rev-list", "--count", head, f"^{sha}"], operation)
        if isinstance(count, RepositoryRefusal):
            return count
        nearest = min(nearest or (int(count.text), sha), (int(count.text), sha))
    return nearest[1] if nearest else None


def uncommitted(folder: Path) -> list[str] | RepositoryRefusal:
    """Tracked paths of a work tree that differ from its HEAD; untracked ones do not count.

    The folder's own configuration plays a part, so that what git shows there is what counts.
    """
    args = ["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules"]
    done = Git().run(args, cwd=folder, operation="look for changes", trust=Trust.PERSON)
    if isinstance(done, RepositoryRefusal):
        return done
    entries = iter(done.text.split("\0"))
    found: list[str] = []
    for entry in entries:
        if entry:
            found.append(entry[3:])
        if entry[:1] in ("R", "C"):
            next(entries, "")
    return found
