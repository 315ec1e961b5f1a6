"""The import contracts hold on the tree, and each one breaks when its rule is broken.

A copy of the package gets one bad import; the contract that should object must be the one that does.
So no surface, and no drain, reaches a store past the operations (INV-17); what no import shows is looked
for in ``test_past_operations``.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "remit"
LINTER = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    chosen = [argument for contract in contracts for argument in ("--contract", contract)]
    return subprocess.run(
        [LINTER, "--no-cache", *chosen, ROOT / "pyproject.toml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "remit", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        ("layers", "core/probe.py", "import remit.service"),
        ("layers", "service/probe.py", "import remit.stores"),
        ("layers", "stores/probe.py", "import remit.service"),
        ("layers", "verify/probe.py", "import remit.repository"),
        ("layers", "service/probe.py", "import remit.surfaces.cli"),
        ("layers", "isolation/probe.py", "import remit.repository"),
        ("layers", "isolation/probe.py", "import remit.service"),
        ("adapters", "demo/probe.py", "import remit.isolation.cell"),
        ("layers", "unnamed/__init__.py", ""),
        ("adapters", "surfaces/cli/probe.py", "import remit.stores"),
        ("adapters", "surfaces/cli/probe.py", "from remit.stores import probe_store"),
        ("adapters", "proofs/__init__.py", "import remit.exchange"),
        ("surfaces", "surfaces/probe/__init__.py", "import remit.surfaces.cli"),
        ("core", "core/probe.py", "import time"),
        ("core", "core/probe.py", "from msgspec import json"),
        ("service", "service/probe.py", "import apsw"),
        ("layers", "drain/probe.py", "import remit.wiring"),
        ("adapters", "drain/probe.py", "import remit.documents"),
        ("drain", "drain/agents/probe.py", "import apsw"),
        ("adapters", "drain/probe.py", "from remit.stores.memory import MemoryStore"),
        ("operations", "drain/probe.py", "from remit.core.decide import decide"),
        ("operations", "drain/probe.py", "from remit.core.view import Draft"),
        ("operations", "surfaces/cli/probe.py", "import remit.core.decide.leases"),
        ("operations", "workers/probe.py", "from remit.service.group import GroupEngine"),
        ("warden", "drain/processes.py", "import msgspec"),
        ("warden", "drain/groups.py", "import remit.core.refusals"),
    ],
)
def test_a_bad_import_breaks_its_contract(
    copy: Path, contract: str, module: str, line: str
) -> None:
    (copy / "remit" / "stores" / "probe_store.py").write_text("")
    target = copy / "remit" / module
    target.parent.mkdir(exist_ok=True)  # a room may not be there yet
    target.write_text(line + "\n")
    done = lint(copy, contract)
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    assert "BROKEN" in output or "not listed as layers" in output.lower(), output


def test_wiring_may_import_adapters(copy: Path) -> None:
    (copy / "remit" / "wiring.py").write_text("import remit.stores\nimport remit.exchange\n")
    (copy / "remit" / "surfaces" / "cli" / "probe.py").write_text("import remit.wiring\n")
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr
