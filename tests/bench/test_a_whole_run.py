"""A run with tiny sizes: every metric really runs once, and what comes out has its shape."""

from __future__ import annotations

import contextlib
import io
import json
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from remit.bench.main import run
from remit.bench.peers import PEERS
from remit.bench.peers_postgres import PEERS_POSTGRES
from remit.bench.rounds import Trial
from remit.bench.trials import Sizes, on_sqlite
from remit.bench.whole_ledger import command_line_is_there

TINY = Sizes(
    singles=3,
    hundreds=100,
    thousands=1_000,
    imported=40,
    walked=200,
    cold_items=20,
    repeats=1,
    cold_repeats=1,
    served=10,
    carried=100,
)
KEYS = {
    "peer", "store", "metric", "batch", "workers", "per_s", "settings", "ratio_to_hand_written",
    "times_bare_python", "repeats", "spread", "ratios",
}  # fmt: skip
METRICS = {
    ("create", 1),
    ("create", 100),
    ("create", 1_000),
    ("create, no rows", 1),
    ("create, no rows", 100),
    ("create, no rows", 1_000),
    ("lease+complete", 1),
    ("lease+complete", 100),
    ("complete+next", 1),
    ("submit to shipped", 1),
    ("submit to shipped", 100),
    ("submit to shipped+next", 1),
    ("import", 500),
    ("replay", 1),
    ("verify", 1),
}


ON_POSTGRES = {
    ("create", 1, 1),
    ("create", 100, 1),
    ("create", 1_000, 1),
    ("lease+complete", 1, 1),
    ("lease+complete", 1, 10),
    ("lease+complete", 100, 1),
    ("complete+next", 1, 1),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("bench") / "out.json"
    plot = out.with_name("out.svg")
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        assert run(quick=True, as_json=True, out=out, plot=plot, sizes=TINY) == 0
    found = json.loads(printed.getvalue())
    assert complaints.getvalue() == ""
    assert found == json.loads(out.read_text("utf-8"))
    assert found["schema_version"] == 1
    bars = [e for e in ElementTree.parse(plot).iter() if e.tag.endswith("rect")]
    assert len(bars) == len(found["data"]["rows"]) + 1
    return found["data"]


def test_every_metric_has_a_row_of_remit(data: Any) -> None:
    ours = [row for row in data["rows"] if row["peer"] == "remit"]
    found = {(row["metric"], row["batch"]) for row in ours if row["store"] == "sqlite"}
    assert found == METRICS | ({("cold ready", 1)} if command_line_is_there() else set())
    served = {(r["metric"], r["batch"], r["workers"]) for r in ours if r["store"] == "postgresql"}
    assert served == ON_POSTGRES


def test_every_row_has_its_shape(data: Any) -> None:
    for row in data["rows"]:
        assert set(row) == KEYS
        assert row["repeats"] == 1
        assert row["workers"] == 1 or (row["store"], row["workers"]) == ("postgresql", 10)
        assert 0 < row["spread"]["min"] <= row["per_s"] <= row["spread"]["max"]
        bare = row["peer"] == "python -c pass"
        assert row["store"] in (("",) if bare else ("sqlite", "postgresql"))


def test_everything_but_whole_ledgers_is_set_beside_a_hand_written_loop(data: Any) -> None:
    alone = {"replay", "verify", "cold ready"}
    trials: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for row in data["rows"]:
        assert (row["ratio_to_hand_written"] is None) == (row["metric"] in alone), row
        assert (row["times_bare_python"] is None) == (row["metric"] != "cold ready"), row
        key = (row["store"], row["metric"], row["batch"], row["workers"])
        trials[key][row["peer"]] = row
    for (store, metric, _, _), by_peer in trials.items():
        if metric not in alone:
            hand = "hand-written psycopg" if store == "postgresql" else "hand-written apsw"
            ours = by_peer["remit"]
            assert by_peer[hand]["ratio_to_hand_written"] == 1
            assert set(ours["ratios"]) == by_peer.keys() - {"remit"}
            assert ours["ratios"][hand] == ours["ratio_to_hand_written"]
            assert all(not row["ratios"] for peer, row in by_peer.items() if peer != "remit")


def test_remit_and_the_hand_written_loops_say_that_they_are_equally_durable(data: Any) -> None:
    durable = {"journal_mode": "wal", "synchronous": 2, "page_size": 4_096}
    synced = {"fsync": "on", "synchronous_commit": "on"}
    for row in data["rows"]:
        if row["store"] == "postgresql":
            assert {name: row["settings"].get(name) for name in synced} == synced
        elif row["peer"].startswith("hand-written") or row["peer"] == "remit":
            said = {name: row["settings"].get(name) for name in durable}
            assert said == durable or row["metric"] == "cold ready", row


def test_a_peer_is_either_measured_or_named_as_absent(data: Any) -> None:
    absent = {entry["peer"]: entry["reason"] for entry in data["absent"]}
    measured = {row["peer"].replace("-", "") for row in data["rows"]}
    for peer in (*PEERS, *PEERS_POSTGRES):
        assert (peer in absent) != (peer in measured), peer
        assert absent.get(peer, "not installed") == "not installed"


def test_a_missing_command_line_is_named(data: Any) -> None:
    named = "remit ready --json" in {entry["peer"] for entry in data["absent"]}
    assert named != command_line_is_there()


def test_the_facts_of_the_machine_do_not_name_it(data: Any) -> None:
    text = json.dumps(data)
    for name in (platform.node(), tempfile.gettempdir(), str(Path.cwd()), sys.prefix):
        assert name not in text
    facts = data["machine"]
    assert facts["cpu_count"] >= 1
    assert {"python", "sqlite_of_apsw", "page_size", "file_system"} <= set(facts)


def only(metric: str, batch: int) -> Any:
    """Stands in for the trials on SQLite: one of them."""

    def chosen(sizes: Sizes) -> tuple[list[Trial], list[tuple[str, str]]]:
        found, absent = on_sqlite(sizes)
        return [t for t in found if (t.metric, t.batch) == (metric, batch)], absent

    return chosen


def test_without_json_it_is_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remit.bench.main.on_sqlite", only("create", 1))
    assert run(quick=True, as_json=False, out=None, store="sqlite", sizes=TINY) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "hand-written sqlite3" in printed.out
    assert "cpu_count" in printed.out


def test_a_run_that_does_not_add_up_gives_no_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("remit.bench.main.on_sqlite", only("create", 1))
    monkeypatch.setattr("remit.bench.ledger_queue.LEFT", ())
    assert run(quick=True, as_json=True, out=tmp_path / "out.json", store="sqlite", sizes=TINY) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "found 0 jobs that are left" in printed.err.replace("\n", " ")
    assert not (tmp_path / "out.json").exists()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(quick=True, as_json=True, out=tmp_path / "no" / "out.json") == 2
    assert run(quick=True, as_json=True, out=tmp_path) == 2
    assert run(quick=True, as_json=True, out=None, plot=tmp_path) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("cannot write") == 3


def test_a_store_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(quick=True, as_json=True, out=None, store="oracle") == 2
    assert "expected sqlite or postgresql" in capsys.readouterr().err


def test_without_a_server_the_other_store_is_measured_and_the_lack_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remit.bench.main.on_sqlite", only("create", 1))
    monkeypatch.setattr("remit.bench.server.NEEDS", ("no_such_server", "psycopg"))
    assert run(quick=True, as_json=True, out=None, sizes=TINY) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    assert {row["store"] for row in found["rows"]} == {"sqlite"}
    assert {"peer": "PostgreSQL", "reason": "no_such_server not installed"} in found["absent"]


def test_a_round_that_is_no_multiple_of_its_batch_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no multiple of 100"):
        on_sqlite(Sizes(1, 150, 1_000, 1, 200, 1, 1, 1, 10, 100))


def test_it_can_be_run_as_a_module() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "remit.bench", "--help"],
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0
    for option in ("--quick", "--json", "--out", "--plot", "--store"):
        assert option in ended.stdout
