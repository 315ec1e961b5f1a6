"""The scripted agent does what it is told, also when that is wrong, and a check of agents tells which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remit.drain.agents.conformance import NAMES, Check, conformance
from remit.drain.agents.exchange import Exchange
from remit.drain.agents.outcomes import Came, Result
from remit.drain.agents.running import run
from remit.drain.agents.starting import Job
from remit.drain.limits import Limits
from remit.drain.scripted import LIE
from remit.drain.supervision import Ended, Reason
from remit.wiring.agents import Files, builtin

AGENTS = {one.agent.name: one.agent for one in builtin()}
SCRIPTED = AGENTS["scripted"]
SOURCE = Path(__file__).parents[2] / "src"
FAST = Limits(wall_ms=30_000, stop_ms=3_000, processes=50)
HELLO: dict[str, Any] = {"do": "commit", "path": "greeting.txt", "text": "hello\n"}
REPORT: dict[str, Any] = {"do": "report"}


def script(folder: Path, *steps: dict[str, Any], item: str = "") -> tuple[tuple[str, str], ...]:
    """A script, and the environment that names it."""
    found = {"items": {item: steps}} if item else {"default": steps}
    (folder / "script.json").write_text(json.dumps(found))
    return (
        ("REMIT_SCRIPT", str(folder / "script.json")),
        ("PYTHONPATH", str(SOURCE)),
        ("PATH", os.environ["PATH"]),
    )


def git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=clone, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def play(
    folder: Path, *steps: dict[str, Any], limits: Limits = FAST, item: str = ""
) -> tuple[Result, Ended, Path]:
    clone = folder / "clone"
    clone.mkdir()
    git(clone, "init", "-q", "-b", "work")
    git(clone, "-c", "user.name=a", "-c", "user.email=a@example.org",
        "commit", "-q", "--allow-empty", "-m", "base")  # fmt: skip
    made = Job("W-4", "A-1", clone, Exchange(folder / "exchange"), ("greeting.txt",),
               extra=script(folder, *steps, item=item))  # fmt: skip
    started = run(SCRIPTED, made, "# B\n", Files(), limits=limits, records=folder)
    result, ended = started.result(60_000), started.process.wait()
    assert result is not None
    assert ended is not None
    return result, ended, clone


def test_an_honest_script_commits_and_reports(tmp_path: Path) -> None:
    result, ended, clone = play(
        tmp_path, {"do": "progress", "text": "on it", "spent_micros": 3}, HELLO,
        {"do": "cost", "usd": "0.000012"}, {"do": "report", "summary": "said hello"}, item="W-4",
    )  # fmt: skip
    assert (result.came, result.said, result.spent_micros) == (Came.DONE, "said hello", 12)
    assert result.head == git(clone, "rev-parse", "HEAD")
    assert git(clone, "show", "HEAD:greeting.txt") == "hello"
    assert git(clone, "status", "--porcelain") == ""
    assert ended.strays == 0


@pytest.mark.parametrize(
    ("steps", "came", "code"),
    [
        ([{"do": "crash"}], Came.CRASHED, "AGENT_SIGNAL"),
        ([{"do": "crash", "signal": 11}], Came.CRASHED, "AGENT_SIGNAL"),
        ([REPORT, {"do": "exit", "status": 9}], Came.CRASHED, "AGENT_STATUS"),
        ([{"do": "garble", "text": "{"}], Came.CRASHED, "REPORT_INVALID"),
        ([], Came.CRASHED, "REPORT_MISSING"),
        (
            [{"do": "report", "outcome": "declined", "reason": "no"}],
            Came.DECLINED,
            "AGENT_DECLINED",
        ),
        ([{"do": "report", "outcome": "failed", "reason": "no"}], Came.FAILED, "AGENT_FAILED"),
        ([{"do": "dance"}], Came.CRASHED, "AGENT_STATUS"),
        ([{"do": "commit", "path": "a", "text": ""}, {"do": "lie"}], Came.DONE, "AGENT_DONE"),
    ],
)
def test_each_ending_is_told_apart(
    tmp_path: Path, steps: list[dict[str, Any]], came: Came, code: str
) -> None:
    result, _, _ = play(tmp_path, *steps)
    assert (result.came, result.code) == (came, code)


def test_a_hang_a_lie_a_secret_and_a_stray_are_what_they_are(tmp_path: Path) -> None:
    for name in ("hang", "lie", "stray"):
        (tmp_path / name).mkdir()
    short = Limits(wall_ms=2_500, stop_ms=1_500)
    result, ended, _ = play(tmp_path / "hang", {"do": "hang", "deaf": True}, limits=short)
    assert (result.came, ended.reason, ended.left) == (Came.TIMED_OUT, Reason.WALL, 0)
    result, _, clone = play(
        tmp_path / "lie", {"do": "secret"}, {"do": "write", "path": "../outside.txt", "text": "x"},
        {"do": "lie"},
    )  # fmt: skip
    assert result.head == LIE != git(clone, "rev-parse", "HEAD")
    assert "AKIA" in git(clone, "show", "HEAD:settings.ini")
    assert (tmp_path / "lie/outside.txt").read_text() == "x"
    result, ended, _ = play(
        tmp_path / "stray", {"do": "daemon"}, {"do": "escapes"}, {"do": "flood", "size": 3_000_000},
        {"do": "print", "text": "note", "stream": "stderr"}, {"do": "sleep", "ms": 10}, REPORT,
    )  # fmt: skip
    assert (result.came, ended.strays) == (Came.DONE, 1)
    assert b"\x1b]0;owned" in ended.stdout.head
    assert ended.stdout.cut_bytes > 1_000_000


def test_without_a_script_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remit.drain.scripted"],
        env={"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "REMIT_SCRIPT" in done.stderr


def checked(folder: Path, *steps: dict[str, Any]) -> dict[str, Check]:
    checks = conformance(SCRIPTED, Files(), limits=FAST, extra=script(folder, *steps))
    assert sorted(one.name for one in checks) == sorted(NAMES)
    assert all(one.hint for one in checks if one.result == "FAIL")
    return {one.name: one for one in checks}


def failed(found: dict[str, Check]) -> list[str]:
    return [name for name, one in found.items() if one.result == "FAIL"]


def test_a_good_agent_passes_every_check(tmp_path: Path) -> None:
    found = checked(
        tmp_path, {"do": "progress", "text": "on it"}, HELLO, {"do": "cost", "usd": "0.1"}, REPORT,
        {"do": "sleep", "ms": 2_500},
    )  # fmt: skip
    assert {one.result for one in found.values()} == {"PASS"}, found


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ([HELLO], ["report", "outcome"]),
        ([HELLO, {"do": "garble", "text": "[]"}], ["report", "outcome"]),
        ([HELLO, {"do": "lie"}], ["head"]),
        ([HELLO, {"do": "commit", "path": "other", "text": ""}, REPORT], ["scope"]),
        ([HELLO, {"do": "write", "path": "left"}, REPORT], ["clean-tree"]),
        ([{"do": "commit", "path": "greeting.txt", "text": "hi\n"}, REPORT], ["work"]),
        ([REPORT], ["commit"]),
        ([HELLO, REPORT, {"do": "daemon"}], ["processes"]),
        ([HELLO, REPORT, {"do": "escapes"}], ["output"]),
        ([HELLO, {"do": "progress", "text": "x", "percent": 200}, REPORT], ["progress"]),
        ([HELLO, REPORT, {"do": "exit", "status": 8}], ["status", "outcome"]),
        ([HELLO, REPORT, {"do": "crash"}], ["status", "outcome"]),
    ],
)
def test_each_fault_fails_its_own_check(
    tmp_path: Path, steps: list[dict[str, Any]], wrong: list[str]
) -> None:
    assert failed(checked(tmp_path, *steps)) == wrong


def test_what_was_not_seen_is_not_tested(tmp_path: Path) -> None:
    found = checked(tmp_path, REPORT)
    assert {name for name, one in found.items() if one.result == "NOT_TESTED"} >= {
        "scope", "work", "progress", "cost",
    }  # fmt: skip
    checks = conformance(AGENTS["command"], Files(), command=("/no/such",), limits=FAST)
    assert [one.result for one in checks] == ["FAIL"] + ["NOT_TESTED"] * (len(NAMES) - 1)


def test_an_agent_that_does_not_hear_is_told(tmp_path: Path) -> None:
    short = Limits(wall_ms=4_000, stop_ms=1_500)
    extra = script(tmp_path, HELLO, REPORT, {"do": "hang", "deaf": True})
    checks = conformance(SCRIPTED, Files(), limits=short, extra=extra)
    wrong = failed({one.name: one for one in checks})
    assert wrong == ["ends-by-itself", "outcome", "stops"]
