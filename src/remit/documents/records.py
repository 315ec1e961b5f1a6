"""Records of documents: mappings with a table of parts, made into values.

A table is said once; reading with every fault at its place (``take``), reading plain values that are
sound (``sound``), writing and the JSON Schema all follow from it, as they do for ``shapes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from remit.documents.fields import Faults
from remit.documents.marked import Marked
from remit.documents.shapes import Shape, Sounding, UnsoundError, told

BLANK: Final = object()
"""Stands for the blank of a part's shape, where a part names no other value for its absence."""


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
    def _sounding(self) -> dict[str, tuple[str, Callable[[Any], Any]]]:
        kinds = [(p, p.shape) for p in self.parts]
        return {p.name: (p.key, s.sound) for p, s in kinds if isinstance(s, Sounding)}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(part.key for part in self.parts)

    def sound(self, value: Any) -> Any:
        """The value of a plain mapping."""
        if value.__class__ is not dict:
            raise UnsoundError
        found = self._absent.copy()
        sounding = self._sounding
        for name, part in value.items():
            if name not in sounding:
                raise UnsoundError
            key, sound = sounding[name]
            found[key] = sound(part)
        if not self._required <= value.keys() or (self.judge is not None and self.judge(found)):
            raise UnsoundError
        return self.make(**found)

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The value, with blanks for what was at fault; None where it is no mapping at all."""
        given = at.value
        if not isinstance(given, dict):
            told(at, path, faults, f"a mapping, {self.what}")
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
