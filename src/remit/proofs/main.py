"""The commands ``model``, ``replay`` and ``history``, for the command line and for ``python -m``.

``run_model`` explores all worlds, plants all mutants and gives one account as plain values; ``replay``
takes the steps of a counterexample again and prints what each led to; ``run_history`` judges the
events that a ledger holds. What they return is what ``--json`` prints.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.core.change import changed
from remit.proofs.history import judge, read_rows
from remit.proofs.marks import MARKS
from remit.proofs.mutants import MUTANTS
from remit.proofs.parallel import explore
from remit.proofs.patching import planted
from remit.proofs.properties import PROPERTIES, Violation, check_state
from remit.proofs.search import Broken, Found, Search, scaled
from remit.proofs.trials import Caught, try_one
from remit.proofs.world import heard
from remit.proofs.worlds import WORLDS

if TYPE_CHECKING:
    from remit.wiring import Ledger

QUICK_SHARE: Final = 20
"""The quick form looks at this small a share of each world's limit."""

Say = Callable[[str], None]


def _quiet(line: str) -> None:
    """Say nothing."""


def run_model(
    *,
    worlds: Sequence[str] = (),
    processes: int = 2,
    limit: int = 0,
    quick: bool = False,
    mutants: bool = False,
    say: Say = _quiet,
) -> dict[str, Any]:
    """Explore worlds (all, or those named), and with ``mutants`` plant every fault as well.

    ``limit`` bounds the states of each world (0: the world's own); ``quick`` takes a twentieth of
    it. The account has ``states``, ``transitions``, ``worlds[]``, ``properties[]`` (name, inv,
    checked, held), ``mutants[]`` (name, caught_by, depth, states), ``marks[]``, ``missing_marks[]``,
    ``counterexamples[]``, ``seconds`` and ``ok``. Raises ``ValueError`` for a world that is unknown.
    """
    began = time.monotonic()
    unknown = [name for name in worlds if name not in WORLDS]
    if unknown:
        raise ValueError(f"there is no world {unknown[0]!r}: there are {', '.join(WORLDS)}")
    found: dict[str, Found] = {}
    for name in worlds or WORLDS:
        world = WORLDS[name]
        if quick:
            world = changed(world, limit=max(1, world.limit // QUICK_SHARE), alive=False)
        found[name] = explore(world, processes=processes, limit=limit)
        say(_line(name, found[name], time.monotonic() - began))
    caught = []
    for mutant in MUTANTS if mutants else ():
        caught.append(try_one(mutant))
        say(_caught_line(caught[-1]))
    whole = not (worlds or limit or quick)
    return account(found, caught, whole=whole, seconds=time.monotonic() - began)


def account(
    found: dict[str, Found], caught: Sequence[Caught], *, whole: bool, seconds: float
) -> dict[str, Any]:
    """All that a run has seen, as plain values; ``whole`` runs must have left every mark."""
    checked: Counter[str] = Counter()
    for each in found.values():
        checked.update(each.checked)
    broken = [each.broken for each in found.values() if each.broken is not None]
    marks = set().union(*(each.marks for each in found.values())) if found else set()
    missing = sorted(MARKS - marks) if whole else []
    lost = {b.property for b in broken}
    idle = sorted(name for name in PROPERTIES if not checked[name]) if whole else []
    return {
        "ok": not (broken or missing or idle) and all(c.good for c in caught),
        "states": sum(each.states for each in found.values()),
        "transitions": sum(each.transitions for each in found.values()),
        "refusals": sum(each.refusals for each in found.values()),
        "worlds": [
            {
                "name": name,
                "states": each.states,
                "transitions": each.transitions,
                "depth": each.depth,
                "complete": each.complete,
            }
            for name, each in found.items()
        ],
        "properties": [
            {"name": name, "inv": inv, "checked": checked[name], "held": name not in lost}
            for name, inv in PROPERTIES.items()
        ],
        "mutants": [
            {
                "name": c.name,
                "expected": c.expected,
                "caught_by": c.caught_by,
                "depth": c.depth,
                "states": c.states,
            }
            for c in caught
        ],
        "marks": sorted(marks),
        "missing_marks": missing,
        "never_checked": idle,
        "counterexamples": [trace_of(b) for b in broken],
        "seconds": round(seconds, 1),
    }


def trace_of(broken: Broken, mutant: str = "") -> dict[str, Any]:
    """A counterexample as ``replay`` takes it."""
    return {
        "world": broken.world,
        "mutant": mutant,
        "property": broken.property,
        "found": broken.found,
        "steps": [dict(step) for step in broken.steps],
    }


def replay(trace: dict[str, Any], say: Say) -> str:
    """Take the steps of a counterexample again; the property that breaks, or empty.

    Raises ``ValueError`` where the trace names no world, mutant or command.
    """
    world = WORLDS.get(str(trace.get("world")))
    planting = [m for m in MUTANTS if m.name == trace.get("mutant")]
    if world is None or (trace.get("mutant") and not planting):
        raise ValueError("cannot replay: the trace names no world or mutant that there is")
    with scaled(world), ExitStack() as stack:
        for mutant in planting:
            for patch in mutant.patches:
                stack.enter_context(planted(*patch))
        search = Search(world)
        state = search.stage.first
        try:
            for values in trace["steps"]:
                step = heard(values)
                say(f"at {state.now}: {step.actor or 'time'} {values.get('command', 'goes on')}")
                if step.command is not None:
                    taken = search.stage.take(state, step)
                    for decided in taken.decided:
                        for r in decided.events:
                            say(f"    {r.seq} {r.stream} {type(r.event).__name__}")
                    if taken.refused is not None:
                        say(f"    refused {taken.refused.code}: {taken.refused.message}")
                state = search.follow(state, step)
                check_state(search.tally, search.stage, state)
        except Violation as fault:
            say(f"broken: {fault}")
            return fault.name
    say("every property held")
    return ""


def run_history(url: str) -> dict[str, Any]:
    """Judge the ledger that a URL names; see ``run_history_of``."""
    from remit.wiring import open_ledger

    ledger = open_ledger(url)
    try:
        return run_history_of(ledger)
    finally:
        ledger.close()


def run_history_of(ledger: Ledger) -> dict[str, Any]:
    """Judge the whole history of an open ledger, and its rows against a fold of it.

    The account has ``events``, ``problems[]`` (kind, seq, subject, found) and ``ok``. Raises the
    store's errors.
    """
    with ledger.reading() as tx:
        events, rows = read_rows(tx)
    problems = judge(events, rows=rows)
    return {
        "ok": not problems,
        "events": len(events),
        "problems": [
            {"kind": p.kind.value, "seq": p.seq, "subject": p.subject, "found": p.found}
            for p in problems
        ],
    }


def _line(name: str, found: Found, seconds: float) -> str:
    end = "complete" if found.complete else "cut off"
    if found.broken is not None:
        end = f"BROKEN {found.broken.property}"
    rate = f"{found.states:>8} states {found.transitions:>9} steps, depth {found.depth:>2}"
    return f"{name:<10} {rate}, {end}, {seconds:.1f} s"


def _caught_line(caught: Caught) -> str:
    verdict = "caught" if caught.good else "NOT CAUGHT"
    by = caught.caught_by or "nothing"
    return f"{caught.name:<42} {verdict} by {by}, depth {caught.depth}, {caught.states} states"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m remit.proofs")
    commands = parser.add_subparsers(dest="command", required=True)
    model = commands.add_parser("model", help="explore small worlds through the real decisions")
    model.add_argument("worlds", nargs="*", help=", ".join(WORLDS))
    model.add_argument("--processes", type=int, default=2)
    model.add_argument("--limit", type=int, default=0, help="states of each world")
    model.add_argument("--quick", action="store_true")
    model.add_argument("--mutants", action="store_true", help="plant every seeded fault as well")
    model.add_argument("--json", action="store_true")
    model.add_argument("--trace", type=Path, help="write the first counterexample here")
    again = commands.add_parser("replay", help="take the steps of a counterexample again")
    again.add_argument("file", type=Path)
    history = commands.add_parser("history", help="judge the events of a ledger")
    history.add_argument("ledger", help="sqlite:///path")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where all held, 6 where a property broke, 7 for an impossible history."""
    chosen = _parser().parse_args(arguments)

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    if chosen.command == "replay":
        return 6 if replay(json.loads(chosen.file.read_text()), say) else 0
    if chosen.command == "history":
        data = run_history(chosen.ledger)
        say(json.dumps(data, indent=1))
        return 0 if data["ok"] else 7
    data = run_model(
        worlds=chosen.worlds,
        processes=chosen.processes,
        limit=chosen.limit,
        quick=chosen.quick,
        mutants=chosen.mutants,
        say=_quiet if chosen.json else say,
    )
    _tell(data, say, as_json=chosen.json)
    if data["counterexamples"] and chosen.trace:
        chosen.trace.write_text(json.dumps(data["counterexamples"][0], indent=1))
        say(f"run it again: python -m remit.proofs replay {chosen.trace}")
    return 0 if data["ok"] else 6


def _tell(data: dict[str, Any], say: Say, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(data))
        return
    for broken in data["counterexamples"]:
        say(json.dumps(broken, indent=1))
    for name in data["missing_marks"]:
        say(f"vacuous: the search never came to {name}")
    for name in data["never_checked"]:
        say(f"vacuous: {name} was never asked")
    held = sum(p["held"] for p in data["properties"])
    say(
        f"{data['states']} states, {data['transitions']} steps, {held} of"
        f" {len(data['properties'])} properties held, {len(data['marks'])} marks,"
        f" {data['seconds']} s: {'ok' if data['ok'] else 'BROKEN'}"
    )


__all__ = ["account", "main", "replay", "run_history", "run_history_of", "run_model", "trace_of"]
