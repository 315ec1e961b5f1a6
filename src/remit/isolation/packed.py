"""Has what a guest packed opened in a cell, so that the scanner sees what is in it.

The scanner opens some forms itself, twice at most, only the first stream of a file, and passes over the rest
without a word. So it is told to open nothing, and everything that looks packed is opened beforehand by a
program of remit's own (`inside/unpack.py`), in a cell that sees the files and may write one folder. What it
cannot open, or only beyond its bounds, it names, and then nobody may say that the change is clean.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.core.checks import Result
from remit.isolation import layout, remains
from remit.isolation.inside.unpack import packed
from remit.machine.processes import Finished, run_bounded
from remit.ports.sandbox import CellLimits, Room, Sandbox, SandboxRefusal, SecretScan

TIMEOUT_MS: Final = 120_000
_OUTPUT_BYTES: Final = 65_536
_HEAD_BYTES, _TAIL_BYTES = 300, 65_557
_MIB: Final = 1_048_576
_LIMITS: Final = CellLimits(processes=16, memory_bytes=1_024 * _MIB, file_bytes=128 * _MIB)
_NAMED: Final = 3
_LAID: Final = re.compile(r"\d+_(.*)\.txt\Z")


@dataclass(frozen=True, slots=True)
class Opened:
    """What was opened: the files, the folder with a folder for each of them, and what nobody could open."""

    files: tuple[Path, ...] = ()
    out: Path | None = None
    unknown: tuple[str, ...] = ()

    def named(self, path: Path, folder: Path) -> str:
        """A scanned path as whoever looks for it knows it: the file, `!`, and what was in it."""
        if self.out is None or not path.is_relative_to(self.out):
            return str(path).removeprefix(f"{folder}/")
        number, _, laid = str(path.relative_to(self.out)).partition("/")
        found = _LAID.match(laid)
        inner = found[1].lstrip("_") if found else ""
        file = self.files[int(number)] if number.isdecimal() else path
        return f"{file.relative_to(folder)}!{inner}"


def looking(folder: Path) -> Iterator[Path]:
    """The files beneath a folder that may be packed; no link is followed, nothing but files is opened."""
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and _packed(Path(entry.path)):
                    yield Path(entry.path)


def _packed(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if len(head) == _HEAD_BYTES:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            return packed(head, file.read(_TAIL_BYTES))
    return packed(head, head)


def unpack(sandbox: Sandbox, folder: Path, claim: Callable[[], Path]) -> Opened | SecretScan:
    """Open what is packed beneath a folder; BLOCKED where it cannot even be tried.

    ``claim`` makes the folder to lay it in, and is called where there is something to open.
    """
    files = tuple(sorted(looking(folder)))
    if not files:
        return Opened()
    out = claim()
    python = str(layout.interpreter()[0])
    with remains.held("room") as empty:
        room = Room(
            "secret-unpack", empty, writable=(out,), read_only=(folder,), commands=(python,),
            limits=_LIMITS, sealed=True,
        )  # fmt: skip
        cell = sandbox.prepare(room)
        if isinstance(cell, SandboxRefusal):
            return SecretScan(Result.BLOCKED, (), cell.message, cell.hint)
        try:
            argv = cell.command(layout.program(python, "unpack"))
            if isinstance(argv, SandboxRefusal):
                return SecretScan(Result.BLOCKED, (), argv.message, argv.hint)
            done = run_bounded(
                argv,
                cwd=empty,
                environment={},
                timeout_ms=TIMEOUT_MS,
                output_limit_bytes=_OUTPUT_BYTES,
                stdin=json.dumps(
                    {"files": [str(path) for path in files], "out": str(out)}
                ).encode(),
            )
        except OSError as error:
            return _blocked(f"not started: {error}")
        finally:
            cell.close()
    return _read(done, files, out, folder)


def _read(done: Finished, files: tuple[Path, ...], out: Path, folder: Path) -> Opened | SecretScan:
    """What the program told, if it came to its end and said something plain."""
    said = done.stderr.whole().decode("utf-8", "replace")[-300:]
    if done.timed_out or done.exit_code != 0:
        ended = "ran out of time" if done.timed_out else f"exit {done.exit_code}"
        return _blocked(f"{ended}: {_plain(said)}")
    try:
        told = json.loads(done.stdout.whole())
        unknown = tuple(_why(entry, files, folder) for entry in told["unknown"])
        count = int(told["count"])
    except (ValueError, KeyError, TypeError, IndexError):
        return _blocked("it told nothing plain")
    more = (f"and {count - len(unknown)} more",) if count > len(unknown) else ()
    return Opened(files, out, (*unknown, *more))


def _why(entry: Any, files: tuple[Path, ...], folder: Path) -> str:
    number, name, why = entry
    return _plain(f"{files[int(number)].relative_to(folder)}{name}: {why}")


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text.strip())[:400]


def _blocked(said: str) -> SecretScan:
    return SecretScan(
        Result.BLOCKED, (), f"what is packed could not be opened: {said}", "commit it unpacked"
    )


def judged(scan: SecretScan, opened: Opened) -> SecretScan:
    """A scan as it may be said where something could not be looked into: found, or BLOCKED."""
    if scan.result is not Result.PASS or not opened.unknown:
        return scan
    named = "; ".join(opened.unknown[:_NAMED])
    return SecretScan(
        Result.BLOCKED,
        (),
        f"{len(opened.unknown)} packed things cannot be looked into: {named}",
        "commit what is in them instead, or look at them and let the change through by hand",
    )
