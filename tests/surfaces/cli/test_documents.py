"""Help and documents: every command explains itself, and what the documents show can be typed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.calling import Cli, environment, git

from remit.surfaces.cli.app import PANELS
from remit.surfaces.cli.groups import app

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs/reference/cli.md"
GLOBALS = {"--ledger", "--as", "--json", "--quiet", "--no-color", "--at", "--command-id", "--help"}
GLOBALS |= {"--key", "--statement"}


def commands() -> Iterator[tuple[str, Any]]:
    from typer.main import get_command

    def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        below = getattr(command, "commands", None)
        if below is None:
            yield path, command
            return
        for name in sorted(below):
            yield from walk(f"{path} {name}", below[name])

    yield from walk("remit", get_command(app))


def undocumented(reference: str) -> list[str]:
    """Commands and options that a reference does not name."""
    sections = {
        match[1]: match[2]
        for match in re.finditer(
            r"^### `(remit[a-z -]*?)(?: [A-Z\[][^`\n]*)?`\n(.*?)(?=^##|\Z)",
            reference,
            re.MULTILINE | re.DOTALL,
        )
    }
    found = []
    for path, command in commands():
        if path not in sections:
            found.append(path)
            continue
        options = {o for p in command.params for o in p.opts if o.startswith("--")}
        found += [f"{path} {o}" for o in sorted(options - GLOBALS) if f"`{o}" not in sections[path]]
    found += [f"{o}" for o in sorted(GLOBALS) if f"`{o}" not in reference]
    known = {path for path, _ in commands()}
    return found + [f"{path} (there is no such command)" for path in set(sections) - known]


def test_the_reference_names_every_command_and_option() -> None:
    assert undocumented(REFERENCE.read_text()) == []


def test_the_check_of_the_reference_can_fail() -> None:
    text = REFERENCE.read_text()
    assert undocumented(text.replace("`--ttl", "`--tl")) == [
        "remit claim --ttl",
        "remit drain --ttl",
        "remit lease --ttl",
        "remit renew --ttl",
        "remit worker --ttl",
    ]
    assert undocumented(text.replace("### `remit note", "### `remit nte")) == [
        "remit note", "remit nte (there is no such command)",
    ]  # fmt: skip


def test_every_command_has_a_summary_and_an_example_that_can_be_typed() -> None:
    for path, command in commands():
        assert command.help, path
        examples = command.epilog.split("\n\n")[1:]
        assert examples, path
        for example in examples:
            words = shlex.split(example)
            assert words[: len(path.split())] == path.split(), example
            options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
            own = words[: words.index("--")] if "--" in words else words
            for word in own:
                assert not word.startswith("-") or word == "-" or word in options, example
        for parameter in command.params:
            assert getattr(parameter, "help", ""), f"{path} {parameter.name}"


def test_help_groups_commands_in_the_order_of_use(cli: Cli) -> None:
    shown = cli.run("--help").out
    panels = [panel.partition(":")[0] for panel in PANELS]
    places = [shown.index(f"─ {panel}") for panel in panels]
    assert places == sorted(places)


def test_no_arguments_show_help_and_a_wrong_command_is_one_line(cli: Cli) -> None:
    ran = cli.run()
    assert ran.status == 2
    assert "remit init" in ran.out
    assert "No such command" in cli.run("frob").err
    assert cli.run("--version").out.startswith("remit ")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", ["docs/start/first-steps.md"])
def test_a_document_runs_as_it_is_written(document: str, tmp_path: Path) -> None:
    """Each fenced ``sh`` block is run in turn by one shell, in a repository with an origin."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    assert len(blocks) > 3
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "project")
    project = tmp_path / "project"
    git(project, "checkout", "-q", "-b", "main")
    (project / "README").write_text("numbers\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    git(project, "push", "-q", "-u", "origin", "main")
    programs = tmp_path / "bin"
    programs.mkdir()
    remit = programs / "remit"
    remit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m remit "$@"\n')
    remit.chmod(0o755)
    env = environment()  # whoever runs the tests, as a reader is whoever reads
    env["PATH"] = f"{programs}:{Path(sys.executable).parent}:{env['PATH']}"
    script = "set -eu\n" + "\n".join(blocks)
    ran = subprocess.run(
        ["sh", "-c", script], cwd=project, env=env, capture_output=True, text=True, timeout=500
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "is verified" in ran.stdout
