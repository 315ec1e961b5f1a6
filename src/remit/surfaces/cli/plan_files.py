"""Where a plan is taken from and where it goes: a file, standard input, or the ledger.

A name stands for a file where there is one of that name, and else for a plan of the ledger. A file is
written in one go, and over another only where that was asked for.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import stop
from remit.surfaces.cli.inputs import read_bytes, wrong
from remit.surfaces.cli.session import Session, required

if TYPE_CHECKING:
    from remit.core.planning.bundle import Bundle
    from remit.wiring.plans import PlanFile

LISTS: Final = ("requirements", "nodes", "rows", "items")
"""The lists of a bundle."""


@contextmanager
def at_once() -> Iterator[None]:
    """A time without looking for garbage in cycles: a large plan makes none, and a fifth is saved."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def counts(bundle: Bundle) -> dict[str, int]:
    """How many records of each kind a plan has."""
    return {name: len(getattr(bundle, name)) for name in LISTS} | {
        "edges": sum(len(node.edges) for node in bundle.nodes)
    }


def bundle_in(file: str) -> Bundle:
    """The plan in a file. Raises ``INPUT_PROBLEM`` with every fault of its form."""
    from remit.wiring.plans import FILE_LIMIT_BYTES, read_plan

    path = Path(file)
    return sound(path, read_plan(read_bytes(path, FILE_LIMIT_BYTES)))


def sound(path: Path, reading: PlanFile) -> Bundle:
    """The plan that was read. Raises ``INPUT_PROBLEM`` with every fault of its form."""
    if reading.bundle is None or reading.problems:
        raise wrong("plan", path, reading.problems)
    return reading.bundle


def bundle_of(session: Session, name: str) -> tuple[Bundle, str]:
    """The plan in a file of this name, or else on the ledger, with its revision there."""
    if is_file(name):
        return bundle_in(name), ""
    if not has_ledger(session):
        raise stop(
            Code.NOT_FOUND,
            f"cannot find the plan {name!r}: there is no file of that name, and no ledger here",
            "name a file, or give --ledger",
        )
    return on_ledger(session, name)


def on_ledger(session: Session, name: str) -> tuple[Bundle, str]:
    """A plan of the ledger and its revision. Raises ``PLAN_UNKNOWN``."""
    from remit.service.planned import plan_fact, read_plan

    with session.reading() as tx:
        found: Bundle = required(read_plan(tx, name))
        fact = plan_fact(tx, name)
    return found, f"{fact.id}@{fact.revision}" if fact else ""


def is_file(name: str) -> bool:
    """Whether a name stands for a bundle's file (or standard input), not for a plan of a ledger."""
    return name == "-" or Path(name).is_file()


def has_ledger(session: Session) -> bool:
    """Whether a ledger was named or lies where this call stands."""
    import os

    from remit.surfaces.cli import finding

    named = session.options.ledger or os.environ.get("REMIT_LEDGER", "")
    return bool(named or finding.existing(finding.place()))


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
