"""Facts of the plan and of the records around an item: goals, requirements, rows, rules and the like.

Small folds of streams of their own. Their texts stay in the events; a fact keeps what decisions need
and the seq at which the rest can be read.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick


@quick
@dataclass(frozen=True, slots=True)
class Goal:
    """The newest revision of a goal; ``settled`` are decisions that alone say what was not clear."""

    id: str
    version: int
    revision: int
    drafted: bool
    seq: int
    plan: str = ""
    label: str = ""
    digest: str = ""
    shut: tuple[str, ...] = ()
    retired: bool = False
    settled: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Requirement:
    """The newest revision of a requirement, and whether it still carries a drafting mark.

    ``meaning`` is the revision in which anything but its decisions last changed; ``shut`` says why
    what owns it may not begin, in codes of the plan's check. While an apply that changed it is open,
    ``held`` is what the plan in force says: the digest without decisions, and the meaning. ``settled``
    are decisions that alone say what was not clear.
    """

    id: str
    version: int
    revision: int
    goal_revision: str
    item: str
    drafted: bool
    seq: int
    plan: str = ""
    label: str = ""
    digest: str = ""
    risk: str = "low"
    shut: tuple[str, ...] = ()
    meaning: int = 1
    retired: bool = False
    proposal: str = ""
    held: tuple[str, int] = ("", 0)
    settled: tuple[str, ...] = ()

    @property
    def bound(self) -> str:
        """The digest that approvals and results are bound to: a change of decisions is none of it."""
        return self.proposal or self.digest


@quick
@dataclass(frozen=True, slots=True)
class Row:
    """A registered row of the verification plan; ``digest`` is what a result is bound to.

    ``direct`` says that it proves its requirement itself; ``waived`` names the decision that the
    plan gives for letting it go unproved, which counts only while that decision does. ``successor`` is
    the row that took its place.
    """

    id: str
    version: int
    requirement: str
    item: str
    kind: str
    digest: str
    origin: str
    seq: int
    plan: str = ""
    label: str = ""
    direct: bool = True
    control: str = ""
    waived: str = ""
    retired: bool = False
    successor: str = ""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """The newest revision of a node of a plan's graph.

    ``waits`` are the labels that it waits for, ``covers`` the ids of the requirements that it covers.
    """

    id: str
    version: int
    revision: int
    plan: str
    label: str
    digest: str
    seq: int
    waits: tuple[str, ...] = ()
    retired: bool = False
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenApply:
    """An apply that has begun and not ended: no gate of the plan's items opens before it has.

    ``digest`` is that of the whole plan that it leads to, ``proposal`` the same without decisions.
    While it is sealed, part by part in the order of names, ``after`` is the last name, ``count`` how
    many there were, and the chains are the digests so far.
    """

    revision: int
    digest: str
    proposal: str
    sealing: bool = False
    after: str = ""
    count: int = 0
    chain: str = ""
    proposal_chain: str = ""
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class PlanRevision:
    """The revision of a plan that is in force (0 before the first), and the apply under way.

    ``shut`` holds codes of what keeps the goal's gate shut for all, ``closing_seq`` the event that put
    the revision in force.
    """

    id: str
    version: int
    label: str
    revision: int = 0
    digest: str = ""
    proposal: str = ""
    goal: str = ""
    goal_revision: str = ""
    counts: tuple[int, ...] = ()
    decisions: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()
    closing_seq: int = 0
    open: OpenApply | None = None


@quick
@dataclass(frozen=True, slots=True)
class Planned:
    """One record of a plan as it stands on the ledger, by plan, kind and label.

    ``id`` is what carries it, ``seq`` the event that holds it, ``revision`` the plan's revision that
    last changed it. ``proposal`` is its digest without references to decisions, ``meant`` the
    revision in which that last changed. ``held`` is both as the plan before that revision had them,
    so that a try that is given up leaves no trace in what was meant since when.
    """

    id: str
    digest: str
    proposal: str
    revision: int
    seq: int
    meant: int = 0
    held: tuple[str, int] = ("", 0)


@quick
@dataclass(frozen=True, slots=True)
class ClearedLink:
    """The newest judgement that both ends of a link belong together, at these two digests."""

    id: str
    version: int
    upper_digest: str
    lower_digest: str
    by: str
    assurance: str
    seq: int


@quick
@dataclass(frozen=True, slots=True)
class Governed:
    """What a planned item was made for: the revisions and the parts of the plan that it rests on.

    ``plan_revision`` and ``goal_revision`` are those that made it, or last changed its brief. The
    references to requirements name their revisions. ``orphaned_refs`` are those of ``graph_refs`` that
    the plan has no longer, ``graph_version`` the revision of the plan in which that was last looked
    at, ``waits`` the labels of the items that the graph has it wait for. ``left`` says that the plan has it no longer, ``predecessor`` which item it goes on from.
    """

    plan: str
    plan_revision: str
    goal_revision: str
    label: str
    node: str
    digest: str
    requirement_refs: tuple[str, ...]
    dependency_refs: tuple[str, ...]
    graph_refs: tuple[str, ...]
    orphaned_refs: tuple[str, ...]
    graph_version: int
    waits: tuple[str, ...]
    risk: str
    reversal: str
    reversal_complete: bool
    decision: str
    predecessor: str = ""
    left: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Plan:
    """Why the item exists and what will prove it."""

    goal: str
    requirements: tuple[str, ...]
    rows: tuple[str, ...]
    scope: tuple[str, ...]
    artifacts: tuple[str, ...]
    rule: str
    ambiguous: bool
    brief_seq: int
    brief_revision: int
    governed: Governed | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where an imported item comes from, and what the import knew that this ledger did not see."""

    import_id: str
    digest: str
    status: str
    unconfirmed: bool
    satisfies: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """A default rule that gives drafted items their rows once a human accepted it."""

    name: str
    version: int
    revision: int
    digest: str
    argv: tuple[str, ...]
    rubric: str
    expected_exit: int
    junit: str
    red_reason: str
    timeout_ms: int
    accepted: bool
    accepted_by: str
    seq: int
    accepted_proof: str = ""

    def counts(self, *, accept_unproved: bool) -> bool:
        """Whether a human accepted this revision, as well proved as policy wants it."""
        return self.accepted and (accept_unproved or self.accepted_proof.startswith("signature"))


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import: items that it brought stay behind the gate ``import-open`` until it closes."""

    id: str
    version: int
    format: str
    goal: str
    digest: str
    open: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt's own stream: clone, take-over and supervision evidence, no status."""

    id: str
    version: int
    item: str
    head: str


@dataclass(frozen=True, slots=True)
class Triage:
    """A typed record of something that no rule may settle alone (INV-19)."""

    id: str
    item: str
    kind: str
    open: bool
    opened_seq: int
    resolution: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """A blob whose bytes were erased; proofs over the ledger still hold."""

    digest: str
    version: int
    seq: int
