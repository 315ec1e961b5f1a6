"""``remit bench drain``: items a second from lease to verified, beside a loop of the same git steps.

Each trial makes a stage of its own; the loop and the drain take turns on it, so that both meet the same
machine. The drain does all that it always does: a clone, a cell that is probed, an agent under
supervision, a secret scan, review by an agent in a cell, a tested merge, a push as an effect, and rows
behind walls. What is printed last is the ratio of the two.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Final

from remit.bench import machine, show
from remit.bench.drain_loop import loop
from remit.bench.drain_stage import HUMAN, REVIEWER, WORKER, Stage, staged
from remit.bench.rounds import DoesNotAddUp
from remit.core import commands as c
from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.core.run_facts import Run
from remit.core.status import Status
from remit.drain.journey import Options
from remit.drain.version import code_digest
from remit.ports import RemitError
from remit.wiring.draining import Here, Told, conductor, no_sandbox
from remit.wiring.draining import machine as workplace

UNEXPECTED: Final = 1
USAGE: Final = 2
HELD: Final = 5
FULL: Final = (100, 8, 3)
QUICK: Final = (16, 8, 1)
"""Items, agents at a time, and trials."""
TARGET_PER_S: Final = 1.0
TARGET_RATIO: Final = 0.4


def drain(stage: Stage) -> float:
    """Drain all items of a stage; items a second. Raises ``DoesNotAddUp`` where one is not verified."""
    worker, reviewer = stage.agent("work"), stage.agent("review")
    here = Here(stage.ledger, stage.url, stage.work, worker, reviewer)
    told = Told(Options(way="merge"), "review", shown=(str(stage.scripts),))
    holder = os.urandom(8).hex()
    start = c.StartRun(
        WORKER, REVIEWER, "work", stage.bounds(), "D-1", code_digest(), holder,
        told.pairs([worker, reviewer]),
    )  # fmt: skip
    began = time.monotonic()
    answer = stage.ledger.acting(HUMAN).run(start)
    if isinstance(answer, Refused):
        raise DoesNotAddUp(answer.message)
    with stage.ledger.reading() as tx:
        run = tx.load([("run", "RUN-1")])["run", "RUN-1"]
    assert isinstance(run, Run), "it was started just now"
    place = workplace(here, run.id, told)
    refused = conductor(here, run, holder, place, lambda _: None).drive()
    took = time.monotonic() - began
    if refused is not None:
        raise DoesNotAddUp(refused.message)
    with stage.ledger.reading() as tx:
        names = [("item", f"W-{number}") for number in range(1, stage.items + 1)]
        found = [item for item in tx.load(names).values() if isinstance(item, Item)]
    verified = sum(item.status is Status.VERIFIED for item in found)
    if verified != stage.items or place.finish():
        raise DoesNotAddUp(f"{verified} of {stage.items} items were verified")
    return stage.items / took


def run(
    *,
    quick: bool,
    as_json: bool,
    out: Path | None,
    plot: Path | None = None,
    store: str = "",
    sizes: tuple[int, int, int] | None = None,
) -> int:
    """Measure and print; returns the exit status.

    Options are those of ``remit.bench.main.run``; there is no picture, and the store is SQLite. 0: done;
    1: something did not come to its end; 2: a file cannot be written; 5: this machine has no sandbox.
    """
    if plot is not None or store not in ("", "sqlite"):
        show.fault("bench drain takes no --plot, and measures on sqlite")
        return USAGE
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        show.fault(f"cannot write {out}: it is a folder or in none, expected a file's name")
        return USAGE
    unboxed = no_sandbox()
    if unboxed is not None:
        show.fault(f"cannot measure the drain: {unboxed.message}; {unboxed.hint}")
        return HELD
    items, agents, trials = sizes or (QUICK if quick else FULL)
    try:
        found = _measured(items, agents, trials)
    except (DoesNotAddUp, RemitError) as error:
        show.fault(str(error))
        return UNEXPECTED
    text = json.dumps({"schema_version": 1, "data": found}, indent=2)
    if out is not None:
        try:
            out.write_text(text + "\n", "utf-8")
        except OSError as error:
            show.fault(f"cannot write {out}: {error.strerror}")
            return USAGE
    sys.stdout.write(f"{text}\n" if as_json else _told(found))
    return 0


def _measured(items: int, agents: int, trials: int) -> dict[str, Any]:
    drains, loops = [], []
    with machine.place() as folder:
        facts = machine.facts(folder)
        for number in range(trials):
            here = folder / str(number)
            here.mkdir()
            with staged(here, items, agents) as stage:
                half = max(5, items // 2)
                loops.append(loop(stage, half))
                drains.append(drain(stage))
                loops.append(loop(stage, half, half))
    pace, beside = statistics.median(drains), statistics.median(loops)
    return {
        "rows": [
            {
                "peer": "remit drain",
                "metric": "items from lease to verified",
                "per_s": round(pace, 3),
            },
            {"peer": "shell loop", "metric": "the same git steps", "per_s": round(beside, 3)},
        ],
        "ratio": round(pace / beside, 3),
        "targets": {"per_s": TARGET_PER_S, "ratio": TARGET_RATIO},
        "items": items,
        "agents": agents,
        "trials": trials,
        "machine": facts,
    }


def _told(found: dict[str, Any]) -> str:
    lines = [
        f"{row['peer']:<12} {row['per_s']:>8} a second   {row['metric']}" for row in found["rows"]
    ]
    lines.append(
        f"ratio {found['ratio']} (wanted: {TARGET_RATIO}, and {TARGET_PER_S} a second), {found['items']}"
        f" items, {found['agents']} agents, load {found['machine']['load_1m']} as it began"
    )
    return "\n".join(lines) + "\n"
