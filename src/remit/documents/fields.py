"""Fields: reading a marked mapping into named parts, with every fault at its place.

Each kind of document is a table of fields. A part that is not in the table is a fault, and names the
nearest that is; so is one that lacks, or that is not what its field takes. Durations are written as
people write them (``90s``, ``20m``, ``2h``, ``1d``) and become milliseconds, times as RFC 3339 and
become microseconds. All faults are found in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Final

from remit.documents.marked import Marked, Problem, shown

_DURATION: Final = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)\Z")
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?([Zz]|[+-]\d{2}:\d{2})\Z"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Take = Callable[[Marked], Any]
"""Turns a marked value into a part; raises ``ValueError`` with what was expected."""


@dataclass(frozen=True, slots=True)
class Field:
    """One part of a document: what it is called there, what it becomes, what stands for its absence."""

    take: Take
    to: str = ""
    required: bool = False
    absent: Any = None
    codes: str = "MALFORMED"


class Faults:
    """Where problems are kept while a document is read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, at: Marked, path: str, message: str) -> None:
        """Keep one fault."""
        self.problems.append(Problem(at.line, at.column, path, message))

    def unknown(self, at: Marked, name: str, path: str, known: Iterable[str]) -> None:
        """Keep that a part is not known, and name the nearest that is."""
        near = get_close_matches(name[:100], known, 1)
        hint = f": did you mean {near[0]}?" if near else ""
        self.add(at, f"{path}.{shown(name)}", f"this part is not known{hint}")


def text(value: Marked) -> str:
    """Text that is not empty."""
    if isinstance(value.value, str) and value.value.strip():
        return value.value
    raise ValueError("text")


def number(value: Marked) -> int:
    """A whole number that is not negative."""
    if isinstance(value.value, int) and not isinstance(value.value, bool) and value.value >= 0:
        return value.value
    raise ValueError("a whole number, 0 or more")


def flag(value: Marked) -> bool:
    """True or false."""
    if isinstance(value.value, bool):
        return value.value
    raise ValueError("true or false")


def duration_ms(value: Marked) -> int:
    """A duration in milliseconds."""
    return duration_of(value.value)


def duration_of(value: Any) -> int:
    """A duration in milliseconds, of a plain value."""
    found = _DURATION.match(value) if isinstance(value, str) else None
    if found is not None:
        return int(found[1]) * _UNITS[found[2]]
    if value == 0 and value.__class__ is int:
        return 0
    raise ValueError("a duration such as 90s, 20m, 2h or 1d")


def time_us(value: Marked) -> int:
    """A time in microseconds since 1970 UTC."""
    if isinstance(value.value, str) and _TIME.match(value.value):
        try:
            when = datetime.fromisoformat(value.value.upper().replace(" ", "T"))
        except ValueError:
            raise ValueError("a time that exists") from None
        return (when - _EPOCH) // timedelta(microseconds=1)
    raise ValueError("a time such as 2026-05-01T08:00:00Z")


def texts(value: Marked) -> tuple[str, ...]:
    """A list of texts; one text stands for a list of one."""
    if isinstance(value.value, str):
        return (text(value),)
    if isinstance(value.value, list) and all(isinstance(v.value, str) for v in value.value):
        return tuple(text(v) for v in value.value)
    raise ValueError("a list of texts")


def mapping(value: Marked) -> dict[str, Any]:
    """A mapping, as it stands."""
    if isinstance(value.value, dict):
        found: dict[str, Any] = value.plain()
        return found
    raise ValueError("a mapping")


def one_of(*allowed: str) -> Take:
    """One of these words."""

    def take(value: Marked) -> str:
        if value.value in allowed:
            return str(value.value)
        raise ValueError("one of " + ", ".join(allowed))

    return take


def some_of(*allowed: str) -> Take:
    """A list of some of these words."""

    def take(value: Marked) -> tuple[str, ...]:
        found = texts(value)
        wrong = [one for one in found if one not in allowed]
        if wrong:
            raise ValueError(f"some of {', '.join(allowed)}; {shown(wrong[0])!r} is none of them")
        return found

    return take


def taken(
    at: Marked, fields: Mapping[str, Field], faults: Faults, path: str = "$"
) -> dict[str, Any]:
    """The parts of a mapping by what they become; faults are kept, and their parts left absent."""
    if not isinstance(at.value, dict):
        faults.add(at, path, f"found {at.kind}, expected a mapping")
        return {field.to or name: field.absent for name, field in fields.items()}
    for name, child in at.value.items():
        if name not in fields:
            faults.unknown(child, name, path, fields)
    found: dict[str, Any] = {}
    for name, field in fields.items():
        to = field.to or name
        found[to] = field.absent
        child = at.value.get(name)
        if child is None:
            if field.required:
                faults.add(at, path, f"the part {name} is missing")
            continue
        try:
            found[to] = field.take(child)
        except ValueError as wanted:
            said = f" {shown(child.value)!r}" if isinstance(child.value, str) else ""
            faults.add(child, f"{path}.{name}", f"found {child.kind}{said}, expected {wanted}")
    return found
