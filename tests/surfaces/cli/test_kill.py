"""A command that was killed at any step of its write, and repeated with the same id, is done once."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.surfaces.cli.calling import Cli, environment

from remit.proofs.main import run_history
from remit.wiring import url_of

KILLED = """
import os, signal, sys
from remit.stores.sqlite import store
from remit.surfaces.cli.main import main

def pause(self, name):
    if name == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)

store.SqliteStore._step = pause
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("step", ["begun", "before commit", "after commit"])
@pytest.mark.parametrize("what", ["create", "lease"])
def test_killed_and_repeated_is_done_once(cli: Cli, step: str, what: str) -> None:
    cli.json("create", "First", "--verify", "true")
    argv = {
        "create": ("create", "Second", "--verify", "true"),
        "lease": ("lease", "--next"),
    }[what]
    argv = (*argv, "--command-id", "once", "--as", "ann", "--json")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, step, *argv],
        cwd=cli.cwd,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == b""
    first, again = cli.run(*argv), cli.run(*argv)
    assert first.data["repeated"] is (step == "after commit")
    assert again.data["repeated"] is True
    assert first.data["event"] == again.data["event"]
    assert cli.json("list")["total"] == (2 if what == "create" else 1)
    assert cli.json("ledger", "verify")["problems"] == []
    assert run_history(url_of(cli.cwd / ".remit" / "ledger.db"))["problems"] == []
    granted = [e for e in cli.json("show", "W-1")["history"] if e["type"] == "LeaseGranted"]
    assert len(granted) == (1 if what == "lease" else 0)


def test_an_unknown_outcome_names_the_command_id_to_repeat_with(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    from remit.ports import OutcomeUnknown, StoreUnavailable
    from remit.service.engine import Engine

    for kind, status in ((OutcomeUnknown, 9), (StoreUnavailable, 8)):

        def away(*_: object, kind: type = kind, **__: object) -> None:
            raise kind("the store went away", "look after it")

        monkeypatch.setattr(Engine, "run", away)
        error = cli.run("create", "x", "--json", "--as", "ann").error
        [found] = re.findall(r"--command-id ([0-9a-f]{24})$", error["hint"])
        assert error["details"]["command_id"] == found
        line = cli.line("create", "x", "--command-id", "mine", status=status)
        assert line.endswith("repeat with --command-id mine")


def test_interrupted_while_modules_load_is_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "remit.surfaces.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "remit.surfaces.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert cli.line("list", status=130).startswith("error[INTERRUPTED]")


def test_interrupted_is_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.service.engine import Engine

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "run", interrupted)
    assert cli.line("create", "x", status=130).startswith("error[INTERRUPTED]")
