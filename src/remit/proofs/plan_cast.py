"""What is planned in a world: small bundles of one plan, and the decisions that somebody may propose.

Every bundle of a cast is a revision of the same plan, with one or two requirements, and everything
else that it takes to be a plan. What a world does not look at is plain and the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.planning.bundle import (
    KINDS,
    Ambiguity,
    Bundle,
    Clause,
    EdgeType,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Reversal,
    ReversalKind,
    Risk,
    bundle_digest,
    proposal_digest,
    record_digest,
)
from remit.core.planning.difference import Name
from remit.core.rows import RowKind, RowSpec

PLAN: Final = "plan"
"""The name of the one plan."""

GOAL: Final = PlanGoal(
    "g",
    "one thing",
    (Clause("c1", "so"),),
    provenance=("asked",),
    authority="rex",
)
SPEC: Final = RowSpec(RowKind.COMMAND, argv=("true",))
OTHER: Final = RowSpec(RowKind.COMMAND, argv=("false",))
NEAR: Final = PlanEdge("n1", EdgeType.RELATES, "it is near")
"""An edge that lets nobody wait: with it a node means something else, and nothing else changes."""

YES: Final = Option("yes", "let it be so", against="not asked for")
NO: Final = Option("no", "leave it", permits=False, against="it is wanted")


@dataclass(frozen=True, slots=True)
class Asked:
    """A decision that may be proposed; ``about`` is the place of the bundle that it is about.

    ``expires`` is in steps of time after the world's beginning (0: never), ``supersedes`` the number
    of an earlier one (0: none). Its own number is its place, from 1.
    """

    kind: DecisionKind
    scope: tuple[str, ...]
    about: int
    expires: int = 0
    supersedes: int = 0


@dataclass(frozen=True, slots=True)
class PlanCast:
    """Bundles that may be applied in any order, and bounds on how often.

    ``applied`` of them, from the first, are in force one after the other when the world begins, and
    ``given`` decisions are proposed. At most ``opens`` applies begin after that, no revision follows
    on ``revisions``, and none begins that might make more than ``items`` items. ``keyed``: the human has
    a key; ``strict``: from the beginning only what is signed counts.
    """

    bundles: tuple[Bundle, ...]
    decisions: tuple[Asked, ...] = ()
    applied: int = 0
    given: int = 0
    opens: int = 3
    revisions: int = 3
    items: int = 4
    keyed: bool = False
    strict: bool = False

    def proposal(self, number: int, begin: int, unit_us: int) -> c.ProposeDecision:
        """The command that proposes a decision; the world begins at ``begin``."""
        asked = self.decisions[number - 1]
        return c.ProposeDecision(
            asked.kind,
            f"decision {number}",
            (YES, NO),
            asked.scope,
            digests(self.bundles[asked.about]).proposal,
            plan=PLAN,
            supersedes=f"D-{asked.supersedes}" if asked.supersedes else "",
            expires_at=begin + asked.expires * unit_us if asked.expires else None,
        )

    def of(self, digest: str) -> Bundle | None:
        """The bundle with this digest."""
        return next((b for b in self.bundles if digests(b).whole == digest), None)


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of a bundle: of each record, of the whole, and of what is proposed."""

    records: dict[Name, str]
    whole: str
    proposal: str


_KNOWN: Final[dict[int, tuple[Bundle, Digests]]] = {}


def digests(bundle: Bundle) -> Digests:
    """The digests of a bundle, made once for each value."""
    known = _KNOWN.get(id(bundle))
    if known is None:
        found = {(KINDS[type(r)], r.label): record_digest(r) for r in bundle.records()}
        made = Digests(found, bundle_digest(found), proposal_digest(bundle))
        known = _KNOWN[id(bundle)] = (bundle, made)
    return known[1]


def requirement(n: int, **more: Any) -> PlanRequirement:
    """A requirement without faults."""
    kept = {"clauses": ("c1",), "acceptance": ("seen",), "sources": ("asked",), **more}
    return replace(PlanRequirement(f"r{n}", f"number {n} comes true"), **kept)


def node(n: int, *waits: int, **more: Any) -> PlanNode:
    """A node of one requirement that waits for others."""
    edges = tuple(PlanEdge(f"n{target}", EdgeType.BLOCKS, "it needs it") for target in waits)
    return replace(PlanNode(f"n{n}", (f"r{n}",), edges), **more)


def row(n: int, **more: Any) -> PlanRow:
    """A direct row of one requirement and its item."""
    return replace(PlanRow(f"v{n}", f"r{n}", f"i{n}", "the command line", SPEC), **more)


def item(n: int, **more: Any) -> PlanItem:
    """An item that owns one requirement."""
    made = PlanItem(f"i{n}", f"item {n}", node=f"n{n}", requirements=(f"r{n}",), rows=(f"v{n}",))
    return replace(made, **{"scope": ("src/**",), **more})


@cache
def _plain() -> tuple[Any, ...]:
    return ((requirement(1),), (node(1),), (row(1),), (item(1),))


def single(**parts: Any) -> Bundle:
    """A plan of one requirement and one item, but for the parts that are given."""
    names = ("requirements", "nodes", "rows", "items")
    whole = {"goal": GOAL, **dict(zip(names, _plain(), strict=True)), **parts}
    return Bundle(PLAN, **whole)


def double(**parts: Any) -> Bundle:
    """A plan of two requirements, whose second item waits for the first."""
    whole = {
        "requirements": (requirement(1), requirement(2)),
        "nodes": (node(1), node(2, 1)),
        "rows": (row(1), row(2)),
        "items": (item(1), item(2)),
        **parts,
    }
    return single(**whole)


def deciding(*refs: int, **more: Any) -> PlanGoal:
    """The goal, naming decisions."""
    return replace(GOAL, decisions=tuple(f"D-{n}" for n in refs), **more)


def unclear(ref: int = 0) -> Ambiguity:
    """Something that is not clear, or that a decision settles."""
    return Ambiguity("a1", "which one", decision=f"D-{ref}" if ref else "")


def final(ref: int = 0) -> Reversal:
    """What cannot be undone."""
    named = f"D-{ref}" if ref else ""
    return Reversal(ReversalKind.IRREVERSIBLE, "", "it is sent", "seen there", "one", named)


__all__ = [
    "GOAL",
    "NEAR",
    "OTHER",
    "PLAN",
    "SPEC",
    "Asked",
    "DecisionKind",
    "PlanCast",
    "Reversal",
    "ReversalKind",
    "Risk",
    "deciding",
    "digests",
    "double",
    "final",
    "item",
    "node",
    "requirement",
    "row",
    "single",
    "unclear",
]
