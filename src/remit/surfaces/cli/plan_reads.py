"""What is asked of a plan bundle before it is applied: is it sound, what would it change, its graph.

Each function answers with the interface's object alone; ``plans`` adds what people see. Nothing here
loads the command-line framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.inputs import read_bytes, wrong
from remit.surfaces.cli.session import Session

if TYPE_CHECKING:
    from remit.core.planning.bundle import Bundle

USAGE = 2
REFUSED = 3


def counts(bundle: Bundle) -> dict[str, int]:
    """How many records of each kind a plan has."""
    return {
        name: len(getattr(bundle, name)) for name in ("requirements", "nodes", "rows", "items")
    } | {"edges": sum(len(node.edges) for node in bundle.nodes)}


def bundle_in(file: str) -> Bundle:
    """The plan in a file. Raises ``INPUT_PROBLEM`` with every fault of its form."""
    from remit.wiring.plans import FILE_LIMIT_BYTES, read_plan

    path = Path(file)
    bundle, problems = read_plan(read_bytes(path, FILE_LIMIT_BYTES))
    if bundle is None:
        raise wrong("plan", path, problems)
    return bundle


def check(session: Session, *, file: str, limit: int = 0) -> Answer:
    """``plan check``: every problem of a bundle; 2 where the file is at fault, 3 where the plan is."""
    from remit.wiring.plans import FILE_LIMIT_BYTES, digest, judge

    judged = judge(read_bytes(Path(file), FILE_LIMIT_BYTES))
    problems = [problem.as_data() for problem in judged.problems]
    shown = problems[:limit] if limit else problems
    bundle = judged.bundle
    data = {
        "file": file,
        "plan": bundle.name if bundle else "",
        "revision": "",
        "digest": digest(bundle) if bundle and not judged.malformed else "",
        "counts": counts(bundle) if bundle else {},
        "problems": shown,
        "total": len(problems),
        "blocking": sum(problem["blocking"] for problem in problems),
        "truncated": len(shown) < len(problems),
    }
    status = USAGE if judged.malformed else REFUSED if judged.blocking else 0
    return Answer(data, exit_status=status)


def diff(session: Session, *, file: str, other: str = "") -> Answer:
    """``plan diff``: what leads from one plan to another, and the human decisions that this needs."""
    from remit.core.planning.authority import needed
    from remit.core.planning.difference import difference
    from remit.wiring.plans import digest

    if not other:
        raise stop(Code.BAD_INPUT, "there is nothing to compare with", "name a second file")
    old: Bundle | None = bundle_in(file)
    new = bundle_in(other)
    found = difference(old, new)
    data = {
        "plan": new.name,
        "old": digest(old) if old else "",
        "digest": digest(new),
        "empty": found.empty,
        "added": [_named(each.kind, each.label) for each in _added(found)],
        "changed": [
            _named(each.kind, each.label) | {"fields": [_change(change) for change in each.fields]}
            for each in found.changed
        ],
        "removed": [_named(kind, label) for kind, label in found.removed],
        "renamed": _change(found.name) if found.name and old else None,
        "needs": [asdict(need) for need in needed(old, new)],
        "problems": [],
    }
    return Answer(data)


def _added(found: Any) -> list[Any]:
    from remit.core.planning.difference import Changed, name_of

    return [Changed(*name_of(record), ()) for record in found.added]


def _named(kind: str, label: str) -> dict[str, Any]:
    return {"kind": kind, "label": label}


def _change(change: Any) -> dict[str, Any]:
    return {"field": change.field, "old": _built(change.old), "new": _built(change.new)}


def _built(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def graph(
    session: Session, *, file: str, form: str = "text", around: str = "", out: str = ""
) -> Answer:
    """``plan graph``: the dependency graph as a drawing."""
    from remit.wiring.plans import draw

    bundle = bundle_in(file)
    text, nodes, arrows = draw(bundle, form, around)
    data: dict[str, Any] = {"plan": bundle.name, "format": form, "nodes": nodes, "edges": arrows}
    if out:
        write_text(Path(out), text)
        return Answer(data | {"path": out})
    return Answer(data | {"graph": text})


def schema(session: Session) -> Answer:
    """``plan schema``: the JSON Schema of a bundle's file."""
    from remit.wiring.plans import plan_schema

    return Answer({"schema": plan_schema()})


def write_text(path: Path, text: str) -> None:
    """Write a file in one go, in place of what was there. Raises ``INPUT_PROBLEM``."""
    import os

    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot write {path}: {error.strerror}",
            "see that its folder is there, can be written and has room",
            path=str(path),
        ) from error
    finally:
        part.unlink(missing_ok=True)


def free(path: Path, force: bool) -> None:
    """See that a file may be written. Raises ``BAD_INPUT`` where something has its name."""
    if path.exists() and not force:
        raise stop(
            Code.BAD_INPUT,
            f"cannot write {path}: there is something of that name",
            "give another name, or --force to write over it",
            path=str(path),
        )


def lines_of(data: Mapping[str, Any]) -> list[str]:
    """The problems of a check as an editor takes them: file, line, column, what is wrong."""
    return [
        f"{data['file']}:{p['line']}:{p['column']}: {p['path']}: {p['message']}"
        + (f" [{p['code']}]" if p["blocking"] else f" [{p['code']}, advice]")
        for p in data["problems"]
    ]
