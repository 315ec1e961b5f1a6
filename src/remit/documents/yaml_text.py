"""YAML as text: plain values written so that they are read back as they were.

Only what ``marked`` reads is written: mappings, lists, text, whole numbers, true and false. Text that
could be taken for something else is quoted as JSON quotes it, and text of several lines stands as a
block, so that a changed line shows as one changed line wherever the file is kept. Nothing in a text
can end its quotes, and nothing that a terminal or an editor would obey is written as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

WIDTH: Final = 96
"""Longest line of a list that is written in one line."""

_WORD: Final = re.compile(r"[^\W\d_][^\s:#,\[\]{}\"'`|&*!%@?]*\Z")
_LINE: Final = re.compile(r"[^\W\d_](?:[^\s:#]|:(?=\S)| (?=[^\s#]))*\Z")
_SAID: Final = frozenset({"null", "true", "false"})
_ODD: Final = re.compile(r"[^ -~]")


def plain_in_line(text: str) -> bool:
    """Whether a text is one word that may stand in a list in one line, without quotes."""
    return bool(_WORD.match(text)) and text not in _SAID and text.isprintable()


def quoted(text: str) -> str:
    """A text in double quotes, with an escape for all that is not printable."""
    return _ODD.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(odd: re.Match[str]) -> str:
    char = odd[0]
    if char.isprintable():
        return char
    number = ord(char)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def scalar(value: Any) -> str:
    """A value that is no list and no mapping, in one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = _LINE.match(text) and text not in _SAID and text.isprintable()
    return text if plain else quoted(text)


def _block(text: str, indent: int) -> list[str] | None:
    """Text of several lines as a literal block; None where it would not come back as it was."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    fit = (
        len(lines) > 1
        and not lines[0].startswith((" ", "\t"))
        and lines[0]
        and lines[-1]
        and all(one.isprintable() and not one.endswith(" ") for one in lines)
    )
    if not fit:
        return None
    pad = " " * indent
    head = "|" if text.endswith("\n") else "|-"
    return [head, *(pad + one if one else "" for one in lines)]


def written(value: dict[str, Any], indent: int = 0) -> Iterator[str]:
    """A mapping as lines without line ends, indented by so many blanks."""
    pad = " " * indent
    for key, part in value.items():
        yield from _entry(f"{pad}{key}:", part, indent + 2)


def _entry(head: str, part: Any, indent: int) -> Iterator[str]:
    """What follows a key or a dash, with its parts indented by so many blanks."""
    if isinstance(part, dict):
        if not part:
            yield f"{head} {{}}"
            return
        yield head
        yield from written(part, indent)
    elif isinstance(part, list):
        yield from _list(head, part, indent)
    else:
        block = _block(part, indent) if isinstance(part, str) and "\n" in part else None
        yield f"{head} {block[0] if block else scalar(part)}"
        yield from block[1:] if block else ()


def _list(head: str, parts: list[Any], indent: int) -> Iterator[str]:
    if all(isinstance(one, str) and plain_in_line(one) for one in parts):
        line = f"{head} [{', '.join(parts)}]"
        if len(line) <= WIDTH or not parts:
            yield line
            return
    yield head
    pad = " " * indent
    for one in parts:
        if isinstance(one, dict) and one:
            lines = written(one, indent + 2)
            yield f"{pad}- {next(lines)[indent + 2 :]}"
            yield from lines
        else:
            yield from _entry(f"{pad}-", one, indent + 2)
