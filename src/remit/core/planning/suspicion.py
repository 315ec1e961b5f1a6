"""Suspect links: what stands beneath a record that has come to mean something else since.

A link is made by whoever states its lower end, against the upper end as it was then. When the upper
end's digest changes afterwards, and the lower one's does not, nobody has looked whether the two still
belong together: the link is suspect until somebody says so (``LinkCleared``), or the lower end is
stated anew. A change of decisions alone is none of meaning and makes nothing suspect. What was
cleared was cleared for exactly two digests; when either changes again, so does the answer.

Pure functions of facts. A suspect link shuts no gate by itself: what changes work, changes the item
or gives it a successor when the plan is applied. It says which evidence nobody has looked at since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from remit.core.facts import (
    ClearedLink,
    Fact,
    Goal,
    GraphNode,
    Item,
    Planned,
    Requirement,
    Row,
)

Get = Callable[[str, str], Fact | None]

KINDS: Final = (
    ("goal", "requirement"),
    ("requirement", "node"),
    ("requirement", "row"),
    ("node", "item"),
)
"""Which kinds of record a link can join, upper end first."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link: the record, the digest of what it means, and when that was last stated.

    ``stated`` is the revision of the plan in which it came to mean this.
    """

    kind: str
    id: str
    plan: str
    label: str
    digest: str
    stated: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A link whose upper end came to mean something else after the lower one was stated."""

    upper: End
    lower: End

    @property
    def id(self) -> str:
        """How the link is called: ``UPPER>LOWER``."""
        return link_id(self.upper.id, self.lower.id)


def link_id(upper: str, lower: str) -> str:
    """How a link between two records is called."""
    return f"{upper}>{lower}"


def end_of(get: Get, kind: str, name: str) -> End | None:
    """A record as an end of links; None where no plan has it any longer.

    An item was stated when its brief last changed, whatever else of it did: no later than anything that
    its brief is made of, since a try that was given up may have changed the brief and changed it back.
    """
    fact = get(kind, name)
    if isinstance(fact, Item):
        governed = fact.plan.governed
        if governed is None or governed.left:
            return None
        _, _, revision = governed.plan_revision.partition("@")
        entry = _entry(get, governed.plan, kind, governed.label)
        digest = entry.proposal if entry is not None else governed.digest
        made_of = [entry.meant] if entry is not None else []
        for part in (*(("requirement", n) for n in fact.plan.requirements),
                     *(("row", n) for n in fact.plan.rows)):  # fmt: skip
            end = end_of(get, *part)
            made_of += [end.stated] if end is not None else []
        stated = min(int(revision), max(made_of, default=int(revision)))
        return End(kind, name, governed.plan, governed.label, digest, stated)
    if not isinstance(fact, Goal | Requirement | GraphNode | Row) or fact.retired or not fact.plan:
        return None
    entry = _entry(get, fact.plan, kind, fact.label)
    if entry is None or entry.id != name:
        return None
    return End(kind, name, fact.plan, fact.label, entry.proposal, entry.meant)


def _entry(get: Get, plan: str, kind: str, label: str) -> Planned | None:
    found = get("planned", f"{plan}/{kind}/{label}")
    return found if isinstance(found, Planned) else None


def joined(get: Get, upper: End, lower: End) -> bool:
    """Whether the lower end names the upper one."""
    fact = get(lower.kind, lower.id)
    if isinstance(fact, Requirement):
        return upper.kind == "goal" and upper.plan == fact.plan
    if isinstance(fact, GraphNode):
        return upper.id in fact.covers
    if isinstance(fact, Row):
        return upper.id == fact.requirement
    if isinstance(fact, Item) and fact.plan.governed is not None:
        return upper.id == fact.plan.governed.node
    return False


def suspect(get: Get, upper: End, lower: End) -> Suspect | None:
    """The link between two ends, where it is suspect and nobody has cleared it as it is now."""
    if upper.stated <= lower.stated:
        return None
    cleared = get("link", link_id(upper.id, lower.id))
    now = (upper.digest, lower.digest)
    if isinstance(cleared, ClearedLink) and (cleared.upper_digest, cleared.lower_digest) == now:
        return None
    return Suspect(upper, lower)


def above(get: Get, item: Item) -> Iterator[tuple[End, End]]:
    """The planned links of an item's chain, as pairs of ends."""
    governed = item.plan.governed
    if governed is None:
        return
    node = end_of(get, "node", governed.node) if governed.node else None
    mine = end_of(get, "item", item.id)
    if node is not None and mine is not None:
        yield node, mine
    rows = [end_of(get, "row", name) for name in item.plan.rows]
    for name in item.plan.requirements:
        requirement = end_of(get, "requirement", name)
        if requirement is None:
            continue
        goal = end_of(get, "goal", item.plan.goal)
        lowers = [node, *rows]
        if goal is not None:
            yield goal, requirement
        yield from (
            (requirement, lower)
            for lower in lowers
            if lower is not None and joined(get, requirement, lower)
        )


def suspects(get: Get, item: Item) -> tuple[Suspect, ...]:
    """The suspect links of an item's chain, each once."""
    found = (suspect(get, upper, lower) for upper, lower in above(get, item))
    return tuple(dict.fromkeys(each for each in found if each is not None))
