"""The pages on agents: every example is read and run, and every part, check and variable is named."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from remit.documents.agent_files import PROGRESS, REPORT, report
from remit.documents.agents import AGENT, PLACEHOLDERS, declared
from remit.drain.agents.conformance import NAMES, conformance
from remit.drain.agents.exchange import Exchange
from remit.drain.agents.outcomes import TRIAGE, Came
from remit.drain.agents.starting import Job, environment_of
from remit.drain.limits import Limits
from remit.surfaces.cli.priming import EDITS
from remit.wiring.agents import Files, builtin

DOCS = Path(__file__).parents[2] / "docs"
AGENTS = (DOCS / "reference/agents.md").read_text()
OWN = (DOCS / "guides/own-agent.md").read_text()
HOOKS = (DOCS / "guides/prime-and-hooks.md").read_text()


def test_every_declaration_on_the_pages_is_one() -> None:
    known = {one.agent.name: one.at for one in builtin()}
    blocks = re.findall(r"```yaml\n(.*?)```", AGENTS + OWN, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        [one], problems = declared(block.encode(), known, frozenset(known))
        assert problems == []
        assert one.agent.name == yaml.safe_load(block)["agent"]


def test_every_part_placeholder_and_variable_is_named(tmp_path: Path) -> None:
    for part in AGENT.parts:
        assert f"`{part.name}`" in AGENTS, part.name
    for name in PLACEHOLDERS:
        assert re.search(rf"`\{{?{name}\}}?`", AGENTS), name
    for record in (REPORT, PROGRESS):
        for part in record.parts:
            assert f"`{part.name}`" in OWN, part.name
    job = Job("W-1", "A-1", tmp_path, Exchange(tmp_path))
    [command] = [one.agent for one in builtin() if one.agent.name == "command"]
    for name in environment_of(command, job, {}):
        assert f"`{name}`" in AGENTS, name
    for came in Came:
        assert f"| `{came}` |" in AGENTS, came
        row = next(line for line in AGENTS.splitlines() if line.startswith(f"| `{came}` |"))
        assert came not in TRIAGE or f"`{TRIAGE[came]}`" in row
    for tool in EDITS:
        assert f"`{tool}`" in HOOKS


def test_the_agent_of_the_guide_passes_the_check(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", OWN, re.DOTALL)
    (tmp_path / "greet.py").write_text(code)
    [command] = [one.agent for one in builtin() if one.agent.name == "command"]
    checks = conformance(
        command,
        Files(),
        command=("python3", str(tmp_path / "greet.py")),
        limits=Limits(wall_ms=60_000, stop_ms=3_000),
    )
    assert {one.name for one in checks if one.result == "FAIL"} == set()
    assert {one.name for one in checks if one.result == "NOT_TESTED"} <= {"stops"}
    assert len(NAMES) == 15, "the guide says how many"


def test_the_example_of_the_rules_is_a_report() -> None:
    from remit.drain.agents.exchange import RULES

    (text,) = re.findall(r"`(\{\"schema\".*?\})`", RULES)
    found, problems = report(text.replace("FULL COMMIT ID", "a" * 40).encode())
    assert (found is not None, problems) == (True, [])
