"""The page on destinations of one's own says what is so: its code is run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "own-destination.md").read_text("utf-8")
PARTS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NOT_OPEN = 'raise NotSent(f"cannot open {self.path}: {error}", "bring the file back") from None'
SUITE = (sys.executable, "-m", "remit.destinations.conformance")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The page's files."""
    payments, trying, test, factory = PARTS
    (tmp_path / "payments.py").write_text(f"{payments}\n\n{factory}")
    (tmp_path / "trying.py").write_text(trying)
    (tmp_path / "test_payments.py").write_text(test)
    return tmp_path


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    known = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{folder}"}
    return subprocess.run(
        command, cwd=folder, env=known, capture_output=True, text=True, timeout=500
    )


def test_the_suite_says_what_the_page_says(written: Path) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    done = run(written, *SUITE, "trying:subject")
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_its_checks_run_one_by_one(written: Path) -> None:
    done = run(written, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert "15 passed" in done.stdout


@pytest.mark.parametrize(
    ("good", "bad", "check"),
    [
        ("if found[1] != request.digest:", "if False:", "other-payload"),
        ("if found is None:", "if True:", "second-send"),
        ("if fence < highest:", "if False:", "lower-fence"),
        ("return unavailable(str(error))", "return Seen(Result.NONE, 0)", "outage"),
        (NOT_OPEN, 'return Response("paid")', "outage"),
    ],
)
def test_a_mistake_in_it_is_found(written: Path, good: str, bad: str, check: str) -> None:
    source = (written / "payments.py").read_text()
    assert good in source
    (written / "payments.py").write_text(source.replace(good, bad))
    done = run(written, *SUITE, "trying:subject")
    assert done.returncode == 6, done.stdout
    assert re.search(rf"^FAIL +{check} ", done.stdout, re.MULTILINE), done.stdout


def test_the_factory_takes_what_remit_gives(written: Path) -> None:
    program = (
        "import payments\n"
        "print(payments.from_document('p', {'path': 'p.db'}, None, {}).enforced.record)\n"
    )
    assert run(written, sys.executable, "-c", program).stdout == "payments in p.db\n"


@pytest.mark.parametrize("named", ["", "trying", "trying:nothing", "nowhere:subject"])
def test_a_factory_that_is_not_there(written: Path, named: str) -> None:
    done = run(written, *SUITE, *([named] if named else []))
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr
