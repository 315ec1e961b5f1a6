"""Declarations of agents: the table of their parts, and reading them with every fault at its place.

A declaration may extend another one by name: what it does not say is what that one says. Names that
come with remit cannot be given another meaning, so a repository cannot put its own program behind a
name that people trust.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import yaml

from remit.documents.fields import Faults
from remit.documents.marked import Marked, Problem, read, shown
from remit.documents.records import Part, Record
from remit.documents.shapes import Flag, Label, Many, Text, Whole, Word
from remit.ports.agent import (
    Agent,
    BriefWay,
    Exits,
    Prices,
    Reading,
    ReportWay,
    Speaks,
    Transcript,
)

MAX_BYTES: Final = 1 << 20
PLACEHOLDERS: Final = frozenset(
    {
        "attempt", "brief", "brief_text", "clone", "command", "exchange", "item", "model",
        "progress", "python", "report", "spend_micros", "spend_usd",
    }
)  # fmt: skip
"""What may stand in braces in a command."""

_BRACED: Final = re.compile(r"\{(\w+)\}")
_PLACE: Final = re.compile(r"[A-Za-z0-9_-]{1,100}(\.[A-Za-z0-9_-]{1,100}){0,7}\Z")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_HOST: Final = re.compile(r"(\*\.)?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,10}(:[0-9]{1,5})?\Z")
_MOST_MICROS: Final = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text of one form, such as a place in an object."""

    form: re.Pattern[str]
    what: str
    blank: Any = ""

    def take(self, at: Marked, path: str, faults: Faults) -> str:
        """The text, where it has the form."""
        if isinstance(at.value, str) and self.form.match(at.value):
            return at.value
        said = shown(at.value) if isinstance(at.value, str) else at.kind
        faults.add(at, path, f"found {said!r}, expected {self.what}")
        return ""

    def plain(self, value: Any) -> Any:
        """The text."""
        return value

    def schema(self) -> dict[str, Any]:
        """A string of the form."""
        form = self.form.pattern.replace("\\Z", "")
        return {"type": "string", "pattern": f"^{form}$"}


@dataclass(frozen=True, slots=True)
class Matches:
    """Places, and the value that must stand at each."""

    most: int
    blank: Any = ()

    def take(
        self, at: Marked, path: str, faults: Faults
    ) -> tuple[tuple[str, str | int | bool], ...]:
        """Pairs of place and value."""
        if not isinstance(at.value, dict) or len(at.value) > self.most:
            faults.add(at, path, f"found {at.kind}, expected a mapping of {self.most} at most")
            return ()
        found = []
        for place, child in at.value.items():
            if not _PLACE.match(place) or not isinstance(child.value, str | int | bool):
                faults.add(child, f"{path}.{shown(place)}", "expected a place and a plain value")
            else:
                found.append((place, child.value))
        return tuple(found)

    def plain(self, value: Any) -> Any:
        """A mapping."""
        return dict(value)

    def schema(self) -> dict[str, Any]:
        """An object of plain values."""
        plain = {"type": ["string", "integer", "boolean"]}
        return {"type": "object", "maxProperties": self.most, "additionalProperties": plain}


@dataclass(frozen=True, slots=True)
class Settings:
    """Variables and what they are set to."""

    most: int
    blank: Any = ()

    def take(self, at: Marked, path: str, faults: Faults) -> tuple[tuple[str, str], ...]:
        """Pairs of name and text."""
        if not isinstance(at.value, dict) or len(at.value) > self.most:
            faults.add(at, path, f"found {at.kind}, expected a mapping of {self.most} at most")
            return ()
        found = []
        for name, child in at.value.items():
            fits = isinstance(child.value, str) and len(child.value) <= 1_000
            if not _VARIABLE.match(name) or not fits or "\0" in child.value:
                faults.add(
                    child, f"{path}.{shown(name)}", "expected a variable and text (quote it)"
                )
            else:
                found.append((name, child.value))
        return tuple(found)

    def plain(self, value: Any) -> Any:
        """A mapping."""
        return dict(value)

    def schema(self) -> dict[str, Any]:
        """An object of texts."""
        text = {"type": "string", "maxLength": 1_000}
        return {"type": "object", "maxProperties": self.most, "additionalProperties": text}


@dataclass(frozen=True, slots=True)
class Inner:
    """A record within a record; ``blank`` where it is absent."""

    record: Record
    blank: Any = None

    def take(self, at: Marked, path: str, faults: Faults) -> Any:
        """The record."""
        found = self.record.take(at, path, faults)
        return self.blank if found is None else found

    def plain(self, value: Any) -> Any:
        """A mapping."""
        return None if value is None else self.record.plain(value)

    def schema(self) -> dict[str, Any]:
        """The record's."""
        return self.record.schema()


_AT: Final = Pattern(_PLACE, "a place such as usage.input_tokens")
_WORDS: Final = Many(Text(4_000, null=False), 100)
_STATUSES: Final = Many(Whole(0, 255), 20)
_MICROS: Final = Whole(0, _MOST_MICROS)

READING: Final = Record(
    "what to read from an object",
    (
        Part("when", Matches(8), "Places and values that an object must have."),
        Part("text", _AT, "Where the agent's last words are."),
        Part("session", _AT, "Where its session id is."),
        Part("cost_usd", _AT, "Where the cost in dollars is."),
        Part("input_tokens", _AT, "Where the number of input tokens is."),
        Part("cached_tokens", _AT, "Where the number of cached input tokens is."),
        Part("output_tokens", _AT, "Where the number of output tokens is."),
        Part("failed", _AT, "An object that matches says a failure; where its message is."),
    ),
    Reading,
)

PRICES: Final = Record(
    "prices",
    (
        Part("input", _MICROS, "Micro-units for a million input tokens.", required=True),
        Part("output", _MICROS, "Micro-units for a million output tokens.", required=True),
        Part("cached", _MICROS, "The same for cached input tokens.", absent=None),
    ),
    Prices,
)

EXITS: Final = Record(
    "exit statuses",
    (
        Part("done", _STATUSES, "Statuses that mean that it came to its end.", absent=(0,)),
        Part("declined", _STATUSES, "Statuses that mean that it would not."),
        Part("failed", _STATUSES, "Statuses that mean that it could not."),
    ),
    Exits,
)


def _judged(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with the parts of a declaration taken together."""
    found = []
    words = {name: parts[name] for name in ("command", "with_model", "with_spend")}
    words["set"] = tuple(text for _, text in parts["set"])
    for name, texts in words.items():
        for word in texts:
            unknown = sorted(set(_BRACED.findall(word)) - PLACEHOLDERS)
            if unknown:
                known = ", ".join(sorted(PLACEHOLDERS))
                found.append((name, f"{{{unknown[0]}}} is not known, expected one of {known}"))
            if "{command}" in word and word != "{command}":
                found.append((name, "{command} stands for several words: it must stand alone"))
    command = " ".join(parts["command"])
    if not parts["command"]:
        found.append(("command", "found no word, expected a program and its arguments"))
    wants = parts["brief"] is BriefWay.ARGUMENT
    if wants != ("{brief_text}" in command):
        found.append(("brief", "brief: argument and {brief_text} in the command belong together"))
    if parts["read"] and parts["output"] is Speaks.TEXT:
        found.append(("read", "only an output of json or json-lines can be read"))
    return found


AGENT: Final = Record(
    "a declaration of an agent",
    (
        Part("agent", Label(), "Its name.", "name", required=True),
        Part("extends", Label(), "The declaration that says what this one does not."),
        Part("about", Text(1_000), "What it is."),
        Part("source", Text(1_000), "Where its formats are described, and when that was read."),
        Part("command", _WORDS, "The program and its arguments; no shell reads them."),
        Part("with_model", _WORDS, "Words that follow where a model is named."),
        Part("with_spend", _WORDS, "Words that follow where spend is reserved."),
        Part("brief", Word(BriefWay), "How the brief goes in."),
        Part("output", Word(Speaks), "What standard output is."),
        Part("report", Word(ReportWay), "Whether it writes report.json."),
        Part("transcript", Word(Transcript), "Which output is kept as the transcript."),
        Part("read", Many(Inner(READING), 20), "What to take from the output."),
        Part("prices", Inner(PRICES), "What tokens cost, where it tells no cost."),
        Part("exits", Inner(EXITS, Exits()), "What exit statuses mean."),
        Part("environment", Many(Pattern(_VARIABLE, "the name of a variable"), 50),
             "Variables that it is given, where they are set."),
        Part("set", Settings(20), "Variables that it is given, and their texts."),
        Part("egress", Many(Pattern(_HOST, "a host, or host:port"), 50),
             "Hosts that it must reach."),
        Part("needs_sandbox", Flag(), "Whether it bounds itself by nothing but the sandbox."),
    ),
    lambda extends, **parts: Agent(**parts),
    unmake=lambda agent: {"extends": ""} | {f.name: getattr(agent, f.name) for f in fields(agent)},
    judge=_judged,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration, and the mapping that it was read from, for those that extend it."""

    agent: Agent
    at: Marked


def declared(
    data: bytes, known: Mapping[str, Marked], reserved: frozenset[str] = frozenset()
) -> tuple[list[Declared], list[Problem]]:
    """The declarations of a file, one document each, and every problem.

    ``known`` are those that may be extended, to which each of the file is added in turn. ``reserved``
    are names that the file may not give.
    """
    if len(data) > MAX_BYTES:
        return [], [Problem(1, 1, "", f"found {len(data)} bytes, at most {MAX_BYTES} are read")]
    documents, problems = read(data)
    faults = Faults()
    found: list[Declared] = []
    bases = dict(known)
    for at in documents:
        whole = _extended(at, bases, faults)
        agent = AGENT.take(whole, "$", faults)
        if agent is None:
            continue
        if agent.name in reserved or any(one.agent.name == agent.name for one in found):
            said = "comes with remit" if agent.name in reserved else "stands here twice"
            message = f"{shown(agent.name)} {said}: give another name, with extends: NAME"
            faults.add(at.value["agent"], "$.agent", message)
        bases[agent.name] = whole
        found.append(Declared(agent, whole))
    if not documents and not problems:
        problems.append(Problem(1, 1, "", "found no declaration"))
    return found, sorted([*problems, *faults.problems], key=lambda p: (p.line, p.column))


def written(agent: Agent) -> str:
    """An agent as a declaration that says all of it, in YAML."""
    text: str = yaml.safe_dump(AGENT.plain(agent), sort_keys=False, width=100, allow_unicode=True)
    return text


def _extended(at: Marked, bases: Mapping[str, Marked], faults: Faults) -> Marked:
    """A declaration with what it does not say itself; faults of what it extends are not its own."""
    if not isinstance(at.value, dict) or "extends" not in at.value:
        return at
    named = at.value["extends"]
    base = bases.get(named.value) if isinstance(named.value, str) else None
    if base is None:
        known = ", ".join(sorted(bases)) or "none"
        faults.add(named, "$.extends", f"there is no such declaration, expected one of {known}")
        return at
    return Marked(base.value | at.value, at.line, at.column)
