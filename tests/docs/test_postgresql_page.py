"""The page on PostgreSQL says what is so: its move from SQLite is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem
from remit.core.evolve import evolve
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.stores.postgres.address import OURS
from remit.wiring import create_ledger, open_ledger

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating" / "postgresql.md").read_text("utf-8")


def test_from_sqlite_to_postgresql(postgres: Server, wiped: str, tmp_path: Path) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    old = create_ledger(f"sqlite://{tmp_path}/ledger.db", "ann")
    answers = old.acting("ann").create([CreateItem(f"item {n}", body="x" * 9000) for n in range(5)])
    assert all(isinstance(answer, Done) for answer in answers)
    wanted = verify(old.store, fold=evolve)
    done = subprocess.run(
        [sys.executable, "-c", script, old.store.url, postgres.url(wiped)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    said, url = done.stdout.splitlines()
    assert said == f"{wanted.events} events, root {wanted.root}"
    new = open_ledger(url)
    found = verify(new.store, fold=evolve, root=wanted.root, size=wanted.events)
    assert found == wanted
    assert found.problems == ()
    new.close()
    old.close()


def test_every_option_of_ours_is_on_the_page() -> None:
    for name in OURS:
        assert f"| `{name}=" in PAGE
