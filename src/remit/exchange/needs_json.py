"""A plan's traceability as ``needs.json``, the exchange format of sphinx-needs.

One object: a project, a current version, and for each version its needs by id, each with a type, a
title, its content, a status, and links by the ids of other needs. Ids there are capital letters,
digits and underscores, at least five of them, so ``R-1`` is written ``REQ_1``; the id on the ledger stands in
``remit_id``. Links go upwards, from what proves to what is proved, as tools of that family draw them;
results stand as needs of their own, so that a reader can tell evidence from plans.

Text is data here: it is encoded, never rendered, and whoever shows it makes it safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

TYPES: Final = {
    "G": ("goal", "Goal", "GOAL_"),
    "R": ("req", "Requirement", "REQ_"),
    "N": ("node", "Dependency node", "NODE_"),
    "V": ("row", "Verification row", "VROW_"),
    "W": ("item", "Work item", "ITEM_"),
}
"""Letter of an id -> type, its name, and how ids of it begin."""

RESULT: Final = ("result", "Verification result", "RESULT_")

FIELDS: Final = ("remit_id", "revision", "coverage", "commit", "risk")
"""Fields beside those of every need; each is text and may be empty."""

Data = Mapping[str, Any]


def need_id(name: str) -> str:
    """The id of a need: ``REQ_1`` for ``R-1`` and for any revision of it."""
    letter, _, rest = name.partition("@")[0].partition("-")
    return f"{TYPES[letter][2]}{rest}"


def needs_json(matrix: Data, objective: str, created: str, project: str) -> dict[str, Any]:
    """The whole file for one matrix; ``created`` is a time in RFC 3339.

    A matrix that was cut is refused with ValueError: half a trace passes for a whole one.
    """
    if matrix["truncated"]:
        raise ValueError("the matrix is cut: export it whole")
    needs = {each["id"]: each for each in _needs(matrix, objective)}
    version = matrix["revision"]
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            name: {"type": ["string", "null"], "default": "", "field_type": "extra"}
            for name in FIELDS
        },
    }
    return {
        "created": created,
        "current_version": version,
        "project": project,
        "versions": {
            version: {
                "created": created,
                "creator": {"program": "remit"},
                "needs": needs,
                "needs_amount": len(needs),
                "needs_schema": schema,
            }
        },
    }


def _needs(matrix: Data, objective: str) -> Iterator[dict[str, Any]]:
    goal = matrix["goal"]
    if goal:
        yield _need(goal, objective, revision=goal)
    nodes: dict[str, list[str]] = {}
    items: dict[str, tuple[Data, list[str]]] = {}
    rows: dict[str, tuple[Data, str]] = {}
    for line in matrix["requirements"]:
        yield _need(
            line["id"],
            line["label"],
            content=line["statement"],
            status=line["coverage"],
            links=[goal] if goal else [],
            revision=line["revision"],
            coverage=line["coverage"],
            risk=line["risk"],
        )
        for node in line["nodes"]:
            nodes.setdefault(node, []).append(line["id"])
        for item in line["items"]:
            items.setdefault(item["id"], (item, []))[1].append(line["id"])
        rows.update({row["id"]: (row, line["id"]) for row in line["rows"]})
    for name, covered in nodes.items():
        yield _need(name, name, links=covered)
    for name, (row, requirement) in rows.items():
        yield _need(name, row["label"], status=row["state"], links=[requirement])
    for name, (item, owned) in items.items():
        node = [item["node"]] if item["node"] in nodes else []
        mine = [row for row, (found, _) in rows.items() if found["item"] == name]
        yield _need(
            name,
            item["label"] or name,
            status=item["status"],
            links=[*node, *owned, *mine],
            commit=item["commit"] or "",
        )
        yield from _results(item, rows)


def _results(item: Data, rows: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for result in item["results"]:
        row, _, seq = result.partition("@")
        if row not in rows:
            continue
        kind, called, begin = RESULT
        yield {
            **_need(row, result, status=rows[row][0]["state"], links=[row, item["id"]]),
            "id": f"{begin}{row.partition('-')[2]}_{seq}",
            "type": kind,
            "type_name": called,
            "remit_id": result,
            "commit": item["commit"] or "",
        }


def _need(
    name: str,
    title: str,
    *,
    content: str = "",
    status: str = "",
    links: Iterable[str] = (),
    **more: str,
) -> dict[str, Any]:
    kind, called, _ = TYPES[name[0]]
    return {
        "id": need_id(name),
        "type": kind,
        "type_name": called,
        "title": title,
        "content": content,
        "status": status or None,
        "tags": [],
        "links": [need_id(each) for each in dict.fromkeys(links)],
        **dict.fromkeys(FIELDS, ""),
        "remit_id": name.partition("@")[0],
        **more,
    }
