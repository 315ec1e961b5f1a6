"""``agent list/show/check/schema``: which agents are declared here, and what one makes of a sample brief.

A file of declarations with faults is refused whole, with every fault at its line and column. Nothing
here leases or changes an item, and no ledger is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import OPERATE, stands
from remit.surfaces.cli.groups import agent as group
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.working import duration_ms

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen
    from remit.wiring.agents import Found

SHOWN: Final = 3
Name = Annotated[str, typer.Argument(metavar="NAME", help="A declared agent.")]


def top() -> Path:
    """The folder whose ``.remit/agents`` counts: the repository that one works for, or is in."""
    at = finding.place()
    noted = finding.attempt_note(at).get("repository")
    return Path(noted) if isinstance(noted, str) else at.top or at.cwd


def declared() -> dict[str, Found]:
    """All declared agents by name. Raises ``INPUT_PROBLEM`` with every fault of every file."""
    from remit.wiring.agents import declared_agents

    found, problems = declared_agents(top())
    if problems:
        lines = "; ".join(f"{path}:{problem}" for path, problem in problems[:SHOWN])
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot read the declarations of agents: {lines}{more}",
            "correct every one and repeat; docs/reference/agents.md names the parts",
            problems=[
                {"file": str(path), "line": p.line, "column": p.column, "path": p.path,
                 "message": p.message}
                for path, p in problems
            ],
        )  # fmt: skip
    return {one.agent.name: one for one in found}


def named(name: str) -> Found:
    """The agent of this name. Raises ``NOT_FOUND``."""
    found = declared()
    if name not in found:
        raise stop(
            Code.NOT_FOUND,
            f"there is no agent {name!r}, expected one of {', '.join(sorted(found))}",
            "declare it in .remit/agents/NAME.yaml; docs/reference/agents.md says how",
            name=name,
        )
    return found[name]


def _plain(found: Found) -> dict[str, Any]:
    import msgspec

    from remit.drain.agents.starting import missing

    parts: dict[str, Any] = msgspec.to_builtins(found.agent)
    for reading in parts["read"]:
        reading["when"] = dict(reading["when"])
    parts["set"] = dict(parts["set"])
    absent = missing(found.agent, found.agent.command)
    return {
        **parts,
        "declared_in": str(found.path) if found.path is not None else None,
        "program_found": not absent,
    }


@stands(group, "list", OPERATE, "remit agent list", "remit agent list --json")
def list_agents(session: Session) -> Answer:
    """List the agents that are declared here: those that come with remit, and the repository's own."""
    del session
    rows = [_plain(one) for one in declared().values()]
    return Answer({"agents": rows, "total": len(rows), "truncated": False}, _listed)


def _listed(screen: Screen, data: Any) -> None:
    rows = [
        (
            one["name"],
            "yes" if one["program_found"] else "no",
            one["declared_in"] or "comes with remit",
            one["about"],
        )
        for one in data["agents"]
    ]
    screen.table(("NAME", "FOUND", "DECLARED IN", "ABOUT"), rows)


@stands(group, "show", OPERATE, "remit agent show claude-code")
def show(session: Session, name: Name) -> Answer:
    """Show one declaration whole, as YAML, and whether its program is on PATH."""
    del session
    from remit.wiring.agents import written

    found = named(name)
    return Answer({"agent": _plain(found), "declaration": written(found.agent)}, _shown)


def _shown(screen: Screen, data: Any) -> None:
    one = data["agent"]
    screen.line(f"# declared in {one['declared_in'] or 'remit itself'}", "dim")
    screen.line(f"# program on PATH: {'yes' if one['program_found'] else 'no'}", "dim")
    screen.raw(data["declaration"])


@stands(group, "schema", OPERATE, "remit agent schema report", "remit agent schema progress --json")
def schema(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="FILE", help="agent, report or progress.")],
) -> Answer:
    """Print the JSON Schema of a declaration (agent), of report.json, or of a line of progress.jsonl."""
    del session
    from remit.wiring.agents import schema as schema_of

    if name not in ("agent", "report", "progress"):
        raise stop(Code.BAD_INPUT, f"there is no schema {name!r}", "name agent, report or progress")
    return Answer({"schema": schema_of(name)}, _schema)


def _schema(screen: Screen, data: Any) -> None:
    import json

    screen.raw(json.dumps(data["schema"], indent=2) + "\n")


@stands(
    group,
    "check",
    OPERATE,
    "remit agent check scripted",
    "remit agent check -- python3 my_agent.py --fast",
)
def check(
    session: Session,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="A declared agent, or a command and its words."),
    ],
    within: Annotated[
        str, typer.Option("--within", metavar="TIME", help="How long a run may take: 90s, 10m.")
    ] = "10m",
) -> Answer:
    """Run an agent on a sample brief in a scratch clone, and say what it did right and wrong.

    It is run as you, supervised but outside the sandbox, and once more to see whether it stops when
    asked. Exits 6 where a check fails. What was not seen is NOT_TESTED, never a pass.
    """
    del session
    from remit.drain.agents.conformance import conformance
    from remit.drain.limits import Limits
    from remit.wiring.agents import Files

    bound = duration_ms("--within", within)
    known = declared()
    single = len(command) == 1 and command[0] in known
    agent = known[command[0] if single else "command"].agent
    if single:
        agent = replace(agent, command=_from(top(), agent.command))
    checks = conformance(
        agent,
        Files(),
        command=() if single else _from(finding.place().cwd, command),
        limits=Limits(wall_ms=bound, idle_ms=bound),
    )
    rows = [
        {"name": one.name, "result": one.result, "reason": one.found, "hint": one.hint}
        for one in checks
    ]
    failed = sum(row["result"] == "FAIL" for row in rows)
    data = {"agent": agent.name, "checks": rows, "failed": failed, "ok": not failed}
    return Answer(data, _checked, 6 if failed else 0)


def _from(folder: Path, words: Sequence[str]) -> tuple[str, ...]:
    """Words of a command where those that name a file here name it from anywhere.

    A clone has the files of its repository; the sample's has none of them.
    """

    def found(place: int, word: str) -> bool:
        looked_up = place == 0 and "/" not in word  # on PATH, whatever lies here
        return not looked_up and not Path(word).is_absolute() and (folder / word).is_file()

    return tuple(
        str((folder / word).absolute()) if found(place, word) else word
        for place, word in enumerate(words)
    )


def _checked(screen: Screen, data: Any) -> None:
    rows = [(row["result"], row["name"], row["reason"], row["hint"]) for row in data["checks"]]
    screen.table(("RESULT", "CHECK", "FOUND", "WHAT TO DO"), rows)
    number = len(data["checks"])
    said = "none failed" if data["ok"] else f"{data['failed']} FAILED"
    screen.line(f"{number} checks, {said}", "bold")
    if sys.stderr is not None and not data["ok"]:
        screen.line("docs/guides/own-agent.md describes the protocol")
