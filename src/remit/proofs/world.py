"""A small bounded world: who is there, what they may ask, and how one step is taken.

A ``World`` names items, actors, policy and the kinds of commands that are tried in it. ``Stage``
builds its first state through the real decisions and takes steps from there, exactly as the engine
does: a decision, and beside a refusal what must be recorded all the same. A state holds only facts
that differ from the world's beginning, so that a hundred thousand of them fit in memory. Nothing
that a process could lose in a crash is part of a state: every step starts from the facts alone, so
a restart lies between any two of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from remit.core import commands as c
from remit.core import plan_commands as pc
from remit.core.commands import Ask, Command
from remit.core.decide import Accepted, NeedMore, Refused, decide
from remit.core.decide.leases import QUEUE
from remit.core.events import Recorded
from remit.core.facts import Fact, Item, Key, Policy
from remit.core.planning.bundle import PlanGoal, PlanNode, PlanRequirement
from remit.core.rows import RowKind, RowSpec
from remit.core.signing import Proof
from remit.core.view import View
from remit.proofs.effect_cast import CLASS, EffectCast, submission
from remit.proofs.outside import NOWHERE, Outside
from remit.proofs.plan_cast import PlanCast
from remit.proofs.queries import Answers

T0: Final = 1_000_000_000_000
"""Where the clock of every world starts, in microseconds."""

UNIT_US: Final = 1_000_000
"""One step of time: the shortest lease that the core gives."""

HUMAN: Final = "rex"
IMPLEMENTERS: Final = ("ann", "bob")
SECOND: Final = "vic"
"""Another verifier, for work that the built-in one has had a hand in."""

HEADS: Final = ("1" * 40, "2" * 40)
BASE: Final = "0" * 40

POLICY: Final = Policy(ttl_ms=2_000, longest_lease_ms=3_000, attempts=2)
"""A lease lasts two steps and may be renewed to three; two attempts are allowed."""

ROW: Final = RowSpec(RowKind.COMMAND, argv=("true",))


@dataclass(frozen=True, slots=True)
class World:
    """What is explored: a fixed cast, and the groups of commands that ``moves`` offers in it.

    ``items`` is how many items may exist, ``made`` how many of them exist at the start, ``rows``
    how many verification rows each has. ``fan_out`` (0: as shipped) scales the bound of one
    settlement down. ``limit`` stops the search after that many states, 0 never. ``worked`` (0: all)
    is how many items steps are offered for; the others are there to be named. In an ``alive`` world
    every state must have a way on to one where every worked item is finished. ``effects`` makes it
    a world of effect work, ``plans`` one of planning, whose items its plan makes.
    """

    name: str
    groups: frozenset[str]
    items: int = 2
    made: int = 2
    rows: int = 1
    actors: tuple[str, ...] = IMPLEMENTERS
    heads: int = 1
    kinds: tuple[str, ...] = ("blocks",)
    policy: Policy = POLICY
    fan_out: int = 0
    limit: int = 0
    worked: int = 0
    alive: bool = False
    effects: EffectCast | None = None
    plans: PlanCast | None = None

    def has(self, group: str) -> bool:
        """Whether a group of commands is tried here."""
        return group in self.groups


@dataclass(frozen=True, slots=True)
class Ghost:
    """What the search remembers of an item beside its facts, to judge by: never shown to the core.

    ``fence`` is the last one that ended, ``approved`` the head that was approved last, ``answers``
    every answer that a row has given, as (row, commit, green or red).
    """

    fence: int = 0
    approved: str = ""
    answers: frozenset[tuple[str, str, str]] = frozenset()


NO_GHOST: Final = Ghost()


@dataclass(slots=True)
class State:
    """One state: facts that differ from the base, the time, and what is remembered.

    ``outside`` is what is really so outside the ledger. ``books`` are figures that the search counts
    for itself, by name.
    """

    facts: dict[Key, Fact | None]
    now: int
    seq: int
    ghosts: dict[str, Ghost] = field(default_factory=dict)
    highest: int = 0
    locals: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    outside: Outside = NOWHERE
    books: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What somebody does: a command, something outside the ledger, or time going on by ``after_us``.

    ``outside`` names what happens there, and to what: (``arrive``, attempt). ``proof`` is the signature
    that the command comes with.
    """

    actor: str = ""
    command: Command | None = None
    after_us: int = 0
    outside: tuple[str, ...] = ()
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of a step, with what was asked."""

    command: Command
    ask: Ask
    events: tuple[Recorded, ...]
    delta: Mapping[Key, Fact | None]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a step: decisions that are stored, and the refusal if there was one.

    With a refusal, the decisions are those that stand beside it; with ``repeated`` the last one is
    the command itself, decided again after them.
    """

    decided: tuple[Decided, ...]
    refused: Refused | None


NOTHING: Final = Taken((), None)
"""What is decided where something happens outside the ledger."""


class Stage:
    """Takes steps in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.base: dict[Key, Fact | None] = {}
        # Work that was coalesced goes on in items of its own.
        most = world.items if world.effects is None else 3 * world.items
        most = most if world.plans is None else world.plans.items
        self.names: tuple[Key, ...] = tuple(("item", f"W-{n + 1}") for n in range(most))
        self.first = self._begin()

    def view(self, state: State) -> View:
        """A view with every fact of the state, whose queries are answered from them."""
        view = WholeView(self.base, state.seq)
        view.facts.update(state.facts)
        view.queries = Answers(view.facts)
        return view

    def get(self, state: State, kind: str, name: str) -> Fact | None:
        """A fact of a state."""
        key = (kind, name)
        return state.facts[key] if key in state.facts else self.base.get(key)

    def items(self, state: State) -> dict[str, Item]:
        """The items of a state, by id, in the order of their numbers."""
        found = {}
        facts, base = state.facts, self.base
        for key in self.names:
            item = facts[key] if key in facts else base.get(key)
            if isinstance(item, Item):
                found[item.id] = item
        return found

    def take(self, state: State, step: Step, view: View | None = None) -> Taken:
        """Decide a step's command, and what must be recorded beside a refusal, as the engine does.

        The state is not changed. ``view`` saves making one for each of many steps.
        """
        command = step.command
        if command is None:
            raise AssertionError("time going on is no command")
        view = view or self.view(state)
        ask = Ask(state.now, step.actor, proof=step.proof)
        answer = ask_core(view, command, ask)
        if isinstance(answer, Accepted):
            return Taken((Decided(command, ask, answer.events, answer.delta),), None)
        if not answer.aside:
            return Taken((), answer)
        view, decided = self.view(state), []
        for aside in answer.aside:
            its = Ask(state.now, QUEUE) if isinstance(aside, c.ExpireLease) else ask
            beside = ask_core(view, aside, its)
            if isinstance(beside, Accepted):
                decided.append(Decided(aside, its, beside.events, beside.delta))
                carry_on(view, beside)
        refused: Refused | None = answer
        if isinstance(command, c.GrantLease):
            again = ask_core(view, command, ask)
            refused = again if isinstance(again, Refused) else None
            if isinstance(again, Accepted):
                decided.append(Decided(command, ask, again.events, again.delta))
        return Taken(tuple(decided), refused)

    def _begin(self) -> State:
        world = self.world
        state = State({}, T0, 0)
        rows = (ROW,) * world.rows
        steps = [Step(HUMAN, c.CreateLedger("L", HUMAN))]
        steps += [Step(HUMAN, c.EnrolActor(name, "agent")) for name in IMPLEMENTERS]
        steps.append(Step(HUMAN, c.EnrolActor(SECOND, "service")))
        steps.append(Step(HUMAN, c.SetPolicy(world.policy)))
        if world.has("import"):
            steps.append(Step(HUMAN, c.RegisterRule("default", "d", ("true",), "")))
        made = range(1, world.made + 1)
        if world.effects is not None:
            steps += [Step(HUMAN, command) for command in world.effects.documents()]
            begin = T0 + UNIT_US
            steps += [Step(HUMAN, submission(world.effects, n, begin)) for n in made]
        elif world.plans is None:
            steps.append(Step(HUMAN, c.DraftGoal("goal", "test")))
            steps += [Step(HUMAN, creation(n, rows)) for n in made]
        facts: dict[Key, Fact | None] = {}
        for step in steps:
            self.base = facts
            taken = self.take(state, step)
            if taken.refused is not None:
                raise AssertionError(f"the world cannot begin: {taken.refused.message}")
            for decided in taken.decided:
                facts = {**facts, **decided.delta}
                state.seq += len(decided.events)
        self.base = {**absent(world), **facts}
        return replace(state, now=T0 + UNIT_US)


def creation(number: int, rows: tuple[RowSpec, ...], *waits: tuple[str, str]) -> c.CreateItem:
    """The command that makes an item."""
    return c.CreateItem(f"item {number}", goal="G-1", rows=rows, depends_on=waits)


class WholeView(View):
    """A view in which everything is loaded: what is not there is absent."""

    def get(self, kind: str, name: str) -> Fact | None:
        """A fact, or None where there is none."""
        return self.facts.get((kind, name))


def absent(world: World) -> dict[Key, None]:
    """Keys that decisions may write first, so that the fold finds them looked at."""
    names = [f"actor/{a}" for a in (*world.actors, HUMAN)]
    own = CLASS if world.effects is not None else "delivery"
    names += [f"class/{own}", "tenant/default"]
    keys: list[Key] = [("load", name) for name in names]
    keys += [("lane", f"{own}|default"), ("rule", "default"), ("alias", "")]
    keys += [("triage", f"T-{n}") for n in range(1, 13)]
    return dict.fromkeys(keys)


def ask_core(view: View, command: Command, ask: Ask) -> Accepted | Refused:
    """Decide, with every fact that is asked for taken as absent where the world has none."""
    for _ in range(64):
        decision = decide(view, command, ask)
        if not isinstance(decision, NeedMore):
            return decision
        for kind, name in decision.keys:
            view.facts.setdefault(("item" if kind[-1] == "+" else kind, name), None)
    raise AssertionError(f"{command!r} asks for the same facts again and again")


def carry_on(view: View, accepted: Accepted | Decided) -> None:
    """Take a decision into the view, as a batch does; queries keep their first answers."""
    if isinstance(view.queries, Answers) and view.queries.facts is view.facts:
        view.queries.facts = dict(view.facts)
    view.apply(accepted.delta)
    view.seq += len(accepted.events)


def said(step: Step) -> dict[str, Any]:
    """A step as plain values, for a trace."""
    import msgspec

    if step.outside:
        return {"outside": list(step.outside)}
    if step.command is None:
        return {"after_us": step.after_us}
    command = step.command
    return {
        "actor": step.actor,
        "command": type(command).__name__,
        "args": msgspec.to_builtins(command),
        "proof": msgspec.to_builtins(step.proof),
    }


def heard(values: Mapping[str, Any]) -> Step:
    """A step from a trace. Raises ``ValueError`` where it is none."""
    import msgspec

    if "outside" in values:
        return Step(outside=tuple(values["outside"]))
    if "command" not in values:
        return Step(after_us=int(values["after_us"]))
    name = str(values["command"])
    kind = getattr(c, name, None) or getattr(pc, name, None)
    if isinstance(kind, type) and issubclass(kind, Command):
        proof = msgspec.convert(values.get("proof"), Proof | None)
        return Step(str(values["actor"]), _heard(values["args"], kind), proof=proof)
    raise ValueError(f"there is no command {values['command']!r}")


def _heard(values: Any, kind: type[Command]) -> Command:
    """A command from plain values; which record of a plan it brings is told by its fields."""
    import msgspec

    if kind is not pc.ApplyPlanRecord:
        return msgspec.convert(values, kind)
    for record in (PlanGoal, PlanRequirement, PlanNode):
        if set(values["record"]) == {f.name for f in fields(record)}:
            made: Any = msgspec.convert(values["record"], record)
            texts = tuple((path, ref) for path, ref in values["texts"])
            return kind(values["plan"], values["digest"], made, values["goal"], texts)
    raise ValueError("that is no record of a plan")
