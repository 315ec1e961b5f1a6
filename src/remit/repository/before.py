"""What main was before a change landed on it.

The base of a change is where it left main. While the change is only on its branch, the main that is
observed now answers that. People push first and report afterwards, though, and then main holds the
change already. The answer then lies in what was seen earlier: where the attempt's clone began, what
this program observed, and what the person's own git noted at each fetch, pull and push. All of it
is read from the host; the worker's clone is not asked.
"""

from __future__ import annotations

from typing import Final

from remit.core.gitfacts import RepositoryRefusal
from remit.repository.host import Host
from remit.repository.observing import Upstream

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
        args = ["log", "--walk-reflogs", "--format=%H", f"--max-count={_LATEST}", ref, "--"]
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
