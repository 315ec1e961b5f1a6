"""A yard for drains: a repository with its remote, a ledger with work, a decision, and scripted agents.

Everything in it is real: git, the store, the sandbox, the agent's process. What the agents do stands in
two scripts, one for who works and one for who reviews.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.surfaces.cli.calling import SRC, Cli, environment, git

import remit
from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.run_decisions import MINUTE_MS, run_proposal, run_scope
from remit.core.run_facts import RunBounds
from remit.drain.version import code_digest
from remit.service.running import record_proof
from remit.wiring import Ledger, url_of
from remit.wiring.workplace import POINT

WIDE = RunBounds(1_000, 16, 600 * MINUTE_MS, 1_000_000, 100)
REVIEWER = """\
agent: judge
about: Approves what the script says.
command: ["{python}", -m, remit.drain.scripted, %s]
environment: [PYTHONPATH]
"""


def good(number: int) -> list[dict[str, Any]]:
    """What an agent does that does its work."""
    return [
        {"do": "progress", "text": "on it"},
        {"do": "commit", "path": f"greeting-{number}.txt", "text": "hello\n"},
        {"do": "report"},
    ]


@dataclass
class Yard:
    """One repository with its ledger."""

    cli: Cli
    folder: Path
    url: str = ""

    @classmethod
    def make(cls, folder: Path, items: int = 1, url: str = "") -> Yard:
        """Everything from nothing to the first item that is ready.

        With a ``url`` the ledger is that one; ``REMIT_LEDGER`` must name it.
        """
        git(folder, "init", "-q", "--bare", "-b", "main", "origin.git")
        git(folder, "clone", "-q", "origin.git", "work")
        work = folder / "work"
        git(work, "checkout", "-q", "-b", "main")
        (work / "README").write_text("A yard.\n")
        git(work, "add", "README")
        git(work, "commit", "-q", "-m", "first")
        git(work, "push", "-q", "origin", "main")
        cli = Cli(work)
        cli.json("init")
        for name in ("bot", "judge"):
            cli.json("actor", "add", name, "--kind", "agent")
        yard = cls(cli, folder, url)
        yard.scripts.mkdir()
        yard.script({})
        yard.review([{"do": "report"}])
        agents = work / ".remit" / "agents"
        agents.mkdir(parents=True)
        (agents / "judge.yaml").write_text(REVIEWER % (yard.scripts / "review.json"))
        with closing(yard.ledger()) as ledger:
            proof = c.RecordParityProof("1", code_digest(), 1, 5, "PASS")
            assert not isinstance(record_proof(ledger.acting("ann"), proof), c.Command)
        for number in range(1, items + 1):
            yard.item(number)
        yard.decide()
        return yard

    @property
    def scripts(self) -> Path:
        return self.folder / "scripts"

    def ledger(self) -> Ledger:
        """The ledger, to be closed by the caller."""
        return remit.open(self.url or url_of(self.cli.cwd / ".git/remit/ledger.db"))

    def script(self, items: dict[str, Any], default: list[dict[str, Any]] | None = None) -> None:
        """What the worker does."""
        said = {"items": items, "default": default or []}
        (self.scripts / "script.json").write_text(json.dumps(said))

    def review(self, steps: list[dict[str, Any]]) -> None:
        """What the reviewer does with anything."""
        (self.scripts / "review.json").write_text(json.dumps({"default": steps}))

    def item(self, number: int, *more: str) -> str:
        """One item that a file answers."""
        made = self.cli.json(
            "create", f"Say hello {number}", "--verify", f"grep -qx hello greeting-{number}.txt",
            "--scope", f"greeting-{number}.txt", *more,
        )  # fmt: skip
        return str(made["item"]["id"])

    def decide(self, bounds: RunBounds = WIDE, scope: tuple[str, ...] = ()) -> str:
        """A decision that allows runs of the scripted agent."""
        scope = scope or run_scope(bounds, ("scripted",), each=True)
        options = (
            Option("allow", "Let it run"),
            Option("leave", "Do not", permits=False, against="there is work"),
        )
        proposed = c.ProposeDecision(
            DecisionKind.ACTIVATION, "a drain", options, scope, run_proposal(scope),
            recommended="allow",
        )  # fmt: skip
        with closing(self.ledger()) as ledger:
            acting = ledger.acting("ann")
            name = str(acting.run(proposed).events[0].entity)  # type: ignore[union-attr]  # accepted
            acting.run(c.AcceptDecision(name))
        return name

    def arguments(self, *more: str) -> list[str]:
        """A drain of the scripted agent with review and integration."""
        return [
            "drain", "--agent", "scripted", "--actor", "bot", "--reviewer", "judge",
            "--integrate", "merge", "--decision", "D-1", "--show", str(self.scripts),
            "--max-items", "10", "--max-failures", "10", *more,
        ]  # fmt: skip

    def environment(self, **more: str) -> dict[str, str]:
        """What a drain's process finds."""
        where = {"REMIT_LEDGER": self.url} if self.url else {}
        return environment(REMIT_SCRIPT=str(self.scripts / "script.json"), **where, **more)

    def start(self, *argv: str, **more: str) -> subprocess.Popen[bytes]:
        """A real process of the command line."""
        return subprocess.Popen(
            [sys.executable, "-m", "remit", *argv, "--as", "ann"],
            cwd=self.cli.cwd,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def call(self, *argv: str, status: int = 0, **more: str) -> list[Any]:
        """A call to its end, with ``--json``: every object that it printed."""
        process = self.start(*argv, "--json", **more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == status, (process.returncode, out[-3000:], err[-3000:])
        return [json.loads(line) for line in out.splitlines()]

    def dies(self, point: str, *argv: str) -> bool:
        """Whether a drain came to the point at which it kills itself; else it came to its end."""
        process = self.start(*argv, "--json", **{POINT: point})
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), (out[-3000:], err[-3000:])
        return process.returncode != 0

    def show(self, item: str) -> Any:
        """An item as the ledger has it."""
        return self.cli.json("show", item)

    def runs_folder(self) -> Path:
        """Where runs have their folders."""
        if self.url:
            return Path(os.environ["XDG_STATE_HOME"]) / "remit/runs"
        return self.cli.cwd / ".git/remit/runs"

    def left(self) -> list[str]:
        """What lies in the folders of runs: clones, records, whatever should be gone."""
        here = self.runs_folder()
        walked = [(folder, [*below, *names]) for folder, below, names in os.walk(here)]
        return sorted(os.path.relpath(f"{top}/{n}", here) for top, names in walked for n in names)


def strays(mark: str) -> list[str]:
    """Processes of this machine whose arguments or folder hold this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            said = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in said:
            found.append(f"{entry.name}: {said}")
    return found


assert SRC.exists()
