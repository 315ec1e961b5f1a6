"""Effect work at the command line: rules, capacity, intents, rechecks, limits, reconciliation."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.calling import Cli

RULES = """
validation: V-1
required: [deadline]
---
policy: P-1
validation: V-1
classes: [export]
freshness_limit: 2m
storage_limit: 3
admission_owner: GATE-2
---
destination: D-1
name: files
record: INDEX
kind: filesystem
settings: {root: %s, path: "{effect_id}.bin"}
enforces: {idempotency_key: true, fence: true, lookup: true, lookup_consistent: true}
"""


def when(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat(timespec="seconds")


def intent(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "work_id": f"WORK-{number}", "message_id": f"MESSAGE-{number}", "operation_id": "EXPORT",
        "effect_id": f"PACKAGE-{number}", "replay_class": "RECONCILABLE", "priority_class": "export",
        "deadline": when(20), "minimum_completion_margin": "6m", "destination": "files",
        "cancellation_state": "NOT_REQUESTED", "blast_radius": "one file",
        "completion_test": [{"name": "exact digest", "field": "digest", "required": "abc"}], **more,
    }  # fmt: skip


def capacity(**more: Any) -> dict[str, Any]:
    return {
        "class": "export", "observed_at": when(0), "start_delay": "1m", "duration": "2m",
        "dependency_state": "OK", "in_flight": 0, "worker_limit": 2, "reserved": 0, **more,
    }  # fmt: skip


@pytest.fixture
def ruled(cli: Cli, tmp_path: Path) -> Cli:
    out = tmp_path / "out"
    out.mkdir()
    write(cli, "rules.yaml", RULES % out)
    applied = cli.json("policy", "apply", "rules.yaml")
    assert [d["state"] for d in applied["documents"]] == ["registered"] * 3
    return cli


def write(cli: Cli, name: str, what: Any) -> str:
    text = what if isinstance(what, str) else json.dumps(what)
    (cli.cwd / name).write_text(text)
    return name


def test_documents_are_checked_applied_and_listed(ruled: Cli) -> None:
    checked = ruled.json("policy", "check", "rules.yaml")
    assert checked["problems"] == []
    again = ruled.json("policy", "apply", "rules.yaml")
    assert [d["state"] for d in again["documents"]] == ["unchanged"] * 3
    listed = {(d["kind"], d["of"]): d["label"] for d in ruled.json("policy", "list")["documents"]}
    assert listed == {
        ("policy", "export"): "P-1", ("destination", "files"): "D-1", ("validation", ""): "V-1",
    }  # fmt: skip
    assert "P-1" in ruled.text("policy", "list")


def test_a_bad_document_names_every_fault_and_writes_nothing(cli: Cli) -> None:
    write(cli, "bad.yaml", "policy: P\nclasses: [a]\nattempts: many\nfreshness: 2m\n")
    checked = cli.json("policy", "check", "bad.yaml", status=2)
    assert [(p["line"], p["path"]) for p in checked["problems"]] == [
        (1, "$"), (3, "$.attempts"), (4, "$.freshness"),
    ]  # fmt: skip
    refused = cli.refused("policy", "apply", "bad.yaml", status=2, code="INPUT_PROBLEM")
    assert len(refused["details"]["problems"]) == 3
    assert cli.json("policy", "list")["documents"] == []


def test_only_a_human_applies_a_policy(ruled: Cli) -> None:
    write(ruled, "more.yaml", "validation: V-2\n")
    ruled.refused("policy", "apply", "more.yaml", status=3, code="ACTOR_KIND_REFUSED", actor="bot")


def test_a_label_stands_for_one_content(ruled: Cli) -> None:
    write(ruled, "other.yaml", "validation: V-1\nmax_bytes: 7\n")
    ruled.refused("policy", "apply", "other.yaml", status=3, code="LABEL_TAKEN")


def test_work_is_held_without_evidence_and_admitted_with_it(ruled: Cli) -> None:
    file = write(ruled, "one.json", intent())
    [held] = ruled.json("submit", file)["verdicts"]
    assert (held["verdict"], held["reason"]) == ("HOLD", "CAPACITY_EVIDENCE_MISSING")
    assert (held["owner"], held["recheck"]) == ("GATE-2", "capacity:export")
    assert held["recheck_at"] is not None
    stale = write(ruled, "stale.json", capacity(observed_at=when(-12)))
    ruled.json("capacity", "observe", stale)
    ruled.json("recheck")
    assert ruled.json("show", "WORK-1")["status"] == "held"
    fresh = write(ruled, "fresh.json", capacity())
    posted = ruled.json("capacity", "observe", fresh)["observation"]
    assert posted["work_class"] == "export"
    ruled.json("recheck")
    assert ruled.json("show", "WORK-1")["status"] == "ready"
    [shown] = ruled.json("capacity", "show")["observations"]
    assert shown["admitted"] == 1
    assert "export" in ruled.text("capacity", "show")


def test_a_recheck_says_the_verdict_as_submit_does(ruled: Cli) -> None:
    """It used to say HOLD of work that had expired, and to name it by its item."""
    [expired] = ruled.json("submit", write(ruled, "one.json", intent(deadline=when(-1))))[
        "verdicts"
    ]
    assert expired["verdict"] == "EXPIRE"
    [again] = ruled.json("recheck", "WORK-1")["verdicts"]
    assert {key: again[key] for key in expired} == expired
    assert (again["status"], again["changed"]) == ("closed", False)


def test_a_message_that_comes_again_returns_its_receipt(ruled: Cli) -> None:
    file = write(ruled, "one.json", intent())
    [first] = ruled.json("submit", file)["verdicts"]
    [again] = ruled.json("submit", file)["verdicts"]
    assert (again["receipt"], again["repeated"]) == (first["receipt"], True)
    other = write(ruled, "two.json", intent(operation_id="OTHER"))
    ruled.refused("submit", other, status=3, code="MESSAGE_CHANGED")


def test_a_wrong_envelope_is_stored_and_rejected_with_status_0(ruled: Cli) -> None:
    file = write(ruled, "bad.json", intent(deadline="soon", replay_class="MAYBE"))
    [verdict] = ruled.json("submit", file)["verdicts"]
    assert (verdict["verdict"], verdict["reason"]) == ("REJECT", "INVALID_ENVELOPE")


def test_a_full_store_pushes_back_and_says_when_to_come_again(ruled: Cli) -> None:
    file = write(ruled, "many.json", [intent(n) for n in range(1, 6)])
    data = ruled.json("submit", file, status=5)
    assert len(data["verdicts"]) == 3
    assert {r["code"] for r in data["refused"]} == {"STORAGE_FULL"}
    assert data["refused"][0]["details"]["retry_after_ms"] > 0


def test_what_cannot_be_read_is_refused_whole(ruled: Cli) -> None:
    for text in ("- [1\n", "", "7"):
        file = write(ruled, "odd.yaml", text)
        ruled.refused("submit", file, status=2, code="INPUT_PROBLEM")
    ruled.refused("submit", "absent.yaml", status=2, code="INPUT_PROBLEM")
    ruled.refused("capacity", "observe", status=2, code="BAD_INPUT")


def test_the_built_in_observer_takes_too_few_samples_for_no_evidence(ruled: Cli) -> None:
    refused = ruled.refused(
        "capacity", "observe", "--class", "export", status=5, code="TOO_FEW_SAMPLES"
    )
    assert refused["details"]["samples"] == 0


def test_work_is_cancelled_before_anything_was_intended(ruled: Cli) -> None:
    ruled.json("submit", write(ruled, "one.json", intent()))
    ruled.json("cancel", "WORK-1", "--reason", "not wanted")
    shown = ruled.json("show", "WORK-1")
    assert (shown["status"], shown["outcome"]) == ("closed", "cancelled")


def test_an_effect_that_nobody_intended_cannot_be_looked_up(ruled: Cli) -> None:
    assert ruled.json("reconcile")["effects"] == []
    ruled.json("submit", write(ruled, "one.json", intent()))
    ruled.refused("reconcile", "PACKAGE-1", status=3, code="EFFECT_NOT_INTENDED")
    ruled.refused("reconcile", "NONE-SUCH", status=4, code="NOT_FOUND")


def test_limits_are_set_in_part_and_shown(cli: Cli) -> None:
    cli.json("limit", "set", "class/export", "--concurrency", "2", "--weight", "3")
    [limit] = cli.json("limit", "set", "class/export", "--rate", "9", "--per", "1h")["limits"]
    assert (limit["concurrency"], limit["weight"]) == (2, 3)
    assert (limit["rate"], limit["per_ms"]) == (9, 3_600_000)
    [limit] = cli.json("limit", "set", "class/export", "--concurrency", "none")["limits"]
    assert limit["concurrency"] is None
    assert cli.json("limit", "show")["total"] == 1
    assert "class/export" in cli.text("limit", "show")
    cli.refused("limit", "set", "nonsense", status=2, code="BAD_INPUT")
    cli.refused("limit", "set", "ledger", "--rate", "-1", status=2, code="BAD_INPUT")
    cli.refused(
        "limit", "set", "ledger", "--rate", "1", status=3, code="ACTOR_KIND_REFUSED", actor="bot"
    )


def test_spend_is_reserved_and_settled(cli: Cli) -> None:
    cli.json("limit", "set", "ledger", "--spend", "100")
    cli.json("create", "One", "--verify", "true")
    cli.refused("lease", "--next", status=3, code="SPEND_UNESTIMATED", actor="bot")
    lease = cli.json("lease", "--next", "--spend", "60", actor="bot")["lease"]
    fence = str(lease["fence"])
    cli.json("report", "progress", lease["item"], "--fence", fence, "--spent", "25", actor="bot")
    [limit] = cli.json("limit", "show")["limits"]
    assert (limit["settled_micros"], limit["reserved_micros"]) == (25, 35)
