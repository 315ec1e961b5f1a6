"""The reference of scenarios names every part that a file may have, and none that it may not."""

from __future__ import annotations

import re
from pathlib import Path

from remit.scenarios import coverage, probes, verbs
from remit.service.reading.sheets.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "scenarios.md").read_text("utf-8")


def known() -> set[str]:
    names = {*verbs.TOP, *verbs.GIVEN, *verbs.VERBS, *verbs.EXPECTED, *verbs.LINE, *verbs.PROBED}
    names |= {name for verb in verbs.VERBS.values() for name in verb.fields}
    names |= {*probes.PROBES, *QUESTIONS, *coverage.LABELS}
    return names | {n for p in probes.PROBES.values() for n in p.named or ()}


def missing(page: str) -> list[str]:
    return sorted(name for name in known() if f"`{name}`" not in page)


def test_the_reference_names_every_part() -> None:
    assert missing(PAGE) == []


def test_the_check_of_the_reference_can_fail() -> None:
    assert missing(PAGE.replace("`end-worker`", "`endworker`")) == ["end-worker"]


def first_cells(page: str, after: str) -> set[str]:
    table = page.partition(after)[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `([^`]+)`", table, re.MULTILINE))


def test_its_tables_name_nothing_else() -> None:
    assert first_cells(PAGE, "| verb | does | arguments |") == set(verbs.VERBS)
    assert first_cells(PAGE, "| part | what it is compared with |") == set(verbs.EXPECTED)
    assert first_cells(PAGE, "| probe | answers | `name` |") == set(probes.PROBES)
    assert first_cells(PAGE, "| question | asks |") == set(QUESTIONS)
