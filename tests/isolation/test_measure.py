"""What a guest's folders hold, where it hides it: too deep for a path, in a folder that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.repository.test_removal import DEPTH, nest

from remit.isolation import cell
from remit.machine.directories import remove_tree

MIB = 1 << 20


def test_folders_too_deep_to_be_looked_into_are_a_breach(tmp_path: Path) -> None:
    top = tmp_path / "clone"
    (top / "src" / "a" / "b").mkdir(parents=True)
    assert cell.measure([top], MIB) is None
    nest(top, DEPTH)
    found = cell.measure([top], MIB)
    assert found is not None
    assert (found.limit, found.found) == ("depth", cell.DEPTH_LIMIT + 1)
    assert remove_tree(top)


def test_a_folder_that_cannot_be_read_is_a_breach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr("remit.isolation.cell.os.scandir", scandir)
    found = cell.measure([tmp_path], MIB)
    assert found is not None
    assert found.limit == "unreadable"


def test_files_count_once_and_links_not_at_all(tmp_path: Path) -> None:
    top = tmp_path / "clone"
    top.mkdir()
    big = tmp_path / "big"
    big.write_bytes(b"x" * 4 * MIB)
    (top / "link").symlink_to(big)
    (top / "up").symlink_to(tmp_path)
    assert cell.measure([top], MIB) is None
    (top / "half").write_bytes(b"x" * (MIB * 3 // 4))
    os.link(top / "half", top / "again")
    assert cell.measure([top], MIB) is None
    (top / "more").write_bytes(b"x" * (MIB * 3 // 4))
    found = cell.measure([top], MIB)
    assert found is not None
    assert found.limit == "disk_bytes"
