"""The page from a goal to verified delivery is true: it is typed as it stands, with a real key."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.ground.people import Key, typing
from tests.surfaces.cli.calling import environment, git

import remit
from remit.core.authority_events import ActSigned
from remit.core.decision_events import DecisionConsumed
from remit.core.plan_events import PlanClosed
from remit.service.reading.items import show
from remit.surfaces.cli.session import user_name
from remit.wiring import Ledger, url_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "from-goal-to-verified-delivery.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)


def project(folder: Path) -> Path:
    """A repository with an origin, as the page wants one."""
    git(folder, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(folder, "clone", "-q", "origin.git", "project")
    found = folder / "project"
    git(found, "checkout", "-q", "-b", "main")
    (found / "README").write_text("numbers\n")
    git(found, "add", ".")
    git(found, "commit", "-q", "-m", "first")
    git(found, "push", "-q", "-u", "origin", "main")
    return found


def typed(folder: Path, blocks: list[str]) -> subprocess.CompletedProcess[str]:
    """Everything in one shell, by somebody who types a passphrase when asked."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    programs = folder / "bin"
    programs.mkdir()
    command = programs / "remit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m remit "$@"\n')
    command.chmod(0o755)
    env = environment()  # whoever runs the tests, as a reader is whoever reads
    env |= typing(Key(home / "key", "correct horse")) | {"HOME": str(home)}
    env["PATH"] = f"{programs}:{Path(sys.executable).parent}:{env['PATH']}"
    script = "set -eu\n" + "\n".join(blocks)
    return subprocess.run(
        ["sh", "-c", script],
        cwd=project(folder),
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
    )


def events(ledger: Ledger, kind: type) -> list[Any]:
    return [e.recorded for e in ledger.events() if isinstance(e.recorded.event, kind)]


@pytest.mark.timeout(600)
def test_the_page_runs_as_it_is_written(tmp_path: Path) -> None:
    done = typed(tmp_path, BLOCKS)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for said in (
        "not yet",
        "a human has to decide",
        "refused, and nothing was written",
        "no agent accepts for a human",
        "is verified",
    ):
        assert said in done.stdout, said
    ledger = remit.open(url_of(tmp_path / "project" / ".git" / "remit" / "ledger.db"))
    [consumed] = events(ledger, DecisionConsumed)
    [closed] = events(ledger, PlanClosed)
    assert (consumed.entity, consumed.event.revision) == ("D-1", "P-1@1")
    assert closed.event.decisions == ("D-1",)
    signed = {act.event.act: act.actor for act in events(ledger, ActSigned)}
    assert signed["DecisionAccepted"] == signed["ReviewApproved"] == user_name()
    with ledger.reading() as tx:
        item = show(tx, "W-1")
    ledger.close()
    assert isinstance(item, dict)
    assert item["status"] == "verified"
    assert item["plan"]["governed"]["plan_revision"] == "P-1@1"


@pytest.mark.timeout(600)
def test_the_check_can_fail(tmp_path: Path) -> None:
    """Without the human's word there is no plan, and the page would be found wrong."""
    blocks = [block.replace("remit decision accept D-1", "true") for block in BLOCKS]
    done = typed(tmp_path, blocks)
    assert done.returncode != 0
    assert "PLAN_INADMISSIBLE" in done.stderr or "DECISION" in done.stderr, done.stderr
    assert "is verified" not in done.stdout
