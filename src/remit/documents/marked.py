"""Marked values: YAML (and so JSON) read into plain values that remember where they stood.

The text comes from anybody. It is read from the parser's events, so nothing is built that the text
asks for: no tags, no anchors and aliases, no merge keys, no duplicate keys; and size, depth and count
are bounded. Of the many ways that YAML reads a plain scalar only these are kept: null, true and false,
decimal integers below 2**53, and text. A time or a version number therefore stays what was written.

``read`` never raises for what a text holds: it returns what could be read, and every problem. Of a
long document, parts of the topmost mapping can be handed over element by element (``Handed``) and
need not be held all at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from remit.core.change import quick

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 32
MAX_NODES: Final = 500_000
MAX_PROBLEMS: Final = 1_000
MAX_INTEGER: Final = (1 << 53) - 1

_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?\Z")
_WORDS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PAIR: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a text is read: bytes, values in it, and how deep they may lie."""

    bytes: int
    nodes: int
    depth: int = MAX_DEPTH


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


@quick
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


Handed = Mapping[str, Callable[["Marked", int], None]]
"""Takes over each element of a list under a key of the topmost mapping, with its number from 0."""

_Path = tuple[Any, Any]
"""The path to a value: that of what holds it, and its key or number there."""

_ROOT: Final[_Path] = (None, "$")


def _told(path: _Path) -> str:
    """A path as people read it; made only where there is something to say."""
    parts: list[str] = []
    above: Any = path
    while above is not None:
        above, part = above
        named = f".{shown(part)}" if isinstance(part, str) else f"[{part}]"
        parts.append(named if above is not None else "$")
    return "".join(reversed(parts))


class _Stop(Exception):  # noqa: N818  # ends the reading; not an error of its own
    """Nothing further can be read."""


class _Reader:
    def __init__(self, text: str, bounds: Bounds, handed: Handed) -> None:
        self.problems: list[Problem] = []
        self.nodes = 0
        self.bounds = bounds
        self.handed = handed
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
                yield self.node(next(self.events), _ROOT, 0)

    def node(self, event: Any, path: _Path, depth: int) -> Marked:
        """The value that begins with this event."""
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        self.nodes += 1
        if self.nodes > self.bounds.nodes or depth > self.bounds.depth:
            many = self.nodes > self.bounds.nodes
            bound = f"{self.bounds.nodes} values" if many else f"{self.bounds.depth} levels"
            self.note(line, column, _told(path), f"found more than {bound}")
            raise _Stop
        if event.anchor is not None:
            if isinstance(event, yaml.AliasEvent):
                said = f"found the alias *{shown(event.anchor)}: write it out"
                self.note(line, column, _told(path), said)
                return Marked(None, line, column)
            said = f"found the anchor &{shown(event.anchor)}: leave it out"
            self.note(line, column, _told(path), said)
        if event.tag is not None and event.tag != "!":
            said = f"found the tag {shown(event.tag)}: leave it out"
            self.note(line, column, _told(path), said)
        if isinstance(event, yaml.ScalarEvent):
            return Marked(self.scalar(event, path, line, column), line, column)
        if isinstance(event, yaml.SequenceStartEvent):
            return Marked(self.sequence(path, depth), line, column)
        return Marked(self.mapping(path, depth), line, column)

    def scalar(self, event: Any, path: _Path, line: int, column: int) -> Any:
        """A scalar's value; only plain ones are anything but text."""
        text: str = event.value
        if event.style or not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in "+-.0123456789":
            return text
        if _INTEGER.match(text) and len(text) < 18:
            number = int(text)
            if -MAX_INTEGER <= number <= MAX_INTEGER:
                return number
        if _FLOAT.match(text):
            said = f"{text[:40]} is no whole number below 2**53: quote text"
            self.note(line, column, _told(path), said)
        return text

    def sequence(self, path: _Path, depth: int) -> list[Marked]:
        """The parts of a list; none where they were handed over."""
        take = self.handed.get(path[1]) if depth == 1 else None
        found: list[Marked] = []
        for number, event in enumerate(self.events):
            if isinstance(event, yaml.SequenceEndEvent):
                break
            part = self.node(event, (path, number), depth + 1)
            if take is None:
                found.append(part)
            else:
                take(part, number)
        return found

    def mapping(self, path: _Path, depth: int) -> dict[str, Marked]:
        """The parts of a mapping, each key once."""
        found: dict[str, Marked] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key is None or key in found or key == "<<":
                self.odd_key(event, key, path, depth)
            child = self.node(next(self.events), (path, "?" if key is None else key), depth + 1)
            if key is not None:
                found.setdefault(key, child)
        return found

    def odd_key(self, event: Any, key: str | None, path: _Path, depth: int) -> None:
        """Say what is wrong with a key."""
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if key is None:
            self.note(line, column, _told(path), "found a key that is not text")
            self.node(event, path, depth + 1)
        elif key == "<<":
            self.note(line, column, _told(path), "found a merge key: write it out")
        else:
            self.note(line, column, _told((path, key)), "this key stands here twice")


def shown(text: str) -> str:
    """A piece of foreign text, short and printable."""
    clean = text if text.isprintable() else ascii(text)[1:-1]
    return clean if len(clean) <= 60 else clean[:57] + "..."


def read(
    data: bytes, bounds: Bounds | None = None, handed: Handed | None = None
) -> tuple[list[Marked], list[Problem]]:
    """The documents of a text, and every problem in the order of lines.

    With problems, what was read may be incomplete and must not be used. ``handed`` names keys of the
    topmost mapping whose lists are given away as they are read; they are empty in what is returned.
    """
    bounds = bounds or Bounds(MAX_BYTES, MAX_NODES, MAX_DEPTH)
    if len(data) > bounds.bytes:
        return [], [Problem(1, 1, "", f"found {len(data)} bytes, at most {bounds.bytes} are read")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return [], [Problem(line, 1, "", f"byte {error.start} is not UTF-8")]
    reader = _Reader(_one_escape(text), bounds, handed or {})
    found: list[Marked] = []
    try:
        found += reader.documents()
    except _Stop:
        found = []
    return found, sorted(reader.problems, key=lambda p: (p.line, p.column))


def _one_escape(text: str) -> str:
    """JSON with each pair of surrogate escapes as one escape of YAML, which has no pairs."""
    if not text.lstrip().startswith(("{", "[")) or not _PAIR.search(text):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _PAIR.sub(_joined, text)


def _joined(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16), int(pair[3], 16)
    return f"{pair[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"
