"""Names of a scenario, looked up before anything runs: works, moments, branches, documents, probes.

A label that nothing carries, a branch that is not there, a moment that comes later than its use: each
is a fault at its line, so that a scenario never fails half way for a typing error.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from remit.core.ids import is_actor_name
from remit.documents.fields import Faults
from remit.documents.marked import Marked, shown
from remit.scenarios import coverage, probes
from remit.scenarios.clock import BUILT_IN, MOST_US, Moment
from remit.scenarios.model import Line, Probe, Scenario, Step

MAX_BRANCHES: Final = 64
MAX_PLAYED: Final = 20_000
"""Most branches, and most steps over all of them: shared steps are played once for each."""


def link(found: Scenario, faults: Faults, at: Marked) -> None:
    """Look up every name of a scenario."""
    _Linker(found, faults, at).all()


class _Linker:
    def __init__(self, scenario: Scenario, faults: Faults, at: Marked) -> None:
        self.scenario = scenario
        self.faults = faults
        self.at = at
        self.paths = dict(scenario.paths())
        self.seen: set[int] = set()
        self.moments: dict[str, set[str]] = {}

    def note(self, line: int, path: str, message: str, column: int = 1) -> None:
        """Keep a fault."""
        self.faults.add(Marked(None, line, column), path, message)

    def all(self) -> None:
        """Everything that has a name."""
        for label in self.scenario.covers:
            if label not in coverage.LABELS:
                mark = self.at.value["covers"] if isinstance(self.at.value, dict) else self.at
                self.faults.add(
                    mark,
                    "$.covers",
                    f"{shown(label)!r} is no label: {_some(coverage.LABELS, label)}",
                )
        played = sum(len(steps) for steps in self.paths.values())
        if len(self.paths) > MAX_BRANCHES or played > MAX_PLAYED:
            found = f"found {len(self.paths)} branches with {played} steps to play"
            self.faults.add(self.at, "$.steps", f"{found}, at most {MAX_BRANCHES} and {MAX_PLAYED}")
            return
        if not (self.scenario.oracle or self.scenario.covers or self._expects()):
            self.faults.add(self.at, "$", "it expects nothing: add expect, oracle or covers")
        later = {d.label for d in self.scenario.documents if d.later}
        for branch, steps in self.paths.items():
            self._path(branch, steps, later)
        for line in self.scenario.oracle:
            self._line(line)
        for name, (_, of, _) in self.scenario.labels.items():
            if of and of not in self.scenario.works:
                mark = self.at.value["labels"].value[name]
                self.faults.add(mark, f"$.labels.{shown(name)}", f"there is no work {shown(of)!r}")

    def _expects(self) -> bool:
        """Whether any step says what must come of it."""
        return any(step.expect is not None for steps in self.paths.values() for step in steps)

    def _path(self, branch: str, steps: tuple[Step, ...], later: set[str]) -> None:
        moments = set(BUILT_IN)
        handed: set[str] = set()
        passed = 0
        for step in steps:
            fresh = id(step) not in self.seen
            self.seen.add(id(step))
            passed += abs(int(step.args.get("for") or 0))
            if fresh and passed > MOST_US:
                self.note(step.line, step.verb, "more than a hundred years go by", step.column)
            if fresh and step.at in moments:
                said = f"the moment {shown(step.at)!r} has a name already"
                self.note(step.line, f"{step.verb}.at", said, step.column)
            if step.at:
                moments.add(step.at)
            if fresh:
                self._step(step, moments, handed, later)
            if step.verb in ("store", "submit"):
                handed.add(str(step.args.get("work")))
            if step.verb == "compensate":
                handed.add(str(step.args.get("with")))
        self.moments[branch] = moments

    def _step(self, step: Step, moments: set[str], handed: set[str], later: set[str]) -> None:
        path, works = f"{step.verb}", self.scenario.works
        work = str(step.args.get("work") or "")
        needs = step.verb not in ("store", "submit")
        if work and work not in works:
            self.note(
                step.line, path, f"there is no work {shown(work)!r}: {_some(works)}", step.column
            )
        elif work and needs and work not in handed:
            self.note(step.line, path, f"{work} was not handed in before this step", step.column)
        other = str(step.args.get("with") or "")
        if other and other not in works:
            self.note(step.line, f"{path}.with", f"there is no work {shown(other)!r}", step.column)
        if step.verb == "register" and step.args.get("document") not in later:
            said = shown(str(step.args.get("document")))
            self.note(
                step.line, path, f"there is no document {said!r} with later: true", step.column
            )
        if step.by and not is_actor_name(step.by):
            self.note(
                step.line, f"{path}.by", f"{shown(step.by)!r} cannot name an actor", step.column
            )
        if step.at and not step.at.replace("_", "").isalnum():
            self.note(
                step.line, f"{path}.at", f"{shown(step.at)!r} cannot name a moment", step.column
            )
        parts: list[Mapping[str, Any]] = [step.args]
        if step.verb in ("store", "submit", "redeliver", "compensate"):
            parts += [works[name].parts for name in (work, other) if name in works]
        for part in parts:
            for name, value in part.items():
                if isinstance(value, Moment) and value.name not in moments:
                    said = (
                        f"the moment {shown(value.name)!r} is not named by this step or one before"
                    )
                    self.note(step.line, f"{path}.{name}", said, step.column)
        if step.expect is not None:
            of = step.expect.parts["work"]
            if of and of not in works:
                self.note(step.expect.line, "expect.work", f"there is no work {shown(of)!r}")

    def _line(self, line: Line) -> None:
        for branch in {line.branch, *(p.branch for p in line.probes)} - {""}:
            if branch not in self.paths:
                said = f"there is no branch {shown(branch)!r}: {_some(self.paths)}"
                self.note(line.line, f"oracle: {shown(line.check)}", said)
        for probe in line.probes:
            self._probe(line, probe)

    def _probe(self, line: Line, probe: Probe) -> None:
        where = f"oracle: {shown(line.check)}"
        known = probes.PROBES.get(probe.ask)
        if known is None:
            if probe.ask:
                said = f"{shown(probe.ask)!r} is no probe: {_some(probes.PROBES, probe.ask)}"
                self.note(line.line, where, said)
            return
        if probe.of and probe.of not in self.scenario.works:
            self.note(line.line, where, f"there is no work {shown(probe.of)!r}")
        if not probe.of and len(self.scenario.works) != 1:
            self.note(line.line, where, "of is missing: there are several works")
        if known.named is not None and probe.name not in known.named:
            wanted = _some(known.named, probe.name) if known.named else "a name"
            if known.named or not probe.name:
                self.note(line.line, where, f"name is {shown(probe.name)!r}, expected {wanted}")
        branch = probe.branch or line.branch
        for name, moments in self.moments.items():
            if branch in ("", name) and probe.at and probe.at not in moments - set(BUILT_IN):
                self.note(
                    line.line, where, f"the moment {shown(probe.at)!r} is not named by any step"
                )
                break


FEW: Final = 12
"""So many names are listed; of more, the nearest one is."""


def _some(names: Any, near: str = "") -> str:
    found = [str(name) for name in names if name]
    if not found:
        return "there is none"
    if len(found) <= FEW:
        return "one of " + ", ".join(found)
    close = get_close_matches(near, found, 1)
    return f"did you mean {close[0]}?" if close else f"one of {len(found)} in the reference"
