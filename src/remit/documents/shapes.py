"""Shapes: what a part of a document may be, said once for reading, writing and the JSON Schema.

A shape reads a marked value into a part (``take``), turns a part back into what is written
(``plain``) and describes itself for editors (``schema``). Since the three come from one table, a
schema cannot promise what the reader refuses, nor a writer write what it does not take.

A fault is kept at its place and the reading goes on: a record with a faulty part still has its
label, so that nothing that refers to it is found at fault for that.

``sound`` is the same for a plain value, of which nobody knows where it stood: the part, or an exception.
``take`` asks it first and then says what is wrong, so the two cannot differ in what they accept.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from remit.documents.fields import Faults, duration_of
from remit.documents.marked import Marked, shown

LABEL_LIMIT: Final = 200


class UnsoundError(ValueError):
    """A value is not what a part may be."""


_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


class Shape(Protocol):
    """What a part may be. ``blank`` stands for a part that is missing or was at fault."""

    @property
    def blank(self) -> Any:
        """What a faulty part becomes."""

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The part that a value says; faults are kept at their places."""

    def plain(self, value: Any) -> Any:
        """The part as it is written: text, numbers, lists and mappings."""

    def schema(self) -> dict[str, Any]:
        """The part as JSON Schema."""


@runtime_checkable
class Sounding(Protocol):
    """A shape that also takes plain values."""

    def sound(self, value: Any) -> Any:
        """The part that a plain value says; raises ``UnsoundError`` where there is any fault in it."""


def told(at: Marked, path: str, faults: Faults, wanted: str) -> None:
    """Keep what was found at a place, and what was expected there."""
    said = f" {shown(at.value)!r}" if isinstance(at.value, str) else ""
    faults.add(at, path, f"found {at.kind}{said}, expected {wanted}")


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most so many characters. ``null`` lets nothing stand for none, ``line`` wants one line.

    Blank text is text: whether something must be said is for the rules about plans to say.
    """

    most: int
    null: bool = True
    line: bool = False
    blank: Any = ""

    def sound(self, value: Any) -> str:
        """Text."""
        if value is None and self.null:
            return ""
        if not isinstance(value, str) or len(value) > self.most or "\0" in value:
            raise UnsoundError
        if self.line and not value.isprintable():
            raise UnsoundError
        return value

    def take(self, at: Marked, path: str, faults: Faults) -> str:
        """Text."""
        value = at.value
        try:
            return self.sound(value)
        except UnsoundError:
            if not isinstance(value, str):
                told(at, path, faults, "text (quote it)" if value is not None else "text")
            elif len(value) > self.most:
                faults.add(at, path, f"found {len(value)} characters, expected at most {self.most}")
            else:
                wanted = "printable text in one line" if self.line else "text without NUL"
                faults.add(at, path, f"found {shown(value)!r}, expected {wanted}")
            return ""

    def plain(self, value: Any) -> Any:
        """Text."""
        return value

    def schema(self) -> dict[str, Any]:
        """A string."""
        kind = ["string", "null"] if self.null else "string"
        return {"type": kind, "maxLength": self.most}


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a record, or a reference to one: printable, without blanks."""

    blank: Any = ""

    def sound(self, value: Any) -> str:
        """A label; of all blanks only the common one is printable."""
        if not isinstance(value, str) or not 0 < len(value) <= LABEL_LIMIT:
            raise UnsoundError
        if not value.isprintable() or " " in value:
            raise UnsoundError
        return value

    def take(self, at: Marked, path: str, faults: Faults) -> str:
        """A label."""
        value = at.value
        try:
            return self.sound(value)
        except UnsoundError:
            if not isinstance(value, str):
                told(at, path, faults, "a label (quote it)" if value is not None else "a label")
                return ""
            wanted = f"a label of 1 to {LABEL_LIMIT} printable characters without blanks"
            faults.add(at, path, f"found {shown(value)!r}, expected {wanted}")
            return ""

    def plain(self, value: Any) -> Any:
        """A label."""
        return value

    def schema(self) -> dict[str, Any]:
        """A string without blanks."""
        return {"type": "string", "maxLength": LABEL_LIMIT, "pattern": r"^\S+$"}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    blank: Any = False

    def sound(self, value: Any) -> bool:
        """True or false."""
        if isinstance(value, bool):
            return value
        raise UnsoundError

    def take(self, at: Marked, path: str, faults: Faults) -> bool:
        """True or false."""
        if isinstance(at.value, bool):
            return at.value
        told(at, path, faults, "true or false")
        return False

    def plain(self, value: Any) -> Any:
        """True or false."""
        return value

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    least: int
    most: int

    @property
    def blank(self) -> int:
        """The least."""
        return self.least

    def sound(self, value: Any) -> int:
        """A whole number."""
        if value.__class__ is int and self.least <= value <= self.most:
            return int(value)
        raise UnsoundError

    def take(self, at: Marked, path: str, faults: Faults) -> int:
        """A whole number."""
        try:
            return self.sound(at.value)
        except UnsoundError:
            whole = isinstance(at.value, int) and not isinstance(at.value, bool)
            said = f"{at.value}" if whole else at.kind
            faults.add(at, path, f"found {said}, expected {self.least} to {self.most}")
            return self.least

    def plain(self, value: Any) -> Any:
        """A number."""
        return value

    def schema(self) -> dict[str, Any]:
        """An integer within bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration such as ``90s`` or ``20m``, in milliseconds."""

    most: int
    blank: Any = 0

    def sound(self, value: Any) -> int:
        """Milliseconds."""
        found = duration_of(value)
        if found > self.most:
            raise UnsoundError
        return found

    def take(self, at: Marked, path: str, faults: Faults) -> int:
        """Milliseconds."""
        try:
            found = duration_of(at.value)
        except ValueError as wanted:
            told(at, path, faults, str(wanted))
            return 0
        if found > self.most:
            faults.add(at, path, f"found {found} ms, expected at most {self.most}")
            return 0
        return found

    def plain(self, value: Any) -> Any:
        """The largest unit that is exact."""
        if value == 0:
            return 0
        return next(f"{value // size}{unit}" for unit, size in _UNITS if value % size == 0)

    def schema(self) -> dict[str, Any]:
        """A string with a unit, or 0."""
        written = {"type": "string", "pattern": "^[0-9]{1,12}(ms|s|m|h|d)$"}
        return {"anyOf": [written, {"const": 0}]}


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a closed set."""

    kind: type[StrEnum]

    @property
    def blank(self) -> Any:
        """The first word."""
        return next(iter(self.kind))

    def sound(self, value: Any) -> Any:
        """The word."""
        if isinstance(value, str):
            for word in self.kind:
                if word == value:
                    return word
        raise UnsoundError

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The word."""
        try:
            return self.sound(at.value)
        except UnsoundError:
            told(at, path, faults, "one of " + ", ".join(self.kind))
            return self.blank

    def plain(self, value: Any) -> Any:
        """The word."""
        return str(value)

    def schema(self) -> dict[str, Any]:
        """One of a list."""
        return {"enum": [str(one) for one in self.kind]}


@dataclass(frozen=True, slots=True)
class Many:
    """A list of one shape, at most so long; with ``alone`` one text stands for a list of one."""

    of: Shape
    most: int
    alone: bool = False
    blank: Any = ()

    def sound(self, value: Any) -> tuple[Any, ...]:
        """Every element."""
        if value is None:
            return ()
        if self.alone and isinstance(value, str):
            value = [value]
        if value.__class__ is not list or len(value) > self.most:
            raise UnsoundError
        each: Any = self.of  # a shape that takes plain values, as those of a plan's parts all do
        return tuple(map(each.sound, value))

    def take(self, at: Marked, path: str, faults: Faults) -> tuple[Any, ...]:
        """Every element, but for those at fault."""
        if self.alone and isinstance(at.value, str):
            return (self.of.take(at, path, faults),)
        if at.value is None:
            return ()
        if not isinstance(at.value, list):
            told(at, path, faults, "a list")
            return ()
        if len(at.value) > self.most:
            faults.add(at, path, f"found {len(at.value)} entries, expected at most {self.most}")
            return ()
        taken = (self.of.take(one, f"{path}[{n}]", faults) for n, one in enumerate(at.value))
        return tuple(one for one in taken if one is not None)

    def plain(self, value: Any) -> Any:
        """A list."""
        return [self.of.plain(one) for one in value]

    def schema(self) -> dict[str, Any]:
        """An array, or one alone."""
        inner = self.of.schema()
        listed = {"type": ["array", "null"], "items": inner, "maxItems": self.most}
        return {"anyOf": [listed, inner]} if self.alone else listed
