"""The page on an export that never duplicates is true: its files and commands are run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import environment

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "export-once.md").read_text("utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "workers.md").read_text("utf-8")
FILES = ("exports.py", "dying.py")


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def typed(folder: Path, commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Everything in one shell, with the page's files in the folder."""
    (folder / "policy.yaml").write_text(blocks("yaml")[0])
    (folder / "hand-in.sh").write_text(blocks("bash")[0])
    for name, text in zip(FILES, blocks("python"), strict=True):
        (folder / name).write_text(text)
    programs = folder / "bin"
    programs.mkdir()
    remit = programs / "remit"
    remit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m remit "$@"\n')
    remit.chmod(0o755)
    env = environment()
    env["PATH"] = f"{programs}:{Path(sys.executable).parent}:{env['PATH']}"
    script = "set -eu\n" + "\n".join(commands)
    return subprocess.run(
        ["sh", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=500
    )


@pytest.mark.timeout(600)
def test_the_page_runs_as_it_is_written(tmp_path: Path) -> None:
    done = typed(tmp_path, blocks("sh"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("the worker died") == 2
    assert sorted(p.name for p in (tmp_path / "exports").glob("*.csv")) == ["E-1.csv", "E-2.csv"]
    assert (tmp_path / "exports" / "E-2.csv").read_text() == "export,E-2\n"
    import remit
    from remit.wiring import url_of

    ledger = remit.open(url_of(tmp_path / ".remit" / "ledger.db"))
    intended = [e.recorded.stream for e in ledger.events() if type(e.recorded.event).__name__ == "EffectIntended"]  # fmt: skip
    ledger.close()
    assert intended == ["effect/E-1", "effect/E-2", "effect/E-2"]


def test_the_reference_names_every_part_of_a_job_and_every_ending() -> None:
    from remit.workers import Job
    from remit.workers.endings import Ending

    inner = {"bound", "close", "closed", "check", "compensates", "desk", "ended", "given", "heed",
             "intended", "last_s", "over", "reads", "release", "say", "spent_micros", "tenure"}  # fmt: skip
    parts = {name for name in dir(Job) if not name.startswith("_")} - inner
    assert [name for name in sorted(parts) if not re.search(rf"`{name}\b", REFERENCE)] == []
    assert [str(e) for e in Ending if f"`{e}`" not in REFERENCE] == []


@pytest.mark.timeout(600)
def test_the_check_can_fail(tmp_path: Path) -> None:
    """Without the look-up the export stays held, and the page would be found wrong."""
    commands = [block.replace("--reconcile ", "") for block in blocks("sh")[:3]]
    done = typed(tmp_path, commands)
    assert done.returncode != 0
    assert "the worker died" in done.stdout


@pytest.mark.parametrize("text", blocks("python"))
def test_its_python_is_python(text: str) -> None:
    compile(text, "page", "exec")
