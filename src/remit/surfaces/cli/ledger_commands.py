"""Commands on the ledger itself: verify, replay, backup, restore, adopt, redact.

None of them changes an event. ``verify`` believes nothing that is stored; ``restore`` never replaces
a file; a copy takes no writes until a human adopts it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.refusals import Code, Refused
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import LOOK, OPERATE, reads, stands, writes
from remit.surfaces.cli.groups import ledger
from remit.surfaces.cli.planning import event_of
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen


def _verified(screen: Screen, data: Any) -> None:
    for problem in data["problems"]:
        where = f"seq {problem['seq']}, {problem['where']}" if problem["seq"] else problem["where"]
        screen.line(f"{where}: found {problem['found']}, expected {problem['expected']}")
    if data["truncated"]:
        screen.line("there are more problems than are named")
    state = "broken" if data["problems"] else "whole"
    screen.line(f"the ledger is {state}: {data['events']} events", "bold")
    screen.line(f"root {data['root']}")
    if data["unproved"]:
        said = ", ".join(f"{number} {name}" for name, number in data["unproved"].items())
        screen.line(f"unproved (the actor is a label): {said}")
    if data["signatures"]:
        screen.line(f"{data['signatures']} signatures verified")
    for root in data["roots"]:
        screen.line(
            f"rests on the key {root['fingerprint']} of {root['actor']} (seq {root['seq']})"
        )
    if not data["rows_compared"]:
        screen.line("rows were not compared with the events")


@stands(
    ledger,
    "verify",
    OPERATE,
    "remit ledger verify",
    "remit ledger verify --size 120 --root 5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456",
)
def verify(
    session: Session,
    root: Annotated[
        str, typer.Option("--root", metavar="HEX", help="The root that was noted earlier.")
    ] = "",
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="N", min=0, help="How many events it was noted over."),
    ] = None,
) -> Answer:
    """Check every event, signature, blob and row; exits 7 with the first bad one named first.

    Note events and root somewhere else: given back with --size and --root, they show a cut or
    rewritten ledger.
    """
    from remit.core.evolve import evolve
    from remit.service.integrity import verify as check
    from remit.wiring.signing import signatures

    if root and (len(root) != 64 or set(root.lower()) - set("0123456789abcdef")):
        raise stop(
            Code.BAD_INPUT, f"--root is {root!r}, expected 64 hexadecimal digits", "see its note"
        )
    with shown(session) as report:
        found = check(
            session.ledger.store,
            fold=evolve,
            root=root.lower() or None,
            size=size,
            progress=lambda done, total: report("events", done, total),
            signatures=signatures(),
        )
    problems = [
        {"seq": p.seq or None, "where": p.where, "found": p.found, "expected": p.expected}
        for p in found.problems
    ]
    data = {
        "events": found.events,
        "root": found.root,
        "anchored_through": size if root and not problems else 0,
        "problems": problems,
        "first_bad_seq": found.first_bad_seq,
        "unproved": dict(found.unproved),
        "unproved_acts": [{"seq": a.seq, "type": a.type, "actor": a.actor} for a in found.acts],
        "signatures": found.signed,
        "roots": [
            {"seq": r.seq, "actor": r.actor, "fingerprint": r.fingerprint} for r in found.roots
        ],
        "rows_compared": found.rows_compared,
        "truncated": found.truncated,
    }
    return Answer(data, _verified, 7 if problems else 0)


def _replayed(screen: Screen, data: Any) -> None:
    for one in data["differences"]:
        screen.line(f"{one['table']} {one['id']}: found {one['found']}, expected {one['expected']}")
    screen.line(f"{data['events']} events folded; {len(data['differences'])} rows differed")
    if data["swapped"]:
        screen.line("the folded rows are in place")


@stands(ledger, "replay", OPERATE, "remit ledger replay", "remit ledger replay --swap")
def replay(
    session: Session,
    swap: Annotated[
        bool, typer.Option("--swap", help="Put the folded rows in place of the others.")
    ] = False,
) -> Answer:
    """Fold all events again and compare the rows; exits 7 where they differ and were left."""
    from remit.core.evolve import evolve
    from remit.service.integrity import replay as fold

    with shown(session) as report:
        found = fold(
            session.ledger.store,
            fold=evolve,
            swap=swap,
            progress=lambda done, total: report("events", done, total),
        )
    differences = [
        {"table": d.table, "id": d.id, "found": d.found, "expected": d.expected}
        for d in found.differences
    ]
    data = {
        "events": found.events,
        "differences": differences,
        "swapped": swap and bool(differences),
    }
    return Answer(data, _replayed, 7 if differences and not swap else 0)


def _copied(screen: Screen, data: Any) -> None:
    screen.line(f"{data['path']}: {data['events']} events of {data['ledger_id']}")


@stands(ledger, "backup", OPERATE, "remit ledger backup ../ledger-backup.db")
def backup(
    session: Session, path: Annotated[Path, typer.Argument(metavar="PATH", help="A new file.")]
) -> Answer:
    """Copy the ledger into a new file while it is in use; the copy is checked before it is named."""
    from remit.wiring import backup as copy

    made = copy(session.ledger, path)
    data = {
        "path": str(made.path),
        "ledger_id": made.ledger_id,
        "events": made.seq,
        "last_digest": made.digest,
    }
    return Answer(data, _copied)


def _restored(screen: Screen, data: Any) -> None:
    _copied(screen, data)
    screen.line("it takes no writes yet: make sure that no other copy is in use, then")
    screen.line(f"remit ledger adopt --ledger {data['ledger']} --reason WHY")


@stands(ledger, "restore", OPERATE, "remit ledger restore ../ledger-backup.db --to ./ledger.db")
def restore(
    session: Session,
    source: Annotated[Path, typer.Argument(metavar="FROM", help="The backup.")],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="PATH", help="A free name; default: where init would put it."),
    ] = None,
) -> Answer:
    """Copy a backup to a free name; it can be read, and takes no writes until it is adopted."""
    from remit.wiring import path_of, url_of
    from remit.wiring import restore as copy

    if to is None:
        named = session.options.ledger
        to = path_of(named) if named else finding.new_ledger(finding.place())
    url = url_of(to)
    opened = copy(source, url)
    try:
        with opened.reading() as tx:
            events = tx.head().seq
    finally:
        opened.close()
    data = {
        "ledger": url,
        "path": str(path_of(url)),
        "ledger_id": opened.store.ledger_id,
        "events": events,
    }
    return Answer(data, _restored)


def _adopted(screen: Screen, data: Any) -> None:
    screen.line(f"epoch {data['epoch']} (before: {data['previous']})")
    screen.line(f"{data['expired']} leases of earlier epochs ended")


@writes(ledger, "adopt", OPERATE, 'remit ledger adopt --reason "disk replaced" --epoch-above 3')
def adopt(
    session: Session,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the ledger.")],
    epoch_above: Annotated[
        int,
        typer.Option(
            "--epoch-above", metavar="N", min=0, help="The highest epoch known elsewhere."
        ),
    ] = 0,
) -> Answer:
    """Take a restored or copied ledger into use, as a human: a new epoch, earlier leases end.

    Do it once no other copy is in use.
    """
    from remit.service.adoption import adopt as take

    with shown(session) as report:
        found = take(
            session.operations,
            reason,
            epoch_above,
            command_id=session.command_id,
            progress=lambda done: report("leases", done, 0),
        )
    if isinstance(found, Refused):
        raise Stop(found)
    return Answer(found, _adopted)


def _redacted(screen: Screen, data: Any) -> None:
    screen.line(f"{data['digest']} is erased; every proof still holds")


@reads(ledger, "text", LOOK, "remit ledger text 5df6…9456", "remit ledger text 5df6…9456 --json")
def text(
    session: Session,
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help="A text_ref or log of 'remit show ID --json'.")
    ],
) -> Answer:
    """Print a text that the ledger keeps by its digest, such as what a check wrote."""
    found = None
    if re.fullmatch("[0-9a-f]{64}", digest):
        with session.reading() as tx:
            found = tx.blobs([digest]).get(digest)
    if found is None:
        raise stop(
            Code.BLOB_UNKNOWN,
            f"cannot print {digest[:80]!r}: no text has this digest, or it was redacted",
            "give the whole text_ref or log that 'remit show ID --json' names",
            digest=digest[:80],
        )
    data = {"digest": digest, "bytes": len(found), "text": found.decode("utf-8", "replace")}
    return Answer(data, lambda screen, shown: screen.raw(shown["text"]))


@writes(ledger, "redact", OPERATE, 'remit ledger redact 5df6…9456 --reason "personal data"')
def redact(
    session: Session,
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help="A text_ref or log of 'remit show ID --json'.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the ledger.")],
) -> Answer:
    """Erase the bytes of a text for good, as a human; its digest and every proof stay."""
    done = accepted(session.operations.redact(digest, reason, command_id=session.command_id))
    return Answer({"digest": digest, "event": event_of(done)}, _redacted)
