"""Playing a scenario: each branch on a ledger of its own, through the real operations.

A branch begins with what is given and takes its steps one by one. What a step was answered is kept,
also a refusal; only an expectation says whether that was right. Branches of one fork must have the
same history up to it, event by event, or the trace is no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.effect_facts import Intent
from remit.core.events import Recorded
from remit.core.facts import Item, Lease
from remit.core.refusals import Refused
from remit.ports import ReadTx
from remit.scenarios.clock import Clock, Moment
from remit.scenarios.model import Scenario, Step
from remit.service.engine import Done
from remit.service.reading.sheets.story import Story
from remit.wiring import Ledger, in_memory

OPERATOR: Final = "operator"
"""The human who hands messages in where a step names nobody."""

Answer = Done | Refused | None
"""What a step came to; None for one that asks the ledger nothing."""


@dataclass(slots=True)
class Taken:
    """A step that was taken: when, what came of it, and which events it left."""

    step: Step
    at_us: int
    answer: Answer
    events: list[Recorded]
    seq: int
    branch: str = ""
    faults: list[dict[str, Any]] = field(default_factory=list)


class World:
    """One branch while it is played: its ledger and clock, and the names that it gave."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.clock = Clock()
        self.start = self.clock.wall
        self.ledger: Ledger = in_memory("scenario", OPERATOR, self.clock)
        self.times: dict[str, int] = {"start": self.start}
        self.seqs: dict[str, int] = {}
        self.items: dict[str, str] = {}
        self.leases: dict[tuple[str, str], Lease] = {}
        self.actors: set[str] = set()
        self.stories: dict[tuple[str, int], Story] = {}

    @property
    def now(self) -> int:
        """The ledger's time."""
        with self.ledger.reading() as tx:
            return tx.now()

    @property
    def head(self) -> int:
        """The newest seq."""
        with self.ledger.reading() as tx:
            return tx.head().seq

    def time(self, moment: Moment | None) -> int | None:
        """A moment in microseconds."""
        if moment is None:
            return None
        base = self.now if moment.name == "now" else self.times[moment.name]
        return base + moment.offset_us

    def events(self, after: int = 0) -> list[Recorded]:
        """Events after a seq."""
        with self.ledger.reading() as tx:
            return tx.events(after, 1 << 30)

    def story(self, work: str, at: str = "") -> Story | None:
        """A work as of a named moment, or now; None where it was not handed in by then."""
        seq = self.seqs[at] if at else self.head
        item = self.items.get(work)
        if item is None:
            return None
        key = (item, seq)
        if key not in self.stories:
            with self.ledger.reading(seq) as tx:
                found = _story(tx, item)
            if found is None:
                return None
            self.stories[key] = found
        return self.stories[key]

    def label(self, kind: str, text: str) -> str:
        """The label of an id that the ledger made, or the id."""
        for name, (what, of, number) in self.scenario.labels.items():
            if what == kind and text == self._id(what, of, number):
                return name
        if kind in ("", "owner"):
            known = {item: work for work, item in self.items.items()}
            return known.get(text, text)
        return text

    def _id(self, kind: str, of: str, number: int) -> str:
        item = self.items.get(of, "")
        match kind:
            case "fence":
                return str(number)
            case "observation":
                return f"OBS-{number}"
            case "lease":
                return f"L-{item[2:]}.{number}"
            case "attempt":
                return f"A-{item[2:]}.{number}"
            case _:
                story = self.story(of)
                return story.intent.receipt if story else ""


def _story(tx: ReadTx, name: str) -> Story | None:
    item = tx.load([("item", name)])["item", name]
    intent = tx.load([("intent", name)])["intent", name]
    if not isinstance(item, Item) or not isinstance(intent, Intent):
        return None
    return Story(tx, item, intent)


@dataclass(slots=True)
class Played:
    """One branch after it was played."""

    branch: str
    world: World
    taken: list[Taken]


def play(scenario: Scenario) -> list[Played]:
    """Play every branch of a scenario."""
    from remit.scenarios.acting import act
    from remit.scenarios.expecting import judge
    from remit.scenarios.given import prepare

    found = []
    for branch, steps in scenario.paths():
        world = World(scenario)
        prepare(world)
        taken = [_take(world, step, act, judge) for step in steps]
        found.append(Played(branch, world, taken))
    _same_beginnings(found)
    return found


def _take(world: World, step: Step, act: Any, judge: Any) -> Taken:
    if step.at:
        world.times[step.at] = world.now
    before, at = world.head, world.now
    answer = act(world, step)
    seq = world.head
    if step.at:
        world.seqs[step.at] = seq
    taken = Taken(step, at, answer, world.events(before), seq)
    taken.faults = judge(world, taken)
    return taken


def _same_beginnings(played: Sequence[Played]) -> None:
    """Branches that share steps must share the history that these left."""
    first = played[0]
    for other in played[1:]:
        shared = 0
        for a, b in zip(first.taken, other.taken, strict=False):
            if a.step is not b.step:
                break
            shared = a.seq
        mine, theirs = first.world.events()[:shared], other.world.events()[:shared]
        assert mine == theirs, f"branches {first.branch} and {other.branch} began differently"
