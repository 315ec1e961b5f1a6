"""A draft of a plan: what a source says, put into records, and every gap named as an ambiguity.

Drafting is free and admission is not: a draft reads and writes as a bundle, and ``plan check`` finds
in it all that nobody has said yet. So nothing is made up here. Where a source is silent the record
says so in an open, material ambiguity; what it cannot hold is quarantined with a code. Each row of a
source is either drafted or quarantined, and the two can be counted.

Text of a source is bounded, stripped of what no title may hold, and never interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    Clause,
    EdgeType,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    Reversal,
    ReversalKind,
    Risk,
)
from remit.core.planning.index import names_problem
from remit.core.planning.limits import LIST_LIMIT_COUNT, TEXT_LIMIT_CHARS, TITLE_LIMIT_CHARS
from remit.exchange.backlog import bounded, clean_title

LABEL: Final = 200
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f-\xa0/]+")
_OPEN: Final = re.compile(r"\b(TBD|TBC|TBA|to be (?:decided|defined|determined))\b|\?\?", re.I)


class Left(StrEnum):
    """Why something of a source is not in the draft."""

    ALREADY_DONE = "ALREADY_DONE"  # closed or ticked off: history, for an import
    BAD_CELLS = "BAD_CELLS"  # more cells than columns
    BAD_TEXT = "BAD_TEXT"  # NUL, or half a character
    DUPLICATE_ID = "DUPLICATE_ID"  # an earlier row has this id
    EMPTY = "EMPTY"  # it says nothing


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One row of a source that is not in the draft, and why."""

    row: int
    id: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a source wants, in the terms of no source.

    ``gaps`` are its own, as label and text; those that every wish of a source has are added.
    ``related`` and ``after`` name other wishes, with why.
    """

    label: str
    title: str
    statement: str
    body: str = ""
    clause: str = ""
    acceptance: tuple[str, ...] = ()
    non_goals: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    risk: Risk | None = None
    priority: int = 2
    after: tuple[tuple[str, str], ...] = ()
    part_of: tuple[tuple[str, str], ...] = ()
    related: tuple[tuple[str, str], ...] = ()
    gaps: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Outline:
    """What a source says of its goal."""

    label: str
    objective: str
    clauses: list[Clause] = field(default_factory=list)
    non_goals: list[str] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    authority: str = ""
    gaps: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted bundle with its account: ``rows`` = ``drafted`` + what was left out."""

    bundle: Bundle
    rows: int
    drafted: int
    left: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()


def fit(text: str, most: int = TEXT_LIMIT_CHARS) -> str:
    """A text of a source within the bounds of a plan."""
    return bounded(text.strip(), most)


def fit_title(text: str) -> str:
    """A text as a title: one printable line within its bound."""
    clean = "".join(c if c.isprintable() else " " for c in clean_title(text))
    line = " ".join(clean.split())
    return line if len(line) <= TITLE_LIMIT_CHARS else line[: TITLE_LIMIT_CHARS - 1] + "…"


def fit_label(text: str, kind: str) -> str:
    """A foreign id as a label; one that looks like an id of the ledger gets the kind before it."""
    label = _UNFIT.sub("-", text.strip()).strip("-")
    label = "".join(c for c in label if c.isprintable())[: LABEL - 20] or kind
    return f"{kind}.{label}" if names_problem(label) else label


def bad_text(text: str) -> bool:
    """Whether a text holds what no plan can: NUL, or half a character."""
    return "\0" in text or any("\ud800" <= char <= "\udfff" for char in text)


def says_open(text: str) -> bool:
    """Whether a text itself says that something in it is not settled."""
    return bool(_OPEN.search(text))


def unique(label: str, taken: Iterable[str]) -> str:
    """A label that is not taken yet."""
    known = set(taken)
    number, found = 2, label
    while found in known:
        found, number = f"{label}-{number}", number + 1
    return found


def bundle_of(name: str, outline: Outline, wishes: Sequence[Wish], *, rated: bool) -> Bundle:
    """The bundle of a goal and its wishes: a requirement, a node and an item for each.

    ``rated`` says that the source tells how much depends on each wish.
    """
    goal = PlanGoal(
        outline.label,
        fit(outline.objective),
        tuple(outline.clauses[:LIST_LIMIT_COUNT]),
        tuple(fit(each) for each in outline.non_goals[:LIST_LIMIT_COUNT]),
        tuple(fit(each) for each in outline.provenance[:LIST_LIMIT_COUNT]),
        fit(outline.authority),
        ambiguities=_goal_gaps(outline, rated=rated, found=bool(wishes)),
    )
    return Bundle(
        name,
        goal,
        tuple(_requirement(each) for each in wishes),
        tuple(_node(each) for each in wishes),
        (),
        tuple(_item(each) for each in wishes),
    )


def _goal_gaps(outline: Outline, *, rated: bool, found: bool) -> tuple[Ambiguity, ...]:
    gaps = list(outline.gaps)
    if not outline.authority:
        gaps.append(("authority", "Who may want this, and how far does that reach?"))
    if not outline.non_goals:
        gaps.append(("non-goals", "What is not wanted? The source names nothing."))
    if not rated:
        gaps.append(("risk", "How much depends on it? Without an answer all stands as low."))
    if not found:
        gaps.append(("requirements", "What must come true? The source names nothing."))
    return _ambiguities(gaps)


def _ambiguities(gaps: Sequence[tuple[str, str]]) -> tuple[Ambiguity, ...]:
    found: dict[str, Ambiguity] = {}
    for label, text in gaps[:LIST_LIMIT_COUNT]:
        name = unique(label, found)
        found[name] = Ambiguity(name, fit(text))
    return tuple(found.values())


def _requirement(wish: Wish) -> PlanRequirement:
    gaps = list(wish.gaps)
    if not wish.acceptance:
        gaps.append(("acceptance", "How would one know that it came true?"))
    if not wish.clause:
        gaps.append(("clause", "Which clause of the goal does it belong to?"))
    gaps.append(("evidence", "Which command or human judgement proves it, and where is it seen?"))
    gaps.append(("scope", "Which paths may change for it?"))
    if says_open(f"{wish.title}\n{wish.statement}\n{wish.body}"):
        gaps.append(("open-words", "Its own text says that something is still to be decided."))
    return PlanRequirement(
        wish.label,
        fit(wish.statement),
        (wish.clause,) if wish.clause else (),
        tuple(fit(each) for each in wish.acceptance[:LIST_LIMIT_COUNT]),
        tuple(fit(each) for each in wish.non_goals[:LIST_LIMIT_COUNT]),
        tuple(fit(each) for each in wish.sources[:LIST_LIMIT_COUNT]),
        (),
        wish.risk or Risk.LOW,
        _ambiguities(gaps),
    )


def _node(wish: Wish) -> PlanNode:
    edges: dict[tuple[str, EdgeType], PlanEdge] = {}
    for kind, pairs in (
        (EdgeType.BLOCKS, wish.after),
        (EdgeType.REFINES, wish.part_of),
        (EdgeType.RELATES, wish.related),
    ):
        for target, why in pairs:
            edges.setdefault((target, kind), PlanEdge(target, kind, fit(why)))
    return PlanNode(wish.label, (wish.label,), tuple(edges.values()))


def _item(wish: Wish) -> PlanItem:
    return PlanItem(
        wish.label,
        wish.title,
        fit(wish.body),
        wish.label,
        (wish.label,),
        risk=wish.risk or Risk.LOW,
        reversal=Reversal(ReversalKind.UNCLASSIFIED),
        priority=wish.priority,
    )
