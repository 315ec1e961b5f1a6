"""Backlogs that others wrote, where they lie beside the repository; counts only, no text.

They are looked for in REMIT_SHARED_DATA, or in `shared/data` beside the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.exchange.backlog import BacklogRow, NoticeCode, Quarantined
from remit.exchange.beads import rows, scan

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
FOLDER = Path(os.environ.get("REMIT_SHARED_DATA") or BESIDE) / "backlogs" / "beads"

# file: rows, edges, dangling edges, cycles, edges of closed rows to open blockers
KNOWN = {
    "agent-relay-2026-02-16.jsonl": (439, 97, 0, 1, 9),
    "beads-2025-10-19.jsonl": (163, 0, 0, 0, 0),
    "beads-2026-02-27.jsonl": (704, 745, 30, 0, 0),
    "bedrock-2026-01-01.jsonl": (7, 2, 0, 0, 0),
    "herdctl-2026-01-28.jsonl": (141, 243, 0, 0, 0),
}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_row_of_a_real_backlog_has_one_outcome(name: str) -> None:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"real backlogs are not here: {FOLDER}")
    seen = scan(path)
    found = list(rows(path, seen))
    imported = [one for one in found if isinstance(one, BacklogRow)]
    refused = [one for one in found if isinstance(one, Quarantined)]
    assert len(found) == seen.rows == len(imported) + len(refused)
    assert len(imported) == seen.importable
    assert len({one.alias for one in imported}) == len(imported)
    codes = [notice.code for one in imported for notice in one.notices]
    assert (
        seen.rows,
        sum(seen.edges.values()),
        seen.dangling,
        len(seen.cycles),
        codes.count(NoticeCode.CLOSED_WITH_OPEN_BLOCKER),
    ) == KNOWN[name]
    assert codes.count(NoticeCode.DANGLING_EDGE) == seen.dangling
    assert [one.digest for one in rows(path, scan(path)) if isinstance(one, BacklogRow)] == [
        one.digest for one in imported
    ]
