"""The page on a first drain is true: it is typed as it stands, with a real key, sandbox and agent.

One line is not typed but done: the proof of parity, which takes minutes and has tests of its own, is
recorded as holding.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.ground.people import Key, typing
from tests.surfaces.cli.calling import environment, git

import remit
from remit.core.commands import RecordParityProof
from remit.drain.version import code_digest
from remit.service.running import record_proof
from remit.wiring import url_of
from remit.wiring.draining import no_sandbox

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "first-drain.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
PROOF = "remit prove parity --record\n"


def project(folder: Path) -> Path:
    """A repository with an origin, as the page wants one."""
    git(folder, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(folder, "clone", "-q", "origin.git", "project")
    found = folder / "project"
    git(found, "checkout", "-q", "-b", "main")
    git(found, "commit", "-q", "--allow-empty", "-m", "first")
    git(found, "push", "-q", "-u", "origin", "main")
    return found


@pytest.mark.timeout(600)
def test_the_page_can_be_typed(tmp_path: Path) -> None:
    if no_sandbox() is not None:
        pytest.skip("this machine has no sandbox")
    assert PROOF in BLOCKS
    here = project(tmp_path.resolve())
    typed(here, BLOCKS[: BLOCKS.index(PROOF)], first=True)
    with closing(remit.open(url_of(here / ".git/remit/ledger.db"))) as ledger:
        record_proof(ledger.acting("ann"), RecordParityProof("page", code_digest(), 150, 5, "PASS"))
    said = typed(here, BLOCKS[BLOCKS.index(PROOF) + 1 :])
    assert "scope-breach" in said
    env = environment(HOME=str(here.parent / "home"))
    shown = subprocess.run(
        [sys.executable, "-m", "remit", "show", "W-1", "--json"],
        cwd=here, env=env, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(shown.stdout)["data"]["status"] == "verified"


def typed(here: Path, blocks: list[str], *, first: bool = False) -> str:
    """Blocks of the page in one shell, by somebody who types a passphrase when asked."""
    home = here.parent / "home"
    if first:
        (home / ".ssh").mkdir(parents=True, mode=0o700)
    programs = here.parent / "bin"
    programs.mkdir(exist_ok=True)
    command = programs / "remit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m remit "$@"\n')
    command.chmod(0o755)
    env = environment(REMIT_SCRIPT=str(here / "../scripts/script.json"))
    if not first:
        env["REMIT_ACTOR"] = "ann"  # as the first part of the page exported it
    env |= typing(Key(home / "key", "correct horse")) | {"HOME": str(home)}
    env["XDG_CACHE_HOME"] = str(Path.home() / ".cache")  # rules that are compiled already
    env["PATH"] = f"{programs}:{Path(sys.executable).parent}:{env['PATH']}"
    done = subprocess.run(
        ["sh", "-c", "set -eu\n" + "\n".join(blocks)],
        cwd=here, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout
