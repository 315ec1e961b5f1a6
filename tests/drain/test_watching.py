"""What people see of a run: a table on a terminal, lines in a pipe, and nothing that moves either."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.drain.yard import Yard, good
from tests.surfaces.cli.calling import IDENTITY

TITLE = "\x1b]0;owned\x07\u202egnp"


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    made = Yard.make(tmp_path.resolve())
    made.script({"W-1": [{"do": "progress", "text": f"at it {TITLE}"}, *good(1)]})
    return made


def test_lines_of_a_pipe_hold_no_foreign_escape(yard: Yard) -> None:
    process = yard.start(*yard.arguments())
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    text = out.decode()
    assert "RUN-1 W-1 step leased" in text
    assert "settled verified" in text
    assert "at it \\x1b]0;owned\\x07\\u202egnp" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_table_of_a_terminal_shows_the_work_and_obeys_nothing(yard: Yard) -> None:
    ours, theirs = pty.openpty()
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:
                return
            if not chunk:
                return
            seen.extend(chunk)

    process = subprocess.Popen(
        [sys.executable, "-m", "remit", *yard.arguments(), "--as", "ann"],
        cwd=yard.cli.cwd,
        env=yard.environment(TERM="xterm", COLUMNS="160"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    out, _ = process.communicate(timeout=120)
    reader.join(10)
    os.close(ours)
    text = seen.decode("utf-8", "replace")
    assert process.returncode == 0, text[-2000:]
    assert "was stopped by nothing-ready" in out.decode()
    for word in ("ITEM", "DOING", "LEASE", "SPENT", "W-1", "left"):
        assert word in text, word
    assert "]0;owned\x07" not in text
    assert "\u202e" not in text


@pytest.mark.torture
def test_who_watches_is_told_why_the_first_drain_of_a_user_begins_slowly(
    yard: Yard, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "remit", *yard.arguments(), "--as", "ann"],
            cwd=yard.cli.cwd,
            env=yard.environment(XDG_CACHE_HOME=str(tmp_path / "cache"), TERM="xterm"),
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        said = b""
        with suppress(OSError):  # the end of a terminal that nobody holds any more
            while part := os.read(ours, 65_536):
                said += part
        assert process.wait(120) == 0
    finally:
        os.close(ours)
    assert b"compile the secret scanner" in said
    assert yard.show("W-1")["status"] == "verified"
