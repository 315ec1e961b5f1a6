"""The house rules, run over the tree as git sees it.

Untracked files count too, so that a fault shows before the commit and not after it.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.style import checks

ROOT = Path(__file__).resolve().parents[2]


def listed(*patterns: str) -> list[str]:
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def report(findings: list[str]) -> str:
    return "\n".join(["", *findings])


SRC_CHECKS = [
    checks.too_long,
    checks.long_functions,
    checks.no_essay,
    checks.unfinished,
    checks.swallowed,
    checks.sql_in_python,
]
ALL_PYTHON_CHECKS = [checks.unexplained_ignores]


@pytest.mark.parametrize("check", SRC_CHECKS, ids=lambda check: check.__name__)
def test_src_is_tidy(check: Callable[[str, str], list[str]]) -> None:
    names = listed("src/**/*.py")
    assert names, "found no modules: the check would look at nothing"
    findings = [line for name in names for line in check(name, read(name))]
    assert not findings, report(findings)


@pytest.mark.parametrize("check", ALL_PYTHON_CHECKS, ids=lambda check: check.__name__)
def test_every_python_file_is_tidy(check: Callable[[str, str], list[str]]) -> None:
    names = listed("*.py")
    assert any(name.startswith("tests/") for name in names)
    findings = [line for name in names for line in check(name, read(name))]
    assert not findings, report(findings)


def test_modules_have_names() -> None:
    findings = [line for name in listed("src/**/*.py") for line in checks.banned_name(name)]
    assert not findings, report(findings)


def test_core_is_pure() -> None:
    names = listed("src/remit/core/**/*.py", "src/remit/core/*.py")
    assert names, "found no core"
    findings = [line for name in names for line in checks.impure_core(name, read(name))]
    assert not findings, report(findings)


def folders_of_this_machine() -> list[str]:
    here = {str(ROOT), str(Path.home()), os.environ.get("VIRTUAL_ENV", "")}
    return sorted(folder for folder in here if len(folder) > 1)


def test_files_name_no_registry_and_no_machine() -> None:
    findings = []
    for name in listed():
        try:
            text = read(name)
        except UnicodeDecodeError:
            continue  # a picture or an archive
        findings += checks.places(name, text, folders_of_this_machine())
    assert not findings, report(findings)


def test_no_lock_file_with_addresses() -> None:
    assert listed("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml") == []
    for name in listed("requirements/*.lock"):
        assert "://" not in read(name), name


def test_lock_files_hash_every_package() -> None:
    for name in (f"requirements/{lock}.lock" for lock in ("run", "dev", "build", "bench")):
        pinned = [line for line in read(name).splitlines() if line[:1].isalnum()]
        assert pinned, name
        unhashed = [line for line in pinned if "==" not in line or not line.endswith("\\")]
        assert not unhashed, f"{name}: {unhashed}"


def test_switched_off_rules_say_why() -> None:
    findings = checks.unexplained_rules(read("pyproject.toml"))
    assert not findings, report(findings)


def test_documents_name_targets_that_exist() -> None:
    makefile = read("Makefile")
    findings = [
        line
        for name in listed("*.md")
        for line in checks.unknown_targets(name, read(name), makefile)
    ]
    assert not findings, report(findings)


@pytest.mark.parametrize("name", [".ci/run", "tools/bootstrap"])
def test_scripts_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK), f"{name} is not executable"
