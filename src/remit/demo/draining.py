"""The last act: one more item, worked by a drain in a sandbox, from its lease to verified.

The owner decides on bounds, the code is compared with work by hand on a few scenarios, and then nobody
touches anything until the item is verified. The agent is a scripted program in a cell of its own; its
reviewer is another one. Where this machine has no sandbox, or no scanner for secrets, nothing is drained
and the demo says so: there is no way around either.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.decisions import DecisionKind, Option
from remit.core.facts import ActorKind
from remit.core.rows import RowKind, RowSpec
from remit.core.run_decisions import MINUTE_MS, run_proposal, run_scope
from remit.core.run_events import RunStarted
from remit.core.run_facts import Run, RunBounds
from remit.demo import plan
from remit.demo.agent import accepted
from remit.demo.room import DemoTrouble, Room, run
from remit.demo.telling import Teller
from remit.drain.journey import Options
from remit.drain.version import code_digest
from remit.ports.agent import Agent, Speaks
from remit.service.operations import item_of
from remit.service.reading.items import load_items
from remit.service.running import record_proof
from remit.wiring import Ledger, url_of
from remit.wiring.draining import Here, Told, conductor, machine, no_sandbox, no_scanner

WORKER: Final = "robin"
JUDGE: Final = "wren"
FILE: Final = "docs/units.md"
TITLE: Final = "Name the units that are known"
ALIAS: Final = "units-page"
SCENARIOS: Final = 5
BOUNDS: Final = RunBounds(1, 1, 10 * MINUTE_MS, 0, 1)


@dataclass(frozen=True, slots=True)
class Drained:
    """What came of it: the item and where it stands, or why nothing was drained."""

    item: str = ""
    status: str = ""
    run: str = ""
    why_not: str = ""


def drain(room: Room, ledger: Ledger, teller: Teller) -> Drained:
    """Let a drain work one item. Raises ``DemoTrouble`` where it was refused."""
    absent = no_sandbox() or no_scanner()
    if absent is not None:
        teller.at(f"nothing is drained: {absent.message}")
        return Drained(why_not=absent.message)
    owner = ledger.acting(plan.OWNER)
    for name in (WORKER, JUDGE):
        accepted(owner.enrol(c.EnrolActor(name, ActorKind.AGENT)), f"enrol {name}")
    row = RowSpec(RowKind.COMMAND, argv=("grep", "-q", "km/h", FILE))
    made = c.CreateItem(TITLE, alias=ALIAS, rows=(row,), scope=(FILE,))
    item = item_of(accepted(owner.create(made), "write the item down"))
    teller.titles[item] = TITLE
    teller.at(
        f"{item} is for a drain: the owner decides on its bounds, and the code is compared with hands"
    )
    decision = _decide(ledger)
    _prove(room, ledger)
    name = _run(room, ledger, item, decision)
    with ledger.reading() as tx:
        [found] = load_items(tx, [item])
    teller.follow(ledger)
    teller.at(
        f"{name} brought {item} from its lease to {found.status}, in a sandbox, with nobody at hand"
    )
    return Drained(item, found.status.value, name)


def _decide(ledger: Ledger) -> str:
    """The owner allows one run of one item."""
    owner = ledger.acting(plan.OWNER)
    scope = run_scope(BOUNDS, ("worker",))
    options = (
        Option("run", "Let it work on one item"),
        Option("wait", "Do it by hand", permits=False, against="it is a demo"),
    )
    proposed = accepted(
        owner.run(
            c.ProposeDecision(
                DecisionKind.ACTIVATION, "One drained item", options, scope, run_proposal(scope),
                recommended="run",
            )
        ),
        "propose a decision on a run",
    )  # fmt: skip
    name = proposed.events[0].entity
    accepted(owner.run(c.AcceptDecision(name)), "decide on a run")
    return name


def _prove(room: Room, ledger: Ledger) -> None:
    """Compare drain and hand on a few scenarios, and keep what that found, with its true figures."""
    argv = [sys.executable, "-m", "remit", "prove", "parity", "--no-mutants", "--json"]
    done = run([*argv, "--scenarios", str(SCENARIOS)], room.path, room.environment())
    try:
        found = json.loads(done.stdout)["data"]
    except (ValueError, KeyError) as error:
        raise DemoTrouble(f"prove parity did not answer: {done.stderr.strip()[-300:]}") from error
    result = Result.PASS if found["ok"] else Result.FAIL
    proof = c.RecordParityProof("demo", code_digest(), found["scenarios"], 0, result.value)
    accepted(record_proof(ledger.acting(plan.OWNER), proof), "keep the proof")


def _agent(room: Room, name: str) -> Agent:
    script = room.path / "scripts" / f"{name}.json"
    source = str(Path(__file__).resolve().parents[2])
    command = ("{python}", "-m", "remit.drain.scripted", str(script))
    return Agent(name, command, output=Speaks.JSON_LINES, set=(("PYTHONPATH", source),))


def _run(room: Room, ledger: Ledger, item: str, decision: str) -> str:
    """Start the run, drive it to its end, and say which it was."""
    scripts = room.path / "scripts"
    scripts.mkdir()
    text = "# Units\n\nSpeed: km/h and m/s.\n"
    steps = [{"do": "commit", "path": FILE, "text": text}, {"do": "report"}]
    (scripts / "worker.json").write_text(json.dumps({"items": {item: steps}}), "utf-8")
    (scripts / "judge.json").write_text(json.dumps({"default": [{"do": "report"}]}), "utf-8")
    worker, judge = _agent(room, "worker"), _agent(room, "judge")
    here = Here(ledger, url_of(room.ledger), room.repository, worker, judge)
    told = Told(Options(way="merge"), "judge", shown=(str(scripts),))
    holder = os.urandom(8).hex()
    start = c.StartRun(
        WORKER,
        JUDGE,
        "worker",
        BOUNDS,
        decision,
        code_digest(),
        holder,
        told.pairs([worker, judge]),
    )
    done = accepted(ledger.acting(plan.OWNER).run(start), "start the run")
    [name] = [r.entity for r in done.events if isinstance(r.event, RunStarted)]
    with ledger.reading() as tx:
        record = tx.load([("run", name)])["run", name]
    assert isinstance(record, Run), "it was started just now"
    place = machine(here, name, told)
    refused = conductor(here, record, holder, place, lambda _: None).drive()
    if refused is not None:
        raise DemoTrouble(f"the run was refused: {refused.message}")
    place.finish()
    return name
