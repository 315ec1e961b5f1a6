"""A file of hazards: every row has one outcome with a name, and nothing is dropped in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ground.ledgers import AGENTS, HUMAN, all_items, done, faults_of, head, made
from tests.importing.backlogs import edge, entry, write
from tests.importing.test_readiness import RULE, accept, bring, by_status

from remit.core import commands as c
from remit.core.facts import Item
from remit.core.refusals import Code
from remit.exchange.beads_backlog import BeadsBacklog
from remit.service.importing import Import
from remit.wiring import Ledger


def _line(*arguments: Any, **more: Any) -> bytes:
    return json.dumps(entry(*arguments, **more)).encode()


HAZARDS: list[tuple[bytes, str]] = [
    (_line("plain"), "imported"),
    (_line("dangling", "open", edge("dangling", "nowhere")), "imported"),
    (_line("on-deleted", "open", edge("on-deleted", "deleted")), "imported"),
    (_line("deleted", "tombstone"), "imported"),
    (_line("odd", "some-status"), "imported"),
    (_line("odd-edge", "open", edge("odd-edge", "plain", "some-kind")), "imported"),
    (_line("no-kind", "open", edge("no-kind", "plain", None)), "imported"),
    (_line("plain", title="again"), "DUPLICATE_ID"),
    (b'{"title":"no id","status":"open"}', "MISSING_ID"),
    (_line("back", "closed", created_at="2026-05-01T00:00:00Z", closed_at="2026-04-01T00:00:00Z"),
     "imported"),
    (b'{"id":"torn","title":"to', "BROKEN_JSON"),
    (b"[1,2]", "NOT_AN_OBJECT"),
    (_line("absurd", created_at="9999-99-99T99:99:99Z"), "imported"),
    (_line("ancient", created_at="0001-01-01T00:00:00Z"), "imported"),
    (_line("ring-1", "open", edge("ring-1", "ring-2")), "imported"),
    (_line("ring-2", "open", edge("ring-2", "ring-3")), "imported"),
    (_line("ring-3", "open", edge("ring-3", "ring-1"), edge("ring-3", "ring-2")), "imported"),
    (_line("self", "open", edge("self", "self")), "imported"),
    (_line("blank id"), "BAD_ID"),
    (_line("untitled", title=""), "MISSING_TITLE"),
    (b'{"id":"nul","title":"a\\u0000b","status":"open"}', "BAD_TEXT"),
    (b'{"id":"half","title":"\\ud800","status":"open"}', "BAD_TEXT"),
    (b'{"id":"bytes","title":"\xff\xfe","status":"open"}', "NOT_UTF8"),
    (_line("typed", priority="high"), "WRONG_TYPE"),
    (b'{"id":"unhung","title":"x","status":"open","dependencies":[{"type":"blocks"}]}', "BAD_EDGE"),
    (_line("W-1"), "BAD_INPUT"),
    (_line("in-work", "in_progress"), "imported"),
    (_line("long", description="x" * 300_000, title="t" * 900), "imported"),
    (_line("clean", title="one\x1b[31m\ntwo"), "imported"),
]  # fmt: skip
"""Rows, each with how it comes out."""

ENDS = (b"\n", b"\r\n", b"\n\n", b"\n  \n")


def hazards(path: Path) -> Path:
    """The hazards in one file, with a byte order mark and mixed line ends."""
    lines = b"".join(row + ENDS[i % len(ENDS)] for i, (row, _) in enumerate(HAZARDS))
    path.write_bytes(b"\xef\xbb\xbf" + lines)
    return path


def _items(ledger: Ledger) -> dict[str, Item]:
    with ledger.store.read() as tx:
        return {item.alias: item for item in all_items(tx)}


@pytest.fixture
def brought(tmp_path: Path) -> Any:
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    yield ledger, bring(ledger, hazards(tmp_path / "hazards.jsonl")), tmp_path
    ledger.close()


def test_every_row_has_the_outcome_that_it_should(brought: Any) -> None:
    ledger, answer, _ = brought
    expected = {i + 1: out for i, (_, out) in enumerate(HAZARDS) if out != "imported"}
    assert {row["row"]: row["code"] for row in answer["quarantined"]} == expected
    assert all(row["reason"] for row in answer["quarantined"])
    assert answer["rows"] == len(HAZARDS)
    assert answer["imported"] == sum(out == "imported" for _, out in HAZARDS)
    assert len(_items(ledger)) == answer["imported"]
    assert (answer["dangling"], answer["to_tombstones"], answer["to_self"]) == (1, 1, 1)
    rings = [(cycle["ids"], cycle["shortest"]) for cycle in answer["cycles"]]
    assert rings == [(["ring-2", "ring-3"], True), (["self"], True)]
    assert faults_of(ledger) == []


def test_nothing_unresolved_ever_counts_as_met(brought: Any) -> None:
    ledger, _, _ = brought
    accept(ledger)
    ready = {"plain", "absurd", "ancient", "long", "clean", "odd-edge"}
    assert by_status(ledger)["ready"] == ready
    items = _items(ledger)
    assert items["dangling"].hold is not None
    assert items["dangling"].hold.reason == "UNRESOLVED_DEPENDENCY"
    assert str(items["on-deleted"].status) == "triaged"
    assert {str(items[f"ring-{i}"].status) for i in (1, 2, 3)} <= {"triaged", "held"}
    assert items["odd"].gate == items["in-work"].gate == "import-status"
    assert items["odd-edge"].links == (("some-kind", "plain"),)
    assert str(items["no-kind"].status) == "held"
    assert faults_of(ledger) == []


def test_what_closed_elsewhere_is_imported_and_never_verified(brought: Any) -> None:
    ledger, _, _ = brought
    for name in ("deleted", "back"):
        item = _items(ledger)[name]
        assert (str(item.status), str(item.outcome), item.results) == ("closed", "imported", ())


def test_a_second_import_of_hazards_changes_nothing_and_says_so(brought: Any) -> None:
    ledger, first, folder = brought
    seq = head(ledger)
    second = bring(ledger, folder / "hazards.jsonl")
    assert head(ledger) == seq
    assert (second["imported"], second["unchanged"]) == (0, first["imported"])
    assert second["changed"] is False
    assert second["quarantined"] == first["quarantined"]


def test_a_changed_row_is_revised_while_draft_and_quarantined_later(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    accept(ledger)
    path = tmp_path / "backlog.jsonl"
    bring(ledger, write(path, [entry("a"), entry("b"), entry("c", "in_progress"), entry("d")]))
    done(ledger.acting(AGENTS[0]).lease(c.GrantLease(_items(ledger)["a"].id)))
    changed = [
        entry("a", title="new"), entry("b", title="new"), entry("c", "closed"), entry("d"),
        entry("e"),
    ]  # fmt: skip
    answer = bring(ledger, write(path, changed))
    assert [(q["id"], q["code"]) for q in answer["quarantined"]] == [("a", "CHANGED_UPSTREAM")]
    assert (answer["imported"], answer["unchanged"]) == (3, 1)
    items = _items(ledger)
    assert (str(items["c"].status), str(items["c"].outcome)) == ("closed", "imported")
    assert items["b"].plan.brief_revision == 2
    seq = head(ledger)
    again = bring(ledger, path)
    assert (head(ledger), again["unchanged"], again["imported"]) == (seq, 4, 0)
    assert faults_of(ledger) == []
    ledger.close()


def test_an_import_by_somebody_unknown_changes_nothing(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    seq = head(ledger)
    path = write(tmp_path / "backlog.jsonl", [entry("a")])
    answer = Import(ledger.acting("nobody"), BeadsBacklog(path), "default", None).run()
    assert getattr(answer, "code", None) is Code.ACTOR_UNKNOWN
    assert head(ledger) == seq
    ledger.close()


@pytest.mark.parametrize(("status", "waiter"), [("closed", "ready"), ("tombstone", "triaged")])
def test_a_row_that_ends_later_meets_a_dependency_only_if_it_was_not_deleted(
    tmp_path: Path, status: str, waiter: str
) -> None:
    ledger = made(tmp_path)
    done(ledger.acting(HUMAN).run(RULE))
    accept(ledger)
    path = tmp_path / "backlog.jsonl"
    waits = entry("waiter", "open", edge("waiter", "a"))
    bring(ledger, write(path, [entry("a"), waits]))
    assert str(_items(ledger)["waiter"].status) == "held"
    bring(ledger, write(path, [entry("a", status), waits]))
    assert str(_items(ledger)["waiter"].status) == waiter
    seq = head(ledger)
    assert bring(ledger, path)["unchanged"] == 2
    assert head(ledger) == seq
    assert faults_of(ledger) == []
    ledger.close()
