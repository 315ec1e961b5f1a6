"""Backlogs that others wrote, imported whole, where they lie beside the repository.

They are looked for in REMIT_SHARED_DATA, or in `shared/data` beside the repository. Counts only.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.exchange.test_real_backlogs import FOLDER, KNOWN
from tests.ground.ledgers import HUMAN, done, faults_of, head, made
from tests.importing.oracle import Oracle
from tests.importing.test_readiness import RULE, accept, bring, by_status


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_real_backlog_comes_in_whole_and_once(tmp_path: Path, name: str) -> None:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"real backlogs are not here: {FOLDER}")
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    answer = bring(ledger, path)
    rows, edges, dangling, cycles, _ = KNOWN[name]
    found = (sum(answer["edges"].values()), answer["dangling"], answer["cycles_total"])
    assert (answer["rows"], *found) == (rows, edges, dangling, cycles)
    seq = head(ledger)
    again = bring(ledger, path)
    assert (again["unchanged"], again["changed"]) == (answer["imported"], False)
    assert head(ledger) == seq
    accept(ledger)
    ready = by_status(ledger).get("ready", set())
    print(f"{name}: {len(ready)} of {rows} ready, {len(answer['quarantined'])} quarantined")
    entries = [json.loads(line) for line in path.read_text("utf-8-sig").splitlines() if line]
    assert answer["imported"] == len(entries), "the oracle reads whole files only"
    assert ready == Oracle(entries).ready()
    assert faults_of(ledger) == []
    ledger.close()
