"""``prove parity``: what scripts read of it, that it can say no, and who writes its record."""

from __future__ import annotations

import pytest
from tests.surfaces.cli.calling import Cli

from remit.core.run_events import ParityProved
from remit.core.services import VERIFIER
from remit.proofs.parity import main
from remit.proofs.parity.planting import Shortcut
from remit.proofs.parity.recording import code_now
from remit.proofs.parity.shortcuts import SHORTCUTS
from remit.wiring import open_ledger


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof of a few scenarios and two shortcuts counts as whole."""
    monkeypatch.setattr(main, "WHOLE", 1)
    monkeypatch.setattr(main, "MARKS", frozenset())
    monkeypatch.setattr(main, "SHORTCUTS", SHORTCUTS[:2])
    monkeypatch.setattr(main, "MUTANT_SCENARIOS", 5)


ARGV = ("prove", "parity", "--scenarios", "2", "--processes", "1")


def test_a_proof_that_holds_is_recorded_by_remit_itself(cli: Cli, short: None) -> None:
    data = cli.json(*ARGV, "--record")
    assert data["ok"]
    assert data["recorded"]
    assert data["code"] == code_now()
    ledger = open_ledger(f"sqlite://{cli.cwd}/.remit/ledger.db")
    with ledger.reading() as tx:
        written = [r for r in tx.events(0, 1_000) if isinstance(r.event, ParityProved)]
    ledger.close()
    [record] = written
    assert record.actor == VERIFIER
    assert record.stream == f"proof/{data['code']}"
    assert (record.event.result, record.event.scenarios, record.event.mutants) == ("PASS", 2, 2)  # type: ignore[attr-defined]  # the list holds no other


def test_a_proof_that_says_no_is_exit_6_and_is_not_recorded(
    cli: Cli, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "return briefs.markdown(found)"
    nothing = Shortcut(
        "nothing", ("folded-state",), (("remit.drain.hands:Hands.brief", text, f"{text}  #"),)
    )
    monkeypatch.setattr(main, "SHORTCUTS", (nothing,))
    data = cli.json(*ARGV, "--record", status=6)
    assert not data["ok"]
    assert not data["recorded"]
    assert "nothing was noticed by nothing" in cli.text(*ARGV, status=6)


def test_code_that_changed_while_it_was_proved_is_not_recorded(
    cli: Cli, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = iter(("a" * 64, "b" * 64))
    monkeypatch.setattr("remit.proofs.parity.recording.code_now", lambda: next(digests))
    cli.refused(*ARGV, "--record", status=3, code="PARITY_UNPROVED")


def test_half_a_proof_is_not_recorded(cli: Cli) -> None:
    for argv in (("--scenarios", "149"), ("--no-mutants",)):
        cli.refused("prove", "parity", "--record", *argv, status=2, code="BAD_INPUT")


def test_a_short_proof_needs_no_ledger_and_says_what_it_did(cli: Cli) -> None:
    ran = cli.run(*ARGV, "--no-mutants", "--seed", "3")
    assert ran.status == 0
    assert "all alike" in ran.err
    assert ran.out.strip().endswith("ok")
