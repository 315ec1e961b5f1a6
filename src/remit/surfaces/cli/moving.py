"""Moving a ledger: export all of it as lines, and make another ledger of them, on any store.

Events and root are the same on both sides; the import compares them and refuses a file that was
changed or cut. Two ledgers with one identity must never both be worked on, so the new one takes no
writes until somebody adopts it, having seen that the old one is left alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import OPERATE, stands
from remit.surfaces.cli.groups import ledger
from remit.surfaces.cli.session import Session

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen


def _exported(screen: Screen, data: Any) -> None:
    screen.line(f"{data['path']}: {data['lines']} lines")
    screen.line(f"next: remit ledger import {data['path']} --to URL")


@stands(ledger, "export", OPERATE, "remit ledger export ../ledger.jsonl")
def export(
    session: Session, path: Annotated[Path, typer.Argument(metavar="PATH", help="A new file.")]
) -> Answer:
    """Write all events and texts of the ledger as lines, to make another ledger of.

    The file is named only once it is whole and on the disk. It holds every text that the ledger
    holds: keep it as safe as the ledger.
    """
    from remit.wiring import export_lines

    if path.exists():
        raise stop(
            Code.LEDGER_EXISTS,
            f"cannot export to {path}: there is something of that name",
            "give another name, or move it away",
            path=str(path),
        )
    part = path.with_name(f".{path.name}.{os.getpid()}")
    count = 0
    try:
        with part.open("xb") as file:
            for line in export_lines(session.ledger):
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except OSError as error:
        raise stop(
            Code.STORE_UNAVAILABLE,
            f"cannot export to {path}: {error.strerror}",
            "see that the folder is there, can be written and has room",
            path=str(path),
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return Answer({"path": str(path), "lines": count}, _exported)


def _imported(screen: Screen, data: Any) -> None:
    screen.line(f"{data['ledger']}: {data['events']} events of {data['ledger_id']}")
    screen.line(f"root {data['root']}")
    screen.line("it takes no writes yet: leave the ledger that it came from alone, then")
    screen.line(f"remit ledger adopt --ledger {data['ledger']} --reason WHY")


@stands(
    ledger, "import", OPERATE, "remit ledger import ../ledger.jsonl --to sqlite:///srv/ledger.db"
)
def take(
    session: Session,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="What export wrote.")],
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The ledger to make.")],
) -> Answer:
    """Make a ledger of an export, with the same events and the same root, on any store.

    Running it again goes on where it stopped. The new ledger takes no writes until it is adopted,
    and one that is in use takes no import.
    """
    from remit.wiring import import_lines

    try:
        with path.open("rb") as file:
            opened, moved = import_lines(to, file)
    except OSError as error:
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot import {path}: {error.strerror}",
            "name a file that 'remit ledger export' wrote",
            path=str(path),
        ) from error
    opened.close()
    data = {
        "ledger": opened.store.url,
        "ledger_id": opened.store.ledger_id,
        "events": moved.events,
        "blobs": moved.blobs,
        "root": moved.root,
    }
    return Answer(data, _imported)
