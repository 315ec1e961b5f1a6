"""What a scenario is, once it was read and found whole.

Values, nothing else. Each part remembers its line, so that what goes wrong later can still be found in
the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.core.asking import Command


@dataclass(frozen=True, slots=True)
class Work:
    """An intent as it is handed in: its parts, with moments still to be worked out."""

    parts: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A revision to register: at the beginning, or by a step where ``later`` is set."""

    kind: str
    label: str
    command: Command
    later: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """What must hold right after a step, by the names of ``expecting.FIELDS``."""

    parts: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens: a verb with its arguments, who does it, and what must come of it.

    ``at`` names the moment. ``forks`` are the branches of a fork, which is the last step of its list.
    """

    verb: str
    args: Mapping[str, Any]
    line: int
    column: int
    at: str = ""
    by: str = ""
    note: str = ""
    expect: Expected | None = None
    forks: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to the ledger: which, of which work, as of which moment, and the wanted answer."""

    ask: str
    of: str
    at: str
    name: str
    wanted: str | None
    branch: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the oracle: its name, what is expected, and the probes that give the actual."""

    check: str
    section: str
    branch: str
    expected: str
    probes: tuple[Probe, ...]
    holds: bool
    join: str
    line: int


@dataclass(frozen=True, slots=True)
class Given:
    """What is there before the first step."""

    next_fence: int = 1
    stored: Mapping[str, int] = field(default_factory=dict)
    actors: tuple[str, ...] = ()
    admission_owner: str = ""
    retry_owner: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole scenario."""

    name: str
    about: str
    question: str
    covers: tuple[str, ...]
    given: Given
    documents: tuple[Document, ...]
    works: Mapping[str, Work]
    labels: Mapping[str, tuple[str, str, int]]
    steps: tuple[Step, ...]
    oracle: tuple[Line, ...]

    def paths(self) -> Iterator[tuple[str, tuple[Step, ...]]]:
        """Each way through the steps, by the name of its branch; one without a name where none forks."""
        yield from _paths("", (), self.steps)


def _paths(
    name: str, before: tuple[Step, ...], steps: tuple[Step, ...]
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    if not steps or not steps[-1].forks:
        yield name, before + steps
        return
    for branch, rest in steps[-1].forks.items():
        yield from _paths(f"{name}/{branch}" if name else branch, before + steps[:-1], rest)
