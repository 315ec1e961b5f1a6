"""The pages on PostgreSQL say what is so: the move from SQLite is typed as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stores.postgres.server import Server
from tests.surfaces.cli.calling import environment, git

from remit.core.evolve import evolve
from remit.core.facts import Item
from remit.service.integrity import verify
from remit.stores.postgres.address import OURS
from remit.wiring import open_ledger

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating" / "postgresql.md").read_text("utf-8")
MOVE = (ROOT / "docs" / "operating" / "moving.md").read_text("utf-8")
SHOWN = "postgresql://ann@db.example.org/work"
"""The URL on the page, in whose place the tests have one of their own."""


def typed(script: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Type a script as whoever runs this, in a repository, with ``remit`` on the path."""
    git(tmp_path, "init", "-q", "-b", "main", "project")
    programs = tmp_path / "bin"
    programs.mkdir()
    remit = programs / "remit"
    remit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m remit "$@"\n')
    remit.chmod(0o755)
    env = environment()
    env["PATH"] = f"{programs}:{env['PATH']}"
    return subprocess.run(
        ["sh", "-c", script], cwd=tmp_path / "project", env=env, capture_output=True, text=True,
        timeout=500,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_from_sqlite_to_postgresql(postgres: Server, wiped: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", MOVE, re.M | re.S)
    assert len(blocks) == 8
    script = "set -eu\n" + "\n".join(blocks)
    assert script.count(SHOWN) == 1
    url = postgres.url(wiped)
    done = typed(script.replace(SHOWN, f"'{url}'"), tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    refusals = re.findall(r"^error\[(\w+)\]", done.stderr, re.M)
    assert refusals == ["LEDGER_NOT_ADOPTED", "STALE_FENCE"]
    assert (tmp_path / "old.txt").read_text() == (tmp_path / "new.txt").read_text()
    assert "1 leases of earlier epochs ended" in done.stdout
    seen = [int(n) for n in re.findall(r"^ +(\d+)  2\d{3}-", done.stdout, re.M)]
    assert seen == list(range(1, len(seen) + 1))
    ledger = open_ledger(url)
    report = verify(ledger.store, fold=evolve)
    with ledger.reading() as tx:
        item = tx.load([("item", "W-1")])["item", "W-1"]
    ledger.close()
    assert report.problems == ()
    assert len(seen) == report.events
    assert isinstance(item, Item)
    assert item.lease is not None
    assert (item.attempt, item.lease.fence >> 32) == (2, 1)
    assert not list((tmp_path / "project/.git/remit").glob("ledger.db*"))


def test_every_option_of_ours_is_on_the_page() -> None:
    for name in OURS:
        assert f"| `{name}=" in PAGE
