"""Shapes: how a frozen dataclass of the core looks as canonical JSON, made from its annotations.

The core's names are snake_case and it knows no third party; the ledger's names are camelCase and
its bytes must be canonical. A shape mirrors one dataclass as a msgspec struct whose fields stand in
the order of their stored names, so that encoding needs no sort, and whose types are strict, so that
decoding refuses what the core could not have written. A trailing underscore is dropped
(``from_`` is ``from``) and ``transition_id`` is ``transitionId``.

Shapes are made once, on first use. Nothing here knows what an event is: the codec does.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from remit.core.ids import MAX_INTEGER

Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
"""An integer that every JSON reader holds exactly."""

Turn = Callable[[Any], Any]
"""Turns a value of the core into its mirror, or back."""

Seals = dict[type, Turn]
"""Parts that are encoded and verified apart, each with what turns it into its bytes."""

_SHAPES: dict[type, Shape] = {}


def wire_name(attribute: str) -> str:
    """The stored name of an attribute: ``observed_commit_sha`` is ``observedCommitSha``."""
    head, *rest = attribute.rstrip("_").split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


class Shape:
    """One dataclass and its mirror.

    ``lower`` makes the mirror of a value and ``lift`` makes the value again. ``phase`` adds a field
    of that fixed text to the mirror. Parts under ``seals`` stand in the mirror as their bytes.
    """

    __slots__ = ("_cls", "_getter", "_inward", "_one", "_outward", "_pick", "mirror")

    def __init__(self, cls: type, phase: str = "", seals: Seals | None = None) -> None:
        hints = get_type_hints(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        stored = sorted((wire_name(name), name) for name in names)
        taken = [wire for wire, _ in stored] + (["phase"] if phase else [])
        if len(set(taken)) != len(taken):
            raise AssertionError(f"two fields of {cls.__name__} share a stored name")
        fields = [(f"f_{name}", mirrored(hints[name], seals), wire) for wire, name in stored]
        if phase:
            fields.append(("f_phase_", Literal[phase], "phase"))
            fields.sort(key=lambda field: field[2])
        self.mirror = msgspec.defstruct(
            cls.__name__,
            [(attribute, kind) for attribute, kind, _ in fields],
            rename={attribute: wire for attribute, _, wire in fields},
            frozen=True,
            forbid_unknown_fields=True,
            gc=False,
        )
        self._cls = cls
        self._one = len(names) == 1
        self._getter: Turn | None = attrgetter(*(name for _, name in stored)) if stored else None
        self._pick: Turn | None = attrgetter(*(f"f_{name}" for name in names)) if names else None
        self._inward = [(i, turn) for i, n in enumerate(names) if (turn := lifter(hints[n]))]
        outward = [
            (i, turn) for i, (_, n) in enumerate(stored) if (turn := lowerer(hints[n], seals))
        ]
        at = next((i for i, field in enumerate(fields) if field[0] == "f_phase_"), None)
        self._outward = (outward, at, phase)

    def lower(self, value: Any) -> Any:
        """The mirror of a value of this dataclass."""
        turns, at, phase = self._outward
        if self._getter is None:
            return self.mirror() if at is None else self.mirror(phase)
        got = self._getter(value)
        if not turns and at is None:
            return self.mirror(got) if self._one else self.mirror(*got)
        cells = [got] if self._one else list(got)
        for i, turn in turns:
            cells[i] = turn(cells[i])
        if at is not None:
            cells.insert(at, phase)
        return self.mirror(*cells)

    def lift(self, mirror: Any) -> Any:
        """The value of this dataclass that a mirror stands for."""
        if self._pick is None:
            return self._cls()
        got = self._pick(mirror)
        if not self._inward:
            return self._cls(got) if self._one else self._cls(*got)
        cells = [got] if self._one else list(got)
        for i, turn in self._inward:
            cells[i] = turn(cells[i])
        return self._cls(*cells)


def shape_of(cls: type) -> Shape:
    """The shape of a dataclass that is part of events, made on first use."""
    found = _SHAPES.get(cls)
    if found is None:
        found = _SHAPES[cls] = Shape(cls)
    return found


def mirrored(kind: Any, seals: Seals | None = None) -> Any:
    """The annotation that a mirror uses for an annotation of the core."""
    if kind is int:
        return Integer
    if seals and kind in seals:
        return msgspec.Raw
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return shape_of(kind).mirror
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple[tuple(a if a is ... else mirrored(a, seals) for a in arguments)]  # type: ignore[misc]  # built at run time
    if origin in (Union, types.UnionType):
        return Union[tuple(mirrored(a, seals) for a in arguments)]  # noqa: UP007  # built at run time
    return kind


def lowerer(kind: Any, seals: Seals | None = None) -> Turn | None:
    """What turns a value of this annotation into its mirror; None where it is its own mirror."""
    apart = seals or {}
    return _turner(kind, lambda cls: apart.get(cls) or shape_of(cls).lower)


def lifter(kind: Any) -> Turn | None:
    """What turns a mirror of this annotation into its value; None where it is its own mirror."""
    return _turner(kind, lambda cls: shape_of(cls).lift)


def _fixed(values: Any) -> Any:
    if isinstance(values, tuple):
        return values
    raise TypeError(f"a {type(values).__name__}")


def _turner(kind: Any, of: Callable[[type], Turn]) -> Turn | None:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return of(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        turns = [_turner(a, of) for a in arguments if a is not ...]
        if not any(turns):
            return None
        if arguments[-1] is ...:
            each = turns[0]
            assert each is not None
            return lambda values: tuple(map(each, _fixed(values)))
        return lambda values: tuple(
            turn(value) if turn else value for turn, value in zip(turns, values, strict=True)
        )
    if origin in (Union, types.UnionType):
        inner = next((t for a in arguments if (t := _turner(a, of))), None)
        return None if inner is None else lambda value: None if value is None else inner(value)
    return None
