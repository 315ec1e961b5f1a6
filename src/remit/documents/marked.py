"""Marked values: YAML (and so JSON) read into plain values that remember where they stood.

The text comes from anybody. It is read from the parser's events, so nothing is built that the text
asks for: no tags, no anchors and aliases, no merge keys, no duplicate keys; and size, depth and count
are bounded. Of the many ways that YAML reads a plain scalar only these are kept: null, true and false,
decimal integers below 2**53, and text. A time or a version number therefore stays what was written.

``read`` never raises for what a text holds: it returns what could be read, and every problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 32
MAX_NODES: Final = 500_000
MAX_PROBLEMS: Final = 1_000
MAX_INTEGER: Final = (1 << 53) - 1

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?\Z")
_WORDS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a text: where it stands (from 1), the path to it, and what is wrong."""

    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.line}:{self.column}: {where}{self.message}"


@dataclass(frozen=True, slots=True)
class Marked:
    """A value with its place: None, bool, int, str, a list of these, or a dict by text."""

    value: Any
    line: int
    column: int

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false",
                 int: "a whole number", type(None): "nothing"}  # fmt: skip
        return names[type(self.value)]


class _Stop(Exception):  # noqa: N818  # ends the reading; not an error of its own
    """Nothing further can be read."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self.nodes = 0
        self.events = self._events(text)

    def _events(self, text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            self.note(line, column, "", f"this is not YAML: {error.problem or error.context}")
            raise _Stop from None
        except yaml.YAMLError as error:
            self.note(1, 1, "", f"this is not YAML: {str(error).splitlines()[0]}")
            raise _Stop from None

    def note(self, line: int, column: int, path: str, message: str) -> None:
        """Keep a problem."""
        self.problems.append(Problem(line, column, path, message))
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop

    def documents(self) -> Iterator[Marked]:
        """Each document of the stream."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield self.node(next(self.events), "$", 0)

    def node(self, event: Any, path: str, depth: int) -> Marked:
        """The value that begins with this event."""
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            bound = f"{MAX_NODES} values" if self.nodes > MAX_NODES else f"{MAX_DEPTH} levels"
            self.note(line, column, path, f"found more than {bound}")
            raise _Stop
        if isinstance(event, yaml.AliasEvent):
            self.note(line, column, path, f"found the alias *{event.anchor}: write it out")
            return Marked(None, line, column)
        if event.anchor is not None:
            self.note(line, column, path, f"found the anchor &{event.anchor}: leave it out")
        if event.tag is not None and event.tag != "!":
            self.note(line, column, path, f"found the tag {event.tag}: leave it out")
        if isinstance(event, yaml.ScalarEvent):
            return Marked(self.scalar(event, path, line, column), line, column)
        if isinstance(event, yaml.SequenceStartEvent):
            return Marked(self.sequence(path, depth), line, column)
        return Marked(self.mapping(path, depth), line, column)

    def scalar(self, event: Any, path: str, line: int, column: int) -> Any:
        """A scalar's value; only plain ones are anything but text."""
        text: str = event.value
        if event.style or not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text) and len(text) < 18:
            number = int(text)
            if -MAX_INTEGER <= number <= MAX_INTEGER:
                return number
        if _FLOAT.match(text):
            self.note(line, column, path, f"{text[:40]} is no whole number below 2**53: quote text")
        return text

    def sequence(self, path: str, depth: int) -> list[Marked]:
        """The parts of a list."""
        found: list[Marked] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            found.append(self.node(event, f"{path}[{len(found)}]", depth + 1))
        return found

    def mapping(self, path: str, depth: int) -> dict[str, Marked]:
        """The parts of a mapping, each key once."""
        found: dict[str, Marked] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key is None:
                self.note(line, column, path, "found a key that is not text")
                self.node(event, path, depth + 1)
            elif key in found:
                self.note(line, column, f"{path}.{shown(key)}", "this key stands here twice")
            elif key == "<<":
                self.note(line, column, path, "found a merge key: write it out")
            child = self.node(next(self.events), f"{path}.{shown(key or '?')}", depth + 1)
            if key is not None:
                found.setdefault(key, child)
        return found


def shown(text: str) -> str:
    """A piece of foreign text, short and printable."""
    clean = text if text.isprintable() else ascii(text)[1:-1]
    return clean if len(clean) <= 60 else clean[:57] + "..."


def read(data: bytes) -> tuple[list[Marked], list[Problem]]:
    """The documents of a text, and every problem in the order of lines.

    With problems, what was read may be incomplete and must not be used.
    """
    if len(data) > MAX_BYTES:
        return [], [Problem(1, 1, "", f"found {len(data)} bytes, at most {MAX_BYTES} are read")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return [], [Problem(line, 1, "", f"byte {error.start} is not UTF-8")]
    reader = _Reader(text)
    found: list[Marked] = []
    try:
        found += reader.documents()
    except _Stop:
        found = []
    return found, sorted(reader.problems, key=lambda p: (p.line, p.column))
