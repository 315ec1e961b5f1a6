"""The fleet's page, runs and their decisions on the command line."""

from __future__ import annotations

import pytest
from tests.core.drained import CODE, start
from tests.surfaces.cli.calling import Cli

from remit.core import commands as c
from remit.core.change import changed
from remit.core.run_facts import RunBounds
from remit.service.engine import Done
from remit.service.running import record_proof
from remit.surfaces.cli.running import shortly
from remit.wiring import Ledger, open_ledger, url_of

BOUNDS = "items=3,parallel=2,minutes=10,spend-micros=500,failures=1"
ACTIVATION = "cloud-spend-or-live-autonomy-activation"
WAYS = ("--option", "run=Let it run", "--keep", "no=Do not", "--against", "no=It waits")
ALLOWED = RunBounds(3, 2, 600_000, 500, 1)


def proposed(cli: Cli, *more: str) -> dict[str, object]:
    return dict(
        cli.json("decision", "propose", "Tonight", "--kind", ACTIVATION, *WAYS, *more)["decision"]
    )


def done(answer: object) -> Done:
    assert isinstance(answer, Done), answer
    return answer


def opened(cli: Cli) -> Ledger:
    return open_ledger(url_of(cli.cwd / ".remit/ledger.db"))


@pytest.fixture
def going(cli: Cli) -> Cli:
    """A ledger with two items, of which a run has chosen one."""
    for number in (1, 2):
        cli.json("create", f"Number {number}", "--verify", "true")
    decision = proposed(cli, "--run-bounds", BOUNDS, "--run-agent", "scripted")
    cli.json("decision", "accept", str(decision["id"]))
    ledger = opened(cli)
    ann = ledger.acting("ann")
    done(record_proof(ann, c.RecordParityProof("1", CODE, 1, 5, "PASS")))
    begun = start(bounds=ALLOWED, actor="bot", reviewer="")
    done(ann.start_run(changed(begun, decision=str(decision["id"]))))
    done(ann.choose(c.ChooseItem("RUN-1", "h1", "W-1", 200)))
    figures = c.RunFigures("L-1.1", "A-1.1", 7, "", 50)
    done(ann.checkpoint(c.CheckpointRun("RUN-1", "h1", "W-1", "started", figures)))
    ledger.close()
    return cli


def test_a_decision_on_runs_is_proposed_in_numbers(cli: Cli) -> None:
    found = proposed(cli, "--run-bounds", BOUNDS, "--run-agent", "codex", "--run-agent", "scripted")
    assert found["scope"] == [f"run-bounds/{BOUNDS}", "run-agent/codex", "run-agent/scripted"]
    each = proposed(
        cli, "--run-bounds", BOUNDS, "--run-agent", "codex", "--about", "run-spend/each"
    )
    assert each["scope"] == [f"run-bounds/{BOUNDS}", "run-agent/codex", "run-spend/each"]
    assert each["proposal"] != found["proposal"]
    bare = proposed(cli, "--about", "drain/without-sandbox")
    assert bare["scope"] == ["drain/without-sandbox"]


@pytest.mark.parametrize(
    "more",
    [
        ("--run-bounds", BOUNDS),
        ("--run-agent", "codex"),
        ("--run-bounds", "items=3", "--run-agent", "codex"),
        ("--run-bounds", BOUNDS.replace("items=3", "items=0"), "--run-agent", "codex"),
        ("--run-bounds", BOUNDS.replace("500", "5.00"), "--run-agent", "codex"),
        ("--run-bounds", BOUNDS, "--run-agent", "codex", "--proposal", "a" * 64),
        ("--run-bounds", BOUNDS, "--run-agent", "codex", "--about", f"run-bounds/{BOUNDS[:-1]}9"),
    ],
)
def test_bounds_that_are_not_whole_are_not_proposed(cli: Cli, more: tuple[str, ...]) -> None:
    head = ("decision", "propose", "Tonight", "--kind", ACTIVATION)
    cli.refused(*head, *WAYS, *more, status=2, code="BAD_INPUT")


def test_a_run_is_listed_and_shown_with_what_is_used(going: Cli) -> None:
    [listed] = going.json("run", "list")["runs"]
    assert (listed["id"], listed["status"], listed["stopped_by"]) == ("RUN-1", "running", None)
    shown = going.json("run", "show", "1")
    run = shown["run"]
    assert run["bounds"]["items"] == 3
    assert run["used"] == {
        "items": 1,
        "parallel": 1,
        "settled_micros": 0,
        "reserved_micros": 200,
        "failures": 0,
    }
    [entry] = run["items"]
    assert (entry["item"], entry["step"], entry["fence"]) == ("W-1", "started", 7)
    assert (shown["total"], shown["truncated"]) == (1, False)
    assert "200 reserved of 500 micro-units" in going.text("run", "show", "RUN-1")
    assert "RUN-1" in going.text("run", "list", "--live")
    going.refused("run", "show", "RUN-9", status=4, code="NOT_FOUND")


def test_a_run_is_shown_as_it_was(going: Cli) -> None:
    before = going.json("run", "show", "RUN-1")["run"]["seq"]
    run = going.json("run", "show", "RUN-1", "--at", str(before))["run"]
    assert (run["used"]["items"], run["items"]) == (0, [])
    going.refused("run", "show", "RUN-1", "--at", str(before - 1), status=4, code="NOT_FOUND")
    assert going.json("run", "list", "--at", str(before - 1))["runs"] == []


def test_anyone_asks_a_run_to_stop(going: Cli) -> None:
    answer = going.json("run", "stop", "RUN-1", actor="bot")
    assert answer["run"]["status"] == "stopping"
    assert (answer["run"]["stop_asked"], answer["run"]["stop_asked_by"]) == ("finish", "bot")
    assert answer["event"]["type"] == "RunStopAsked"
    assert going.json("run", "stop", "RUN-1")["event"] is None
    assert going.json("run", "stop", "RUN-1", "--now")["run"]["stop_asked"] == "now"
    going.refused("run", "stop", "1", status=4, code="NOT_FOUND")
    going.refused("run", "stop", "RUN-1", status=3, code="ACTOR_UNKNOWN", actor="stranger")


def test_the_fleet_is_one_page(going: Cli) -> None:
    lease = going.json("lease", "W-1", actor="bot")["lease"]
    going.json("create", "Number 3", "--verify", "true", "--after", "W-2")
    going.json("kill-switch", "engage", "--reason", "a \x1b[31mred\x1b[0m night", actor="bot")
    found = going.json("fleet")
    assert found["counts"]["leased"] == 1
    assert found["counts"]["total"] == 3
    [leased] = found["leases"]
    assert (leased["item"], leased["actor"], leased["fence"]) == ("W-1", "bot", lease["fence"])
    assert (leased["overdue"], leased["trace"]) == (False, "remit trace W-1")
    [held] = found["holds"]
    assert (held["item"], held["reason"]) == ("W-3", "UNMET_DEPENDENCY")
    assert [run["id"] for run in found["runs"]] == ["RUN-1"]
    assert (found["kill_switch"]["state"], found["kill_switch"]["actor"]) == ("engaged", "bot")
    assert found["triage"] == []
    assert not found["truncated"]
    text = going.text("fleet")
    assert "KILL SWITCH engaged by bot" in text
    assert "\x1b[31m" not in text
    then = going.json("fleet", "--at", str(found["as_of_seq"] - 1))
    assert then["kill_switch"]["state"] == "released"
    assert then["leases"] == found["leases"]


def test_each_list_says_when_it_is_cut(going: Cli) -> None:
    for number in (3, 4):
        going.json("create", f"Number {number}", "--verify", "true", "--after", "W-2")
    found = going.json("fleet", "--limit", "1")
    assert found["lists"]["holds"] == {"total": 2, "truncated": True}
    assert len(found["holds"]) == 1
    assert found["truncated"]
    assert len(going.json("fleet", "--limit", "0")["holds"]) == 2
    assert "1 of 2; --limit 0 shows all" in going.text("fleet", "--limit", "1")


def test_an_inbox_depends_on_who_asks(going: Cli) -> None:
    going.json("lease", "W-1", actor="bot")
    assert [i["act"] for i in going.json("inbox", actor="bot")["items"]] == ["finish"]
    assert going.json("inbox")["items"] == []
    waiting = proposed(going, "--about", "drain/without-sandbox")
    assert [d["id"] for d in going.json("inbox")["decisions"]] == [waiting["id"]]
    assert going.json("inbox", actor="bot")["decisions"] == []
    seq = going.json("fleet")["as_of_seq"]
    assert going.json("inbox", "--at", str(seq - 1))["decisions"] == []


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        (None, ""),
        ("OUT_OF_SCOPE", "OUT_OF_SCOPE"),
        ("starts=1 came=done code=AGENT_DONE exit=0", ""),
        ("starts=3 came=crashed code=AGENT_STATUS exit=1", "AGENT_STATUS"),
        ("starts=1", ""),
    ],
)
def test_an_entry_shows_a_code_and_not_the_figures_of_its_end(
    detail: str | None, said: str
) -> None:
    assert shortly(detail) == said
