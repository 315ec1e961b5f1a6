"""Sites: where attempts of a run take place on this machine, and what is looked at when they end.

A site's folder lies in the run's own, and everything of an attempt lies in it, so that one removal takes
all of it away, and nothing is removed before its commits are kept. The guest's clone is read as files and
objects only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.core import triage_records as records
from remit.core.checks import Check, Result
from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, Takeover, attempt_ref
from remit.core.refusals import Refused
from remit.drain import words
from remit.drain.workplace import Examined, Kept, Ready, Task
from remit.ports.agent import Agent
from remit.service.outside import refused_by

if TYPE_CHECKING:
    from remit.wiring.workplace import Ground

from remit.wiring.places import STARTED, Place, blocked

_MADE_SO: Final = {
    RepositoryCode.TAKEOVER_FAILED: words.UNREADABLE,
    RepositoryCode.COMMIT_ABSENT: words.UNREADABLE,
    RepositoryCode.NOT_A_COMMIT: words.UNREADABLE,
    RepositoryCode.HISTORY_UNRELATED: words.UNREADABLE,
    RepositoryCode.OUTPUT_TOO_LARGE: words.TOO_LARGE,
}
"""What the host cannot look at because of what the agent left there; all else is the host's trouble."""


class AttemptSite(Place):
    """The place of one attempt at work."""

    def left(self) -> Kept | None:
        """Save what an earlier start left here and clear it."""
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            return None
        kept = self.keep() if (self.folder / STARTED).exists() else Kept()
        if not kept.folder:
            self.clear()
            self.folder.mkdir(parents=True, exist_ok=True)
        return kept if kept != Kept() else None

    def ready(self) -> Ready:
        """Build and probe the cell of this attempt."""
        self.ground.scans.expect(self.task.attempt)
        return self.build(sealed=False)

    def clear(self) -> str:
        """Remove the clone and all that belongs to it."""
        self.ground.scans.expect_no_more(self.task.attempt)
        return super().clear()

    def keep(self) -> Kept:
        """Keep commits and changes under refs that clean-up never drops; a second look helps git."""
        kept = self._keep()
        return self._keep() if kept.folder else kept

    def _keep(self) -> Kept:
        if not (self.folder / STARTED).exists() or not self.clone.exists():
            return Kept()
        repository, attempt = self.ground.repository, self.task.attempt
        head = repository.guest_head(self.clone, self.task.branch)
        taken: Takeover | RepositoryRefusal | str = head
        if isinstance(head, str):
            taken = repository.take_over(self.clone, head, attempt)
        if not isinstance(taken, Takeover):
            why = taken.message if isinstance(taken, RepositoryRefusal) else ""
            return Kept(folder=str(self.clone), why=why[:500])
        rescue = repository.keep_changes(self.clone, taken.head_sha, attempt)
        if isinstance(rescue, RepositoryRefusal):
            return Kept(folder=str(self.clone), why=rescue.message[:500])
        new = taken.base_sha != taken.head_sha
        refs = (attempt_ref(attempt, f"taken/{taken.head_sha}"),) if new else ()
        if rescue:
            refs = (*refs, attempt_ref(attempt, f"rescue/{rescue}"))
        return Kept(taken.head_sha, taken.base_sha, new, rescue, refs)

    def examine(self, claimed: str) -> Examined:
        """Take the commits over and look at claim, tree, scope and secrets, in this order."""
        repository, attempt = self.ground.repository, self.task.attempt
        head: str | RepositoryRefusal = claimed
        if self.clone.exists():
            head = repository.guest_head(self.clone, self.task.branch)
        if isinstance(head, RepositoryRefusal) or (claimed and claimed != head):
            found = head.code.value if isinstance(head, RepositoryRefusal) else head
            check = Check("head", Result.FAIL, found, claimed)
            return Examined(code=words.HEAD_DIFFERS, checks=(check,))
        taken = repository.take_over(self.clone if self.clone.exists() else None, head, attempt)
        if isinstance(taken, RepositoryRefusal):
            return _unseen(Examined(head), taken)
        made = Examined(taken.head_sha, taken.base_sha)
        if taken.base_sha == taken.head_sha:
            return replace(made, code=words.NOTHING_COMMITTED)
        return self._tree(made)

    def _tree(self, made: Examined) -> Examined:
        left: tuple[str, ...] | RepositoryRefusal = ()
        if self.clone.exists():
            left = self.ground.repository.left_behind(self.clone, made.head)
        if isinstance(left, RepositoryRefusal):
            return _unseen(made, left)
        check = Check("clean-tree", Result.FAIL if left else Result.PASS, str(len(left)), "0")
        if left:
            record = records.dirty_tree(
                tree="clone", path=left, attempt=self.task.attempt, head=made.head
            )
            return replace(made, code=words.TREE_DIRTY, record=record, checks=(check,))
        scope, artifacts = self.task.scope, self.task.artifacts
        diff = self.ground.repository.artifact_diff(made.base, made.head, scope, artifacts)
        if isinstance(diff, RepositoryRefusal):
            return _unseen(made, diff)
        outside = diff.out_of_scope_count
        inside = Check("scope", Result.FAIL if outside else Result.PASS, str(outside), "0")
        made = replace(made, checks=(check, inside))
        if outside:
            record = records.scope_breach(
                outside=diff.out_of_scope, scope=scope, base=made.base, head=made.head
            )
            return replace(made, code=words.OUT_OF_SCOPE, record=record)
        return self._secrets(made)

    def _secrets(self, made: Examined) -> Examined:
        self.ground.scans.expect_no_more(self.task.attempt)
        scan = self.ground.scan(made.base, made.head)
        if isinstance(scan, Refused):
            return _unseen(made, scan)
        check = Check("secrets", scan.result, scan.evidence[:300], "none")
        made = replace(made, checks=(*made.checks, check))
        if scan.result is Result.FAIL:
            record = records.secret_found(
                rule=[one.rule for one in scan.findings],
                path=[one.path for one in scan.findings],
                line=[one.line for one in scan.findings],
                attempt=self.task.attempt,
                commit=made.head,
            )
            return replace(made, code=words.SECRET, record=record)
        if scan.result is Result.BLOCKED:
            record = records.probe_failed(
                probe=["secret-scan"], result=[scan.result], observed=[scan.evidence],
                attempt=self.task.attempt,
            )  # fmt: skip
            return replace(made, code=words.SCAN_BLOCKED, record=record)
        return made


def _unseen(made: Examined, refused: RepositoryRefusal | Refused) -> Examined:
    """What could not be looked at: the work's own fault where the agent made it so, else trouble."""
    found = refused.code.value
    if isinstance(refused, Refused):
        found = dict(refused.details).get("repository_code", found)
    code = next((code for made_so, code in _MADE_SO.items() if made_so.value == found), "")
    if code:
        check = Check("clone", Result.FAIL, found, "can be looked at")
        return replace(made, code=code, checks=(*made.checks, check))
    if isinstance(refused, RepositoryRefusal):
        refused = refused_by(refused)
    return replace(made, trouble=refused)


class ReviewPlace(Place):
    """Where a reviewing agent looks at a commit that it cannot change.

    It starts at an empty desk with the commit beside it: programs take settings, hooks and orders from the
    folder that they start in, and whoever made the change would be glad to give them some.
    """

    def __init__(
        self, ground: Ground, task: Task, agent: Agent, folder: Path, head: str, base: str
    ) -> None:
        super().__init__(ground, task, agent, folder)
        self.desk = folder / "desk"
        self._head = head
        self._base = base

    def ready(self) -> Ready:
        """Lay the reviewed commit out anew, and build a cell that only shows it."""
        self.clear()
        (self.folder / "desk").mkdir(parents=True)
        made = self.ground.repository.clean_checkout(self._head, self.clone, as_stored=True)
        if isinstance(made, RepositoryRefusal):
            return Ready((blocked("checkout", made.code.value, made.message),))
        return self.build(sealed=True)

    def diff(self) -> str:
        """The change as text; what cannot be shown is said instead."""
        found = self.ground.repository.change_text(self._base, self._head)
        return f"[{found.code.value}]" if isinstance(found, RepositoryRefusal) else found
