"""Bounds on what a plan may hold, record by record.

A plan comes from a file, and a file may hold anything. Lists and texts are bounded so that one record
is always one bounded element of an apply, and so that the ledger can keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from remit.core.envelope import usable_lane
from remit.core.planning.bundle import KINDS, PlanItem, Record
from remit.core.planning.findings import Finding, Gate, Problem

TEXT_LIMIT_CHARS: Final = 65_536
LIST_LIMIT_COUNT: Final = 1_000
ROWS_LIMIT_COUNT: Final = 100
TITLE_LIMIT_CHARS: Final = 500
PRIORITIES: Final = range(5)
"""0 is the most urgent."""

SOUND_BYTES: Final = 2 * LIST_LIMIT_COUNT
"""A record that is valid JSON of fewer bytes keeps every bound here: an entry takes two at least."""

_SCALARS: Final = (bool, int, type(None))


def text_limits(record: Record, gate: Gate) -> Iterator[Finding]:
    """Every text and list of a record that is too long, or that no UTF-8 can hold."""
    for name in _names(type(record)):
        value = getattr(record, name)
        if not _sound(value):
            for path, code, why in _faults(name, value):
                yield Finding(code, KINDS[type(record)], record.label, path, why, gate)


_NAMES: Final[dict[type, tuple[str, ...]]] = {}


def _names(cls: type) -> tuple[str, ...]:
    found = _NAMES.get(cls)
    if found is None:
        found = _NAMES[cls] = tuple(f.name for f in fields(cls))
    return found


def _sound(value: Any) -> bool:
    """Whether nothing is wrong with a value or its parts; only what is not sound is looked at closely.

    Nearly all of a plan is, and a plan has half a million values.
    """
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, tuple):
        return len(value) <= LIST_LIMIT_COUNT and all(map(_sound, value))
    if isinstance(value, _SCALARS):
        return True
    return all(_sound(getattr(value, name)) for name in _names(type(value)))


def _faults(path: str, value: Any) -> Iterator[tuple[str, Problem, str]]:
    if isinstance(value, str):
        if len(value) > TEXT_LIMIT_CHARS:
            why = f"it has {len(value)} characters, at most {TEXT_LIMIT_CHARS}"
            yield path, Problem.TEXT_TOO_LONG, why
        elif not value.isascii() and not _utf8(value):
            yield (
                path,
                Problem.TEXT_MALFORMED,
                "it holds half a character, which UTF-8 cannot write",
            )
    elif isinstance(value, tuple):
        if len(value) > LIST_LIMIT_COUNT:
            why = f"it has {len(value)} entries, at most {LIST_LIMIT_COUNT}"
            yield path, Problem.TOO_MANY, why
            return
        for n, each in enumerate(value):
            if type(each) is not str or not _plain(each):
                yield from _faults(f"{path}[{n}]", each)
    elif not isinstance(value, _SCALARS):
        for name in _names(type(value)):
            yield from _faults(f"{path}.{name}", getattr(value, name))


def _plain(text: str) -> bool:
    return text.isascii() and len(text) <= TEXT_LIMIT_CHARS and "\0" not in text


def _utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def item_limits(item: PlanItem) -> Iterator[Finding]:
    """What a work item must keep to be a work item at all."""

    def found(field: str, why: str) -> Finding:
        code, gate = Problem.ITEM_MALFORMED, Gate.REQUIREMENTS
        return Finding(code, "item", item.label, field, why, gate)

    title = item.title
    if not 0 < len(title) <= TITLE_LIMIT_CHARS or not title.isprintable() or not title.strip():
        why = f"expected 1 to {TITLE_LIMIT_CHARS} printable characters in one line"
        yield found("title", why)
    if item.priority not in PRIORITIES:
        yield found("priority", f"{item.priority} is not 0 (most urgent) to 4")
    for name in ("work_class", "tenant"):
        if not usable_lane(getattr(item, name)):
            yield found(name, "expected 1 to 64 printable characters without '|'")
    if len(item.rows) > ROWS_LIMIT_COUNT:
        yield found("rows", f"{len(item.rows)} rows, at most {ROWS_LIMIT_COUNT}")
