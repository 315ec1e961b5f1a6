"""A run ends when it is told to, in time, and leaves nothing running and no work lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.drain.ground import BOUND_S
from tests.drain.yard import Yard, good, strays
from tests.ground.pausing import stop_between_writes
from tests.surfaces.cli.calling import IDENTITY, git

from remit.core.refusals import Refused
from remit.core.run_commands import AskRunStop

SLOW = [
    {"do": "progress", "text": "at work"},
    {"do": "commit", "path": "greeting-1.txt", "text": "hello\n"},
    {"do": "sleep", "ms": 3_000},
    {"do": "report"},
]
STUCK = [
    {"do": "commit", "path": "greeting-1.txt", "text": "hello\n"},
    {"do": "write", "path": "greeting-1.txt", "text": "more\n"},
    {"do": "progress", "text": "at work"},
    {"do": "hang", "deaf": True},
]


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    return Yard.make(tmp_path.resolve(), items=2)


class Drain:
    """A drain that runs, and what it has told so far."""

    def __init__(self, yard: Yard, *more: str, argv: tuple[str, ...] = ()) -> None:
        self.process = yard.start(*(argv or yard.arguments(*more)), "--json")
        self.told: list[Any] = []
        self._news = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        with os.fdopen(os.dup(self.process.stdout.fileno()), "rb") as lines:  # type: ignore[union-attr]  # a pipe
            for line in lines:
                with self._news:
                    self.told.append(json.loads(line))
                    self._news.notify_all()

    def until(self, what: Callable[[Any], bool], patience_s: float = 60) -> Any:
        """The first event of this sort."""
        with self._news:
            found = self._news.wait_for(
                lambda: next((t for t in self.told if what(t.get("event", {}))), None), patience_s
            )
        assert found, self.told[-5:]
        return found

    def ended(self, status: int = 0, patience_s: float = 60) -> dict[str, Any]:
        """The run, once the process is gone with this status."""
        assert self.process.wait(patience_s) == status, self.process.stderr.read()  # type: ignore[union-attr]  # a pipe
        self.reader.join(10)
        found: dict[str, Any] = self.told[-1]["data"]["run"]
        return found


def at_work(event: dict[str, Any]) -> bool:
    return event.get("kind") == "progress" and event.get("words") == "at work"


@pytest.fixture
def drains(yard: Yard) -> Iterator[list[Drain]]:
    started: list[Drain] = []
    yield started
    for drain in started:
        if drain.process.poll() is None:
            drain.process.kill()
        drain.process.communicate()
        drain.reader.join(10)
    assert strays(str(yard.folder)) == []


def test_ctrl_c_once_takes_nothing_new_and_finishes(yard: Yard, drains: list[Drain]) -> None:
    yard.script({"W-1": SLOW}, good(2))
    drains.append(drain := Drain(yard))
    drain.until(at_work)
    drain.process.send_signal(signal.SIGINT)
    run = drain.ended()
    assert (run["stopped_by"], run["used"]["items"]) == ("asked", 1)
    assert (yard.show("W-1")["status"], yard.show("W-2")["status"]) == ("verified", "ready")
    assert yard.left() == []


def test_ctrl_c_twice_hands_back_now_and_keeps_the_work(yard: Yard, drains: list[Drain]) -> None:
    yard.script({"W-1": STUCK})
    drains.append(drain := Drain(yard))
    drain.until(at_work)
    asked = time.monotonic()
    drain.process.send_signal(signal.SIGINT)
    drain.until(lambda event: event.get("kind") == "ending")
    drain.process.send_signal(signal.SIGINT)
    run = drain.ended(status=130)
    assert time.monotonic() - asked < 30, "two bounds of a stop, and a busy machine"
    shown = yard.show("W-1")
    assert (run["stopped_by"], shown["status"], shown["lease"]) == ("asked", "ready", None)
    assert kept(yard, "A-1.1") == {"greeting-1.txt": ["hello", "more"]}
    assert yard.left() == []


def kept(yard: Yard, attempt: str) -> dict[str, list[str]]:
    """What the refs of an attempt hold of the greeting: committed, and not."""
    refs = git(
        yard.cli.cwd, "for-each-ref", "--format=%(refname)", f"refs/remit/attempts/{attempt}"
    ).splitlines()
    texts = {
        git(yard.cli.cwd, "show", f"{ref}:greeting-1.txt")
        for ref in refs
        if "/taken/" in ref or "/rescue/" in ref
    }
    return {"greeting-1.txt": sorted(texts)}


def test_the_kill_switch_ends_a_run_and_its_agents(yard: Yard, drains: list[Drain]) -> None:
    yard.script({"W-1": STUCK})
    drains.append(drain := Drain(yard))
    drain.until(at_work)
    yard.cli.json("kill-switch", "engage")
    engaged = time.monotonic()
    drain.until(lambda event: event.get("words") == "keep")
    assert time.monotonic() - engaged < BOUND_S, "the agent is gone within the bound of a stop"
    run = drain.ended()
    assert (run["stopped_by"], yard.show("W-1")["status"]) == ("kill-switch", "ready")
    assert kept(yard, "A-1.1")["greeting-1.txt"] == ["hello", "more"]
    assert yard.left() == []


def test_a_run_is_stopped_from_elsewhere(yard: Yard, drains: list[Drain]) -> None:
    yard.script({"W-1": SLOW}, good(2))
    drains.append(drain := Drain(yard))
    drain.until(at_work)
    with closing(yard.ledger()) as ledger:
        asked = ledger.acting("ann").ask_run_stop(AskRunStop("RUN-1", "finish"))
    assert not isinstance(asked, Refused)
    run = drain.ended()
    assert (run["stopped_by"], run["used"]["items"]) == ("asked", 1)
    assert yard.show("W-1")["status"] == "verified"


def test_an_overtaken_drain_can_change_nothing_more(yard: Yard, drains: list[Drain]) -> None:
    yard.script({"W-1": SLOW}, good(2))
    drains.append(first := Drain(yard))
    first.until(at_work)
    stop_between_writes(first.process.pid, yard.cli.cwd / ".git/remit/ledger.db")
    drains.append(second := Drain(yard, argv=("run", "resume", "RUN-1")))
    second.until(lambda event: event.get("words") == "verified")
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(60) == 3, first.process.stderr.read()  # type: ignore[union-attr]  # a pipe
    run = second.ended()
    assert [entry["outcome"] for entry in run["items"]] == ["verified", "verified"]


@pytest.mark.parametrize("victim", ["remit.drain.scripted", "bwrap"])
def test_an_agent_that_is_killed_from_outside_begins_again(
    victim: str, yard: Yard, drains: list[Drain]
) -> None:
    yard.script({"W-1": SLOW})
    drains.append(drain := Drain(yard, "--max-items", "1"))
    drain.until(at_work)
    killed = [line.partition(":")[0] for line in strays(str(yard.folder)) if victim in line]
    if victim == "bwrap":
        killed = [line.partition(":")[0] for line in strays("/usr/bin/bwrap") if mine(line, drain)]
    assert killed
    for pid in killed:
        with_no_mercy(int(pid))
    drain.until(lambda event: event.get("kind") == "restarted")
    run = drain.ended()
    assert [entry["outcome"] for entry in run["items"]] == ["verified"]
    assert yard.show("W-1")["attempt"] == 1
    assert yard.left() == []


def mine(line: str, drain: Drain) -> bool:
    """Whether a process descends from this drain."""
    pid = int(line.partition(":")[0])
    while pid > 1:
        if pid == drain.process.pid:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def with_no_mercy(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.mark.parametrize("number", [3, 10, 20, 30, 40, 50, 60])
def test_git_that_is_killed_once_is_asked_again(number: int, yard: Yard, tmp_path: Path) -> None:
    """The git of that number kills itself: the run still comes to where it would have come."""
    yard.script({"W-1": good(1)}, [{"do": "report", "outcome": "declined", "reason": "not this"}])
    shim, count = tmp_path / "shim", tmp_path / "count"
    shim.mkdir()
    real = shutil.which("git")
    (shim / "git").write_text(
        f'#!/bin/sh\necho x >> {count}\n[ "$(wc -l < {count})" -eq {number} ] && kill -9 $$\n'
        f'exec {real} "$@"\n'
    )
    (shim / "git").chmod(0o755)
    out = yard.call(*yard.arguments(), PATH=f"{shim}:{os.environ['PATH']}")
    assert len(count.read_text().splitlines()) >= number, "there was such a git"
    assert yard.show("W-1")["status"] == "verified", out[-1]
    main = git(yard.cli.cwd, "ls-remote", "origin", "main").split()[0]
    git(yard.cli.cwd, "fetch", "-q", "origin")
    assert git(yard.cli.cwd, "rev-list", "--merges", "--count", main) in ("0", "1")
    assert yard.left() == []
