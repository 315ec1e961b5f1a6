"""The simulation of shares, waits and limits (INV-11, INV-12): what it finds, and that it can say no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.surfaces.cli.calling import Cli

from remit import wiring
from remit.bench import fairness_found
from remit.bench.fairness_found import SHARE_BOUND, simulate
from remit.bench.fairness_main import run
from remit.core.evolve import evolve
from remit.service.integrity import verify

SHORT_S = 60


def test_shares_are_kept_and_limits_hold_at_every_seq(tmp_path: Path) -> None:
    found = simulate(tmp_path / "ledger.db", seconds=80, workers=24)
    assert {share.work_class for share in found.shares} == {"gold", "silver", "bronze"}
    for share in found.shares:
        assert share.off <= SHARE_BOUND, share
        assert 0 < share.longest_wait_s <= found.seconds
        assert 0 < share.nearest <= 1, "the worst wait is within its bound"
    assert {use.scope: use.held for use in found.uses} == {
        "ledger": True, "class/capped": True, "tenant/paced": True, "class/paid": True,
    }  # fmt: skip
    full = {use.scope: use.most for use in found.uses}
    assert full == {"ledger": 24, "class/capped": 3, "tenant/paced": 7, "class/paid": 90}
    assert found.fair


def test_it_decides_on_a_real_ledger(tmp_path: Path) -> None:
    found = simulate(tmp_path / "ledger.db", seconds=20, workers=12)
    ledger = wiring.open_ledger(wiring.url_of(tmp_path / "ledger.db"))
    report = verify(ledger.store, fold=evolve)
    ledger.close()
    assert report.problems == ()
    assert report.events == found.events > 1_000


def test_the_same_run_finds_the_same(tmp_path: Path) -> None:
    first, second = (simulate(tmp_path / name, 20, 12).as_data() for name in ("a.db", "b.db"))
    assert first == second


def test_it_sees_a_class_that_takes_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.core.evolve.moves.round_of", lambda *_: 0)
    monkeypatch.setattr("remit.core.evolve.moves.turn_after", lambda turn, vtime, _: turn + 1)
    found = simulate(tmp_path / "ledger.db", seconds=30, workers=12)
    assert any(share.off > SHARE_BOUND for share in found.shares)
    assert not found.fair


def test_it_sees_old_work_that_new_urgent_work_always_overtakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("admission", "intents"):
        monkeypatch.setattr(f"remit.core.{module}.rank_of", lambda at, priority, _: at + priority * 10**14)  # fmt: skip
    found = simulate(tmp_path / "ledger.db", seconds=200, workers=24)
    assert all(share.off <= SHARE_BOUND for share in found.shares), "it is a matter of waits alone"
    assert any(share.nearest > 1 for share in found.shares)
    assert not found.fair


@pytest.mark.parametrize(
    ("guard", "scope"),
    [
        ("over_rate", "tenant/paced"),
        ("_too_many", "class/capped"),
        ("over_spend", "class/paid"),
    ],
)
def test_it_sees_a_limit_that_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str, scope: str
) -> None:
    monkeypatch.setattr(f"remit.core.decide.choosing.{guard}", lambda *_: None)
    found = simulate(tmp_path / "ledger.db", seconds=SHORT_S, workers=24)
    assert not found.fair
    assert [use.scope for use in found.uses if not use.held] == [scope]


def test_it_is_a_command_beside_the_benchmark(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert cli.run("bench", "frob").status == 2
    ran = cli.run("bench", "fairness", "--quick", "--json")
    assert ran.status == 0
    assert json.loads(ran.out)["data"]["fair"]


def run_quick(**how: Any) -> int:
    return run(quick=True, **{"as_json": True, "out": None, **how})


def test_the_command_prints_one_object_and_draws_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "out.json", tmp_path / "out.svg"
    assert run_quick(out=out, plot=plot) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads(out.read_text())
    data = json.loads(printed)["data"]
    assert data["fair"]
    assert [one["class"] for one in data["shares"]] == ["gold", "silver", "bronze"]
    assert all(one["most"] <= one["limit"] for one in data["limits"])
    drawn = list(ElementTree.parse(plot).iter())
    assert sum(e.tag.endswith("polyline") for e in drawn) == 3
    assert sum(e.tag.endswith("rect") for e in drawn) == 1 + len(data["limits"])


def test_without_json_it_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_quick(as_json=False) == 0
    shown = capsys.readouterr().out
    for words in ("class/capped", "of bound", "50.0%", "fair: "):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_is_not_fair_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fairness_found, "PACED_AT", 1)
    assert run_quick(as_json=False) == 6
    assert "NOT FAIR" in capsys.readouterr().out


def test_what_cannot_be_done_is_said_before_anything_is_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_quick(out=tmp_path) == 2
    assert run_quick(plot=tmp_path / "no" / "out.svg") == 2
    assert run_quick(store="postgresql") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("cannot write") == 2
    assert "expected sqlite" in said.err.replace("\n", " ")
