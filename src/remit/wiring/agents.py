"""Wiring of agents: which declarations there are here, and who reads what agents write.

Declarations come with remit, and from ``.remit/agents/*.yaml`` of the repository that a ledger belongs
to. A name that comes with remit stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.documents.agent_files import progress, report, schema_of
from remit.documents.agents import MAX_BYTES, Declared, declared
from remit.documents.agents import written as as_written
from remit.documents.marked import Problem
from remit.drain import agents as room
from remit.ports.agent import Agent, Progress, Report

FOLDER: Final = ".remit/agents"
MOST_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class Found:
    """An agent, and where it is declared; ``path`` is None for one that comes with remit."""

    agent: Agent
    path: Path | None


def builtin() -> list[Declared]:
    """The declarations that come with remit."""
    found: list[Declared] = []
    for path in sorted((Path(room.__file__).parent / "builtin").glob("*.yaml")):
        more, problems = declared(path.read_bytes(), {})
        assert not problems, f"{path.name}: {problems[0]}"
        found += more
    return found


def declared_agents(top: Path | None) -> tuple[list[Found], list[tuple[Path, Problem]]]:
    """All agents that are declared here, and every problem of the repository's own files.

    A file with a problem declares nothing.
    """
    own = builtin()
    found = [Found(one.agent, None) for one in own]
    known = {one.agent.name: one.at for one in own}
    reserved = frozenset(known)
    wrong: list[tuple[Path, Problem]] = []
    for path in sorted((top / FOLDER).glob("*.yaml"))[:MOST_FILES] if top is not None else ():
        try:
            with path.open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
        except OSError as error:
            wrong.append((path, Problem(1, 1, "", f"it cannot be read: {error.strerror}")))
            continue
        more, problems = declared(data, known, reserved)
        twice = {one.agent.name for one in more} & set(known) - reserved
        problems += [Problem(1, 1, "", f"{name} is declared before") for name in sorted(twice)]
        wrong += [(path, problem) for problem in problems]
        if not problems:
            found += [Found(one.agent, path) for one in more]
            known |= {one.agent.name: one.at for one in more}
    return found, wrong


class Files:
    """Reads what agents write."""

    def report(self, data: bytes) -> tuple[Report | None, list[str]]:
        """A report, or what is wrong with it."""
        found, problems = report(data)
        return found, [f"{one.path}: {one.message}" for one in problems]

    def progress(self, data: bytes, line: int) -> tuple[Progress | None, list[str]]:
        """A line of progress, or what is wrong with it."""
        found, problems = progress(data, line)
        return found, [f"line {one.line}: {one.path}: {one.message}" for one in problems]


def written(agent: Agent) -> str:
    """An agent as a declaration that says all of it, in YAML."""
    return as_written(agent)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a declaration (``agent``), a ``report``, or a line of ``progress``."""
    return schema_of(name)
