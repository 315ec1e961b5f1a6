"""What an import makes ready is what the file says, and nothing else ever is."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.ground.ledgers import HUMAN, all_items, done, faults_of, head, made
from tests.importing.backlogs import crooked, edge, entry, large, write
from tests.importing.oracle import Oracle

from remit.core import commands as c
from remit.core import gates
from remit.exchange.beads_backlog import BeadsBacklog
from remit.service.importing import Import, recheck_gate
from remit.wiring import Ledger

RULE = c.RegisterRule("default", "d" * 64, ("true",), "")


def bring(ledger: Ledger, path: Path) -> dict[str, Any]:
    """Import a file; rows add up whatever it holds."""
    answer = Import(ledger.acting(HUMAN), BeadsBacklog(path), "default", None).run()
    assert isinstance(answer, dict), answer
    outcomes = answer["imported"] + answer["unchanged"] + answer["quarantined_total"]
    assert outcomes == answer["rows"]
    assert answer["quarantined_total"] == len(answer["quarantined"])
    return answer


def accept(ledger: Ledger) -> None:
    """Accept the rule, and let admission look at what waited for that."""
    done(ledger.acting(HUMAN).run(c.AcceptRule("default")))
    assert recheck_gate(ledger.acting(HUMAN), f"{gates.RULE}/default") is None


def by_status(ledger: Ledger) -> dict[str, set[str]]:
    """Aliases of all items by status."""
    found: dict[str, set[str]] = {}
    with ledger.store.read() as tx:
        for item in all_items(tx):
            found.setdefault(str(item.status), set()).add(item.alias)
    return found


def _compare(tmp_path: Path, entries: list[dict[str, Any]], early: bool) -> None:
    path = write(tmp_path / "backlog.jsonl", entries)
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    if early:
        accept(ledger)
    bring(ledger, path)
    if not early:
        assert "ready" not in by_status(ledger)
        accept(ledger)
    assert by_status(ledger).get("ready", set()) == Oracle(entries).ready()
    seq = head(ledger)
    again = bring(ledger, path)
    assert (again["imported"], again["changed"], head(ledger)) == (0, False, seq)
    assert faults_of(ledger) == []
    ledger.close()


@pytest.mark.parametrize("early", [True, False], ids=["rule-first", "rule-later"])
@pytest.mark.parametrize("seed", range(12))
def test_exactly_what_waits_for_nothing_becomes_ready(
    tmp_path: Path, seed: int, early: bool
) -> None:
    _compare(tmp_path, crooked(30, seed), early)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 400))
def test_exactly_what_waits_for_nothing_becomes_ready_in_many(tmp_path: Path, seed: int) -> None:
    _compare(tmp_path, crooked(20 + seed % 60, seed), seed % 2 == 0)


def test_exactly_what_waits_for_nothing_becomes_ready_in_a_large_one(tmp_path: Path) -> None:
    _compare(tmp_path, list(large(1_500)), early=False)


def test_the_oracle_notices_one_edge_that_counts_as_met(tmp_path: Path) -> None:
    entries = [entry("x"), entry("y", "open", edge("y", "x"))]
    wrong = [entry("x", "closed"), entry("y", "open", edge("y", "x"))]
    assert Oracle(entries).ready() == {"x"}
    with pytest.raises(AssertionError):
        path = write(tmp_path / "backlog.jsonl", wrong)
        ledger = made(tmp_path)
        done(ledger.acting(HUMAN).run(RULE))
        accept(ledger)
        bring(ledger, path)
        found = by_status(ledger)["ready"]
        ledger.close()
        assert found == Oracle(entries).ready()


def test_an_epic_that_waits_for_its_own_parts_lets_them_begin(tmp_path: Path) -> None:
    entries = [
        entry("epic", "open", edge("epic", "part-1"), edge("epic", "part-2"), issue_type="epic"),
        entry("part-1", "open", edge("part-1", "epic", "parent-child")),
        entry("part-2", "open", edge("part-2", "epic", "parent-child"), edge("part-2", "part-1")),
        entry("other", "open", edge("other", "epic")),
        entry("deep", "open", edge("deep", "part-1", "parent-child")),
        entry("whole", "open", edge("whole", "epic", "waits-for")),
    ]
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    accept(ledger)
    bring(ledger, write(tmp_path / "backlog.jsonl", entries))
    assert by_status(ledger) == {
        "ready": {"part-1", "deep"}, "held": {"epic", "part-2", "other", "whole"},
    }  # fmt: skip
    assert faults_of(ledger) == []
    ledger.close()


@pytest.mark.parametrize("last", ["parent", "waiter", "child"])
@pytest.mark.parametrize(("status", "expected"), [("closed", {"waiter"}), ("tombstone", set())])
def test_a_finished_part_counts_wherever_it_stands_in_the_file(
    tmp_path: Path, last: str, status: str, expected: set[str]
) -> None:
    entries = [
        entry("parent", "in_progress"),
        entry("waiter", "open", edge("waiter", "parent", "waits-for")),
        entry("child", status, edge("child", "parent", "parent-child")),
        entry("done", "closed", edge("done", "parent", "parent-child")),
    ]
    entries.sort(key=lambda one: one["id"] == last)
    _compare(tmp_path, entries, early=False)
    assert Oracle(entries).ready() == expected


def test_parts_learn_that_their_parent_waits_for_them_alone(tmp_path: Path) -> None:
    entries = [
        entry("part", "open", edge("part", "epic", "parent-child")),
        entry("deep", "open", edge("deep", "part", "parent-child")),
        entry("epic", "open", edge("epic", "part")),
    ]
    for number, order in enumerate(permutations(entries)):
        folder = tmp_path / str(number)
        folder.mkdir()
        _compare(folder, list(order), early=True)
    assert Oracle(entries).ready() == {"part", "deep"}


def test_a_circle_through_a_closed_parent_holds_nothing(tmp_path: Path) -> None:
    entries = [
        entry("task", "open", edge("task", "done", "parent-child")),
        entry("done", "closed", edge("done", "epic", "parent-child")),
        entry("epic", "open", edge("epic", "next")),
        entry("next", "open", edge("next", "task")),
    ]
    _compare(tmp_path, entries, early=True)
    assert Oracle(entries).ready() == {"task"}
