"""The worlds of planning: an apply and its crashes, successors of work, gates, decisions, signatures.

Each begins where it gets interesting: with nothing, or with a plan in force and its items ready.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from remit.core.change import changed
from remit.proofs import plan_cast as cast
from remit.proofs.plan_cast import Asked, DecisionKind, PlanCast, deciding, double, single
from remit.proofs.world import IMPLEMENTERS, World

_ONE: Final = IMPLEMENTERS[:1]
_FLOW: Final = ("lease", "hold", "review", "ship", "verify", "recheck", "decide")
_REMOVAL: Final = Asked(DecisionKind.REQUIREMENT, ("requirement/r2",), 1)

_LESS: Final = single(goal=deciding(1))
"""The plan of two without its second part, which needs a decision."""

APPLY: Final = World(
    "apply",
    frozenset(("recheck", "lease", "decide")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            double(),
            _LESS,
            double(items=(cast.item(1), cast.item(2, title="another", priority=1))),
        ),
        (_REMOVAL,),
        given=1,
        opens=3,
        revisions=2,
    ),
    limit=12_000,
)
"""From nothing: a plan of two items, one that lacks the second, one that changes it."""

SUCCEED: Final = World(
    "succeed",
    frozenset(_FLOW),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            single(),
            single(items=(cast.item(1, scope=("lib/**",)),)),
            single(rows=(cast.row(1, spec=cast.OTHER),)),
            single(requirements=(cast.requirement(1, statement="another", decisions=("D-1",)),)),
        ),
        (Asked(DecisionKind.REQUIREMENT, ("requirement/r1",), 3),),
        applied=1,
        given=1,
        opens=2,
        revisions=3,
        items=3,
    ),
    limit=12_000,
)
"""One item from its lease to verified, while its scope, its row or its requirement changes."""

_DRAFT: Final = single(
    requirements=(cast.requirement(1, acceptance=()),), rows=(cast.row(1, direct=False),)
)

GATES: Final = World(
    "gates",
    frozenset(("recheck", "lease", "hold")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            _DRAFT,
            single(),
            changed(_DRAFT, requirements=(cast.requirement(1),)),
            changed(_DRAFT, rows=(cast.row(1),)),
            single(goal=replace(cast.GOAL, ambiguities=(cast.unclear(),))),
            single(items=(cast.item(1, scope=()),)),
            single(items=(cast.item(1, reversal=cast.Reversal(cast.ReversalKind.UNCLASSIFIED)),)),
            single(items=(cast.item(1, node=""),)),
        ),
        applied=1,
        opens=2,
        revisions=3,
    ),
    limit=8_000,
)
"""Plans with a fault each, which keeps a gate shut, from one to the other."""

UNDONE: Final = World(
    "undone",
    frozenset(("recheck", "lease", "decide")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            single(),
            single(goal=replace(cast.GOAL, ambiguities=(cast.unclear(1),))),
            single(items=(cast.item(1, reversal=cast.final(2)),)),
        ),
        (
            Asked(DecisionKind.GOAL, ("goal/g",), 1),
            Asked(DecisionKind.IRREVERSIBLE, ("item/i1",), 2, expires=2),
            Asked(DecisionKind.GOAL, ("goal/g",), 1, supersedes=1),
        ),
        applied=1,
        given=3,
        opens=1,
        revisions=2,
    ),
    limit=8_000,
)
"""Decisions that open a gate, and are undone or run out."""

DECIDE: Final = World(
    "decide",
    frozenset(("recheck", "decide")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            double(),
            _LESS,
            single(goal=deciding(2)),
            double(nodes=(cast.node(1), cast.node(2, bypass=(("n1", "D-3"),)))),
        ),
        (
            replace(_REMOVAL, expires=2),
            _REMOVAL,
            Asked(DecisionKind.BYPASS, ("node/n2", "node/n1"), 3),
        ),
        applied=1,
        given=3,
        opens=1,
        revisions=2,
    ),
    limit=10_000,
)
"""A plan of two in force; to take the second away or to let it not wait, a human has to decide."""

WAIVE: Final = World(
    "waive",
    frozenset(("recheck", "decide", "lease")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            single(),
            single(rows=(cast.row(1, waived="D-1"),)),
            single(rows=(cast.row(1, waived="D-1"),), items=(cast.item(1, title="another"),)),
        ),
        (
            Asked(DecisionKind.WAIVER, ("row/v1",), 1),
            Asked(DecisionKind.WAIVER, ("row/v1",), 1),
            Asked(DecisionKind.WAIVER, ("row/v1",), 1, supersedes=1),
        ),
        applied=1,
        given=3,
        opens=2,
        revisions=3,
        items=3,
    ),
    limit=8_000,
)
"""Evidence that is waived, by one of several who say different things about it."""

SIGNED: Final = World(
    "signed",
    frozenset(("recheck", "decide")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (double(), _LESS),
        (_REMOVAL, replace(_REMOVAL, supersedes=1)),
        applied=1,
        given=2,
        opens=1,
        revisions=2,
        keyed=True,
        strict=True,
    ),
    limit=5_000,
)
"""Only what a human signed counts: right, wrong, used and revoked."""

STRICTER: Final = changed(
    SIGNED,
    name="stricter",
    plans=PlanCast(
        (double(), double(rows=(cast.row(1, waived="D-1"), cast.row(2)))),
        (Asked(DecisionKind.WAIVER, ("row/v1",), 1), Asked(DecisionKind.WAIVER, ("row/v1",), 1)),
        applied=1,
        opens=1,
        revisions=2,
        keyed=True,
    ),
    groups=frozenset(("recheck", "decide", "lease")),
    limit=5_000,
)
"""What nothing proves counts, until policy changes."""

_HEARD: Final = cast.requirement(1, acceptance=("seen", "heard"))

SUSPECT: Final = World(
    "suspect",
    frozenset(("recheck", "lease", "clear")),
    made=0,
    actors=_ONE,
    plans=PlanCast(
        (
            single(),
            single(requirements=(_HEARD,)),
            single(requirements=(replace(_HEARD, sources=("asked", "told")),)),
            single(requirements=(_HEARD,), rows=(cast.row(1, spec=cast.OTHER),)),
            single(nodes=(cast.node(1, edges=(cast.NEAR,)),)),
        ),
        applied=1,
        opens=3,
        revisions=3,
    ),
    limit=8_000,
)
"""A requirement, its evidence and its node that change apart, also in tries that are given up."""

PLANS: Final = (APPLY, SUCCEED, GATES, UNDONE, DECIDE, WAIVE, SIGNED, STRICTER, SUSPECT)
