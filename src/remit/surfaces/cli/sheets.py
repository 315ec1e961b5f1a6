"""Worksheets for people: as text on a screen, and as Markdown to put into a ticket or a review.

Both are drawn from the very data that ``--json`` prints. Whatever comes from outside is shown with its
controls made visible, and in Markdown every character that could be markup is escaped, so that no
message can write a heading, a link or a tag into somebody's report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit.surfaces.cli.visible import plain, visible

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen

Data = Mapping[str, Any]


ENVELOPE: Final = (
    ("worksheet", "id"),
    ("controlled condition", "controlled_condition"),
    ("system boundary", "system_boundary"),
    ("exact operation", "exact_operation"),
    ("logical effect", "logical_effect"),
)

LONGEST: Final = 1_000
"""Most characters of one value in Markdown."""

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>()#!|~&@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
"""What may be markup within a line; values never begin one."""


def pairs(sheet: Data) -> Iterator[tuple[str, Any]]:
    """What stands above the sections."""
    for name, key in ENVELOPE:
        yield name, sheet[key]
    span = sheet["span"]
    yield "span", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in span.items())
    for name, value in sheet["revisions"].items():
        shown = (
            ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        yield f"{name} revision", shown
    yield "out of scope", sheet["out_of_scope"]


def text(screen: Screen, data: Data) -> None:
    """A worksheet on a screen."""
    sheet = data["worksheet"]
    screen.line(sheet["question"], "bold")
    screen.line(f"{data['verdict']}: {data['reason'] or 'nothing stands against it'}")
    if any(section.get("lines") for section in sheet["sections"]):
        screen.line()
        screen.pairs(pairs(sheet))
    for section in sheet["sections"]:
        _section(screen, section)
    if data["how_to_open"]:
        screen.line()
        screen.line(f"next: {data['how_to_open']}")
    screen.line(f"as of seq {data['as_of_seq']}; not decided here: {plain(sheet['out_of_scope'])}")


def _section(screen: Screen, section: Data) -> None:
    lines, claims = section.get("lines") or [], section.get("claims")
    if not (section["checks"] or lines):
        return
    screen.line()
    headed = bool(lines or claims or section.get("boxes"))
    if headed:
        result = f": {section['result']}" if section["result"] else ""
        screen.line(f"{section['title'].upper()}{result}", "bold")
        for box in section.get("boxes") or []:
            screen.line(f"  [{'x' if box['chosen'] else ' '}] {box['name']}")
        screen.pairs((f"  {line['name']}", line["value"]) for line in lines)
    if section["checks"]:
        rows = [
            (c["result"], c["check"], c["observed"], c["required"], c["reason"] or c["evidence"])
            for c in section["checks"]
        ]
        first = "RESULT" if headed else section["title"].upper()
        screen.table((first, "CHECK", "OBSERVED", "REQUIRED", "WHY"), rows)
    if claims:
        screen.line(f"  safe claim: {claims['safe']}")
        screen.line(f"  claim limit: {claims['limit']}")
        for tempting in claims["unsupported"]:
            screen.line(f"  not supported: {tempting}")


# Markdown.


def escaped(value: Any) -> str:
    """A value as Markdown text on one line that no reader takes for markup."""
    shown = visible(plain(value), LONGEST)
    return _MARKUP.sub(r"\\\1", shown)


def markdown(screen: Screen, data: Data) -> None:
    """A worksheet as Markdown."""
    screen.raw("\n".join(_markdown(data)) + "\n")


def _markdown(data: Data) -> Iterator[str]:
    sheet = data["worksheet"]
    yield f"# {escaped(sheet['question'])}"
    yield ""
    yield f"**{escaped(data['verdict'])}** {escaped(data['reason'] or '')}".rstrip()
    yield ""
    yield from _table(("", ""), [(name, value) for name, value in pairs(sheet)])
    for section in sheet["sections"]:
        yield ""
        result = f": {escaped(section['result'])}" if section["result"] else ""
        yield f"## {escaped(section['title'])}{result}"
        yield from _body(section)
    if data["how_to_open"]:
        yield ""
        yield f"Next: {escaped(data['how_to_open'])}"


def _body(section: Data) -> Iterator[str]:
    boxes, lines, claims = section.get("boxes"), section.get("lines"), section.get("claims")
    if boxes:
        yield ""
        for box in boxes:
            yield f"- [{'x' if box['chosen'] else ' '}] {escaped(box['name'])}"
    if lines:
        yield ""
        yield from _table(("", ""), [(line["name"], line["value"]) for line in lines])
    if section["checks"]:
        yield ""
        yield from _table(
            ("result", "check", "observed", "required", "evidence", "reason"),
            [
                tuple(
                    c[k] for k in ("result", "check", "observed", "required", "evidence", "reason")
                )
                for c in section["checks"]
            ],
        )
    if claims:
        yield ""
        yield f"- Safe claim: {escaped(claims['safe'])}"
        yield f"- Claim limit: {escaped(claims['limit'])}"
        for tempting in claims["unsupported"]:
            yield f"- Not supported: {escaped(tempting)}"


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(escaped(cell) for cell in row) + " |"
