"""What a trace starts from: any link of the chain by any of its names, and the work that hangs on it.

A goal, requirement, node or row, each also as a revision (``R-4@2``); an item by id or work id; a
lease, a review or any other event by its seq; a commit by the beginning of its name; a result
(``V-3@812``: the row, and the event that holds it); a decision; a plan; a label as ``KIND/LABEL``.
The way down from each is one bounded query, so a trace costs the same in a plan of any size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from remit.core.decisions import Decision
from remit.core.facts import Goal, GraphNode, Item, PlanRevision, Requirement, Row
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx
from remit.service.reading.items import exact, find, load_items

MOST_ITEMS: Final = 1_000
"""Most items that are looked for beneath one link."""

KINDS: Final = {
    "G": "goal",
    "R": "requirement",
    "N": "node",
    "V": "row",
    "P": "plan",
    "D": "decision",
}
LABELLED: Final = ("goal", "requirement", "node", "row", "plan")

_ID: Final = re.compile(r"([GRNVPD])-([1-9][0-9]{0,15})(?:@([1-9][0-9]{0,15}))?\Z")
_SEQ: Final = re.compile(r"(?:seq:)?([1-9][0-9]{0,15})\Z")
_SHA: Final = re.compile(r"[0-9a-f]{7,64}\Z")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a trace starts from, and the items beneath it.

    ``requirements`` and ``rows`` narrow the chains to those of the subject; empty means all. ``seq``
    is the event that it names, where it names one. ``more`` says that there are more items.
    """

    kind: str
    id: str
    items: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    seq: int = 0
    more: bool = False


def resolve(tx: ReadTx, text: str) -> Subject | Refused:
    """What somebody means by a name. Refuses ``NOT_FOUND`` and ``AMBIGUOUS_ID``."""
    known = exact(tx, text)
    if known is not None:
        return Subject("item", known, (known,))
    match = _ID.match(text)
    if match is not None:
        return _by_id(tx, text, KINDS[match[1]], f"{match[1]}-{match[2]}", int(match[3] or 0))
    match = _SEQ.match(text)
    if match is not None and int(match[1]) <= tx.head().seq:
        return _by_seq(tx, int(match[1]))
    if _SHA.match(text):
        return _by_commit(tx, text)
    kind, slash, _ = text.partition("/")
    if slash and kind in LABELLED:
        carrier = tx.load([("label", text)])["label", text]
        if isinstance(carrier, str):
            return _by_id(tx, text, kind, carrier, 0)
    named = find(tx, text)
    if isinstance(named, Refused):
        return named if named.code is Code.AMBIGUOUS_ID else _unknown(text)
    return Subject("item", named, (named,))


def _unknown(text: str) -> Refused:
    return Refused(
        Code.NOT_FOUND,
        f"there is no link {text[:80]!r}",
        "name an item, goal, requirement, node, row, plan or decision by its id, an event by its seq,"
        " a commit by 7 or more digits, a result as V-1@SEQ, or a record as KIND/LABEL",
        {"id": text[:80]},
    )


def _by_id(tx: ReadTx, text: str, kind: str, name: str, number: int) -> Subject | Refused:
    """A record by id; ``number`` is a revision of it, or the event of a row's result."""
    fact: Any = tx.load([(kind, name)])[kind, name]
    if fact is None:
        return _unknown(text)
    if isinstance(fact, Row):
        return _row(tx, text, fact, number)
    if number > getattr(fact, "revision", 0):
        return _unknown(text)
    shown = f"{name}@{number}" if number else name
    if isinstance(fact, Requirement):
        drafted = [fact.item] if fact.item else []
        return _beneath(tx, kind, shown, [*drafted, *linked(tx, name, "W-")], (name,))
    if isinstance(fact, Goal | GraphNode):
        return _beneath(tx, kind, shown, linked(tx, name, "W-"))
    if isinstance(fact, PlanRevision):
        return _beneath(tx, kind, shown, linked(tx, fact.goal, "W-") if fact.goal else [])
    return _by_decision(tx, fact)


def linked(tx: ReadTx, upper: str, letters: str) -> list[str]:
    """What hangs on an upper end, of the kind whose ids begin with these letters."""
    found = tx.linked(upper, letters, MOST_ITEMS + 1)
    return [name for name in found if name.startswith(letters)]


def _beneath(
    tx: ReadTx,
    kind: str,
    shown: str,
    items: Iterable[str],
    requirements: tuple[str, ...] = (),
    rows: tuple[str, ...] = (),
) -> Subject:
    names = sorted(dict.fromkeys(items), key=lambda name: int(name.partition("-")[2] or 0))
    part = tuple(names[:MOST_ITEMS])
    return Subject(kind, shown, part, requirements, rows, more=len(part) < len(names))


def _row(tx: ReadTx, text: str, row: Row, seq: int) -> Subject | Refused:
    """A row, or one of its results by the event that holds it."""
    narrowed = ((row.item,), (row.requirement,), (row.id,))
    if not seq:
        return Subject("row", row.id, *narrowed)
    recorded = tx.at_seq([seq]).get(seq)
    results = getattr(recorded.event, "results", ()) if recorded is not None else ()
    if any(getattr(result, "row", "") == row.id for result in results):
        return Subject("result", f"{row.id}@{seq}", *narrowed, seq=seq)
    return _unknown(text)


STAGE_OF: Final = {
    "LeaseGranted": "lease",
    "ReviewApproved": "review",
    "ShipObserved": "ship",
    "VerificationRecorded": "verify",
}


def _by_seq(tx: ReadTx, seq: int) -> Subject | Refused:
    """What an event is about."""
    recorded = tx.at_seq([seq]).get(seq)
    if recorded is None:
        return _unknown(f"seq:{seq}")
    kind, name = recorded.event.ENTITY, recorded.entity
    if kind == "item":
        stage = STAGE_OF.get(type(recorded.event).__name__, "event")
        return Subject(stage, str(seq), (name,), seq=seq)
    if kind == "link":
        name = name.partition(">")[2]
        return resolve(tx, name)
    if kind in KINDS.values():
        return _by_id(tx, f"seq:{seq}", kind, name, getattr(recorded.event, "revision", 0) or 0)
    return _unknown(f"seq:{seq}")


def _by_commit(tx: ReadTx, prefix: str) -> Subject | Refused:
    pairs = tx.find_links(f"commit/{prefix}", MOST_ITEMS + 1)
    commits = list(dict.fromkeys(upper.partition("/")[2] for upper, _ in pairs))
    if len(commits) > 1:
        return Refused(
            Code.AMBIGUOUS_ID,
            f"{prefix!r} may mean {', '.join(commits[:8])}",
            "give more of the commit's name",
            {"candidates": commits[:8]},
        )
    if not commits:
        return _unknown(prefix)
    return _beneath(tx, "commit", commits[0], [item for _, item in pairs])


def _by_decision(tx: ReadTx, decision: Decision) -> Subject:
    """The work that a decision is about: all that hangs on what its scope names."""
    items: list[str] = []
    requirements: list[str] = []
    rows: list[str] = []
    more = False
    for about in decision.scope[:MOST_ITEMS]:
        kind, _, label = about.partition("/")
        found = _scoped(tx, kind, label)
        if found is None:
            continue
        items += found.items
        requirements += found.requirements
        rows += found.rows
        more = more or found.more
    narrow = (tuple(requirements), tuple(rows)) if rows or requirements else ((), ())
    beneath = _beneath(tx, "decision", decision.id, items, *narrow)
    return beneath if not more else Subject("decision", decision.id, beneath.items, more=True)


def _scoped(tx: ReadTx, kind: str, label: str) -> Subject | None:
    if kind == "item":
        name = exact(tx, label)
        return Subject("item", name, (name,)) if name is not None else None
    if kind == "effect":
        fact: Any = tx.load([("effect", label)])["effect", label]
        item = getattr(fact, "item", "")
        return Subject("item", item, (item,)) if item else None
    if kind not in LABELLED:
        return None
    carrier = tx.load([("label", f"{kind}/{label}")])["label", f"{kind}/{label}"]
    found = _by_id(tx, label, kind, carrier, 0) if isinstance(carrier, str) else None
    return found if isinstance(found, Subject) else None


def items_of(tx: ReadTx, subject: Subject, limit: int) -> list[Item]:
    """The first items beneath a subject; ``limit`` 0 means all that were found."""
    return load_items(tx, subject.items[: limit or None])
