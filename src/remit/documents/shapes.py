"""Shapes: what a part of a document may be, said once for reading, writing and the JSON Schema.

A shape reads a marked value into a part (``take``), turns a part back into what is written
(``plain``) and describes itself for editors (``schema``). Since the three come from one table, a
schema cannot promise what the reader refuses, nor a writer write what it does not take.

A fault is kept at its place and the reading goes on: a record with a faulty part still has its
label, so that nothing that refers to it is found at fault for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Protocol

from remit.documents.fields import Faults, duration_ms
from remit.documents.marked import Marked, shown

LABEL_LIMIT: Final = 200
BLANK: Final = object()
"""Stands for the blank of a part's shape, where a part names no other value for its absence."""

_GAP: Final = re.compile(r"\s")
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


def _not(at: Marked, path: str, faults: Faults, wanted: str) -> None:
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

    def take(self, at: Marked, path: str, faults: Faults) -> str:
        """Text."""
        value = at.value
        if value is None and self.null:
            return ""
        if not isinstance(value, str):
            _not(at, path, faults, "text (quote it)" if value is not None else "text")
        elif len(value) > self.most:
            faults.add(at, path, f"found {len(value)} characters, expected at most {self.most}")
        elif "\0" in value or (self.line and not value.isprintable()):
            wanted = "printable text in one line" if self.line else "text without NUL"
            faults.add(at, path, f"found {shown(value)!r}, expected {wanted}")
        else:
            return value
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

    def take(self, at: Marked, path: str, faults: Faults) -> str:
        """A label."""
        value = at.value
        if not isinstance(value, str):
            _not(at, path, faults, "a label (quote it)" if value is not None else "a label")
            return ""
        if not 0 < len(value) <= LABEL_LIMIT or not value.isprintable() or _GAP.search(value):
            wanted = f"a label of 1 to {LABEL_LIMIT} printable characters without blanks"
            faults.add(at, path, f"found {shown(value)!r}, expected {wanted}")
            return ""
        return value

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

    def take(self, at: Marked, path: str, faults: Faults) -> bool:
        """True or false."""
        if isinstance(at.value, bool):
            return at.value
        _not(at, path, faults, "true or false")
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

    def take(self, at: Marked, path: str, faults: Faults) -> int:
        """A whole number."""
        value = at.value
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and self.least <= value <= self.most:
            return int(value)
        said = f"{value}" if whole else at.kind
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

    def take(self, at: Marked, path: str, faults: Faults) -> int:
        """Milliseconds."""
        try:
            found = duration_ms(at)
        except ValueError as wanted:
            _not(at, path, faults, str(wanted))
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

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The word."""
        if isinstance(at.value, str) and at.value in list(self.kind):
            return self.kind(at.value)
        _not(at, path, faults, "one of " + ", ".join(self.kind))
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

    def take(self, at: Marked, path: str, faults: Faults) -> tuple[Any, ...]:
        """Every element, but for those at fault."""
        if self.alone and isinstance(at.value, str):
            return (self.of.take(at, path, faults),)
        if at.value is None:
            return ()
        if not isinstance(at.value, list):
            _not(at, path, faults, "a list")
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


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a record: its name there, its shape, its name in the value, what its absence is."""

    name: str
    shape: Shape
    about: str
    to: str = ""
    required: bool = False
    absent: Any = BLANK

    @property
    def key(self) -> str:
        """What the part is called in the value."""
        return self.to or self.name


def _fields_of(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


@dataclass(frozen=True)
class Record:
    """A mapping with a table of parts, made into a value.

    ``make`` gets a keyword for each part. ``unmake`` gives the parts of a value; without it they are
    its attributes. ``judge`` looks at the parts that were read together, and returns part and fault.
    """

    what: str
    parts: tuple[Part, ...]
    make: Callable[..., Any]
    unmake: Callable[[Any], Mapping[str, Any]] | None = None
    judge: Callable[[Mapping[str, Any]], list[tuple[str, str]]] | None = None
    blank: Any = None
    about: str = ""
    _known: dict[str, Part] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", {part.name: part for part in self.parts})

    @cached_property
    def _absent(self) -> dict[str, Any]:
        return {p.key: p.shape.blank if p.absent is BLANK else p.absent for p in self.parts}

    @cached_property
    def _required(self) -> frozenset[str]:
        return frozenset(part.name for part in self.parts if part.required)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(part.key for part in self.parts)

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The value, with blanks for what was at fault; None where it is no mapping at all."""
        given = at.value
        if not isinstance(given, dict):
            _not(at, path, faults, f"a mapping, {self.what}")
            return None
        found = dict(self._absent)
        for name, child in given.items():
            part = self._known.get(name)
            if part is None:
                faults.unknown(child, name, path, self._known)
            else:
                found[part.key] = part.shape.take(child, f"{path}.{name}", faults)
        missing = self._required - given.keys()
        for name in sorted(missing, key=self._names.index) if missing else ():
            faults.add(at, path, f"the part {name} is missing")
        if self.judge is not None:
            for name, said in self.judge(found):
                faults.add(given.get(name, at), f"{path}.{name}", said)
        return self.make(**found)

    def plain(self, value: Any) -> Any:
        """A mapping of every part that is not what its absence says."""
        parts = self.unmake(value) if self.unmake else _fields_of(value, self._keys)
        absent = self._absent
        return {
            part.name: part.shape.plain(parts[part.key])
            for part in self.parts
            if part.required or parts[part.key] != absent[part.key]
        }

    def schema(self) -> dict[str, Any]:
        """An object that takes no other part."""
        said: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {p.name: p.shape.schema() | _described(p) for p in self.parts},
        }
        required = [part.name for part in self.parts if part.required]
        if required:
            said["required"] = required
        return said | ({"description": self.about} if self.about else {})


def _described(part: Part) -> dict[str, Any]:
    return {"description": part.about} if part.about else {}
