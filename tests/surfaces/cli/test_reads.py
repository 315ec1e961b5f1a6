"""Reads: one answer by both ways in, as of any seq, within bounds, and safe to look at."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.calling import Cli, environment, process

from remit.surfaces.cli import quick
from remit.surfaces.cli.app import run as full
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.main import guarded
from remit.surfaces.cli.visible import visible

ARGUMENTS = (
    ("ready",),
    ("ready", "--limit", "1"),
    ("ready", "--limit", "0", "--at", "14"),
    ("list",),
    ("list", "--status", "ready", "--status", "draft", "--newest"),
    ("list", "--gate", "verification-plan", "--after", "W-1"),
    ("list", "--hold", "UNMET_DEPENDENCY"),
    ("list", "--status", "nonsense"),
    ("blocked", "--limit", "1"),
    ("blocked", "--after", "W-2"),
    ("show", "W-1"),
    ("show", "mine"),
    ("show", "W-99"),
    ("search", "three"),
    ("search", "nothing like it", "--limit", "5"),
    ("inbox",),
    ("inbox", "--at", "9"),
    ("fleet",),
    ("fleet", "--limit", "1", "--at", "12"),
    ("run", "list"),
    ("run", "list", "--live", "--limit", "2"),
    ("run", "show", "RUN-1"),
    ("explain", "W-3"),
    ("trace", "W-1"),
    ("brief", "W-1"),
    ("triage", "list"),
    ("triage", "list", "--all", "--limit", "1"),
    ("triage", "show", "T-9"),
    ("dep", "tree", "W-3"),
    ("actor", "list"),
    ("rule", "list"),
    ("policy", "show"),
    ("ready", "--at", "99999"),
)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    cli.json("create", "Number one", "--verify", "true", "--id", "mine")
    cli.json("create", "Number two")
    cli.json("create", "Number three", "--verify", "true", "--after", "W-1")
    return cli


@pytest.mark.parametrize("argv", ARGUMENTS, ids=" ".join)
def test_both_ways_in_give_the_same_bytes(
    filled: Cli, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = (*argv, "--json", "--as", "ann")
    assert quick.parse(argv) is not None, "the quick way in does not understand this"
    fast = filled.run(*argv)
    monkeypatch.setattr(quick, "parse", lambda _argv: None)
    assert filled.run(*argv) == fast
    assert fast.status != 1


def test_every_read_that_the_quick_way_knows_has_the_same_options() -> None:
    from typer.main import get_command

    root: Any = get_command(app)
    for words, read in quick.READS.items():
        command = root
        for word in words:
            command = command.commands[word]
        options = {o for p in command.params for o in p.opts if o.startswith("--")}
        assert options - {"--help"} == set(read.options) | set(quick.GLOBALS) | read.aside, words
        arguments = [p.name for p in command.params if not p.opts[0].startswith("-")]
        assert arguments == ([read.argument] if read.argument else []), words


@pytest.mark.parametrize(
    "argv",
    [
        ("ready",),
        ("ready", "--limit", "-1", "--json"),
        ("ready", "--limit=1", "--json"),
        ("ready", "more", "--json"),
        ("ready", "--json", "--limit"),
        ("ready", "--command-id", "x", "--json"),
        ("show", "--json"),
        ("create", "x", "--json"),
        ("--json",),
        ("show", "W-1", "--json", "--", "x"),
        ("trace", "--matrix", "--json"),
        ("trace", "W-1", "--plan", "x", "--json"),
    ],
)
def test_the_quick_way_steps_aside_for_all_else(argv: tuple[str, ...]) -> None:
    assert quick.parse(argv) is None


def test_a_cold_read_loads_only_what_it_may(filled: Cli) -> None:
    show = (
        "import sys; from remit.surfaces.cli.main import main; main(['ready', '--json']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", show],
        cwd=filled.cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(ran.stdout)["data"]["total"] == 1, ran.stderr
    loaded = set(ran.stderr.split())
    ours = {name for name in loaded if name.split(".")[0] == "remit"}
    assert ours == OURS
    heavy = {
        "asyncio", "click", "email", "http", "importlib.metadata", "json", "logging", "numpy",
        "random", "rich", "rustworkx", "socket", "ssl", "subprocess", "tempfile", "tomllib",
        "typer", "unittest", "xml",
    }  # fmt: skip
    assert loaded & heavy == set()


OURS = {
    "remit", "remit.machine", "remit.machine.flocks", "remit.core", "remit.core.change", "remit.core.decision_facts", "remit.core.work_facts", "remit.core.edges",
    "remit.core.effect_facts", "remit.core.facts", "remit.core.ledger_facts",
    "remit.core.limit_facts", "remit.core.ids", "remit.core.lanes", "remit.core.lifetimes",
    "remit.core.moment_facts", "remit.core.plan_facts", "remit.core.refusals", "remit.core.run_facts", "remit.core.status", "remit.ports",
    "remit.ports.failures", "remit.ports.store", "remit.service",
    "remit.service.reading", "remit.service.reading.items", "remit.service.reading.rendering",
    "remit.stores", "remit.stores.clock", "remit.stores.fact_codec", "remit.stores.misuse",
    "remit.stores.paths", "remit.stores.statements", "remit.stores.tables", "remit.stores.sqlite", "remit.stores.sqlite.connect",
    "remit.stores.sqlite.failures", "remit.stores.sqlite.folder", "remit.stores.sqlite.listing", "remit.stores.sqlite.lock",
    "remit.stores.sqlite.place", "remit.stores.sqlite.queries", "remit.stores.sqlite.rebuild",
    "remit.stores.sqlite.rows", "remit.stores.sqlite.store", "remit.stores.sqlite.transaction",
    "remit.stores.sqlite.writing",
    "remit.surfaces", "remit.surfaces.cli", "remit.surfaces.cli.answers",
    "remit.surfaces.cli.finding", "remit.surfaces.cli.main", "remit.surfaces.cli.quick",
    "remit.surfaces.cli.reads", "remit.surfaces.cli.session", "remit.surfaces.cli.visible",
    "remit.wiring",
}  # fmt: skip
"""All that a cold ``ready --json`` loads of remit itself."""


def test_a_cold_read_of_10_000_items_costs_a_bounded_number_of_bare_starts(cli: Cli) -> None:
    from remit.core.commands import CreateItem
    from remit.core.rows import RowKind, RowSpec
    from remit.wiring import open_ledger

    ledger = open_ledger(f"sqlite://{cli.cwd}/.remit/ledger.db")
    rows = (RowSpec(RowKind.COMMAND, ("true",)),)
    for part in range(10):
        items = [CreateItem(f"Item {part}.{i}", rows=rows) for i in range(1_000)]
        ledger.acting("ann").create(items)
    ledger.close()
    bare, ours = [], []
    for _ in range(9):
        bare.append(seconds([sys.executable, "-c", "pass"], cli.cwd))
        ours.append(seconds([sys.executable, "-m", "remit", "ready", "--json"], cli.cwd))
    ratio = min(ours) / min(bare)
    print(
        f"bare {min(bare) * 1e3:.1f} ms, ready --json {min(ours) * 1e3:.1f} ms: {ratio:.1f} times"
    )
    assert ratio <= 18


def seconds(argv: list[str], cwd: Path) -> float:
    """Of the processor: on a busy machine the longer call is held up more often."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=environment(), stdout=subprocess.DEVNULL, check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def test_lists_say_how_many_there_are_and_whether_they_are_cut(filled: Cli) -> None:
    for argv in (("list",), ("blocked",), ("ready",), ("search", "number"), ("actor", "list")):
        whole = filled.json(*argv, "--limit", "0")
        assert whole["truncated"] is False
        cut = filled.json(*argv, "--limit", "1")
        key = "actors" if argv[0] == "actor" else "items"
        assert len(cut[key]) == 1
        assert cut["truncated"] is (len(whole[key]) > 1), argv
        assert cut["total"] == whole["total"] == len(whole[key]), argv
    for narrow in (["blocked", "--after", "W-2"], ["list", "--after", "W-2"], ["search", "three"]):
        last = filled.json(*narrow, "--limit", "1")
        assert (last["total"], last["truncated"]) == (1, False), narrow


def test_blocked_names_what_stops_an_item_and_how_to_open_it(filled: Cli) -> None:
    two, three = filled.json("blocked")["items"]
    assert (two["id"], two["gate"]) == ("W-2", "verification-plan")
    assert "remit edit W-2 --verify" in two["how_to_open"]
    assert (three["id"], three["waits_on"][0]["via"]) == ("W-3", "W-1")
    assert "W-1" in three["how_to_open"]


def test_the_past_is_read_as_it_was(filled: Cli) -> None:
    created = filled.json("show", "W-2")["history"][0]["seq"]
    filled.json("edit", "W-2", "--title", "Other", "--verify", "true")
    assert filled.json("show", "W-2")["status"] == "ready"
    then = filled.json("show", "W-2", "--at", str(created))
    assert (then["status"], then["title"]) == ("draft", "Number two")
    filled.refused("show", "W-2", "--at", str(created - 1), status=4, code="NOT_FOUND")


def test_explain_is_a_worksheet(filled: Cli) -> None:
    found = filled.json("explain", "W-3")
    sheet = found["worksheet"]
    assert {
        "id", "question", "controlled_condition", "span", "system_boundary", "exact_operation",
        "logical_effect", "out_of_scope", "revisions", "sections",
    } == set(sheet)  # fmt: skip
    assert found["verdict"] == "HOLD"
    checks = {c["check"]: c["result"] for s in sheet["sections"] for c in s["checks"]}
    assert checks["dependencies"] == "FAIL"
    assert checks["deadline"] == "NOT_TESTED"
    filled.json("lease", "W-1")
    assert filled.json("explain", "W-1")["verdict"] == "NOT_ASKED"


def test_abbreviations_are_for_reads_and_exact_names_for_writes(filled: Cli) -> None:
    assert filled.json("show", "min")["id"] == "W-1"
    assert filled.json("note", "mine", "by its own name")["item"]["id"] == "W-1"
    error = filled.refused("note", "min", "x", status=4, code="NOT_FOUND")
    assert error["details"]["candidates"] == ["W-1"]
    filled.json("create", "Another", "--id", "minus")
    filled.refused("show", "min", status=2, code="AMBIGUOUS_ID")


def test_text_from_outside_cannot_steer_a_terminal(cli: Cli) -> None:
    body = "\x1b[2J\x1b]0;title\x07\u202eevil\u202c\u200b [bold red]markup[/] :smile:\r\nnext"
    item = cli.json("create", "Look", "--body", body)["item"]["id"]
    cli.json("note", item, "\x1b[31m\u2066hidden")
    for argv in (("show", item), ("brief", item)):
        shown = cli.text(*argv)
        assert not [c for c in shown if not (c.isprintable() or c == "\n")], argv
        assert "\\x1b" in shown
        assert "[bold red]markup[/] :smile:" in shown
    assert cli.json("show", item)["body"] == body


def test_long_text_is_cut_with_a_note() -> None:
    assert visible("a" * 30, 10) == "a" * 10 + "… [20 more characters]"
    assert visible("a\tb\nc\x7f") == "a\\tb\\nc\\x7f"
    assert visible("a\tb\nc", lines=True) == "a\tb\nc"
    assert visible("\U000e0041") == "\\U000e0041"


def test_a_pipe_gets_plain_whole_lines(cli: Cli) -> None:
    title = "word " * 90
    cli.json("create", title.strip(), "--verify", "true")
    ran = process(cli.cwd, "list", env=environment(FORCE_COLOR="1", COLUMNS="40"))
    [_, line] = ran.stdout.decode().splitlines()
    assert "more characters]" in line
    assert b"\x1b" not in ran.stdout


def test_quiet_prints_ids(filled: Cli) -> None:
    assert filled.text("ready", "--quiet") == "W-1\n"
    assert filled.text("-q", "create", "x", "--verify", "true") == "W-4\n"
    assert filled.text("lease", "W-4", "-q").startswith("W-4 ")


def test_an_unexpected_fault_is_one_line(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    def broken() -> int:
        raise ZeroDivisionError("oh\nno")

    assert guarded(broken, False) == 1
    monkeypatch.setattr(quick, "run", lambda *_: full(["nothing"]) and 0)
    assert cli.run("ready", "--json").error["code"] == "BAD_INPUT"
