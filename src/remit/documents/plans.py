"""Plan bundles as documents: one YAML or JSON file, read into a ``Bundle`` with every fault's place.

A file says ``plan: NAME``, then ``goal``, ``requirements``, ``nodes``, ``rows`` and ``items``
(``plan_tables``). Records are made as they are read, one after the other, so a plan of tens of
thousands of them never stands in memory as marked values. A file that is written in the usual way
and has no fault is read line by line (``lines``); any other by ``marked``, which says what is wrong.
Where a record or field stood is found again by reading the text once more (``Reading.places``),
which is only done where there is something to point at.

The text comes from anybody: see ``marked`` for what is refused. A label that stands twice is a fault,
since nothing that refers to it could be understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from remit.core.planning.bundle import Bundle, PlanGoal
from remit.documents.fields import Faults
from remit.documents.lines import UnusualError, read_lines
from remit.documents.marked import Bounds, Marked, Problem, read
from remit.documents.plan_tables import GOAL, LISTS
from remit.documents.shapes import Label

BOUNDS: Final = Bounds(bytes=64 * 1024 * 1024, nodes=8_000_000)
"""How much of a bundle is read: enough for 10,000 requirements with all that belongs to them."""

MOST_FAULTS: Final = 1_000
"""Faults of fields that are kept; a file with more is not a plan with slips."""

SCHEMA_LINE: Final = "# yaml-language-server: $schema="
"""The comment by which editors find the schema of a file."""

KNOWN: Final = frozenset(("plan", "goal", *LISTS))
"""The parts of a file."""

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")

Name = tuple[str, str]
"""Kind and label of a record."""


class _Bounded(Faults):
    """Faults up to a bound; what comes after is counted by nobody."""

    def add(self, at: Marked, path: str, message: str) -> None:
        """Keep one fault, while there is room."""
        if len(self.problems) < MOST_FAULTS:
            super().add(at, path, message)


@dataclass(slots=True)
class Reading:
    """What a file says: the bundle, every problem of its form, and where each record stands.

    ``bundle`` is None where there is no telling what the file means. With problems it is there for
    looking further only, with blanks for what was at fault. ``numbers`` has the place of each record
    in its list.
    """

    bundle: Bundle | None
    problems: list[Problem]
    data: bytes = b""
    numbers: dict[Name, int] = field(default_factory=dict)

    def places(self, wanted: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], Marked]:
        """Where fields stand, by kind, label and path (such as ``clauses[2].text``).

        A field that the file does not hold has the place of what would hold it.
        """
        asked = list(wanted)
        if not asked:
            return {}
        sought: dict[str, set[int]] = {name: set() for name in LISTS}
        lists = {kind: name for name, (kind, _, _) in LISTS.items()}
        for kind, label, _ in asked:
            if kind in lists and (kind, label) in self.numbers:
                sought[lists[kind]].add(self.numbers[kind, label])
        kept: dict[tuple[str, int], Marked] = {}

        def keep(name: str, at: Marked, number: int) -> None:
            if number in sought[name]:
                kept[name, number] = at

        documents, _ = read(self.data, BOUNDS, {name: partial(keep, name) for name in LISTS})
        top = documents[0] if documents else Marked({}, 1, 1)
        found = {}
        for kind, label, path in asked:
            at: Marked | None = None
            if kind in lists:
                at = kept.get((lists[kind], self.numbers.get((kind, label), -1)))
            elif isinstance(top.value, dict):
                at = top.value.get(kind)
            found[kind, label, path] = _within(at or top, path)
        return found


def _within(at: Marked, path: str) -> Marked:
    """The value at a path, or the last on the way to it."""
    for step in _STEP.finditer(path.removeprefix("spec.")):
        inside = at.value
        child: Marked | None = None
        if step[2] is not None and isinstance(inside, list):
            child = inside[int(step[2])] if int(step[2]) < len(inside) else None
        elif step[1] is not None and isinstance(inside, dict):
            child = next((inside[n] for n in _names(step[1]) if n in inside), None)
        if child is None:
            return at
        at = child
    return at


def _names(part: str) -> tuple[str, ...]:
    """What a field of a record may be called in a file."""
    return {"argv": ("argv", "command"), "timeout_ms": ("timeout",)}.get(part, (part,))


def parse(data: bytes) -> Reading:
    """A bundle from its file, and every problem by line and column."""
    return usual(data) or marked(data)


def usual(data: bytes) -> Reading | None:
    """A bundle without any problem, of a file that is written in the usual way; else None."""
    records: dict[str, list[Any]] = {name: [] for name in LISTS}
    taking = {
        name: partial(_sound, table.sound, records[name]) for name, (_, table, _) in LISTS.items()
    }
    try:
        top = read_lines(data, taking)
        if not top.keys() <= KNOWN or any(top.get(name) for name in LISTS):
            return None
        name, goal = Label().sound(top.get("plan")), GOAL.sound(top.get("goal"))
    except (UnusualError, ValueError):
        return None
    numbers: dict[Name, int] = {}
    for key, (kind, _, most) in LISTS.items():
        numbers.update({(kind, each.label): n for n, each in enumerate(records[key])})
        if len(records[key]) > most:
            return None
    if len(numbers) < sum(map(len, records.values())):
        return None
    return Reading(Bundle(name, goal, *map(tuple, records.values())), [], data, numbers)


def _sound(make: Callable[[Any], Any], records: list[Any], value: Any) -> None:
    records.append(make(value))


def marked(data: bytes) -> Reading:
    """A bundle from any file, and every problem by line and column."""
    faults = _Bounded()
    taking = _Taking(faults)
    documents, problems = read(data, BOUNDS, taking.handed())
    if documents and len(documents) > 1:
        faults.add(documents[1], "$", "found a second document, expected one plan in a file")
    if not documents and not problems:
        problems.append(Problem(1, 1, "$", "found nothing, expected a plan"))
    bundle = taking.bundle(documents[0]) if documents else None
    whole = sorted([*problems, *faults.problems], key=lambda p: (p.line, p.column))
    return Reading(bundle, whole, data, taking.numbers)


class _Taking:
    """Records as they come, by the list that they stand in."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.numbers: dict[Name, int] = {}
        self.records: dict[str, list[Any]] = {name: [] for name in LISTS}
        self.lines: dict[Name, int] = {}

    def handed(self) -> Mapping[str, Callable[[Marked, int], None]]:
        """What takes over the elements of each list."""
        return {name: partial(self.take, name) for name in LISTS}

    def take(self, name: str, at: Marked, number: int) -> None:
        """One element of a list."""
        kind, table, most = LISTS[name]
        path = f"$.{name}[{number}]"
        if number >= most:
            if number == most:
                self.faults.add(at, path, f"found more than {most} entries")
            return
        record = table.take(at, path, self.faults)
        if record is None or not record.label:
            return
        first = self.lines.setdefault((kind, record.label), at.line)
        if (kind, record.label) in self.numbers:
            said = f"the {kind} {record.label} stands here twice, first in line {first}"
            self.faults.add(at.value.get("label", at), f"{path}.label", said)
            return
        self.numbers[kind, record.label] = number
        self.records[name].append(record)

    def bundle(self, top: Marked) -> Bundle | None:
        """The whole, once its lists were taken."""
        if not isinstance(top.value, dict):
            self.faults.add(top, "$", f"found {top.kind}, expected a mapping: a plan")
            return None
        parts = dict(top.value)
        name = _needed(top, parts.pop("plan", None), "plan", Label().take, self.faults)
        goal: PlanGoal | None = _needed(
            top, parts.pop("goal", None), "goal", GOAL.take, self.faults
        )
        for key in LISTS:
            at = parts.pop(key, None)
            if at is not None and at.value is not None and not isinstance(at.value, list):
                self.faults.add(at, f"$.{key}", f"found {at.kind}, expected a list")
        for key, child in parts.items():
            self.faults.unknown(child, key, "$", ("plan", "goal", *LISTS))
        if goal is None:
            return None
        return Bundle(name or "", goal, *(tuple(self.records[key]) for key in LISTS))


def _needed(
    top: Marked,
    at: Marked | None,
    name: str,
    take: Callable[[Marked, str, Faults], Any],
    faults: Faults,
) -> Any:
    if at is None:
        faults.add(top, "$", f"the part {name} is missing")
        return None
    return take(at, f"$.{name}", faults)
