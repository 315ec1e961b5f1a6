"""From hand-in to verified: the reviewer's look, the push by plain git, observation, verification.

The reviewer is honest: it looks at the diff and runs the item's command, and approves what is green.
That is not enough, and the demo shows why. Landing is git and nothing else: a head that main did not
leave behind is pushed as it is, any other is rebased first. Only then does the ledger look at the
remote, and what it sees there ships the item, by commit id or by patch id.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from remit.core.commands import ReviewWork, Text
from remit.core.facts import Item, Work
from remit.core.rows import RowKind
from remit.core.status import Status
from remit.demo import plan
from remit.demo.agent import accepted
from remit.demo.room import DemoTrouble, Room
from remit.service.reading.items import load_items, rows
from remit.wiring import Ledger


@dataclass(frozen=True, slots=True)
class Landing:
    """Takes items from in-review to the verifier's answer, one at a time."""

    room: Room
    ledger: Ledger

    def prepare(self) -> None:
        """The reviewer's own clone of the origin."""
        args = ["clone", "--quiet", "--template=", str(self.room.origin), str(self._desk)]
        self.room.git(plan.REVIEWER, self.room.path, *args)

    def take(self, name: str) -> None:
        """Review, land, observe and verify one item that was handed in."""
        item = self._item(name)
        if item.work is None:
            raise DemoTrouble(f"{name} is {item.status} and has no work")
        if not self._review(item, item.work):
            return
        sha = self._land(item.work)
        ship = self.ledger.delivery(plan.REVIEWER, self.room.repository)
        accepted(ship.mark_shipped(name, sha), f"ship {name}")
        verify = self.ledger.delivery(plan.OWNER, self.room.repository)
        accepted(verify.verify(name), f"verify {name}")
        if self._item(name).status is Status.SHIPPED:
            self._score(name, sha)

    @property
    def _desk(self) -> Path:
        return self.room.clone("reviewer")

    def _item(self, name: str) -> Item:
        with self.ledger.reading() as tx:
            [item] = load_items(tx, [name])
        return item

    def _review(self, item: Item, work: Work) -> bool:
        """Look at the diff, run the commands at the head, and say yes or no with the reason."""
        git, desk = self.room.git, self._desk
        kept = "+refs/remit/attempts/*:refs/attempts/*"
        git(plan.REVIEWER, desk, "fetch", "--quiet", "--no-tags", str(self.room.repository), kept)
        git(plan.REVIEWER, desk, "checkout", "--quiet", "--force", "--detach", work.head)
        stat = git(plan.REVIEWER, desk, "diff", "--shortstat", work.base, work.head)
        with self.ledger.reading() as tx:
            registered = rows(tx, item)
        red = [
            " ".join(row["argv"])
            for row in registered
            if row["kind"] == RowKind.COMMAND
            and self.room.check(row["argv"], desk).returncode != row["expected_exit"]
        ]
        git(plan.REVIEWER, desk, "clean", "--quiet", "--force", "-d", "-x")
        said = f"{stat}; " + (f"red: {', '.join(red)}" if red else "its check exits as it should")
        review = ReviewWork(item.id, not red, Text(said), work.head)
        accepted(self.ledger.acting(plan.REVIEWER).review(review), f"review {item.id}")
        return not red

    def _land(self, work: Work) -> str:
        """Push the head as it is, or rebased onto main; returns the commit that landed."""
        git, desk = self.room.git, self._desk
        git(plan.REVIEWER, desk, "fetch", "--quiet", "origin", "main")
        ahead = ["merge-base", "--is-ancestor", "origin/main", work.head]
        if self.room.git_try(plan.REVIEWER, desk, *ahead).returncode:
            git(plan.REVIEWER, desk, "rebase", "--quiet", "origin/main")
        sha = git(plan.REVIEWER, desk, "rev-parse", "HEAD")
        git(plan.REVIEWER, desk, "push", "--quiet", "origin", f"{sha}:refs/heads/main")
        return sha

    def _score(self, name: str, sha: str) -> None:
        """Try what shipped as a person would, and score the rows that only a person can judge."""
        git, desk = self.room.git, self.room.clone("owner")
        if not desk.exists():
            clone = ["clone", "--quiet", "--template=", str(self.room.origin), str(desk)]
            git(plan.OWNER, self.room.path, *clone)
        git(plan.OWNER, desk, "fetch", "--quiet", "origin", "main")
        git(plan.OWNER, desk, "checkout", "--quiet", "--force", "--detach", sha)
        tried = self.room.check((plan.PYTHON, "-m", "units", "-40", "km", "m"), desk)
        said = (tried.stdout or tried.stderr).strip()
        with self.ledger.reading() as tx:
            registered = rows(tx, self._item(name))
        owner = self.ledger.delivery(plan.OWNER, self.room.repository)
        for row in registered:
            if row["kind"] == RowKind.RUBRIC:
                reason = f"tried 'units -40 km m' and got {said!r}"
                answer = owner.score(name, row["id"], passed=said == "-40000 m", reason=reason)
                accepted(answer, f"score {row['id']} of {name}")
