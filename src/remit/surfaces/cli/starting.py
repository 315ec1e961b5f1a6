"""Commands to start with: a ledger, a look at the machine, a backlog, the demo, the benchmark.

What they need beyond the ledger is imported only when they run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code, Refused
from remit.ports import RemitError
from remit.surfaces.cli import finding, rules
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.config import NAME, TEMPLATE
from remit.surfaces.cli.declare import OPERATE, START, stands, writes
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.signing import key_spec
from remit.surfaces.cli.working import Repository

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

EXAMPLES: Final = 3
"""Quarantined rows of each code that people are shown."""


def _made(screen: Screen, data: Any) -> None:
    screen.line(f"ledger {data['ledger_id']} at {data['ledger']}")
    if data["config"]:
        screen.line(f"configuration: {data['config']} (commit it)")
    screen.line(f"first human: {data['human']}")
    if data["human"] != data["actor"]:
        screen.line(
            f"you act as {data['actor']} here: say --as {data['human']}, or set REMIT_ACTOR"
        )
    if data["fingerprint"]:
        screen.line(f"key: {data['fingerprint']}; nothing unproved is accepted")
    screen.line('next: remit create "Fix the parser" --verify "pytest -q tests/test_parser.py"')


@stands(
    app,
    "init",
    START,
    "remit init",
    "remit init --human ann",
    "remit init --key ~/.ssh/id_ed25519.pub",
)
def init(
    session: Session,
    human: Annotated[
        str, typer.Option("--human", metavar="NAME", help="The first human; default: who acts.")
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            "--key", metavar="FILE", help="That human's public key: proof is then needed."
        ),
    ] = "",
    served: Annotated[
        bool,
        typer.Option("--served", help="Agents will reach it through a server alone."),
    ] = False,
) -> Answer:
    """Make a ledger here, and a configuration to commit.

    In a git repository the ledger lies in the git common directory, which worktrees share and no
    clean-up reaches; elsewhere in .remit; with --ledger postgresql://... in that database. Where a ledger is already, it is named and left alone.
    """
    from remit.wiring import create_ledger, on_server, path_of, url_of

    at = finding.place()
    spec = key_spec(key) if key else None
    named = session.options.ledger or os.environ.get("REMIT_LEDGER", "")
    first = human or session.actor
    session.config  # noqa: B018  # a configuration with a fault is refused before anything is made
    if on_server(named):
        made = create_ledger(named, first, key=spec, served=served)
        url = made.store.url
    else:
        path = path_of(named).absolute() if named else finding.new_ledger(at)
        _free(path, at, named)
        _folder(path.parent)
        url = url_of(path)
        made = create_ledger(url, first, key=spec, served=served)
    ledger_id = made.store.ledger_id
    made.close()
    config = session.config.path or _write_config((at.top or at.cwd) / NAME)
    return Answer(
        {
            "ledger": url,
            "ledger_id": ledger_id,
            "human": first,
            "actor": session.actor,
            "fingerprint": spec.fingerprint if spec else None,
            "served": served,
            "config": str(config) if config else None,
        },
        _made,
    )


def _free(path: Path, at: finding.Place, named: str) -> None:
    from remit.wiring import open_ledger, path_of, url_of

    there = url_of(path) if path.exists() else "" if named else finding.existing(at)
    if not there:
        return
    try:
        opened = open_ledger(there)
    except RemitError:
        opened = None
    details: dict[str, Any] = {"ledger": there}
    if opened is not None:
        details["ledger_id"] = opened.store.ledger_id
        with opened.reading() as tx:
            begun = tx.head().seq > 0
        opened.close()
        if not begun:
            return
    raise stop(
        Code.LEDGER_EXISTS,
        f"cannot make a ledger: there is one at {path_of(there)}",
        "use it as it is: every command here finds it",
        **details,
    )


def _folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise stop(
            Code.STORE_REFUSED,
            f"cannot make the folder {folder}: {error.strerror}",
            "see that its parent can be written",
            path=str(folder),
        ) from error


def _write_config(path: Path) -> Path | None:
    """Write the commented configuration; a folder that takes none is no reason to fail."""
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        return path
    except OSError:
        return None
    return path


def _checks(screen: Screen, data: Any) -> None:
    rows = [(c["result"], c["name"], c["reason"]) for c in data["checks"]]
    screen.table(("RESULT", "CHECK", "WHAT WAS FOUND"), rows)
    for check in data["checks"]:
        if check["hint"] and check["result"] in ("FAIL", "BLOCKED"):
            screen.line(f"{check['name']}: {check['reason']}; {check['hint']}")


@stands(app, "doctor", START, "remit doctor", "remit doctor --json")
def doctor(session: Session, repository: Repository = None) -> Answer:
    """Check what remit needs here: clock, store, git, sandbox, keys. Exits 6 where a check fails.

    Each check has one of four results; what nobody looked at is NOT_TESTED, never a pass.
    """
    from remit.surfaces.cli.examining import examine

    checks = examine(session, repository)
    failed = any(check["result"] == "FAIL" for check in checks)
    return Answer({"checks": checks}, _checks, 6 if failed else 0)


def _imported(screen: Screen, data: Any) -> None:
    screen.table(
        ("ROWS", "IMPORTED", "UNCHANGED", "QUARANTINED"),
        [(data["rows"], data["imported"], data["unchanged"], data["quarantined_total"])],
    )
    edges = ", ".join(f"{number} {kind}" for kind, number in data["edges"].items() if number)
    screen.line(f"edges: {edges or 'none'}")
    for name in ("dangling", "to_tombstones", "to_self"):
        if data.get(name):
            screen.line(f"edges {name.replace('_', ' ')}: {data[name]}")
    for cycle in data["cycles"][:20]:
        path = [*cycle["ids"], *cycle["ids"][:1]]
        screen.line(f"cycle ({cycle['kind']}): {' -> '.join(path)}")
    counts = Counter(row["code"] for row in data["quarantined"])
    for code, number in counts.most_common():
        screen.line(f"{code}: {number}")
        some = [row for row in data["quarantined"] if row["code"] == code][:EXAMPLES]
        for row in some:
            screen.line(f"  row {row['row']} {row['id'] or '(no id)'}: {row['reason']}")
    for step in data["next"]:
        screen.line(f"next: {step}")


@writes(
    app,
    "import",
    START,
    "remit import beads .beads/issues.jsonl --dry-run",
    "remit import beads .beads/issues.jsonl",
)
def import_(
    session: Session,
    fmt: Annotated[str, typer.Argument(metavar="FORMAT", help="beads.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file; - reads standard input.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and judge everything, and write nothing.")
    ] = False,
    rule: Annotated[
        str, typer.Option("--rule", metavar="NAME", help="The default rule for what comes in.")
    ] = "default",
) -> Answer:
    """Bring in a backlog; each row is imported, unchanged, or quarantined with a code.

    A second import of the same file changes nothing. One that was interrupted is carried on by
    running it again. Imported items wait behind the rule until a human accepts it.
    """
    from remit.service.importing import Import
    from remit.service.previewing import preview
    from remit.wiring import backlog, input_file

    session.ledger  # noqa: B018  # a ledger that is not there is said before a long file is read
    try:
        with input_file(path) as file, shown(session) as report:
            source = backlog(fmt, file)
            found: dict[str, Any] | Refused
            if dry_run:
                found = preview(session.operations, source, report)
            else:
                rules.register(session)
                found = Import(session.operations, source, rule, report).run()
    except OSError as error:
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot import {path}: {error.strerror or error}",
            "see that it can be read, and that the folder for temporary files has room",
        ) from error
    if isinstance(found, Refused):
        raise Stop(found)
    steps = _next_steps(session, rule, found, dry_run=dry_run)
    return Answer({"dry_run": dry_run, "format": fmt, **found, "next": steps}, _imported)


def _next_steps(
    session: Session, rule: str, found: Mapping[str, Any], *, dry_run: bool
) -> list[str]:
    """What to do after an import: a rule to write or to accept, then what there is to see."""
    if dry_run:
        return ["nothing was written; leave --dry-run out to import"]
    if not found["imported"] and not found["unchanged"]:
        return ["correct the quarantined rows, then import the file again; nothing came in"]
    from remit.service.reading.registers import rule as read_rule

    with session.ledger.reading() as tx:
        known = read_rule(tx, rule)
    steps = []
    if known is None:
        steps.append(f"name a check for what came in under [rules.{rule}] in {NAME}")
    if known is None or not known["accepted"]:
        steps.append(f"remit rule accept {rule} (as a human): items without a check get it")
    return [*steps, "remit ready", "remit blocked (what waits, and why)"]


@stands(app, "demo", START, "remit demo", "remit demo --keep ../demo")
def demo(
    session: Session,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Play in this new or empty folder."),
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Remove everything in the end.")] = False,
) -> Answer:
    """Play the whole lifecycle on real git repositories, offline."""
    from remit.demo.main import run

    options = session.options
    status = run(keep=keep, as_json=options.json, quiet=options.quiet, clean=clean)
    return Answer({}, None, int(status), printed=True)


@stands(
    app,
    "bench",
    OPERATE,
    "remit bench --quick",
    "remit bench --store postgresql --out bench.json --plot bench.svg",
    "remit bench fairness --plot fairness.svg",
    "remit bench drain --quick",
)
def bench(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[fairness|drain]", help="Simulate shares, or drain items, instead."
        ),
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and shorter rounds.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Keep the figures as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the figures as SVG.")
    ] = None,
    store: Annotated[
        str,
        typer.Option("--store", metavar="NAME", help="Only sqlite, or only postgresql."),
    ] = "",
) -> Answer:
    """Measure this machine: durable throughput, beside what else is installed.

    With fairness: skewed tenants and priorities under a simulated clock, on a real ledger; exits 6
    where a limit is exceeded at any seq, a class misses its weight by 5 %, or work waits too long.
    With drain: scripted agents in sandboxes, from lease to verified, beside a loop of the same git steps.
    """
    if what not in ("", "fairness", "drain"):
        raise stop(
            Code.BAD_INPUT,
            f"there is no benchmark {what!r}",
            "it is 'fairness' or 'drain', or left out",
        )
    from remit.bench import drain_main, fairness_main, main

    run = {"": main.run, "fairness": fairness_main.run, "drain": drain_main.run}[what]
    status = run(quick=quick, as_json=session.options.json, out=out, plot=plot, store=store)
    return Answer({}, None, int(status), printed=True)
