"""RELIABILITY.md claims nothing that is not there: files, tests, and the invariants' names in both."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "RELIABILITY.md"
COUNT = 25
LATER = re.compile(r"comes with step [1-4] of the roadmap\Z")
PARTLY = re.compile(r"partly: \S.+\Z")


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the table of invariants."""
    found = [line.strip("|").split(" | ") for line in text.splitlines() if "| INV-" in line]
    return [[cell.strip() for cell in cells] for cells in found]


def named(cell: str) -> list[str]:
    """What a cell names in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def faults(text: str, read: Callable[[str], str | None]) -> list[str]:
    """What the page claims and the tree does not have; ``read`` gives a file's text or None."""
    wrong = []
    table = rows(text)
    if [cells[0] for cells in table] != [f"INV-{n}" for n in range(1, COUNT + 1)]:
        wrong.append(f"the table must have INV-1 to INV-{COUNT}, once and in order")
    for cells in table:
        if len(cells) != 5 or not cells[1]:
            wrong.append(f"{cells[0]}: five cells and a promise")
            continue
        name, _, lives, shown, state = cells
        sources, tests = named(lives), named(shown)
        if LATER.match(state):
            wrong += [f"{name}: not built, yet it names {x}" for x in (*sources, *tests)]
            continue
        if state != "shown" and not PARTLY.match(state):
            wrong.append(f"{name}: no such state: {state}")
        if not sources or not tests:
            wrong.append(f"{name}: names no code or no test")
        for claim in (*sources, *tests):
            path, _, test = claim.partition("::")
            content = read(path)
            if content is None:
                wrong.append(f"{name}: there is no {path}")
            elif not re.search(rf"\b{name}\b", content) and not _between(name, content):
                wrong.append(f"{name}: {path} does not name it")
            elif test and f"def {test}(" not in content:
                wrong.append(f"{name}: {path} has no {test}")
    return wrong


def missing(
    text: str, there: Callable[[str], bool], read: Callable[[str], str | None]
) -> list[str]:
    """Files, folders and tests that the page names anywhere and the tree does not have."""
    wrong = []
    for claim in dict.fromkeys(re.findall(r"`((?:src|tests)/[^`\s]+)`", text)):
        path, _, test = claim.partition("::")
        if not there(path):
            wrong.append(f"there is no {path}")
        elif test and f"def {test}(" not in (read(path) or ""):
            wrong.append(f"{path} has no {test}")
    return wrong


def track_record(text: str, heading: str = "## Track record") -> list[list[str]]:
    """The rows of a table of faults, such as those found: found by, fault, mended by, held by."""
    part = text.partition(heading)[2].partition("\n## ")[0]
    found = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found[2:]]


def _between(name: str, content: str) -> bool:
    """Whether a file names a range of invariants that this one lies in."""
    number = int(name[4:])
    spans = re.findall(r"INV-(\d+) to INV-(\d+)", content)
    return any(int(low) <= number <= int(high) for low, high in spans)


def read(path: str) -> str | None:
    """A file of this tree."""
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def test_every_promise_stands_in_code_and_in_a_test() -> None:
    found = faults(PAGE.read_text(encoding="utf-8"), read)
    assert not found, "\n".join(["", *found])


def test_every_file_and_test_that_the_page_names_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert missing(text, lambda path: (ROOT / path).exists(), read) == []
    found = missing(text.replace("::test_a", "::test_b"), lambda path: (ROOT / path).exists(), read)
    assert any("has no test_b" in line for line in found)
    assert "there is no src/remit/proofs/history.py" in missing(text, lambda _path: False, read)


def test_every_fault_that_was_found_is_held_by_a_test() -> None:
    table = track_record(PAGE.read_text(encoding="utf-8"))
    assert len(table) >= 14
    for cells in table:
        assert len(cells) == 4
        assert all(cells)
        assert named(cells[3]), f"held by nothing: {cells[1]}"


def test_every_fault_of_queues_is_held_by_a_named_test() -> None:
    table = track_record(PAGE.read_text(encoding="utf-8"), "## Faults of queues, by name")
    assert len(table) == len({cells[0] for cells in table}) == 11
    for cells in table:
        assert all("::test_" in test for test in named(cells[2])), cells[0]
        assert named(cells[2]), f"held by nothing: {cells[0]}"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| INV-4 |", "| INV-44 |", "once and in order"),
        ("src/remit/core/status.py", "src/remit/core/statuses.py", "there is no"),
        ("test_every_move_is_in_the_table_or_refused", "test_that_nobody_wrote", "has no"),
        ("tests/core/test_transitions.py::test_every_m", "tests/conftest.py::test_", "name it"),
        ("| shown |", "| proven |", "no such state"),
        ("| shown |", "| comes with step 3 of the roadmap |", "not built, yet it names"),
    ],
)
def test_the_check_can_fail(old: str, new: str, complaint: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert old in text
    found = faults(text.replace(old, new, 1), read)
    assert any(complaint in line for line in found), found
