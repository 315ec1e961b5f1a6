"""The search itself: breadth first, so that the first violation found is a shortest one.

``Search`` expands one level at a time over states that it has not met before, known by their keys.
It remembers from where and by which move each state was reached, so a violation comes with the steps
that lead to it from the world's beginning. Nothing here knows of processes; ``parallel`` splits a
level among several searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from remit.core import settlement
from remit.core.fold import FoldError
from remit.proofs.effect_keys import EffectKeys
from remit.proofs.effect_moves import outside_after
from remit.proofs.effect_steps import check_send
from remit.proofs.keys import Keys
from remit.proofs.marks import marks_of
from remit.proofs.moves import moves
from remit.proofs.oracle import TERMINAL
from remit.proofs.plan_keys import PlanKeys
from remit.proofs.plan_moves import begun
from remit.proofs.plan_probes import PLAN_SHARE, carry_on_plan
from remit.proofs.probes import SHARE, probe
from remit.proofs.properties import Tally, Violation, check_state
from remit.proofs.steps import Steps
from remit.proofs.world import NOTHING, Stage, State, Step, World, said


@dataclass(frozen=True, slots=True)
class Broken:
    """A violation with the steps that lead to it."""

    world: str
    property: str
    found: str
    depth: int
    steps: tuple[dict[str, Any], ...]


@dataclass(slots=True)
class Found:
    """What a search has seen so far."""

    states: int = 0
    transitions: int = 0
    refusals: int = 0
    depth: int = 0
    complete: bool = False
    checked: Counter[str] = field(default_factory=Counter)
    marks: set[str] = field(default_factory=set)
    broken: Broken | None = None


@contextmanager
def scaled(world: World) -> Iterator[None]:
    """Scale the bound of one settlement down to the world, if it says so."""
    shipped = settlement.FAN_OUT
    settlement.FAN_OUT = world.fan_out or shipped  # type: ignore[misc]  # a bound, scaled for a world of three items
    try:
        yield
    finally:
        settlement.FAN_OUT = shipped  # type: ignore[misc]  # as it was


def _keys(stage: Stage) -> Keys | EffectKeys:
    """What makes the keys of a world's states."""
    if stage.world.plans is not None:
        return PlanKeys(stage)
    return Keys(stage) if stage.world.effects is None else EffectKeys(stage)


class Search:
    """Explores one world in one process, level by level."""

    def __init__(self, world: World, *, probing: bool = True) -> None:
        self.world = world
        self.found = Found()
        self.stage = Stage(world)
        self.tally = Tally(self.found.checked)
        self.steps = Steps(self.stage, self.tally)
        self.keys: Keys | EffectKeys = _keys(self.stage)
        if world.plans is not None:
            self.stage.first = begun(self.stage)
        self.probing = probing
        first = self.stage.first
        root = self.keys.key(first)
        self.root = root
        self.visited: set[bytes] = {root}
        self.origin: dict[bytes, tuple[bytes, int]] = {}
        self.frontier: list[tuple[bytes, State]] = [(root, first)]
        self.coming: list[tuple[bytes, State]] = []
        self.edges: dict[bytes, set[bytes]] = {}
        self.ends: set[bytes] = set()
        self.found.states = 1
        check_state(self.tally, self.stage, first)

    def expand(self, quota: int = 0) -> None:
        """Take every step from every state of the frontier; new states are in ``coming``.

        Stops early at the first violation, which it notes, and after ``quota`` new states.
        """
        self.coming = []
        for key, state in self.frontier:
            if not self._expand(key, state) or (quota and len(self.coming) >= quota):
                return

    def advance(self) -> None:
        """Make what is coming the frontier."""
        self.frontier, self.coming = self.coming, []
        self.found.states += len(self.frontier)
        if self.frontier:
            self.found.depth += 1

    def _expand(self, key: bytes, state: State) -> bool:
        view = self.stage.view(state)
        kept = dict(view.facts)
        for number, step in enumerate(moves(self.stage, state)):
            try:
                self._try(key, state, number, step, view)
            except Violation as fault:
                self._note(key, number, fault.name, fault.found)
                return False
            except FoldError as fault:
                self._note(key, number, "fold-equals-decision", f"cannot be folded: {fault}")
                return False
        same = all(view.facts[name] is fact for name, fact in kept.items())
        try:
            untouched = same and not view.original and view.seq == state.seq
            self.tally.demand("refusal-writes-nothing", untouched, "decisions changed their view")
        except Violation as fault:
            self._note(key, -1, fault.name, fault.found)
            return False
        return True

    def _try(self, key: bytes, state: State, number: int, step: Step, view: Any) -> None:
        found, stage = self.found, self.stage
        found.transitions += 1
        if step.command is None:
            self._reach(key, number, self.follow(state, step))
            found.marks.update(marks_of(stage, state, step, NOTHING))
            return
        taken = stage.take(state, step, view)
        found.refusals += taken.refused is not None
        found.marks.update(marks_of(stage, state, step, taken))
        if not any(decided.events for decided in taken.decided):
            return
        after = self.steps.after(state, taken)
        fresh = self._reach(key, number, after)
        if self.probing and self._share(fresh, taken.refused is not None):
            probe(self.tally, stage, state, step, taken, after)
        if fresh and self.world.plans is not None and len(self.visited) % PLAN_SHARE == 0:
            carry_on_plan(self.tally, stage, after)

    def _share(self, fresh: bool, refused: bool) -> bool:
        """Whether this step is one of those that are probed: to a new state, or beside a refusal."""
        if fresh:
            return len(self.visited) % SHARE == 0
        return refused and self.found.refusals % SHARE == 0

    def _reach(self, key: bytes, number: int, after: State) -> bool:
        """Take a state in unless it was met before; True where it is new."""
        reached = self.keys.key(after)
        if self.world.alive:
            self.edges.setdefault(key, set()).add(reached)
        if reached in self.visited:
            return False
        check_state(self.tally, self.stage, after)
        self.visited.add(reached)
        self.origin[reached] = (key, number)
        self.coming.append((reached, after))
        if self.world.alive:
            items = list(self.stage.items(after).values())[: self.world.worked or None]
            if all(item.status in TERMINAL for item in items):
                self.ends.add(reached)
        return True

    def _note(self, key: bytes, number: int, name: str, found: str) -> None:
        steps = tuple(self.path(key, number))
        self.found.broken = Broken(self.world.name, name, found, len(steps), steps)

    def path(self, key: bytes, number: int = -1) -> list[dict[str, Any]]:
        """The steps from the beginning to a state, and the one after it by its number."""
        numbers = [] if number < 0 else [number]
        while key != self.root:
            key, number = self.origin[key]
            numbers.append(number)
        state, steps = self.stage.first, []
        for at, number in enumerate(reversed(numbers)):
            step = list(moves(self.stage, state))[number]
            steps.append(said(step))
            if at + 1 < len(numbers):
                state = self.follow(state, step)
        return steps

    def follow(self, state: State, step: Step) -> State:
        """The state after a step, judged. Raises ``Violation``."""
        if step.outside:
            if step.outside[0] == "send":
                check_send(self.tally.demand, self.stage, state, step.outside[1])
            return outside_after(self.stage, state, step.outside)
        if step.command is None:
            return replace(state, now=state.now + step.after_us)
        return self.steps.after(state, self.stage.take(state, step))


def dead_ends(edges: dict[bytes, set[bytes]], ends: set[bytes]) -> set[bytes]:
    """States from which no path leads to one where every item is finished."""
    back: dict[bytes, list[bytes]] = {}
    for key, following in edges.items():
        for reached in following:
            back.setdefault(reached, []).append(key)
    alive, queue = set(ends), list(ends)
    while queue:
        for key in back.get(queue.pop(), ()):
            if key not in alive:
                alive.add(key)
                queue.append(key)
    return (set(edges) | set(back)) - alive
