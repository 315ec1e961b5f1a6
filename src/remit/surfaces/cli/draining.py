"""``drain`` and ``run resume``: agents work the queue within bounds that a human has decided on.

Everything that would refuse is looked at before anything is written: agent, sandbox, decision, proof.
While a run goes, people on a terminal see a table of it, pipes get a line for each thing that happened,
and ``--json`` prints an object for each of them and the interface's answer at the end. Foreign text is
made visible before it reaches any of these.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.core.run_events import RunStarted
from remit.core.run_facts import Run, RunBounds
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Answer, Stop, flush_out, print_error, stop
from remit.surfaces.cli.declare import WORK, stands
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.groups import run as group
from remit.surfaces.cli.running import shortly
from remit.surfaces.cli.session import Session, accepted, required
from remit.surfaces.cli.working import duration_ms

if TYPE_CHECKING:
    from remit.drain.conductor import Conductor
    from remit.ports.agent import Agent
    from remit.surfaces.cli.screen import Screen
    from remit.wiring.draining import Here, Told

MINUTE_MS: Final = 60_000

Items = Annotated[int, typer.Option("--max-items", metavar="N", help="Choose at most N items.")]
Parallel = Annotated[int, typer.Option("--max-parallel", metavar="N", help="At most N at a time.")]
Minutes = Annotated[int, typer.Option("--max-minutes", metavar="N", help="Nothing runs longer.")]
Spend = Annotated[
    int, typer.Option("--max-spend", metavar="MICROS", help="Set aside at most so much in all.")
]
Failures = Annotated[
    int, typer.Option("--max-failures", metavar="N", help="Stop choosing after N failures.")
]
AgentName = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="The declared agent that works.")
]
Actor = Annotated[
    str, typer.Option("--actor", metavar="ACTOR", help="As whom it works; default: its name.")
]
Reviewer = Annotated[
    str, typer.Option("--reviewer", metavar="NAME", help="A declared agent that reviews.")
]
ReviewAs = Annotated[
    str,
    typer.Option("--review-as", metavar="ACTOR", help="Who reviews; default: the reviewer's name."),
]
Integrate = Annotated[
    str,
    typer.Option(
        "--integrate", metavar="WAY", help="Land what was approved: merge, rebase, pr or none."
    ),
]
Ttl = Annotated[str, typer.Option("--ttl", metavar="TIME", help="How long a lease holds.")]
Within = Annotated[
    str, typer.Option("--within", metavar="TIME", help="How long one agent may work: 90s, 1h.")
]
SpendEach = Annotated[
    int, typer.Option("--spend-each", metavar="MICROS", help="Set aside for each item.")
]
Class = Annotated[str, typer.Option("--class", metavar="NAME", help="Only items of this class.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Only of this tenant.")]
DecisionId = Annotated[
    str, typer.Option("--decision", metavar="ID", help="The human decision that allows the run.")
]
Model = Annotated[str, typer.Option("--model", metavar="NAME", help="The model for the agent.")]
Show = Annotated[
    list[Path] | None,
    typer.Option("--show", metavar="DIR", help="A folder that agents and rows may read."),
]
Unboxed = Annotated[
    str,
    typer.Option(
        "--without-sandbox", metavar="ID", help="The decision that lets agents work without one."
    ),
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Say what would be chosen; write nothing.")]


@stands(
    app,
    "drain",
    WORK,
    "remit drain --dry-run --agent claude-code --max-items 5",
    "remit drain --agent claude-code --max-items 5 --max-minutes 60 --decision D-3",
)
def drain(
    session: Session,
    agent: AgentName = "",
    actor: Actor = "",
    reviewer: Reviewer = "",
    review_as: ReviewAs = "",
    max_items: Items = 1,
    max_parallel: Parallel = 1,
    max_minutes: Minutes = 60,
    max_spend: Spend = 0,
    max_failures: Failures = 1,
    integrate: Integrate = "none",
    ttl: Ttl = "",
    within: Within = "1h",
    spend_each: SpendEach = 0,
    work_class: Class = "",
    tenant: Tenant = "",
    model: Model = "",
    show: Show = None,
    decision: DecisionId = "",
    without_sandbox: Unboxed = "",
    dry_run: Dry = False,
) -> Answer:
    """Let agents work the queue, in lease order and within bounds.

    Each item gets a clone and a sandbox of its own that is probed before the agent starts. Ctrl-C once
    takes nothing new and finishes what runs; twice hands everything back and stops now.
    """
    from remit.drain.journey import Options
    from remit.wiring.draining import WAYS, Told

    if integrate not in WAYS:
        raise stop(
            Code.BAD_INPUT,
            f"--integrate is {integrate!r}, expected one of {', '.join(WAYS)}",
            "correct it and repeat",
        )
    options = Options(duration_ms("--ttl", ttl), spend_each, integrate, work_class, tenant)
    wall_ms = duration_ms("--within", within)
    told = Told(
        options, reviewer, wall_ms, min(900_000, wall_ms), model, _shown(show or []),
        without_sandbox,
    )  # fmt: skip
    bounds = RunBounds(max_items, max_parallel, max_minutes * MINUTE_MS, max_spend, max_failures)
    here = _here(session, agent, reviewer)
    command = c.StartRun(
        actor or agent,
        review_as or reviewer,
        agent,
        bounds,
        decision,
        _proof(),
        _nonce(),
        told.pairs([one for one in (here.worker, here.reviewer) if one is not None]),
    )
    if dry_run:
        from remit.surfaces.cli.drain_preview import preview, previewed

        return Answer(preview(session, here, command, told), previewed)
    return _drive_new(session, here, command, told)


@stands(group, "resume", WORK, "remit run resume RUN-2")
def resume(
    session: Session,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run that is not over.")],
) -> Answer:
    """Drive a run on that died or was left: from its last checkpoints, and nothing twice.

    A process that still drives it is overtaken and can change nothing more.
    """
    found = _run(session, run)
    from remit.wiring.draining import told_of

    told = told_of(found)
    here = _here(session, found.agent, told.review_agent)
    holder = _nonce()
    accepted(session.operations.resume_run(c.ResumeRun(run, holder)))
    return _drive(session, here, run, holder, told, resumed=True)


def _drive_new(session: Session, here: Here, command: c.StartRun, told: Told) -> Answer:
    for refused in refusals(session, here, told):
        raise Stop(refused)
    done = accepted(session.operations.start_run(command))
    [started] = [r for r in done.events if isinstance(r.event, RunStarted)]
    name = started.stream.partition("/")[2] or started.stream
    return _drive(session, here, name, command.holder, told, resumed=False)


def refusals(session: Session, here: Here, told: Told) -> list[Refused]:
    """What of this machine stands in the way of a run, before its record is asked."""
    from remit.drain.agents.starting import missing
    from remit.wiring.draining import no_sandbox, no_scanner

    del session
    found = []
    for agent in (here.worker, here.reviewer):
        absent = missing(agent, agent.command) if agent is not None else ""
        if absent:
            found.append(
                Refused(
                    Code.AGENT_MISSING,
                    f"cannot start {absent}: it is not on PATH",
                    "install it, or name another with --agent",
                    {"agent": agent.name if agent is not None else ""},
                )
            )
    unboxed = None if told.sandbox_decision else no_sandbox() or no_scanner()
    return [*found, *((unboxed,) if unboxed is not None else ())]


def _drive(
    session: Session, here: Here, name: str, holder: str, told: Told, *, resumed: bool
) -> Answer:
    from remit.surfaces.cli.drain_screen import watching
    from remit.wiring.draining import conductor, machine

    record = _run(session, name)
    if not told.sandbox_decision:
        _prepare_scanner(session)
    place = machine(here, name, told)
    with watching(session, here.ledger, record) as watch, place.hearing():
        made = conductor(here, record, holder, place, watch.tell)
        watch.conductor = made
        refused = _driven(made, resumed)
    if refused is not None:
        _leave(session, refused)
    left = place.finish()
    run = answer_of(session, name)
    idle = not run["used"]["items"] and run["stopped_by"] == "nothing-ready"
    status = 130 if place.asked() == "now" else 5 if idle else 0
    return Answer({"run": run, "left": list(left)}, _ended, status)


def _leave(session: Session, refused: Refused) -> NoReturn:
    """End a run that was refused; jobs that are still at work end with the process.

    They must not run while the interpreter is taken apart around them, which may abort it.
    """
    from remit.wiring.workplace import JOBS

    if not any(thread.name.startswith(JOBS) for thread in threading.enumerate()):
        raise Stop(refused)
    status = print_error(refused, json=session.options.json)
    flush_out()
    os._exit(status)


def _prepare_scanner(session: Session) -> None:
    """Have the scanner's rules compiled, and say so: the first scan of a user takes long by that."""
    from remit.surfaces.cli.progress import shown
    from remit.wiring.isolating import secret_scanner

    with shown(session) as report:
        secret_scanner().prepare(lambda: report("compile the secret scanner's rules", 0, 0))


def _driven(made: Conductor, resumed: bool) -> Refused | None:
    """Drive a run; trouble says how to go on with it."""
    from remit.ports import RemitError

    try:
        return made.drive(resumed)
    except RemitError as trouble:
        again = f"remit run resume {made.hands.run}"
        hint = f"{trouble.hint}; then go on with '{again}'" if trouble.hint else again
        return Refused(trouble.code, trouble.message, hint, trouble.details)


def answer_of(session: Session, name: str) -> dict[str, Any]:
    """A run as the interface names it, with all its entries."""
    from remit.service.reading.runs import run_show

    with session.ledger.reading() as tx:
        found: dict[str, Any] = required(run_show(tx, name, 0))["run"]
    return found


def _ended(screen: Screen, data: Any) -> None:
    run = data["run"]
    rows = [
        (entry["entry"], entry["item"], entry["outcome"] or entry["step"], shortly(entry["detail"]))
        for entry in run["items"]
    ]
    if rows:
        screen.table(("ENTRY", "ITEM", "OUTCOME", "DETAIL"), rows)
    screen.line(f"{run['id']} was stopped by {run['stopped_by']}", "bold")
    for path in data["left"]:
        screen.line(f"kept: {path}")


def _here(session: Session, agent: str, reviewer: str) -> Here:
    from remit.surfaces.cli.agents import named
    from remit.wiring import Settings
    from remit.wiring.draining import Here

    if not agent:
        raise stop(
            Code.BAD_INPUT,
            "cannot drain: no agent is named",
            "name one with --agent; see 'remit agent list'",
        )
    repository = finding.repository(session.url).absolute()
    from remit.surfaces.cli.config import load

    config = load(repository)
    session.ledger.settings = Settings(
        config.remote, config.main, markers=config.markers, host=config.host
    )
    worker: Agent = named(agent).agent
    judge = named(reviewer).agent if reviewer else None
    return Here(session.ledger, session.url, repository, worker, judge)


def _run(session: Session, name: str) -> Run:
    with session.ledger.reading() as tx:
        found = tx.load([("run", name)])["run", name]
    if not isinstance(found, Run):
        raise stop(Code.NOT_FOUND, f"there is no run {name!r}", "see 'remit run list'", run=name)
    return found


def _shown(folders: list[Path]) -> tuple[str, ...]:
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise stop(
                Code.BAD_INPUT, f"--show is {str(folder)!r}, which is no folder", "name a folder"
            )
        found.append(str(folder.resolve()))
    return tuple(found)


def _proof() -> str:
    from remit.drain.version import code_digest

    return code_digest()


def _nonce() -> str:
    return os.urandom(12).hex()
