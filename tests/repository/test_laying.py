"""A repository that was laid by hand is what git lays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.repository.conftest import Lab

from remit.machine.git import Git
from remit.repository import laying
from remit.repository.host import Host, locate


def holds(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder, with what is in files."""
    found: dict[str, bytes] = {}
    for here, folders, names in os.walk(folder):
        found |= {str((Path(here) / name).relative_to(folder)): b"" for name in folders}
        for name in names:
            path = Path(here) / name
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_the_second_is_like_the_first(
    kind: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laying, "_LAID", {})
    where = tmp_path / kind
    lab.git("init", "-q", f"--object-format={kind}", str(where), cwd=tmp_path)
    host = locate(Git(), where, "look")
    assert isinstance(host, Host)
    folders = [tmp_path / f"{kind}-{name}" for name in ("by-git", "by-hand")]
    for folder in folders:
        folder.mkdir()
        assert laying.new_repository(host, folder, "lay") is None
        assert len(laying._LAID) == 1
    first, second = (holds(folder) for folder in folders)
    assert first == second
    assert not [name for name in second if "hooks" in name]
    assert lab.git("rev-parse", "--show-object-format", cwd=folders[1]) == kind
    assert lab.git("fsck", cwd=folders[1]) == ""


def test_what_git_lays_otherwise_is_left_to_git(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laying, "_LAID", {})
    monkeypatch.setattr(laying, "_FOLDERS", ("objects",))
    host = locate(Git(), lab.host, "look")
    assert isinstance(host, Host)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert laying.new_repository(host, tmp_path / name, "lay") is None
        assert lab.git("fsck", cwd=tmp_path / name) == ""
    assert laying._LAID == {}


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "with space",
        'a "quote"',
        "a\\b",
        "a#b;c",
        " edges ",
        "tab\there",
        "line\nbreak",
        "ä",
    ],
)
def test_a_value_comes_back_as_it_went_in(value: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(f"[a {laying.quoted('x y')}]\n\tb = {laying.quoted(value)}\n", "utf-8")
    done = subprocess.run(
        ["git", "config", "--file", str(file), "-z", "--get", "a.x y.b"],
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode().removesuffix("\0") == value
