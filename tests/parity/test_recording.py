"""The record of a proof: for which code, by whom, and that a drain demands it (INV-18)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.drain.version import LEFT_OUT, code_digest, digest_of, files_of
from remit.proofs.parity.drained import CODE, bounds_of, prepare
from remit.proofs.parity.recording import code_now, record_of
from remit.proofs.parity.scenario import Scenario, Thing
from remit.proofs.parity.world import REVIEWER, WORKER, build

PACKAGE = Path(remit.__file__).resolve().parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "remit", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "remit"


def test_the_digest_is_of_the_code_that_is_there(copy: Path) -> None:
    assert code_digest() == code_now() == digest_of(copy)
    names = {path.relative_to(copy).as_posix() for path in files_of(copy)}
    assert {"core/decide/leases.py", "drain/hands.py", "stores/sqlite/schema.sql"} <= names
    assert {"drain/agents/builtin/scripted.yaml", "proofs/parity/hand.py"} <= names


@pytest.mark.parametrize(
    "name",
    ["core/status.py", "service/engine.py", "stores/sqlite/schema.sql", "drain/hands.py",
     "drain/agents/builtin/scripted.yaml", "wiring/__init__.py", "proofs/parity/comparing.py"],
)  # fmt: skip
def test_one_byte_of_what_decides_makes_another_digest(copy: Path, name: str) -> None:
    before = digest_of(copy)
    file = copy / name
    file.write_bytes(file.read_bytes() + b"\n")
    assert digest_of(copy) != before


def test_a_file_more_or_another_name_makes_another_digest(copy: Path) -> None:
    before = digest_of(copy)
    (copy / "drain" / "more.py").write_text("")
    more = digest_of(copy)
    (copy / "drain" / "more.py").rename(copy / "drain" / "moore.py")
    assert len({before, more, digest_of(copy)}) == 3


def test_what_only_tells_and_what_python_makes_is_left_out(copy: Path) -> None:
    before = digest_of(copy)
    for room in LEFT_OUT:
        (copy / room / "more.py").write_text("x = 1\n")
    made = copy / "core" / "__pycache__"
    made.mkdir()
    (made / "status.pyc").write_bytes(b"made")
    assert digest_of(copy) == before


def test_only_a_proof_that_held_with_its_shortcuts_is_recorded() -> None:
    held: dict[str, Any] = {"ok": True, "scenarios": 5, "mutants": [{}, {}]}
    assert record_of(held, CODE) == c.RecordParityProof(remit.__version__, CODE, 5, 2, "PASS")
    for name, value in (("ok", False), ("mutants", [])):
        with pytest.raises(ValueError, match="only a proof that held"):
            record_of({**held, name: value}, CODE)


def test_without_a_record_for_this_code_no_run_starts() -> None:
    world = build(Scenario((Thing(),)))
    prepare(world)

    def start(code: str) -> Any:
        options = (("egress", "none"),)
        return world.operations(WORKER).run(
            c.StartRun(WORKER, REVIEWER, "scripted", bounds_of(world), "D-1", code, "h", options)
        )

    refused = start("1" * 64)
    assert isinstance(refused, Refused)
    assert refused.code is Code.PARITY_UNPROVED
    assert not isinstance(start(CODE), Refused)
