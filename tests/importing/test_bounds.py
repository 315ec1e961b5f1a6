"""An import holds ids and edges in memory, and nothing else that grows with the file."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from tests.ground.ledgers import HUMAN, made
from tests.importing.backlogs import write_backlog
from tests.importing.test_readiness import RULE, bring

from remit.exchange.beads_backlog import BeadsBacklog
from remit.service import importing, kept

MOST_BYTES = 300
"""Most memory that a row may cost, from end to end."""


def _peak(folder: Path, rows: int) -> int:
    folder.mkdir()
    path = write_backlog(folder / "backlog.jsonl", rows)
    ledger = made(folder)
    ledger.acting(HUMAN).run(RULE)
    tracemalloc.start()
    try:
        started = time.monotonic()
        answer = bring(ledger, path)
        took = time.monotonic() - started
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        ledger.close()
    assert answer["imported"] == rows
    print(f"{rows} rows: peak {peak / 1e6:.1f} MB, {rows / took:.0f} rows/s while traced")
    return peak


SLACK_BYTES = 250_000
"""How much the peak of a short import moves by chance: what the transaction in progress holds."""


def _growth(tmp_path: Path, few: int, many: int) -> float:
    """Bytes a row by which the peak grows, beyond what it moves by chance."""
    _peak(tmp_path / "warm", 200)
    low = _peak(tmp_path / "few", few)
    return (_peak(tmp_path / "many", many) - low - SLACK_BYTES) / (many - few)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small transactions, and little handed on between them, so that what a row leaves behind shows soon.

    What is handed on has a bound of its own; an import of few rows would still be filling it.
    """
    monkeypatch.setattr(importing, "CHUNK", 25)
    monkeypatch.setattr(kept, "MOST", 400)


@pytest.mark.usefixtures("little")
def test_memory_of_an_import_grows_by_few_bytes_a_row(tmp_path: Path) -> None:
    assert _growth(tmp_path, 1_000, 3_000) <= MOST_BYTES


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_memory_of_a_large_import_grows_by_few_bytes_a_row(tmp_path: Path) -> None:
    """With nothing patched: what is handed on between transactions fills up long before the first peak.

    Between 20,000 and 60,000 rows it was 139 bytes a row.
    """
    assert _growth(tmp_path, 20_000, 60_000) <= MOST_BYTES


@pytest.mark.usefixtures("little")
def test_a_reader_that_keeps_every_row_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = BeadsBacklog.items
    monkeypatch.setattr(BeadsBacklog, "items", lambda self: iter(list(items(self))))
    assert _growth(tmp_path, 200, 600) > MOST_BYTES
