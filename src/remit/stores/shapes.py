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
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from remit.core.ids import MAX_INTEGER

Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
"""An integer that every JSON reader holds exactly."""

Turn = Callable[[Any], Any]
"""Turns a value of the core into its mirror, or back."""

Seals = dict[Any, Turn]
"""Annotations of parts that are encoded and verified apart, each with what turns it into its bytes."""

_SHAPES: dict[type, Shape] = {}


def wire_name(attribute: str) -> str:
    """The stored name of an attribute: ``observed_commit_sha`` is ``observedCommitSha``."""
    head, *rest = attribute.rstrip("_").split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


class Shape:
    """One dataclass and its mirror.

    ``lower`` makes the mirror of a value and ``lift`` makes the value again; both are written for the
    class from its field names, as its constructor is. ``phase`` adds a field of that fixed text to the
    mirror. What stands under ``seals`` stands in the mirror as its bytes.
    """

    __slots__ = ("lift", "lower", "mirror")

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
        inward = {name: lifter(hints[name]) for name in names}
        outward = {name: lowerer(hints[name], seals) for name in names}
        self.lift: Turn = _written(cls, [(f"f_{name}", inward[name]) for name in names])
        self.lower: Turn = _written(
            self.mirror,
            [
                ("", phase) if attribute == "f_phase_" else (attribute[2:], outward[attribute[2:]])
                for attribute, _, _ in fields
            ],
        )


def _written(made: type, cells: list[tuple[str, Turn | str | None]]) -> Turn:
    """A function that makes one of ``made`` from attributes of a value, each turned where it must be.

    A cell without an attribute is a fixed text.
    """
    known: dict[str, Any] = {"made": made}
    parts = []
    for i, (attribute, turn) in enumerate(cells):
        if not attribute:
            parts.append(repr(turn))
        elif turn is None:
            parts.append(f"value.{attribute}")
        else:
            known[f"turn_{i}"] = turn
            parts.append(f"turn_{i}(value.{attribute})")
    exec(f"def turned(value): return made({', '.join(parts)})", known)  # noqa: S102  # the names of our own fields, nothing else
    turned: Turn = known["turned"]
    return turned


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
    if seals and kind in seals:
        return seals[kind]
    return _turner(kind, lambda cls: shape_of(cls).lower)


def lifter(kind: Any) -> Turn | None:
    """What turns a mirror of this annotation into its value; None where it is its own mirror."""
    return _turner(kind, lambda cls: shape_of(cls).lift)


def fixed(values: Any) -> Any:
    """Values that nobody can change any more; TypeError where they are not in a tuple."""
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
            return lambda values: tuple(map(each, fixed(values)))
        return lambda values: tuple(
            turn(value) if turn else value for turn, value in zip(turns, values, strict=True)
        )
    if origin in (Union, types.UnionType):
        inner = next((t for a in arguments if (t := _turner(a, of))), None)
        return None if inner is None else lambda value: None if value is None else inner(value)
    return None
