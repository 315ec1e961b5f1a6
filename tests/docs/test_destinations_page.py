"""The reference of destinations names every setting, and its example is one that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from remit.destinations.documents import parse
from remit.ports.destination import Reason
from remit.wiring import destination, enforced

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "destinations.md").read_text("utf-8")
KINDS = ("filesystem", "http", "s3", "git")


def section(kind: str) -> str:
    return PAGE.split(f"\n## {kind}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_on_the_page_and_no_other(kind: str) -> None:
    faults = parse({"name": "x", "kind": kind, "record": "r", "settings": {"no_such": 1}})
    assert isinstance(faults, tuple)
    (known,) = [f.expected.split(", ") for f in faults if f.path == "$.settings.no_such"]
    rows = [line for line in section(kind).splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]
    assert sorted(named) == sorted(known)


def test_the_example_works() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    document = yaml.safe_load(text)
    assert destination(document, {"EXPORTS_TOKEN": "Bearer x"}).name == "exports"
    assert enforced(document).in_flight_ms == 60_000


def test_every_reason_is_on_the_page() -> None:
    assert set(re.findall(r"\| `Answered` `(\w+)` \|", PAGE)) == set(Reason)


def test_the_table_says_what_the_adapters_enforce(tmp_path: Path) -> None:
    settings = {
        "filesystem": {"root": str(tmp_path), "path": "{key}"},
        "s3": {"bucket": "b", "key": "{key}"},
        "git": {"home": str(tmp_path), "remote": "origin", "ref": "refs/heads/main"},
    }
    told = PAGE.split("## What each enforces")[1].split("\n## ")[0]
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines()]
    rows = {row[0]: dict(zip(KINDS, row[1:], strict=True)) for row in table if len(row) == 5}
    names = {
        "idempotency key": "idempotency_key",
        "fence": "fence",
        "look-up": "lookup",
        "request expiry": "request_expiry",
        "compensation": "compensation",
    }
    for kind, given in settings.items():
        said = enforced({"name": "x", "kind": kind, "record": "r", "settings": given})
        for row, name in names.items():
            assert bool(getattr(said, name)) == (rows[row][kind] != "no"), (kind, row)
