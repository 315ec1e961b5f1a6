"""``prove``: what scripts read of it, and that it can say no."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tests.surfaces.cli.calling import Cli

from remit.proofs.mutants import MUTANTS
from remit.proofs.patching import planted


def test_a_model_that_holds_is_exit_0(cli: Cli) -> None:
    data = cli.json("prove", "model", "delivery", "--limit", "300", "--processes", "1")
    assert data["states"] >= 300
    assert data["transitions"] > data["states"]
    assert all(one["held"] for one in data["properties"])
    assert data["mutants"] == data["counterexamples"] == []
    ran = cli.run("prove", "model", "delivery", "--limit", "300", "--processes", "1")
    assert "states" in ran.err  # progress
    assert ran.out.endswith("ok\n")
    assert cli.run("prove", "model", "queue", "--limit", "9", "--processes", "1", "-q").err == ""


def test_a_fault_is_a_no_and_its_trace_is_run_again(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = next(m for m in MUTANTS if m.name == "expiry-one-instant-late")
    monkeypatch.setattr("remit.proofs.main.WORLDS", {mutant.world.name: mutant.world})
    found = cli.cwd / "found.json"
    argv = ("prove", "model", mutant.world.name, "--processes", "1", "--trace", str(found))
    with ExitStack() as stack:
        for patch in mutant.patches:
            stack.enter_context(planted(*patch))
        data = cli.json(*argv, status=6)
        text = cli.text(*argv, status=6)
        again = cli.json("prove", "replay", str(found), status=6)
    assert [broken["property"] for broken in data["counterexamples"]] == [mutant.caught_by]
    assert f"{mutant.caught_by} is broken" in text
    assert text.endswith(f"run it again: remit prove replay {found}\n")
    assert again["broken"] == mutant.caught_by
    assert again["steps"] == len(data["counterexamples"][0]["steps"])
    assert any("LeaseGranted" in line for line in again["lines"])
    assert "every property held" in cli.text("prove", "replay", str(found))


def test_what_cannot_be_proved_is_one_line(cli: Cli) -> None:
    assert "there is no world 'no'" in cli.line("prove", "model", "no", status=2)
    for text in ("", "[]", '{"world":"no"}', '{"world":"queue"}', '{"world":"queue","steps":[{}]}',
                 '{"world":"queue","steps":[{"command":"no"}]}'):  # fmt: skip
        (cli.cwd / "bad").write_text(text)
        cli.refused("prove", "replay", "bad", status=2, code="INPUT_PROBLEM")
        cli.refused("prove", "history", "bad", status=2, code="INPUT_PROBLEM")
    for what in ("replay", "history"):
        cli.refused("prove", what, "not-there", status=2, code="INPUT_PROBLEM")


def test_a_history_is_judged_where_it_is_and_where_it_was_exported(cli: Cli) -> None:
    cli.json("create", "One", "--verify", "true")
    cli.json("lease", "W-1")
    lines = cli.cwd / "all.jsonl"
    cli.json("ledger", "export", str(lines))
    here, there = cli.json("prove", "history"), cli.json("prove", "history", str(lines))
    assert here == there
    assert here["problems"] == []
    assert cli.text("prove", "history").startswith("the history is possible")


def test_an_impossible_history_is_exit_7(cli: Cli) -> None:
    """Made by a fault in the rules: two leases have one fence."""
    mutant = next(m for m in MUTANTS if m.name == "fence-counter-stands-still")
    for title in ("One", "Two"):
        cli.json("create", title, "--verify", "true")
    with ExitStack() as stack:
        for patch in mutant.patches:
            stack.enter_context(planted(*patch))
        fence = cli.json("lease", "W-1")["lease"]["fence"]
        cli.json("release", "W-1", "--fence", str(fence))
        assert cli.json("lease", "W-2")["lease"]["fence"] == fence
    data = cli.json("prove", "history", status=7)
    assert data["problems"]
    assert "impossible" in cli.text("prove", "history", status=7)
