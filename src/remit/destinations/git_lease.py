"""A branch of a git remote as a destination that is told nothing of remit: the lease on it alone.

For remotes that refuse markers, refs of remit's own or atomic pushes. A push is one
``--force-with-lease`` against the commit that the branch must name. So the same commit cannot land
twice while the branch only goes forward, and a push that was overtaken is refused, however late it
comes. But nothing keeps a push out while the branch has not moved, and the branch does not say which
effect moved it: neither a key nor a fence is declared, which every intent records as a narrowed claim.

Whether a commit is there is asked of the branch itself. The look-up names the commit by its manifest
id, as the request did.
"""

from __future__ import annotations

from dataclasses import replace

from remit.destinations.expiry import refuse_ended
from remit.destinations.git_push import (
    Bounded,
    GitDestination,
    GitError,
    asked_for,
    follows,
    pushed,
)
from remit.ports.destination import (
    Enforced,
    LookUp,
    NotSent,
    Request,
    Response,
    Result,
    Seen,
    unavailable,
)


class GitLease(GitDestination):
    """``ref`` of ``remote`` without markers; ``manifest_id`` names the commit that is pushed."""

    __slots__ = ()

    @property
    def enforced(self) -> Enforced:
        """The look-up alone; consistency and bounds as declared."""
        return replace(
            self.declared,
            idempotency_key=False,
            key_retention_ms=None,
            fence=False,
            lookup=True,
            request_expiry=False,
            compensation="",
        )

    def send(self, request: Request) -> Response:
        """Push the commit, once."""
        what = f"push {request.effect_id} to {self.name}"
        refuse_ended(request, self.now(), self.name)
        commit, expected = asked_for(request, what)
        git = Bounded(self, request.timeout_ms)
        try:
            follows(git, commit, expected)
        except GitError as error:
            raise NotSent(f"cannot {what}: {error}", "see the repository") from None
        lease = f"--force-with-lease={self.ref}:{expected}"
        pushed(git, what, self.remote, [lease], [f"{commit}:{self.ref}"], atomic=False)
        return Response(commit, replayed=False)

    def look_up(self, look_up: LookUp) -> Seen:
        """See whether the branch contains the commit."""
        commit = look_up.manifest_id
        git = Bounded(self, look_up.timeout_ms)
        try:
            told = git.run("ls-remote", "--refs", "--", self.remote, self.ref, network=True).text
            refs = {
                ref: oid for oid, _, ref in (line.partition("\t") for line in told.splitlines())
            }
            now = refs.get(self.ref, "")
            if not now:
                return unavailable(f"{self.remote} has no {self.ref}")
            shown = (("ref_now", now),)
            consistent = self.declared.lookup_consistent
            if not self.contains(git, commit, now):
                return Seen(Result.NONE, 0, shown, consistent=consistent)
            values = (("commit", commit), ("manifest_id", commit), *shown)
            return Seen(Result.FOUND, 1, values, consistent=consistent)
        except GitError as error:
            return unavailable(f"cannot look {look_up.effect_id} up in {self.name}: {error}")
