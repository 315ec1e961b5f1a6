"""Plan bundles written out: as YAML for people, and their JSON Schema for editors.

What is written reads back as an equal bundle. A part that says what its absence would say is left
out. The schema is made from the tables that the reader uses, so it cannot promise anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.core.planning.bundle import Bundle
from remit.documents.plan_tables import GOAL, LISTS
from remit.documents.plans import SCHEMA_LINE
from remit.documents.shapes import Label
from remit.documents.yaml_text import scalar, written

_ABOUT: Final = {
    "requirements": "What must come true.",
    "nodes": "The dependency graph.",
    "rows": "Planned evidence.",
    "items": "The work.",
}


def lines(bundle: Bundle, schema: str = "", notes: tuple[str, ...] = ()) -> Iterator[str]:
    """A bundle as lines of YAML, each with its line end.

    ``schema`` is where editors find the schema, ``notes`` stand as comments at the top.
    """
    if schema:
        yield f"{SCHEMA_LINE}{_comment(schema)}\n"
    for note in notes:
        yield f"# {_comment(note)}\n"
    yield f"plan: {scalar(bundle.name)}\n"
    yield "goal:\n"
    for line in written(GOAL.plain(bundle.goal), 2):
        yield f"{line}\n"
    for name, (_, table, _) in LISTS.items():
        records = getattr(bundle, name)
        if not records:
            continue
        yield f"{name}:\n"
        for record in records:
            parts = written(table.plain(record), 4)
            yield f"  - {next(parts)[4:]}\n"
            for line in parts:
                yield f"{line}\n"


def _comment(text: str) -> str:
    """A text that cannot end the line that it stands in."""
    return "".join(char if char.isprintable() else "?" for char in text)


def plain(bundle: Bundle) -> dict[str, Any]:
    """A bundle as text, numbers, lists and mappings: what JSON holds."""
    said: dict[str, Any] = {"plan": bundle.name, "goal": GOAL.plain(bundle.goal)}
    for name, (_, table, _) in LISTS.items():
        if getattr(bundle, name):
            said[name] = [table.plain(record) for record in getattr(bundle, name)]
    return said


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a bundle."""
    parts: dict[str, Any] = {
        "plan": Label().schema() | {"description": "The plan's name; revisions of it share it."},
        "goal": {"$ref": "#/$defs/goal"},
    }
    for name, (kind, _, most) in LISTS.items():
        parts[name] = {
            "type": ["array", "null"],
            "items": {"$ref": f"#/$defs/{kind}"},
            "maxItems": most,
            "description": _ABOUT[name],
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "remit plan bundle",
        "description": "Goal, requirements, dependency graph, verification rows and work items.",
        "type": "object",
        "additionalProperties": False,
        "required": ["plan", "goal"],
        "properties": parts,
        "$defs": {"goal": GOAL.schema()} | {k: table.schema() for k, table, _ in LISTS.values()},
    }
