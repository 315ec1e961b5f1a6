"""What a verdict on an item is bound to: the digests of its rows and of its requirements.

An approval keeps these pairs, and a result keeps those of its row and requirement. Whoever wants to
rely on either compares them with what is registered now. What is not on the ledger has no digest and
equals nothing, so a verdict on it counts for nothing either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from remit.core.canonical import digest_of
from remit.core.facts import Fact, Plan, Requirement, Row

Get = Callable[[str, str], Fact | None]
Pairs = tuple[tuple[str, str], ...]


def row_digest(get: Get, row: str) -> str:
    """The digest of a row as it is registered now, empty where there is none or another took its place."""
    fact = get("row", row)
    return fact.digest if isinstance(fact, Row) and not fact.successor else ""


def requirement_digest(get: Get, requirement: str) -> str:
    """The digest of a requirement's newest revision, empty where there is no such requirement.

    Of a planned one it names the revision that its meaning is from: which decision it refers to
    changes nothing that was looked at, and neither does a plan that has it no longer.
    """
    fact = get("requirement", requirement)
    if not isinstance(fact, Requirement):
        return ""
    return digest_of([fact.id, fact.meaning]) if fact.plan else fact.digest


def bindings(get: Get, plan: Plan) -> Pairs:
    """Each row and requirement of a plan with its present digest, rows first, in their order."""
    rows = ((row, row_digest(get, row)) for row in plan.rows)
    owned = ((name, requirement_digest(get, name)) for name in plan.requirements)
    return (*rows, *owned)


def unlike(bound: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Names of what came, went or changed between two bindings; without a digest nothing is alike."""
    old, new = dict(bound), dict(now)
    names = dict.fromkeys((*old, *new))
    return tuple(name for name in names if not old.get(name) or old[name] != new.get(name))


def binding_digest(pairs: Pairs) -> str:
    """One digest over a whole binding: what a reviewer can name, and a signature can cover."""
    return digest_of(sorted([name, digest] for name, digest in pairs))
