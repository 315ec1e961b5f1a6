"""Compiled rules are whole or not there, whoever is killed while compiling, and they do not pile up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remit.core.checks import Result
from remit.isolation import ruleset, secrets
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.isolation.secrets import Kingfisher
from remit.machine.processes import Captured, Finished

SOUND = b"""{"findings":[{"rule":{"id":"r"},"finding":{"path":"%s/planted.txt","line":1}}],
"metadata":{"summary":{"blobs_scanned":1}}}"""


class Compiling(Kingfisher):
    """A scanner whose program is played: how it ends, and whether it wrote a set."""

    ends: Finished
    writes = True

    def _run(self, program: Path, rules: Path, folder: Path, *_: object, **__: object) -> Finished:
        if self.writes:
            (rules / "compiled.db").write_text("half")
        return self.ends


def finished(code: int, text: bytes, *, timed_out: bool = False) -> Finished:
    return Finished(code, timed_out, 1, Captured(text, b"", 0), Captured(b"", b"", 0))


def sound() -> Finished:
    return finished(200, SOUND.replace(b"\n", b"") % b"/planted")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "kingfisher"
    made.write_text("#!/bin/sh\n")
    monkeypatch.setattr(secrets, "find", lambda search=None: made)
    return made


def compiling(tmp_path: Path, ends: Finished, *, writes: bool = True) -> Compiling:
    made = Compiling(BubblewrapSandbox(), tmp_path / "cache")
    object.__setattr__(made, "ends", ends)
    object.__setattr__(made, "writes", writes)
    return made


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache").iterdir() if path.name != ".lock")


@pytest.mark.parametrize(
    ("ends", "writes"),
    [
        (finished(-15, b"", timed_out=True), True),
        (finished(-9, b""), True),
        (finished(1, b"no"), True),
        (finished(0, b"{}"), True),
        (sound(), False),
    ],
)
def test_what_was_broken_off_is_never_taken_for_rules(
    tmp_path: Path, program: Path, ends: Finished, writes: bool
) -> None:
    found = compiling(tmp_path, ends, writes=writes).prepare(lambda: None)
    assert found is not None
    assert found.result is Result.BLOCKED
    assert names(tmp_path) == []
    assert compiling(tmp_path, sound()).prepare(lambda: None) is None
    assert len(names(tmp_path)) == 1


def test_who_is_killed_while_compiling_leaves_nothing_for_long(
    tmp_path: Path, program: Path
) -> None:
    cache = tmp_path / "cache"
    script = (
        "import os, pathlib, sys; from remit.isolation import ruleset;"
        " rules = pathlib.Path(sys.argv[1]) / '1-1'; t = ruleset.turn(rules.parent, 60);"
        " t.__enter__(); (ruleset.begin(rules) / 'half').touch(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(cache)], timeout=60, check=False)
    (cache / "12-34.ab_c1234").mkdir()  # as an earlier version made it
    (cache / "12-35.ab_c1234").mkdir()
    os.utime(cache / "12-34.ab_c1234", (0, 0))
    assert names(tmp_path) == ["1-1.part", "12-34.ab_c1234", "12-35.ab_c1234"]
    assert compiling(tmp_path, sound()).prepare(lambda: None) is None
    made = program.stat()
    assert names(tmp_path) == sorted(["12-35.ab_c1234", f"{made.st_size}-{made.st_mtime_ns}"])


def test_only_the_sets_that_were_used_last_are_kept(tmp_path: Path, program: Path) -> None:
    cache = tmp_path / "cache"
    for number in range(6):
        (cache / f"{number}-1").mkdir(parents=True)
        os.utime(cache / f"{number}-1", (number, number))
    (cache / "mine").mkdir()
    ruleset.used(cache / "2-1")
    assert compiling(tmp_path, sound()).prepare(lambda: None) is None
    made = program.stat()
    kept = ["2-1", "5-1", "mine", f"{made.st_size}-{made.st_mtime_ns}"]
    assert names(tmp_path) == sorted(kept)


def test_who_waits_for_its_turn_takes_what_was_made_meanwhile(
    tmp_path: Path, program: Path
) -> None:
    scanner = compiling(tmp_path, finished(1, b""))
    rules = scanner._rules(program)

    def made_meanwhile() -> None:
        rules.mkdir(parents=True)

    assert scanner.prepare(made_meanwhile) is None


def test_nobody_waits_for_a_turn_without_end(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SCAN_TIMEOUT_MS", 300)
    with ruleset.turn(tmp_path / "cache", 1):
        began = time.monotonic()
        found = compiling(tmp_path, sound()).prepare(lambda: None)
        assert time.monotonic() - began < 60
    assert found is not None
    assert "another process compiles" in found.evidence


def test_a_cache_that_cannot_be_written_is_no_crash(tmp_path: Path, program: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    found = compiling(tmp_path, sound()).prepare(lambda: None)
    assert found is not None
    assert found.result is Result.BLOCKED
