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
    """The newest revision of a goal."""

    id: str
    version: int
    revision: int
    drafted: bool
    seq: int


@quick
@dataclass(frozen=True, slots=True)
class Requirement:
    """The newest revision of a requirement, and whether it still carries a drafting mark."""

    id: str
    version: int
    revision: int
    goal_revision: str
    item: str
    drafted: bool
    seq: int
    digest: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Row:
    """A registered row of the verification plan; ``digest`` is what a result is bound to.

    ``direct`` says that it proves its requirement itself; ``waived`` names the decision that the
    plan gives for letting it go unproved, which counts only while that decision does.
    """

    id: str
    version: int
    requirement: str
    item: str
    kind: str
    digest: str
    origin: str
    seq: int
    direct: bool = True
    waived: str = ""


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
