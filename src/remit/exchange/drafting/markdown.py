"""A draft from a goal in Markdown: headings are clauses, entries of lists are requirements.

The first heading and the text below it are the objective. Sections with well-known names hold what
is not wanted, open questions, sources and authority; every other heading is a clause. An entry of a
list is a requirement of its clause, entries inside it say how one would know. Text that is neither
becomes a part of its clause, so nothing is lost; an entry that is ticked off is left out by name.

The grammar is CommonMark's, read by its parser: nothing is rendered, and no link is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.core.planning.bundle import Clause
from remit.exchange.backlog import unix_line_ends
from remit.exchange.drafting.draft import (
    Draft,
    Left,
    LeftOut,
    Outline,
    Wish,
    bad_text,
    bundle_of,
    fit,
    fit_label,
    fit_title,
    says_open,
    unique,
)

MOST_BYTES: Final = 16 * 1024 * 1024

SECTIONS: Final = {
    "non_goals": (
        "non goals",
        "non-goals",
        "nongoals",
        "not in scope",
        "out of scope",
        "not wanted",
    ),
    "gaps": ("open questions", "questions", "unclear", "ambiguities", "to be decided", "tbd"),
    "provenance": ("sources", "source", "provenance", "references", "background"),
    "authority": ("authority", "owner", "owners", "sponsor"),
}
"""Names of sections with a meaning of their own."""

_TICK: Final = re.compile(r"\[([ xX])\]\s+")
_NUMBER: Final = re.compile(r"^[\d.)\s]+")
_WORDS: Final = re.compile(r"[^\w]+")


class BadMarkdownError(ValueError):
    """A file cannot be read as Markdown."""


@dataclass(slots=True)
class Entry:
    """One entry of a list: its text, and the entries inside it."""

    text: str
    inside: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """A heading with what stands below it."""

    level: int
    heading: str
    texts: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


def draft_markdown(path: Path, name: str) -> Draft:
    """A draft from a Markdown file. Raises ``BadMarkdownError``."""
    data = path.read_bytes()
    if len(data) > MOST_BYTES:
        raise BadMarkdownError(f"it has {len(data)} bytes, at most {MOST_BYTES} are read")
    try:
        text = unix_line_ends(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadMarkdownError(f"byte {error.start} is not UTF-8") from None
    if bad_text(text):
        raise BadMarkdownError("it has a NUL character")
    return _Goal(list(sections(text)), path.name, name).draft()


def sections(text: str) -> Iterator[Section]:
    """The headings of a text with what stands below each; first what stands before any.

    A heading within an entry of a list is a text of that entry.
    """
    from markdown_it import MarkdownIt

    here = Section(0, "")
    stack: list[Entry] = []
    heading = False
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "heading_open" and not stack:
            yield here
            here, heading = Section(int(token.tag[1:]), ""), True
        elif token.type == "heading_close":
            heading = False
        elif token.type == "list_item_open":
            entry = Entry("")
            (stack[-1].inside if stack else here.entries).append(entry)
            stack.append(entry)
        elif token.type == "list_item_close":
            stack.pop()
        elif words := _said(token):
            if heading:
                here.heading = words
            elif stack:
                stack[-1].text = f"{stack[-1].text}\n\n{words}".strip()
            else:
                here.texts.append(words)
    yield here


def _said(token: Any) -> str:
    """The source of a token that holds text of its own."""
    if token.type in ("inline", "code_block", "fence", "html_block"):
        return str(token.content).strip()
    return ""


def _meaning(heading: str) -> str:
    named = " ".join(_WORDS.split(_NUMBER.sub("", heading).casefold())).strip()
    found = (
        part
        for part, names in SECTIONS.items()
        if named in {" ".join(_WORDS.split(n)) for n in names}
    )
    return next(found, "")


class _Goal:
    """The sections of a goal, put where they belong."""

    def __init__(self, found: list[Section], source: str, name: str) -> None:
        self.source = source
        self.name = name
        self.sections = found
        self.outline = Outline(fit_label(name, "goal"), "")
        self.wishes: list[Wish] = []
        self.left: list[LeftOut] = []
        self.row = 0
        self.taken: set[str] = set()

    def draft(self) -> Draft:
        """The draft."""
        first = next((one for one in self.sections if one.heading), None)
        for section in self.sections:
            if section.heading:
                self.row += 1
            if section is first or not section.heading:
                self._objective(section)
            elif meaning := _meaning(section.heading):
                self._special(section, meaning)
            else:
                self._clause(section)
        outline = self.outline
        outline.provenance.append(self.source)
        if not outline.objective:
            outline.objective = f"What {self.source} asks for."
            outline.gaps.append(("objective", "What is wanted? The text does not say."))
        if says_open(outline.objective):
            outline.gaps.append(("open-words", "The objective says that something is open."))
        bundle = bundle_of(fit_label(self.name, "plan"), outline, self.wishes, rated=False)
        return Draft(bundle, self.row, self.row - len(self.left), tuple(self.left))

    def _objective(self, section: Section) -> None:
        said = [section.heading, *section.texts]
        self.row += len(section.texts)
        whole = "\n\n".join(part for part in (self.outline.objective, *said) if part)
        self.outline.objective = fit(whole)
        if section.entries:
            self._entries(section, section.heading or self.name, "\n".join(section.texts[:1]))

    def _special(self, section: Section, meaning: str) -> None:
        texts = [*section.texts, *(_whole(entry) for entry in section.entries)]
        self.row += len(texts)
        if meaning == "gaps":
            self.outline.gaps += [(_slug(text, "question"), text) for text in texts]
        elif meaning == "authority":
            self.outline.authority = fit("\n".join([self.outline.authority, *texts]))
        else:
            getattr(self.outline, meaning).extend(texts)

    def _clause(self, section: Section) -> None:
        self.row += len(section.texts)
        self._entries(section, section.heading, "\n\n".join([section.heading, *section.texts]))

    def _entries(self, section: Section, heading: str, text: str) -> None:
        label = unique(_slug(heading, "clause"), [c.label for c in self.outline.clauses])
        said = bool(section.texts or section.entries)  # else it only holds other headings
        self.outline.clauses.append(Clause(label, fit(text or heading), said))
        for entry in section.entries:
            self.row += 1
            self._wish(entry, label)

    def _wish(self, entry: Entry, clause: str) -> None:
        ticked = _TICK.match(entry.text)
        text = entry.text[ticked.end() :] if ticked else entry.text
        if ticked and ticked[1] != " ":
            self.left.append(
                LeftOut(self.row, _slug(text, "entry"), Left.ALREADY_DONE, "ticked off")
            )
            return
        title = fit_title(text.partition("\n")[0])
        if not title:
            self.left.append(LeftOut(self.row, "", Left.EMPTY, "the entry says nothing"))
            return
        label = unique(_slug(title, "entry"), self.taken)
        self.taken.add(label)
        inside = tuple(fit(_whole(one)) for one in entry.inside)
        self.wishes.append(
            Wish(
                label,
                title,
                fit(text),
                clause=clause,
                acceptance=inside,
                sources=(f"{self.source}, under {clause}",),
            )
        )


def _whole(entry: Entry) -> str:
    """An entry with all inside it, as one text."""
    inside = [f"- {_whole(one)}" for one in entry.inside]
    return "\n".join([entry.text, *inside]).strip()


def _slug(text: str, otherwise: str) -> str:
    """A short label from the words of a text."""
    words = [word for word in _WORDS.split(text.casefold()) if word][:6]
    return fit_label("-".join(words)[:60].strip("-_") or otherwise, otherwise)
