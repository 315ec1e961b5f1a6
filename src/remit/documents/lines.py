"""The usual way to write a document, read line by line: a mapping of mappings and lists in blocks.

``marked`` reads all of YAML that remit takes, and remembers where each value stood; of a plan with
tens of thousands of records that is most of the work. This reader knows only what stands in nearly
all documents (what ``yaml_text`` writes, dashes under their key or indented, comments in lines of
their own, single quotes), keeps no places, and gives up at the first line that is anything else, be
it right or wrong. Then ``marked`` reads the text, and it alone says what is wrong with it.

So there is one rule: **whatever is read here, ``marked`` reads as the same, without a problem**. Each
form is therefore taken as narrowly as it is written, and tests compare both on texts at random.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from remit.documents.marked import MAX_INTEGER

MOST_BYTES: Final = 16 * 1024 * 1024
"""Longest text that is read here: at three bytes or more for each, it holds fewer values than
``marked`` takes of a plan."""

MOST_DEPTH: Final = 24
"""How many blocks may lie in one another, fewer than ``marked`` takes."""

AWAITED: Final = object()
"""Stands for a value that the next lines hold, if any does."""

Taking = Mapping[str, Callable[[Any], None]]
"""Takes over each element of a list under a key of the topmost mapping."""

_LINE: Final = re.compile(
    r"^( *)(- )?(?:([A-Za-z_]{1,64}):(?: (?:([A-Za-z][^:#\n]*(?<! ))|(.+)))?|(.+))?$", re.M
)
_PLAIN: Final = re.compile(r"[^\W_](?:[^\s:]|:(?=\S)| (?=[^\s#]))*\Z")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,15})\Z")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z")
_PART: Final = re.compile(r'[A-Za-z_][A-Za-z0-9_./*+@=-]*|"[^"\\]*"')
_FLOW: Final = re.compile(rf"\[(?:(?:{_PART.pattern})(?:, (?:{_PART.pattern}))*)?\]\Z")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\["\\nt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*"\Z')
_SINGLE: Final = re.compile(r"'(?:[^']|'')*'\Z")
_FIRST: Final = re.compile(r"\n( +)[^ \n]")
_ONLY_BLANKS: Final = re.compile(r"\n +(?:\n|\Z)")
_WORDS: Final = {"null": None, "true": True, "false": False}


class UnusualError(Exception):
    """The text is not written in the usual way: ``marked`` has to read it."""


def read_lines(data: bytes, taking: Taking) -> dict[str, Any]:
    """The mapping that a text is, as plain values; lists that were handed over are empty in it.

    Raises ``UnusualError`` for any other text, when elements may have been handed over already.
    """
    if len(data) > MOST_BYTES:
        raise UnusualError
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusualError from error
    if not text.endswith("\n") or not text.replace("\n", "").isprintable():
        raise UnusualError
    found = _blocks(text.removeprefix("---\n"), taking)
    if not found:
        raise UnusualError
    return found


def _blocks(text: str, taking: Taking) -> dict[str, Any]:
    """Lines put together: the innermost block, where it begins, and those around it."""
    top: dict[str, Any] = {}
    here: Any = top
    at = 0
    around: list[tuple[int, Any]] = []
    handed: Any = None
    take: Callable[[Any], None] = _nobody
    awaiting: str | None = None
    for indent, dash, key, value in _lines(text):
        if awaiting is not None:
            if indent > at or (indent == at and dash):
                inner: Any = [] if dash else {}
                here[awaiting] = inner
                if dash and not around and awaiting in taking:
                    handed, take = inner, taking[awaiting]
                around.append((at, here))
                at, here = indent, inner
                if len(around) > MOST_DEPTH:
                    raise UnusualError
            awaiting = None
        while indent < at or (not dash and here.__class__ is list):
            if here is handed:
                take(here.pop())
            at, here = around.pop()
        if indent != at:
            raise UnusualError
        if dash:
            if here.__class__ is not list:
                raise UnusualError
            if here is handed and here:
                take(here.pop())
            if key is None:
                here.append(value)
                continue
            around.append((at, here))
            if len(around) > MOST_DEPTH:
                raise UnusualError
            inner = {}
            here.append(inner)
            at, here = indent + 2, inner
        if key in here:
            raise UnusualError
        if value is AWAITED:
            here[key], awaiting = None, key
        else:
            here[key] = value
    for _, block in (*around, (at, here)):
        if block is handed:
            take(block.pop())
    return top


def _nobody(_: Any) -> None:
    raise AssertionError("a list is handed over to nobody")


def _lines(text: str) -> Iterator[tuple[int, str | None, str | None, Any]]:
    """Each line that says something: its blanks, its dash, its key, and the value behind it."""
    start = 0
    while start < len(text):
        for match in _LINE.finditer(text, start):
            blanks, dash, key, plain, other, alone = match.groups()
            if plain is not None:
                yield len(blanks), dash, key, _WORDS.get(plain, plain)
                continue
            written = other or alone
            if written is None:
                if key is not None:
                    yield len(blanks), dash, key, AWAITED
                elif dash:
                    raise UnusualError
            elif key is None and dash is None:
                if written[0] != "#":
                    raise UnusualError
            elif written[0] == "|":
                begin = len(blanks) + (2 if dash and key else 0)
                value, start = _literal(text, match.end(), begin, written)
                yield len(blanks), dash, key, value
                break
            else:
                yield len(blanks), dash, key, _scalar(written)
        else:
            return


def _literal(text: str, end: int, begin: int, head: str) -> tuple[str, int]:
    """A text of several lines, and where the line behind it starts; its block begins at a column."""
    first = _FIRST.match(text, end)
    if first is None or len(first[1]) <= begin or head not in ("|", "|-"):
        raise UnusualError
    deep = len(first[1])
    body = re.compile(rf"(?:\n(?: {{{deep}}}[^\n]*)?(?=\n))*").match(text, end)
    if body is None or _ONLY_BLANKS.search(body[0]):
        raise UnusualError
    lines = [line[deep:] for line in body[0].rstrip("\n")[1:].split("\n")]
    return "\n".join(lines) + ("\n" if head == "|" else ""), body.end() + 1


def _scalar(written: str) -> Any:
    """What stands behind a key or a dash, where it is not plain text that begins with a letter."""
    first = written[0]
    if first == '"' and _QUOTED.match(written):
        return written[1:-1] if "\\" not in written else json.loads(written)
    if first == "[" and _FLOW.match(written):
        return [
            part[1:-1] if part[0] == '"' else _WORDS.get(part, part)
            for part in _PART.findall(written)
        ]
    if first == "'" and _SINGLE.match(written):
        return written[1:-1].replace("''", "'")
    if _INTEGER.match(written) and abs(int(written)) <= MAX_INTEGER:
        return int(written)
    if _PLAIN.match(written) and not _NUMBER.match(written):
        return _WORDS.get(written, written)
    raise UnusualError
