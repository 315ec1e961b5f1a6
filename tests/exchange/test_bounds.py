"""Memory and speed of the two passes, on many small rows."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from remit.exchange.beads import rows, scan


def write_rows(path: Path, count: int) -> None:
    """Rows with ids of 21 characters and one or two edges each."""
    with path.open("w") as file:
        for row in range(count):
            back = ((1, "blocks"), (7, "parent-child")) if row % 2 else ((3, "blocks"),)
            edges = ",".join(
                f'{{"issue_id":"project-abcdef-{row:06d}",'
                f'"depends_on_id":"project-abcdef-{row - far:06d}","type":"{kind}"}}'
                for far, kind in back
                if row >= far
            )
            file.write(
                f'{{"id":"project-abcdef-{row:06d}","title":"Row {row}","description":"A text.",'
                f'"status":"open","priority":2,"created_at":"2026-01-01T10:00:00.123456-08:00",'
                f'"dependencies":[{edges}]}}\n'
            )


# 43,700 is just past a growth of the table of ids, where a row costs most.
@pytest.mark.parametrize("count", [43_700, 50_000])
def test_the_first_pass_holds_300_bytes_a_row_at_most(tmp_path: Path, count: int) -> None:
    path = tmp_path / "issues.jsonl"
    write_rows(path, count)
    tracemalloc.start()
    try:
        seen = scan(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen.importable == count
    assert peak <= 300 * count, f"{peak / count:.0f} bytes a row"


def test_the_second_pass_holds_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    write_rows(path, 10_000)
    seen = scan(path)
    tracemalloc.start()
    try:
        for _ in rows(path, seen):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 1_500_000, f"pass 2 held {peak} bytes"


def test_a_huge_row_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * 1_048_576)
    tracemalloc.start()
    try:
        seen = scan(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen.rows == 1
    assert peak < 20_000_000
