"""A plan bundle as values: goal, requirements, graph, verification rows and work items.

Each record has a ``label``, its stable id in the plan, by which the others refer to it. A record's
digest covers every field of it, so that a change of any is another revision, and nothing else is.
Records come in any order.

Texts are bounded where they are read (``remit.documents``) and again where they are decided on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

from remit.core.canonical import digest_of
from remit.core.change import quick
from remit.core.rows import RowSpec


class Risk(StrEnum):
    """How much depends on a claim; a high-risk claim needs a red control."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class EdgeType(StrEnum):
    """How one node of the graph leads to another. Only ``BLOCKS`` lets one wait for the other."""

    BLOCKS = "blocks"
    REFINES = "refines"
    RELATES = "relates"


class ReversalKind(StrEnum):
    """What can be done about an effect afterwards. ``NONE`` stands for work without any outside."""

    NONE = "none"
    REVERT = "revert"
    COMPENSATION = "compensation"
    IRREVERSIBLE = "irreversible"
    UNCLASSIFIED = "unclassified"


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence of a goal. What is material must be covered or excluded by a human's decision."""

    label: str
    text: str
    material: bool = True


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Something that is not clear. Open while neither a clarification nor a decision settles it."""

    label: str
    text: str
    material: bool = True
    clarification: str = ""
    decision: str = ""

    @property
    def open(self) -> bool:
        """Whether nothing settles it yet."""
        return not (self.clarification or self.decision)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A material clause that no requirement covers, and the decision that says why."""

    clause: str
    decision: str


@dataclass(frozen=True, slots=True)
class PlanGoal:
    """Stage 1: what is wanted, by whose authority, and what is not."""

    label: str
    objective: str
    clauses: tuple[Clause, ...] = ()
    non_goals: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()
    authority: str = ""
    risk: Risk = Risk.LOW
    ambiguities: tuple[Ambiguity, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    decisions: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class PlanRequirement:
    """Stage 2: one thing that must come true, and how one would know."""

    label: str
    statement: str
    clauses: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    non_goals: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    risk: Risk = Risk.LOW
    ambiguities: tuple[Ambiguity, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class PlanEdge:
    """From one node to another that must come first, and why."""

    target: str
    type: EdgeType
    rationale: str


@quick
@dataclass(frozen=True, slots=True)
class PlanNode:
    """Stage 3: a node of the dependency graph, with the edges that leave it.

    ``edges`` name what this node waits for (``BLOCKS``) or has to do with. ``bypass`` lists targets
    that it once waited for and no longer does, each with the decision that allows it.
    """

    label: str
    requirements: tuple[str, ...] = ()
    edges: tuple[PlanEdge, ...] = ()
    bypass: tuple[tuple[str, str], ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class PlanRow:
    """Stage 4: planned evidence for one requirement, given by one item.

    ``direct`` says that it proves the requirement itself and nothing narrower. ``boundary`` is the
    system boundary at which it is observed, ``waived`` the decision that lets it go unproved.
    """

    label: str
    requirement: str
    item: str
    boundary: str
    spec: RowSpec
    direct: bool = True
    expected: str = ""
    rollback: str = ""
    limitations: str = ""
    waived: str = ""


@dataclass(frozen=True, slots=True)
class Reversal:
    """What would undo or make good the work, and what it would touch."""

    kind: ReversalKind = ReversalKind.REVERT
    text: str = ""
    effect: str = ""
    confirmation: str = ""
    blast_radius: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True)
class PlanItem:
    """Stage 5: one atomic piece of work."""

    label: str
    title: str
    body: str = ""
    node: str = ""
    requirements: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    non_goals: tuple[str, ...] = ()
    risk: Risk = Risk.LOW
    reversal: Reversal = field(default_factory=Reversal)
    priority: int = 2
    work_class: str = "delivery"
    tenant: str = "default"


Record = PlanGoal | PlanRequirement | PlanNode | PlanRow | PlanItem
"""Any record of a plan."""

PART: Final = 1_000
"""Records of one link of a bundle's digest."""

KINDS: Final[dict[type, str]] = {
    PlanGoal: "goal",
    PlanRequirement: "requirement",
    PlanNode: "node",
    PlanRow: "row",
    PlanItem: "item",
}
"""What a record is called in messages, digests and label keys, in the order of the stages."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One whole plan. ``name`` is its stable id; ``decisions`` are those that it consumes."""

    name: str
    goal: PlanGoal
    requirements: tuple[PlanRequirement, ...] = ()
    nodes: tuple[PlanNode, ...] = ()
    rows: tuple[PlanRow, ...] = ()
    items: tuple[PlanItem, ...] = ()

    def records(self) -> tuple[Record, ...]:
        """Every record, by stage."""
        return (self.goal, *self.requirements, *self.nodes, *self.rows, *self.items)


def record_digest(record: Record) -> str:
    """SHA-256 over the canonical bytes of every field of a record, and of its kind."""
    return digest_of([KINDS[type(record)], plain(record)])


def plain(value: Any) -> Any:
    """A record in lists, maps and scalars, by field names: what its digest is taken over."""
    kind = value.__class__
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is tuple:
        return [each if each.__class__ is str else plain(each) for each in value]
    if kind not in _FIELDS:
        if isinstance(value, StrEnum):
            return value.value
        _FIELDS[kind] = tuple(f.name for f in fields(value))
    return {name: plain(getattr(value, name)) for name in _FIELDS[kind]}


_FIELDS: Final[dict[type, tuple[str, ...]]] = {}


def bundle_digest(records: Mapping[tuple[str, str], str]) -> str:
    """The digest of a whole bundle from its records' digests by (kind, label).

    The order of records in a file plays no part: it is a chain over parts of the sorted list, so that
    a ledger can take it part by part.
    """
    names = sorted(f"{kind}/{label}" for kind, label in records)
    digests = {f"{kind}/{label}": digest for (kind, label), digest in records.items()}
    chain = ""
    for at in range(0, len(names), PART):
        chain = link(chain, [(name, digests[name]) for name in names[at : at + PART]])
    return chain


def link(chain: str, part: Sequence[tuple[str, str]]) -> str:
    """The chain of digests with one more part: names (``KIND/LABEL``) with digests, in order."""
    return digest_of([chain, [list(each) for each in part]])


def undecided(record: Record) -> Record:
    """A record without its references to decisions: what a human signs, before anybody consumes it.

    One that names none is returned as it is.
    """
    if isinstance(record, PlanGoal):
        return replace(
            record,
            decisions=(),
            ambiguities=_unsettled(record.ambiguities),
            exclusions=tuple(replace(each, decision="") for each in record.exclusions),
        )
    if isinstance(record, PlanRequirement):
        if not (record.decisions or record.ambiguities):
            return record
        return replace(record, decisions=(), ambiguities=_unsettled(record.ambiguities))
    if isinstance(record, PlanNode):
        if not record.bypass:
            return record
        return replace(record, bypass=tuple((target, "") for target, _ in record.bypass))
    if isinstance(record, PlanRow):
        return replace(record, waived="") if record.waived else record
    if not record.reversal.decision:
        return record
    return replace(record, reversal=replace(record.reversal, decision=""))


def _unsettled(ambiguities: tuple[Ambiguity, ...]) -> tuple[Ambiguity, ...]:
    return tuple(replace(each, decision="") for each in ambiguities)


def proposal_digest(bundle: Bundle) -> str:
    """The digest of a bundle without its references to decisions."""
    return bundle_digest(
        {
            (KINDS[type(record)], record.label): record_digest(undecided(record))
            for record in bundle.records()
        }
    )
