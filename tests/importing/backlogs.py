"""Synthetic Beads backlogs: large ones for measuring, small and crooked ones for testing.

``write_backlog`` writes as many rows as are asked for, with texts, closed rows, epics with parts and
edges in the mixture that real backlogs have; the same count and seed give the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

STATUSES: Final = ("open", "open", "open", "closed", "closed", "in_progress", "blocked")


def edge(row: str, target: str, kind: str | None = "blocks") -> dict[str, Any]:
    """One edge of a row; without a kind where that is None."""
    found = {"issue_id": row, "depends_on_id": target}
    return found if kind is None else {**found, "type": kind}


def entry(name: str, status: str = "open", *edges: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One row with what an importer needs of it."""
    found = {
        "id": name,
        "title": f"Title of {name}",
        "description": "",
        "status": status,
        "priority": 2,
        "issue_type": "task",
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        **more,
    }
    if status == "closed":
        found.setdefault("closed_at", "2026-02-02T03:04:05Z")
    if edges:
        found["dependencies"] = list(edges)
    return found


def large(rows: int, seed: int = 1) -> Iterable[dict[str, Any]]:
    """Rows of a large backlog: one in twenty is an epic, most others belong to one."""
    chance = random.Random(seed)
    epic = ""
    for number in range(rows):
        name = f"project-{number:07d}"
        edges = []
        if number % 20 == 0:
            epic = name
            yield entry(name, "open", issue_type="epic", description="An epic. " * 20)
            continue
        if chance.random() < 0.7:
            edges.append(edge(name, epic, "parent-child"))
        if chance.random() < 0.5:
            far = chance.randrange(1, 200)
            edges.append(edge(name, f"project-{max(0, number - far):07d}"))
        if chance.random() < 0.1:
            edges.append(edge(name, f"project-{chance.randrange(rows):07d}", "related"))
        text = "What is to be done, and why. " * chance.randrange(1, 20)
        status = chance.choice(STATUSES)
        yield entry(name, status, *edges, description=text, priority=chance.randrange(5))


def write(path: Path, entries: Iterable[dict[str, Any]]) -> Path:
    """Write rows to a file; returns it."""
    with path.open("w", encoding="utf-8") as file:
        for one in entries:
            file.write(json.dumps(one, separators=(",", ":")) + "\n")
    return path


def write_backlog(path: Path, rows: int, seed: int = 1) -> Path:
    """Write a large backlog; returns its file."""
    return write(path, large(rows, seed))


def crooked(rows: int, seed: int) -> list[dict[str, Any]]:
    """A small backlog with edges of every kind to anywhere, deleted and absent rows included.

    Nothing waits for the parts of a deleted row: whether that can still be met depends on whether
    its parts come before or after it in the file, and it is put aside where they come after. Parents come before their parts, so that no row is its own ancestor.
    """
    chance = random.Random(seed)
    found = []
    statuses = ("open", "open", "blocked", "closed", "closed", "tombstone", "in_progress", "odd")
    reasons = ("done", "failed: it broke", "")
    kinds = ("blocks", "blocks", "conditional-blocks", "waits-for", "related", "odd-kind")
    for number in range(rows):
        name = f"c-{number}"
        edges: dict[tuple[str, str], dict[str, Any]] = {}
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            target, kind = f"c-{chance.randrange(rows + 2)}", chance.choice(kinds)
            edges[target, kind] = edge(name, target, kind)
        if number and chance.random() < 0.4:
            target = f"c-{chance.randrange(number)}"
            edges[target, "parent-child"] = edge(name, target, "parent-child")
        status = chance.choice(statuses)
        more = {"close_reason": chance.choice(reasons)} if status == "closed" else {}
        found.append(entry(name, status, *edges.values(), **more))
    deleted = {one["id"] for one in found if one["status"] == "tombstone"}
    for one in found:
        edges_of = one.get("dependencies", [])
        one["dependencies"] = [
            e for e in edges_of if e["type"] != "waits-for" or e["depends_on_id"] not in deleted
        ]
    chance.shuffle(found)
    return found
