"""Agents as declared: what goes in, what is read of what comes out, and how a run is judged."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from remit.drain.agents.exchange import Exchange, NotPlain, read_plain
from remit.drain.agents.listening import TEXT_CHARS, Listener
from remit.drain.agents.outcomes import TRIAGE, Came, Result, Said, charge, judge, spent
from remit.drain.agents.running import run
from remit.drain.agents.starting import CannotStart, Job, argv_of, environment_of, missing, usd
from remit.drain.limits import Limits
from remit.drain.output import Line
from remit.drain.supervision import Ended, Reason, Usage
from remit.machine.processes import Captured
from remit.ports.agent import Agent, BriefWay, Outcome, Prices, Reading, Report, Speaks
from remit.wiring.agents import Files, builtin

AGENTS = {one.agent.name: one.agent for one in builtin()}
FAST = Limits(wall_ms=30_000, stop_ms=3_000)
# Written for these tests in the shape that the sources named in the declarations describe.
CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s-1", "tools": ["Bash"], "model": "m"},
    {"type": "assistant", "message": {"role": "assistant", "content": []}, "session_id": "s-1"},
    {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1200, "num_turns": 3,
     "result": "All done.", "session_id": "s-1", "total_cost_usd": 0.0123456789,
     "usage": {"input_tokens": 10, "output_tokens": 20}},
]  # fmt: skip
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "turn.started"},
    {"type": "error", "message": "Reconnecting... 1/5"},
    {"type": "item.completed", "item": {"id": "i0", "type": "reasoning", "text": "thinking"}},
    {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": "Done it."}},
    {"type": "turn.completed",
     "usage": {"input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50}},
]  # fmt: skip


def fake(folder: Path, name: str, lines: list[Any], status: int = 0, more: str = "") -> str:
    """A program of this name that notes how it was called and prints these lines; a PATH for it."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "seen = {'argv': sys.argv[1:], 'stdin': sys.stdin.read(), 'env': dict(os.environ)}\n"
        "open(os.environ['REMIT_PROGRESS'] + '.seen', 'w').write(json.dumps(seen))\n"
        f"{more}\nfor line in {[json.dumps(line) for line in lines]!r}:\n    print(line)\n"
        f"sys.exit({status})\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def job(folder: Path, **parts: Any) -> Job:
    clone = folder / "clone"
    clone.mkdir(exist_ok=True)
    return Job("W-4", "A-1.17", clone, Exchange(folder / "exchange"), ("src/**",), **parts)


def played(folder: Path, agent: Agent, path: str, **parts: Any) -> tuple[Result, dict[str, Any]]:
    started = run(
        agent, job(folder, **parts), "# Task W-4\n", Files(), limits=FAST, records=folder,
        host={"PATH": path, "ANTHROPIC_API_KEY": "k", "HOME": "/nowhere", "SECRET": "s"},
    )  # fmt: skip
    result = started.result(30_000)
    assert result is not None
    seen = json.loads((folder / "exchange/progress.jsonl.seen").read_text())
    return result, seen


def test_claude_code_gets_the_brief_and_tells_result_session_and_cost(tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "claude", CLAUDE)
    result, seen = played(
        tmp_path, AGENTS["claude-code"], path, model="opus", spend_micros=2_500_000
    )
    assert (result.came, result.code, result.said, result.session) == (
        Came.DONE, "AGENT_DONE", "All done.", "s-1",
    )  # fmt: skip
    assert result.spent_micros == 12_346  # rounded up to the micro-unit
    assert seen["argv"][-4:] == ["--model", "opus", "--max-budget-usd", "2.500000"]
    assert seen["stdin"].startswith("# Task W-4\n")
    assert "REMIT_REPORT" in seen["stdin"]
    assert seen["env"]["ANTHROPIC_API_KEY"] == "k"
    assert seen["env"]["CLAUDE_CONFIG_DIR"] == str(tmp_path / "exchange/claude")
    assert (seen["env"]["REMIT_ITEM"], seen["env"]["REMIT_SCOPE"]) == ("W-4", "src/**")
    assert "SECRET" not in seen["env"]
    assert started_transcript(tmp_path, path) == [one["type"] for one in CLAUDE]
    assert seen["env"]["HOME"] == str(tmp_path / "exchange/home")


def test_the_command_can_be_wrapped_and_nothing_else_changes(tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "codex", CODEX)
    wrapped: list[list[str]] = []

    def wrap(argv: list[str]) -> list[str]:
        wrapped.append(argv)
        return ["env", "WRAPPED=1", *argv]

    started = run(
        AGENTS["codex"], job(tmp_path), "", Files(), limits=FAST, records=tmp_path, wrap=wrap,
        host={"PATH": path},
    )  # fmt: skip
    assert started.result(30_000) is not None
    seen = json.loads((tmp_path / "exchange/progress.jsonl.seen").read_text())
    assert seen["env"]["WRAPPED"] == "1"
    assert [argv[0] for argv in wrapped] == ["codex"]


def started_transcript(folder: Path, path: str) -> list[str]:
    started = run(
        AGENTS["claude-code"], job(folder), "", Files(), limits=FAST, records=folder,
        host={"PATH": path},
    )  # fmt: skip
    assert started.result(30_000) is not None
    kept = started.transcript()
    assert kept is not None
    return [json.loads(line)["type"] for line in kept.whole().splitlines()]


def test_a_failure_that_claude_code_tells_of_is_one(tmp_path: Path) -> None:
    end = CLAUDE[-1] | {"subtype": "error_max_turns", "is_error": True}
    path = fake(tmp_path / "bin", "claude", [*CLAUDE[:-1], end], status=1)
    result, seen = played(tmp_path, AGENTS["claude-code"], path)
    assert (result.came, result.said) == (Came.FAILED, "error_max_turns")
    assert result.spent_micros == 12_346, "what it cost stays what it cost"
    assert "--model" not in seen["argv"]
    assert "--max-budget-usd" not in seen["argv"]


def test_codex_tells_tokens_and_is_charged_by_declared_prices_only(tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "codex", CODEX)
    result, seen = played(tmp_path, AGENTS["codex"], path)
    assert (result.came, result.said, result.session) == (Came.DONE, "Done it.", "t-1")
    assert result.spent_micros is None, "no figure: the reservation is charged"
    assert seen["argv"][0] == "exec"
    priced = replace(AGENTS["codex"], prices=Prices(1_250_000, 10_000_000, 125_000))
    result, _ = played(tmp_path, priced, path)
    assert result.spent_micros == 600 * 1.25 + 400 * 0.125 + 50 * 10
    failed = [*CODEX[:-1], {"type": "turn.failed", "error": {"message": "quota"}}]
    path = fake(tmp_path / "bin", "codex", failed, status=1)
    result, _ = played(tmp_path, AGENTS["codex"], path)
    assert (result.came, result.said) == (Came.FAILED, "quota")


def test_a_command_speaks_by_files_and_the_largest_figure_counts(tmp_path: Path) -> None:
    head = "b" * 40
    report = {
        "schema": "remit.agent-report.v1", "outcome": "done", "head": head, "summary": "did it",
        "spent_micros": 5,
    }  # fmt: skip
    more = (
        "p = open(os.environ['REMIT_PROGRESS'], 'w')\n"
        """p.write('{"text": "a", "spent_micros": 9}\\n{"nonsense\\n{"text": "b"}\\n{"text": "cut')\n"""
        f"open(os.environ['REMIT_REPORT'], 'w').write({json.dumps(report)!r})"
    )
    path = fake(tmp_path / "bin", "mine", [], more=more)
    started = run(
        AGENTS["command"], job(tmp_path, command=("mine", "{brief}")), "# B\n", Files(),
        limits=FAST, records=tmp_path, host={"PATH": path},
    )  # fmt: skip
    result = started.result(30_000)
    assert result is not None
    assert (result.came, result.head, result.said) == (Came.DONE, head, "did it")
    assert result.spent_micros == 9
    assert started.faulty_lines == 1
    assert started.news() == []
    seen = json.loads((tmp_path / "exchange/progress.jsonl.seen").read_text())
    assert seen["argv"] == ["{brief}"], "what is put in for a placeholder is not looked at again"


def test_without_a_report_nothing_is_done(tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "mine", [])
    result, _ = played(tmp_path, AGENTS["command"], path, command=("mine",))
    assert (result.came, result.code) == (Came.CRASHED, "REPORT_MISSING")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "device"])
def test_a_report_that_is_no_plain_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.json"
    secret = tmp_path / "secret"
    secret.write_text("{}")
    match kind:
        case "link":
            path.symlink_to(secret)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path = Path(os.devnull)
    with pytest.raises(NotPlain):
        read_plain(path, 100)
    assert read_plain(tmp_path / "none", 100) is None
    assert read_plain(secret, 1) == b"{}"


@pytest.mark.parametrize(
    "line",
    [b"", b"null", b"[]", b'"x"', b"{", b"\xff", b"[" * 200_000, b'{"type": "result"}',
     b'{"type": "result", "total_cost_usd": -1}', b'{"type": "result", "total_cost_usd": "1"}',
     b'{"type": "result", "total_cost_usd": 1e999999999}', b'{"type": "result", "total_cost_usd": true}',
     b'{"type": "result", "total_cost_usd": NaN}', b'{"type": "result", "total_cost_usd": 1000001}',
     b'{"type": "result", "result": {"a": 1}, "session_id": 7}', b'{"type": ["result"]}'],
)  # fmt: skip
def test_nothing_that_an_output_says_stops_the_run_or_invents_a_cost(line: bytes) -> None:
    listener = Listener(AGENTS["claude-code"])
    listener.take(Line(line))
    listener.end()
    assert (listener.cost_micros, listener.text, listener.session) == (None, "", "")


def test_long_and_cut_output_is_bounded() -> None:
    listener = Listener(AGENTS["claude-code"])
    listener.take(Line(json.dumps({"type": "result", "result": "x" * 100_000}).encode()))
    assert len(listener.text) == TEXT_CHARS
    listener.take(Line(b'{"type": "result", "total_cost_usd": 1}', cut=True))
    assert (listener.usd, listener.unread) == (None, 1)
    plain = Listener(AGENTS["command"])
    for _ in range(10_000):
        plain.take(Line(b"y" * 1000))
    assert len(plain.text) == TEXT_CHARS
    whole = Listener(replace(AGENTS["command"], output=Speaks.JSON, read=(Reading(text="t"),)))
    for line in (b"{", b'"t":', b'"said"', b"}"):
        whole.take(Line(line))
    whole.end()
    assert whole.text == "said"
    for _ in range(3000):
        whole.take(Line(b"z" * 1000))
    whole.end()
    assert whole.unread == 1


def test_costs_are_exact() -> None:
    listener = Listener(AGENTS["claude-code"])
    listener.take(Line(b'{"type": "result", "total_cost_usd": 0.1}'))
    assert (listener.usd, listener.cost_micros) == (Decimal("0.1"), 100_000)
    listener.take(Line(b'{"type": "result", "total_cost_usd": 0.0000001}'))
    assert listener.cost_micros == 1
    assert (usd(2_500_000), usd(1), usd(0)) == ("2.500000", "0.000001", "0.000000")
    assert (charge(None, 700), charge(0, 700), charge(900, 700)) == (700, 0, 900)
    assert (spent((None, 3, 9, None)), spent((None,)), spent((0,))) == (9, None, 0)


EMPTY = Captured(b"", b"", 0)


def ended(reason: Reason = Reason.EXITED, code: int | None = 0, number: int | None = None) -> Ended:
    return Ended(reason, code, number, 0, 0, "", Usage(), EMPTY, EMPTY)


DONE = Report("remit.agent-report.v1", Outcome.DONE, "a" * 40)
DECLINED = replace(DONE, outcome=Outcome.DECLINED, head="", reason="not mine")


@pytest.mark.parametrize(
    ("end", "said", "came", "code"),
    [
        (ended(), Said(DONE), Came.DONE, "AGENT_DONE"),
        (ended(), Said(DECLINED), Came.DECLINED, "AGENT_DECLINED"),
        (ended(code=1), Said(DECLINED), Came.DECLINED, "AGENT_DECLINED"),
        (ended(), Said(replace(DECLINED, outcome=Outcome.FAILED)), Came.FAILED, "AGENT_FAILED"),
        (ended(), Said(), Came.CRASHED, "REPORT_MISSING"),
        (ended(), Said(problems=("x",)), Came.CRASHED, "REPORT_INVALID"),
        (ended(code=1), Said(DONE), Came.CRASHED, "AGENT_STATUS"),
        (ended(code=None, number=9), Said(DONE), Came.CRASHED, "AGENT_SIGNAL"),
        (ended(), Said(DONE, failed="no"), Came.FAILED, "AGENT_FAILED"),
        (ended(Reason.WALL, None, 9), Said(DONE), Came.TIMED_OUT, "AGENT_WALL"),
        (ended(Reason.IDLE, None, 15), Said(DONE), Came.TIMED_OUT, "AGENT_IDLE"),
        (ended(Reason.MEMORY, None, 9), Said(DONE), Came.CRASHED, "AGENT_MEMORY"),
        (ended(Reason.PROCESSES), Said(DONE), Came.CRASHED, "AGENT_PROCESSES"),
        (ended(Reason.CPU), Said(DONE), Came.CRASHED, "AGENT_CPU"),
        (ended(Reason.LOST, None), Said(DONE), Came.CRASHED, "AGENT_LOST"),
        (ended(Reason.STOPPED), Said(DONE), Came.STOPPED, "AGENT_STOPPED"),
    ],
)
def test_only_who_came_to_its_end_and_says_so_is_done(
    end: Ended, said: Said, came: Came, code: str
) -> None:
    result = judge(AGENTS["command"], end, said)
    assert (result.came, result.code) == (came, code)
    assert came in (Came.DONE, Came.STOPPED) or TRIAGE[came] in (
        "refusal", "agent-crash", "timeout",
    )  # fmt: skip


def test_a_command_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="no command was named"):
        argv_of(AGENTS["command"], job(tmp_path), "")
    inline = replace(AGENTS["command"], command=("x", "{brief_text}"), brief=BriefWay.ARGUMENT)
    assert argv_of(inline, job(tmp_path), "the brief") == ["x", "the brief"]
    with pytest.raises(CannotStart, match="an argument holds"):
        argv_of(inline, job(tmp_path), "x" * 120_001)
    assert missing(AGENTS["codex"], ("codex",), {"PATH": str(tmp_path)}) == "codex: codex"
    assert missing(AGENTS["scripted"], AGENTS["scripted"].command) == ""
    with pytest.raises(OSError, match="program"):
        run(AGENTS["codex"], job(tmp_path), "", Files(), limits=FAST, records=tmp_path,
            host={"PATH": str(tmp_path)})  # fmt: skip


def test_the_environment_holds_what_is_declared_and_no_more(tmp_path: Path) -> None:
    found = environment_of(
        AGENTS["codex"], job(tmp_path, extra=(("A", "b"),)),
        {"PATH": "/bin", "OPENAI_API_KEY": "k", "AWS_SECRET_ACCESS_KEY": "s", "REMIT_LEDGER": "l"},
    )  # fmt: skip
    assert sorted(found) == [
        "A", "CODEX_HOME", "HOME", "OPENAI_API_KEY", "PATH", "REMIT_ATTEMPT", "REMIT_BRIEF",
        "REMIT_ITEM", "REMIT_PROGRESS", "REMIT_REPORT", "REMIT_SCOPE",
    ]  # fmt: skip
