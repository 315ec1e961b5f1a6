"""The stage of the drain's benchmark: a repository with its remote, a ledger with items, scripted agents.

One item is one file that a check of ten milliseconds looks at. The ledger is a scratch one and is told
that parity was proved, which says nothing about this version: only speed is measured here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.bench.rounds import DoesNotAddUp
from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Refused
from remit.core.rows import RowKind, RowSpec
from remit.core.run_decisions import MINUTE_MS, run_proposal, run_scope
from remit.core.run_facts import RunBounds
from remit.drain.version import code_digest
from remit.machine.git import Git
from remit.ports.agent import Agent, Speaks
from remit.service.running import record_proof
from remit.wiring import Ledger, create_ledger, url_of

HUMAN: Final = "alice"
WORKER: Final = "bot"
REVIEWER: Final = "judge"
MINUTES: Final = 120
IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.org",
    "GIT_COMMITTER_NAME": "bench", "GIT_COMMITTER_EMAIL": "bench@example.org",
}  # fmt: skip


_WORK: Final = """set -e
test -s "$REMIT_BRIEF"
echo '{"text": "at work"}' >> "$REMIT_PROGRESS"
file="file-${REMIT_ITEM#W-}.txt"
echo hello > "$file"
git add "$file"
git -c user.name=bench -c user.email=bench@example.org -c commit.gpgsign=false commit -q --no-verify -m "Add $file"
"""
_REVIEW: Final = """set -e
grep -q "^# Review $REMIT_ITEM" "$REMIT_BRIEF"
cd "$REMIT_CHANGE"
grep -qx hello "file-${REMIT_ITEM#W-}.txt"
"""
_REPORT: Final = """printf '{"schema": "remit.agent-report.v1", "outcome": "done", "head": "%s", "summary": "a file"}' \\
    "$(git rev-parse HEAD)" > "$REMIT_REPORT"
"""
"""The agents: scripts that speak the file protocol. What an interpreter of theirs costs is not remit's."""


def check(number: int) -> tuple[str, ...]:
    """The registered check of an item, which takes ten milliseconds."""
    return ("sh", "-c", f"sleep 0.01; grep -qx hello file-{number}.txt")


@dataclass(frozen=True, slots=True)
class Stage:
    """What both contestants begin from."""

    folder: Path
    ledger: Ledger
    items: int
    agents: int

    @property
    def work(self) -> Path:
        """The repository that the ledger belongs to."""
        return self.folder / "work"

    @property
    def url(self) -> str:
        """The ledger's URL."""
        return url_of(self.work / ".git" / "remit" / "ledger.db")

    @property
    def scripts(self) -> Path:
        """What the agents do."""
        return self.folder / "scripts"

    def agent(self, name: str) -> Agent:
        """A scripted agent: the one that works, or the one that reviews."""
        return Agent(name, ("sh", str(self.scripts / f"{name}.sh")), output=Speaks.TEXT)

    def bounds(self) -> RunBounds:
        """Wide enough for all items, and as parallel as there are agents."""
        return RunBounds(self.items, self.agents, MINUTES * MINUTE_MS, 0, self.items)


@contextmanager
def staged(folder: Path, items: int, agents: int) -> Iterator[Stage]:
    """Make all of it. Raises ``DoesNotAddUp`` where git cannot."""
    folder = folder.resolve()
    _repositories(folder)
    home = folder / "work" / ".git" / "remit"
    home.mkdir()
    ledger = create_ledger(url_of(home / "ledger.db"), HUMAN)
    try:
        stage = Stage(folder, ledger, items, agents)
        _scripts(stage)
        _work(stage)
        yield stage
    finally:
        ledger.close()


def _repositories(folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
    git(work, "init", "--quiet", "--initial-branch=main", ".")
    (work / "README").write_text("A scratch repository of a benchmark.\n")
    git(work, "add", "README")
    git(work, "commit", "--quiet", "--message=first")
    git(work, "remote", "add", "origin", str(folder / "origin.git"))
    git(work, "push", "--quiet", "--set-upstream", "origin", "main")


def git(cwd: Path, *arguments: str) -> str:
    """Run git, which has to succeed. Raises ``DoesNotAddUp``."""
    found = Git().run(arguments, cwd=cwd, operation="set the benchmark up", extra=IDENTITY)
    if isinstance(found, RepositoryRefusal):
        raise DoesNotAddUp(found.message)
    return found.text


def _scripts(stage: Stage) -> None:
    stage.scripts.mkdir()
    (stage.scripts / "work.sh").write_text(_WORK + _REPORT)
    (stage.scripts / "review.sh").write_text(_REVIEW + _REPORT)


def _work(stage: Stage) -> None:
    """Enrol, prove, decide, and write the items."""
    human = stage.ledger.acting(HUMAN)
    scope = run_scope(stage.bounds(), ("work",))
    options = (
        Option("allow", "Let it run"),
        Option("leave", "Do not", permits=False, against="it is to be measured"),
    )
    commands: list[c.Command] = [
        *(c.EnrolActor(name, "agent") for name in (WORKER, REVIEWER)),
        c.ProposeDecision(
            DecisionKind.ACTIVATION, "a benchmark", options, scope, run_proposal(scope),
            recommended="allow",
        ),
        c.AcceptDecision("D-1"),
        *(
            c.CreateItem(
                f"file {number}",
                rows=(RowSpec(RowKind.COMMAND, argv=check(number)),),
                scope=(f"file-{number}.txt",),
            )
            for number in range(1, stage.items + 1)
        ),
    ]  # fmt: skip
    for command in commands:
        answer = human.run(command)
        if isinstance(answer, Refused):
            raise DoesNotAddUp(answer.message)
    record_proof(human, c.RecordParityProof("bench", code_digest(), 1, 5, "PASS"))


def environment() -> dict[str, str]:
    """What a loop of git commands finds: the programs, a name for commits, no settings of a person."""
    kept = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull}
    return kept | IDENTITY | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


assert sys.executable, "the scripted agents run by this interpreter"
