"""A drain of code that was not proved does not begin, and one byte is enough to make it that (INV-18)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.drain.yard import Yard

import remit


def test_one_byte_of_what_decides_and_no_drain_begins(tmp_path: Path) -> None:
    yard = Yard.make(tmp_path)
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(remit.__file__).parent, copy / "remit", ignore=ignored)
    file = copy / "remit" / "core" / "status.py"
    file.write_bytes(file.read_bytes() + b"\n")
    before = yard.cli.json("list")
    process = yard.start(*yard.arguments(), "--json", PYTHONPATH=str(copy))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, (out[-2000:], err[-2000:])
    error = json.loads(err.splitlines()[-1])["error"]
    assert error["code"] == "PARITY_UNPROVED"
    assert "remit prove parity --record" in error["hint"]
    assert yard.cli.json("list") == before
    assert yard.cli.json("run", "list")["runs"] == []
