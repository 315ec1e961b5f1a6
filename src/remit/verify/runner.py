"""Run one verification row once, in a directory that the caller made clean.

The command is foreign: it gets no standard input, an environment built from an allow-list, a HOME
and a temporary directory that are new and empty, limits set before it starts, and bounds on time
and output. When it ends, its process group is killed; on Linux, processes that fled the group are
found by a mark in their environment and killed too, so that a forgotten daemon does not meet the
next run. That mark is housekeeping, not a prison: `prefix` is where a sandbox goes, which also
decides what is left of the environment, and ends what a command leaves behind it.

A report that lies in the tree already is removed first: one that was committed must never count
as one that was written.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from remit.core.rows import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    JUnitState,
    RowRun,
    RowSpec,
    RunEnd,
)
from remit.machine.directories import remove_tree
from remit.machine.processes import DEFAULT_GRACE_MS, Finished, absolute_path, run_bounded
from remit.verify import junit

ALLOWED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
"""What a command inherits of the environment; everything else is dropped."""

_LAUNCHER = Path(__file__).with_name("launch.py")
_WALLED = Path(__file__).with_name("launch.sh")
_MARK = "REMIT_ROW_RUN"
_SIGNALS_FROM, _SIGNALS_TO = 128, 32


def run_row(
    spec: RowSpec,
    directory: Path,
    workdir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    grace_ms: int = DEFAULT_GRACE_MS,
) -> RowRun:
    """Run a command row in `directory` and say what it yielded.

    `workdir` is an existing directory outside the checkout, for the command's empty HOME and
    TMPDIR, which are removed afterwards. `environment` adds to the allow-list, by the caller's
    choice. `prefix` is put before the command, such as a sandbox and its options. `grace_ms` lies
    between SIGTERM and SIGKILL when `spec.timeout_ms` is over.
    """
    mark = secrets.token_hex(16)
    if spec.junit is not None and not _remove_stale(directory, spec.junit):
        return RowRun(RunEnd.START_FAILED, None, 0, JUnitState.UNREADABLE)
    home = Path(tempfile.mkdtemp(prefix="row-", dir=workdir))
    try:
        done = run_bounded(
            [*_launch(spec.timeout_ms, walled=bool(prefix)), *prefix, *spec.argv],
            cwd=directory,
            environment=_environment(home, mark, environment or {}),
            timeout_ms=spec.timeout_ms,
            output_limit_bytes=spec.output_limit_bytes,
            merge_stderr=True,
            grace_ms=grace_ms,
        )
    except OSError as error:
        said = f"remit: the command cannot be started: {error.strerror}\n".encode()
        return RowRun(RunEnd.START_FAILED, None, 0, head=said)
    finally:
        if not prefix:  # behind walls nothing carries the mark, and all of it ends with its cell
            _end_strays(mark)
        remove_tree(home)
    if prefix:
        done = replace(done, exit_code=_unwalled(spec, done.exit_code))
    return _yielded(spec, directory, done)


def _launch(timeout_ms: int, *, walled: bool) -> list[str]:
    """The launcher; CPU time is bounded by what every processor could spend in the wall time."""
    cpu_seconds = math.ceil(timeout_ms / 1000) * (os.cpu_count() or 1) + 5
    if walled:
        return ["/bin/sh", str(_WALLED), str(cpu_seconds)]
    return [sys.executable, "-I", "-S", str(_LAUNCHER), str(cpu_seconds), "--"]


def _environment(home: Path, mark: str, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ALLOWED_VARIABLES if name in os.environ}
    kept["PATH"] = absolute_path(kept.get("PATH", os.defpath))
    kept.setdefault("LANG", "C.UTF-8")
    for name, leaf in (("HOME", "home"), ("TMPDIR", "tmp")):
        (home / leaf).mkdir()
        kept[name] = str(home / leaf)
    return kept | dict(extra) | {_MARK: mark}


def _remove_stale(directory: Path, relative: str) -> bool:
    """Remove a report that is there before the run; say whether none is left."""
    path = directory / relative
    if os.path.lexists(path):
        if path.is_dir() and not path.is_symlink():
            return False
        # Its folder may be a symbolic link out of the tree: then it is not ours to remove.
        if not path.parent.resolve().is_relative_to(directory.resolve()):
            return False
        path.unlink()
    return True


def _yielded(spec: RowSpec, directory: Path, done: Finished) -> RowRun:
    """Turn the end of the process into a run, reading the report where one is named."""
    counts = junit.JUnitCounts(JUnitState.NOT_NAMED)
    end = _end_of(done)
    if spec.junit is not None:
        counts = junit.read(directory, spec.junit)
    ran = end in (RunEnd.EXITED, RunEnd.SIGNALLED)
    bare = 1 if spec.junit is None and end is RunEnd.EXITED else 0
    return RowRun(
        end=end,
        exit_code=done.exit_code if ran else None,
        duration_ms=done.duration_ms,
        junit=counts.state,
        executed=counts.executed or bare,
        failures=counts.failed,
        skipped=counts.skipped,
        head=done.stdout.head,
        tail=done.stdout.tail,
        cut_bytes=done.stdout.cut_bytes,
    )


def _unwalled(spec: RowSpec, status: int) -> int:
    """What a status means that came through walls: they say a signal N as the status 128 + N."""
    told = 0 < status - _SIGNALS_FROM < _SIGNALS_TO and status != spec.expected_exit
    return _SIGNALS_FROM - status if told else status


def was_killed(run: RowRun) -> bool:
    """Whether something ended this run by SIGKILL: its cell, the system for want of memory, a person."""
    return run.end is RunEnd.SIGNALLED and run.exit_code == -signal.SIGKILL


def _end_of(done: Finished) -> RunEnd:
    if done.timed_out:
        return RunEnd.TIMED_OUT
    if done.exit_code in (NOT_EXECUTABLE, NOT_FOUND):
        return RunEnd.COMMAND_MISSING
    return RunEnd.SIGNALLED if done.exit_code < 0 else RunEnd.EXITED


def _end_strays(mark: str) -> None:
    """Kill processes that carry the mark of this run in the environment they were started with."""
    needle = f"{_MARK}={mark}".encode()
    proc = Path("/proc")
    if not sys.platform.startswith("linux") or not proc.is_dir():
        return
    for entry in proc.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
