"""Long texts of plan records, named by where they stand, so that they can be kept as blobs.

An event holds a record whole, but for texts that are too long for an event: those are kept apart, and
can be erased without touching a proof (CONTRACT 14). A path names fields and places in lists, as in
``ambiguities.0.text``. What a row runs stays in its event: it has bounds of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from remit.core.planning.bundle import Record

R = TypeVar("R", bound=Record)

INLINE_CHARS: Final = 1_024
"""Longest text that stays in its event: no more than 4 KiB of UTF-8."""

KEPT_WHOLE: Final = ("spec", "label")
"""Fields that are never taken apart."""


def long_texts(record: Record) -> Iterator[tuple[str, str]]:
    """The path and text of everything that is too long for an event."""
    for f in fields(record):
        value = getattr(record, f.name)
        short = value.__class__ is str and len(value) <= INLINE_CHARS
        if not short and value != () and f.name not in KEPT_WHOLE:
            yield from _long(f.name, value)


def _long(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if len(value) > INLINE_CHARS:
            yield path, value
    elif isinstance(value, tuple):
        for n, each in enumerate(value):
            if each.__class__ is str and len(each) <= INLINE_CHARS:
                continue
            yield from _long(f"{path}.{n}", each)
    elif is_dataclass(value):
        for f in fields(value):
            yield from _long(f"{path}.{f.name}", getattr(value, f.name))


def without(record: R, paths: Iterable[str]) -> R:
    """The record with the texts at these paths emptied."""
    return with_texts(record, dict.fromkeys(paths, ""))


def with_texts(record: R, texts: Mapping[str, str]) -> R:
    """The record with these texts at their paths."""
    for path, text in texts.items():
        record = _put(record, path.split("."), text)
    return record


def _put(value: Any, path: list[str], text: str) -> Any:
    if not path:
        return text
    head, *rest = path
    if isinstance(value, tuple):
        at = int(head)
        return (*value[:at], _put(value[at], rest, text), *value[at + 1 :])
    return replace(value, **{head: _put(getattr(value, head), rest, text)})
