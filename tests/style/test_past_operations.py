"""Nobody who works reaches past the canonical operations, and nobody has a transition of its own (INV-17).

The import contracts keep stores and decisions away; what an import does not show is the way through an
object that was handed over: a store's writer, the engine behind the operations, what only the service may
say that it saw. So the calls themselves are looked for, in every room above the service.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from remit.core.status import TRANSITIONS

ROOT = Path(__file__).resolve().parents[2] / "src" / "remit"
ROOMS = ("drain", "surfaces", "workers", "demo")
ANSWERS = {"Answer", "Done"}
"""What of the engine is a value and not a way in."""

EVENTS = {"item_events", "work_events", "limit_events"}
"""Where events of items are made."""

SEEN = {"observed", "adopting"}
WRITERS = {"append", "put_blobs", "erase_blobs"}


def last(node: ast.expr) -> str:
    """The last name of an expression: ``store`` of ``self.work.store``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def breaches(text: str) -> list[str]:
    """The lines of a module that reach past the operations."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "remit.service.engine":
            found += [f"{node.lineno}: {a.name}" for a in node.names if a.name not in ANSWERS]
        if isinstance(node, ast.Attribute) and node.attr == "engine":
            found.append(f"{node.lineno}: .engine")
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        on, what = last(node.func.value), node.func.attr
        if what == "write" and on in ("store", "_store"):
            found.append(f"{node.lineno}: {on}.write")
        if what in SEEN and on in ("operations", "acting", "work", "judging", "ops"):
            found.append(f"{node.lineno}: {on}.{what}")
        if what in WRITERS and on in ("tx", "writer"):
            found.append(f"{node.lineno}: {on}.{what}")
    return found


def makes_item_events(text: str) -> list[str]:
    """Calls that make an event of an item."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in EVENTS
        for alias in node.names
    }
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return [f"{node.lineno}: {last(node.func)}" for node in calls if last(node.func) in names]


@pytest.mark.parametrize("room", ROOMS)
def test_inv_17_no_module_above_the_service_reaches_past_the_operations(room: str) -> None:
    modules = sorted((ROOT / room).rglob("*.py"))
    assert modules
    found = {
        str(path.relative_to(ROOT)): lines
        for path in modules
        if (lines := breaches(path.read_text()) + makes_item_events(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "from remit.service.engine import Engine",
        "self.work.engine.run([])",
        "with self.work.store.write() as tx: pass",
        "tx.append([])",
        "self.work.observed([command], [''])",
    ],
)
def test_each_way_past_them_would_be_seen(line: str) -> None:
    assert breaches(line)


def test_an_event_that_is_made_would_be_seen() -> None:
    assert makes_item_events("from remit.core.item_events import NoteAdded\nNoteAdded('x', '')")
    assert not makes_item_events(
        "from remit.core.item_events import NoteAdded\nisinstance(x, NoteAdded)"
    )


def test_inv_17_there_are_twelve_transitions_and_none_is_a_drains() -> None:
    numbers = sorted(row.id for row in TRANSITIONS.values())
    assert numbers == [f"T{n:02}" for n in range(1, 13)]
