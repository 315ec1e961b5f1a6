"""The page on testing a policy says what is so: its files are written and its commands are typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "test-your-policy.md").read_text("utf-8")
FILES = dict(re.findall(r"```yaml (\S+)\n(.*?)```", PAGE, re.DOTALL))
SHOWN = re.findall(r"```console\n\$ remit (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The page's files."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def typed(folder: Path, number: int) -> tuple[int, str, str]:
    argv, expected = SHOWN[number]
    ran = Cli(folder).run(*argv.split())
    assert ran.err == ""
    return ran.status, ran.out, expected


def test_the_policy_as_it_was_written_fails_as_shown(folder: Path) -> None:
    status, out, expected = typed(folder, 0)
    assert (status, out) == (6, expected)


def test_the_mended_policy_passes_as_shown(folder: Path) -> None:
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("freshness_limit: 5m", "freshness_limit: 1m"))
    status, out, expected = typed(folder, 1)
    assert (status, out) == (0, expected)
    status, out, expected = typed(folder, 2)
    assert (status, expected) == (0, f"{out}$ echo $?\n{status}\n")


def test_a_fault_in_the_policy_is_named_with_its_own_place(folder: Path) -> None:
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("freshness_limit: 5m", "freshness_limit: soon"))
    ran = Cli(folder).run("scenario", "run", "stale.yaml")
    assert ran.status == 2
    assert "stale.yaml:4:11" in ran.err
    assert "policy.yaml:7:18: $.freshness_limit: found text 'soon', expected a duration" in ran.err
    (folder / "policy.yaml").unlink()
    ran = Cli(folder).run("scenario", "run", "stale.yaml")
    assert "cannot read policy.yaml: No such file or directory" in ran.err
