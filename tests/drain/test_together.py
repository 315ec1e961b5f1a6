"""The pieces together on a real ledger and repository: lease, brief, agent, renewal, hand-in, switch."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.drain.ground import BOUND_S
from tests.surfaces.cli.calling import IDENTITY, Cli, git

import remit
from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.drain.agents.exchange import Exchange
from remit.drain.agents.outcomes import Came, charge
from remit.drain.agents.running import Run, run
from remit.drain.agents.starting import Job
from remit.drain.leftovers import records
from remit.drain.limits import Limits
from remit.drain.renewal import Renewal, boot_s
from remit.service.reading.registers import policy
from remit.wiring import Ledger, url_of
from remit.wiring.agents import Files, builtin

SOURCE = Path(__file__).parents[2] / "src"
[SCRIPTED] = [one.agent for one in builtin() if one.agent.name == "scripted"]
TTL_MS = 6_000
"""Long enough for a busy machine to clone, to write a brief and to start an agent within."""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "work")
    work = tmp_path / "work"
    git(work, "checkout", "-q", "-b", "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "first")
    git(work, "push", "-q", "origin", "main")
    cli = Cli(work)
    cli.json("init")
    cli.json("actor", "add", "bot", "--kind", "agent")
    return cli


@pytest.fixture
def ledger(repo: Cli) -> Iterator[Ledger]:
    opened = remit.open(url_of(repo.cwd / ".git/remit/ledger.db"))
    yield opened
    opened.close()


class Attempt:
    """An agent at work under a lease that is kept alive."""

    def __init__(self, repo: Cli, ledger: Ledger, *steps: dict[str, Any]) -> None:
        created = repo.json(
            "create", "Say hello", "--verify", "grep -qx hello greeting.txt",
            "--scope", "greeting.txt",
        )  # fmt: skip
        self.item = created["item"]["id"]
        self.ledger = ledger
        self.asked_s = boot_s()
        clone = repo.cwd.parent / f"clone-{self.item}"
        leased = repo.json(
            "lease", self.item, "--clone", str(clone), "--ttl", f"{TTL_MS}ms", actor="bot"
        )["lease"]
        self.fence = leased["fence"]
        here = repo.cwd.parent / f"run-{self.item}"
        here.mkdir()
        (here / "script.json").write_text(json.dumps({"items": {self.item: steps}}))
        extra = (("REMIT_SCRIPT", str(here / "script.json")), ("PYTHONPATH", str(SOURCE)),
                 ("PATH", os.environ["PATH"]))  # fmt: skip
        job = Job(self.item, leased["id"].replace("L-", "A-"), clone, Exchange(here / "exchange"),
                  ("greeting.txt",), spend_micros=700, extra=extra)  # fmt: skip
        brief = repo.json("brief", self.item)["markdown"]
        self.records = here
        self.run: Run = run(
            SCRIPTED, job, brief, Files(), limits=Limits(wall_ms=40_000), records=here
        )
        self.renewal = Renewal(
            TTL_MS, self.asked_s, renew=self.renew, killed=self.killed, stop=self.run.process.stop
        )

    def renew(self) -> int | Refused:
        command = c.RenewLease(self.item, self.fence, TTL_MS)
        answer = self.ledger.acting("bot").renew(command)
        return answer if isinstance(answer, Refused) else TTL_MS

    def killed(self) -> bool:
        with self.ledger.reading() as tx:
            return bool(policy(tx)["kill_switch"])


def test_an_item_goes_from_its_lease_to_review(repo: Cli, ledger: Ledger) -> None:
    attempt = Attempt(
        repo, ledger,
        {"do": "progress", "text": "on it"},
        {"do": "commit", "path": "greeting.txt", "text": "hello\n"},
        {"do": "sleep", "ms": 2 * TTL_MS},
        {"do": "report"},
    )  # fmt: skip
    result = attempt.run.result(60_000)
    attempt.renewal.let_go()
    assert result is not None
    assert (result.came, attempt.renewal.refused) == (Came.DONE, None)
    assert attempt.renewal.renewals >= 2, "the work took twice the time of its lease"
    clone = attempt.run.job.clone
    assert result.head == git(clone, "rev-parse", "HEAD").strip()
    spent = charge(result.spent_micros, attempt.run.job.spend_micros)
    repo.json(
        "report", "completion", attempt.item, "--fence", str(attempt.fence), "--clone", str(clone),
        "--head", result.head, "--spent", str(spent), actor="bot",
    )  # fmt: skip
    shown = repo.json("show", attempt.item)
    assert (shown["status"], spent) == ("in-review", 700)
    assert records(attempt.records) == []


def test_the_kill_switch_of_the_ledger_ends_running_work(repo: Cli, ledger: Ledger) -> None:
    attempt = Attempt(repo, ledger, {"do": "print", "text": "up\n"}, {"do": "hang", "deaf": True})
    time.sleep(1)
    engaged = time.monotonic()
    repo.json("kill-switch", "engage")
    result = attempt.run.result(60_000)
    assert time.monotonic() - engaged < BOUND_S
    assert result is not None
    assert result.came is Came.STOPPED
    refused = attempt.renewal.refused
    assert result.said == "kill-switch" or (refused and refused.code is Code.KILL_SWITCH_ON)


def test_work_whose_lease_was_taken_away_ends(repo: Cli, ledger: Ledger) -> None:
    attempt = Attempt(repo, ledger, {"do": "hang", "deaf": True})
    repo.json("release", attempt.item, "--fence", str(attempt.fence), actor="bot")
    result = attempt.run.result(60_000)
    assert result is not None
    assert (result.came, result.said) == (Came.STOPPED, "lease-refused")
    assert attempt.renewal.refused is not None
