"""Removing what foreign programs leave: nothing beneath a directory is too deep, and no link leads out."""

from __future__ import annotations

import os
from pathlib import Path

from remit.machine.directories import remove_tree

DEPTH = 2_500
"""Deeper than a stack of this language goes, and longer than any path may be."""


def nest(folder: Path, depth: int) -> None:
    """Folders within folders, a file at the bottom."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deeper", dir_fd=at)
        below = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def test_what_is_nested_too_deep_for_a_path_goes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    nest(top, DEPTH)
    (top / "beside").mkdir()
    assert remove_tree(top)
    assert not top.exists()


def test_folders_without_permissions_go(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("kept from us")
    for folder in (top / "a" / "b", top / "a", top):
        folder.chmod(0)
    assert remove_tree(top)
    assert not top.exists()


def test_links_go_and_what_they_name_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "file").write_text("not yours")
    top = tmp_path / "top"
    (top / "in").mkdir(parents=True)
    (top / "in" / "link").symlink_to(outside)
    (top / "link").symlink_to(outside / "file")
    os.mkfifo(top / "pipe")
    assert remove_tree(top)
    assert (outside / "file").read_text() == "not yours"
    assert outside.stat().st_mode & 0o777 == 0o750
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert remove_tree(link)
    assert (outside / "file").exists()


def test_a_folder_that_cannot_go_is_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    assert not remove_tree(file)
    assert remove_tree(tmp_path / "nothing")
