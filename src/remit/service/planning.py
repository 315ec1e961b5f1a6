"""``apply_plan``: a plan from a value onto the ledger, in chunks that anybody may interrupt.

First the whole plan is checked, and the decisions that the change needs are looked for; what is not
admissible writes nothing. Then an apply opens, each record that changed becomes a revision on a stream
of its own, the records are sealed part by part, and the end puts the revision in force, which is when
gates open. Every step compares digests and does nothing where it was done, so an apply that was killed
anywhere is carried on by running it again, and one that ended changes nothing when it is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from remit.core import commands as c
from remit.core import plan_commands as pc
from remit.core.commands import Command
from remit.core.facts import PlanRevision
from remit.core.gates import planned_gate
from remit.core.planning.bundle import (
    KINDS,
    Bundle,
    PlanGoal,
    PlanNode,
    PlanRequirement,
    Record,
)
from remit.core.planning.check import Finding, Gate, blocking, named
from remit.core.planning.difference import Difference, Name, difference
from remit.core.planning.texts import long_texts
from remit.core.planning.waits import in_order, waits
from remit.core.refusals import Code, Refused
from remit.ports import Blob
from remit.service.collecting import held_back
from remit.service.engine import Call
from remit.service.importing import recheck_gate
from remit.service.operations import Operations
from remit.service.proposing import DRAFTED, Proposed, inadmissible, propose
from remit.service.texts import blob_of

CHUNK: Final = 400
"""Weight of one transaction's records; see ``_weight``."""

RECHECKS: Final = 200
"""Items that admission looks at in one transaction."""

PARTS: Final = 10_000
"""Most parts that are sealed; a plan has at most this many thousand records."""

Progress = Callable[[str, int, int], None]
"""Called with what is done, how many of how many."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply did: ``revision_id`` is in force, ``changed`` says whether this call put it there.

    ``findings`` are what keeps gates shut all the same, and advice.
    """

    plan: str
    label: str
    revision: int
    digest: str
    proposal_digest: str
    changed: bool
    added: tuple[Name, ...] = ()
    revised: tuple[Name, ...] = ()
    removed: tuple[Name, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def revision_id(self) -> str:
        """The revision in force, such as ``P-1@3``."""
        return f"{self.plan}@{self.revision}"


@held_back()
def apply_plan(
    operations: Operations, bundle: Bundle, *, progress: Progress | None = None
) -> Applied | Refused:
    """Bring a plan onto the ledger and put it in force; see the module.

    Refuses ``PLAN_INADMISSIBLE`` (nothing was written), ``PLAN_MOVED`` where another apply ended
    meanwhile, ``LABEL_TAKEN``, ``DEPENDENCY_CYCLE`` through work of others, ``DECISION_NEEDED`` and
    ``DECISIONS_CONFLICT``. Raises as every operation does; then run it again.
    """
    caller = operations.caller
    found = caller.misnamed() or caller.built_in() or propose(operations, bundle)
    if isinstance(found, Refused):
        return found
    return Apply(operations, found, progress or (lambda *_: None)).run()


@dataclass(slots=True)
class Apply:
    """One apply of one proposed plan by one caller."""

    operations: Operations
    proposed: Proposed
    progress: Progress
    plan: str = ""
    done: int = 0
    total: int = 0
    _change: Difference | None = None
    _other: frozenset[Name] = frozenset()

    def run(self) -> Applied | Refused:
        """Every step in order; the first refusal ends it and leaves the apply open."""
        proposed = self.proposed
        if proposed.in_force:
            assert proposed.known.plan is not None
            self.plan = proposed.known.plan.id
            return self._admit() or self._told(proposed.known.plan.revision, changed=False)
        refused = [f for f in blocking(proposed.findings) if f.code not in DRAFTED]
        if refused:
            return inadmissible(proposed.bundle.name, tuple(refused))
        stopped = self._open() or self._apply() or self._seal() or self._close() or self._admit()
        if stopped is not None:
            return stopped
        return self._told(self._revision() + 1, changed=True)

    def _told(self, revision: int, *, changed: bool) -> Applied:
        proposed = self.proposed
        change = self.change
        return Applied(
            self.plan,
            proposed.bundle.name,
            revision,
            proposed.digest,
            proposed.proposal,
            changed,
            tuple((KINDS[type(r)], r.label) for r in change.added) if changed else (),
            tuple((each.kind, each.label) for each in change.changed) if changed else (),
            change.removed if changed else (),
            proposed.findings,
        )

    @property
    def change(self) -> Difference:
        """What the plan changes of the one in force, however far an earlier try got."""
        if self._change is None:
            self._change = difference(self.proposed.base, self.proposed.bundle)
        return self._change

    def _revision(self) -> int:
        known = self.proposed.known.plan
        return known.revision if known is not None else 0

    def _one(self, command: Command) -> Refused | None:
        answer = self.operations.observed([command], [""])[0]
        return answer if isinstance(answer, Refused) else None

    def _open(self) -> Refused | None:
        proposed = self.proposed
        name = proposed.bundle.name
        command = pc.OpenPlan(name, self._revision(), proposed.digest, proposed.proposal)
        refused = self._one(command)
        if refused is not None:
            return refused
        with self.operations.store.read() as tx:
            found = tx.load([("label", f"plan/{name}")])["label", f"plan/{name}"]
        self.plan = str(found)
        return None

    def _apply(self) -> Refused | None:
        """Every record that differs from the ledger's, in chunks."""
        steps = self.steps()
        self.total = len(steps)
        chunk: list[Call] = []
        weight = 0
        for step in steps:
            call, own = self._call(step)
            if chunk and weight + own > CHUNK:
                refused = self._run(chunk)
                if refused is not None:
                    return refused
                chunk, weight = [], 0
            chunk.append(call)
            weight += own
        return self._run(chunk) if chunk else None

    def steps(self) -> list[Command]:
        """What is to be written of every record that differs, in the order of the stages.

        ``plan`` is the id of the plan, whose apply is open.
        """
        here, digests = self.proposed.known.here, self.proposed.digests
        same = {name for name, entry in here.items() if digests.get(name) == entry.digest}
        self._other = frozenset(digests.keys() - same)
        return [*self._records(), *self._items(), *self._retired()]

    def _run(self, calls: list[Call]) -> Refused | None:
        answers = self.operations.engine.run(calls)
        self.done += len(calls)
        self.progress("records", self.done, self.total)
        return next((a for a in answers if isinstance(a, Refused)), None)

    def _records(self) -> Iterator[Command]:
        plan, digest = self.plan, self.proposed.digest
        bundle = self.proposed.bundle
        goal = bundle.goal.label
        stages: tuple[PlanGoal | PlanRequirement | PlanNode, ...]
        stages = (bundle.goal, *bundle.requirements, *bundle.nodes)
        for record in stages:
            if (KINDS[type(record)], record.label) in self._other:
                yield pc.ApplyPlanRecord(plan, digest, record, goal)

    def _items(self) -> Iterator[Command]:
        """Items that changed themselves, or in what they rest on."""
        bundle, base = self.proposed.bundle, self.proposed.base
        now, before = waits(bundle), waits(base) if base is not None else {}
        rows = {row.label: row for row in bundle.rows}
        moved = self._moved()
        touching = moved | self._other
        rows_touching = {label for kind, label in touching if kind == "row"}
        requirements_moved = {label for kind, label in moved if kind == "requirement"}
        for item in in_order(bundle):
            touched = (
                ("item", item.label) in self._other
                or now[item.label] != before.get(item.label)
                or ("node", item.node) in moved
                or not requirements_moved.isdisjoint(item.requirements)
                or not rows_touching.isdisjoint(item.rows)
            )
            if touched:
                yield pc.ApplyPlanItem(
                    self.plan,
                    self.proposed.digest,
                    item,
                    bundle.goal.label,
                    tuple(rows[label] for label in item.rows if label in rows),
                    now[item.label],
                )

    def _moved(self) -> set[Name]:
        """Records that are not what the plan in force has, or that an earlier try had otherwise."""
        change, known, newest = self.change, self.proposed.known, self._revision()
        written = {name for name, entry in known.here.items() if entry.revision > newest}
        return (
            written
            | {(each.kind, each.label) for each in change.changed}
            | {(KINDS[type(r)], r.label) for r in change.added}
        )

    def _retired(self) -> Iterator[Command]:
        plan, digest = self.plan, self.proposed.digest
        for kind in ("item", "row", "node", "requirement", "goal"):
            for name in self.proposed.known.here:
                if name[0] == kind and name not in self.proposed.digests:
                    yield pc.RetirePlanRecord(plan, digest, *name)

    def _call(self, command: Command) -> tuple[Call, int]:
        """A call with its long texts as blobs, and how much it weighs in a chunk."""
        caller = self.operations.caller
        blobs: list[Blob] = []
        if isinstance(command, pc.ApplyPlanRecord):
            texts = _kept(command.record, blobs)
            if texts:
                command = pc.ApplyPlanRecord(
                    command.plan, command.digest, command.record, command.goal, texts
                )
        elif isinstance(command, pc.ApplyPlanItem):
            texts = _kept(command.record, blobs)
            row_texts = tuple(
                (f"{row.label}:{path}", ref)
                for row in command.rows
                for path, ref in _kept(row, blobs)
            )
            if blobs:
                command = pc.ApplyPlanItem(
                    command.plan,
                    command.digest,
                    command.record,
                    command.goal,
                    command.rows,
                    command.waits,
                    texts,
                    row_texts,
                )
        call = Call(
            command,
            caller.actor,
            blobs=tuple(blobs),
            conversation_ref=caller.conversation_ref,
            trace_context=caller.trace_context,
            token=self.operations.token,
        )
        return call, _weight(command)

    def _seal(self) -> Refused | None:
        """Take the digests of all records from the ledger, part by part."""
        after = ""
        for part in range(PARTS):
            refused = self._one(pc.SealPlanPart(self.plan, self.proposed.digest, after))
            if refused is not None:
                return refused
            with self.operations.store.read() as tx:
                plan = tx.load([("plan", self.plan)])["plan", self.plan]
            under_way = plan.open if isinstance(plan, PlanRevision) else None
            if under_way is None or under_way.sealed:
                return None
            after = under_way.after
            self.progress("seal", part + 1, 0)
        return None

    def closing(self) -> Command:
        """The end of the apply: everything that it has to be held to."""
        proposed = self.proposed
        bundle = proposed.bundle
        parts = (bundle.requirements, bundle.nodes, bundle.rows, bundle.items)
        shut = (f for f in blocking(proposed.findings) if f.gate is Gate.GOAL)
        return pc.ClosePlan(
            self.plan,
            proposed.digest,
            proposed.proposal,
            bundle.goal.label,
            (1, *(len(part) for part in parts)),
            proposed.needs,
            tuple(dict.fromkeys(ref for *_, ref in named(bundle))),
            tuple(dict.fromkeys(str(f.code) for f in shut)),
        )

    def _close(self) -> Refused | None:
        proposed = self.proposed
        refused = self._one(self.closing())
        if refused is None or refused.code is not Code.PLAN_NOT_OPEN:
            return refused
        with self.operations.store.read() as tx:
            plan = tx.load([("plan", self.plan)])["plan", self.plan]
        ended = isinstance(plan, PlanRevision) and plan.digest == proposed.digest
        return None if ended else refused

    def _admit(self) -> Refused | None:
        """Let admission look at everything that waited for a gate of this plan."""
        for gate in Gate:
            name = planned_gate(gate, self.plan)
            refused = recheck_gate(self.operations, name, self.progress, RECHECKS)
            refused = refused or self._recheck_held(f"gate:{name}")
            if refused is not None:
                return refused
        return None

    def _recheck_held(self, trigger: str) -> Refused | None:
        after: tuple[int, int] | None = None
        while True:
            with self.operations.store.read() as tx:
                ids = tx.held(trigger, after, RECHECKS)
            if not ids:
                return None
            answers = self.operations.run([c.Recheck(item) for item in ids])
            refused = next((a for a in answers if isinstance(a, Refused)), None)
            if refused is not None:
                return refused
            after = (0, int(ids[-1][2:]))


def _kept(record: Record, blobs: list[Blob]) -> tuple[tuple[str, str], ...]:
    """The long texts of a record as blobs, by their paths."""
    found = []
    for path, text in long_texts(record):
        ref, blob = blob_of(text.encode())
        blobs.append(blob)
        found.append((path, ref))
    return tuple(found)


def _weight(command: Command) -> int:
    """How much of a transaction's time a command takes, in about tenths of a millisecond."""
    if isinstance(command, pc.ApplyPlanItem):
        return 3 + 2 * len(command.rows) + len(command.waits)
    return 1
