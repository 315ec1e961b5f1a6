"""The machine: what a figure depends on beside the program, and where the stores are put.

Figures of two machines cannot be compared, and figures of one machine only while these facts are the
same, so they travel with every result. Nothing here names the machine or a folder on it. A file
system in memory would make every commit free: where the folder for temporary files is one, the
working folder is taken instead, and the facts say what it was in the end.
"""

from __future__ import annotations

import gc
import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

import remit
from remit.bench.fenced import PAGE_SIZE

IN_MEMORY: Final = frozenset(("tmpfs", "ramfs"))
MOUNTS: Final = Path("/proc/self/mounts")


def file_system(folder: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system that holds a folder; ``unknown`` where the system does not tell."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return "unknown"
    best, found = -1, "unknown"
    for line in lines:
        cells = line.split(" ")
        if len(cells) < 3:
            continue
        point = cells[1].replace("\\040", " ")
        if folder.resolve().is_relative_to(point) and len(point) >= best:
            best, found = len(point), cells[2]
    return found


@contextmanager
def place(mounts: Path = MOUNTS) -> Iterator[Path]:
    """A folder for stores, on a disk where there is one; gone when left."""
    parent = Path(tempfile.gettempdir())
    if file_system(parent, mounts) in IN_MEMORY:
        parent = Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="remit-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def facts(folder: Path) -> dict[str, Any]:
    """What to know of this machine and these libraries; ``load_1m`` is as the run begins."""
    system = file_system(folder)
    return {
        "cpu_count": os.cpu_count(),
        "load_1m": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "file_system": system,
        "durable": "no: a file system in memory" if system in IN_MEMORY else "as the disk is",
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "gc_threshold": list(gc.get_threshold()),
        "remit": remit.__version__,
        "apsw": apsw.apsw_version(),
        "sqlite_of_apsw": apsw.sqlite_lib_version(),
        "sqlite_of_python": sqlite3.sqlite_version,
        "page_size": PAGE_SIZE,
    }
