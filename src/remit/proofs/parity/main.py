"""``prove parity``: many scenarios, every planted shortcut, and one account as plain values.

What comes back is what ``--json`` prints. The proof holds where no scenario left a difference, every
shortcut was noticed by a property that was named for it, and, in a whole run, every rare thing was seen.
A scenario that left a difference is made smaller before it is shown.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from remit.proofs.parity.comparing import side_by_side
from remit.proofs.parity.generating import scenario_of, shrunk
from remit.proofs.parity.planting import Caught, Shortcut, plant
from remit.proofs.parity.scenario import Act, Kill, Scenario, Thing, Try, plain
from remit.proofs.parity.shortcuts import SHORTCUTS
from remit.proofs.parity.trying import MARKS, PROPERTIES, Tried, try_one

SCENARIOS: Final = 200
"""How many scenarios a proof tries unless it is told otherwise."""

WHOLE: Final = 150
"""From how many scenarios on every mark has to be seen."""

MUTANT_SCENARIOS: Final = 120
"""In how many scenarios a planted shortcut has to be noticed at the latest."""

SEED: Final = 1
STEP: Final = 1_000_003
"""How far the seeds of two proofs lie apart, so that they share no scenario."""

_BEAT_S: Final = 2.0

Say = Callable[[str], None]


@dataclass(slots=True)
class Sum:
    """What a number of scenarios came to."""

    scenarios: int = 0
    operations: int = 0
    events: int = 0
    marks: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, one: Small) -> None:
        """Count one scenario."""
        self.scenarios += 1
        self.operations += one.operations
        self.events += one.events
        self.marks.update(one.marks)
        if one.property:
            self.broken.append((one.seed, one.property, one.found))


@dataclass(frozen=True, slots=True)
class Small:
    """What one scenario came to, small enough to travel between processes."""

    seed: int
    operations: int
    events: int
    marks: frozenset[str]
    property: str
    found: str


def seeds_of(seed: int, number: int) -> Iterator[int]:
    """The seeds of a proof's scenarios."""
    return (seed * STEP + at for at in range(number))


def look(seed: int) -> Small:
    """Try the scenario of a seed."""
    tried = try_one(scenario_of(seed))
    first = tried.unlike[0] if tried.unlike else None
    return Small(
        seed,
        tried.operations,
        tried.events,
        tried.marks,
        first.property if first else "",
        str(first) if first else "",
    )


def _planted(job: tuple[int, int, int]) -> Caught:
    number, seed, most = job
    scenarios = (scenario_of(one) for one in seeds_of(seed, most))
    return plant(SHORTCUTS[number], scenarios)


def run_parity(
    *,
    scenarios: int = SCENARIOS,
    seed: int = SEED,
    mutants: bool = True,
    processes: int = 2,
    say: Say = lambda line: None,
) -> dict[str, Any]:
    """Try so many scenarios, and plant every shortcut.

    The account has ``scenarios``, ``operations``, ``states`` (events that were compared),
    ``transitions`` (the same as ``operations``), ``properties[]`` (``name``, ``inv``, ``checked``,
    ``held``), ``mutants[]`` (``name``, ``expected``, ``caught_by``, ``scenarios``), ``marks[]``,
    ``missing_marks[]``, ``broken`` (how many scenarios), ``counterexamples[]`` (the first of them, as
    ``told`` gives it), ``seed``, ``seconds`` and ``ok``.
    """
    began = time.monotonic()
    found = Sum()
    caught: list[Caught] = []
    told = began
    with _Pool(processes) as spread:
        for one in spread(look, list(seeds_of(seed, scenarios))):
            found.add(one)
            if time.monotonic() - told > _BEAT_S or found.scenarios == scenarios:
                told = time.monotonic()
                say(_line(found, scenarios, told - began))
        if mutants and not found.broken:
            jobs = [(n, seed, MUTANT_SCENARIOS) for n in range(len(SHORTCUTS))]
            for result in spread(_planted, jobs):
                caught.append(result)
                say(_caught_line(result))
    return account(
        found,
        caught,
        seed=seed,
        whole=scenarios >= WHOLE,
        planted=mutants,
        seconds=time.monotonic() - began,
    )


class _Pool:
    """As many processes as were asked for; one is this one, and starts nothing."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._made: Any = None

    def __enter__(self) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]:
        if self._processes < 2:
            return map
        self._made = multiprocessing.get_context("spawn").Pool(self._processes)
        made = self._made
        return lambda work, jobs: made.imap(work, jobs, chunksize=1)

    def __exit__(self, *what: object) -> None:
        if self._made is not None:
            self._made.terminate()
            self._made.join()


def account(
    found: Sum,
    caught: Sequence[Caught],
    *,
    seed: int,
    whole: bool,
    planted: bool,
    seconds: float,
) -> dict[str, Any]:
    """All that was seen, as plain values."""
    lost = {name for _, name, _ in found.broken}
    missing = sorted(MARKS - set(found.marks)) if whole else []
    counterexamples = [counterexample(one) for one, _, _ in found.broken[:1]]
    survived = [one.name for one in caught if not one.good]
    proved = not planted or len(caught) == len(SHORTCUTS)
    return {
        "ok": bool(found.scenarios) and not (found.broken or missing or survived) and proved,
        "scenarios": found.scenarios,
        "operations": found.operations,
        "states": found.events,
        "transitions": found.operations,
        "properties": [
            {"name": name, "inv": inv, "checked": found.scenarios, "held": name not in lost}
            for name, inv in PROPERTIES.items()
        ],
        "mutants": [
            {
                "name": one.name,
                "expected": list(one.expected),
                "caught_by": one.caught_by,
                "scenarios": one.scenarios,
            }
            for one in caught
        ],
        "marks": sorted(found.marks),
        "missing_marks": missing,
        "broken": len(found.broken),
        "counterexamples": counterexamples,
        "seed": seed,
        "seconds": round(seconds, 1),
    }


def counterexample(seed: int) -> dict[str, Any]:
    """The scenario of a seed, made as small as it goes, with both histories side by side."""
    first = try_one(scenario_of(seed)).unlike[0]

    def fails(less: Scenario) -> bool:
        return any(one.property == first.property for one in try_one(less).unlike)

    least = shrunk(scenario_of(seed), fails)
    return told(try_one(least), seed)


def told(tried: Tried, seed: int) -> dict[str, Any]:
    """A scenario that left a difference, as it is shown."""
    first = tried.unlike[0]
    subjects = dict.fromkeys(one.subject for one in tried.unlike)
    histories = {}
    if tried.drained is not None and tried.by_hand is not None:
        histories = {
            name: side_by_side(tried.drained, tried.by_hand, name)
            for name in subjects
            if name in tried.drained.events
        }
    return {
        "seed": seed,
        "property": first.property,
        "found": str(first),
        "all": [str(one) for one in tried.unlike],
        "happens": happens(tried.scenario),
        "scenario": plain(tried.scenario),
        "histories": histories,
    }


def happens(scenario: Scenario) -> list[str]:
    """What a scenario does that the plainest one does not, line by line for people."""
    lines = []
    for number, thing in enumerate(scenario.things, 1):
        said = _unlike(thing, Thing(), leaving=("tries",))
        lines.append(f"W-{number}{said}")
        for attempt, one in enumerate(thing.tries, 1):
            lines.append(f"  attempt {attempt}{_unlike(one, Try()) or ' as planned'}")
    lines += [f"others{_unlike(act, Act(0, ''))}" for act in scenario.acts]
    lines += [f"killed{_unlike(kill, Kill(0, 0))}" for kill in scenario.kills]
    lines += [f"answer of write {number} is lost" for number in scenario.lost]
    named = ("things", "acts", "kills", "lost", "seed")
    return [*lines, f"the whole{_unlike(scenario, Scenario(()), leaving=named) or ' as usual'}"]


def _unlike(value: Any, usual: Any, leaving: tuple[str, ...] = ()) -> str:
    names = [name for name in type(value).__slots__ if name not in leaving]
    parts = [(name, getattr(value, name)) for name in names]
    return "".join(f" {n}={v!r}" for n, v in parts if v != getattr(usual, n))


def _line(found: Sum, scenarios: int, seconds: float) -> str:
    end = f"{len(found.broken)} BROKEN" if found.broken else "all alike"
    return (
        f"{found.scenarios:>6} of {scenarios} scenarios, {found.operations} operations,"
        f" {found.events} events, {end}, {seconds:.1f} s"
    )


def _caught_line(caught: Caught) -> str:
    verdict = "caught" if caught.good else "NOT CAUGHT"
    by = caught.caught_by or "nothing"
    return f"{caught.name:<42} {verdict} by {by}, in scenario {caught.scenarios}"


__all__ = ["Shortcut", "account", "counterexample", "look", "run_parity", "told"]
