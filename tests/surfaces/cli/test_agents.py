"""``agent``, ``prime`` and ``hook``: what is declared, what is told, and what is kept from being edited."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.calling import IDENTITY, SRC, Cli, git

GOOD_AGENT = """
import json, os, pathlib, subprocess
pathlib.Path("greeting.txt").write_text("hello\\n")
run = lambda *words: subprocess.run(["git", *words], check=True, capture_output=True, text=True)
run("add", "greeting.txt")
run("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "hello")
head = run("rev-parse", "HEAD").stdout.strip()
said = {"schema": "remit.agent-report.v1", "outcome": "done", "head": head}
pathlib.Path(os.environ["REMIT_REPORT"]).write_text(json.dumps(said))
"""


@pytest.fixture
def plain(tmp_path: Path) -> Cli:
    """A repository without a ledger."""
    git(tmp_path, "init", "-q", "-b", "main")
    return Cli(tmp_path)


def declare(cli: Cli, text: str, name: str = "mine.yaml") -> Path:
    folder = cli.cwd / ".remit/agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_agents_are_listed_with_where_they_are_declared(plain: Cli) -> None:
    path = declare(plain, "agent: mine\nextends: codex\ncommand: [no-such-program]\n")
    found = {one["name"]: one for one in plain.json("agent", "list")["agents"]}
    assert sorted(found) == ["claude-code", "codex", "command", "mine", "scripted"]
    assert (found["mine"]["declared_in"], found["mine"]["program_found"]) == (str(path), False)
    assert (found["scripted"]["declared_in"], found["scripted"]["program_found"]) == (None, True)
    assert "no-such-program" in plain.text("agent", "show", "mine")
    assert plain.json("agent", "show", "codex")["agent"]["read"][0]["when"] == {
        "type": "thread.started"
    }
    assert plain.refused("agent", "show", "nobody", status=4, code="NOT_FOUND")


def test_a_faulty_declaration_is_refused_with_line_and_column(plain: Cli) -> None:
    path = declare(plain, "agent: mine\ncommand: [x]\nbrief: fax\n")
    error = plain.refused("agent", "list", status=2, code="INPUT_PROBLEM")
    [problem] = error["details"]["problems"]
    assert (problem["file"], problem["line"], problem["column"]) == (str(path), 3, 8)


def test_schemas_are_printed(plain: Cli) -> None:
    assert plain.json("agent", "schema", "report")["schema"]["title"] == "report.json"
    assert json.loads(plain.text("agent", "schema", "progress"))["required"] == ["text"]
    plain.refused("agent", "schema", "brief", status=2, code="BAD_INPUT")


def test_a_command_is_checked_on_a_sample(plain: Cli) -> None:
    (plain.cwd / "good.py").write_text(GOOD_AGENT)
    words = ("agent", "check", "--", sys.executable, str(plain.cwd / "good.py"))
    ran = plain.run("agent", "check", "--json", "--", *words[3:])
    assert ran.status == 0, ran
    results = {one["name"]: one["result"] for one in ran.data["checks"]}
    assert results["work"] == results["head"] == results["scope"] == "PASS"
    assert results["cost"] == "NOT_TESTED"
    ran = plain.run("agent", "check", "--json", "--", "true")
    assert (ran.status, ran.data["ok"]) == (6, False)
    assert "there is no report.json" in plain.run("agent", "check", "--", "true").out


def test_files_of_an_agent_are_found_as_they_were_named(plain: Cli) -> None:
    """The sample's repository has none of them: `python3 greet.py` means the file that lies here."""
    (plain.cwd / "tools").mkdir()
    (plain.cwd / "tools" / "good.py").write_text(GOOD_AGENT)
    ran = plain.run("agent", "check", "--json", "--", sys.executable, "tools/good.py")
    assert ran.status == 0, ran
    declare(plain, f"agent: mine\ncommand: [{sys.executable}, tools/good.py]\n")
    ran = plain.run("agent", "check", "--json", "mine")
    assert ran.status == 0, ran


def test_prime_says_nothing_where_no_ledger_is(plain: Cli) -> None:
    assert plain.text("prime") == ""
    assert plain.text("hook", "session-start") == ""
    block = plain.text("prime", "--agents-md")
    assert block.startswith("<!-- remit:begin -->\n")
    assert block.endswith("<!-- remit:end -->\n")
    assert "cannot be read" in plain.text("prime", "--ledger", "sqlite:///no/such.db")


def test_prime_tells_commands_rules_and_where_things_stand(repo: Cli) -> None:
    repo.json("create", "Say hello", "--verify", "grep -q hello greeting.txt")
    said = repo.text("prime")
    assert "remit lease --next" in said
    assert "- ready: 1, first W-1" in said
    assert "- kill switch: off" in said
    assert repo.json("prime")["now"]["ready"] == 1
    hook = json.loads(repo.text("hook", "session-start"))["hookSpecificOutput"]
    assert (hook["hookEventName"], hook["additionalContext"]) == ("SessionStart", said)
    repo.json("kill-switch", "engage")
    assert "kill switch: on" in repo.text("prime")


def test_every_command_that_prime_names_is_one(repo: Cli) -> None:
    import re

    for line in repo.text("prime").splitlines():
        for words in re.findall(r"`remit ([a-z -]+)", line):
            name = re.split(r" -", words)[0].split()
            assert repo.run(*name, "--help").status == 0, words


def test_settings_name_the_two_hooks(plain: Cli) -> None:
    hooks = json.loads(plain.text("hook", "settings"))["hooks"]
    assert sorted(hooks) == ["PreToolUse", "SessionStart"]
    assert hooks["PreToolUse"][0]["matcher"].startswith("Edit|Write")


def guarded(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, call: Any, cwd: Path | None = None
) -> tuple[int, str]:
    data = call if isinstance(call, bytes) else json.dumps(call).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    ran = cli.run("hook", "guard", cwd=cwd)
    assert ran.out == ""
    return ran.status, ran.err


def edit(path: str, tool: str = "Edit") -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {"file_path": path}}


@pytest.fixture
def clone(repo: Cli) -> Path:
    repo.json("create", "Hello", "--verify", "grep -q hello src/a.py", "--scope", "src/**")
    repo.json("lease", "W-1", "--clone", "../w1")
    return repo.cwd.parent / "w1"


def test_the_guard_keeps_edits_within_the_scope_of_the_item(
    repo: Cli, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone / "src").mkdir(exist_ok=True)
    (clone / "src/away").symlink_to(clone / "docs")
    (clone / "docs").mkdir(exist_ok=True)
    for path in ("src/a.py", str(clone / "src/new/deep.py")):
        assert guarded(repo, monkeypatch, edit(path), clone) == (0, "")
    refused = {
        "README.md": "outside the scope", "/etc/hosts": "outside the clone",
        "src/../README.md": "outside the scope", "../w1b/src/a.py": "outside the clone",
        ".git/hooks/pre-commit": "git's own files", "src/away/x.md": "outside the scope",
        "src/.git/config": "git's own files",
    }  # fmt: skip
    for path, why in refused.items():
        status, said = guarded(repo, monkeypatch, edit(path, "Write"), clone)
        assert (status, why in said) == (2, True), (path, said)
        assert "W-1" in said
    patch = {"tool_name": "apply_patch",
             "tool_input": {"input": "*** Begin Patch\n*** Update File: setup.py\n"}}  # fmt: skip
    assert guarded(repo, monkeypatch, patch, clone)[0] == 2
    assert guarded(repo, monkeypatch, edit("README.md", "Read"), clone) == (0, "")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"tool_name": "Edit"}',
                                  b'{"tool_name": "Edit", "tool_input": {"file_path": "a\\u0000b"}}'])  # fmt: skip
def test_what_the_guard_cannot_make_sense_of_it_refuses(
    repo: Cli, clone: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    status, said = guarded(repo, monkeypatch, data, clone)
    assert status == 2
    assert "cannot tell" in said


def test_the_guard_refuses_when_the_ledger_is_away_and_is_silent_elsewhere(
    repo: Cli, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded(repo, monkeypatch, edit("README.md")) == (0, "")
    note = clone / ".git/remit/attempt.json"
    found = json.loads(note.read_text())
    note.write_text(json.dumps(found | {"ledger": "sqlite:///no/such.db"}))
    status, said = guarded(repo, monkeypatch, edit("src/a.py"), clone)
    assert (status, "cannot tell" in said) == (2, True)
    monkeypatch.setenv("REMIT_ITEM", "W-1")
    monkeypatch.setenv("REMIT_SCOPE", "docs/**\nsetup.py")
    assert guarded(repo, monkeypatch, edit("docs/a.md"), clone) == (0, "")
    assert guarded(repo, monkeypatch, edit("src/a.py"), clone)[0] == 2
    monkeypatch.setenv("REMIT_SCOPE", "")
    assert guarded(repo, monkeypatch, edit("docs/a.md"), clone)[0] == 2


def test_the_guard_as_a_process_exits_as_hooks_are_read(clone: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remit", "hook", "guard"], cwd=clone,
        input=json.dumps(edit("README.md")), capture_output=True, text=True,
        env={**os.environ, **IDENTITY, "PYTHONPATH": str(SRC)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "outside the scope" in done.stderr
