"""What importing the core brings along: its own modules and what only shapes values.

A style test reads the import statements; this one looks at what a fresh interpreter has really
loaded, also through the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import remit.core

ROOT = Path(remit.core.__file__).parent
MAY_LOAD = {
    "__future__", "_abc", "_ast", "_bisect", "_blake2", "_bz2", "_codecs", "_collections",
    "_collections_abc", "_functools", "_hashlib", "_json", "_lzma", "_md5", "_opcode", "_operator",
    "_random", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512", "_sre", "_struct", "_thread",
    "_tokenize", "_typing", "_weakrefset", "abc", "ast", "bisect", "collections", "contextlib",
    "copy", "copyreg", "dataclasses", "dis", "enum", "functools", "hashlib", "importlib", "inspect",
    "itertools", "json", "keyword", "linecache", "math", "opcode", "operator", "re", "reprlib",
    "struct", "token", "tokenize", "types", "typing", "weakref", "annotationlib", "_opcode_metadata",
    "string", "textwrap", "_annotationlib", "heapq", "_heapq", "errno",
}  # fmt: skip
"""Modules of the standard library that the core may bring along, directly or through another."""

PROBE = """
import importlib, json, sys
before = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules() -> list[str]:
    """Every module of the core by its name."""
    names = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("remit", "core", *path.relative_to(ROOT).with_suffix("").parts)
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def loaded(*names: str) -> list[str]:
    """What a fresh interpreter has loaded once these were imported."""
    done = subprocess.run(
        [sys.executable, "-E", "-c", PROBE, *names],
        cwd=ROOT.parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def strangers(names: list[str]) -> set[str]:
    """Top-level modules that the core may not bring along."""
    own = {name.partition(".")[0] for name in names if not name.startswith("remit.core")}
    return own - MAY_LOAD - {"remit"}


def test_the_core_brings_along_nothing_but_what_shapes_values() -> None:
    names = modules()
    assert len(names) > 30
    found = loaded(*names)
    assert set(names) <= set(found)
    assert not strangers(found)
    assert [n for n in found if n.startswith("remit") and not n.startswith("remit.core")] == [
        "remit"
    ]


def test_the_probe_sees_a_stranger() -> None:
    assert strangers(loaded("remit.core.status", "sqlite3")) >= {"sqlite3"}
    assert strangers(loaded("remit.core.status", "socket")) >= {"socket", "selectors"}
