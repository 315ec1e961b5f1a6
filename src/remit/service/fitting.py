"""Whether a command is what its class says, before anything is decided.

Commands are plain values and nothing stops a program from putting a float or None where an integer
belongs. Such a value could pass a comparison and reach an event, which holds integers and text only
(CONTRACT 14). So each field is compared with its declared type, exactly: True is no integer here.
Integers lie within plus and minus 2**53 - 1, so that any JSON reader holds them.

Checks are made once from the declarations, and kept.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum, StrEnum
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from remit.core.commands import Command, Text
from remit.core.ids import MAX_INTEGER
from remit.core.refusals import Code, Refused

LONGEST_NAME: Final = 500
"""Longest command id or reference, in characters."""

MOST_SHAPES: Final = 64
"""How many combinations of field types of one class are remembered as good."""

REFS: Final = ("text_ref", "log")
"""Fields that name a blob. A caller has none to name: long texts become blobs on their way in."""

Check = Callable[[Any, str], str]
"""Says what is wrong with a value at a path, or nothing."""


def misfit(command: Command) -> Refused | None:
    """``BAD_INPUT`` with the first part of a command that is not of its declared type."""
    found = _check_of(type(command))(command, "")
    if not found:
        return None
    return Refused(
        Code.BAD_INPUT,
        f"{type(command).__name__}: {found}",
        "correct the value and repeat",
        {"command": type(command).__name__},
    )


def misshapen(value: Any) -> str:
    """What is wrong with a plain value of the core, by the declared types of its parts, or nothing."""
    return _check_of(type(value))(value, "")


def unfit_name(what: str, value: object) -> Refused | None:
    """``BAD_INPUT`` for a name that travels beside a command and is no short, printable text."""
    if isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable():
        return None
    shown = repr(value)[:60]
    return Refused(
        Code.BAD_INPUT,
        f"the {what} is {shown}, expected at most {LONGEST_NAME} printable characters",
        "correct it and repeat",
        {"field": what},
    )


def in_one_line(refused: Refused) -> Refused:
    """The refusal with whatever its words quote made printable, so that it stays on one line."""
    if refused.message.isprintable() and refused.hint.isprintable():
        return refused
    return replace(refused, message=_plain(refused.message), hint=_plain(refused.hint))


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


_CHECKS: Final[dict[Any, Check]] = {}


def _check_of(hint: Any) -> Check:
    known = _CHECKS.get(hint)
    if known is None:
        known = _CHECKS[hint] = _make(hint)
    return known


def _make(hint: Any) -> Check:
    if hint is int:
        return _integer
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple(parts)
    if origin in (Union, types.UnionType):
        return _either(parts)
    if is_dataclass(hint) and isinstance(hint, type):
        return _value(hint)
    return _exactly(hint)


def _integer(value: Any, path: str) -> str:
    if value.__class__ is int and -MAX_INTEGER <= value <= MAX_INTEGER:
        return ""
    return _wrong(value, path, "an integer below 2**53")


def _exactly(hint: Any) -> Check:
    """A value of this very class; a closed enum of texts is text, since it is written as such."""
    members = StrEnum if hint is str else hint if issubclass(hint, Enum) else ()

    def check(value: Any, path: str) -> str:
        fits = value.__class__ is hint or isinstance(value, members)
        return "" if fits else _wrong(value, path, f"{hint.__name__}")

    return check


def _either(parts: tuple[Any, ...]) -> Check:
    checks = [_check_of(part) for part in parts]

    def check(value: Any, path: str) -> str:
        found = [check(value, path) for check in checks]
        return "" if "" in found else found[0]

    return check


def _tuple(parts: tuple[Any, ...]) -> Check:
    many = len(parts) == 2 and parts[1] is ...
    checks = [_check_of(part) for part in parts if part is not ...]

    def check(value: Any, path: str) -> str:
        if value.__class__ is not tuple or (not many and len(value) != len(checks)):
            return _wrong(value, path, "a tuple" if many else f"a tuple of {len(checks)}")
        if many and not any(map(checks[0], value, repeat(path))):
            return ""
        for i, part in enumerate(value):
            found = checks[0 if many else i](part, f"{path}[{i}]")
            if found:
                return found
        return ""

    return check


def _value(cls: type) -> Check:
    """A dataclass: plain fields by their class, then integers and what has parts."""
    hints = get_type_hints(cls)
    names = [f.name for f in fields(cls)]
    if not names:
        return _exactly(cls)
    read = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
    checks = [(name, _check_of(hints[name])) for name in names]
    integers = [i for i, name in enumerate(names) if hints[name] is int]
    parted = [i for i, name in enumerate(names) if _has_parts(hints[name])]
    refs = [i for i, name in enumerate(names) if (cls is Text and name == "ref") or name in REFS]
    good: set[tuple[type, ...]] = set()

    def check(value: Any, path: str) -> str:
        if value.__class__ is not cls:
            return _wrong(value, path, cls.__name__)
        parts = read(value)
        kinds = tuple(map(type, parts))
        known = kinds in good
        for i in parted if known else range(len(parts)):
            if known and parts[i] == ():
                continue
            name, of = checks[i]
            if of(parts[i], path):
                return of(parts[i], f"{path}.{name}" if path else name)
        for i in integers:
            if not -MAX_INTEGER <= parts[i] <= MAX_INTEGER:
                return _integer(parts[i], f"{path}.{names[i]}" if path else names[i])
        for i in refs:
            if parts[i]:
                where = f"{path}.{names[i]}" if path else names[i]
                return _wrong(parts[i], where, "nothing: remit itself names the blobs of texts")
        if not known and len(good) < MOST_SHAPES:
            good.add(kinds)
        return ""

    return check


def _has_parts(hint: Any) -> bool:
    return any(get_origin(part) is tuple or is_dataclass(part) for part in (hint, *get_args(hint)))


def _wrong(value: Any, path: str, expected: str) -> str:
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return f"{path or 'the command'} is {shown}, expected {expected}"
