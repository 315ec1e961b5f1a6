"""What a terminal shows: tables that fit it, colour, and progress on standard error; a pipe has none."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

from tests.surfaces.cli.calling import Cli, environment


def on_terminal(cwd: Path, *argv: str, columns: int, env: dict[str, str]) -> tuple[str, str]:
    """Standard output in a pipe's file and what a terminal got: all, or standard error alone."""
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = subprocess.PIPE if "--json" in argv else child
    command = [sys.executable, "-m", "remit", *argv]
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=child, stdout=out, stderr=child) as run:
        os.close(child)
        written = b""
        while True:
            try:
                part = os.read(parent, 65_536)
            except OSError:
                break
            if not part:
                break
            written += part
        piped = run.stdout.read().decode() if run.stdout is not None else ""
        assert run.wait(60) == 0, written
    os.close(parent)
    return piped, written.decode()


def test_tables_fit_and_have_colour_only_where_wanted(cli: Cli) -> None:
    cli.json("create", "word " * 60 + "end", "--verify", "true")
    env = environment(TERM="xterm-256color")
    _, shown = on_terminal(cli.cwd, "list", "--as", "ann", columns=70, env=env)
    assert "\x1b[32mready" in shown
    assert "…" in shown
    plain = on_terminal(cli.cwd, "list", "--as", "ann", columns=70, env={**env, "NO_COLOR": "1"})[1]
    assert "\x1b[3" not in plain
    for line in plain.splitlines():
        assert len("".join(line.split("\x1b[1m")).replace("\x1b[0m", "")) <= 70
    same = on_terminal(cli.cwd, "list", "--no-color", "--as", "ann", columns=70, env=env)[1]
    assert same == plain


def test_progress_is_on_the_terminal_and_the_answer_in_the_pipe(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    row = {"title": "x", "status": "open", "created_at": "2026-01-01T00:00:00Z"}
    path.write_text("".join(json.dumps({"id": f"a-{i}", **row}) + "\n" for i in range(600)))
    env = environment(TERM="xterm")
    argv = ("import", "beads", str(path), "--json", "--as", "ann")
    piped, seen = on_terminal(cli.cwd, *argv, "--dry-run", columns=90, env=env)
    assert json.loads(piped)["data"]["imported"] == 600
    assert "600/600" in seen
    piped, seen = on_terminal(cli.cwd, *argv, "--quiet", columns=90, env=env)
    assert json.loads(piped)["data"]["imported"] == 600
    assert seen == ""


def test_blocked_on_a_terminal_keeps_what_to_type(cli: Cli) -> None:
    cli.json("create", "Draft")
    env = environment(TERM="xterm")
    _, shown = on_terminal(cli.cwd, "blocked", columns=200, env=env)
    assert "remit edit W-1 --verify" in shown


def test_a_trace_is_readable_on_a_narrow_terminal(cli: Cli) -> None:
    """Words stay whole on eighty columns: what is long gives way, and not everything a little."""
    title = "A title that is far too long for what is left of the line " * 3
    checks = [word for n in range(12) for word in ("--verify", f"test -f {n}")]
    item = cli.json("create", title.strip(), *checks)["item"]["id"]
    cli.json("actor", "add", "somebody-with-a-long-name")
    cli.json("lease", item, actor="somebody-with-a-long-name")
    env = environment(TERM="xterm", NO_COLOR="1")
    _, shown = on_terminal(cli.cwd, "trace", item, "--as", "ann", columns=80, env=env)
    for word in ("requirement ", "dependencies ", "present ", "missing "):
        assert word in shown, shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(len(line.rstrip("\r")) for line in plain.split("\n")) <= 80, plain
