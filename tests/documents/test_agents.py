"""Declarations of agents and the files that agents write: every fault at its place, nothing believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.documents.agent_files import (
    PROGRESS_LINE_BYTES,
    REPORT_BYTES,
    SCHEMAS,
    progress,
    report,
    schema_of,
)
from remit.documents.agents import AGENT, PLACEHOLDERS, declared, written
from remit.ports.agent import BriefWay, Exits, Outcome, Prices, Reading, Report, ReportWay, Speaks
from remit.wiring.agents import builtin, declared_agents

PUBLISHED = Path(__file__).parents[2] / "docs/reference/schemas"
GOOD = {"schema": "remit.agent-report.v1", "outcome": "done", "head": "a" * 40}


def faults(text: str, **more: Any) -> list[str]:
    return [str(problem) for problem in declared(text.encode(), more.pop("known", {}), **more)[1]]


def test_a_whole_declaration_is_read() -> None:
    text = """\
agent: mine
about: An agent.
source: its manual
command: [mine, --brief, "{brief}"]
with_model: [-m, "{model}"]
with_spend: [-s, "{spend_micros}"]
brief: stdin
output: json
report: optional
read:
  - when: {type: end, ok: true, n: 1}
    text: said.text
    session: id
    cost_usd: cost
    input_tokens: in
    cached_tokens: kept
    output_tokens: out
    failed: why
prices: {input: 1, output: 2, cached: 0}
exits: {done: [0, 1], declined: [3], failed: [4]}
environment: [MINE_KEY]
set: {MINE_HOME: "{exchange}/mine"}
egress: [api.example.org:443, "*.example.com"]
needs_sandbox: true
"""
    [one], problems = declared(text.encode(), {})
    assert problems == []
    agent = one.agent
    assert agent.read == (
        Reading(
            (("type", "end"), ("ok", True), ("n", 1)),
            "said.text", "id", "cost", "in", "kept", "out", "why",
        ),
    )  # fmt: skip
    assert (agent.prices, agent.exits) == (Prices(1, 2, 0), Exits((0, 1), (3,), (4,)))
    assert (agent.brief, agent.output, agent.report) == (
        BriefWay.STDIN, Speaks.JSON, ReportWay.OPTIONAL,
    )  # fmt: skip
    assert (agent.set, agent.egress[0], agent.needs_sandbox) == (
        (("MINE_HOME", "{exchange}/mine"),), "api.example.org:443", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["1:1: found no declaration"]),
        ("- a\n", ["1:1: $: found a list, expected a mapping, a declaration of an agent"]),
        ("agent: a\n", ["1:1: $.command: found no word, expected a program and its arguments"]),
        ("command: [x]\n", ["1:1: $: the part agent is missing"]),
        ("agent: a\ncomand: [x]\ncommand: [x]\n",
         ["2:9: $.comand: this part is not known: did you mean command?"]),
        ("agent: a\ncommand: [x, '{brieff}']\n", ["2:10: $.command: {brieff} is not known"]),
        ("agent: a\ncommand: ['x{command}']\n", ["2:10: $.command: {command} stands for several"]),
        ("agent: a\ncommand: [x]\nbrief: argument\n", ["3:8: $.brief: brief: argument and"]),
        ("agent: a\ncommand: [x, '{brief_text}']\n", ["1:1: $.brief: brief: argument and"]),
        ("agent: a\ncommand: [x]\nbrief: post\n", ["3:8: $.brief: found text 'post', expected one"]),
        ("agent: a\ncommand: [x]\nread: [{text: a}]\n", ["3:7: $.read: only an output of json"]),
        ("agent: a\ncommand: [x]\noutput: json\nread: [{text: a..b}]\n",
         ["4:15: $.read[0].text: found 'a..b', expected a place"]),
        ("agent: a\ncommand: [x]\noutput: json\nread: [{when: {a: [1]}}]\n",
         ["4:19: $.read[0].when.a: expected a place and a plain value"]),
        ("agent: a\ncommand: [x]\nexits: {done: [256]}\n",
         ["3:16: $.exits.done[0]: found 256, expected 0 to 255"]),
        ("agent: a\ncommand: [x]\nprices: {input: 1}\n",
         ["3:9: $.prices: the part output is missing"]),
        ("agent: a\ncommand: [x]\nenvironment: ['A B']\n",
         ["3:15: $.environment[0]: found 'A B', expected the name of a variable"]),
        ("agent: a\ncommand: [x]\nset: {A: 1}\n", ["3:10: $.set.A: expected a variable and text"]),
        ("agent: a\ncommand: [x]\nset: {A: '{nope}'}\n", ["3:6: $.set: {nope} is not known"]),
        ("agent: a\ncommand: [x]\negress: ['http://a']\n",
         ["3:10: $.egress[0]: found 'http://a', expected a host, or host:port"]),
        ("agent: a\nextends: b\ncommand: [x]\n",
         ["2:10: $.extends: there is no such declaration, expected one of none"]),
        ("agent: a\ncommand: [x]\n---\nagent: a\ncommand: [x]\n",
         ["4:8: $.agent: a stands here twice"]),
        ("agent: &x a\ncommand: [x]\n", ["1:8: $.agent: found the anchor &x"]),
    ],
)  # fmt: skip
def test_every_fault_is_told_at_its_line_and_column(text: str, wanted: list[str]) -> None:
    found = faults(text)
    assert len(found) == len(wanted), found
    for one, start in zip(found, wanted, strict=True):
        assert one.startswith(start), one


def test_a_declaration_extends_another_and_takes_no_name_that_comes_with_remit() -> None:
    known = {one.agent.name: one.at for one in builtin()}
    text = b"agent: mine\nextends: codex\nprices: {input: 3, output: 4}\n"
    [one], problems = declared(text, known, frozenset(known))
    [codex] = [own.agent for own in builtin() if own.agent.name == "codex"]
    assert problems == []
    assert (one.agent.command, one.agent.prices) == (codex.command, Prices(3, 4))
    assert codex.prices is None
    text = b"agent: codex\ncommand: [evil]\n"
    assert [str(p) for p in declared(text, known, frozenset(known))[1]] == [
        "1:8: $.agent: codex comes with remit: give another name, with extends: NAME"
    ]


def test_a_declaration_that_is_written_out_reads_as_the_same_agent() -> None:
    for one in builtin():
        [again], problems = declared(written(one.agent).encode(), {})
        assert (problems, again.agent) == ([], one.agent)


def test_the_repository_adds_its_own_and_a_faulty_file_declares_nothing(tmp_path: Path) -> None:
    folder = tmp_path / ".remit/agents"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text("agent: base\ncommand: [x]\n")
    (folder / "b.yaml").write_text("agent: next\nextends: base\nabout: more\n")
    (folder / "c.yaml").write_text("agent: base\ncommand: [y]\n")
    (folder / "d.yaml").write_text("agent: half\n")
    (folder / "e.yaml").symlink_to(tmp_path / "nowhere")
    found, problems = declared_agents(tmp_path)
    assert [one.agent.name for one in found if one.path] == ["base", "next"]
    assert [(path.name, problem.message[:22]) for path, problem in problems] == [
        ("c.yaml", "base is declared befor"),
        ("d.yaml", "found no word, expecte"),
        ("e.yaml", "it cannot be read: No "),
    ]


def test_what_comes_with_remit_names_its_source() -> None:
    agents = {one.agent.name: one.agent for one in builtin()}
    assert sorted(agents) == ["claude-code", "codex", "command", "scripted"]
    for name in ("claude-code", "codex"):
        assert agents[name].source.startswith("https://")
        assert agents[name].needs_sandbox
    assert {p.name for p in AGENT.parts} >= {"agent", "command", "read"}
    assert "brief_text" in PLACEHOLDERS


def test_a_report_is_read() -> None:
    found, problems = report(
        json.dumps(GOOD | {"summary": "\U0001f600", "evidence": ["x"]}).encode()
    )
    assert problems == []
    assert found == Report(
        "remit.agent-report.v1", Outcome.DONE, "a" * 40, "\U0001f600", "", ("x",), None
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "this is not JSON"),
        (b"{", "this is not JSON"),
        (b"\xff\xfe", "this is not JSON"),
        (b"[" * 100_000, "this is not JSON"),
        (b"NaN", "this is not JSON"),
        (b"[]", "expected a mapping, a report"),
        (b'{"schema": "v0", "outcome": "done", "head": "' + b"a" * 40 + b'"}', "'v0', expected"),
        (json.dumps(GOOD | {"head": "main"}).encode(), "'main', expected a full commit id"),
        (json.dumps(GOOD | {"head": ""}).encode(), "expected a full commit id"),
        (json.dumps(GOOD | {"spent_micros": -1}).encode(), "found -1, expected 0 to"),
        (json.dumps(GOOD | {"spent_micros": 1.5}).encode(), "expected 0 to"),
        (json.dumps(GOOD | {"spent_micros": 10**30}).encode(), "expected 0 to"),
        (json.dumps(GOOD | {"outcome": "shipped"}).encode(), "'shipped', expected one of done"),
        (json.dumps(GOOD | {"\x1b[2J": 1}).encode(), r"$.\x1b[2J: this part is not known"),
        (json.dumps(GOOD | {"summary": "x" * 4001}).encode(), "at most 4000"),
        (json.dumps(GOOD | {"evidence": ["x"] * 21}).encode(), "at most 20"),
        (b'{"schema": "remit.agent-report.v1", "outcome": "done"}', "names the commit"),
        (b'{"schema": "remit.agent-report.v1", "outcome": "failed"}', "says why"),
        (
            json.dumps(GOOD | {"summary": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}).encode(),
            "16 levels",
        ),
        (json.dumps(GOOD | {"evidence": [0] * 20_000}).encode(), "10000 values"),
        (b" " * (REPORT_BYTES + 1), "expected at most"),
    ],
)
def test_what_is_no_report_is_none_and_says_why(data: bytes, said: str) -> None:
    found, problems = report(data)
    assert found is None
    assert said in str(problems[0]), problems


def test_progress_is_read_line_by_line() -> None:
    found, problems = progress(b'{"text": "half", "percent": 50, "spent_micros": 7}', 3)
    assert found is not None
    assert (found.text, found.percent, found.spent_micros, problems) == ("half", 50, 7, [])
    found, problems = progress(b'{"text": "x", "percent": 101}', 3)
    assert found is None
    assert str(problems[0]) == "3:1: $.percent: found 101, expected 0 to 100"
    assert progress(b" " * (PROGRESS_LINE_BYTES + 1), 1)[0] is None


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_published_schema_is_the_one_that_is_read_by(name: str) -> None:
    published = json.loads((PUBLISHED / f"{name}.schema.json").read_text())
    assert published == schema_of(name)
    assert published["additionalProperties"] is False
