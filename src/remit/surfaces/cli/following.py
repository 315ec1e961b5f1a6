"""``ledger follow``: events as they come, a line each, for people, pipes and programs.

Every line is flushed before the position behind it is kept. Nothing is read while a line is written,
so a slow reader of the pipe holds no snapshot open. While nothing happens the pipe is watched: when
its reader goes, this ends at once and quietly. What events hold came from outside and is made
visible before it reaches a terminal.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code
from remit.surfaces.cli import cursor
from remit.surfaces.cli.answers import Answer, envelope, stop, telling, write_out
from remit.surfaces.cli.declare import OPERATE, stands
from remit.surfaces.cli.groups import ledger
from remit.surfaces.cli.session import Session, required
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from remit.ports import RemitError, Store
    from remit.service.feed import Entry, Position

NOTE: Final = 200
"""Most characters of what a line says of an event."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are printed; what is empty asks for all."""

    types: frozenset[str]
    stream: str
    item: str

    def takes(self, entry: Entry) -> bool:
        """Whether an event is asked for: an item's are its own, its attempts' and requirements'."""
        recorded = entry.recorded
        if self.types and type(recorded.event).__name__ not in self.types:
            return False
        if self.stream and recorded.stream != self.stream:
            return False
        of = (recorded.stream, getattr(recorded.event, "item", ""))
        return not self.item or self.item in of


@dataclass(slots=True)
class Printer:
    """Writes events, and keeps the position behind what was written."""

    session: Session
    wanted: Wanted
    kept: Path | None
    position: Position
    limit: int
    printed: int = 0
    lines: list[bytes] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether as many events were printed as were asked for."""
        return bool(self.limit) and self.printed >= self.limit

    def take(self, entries: Iterable[Entry]) -> None:
        """Print what is wanted of these, as far as the limit goes."""
        before = position = self.position
        for entry in entries:
            if self.done:
                break
            position = entry.after
            if self.wanted.takes(entry):
                self.lines.append(self._line(entry))
                self.printed += 1
        if self.lines:
            with telling():
                write_out(b"".join(self.lines))
            self.lines = []
        self.position = position
        if self.kept is not None and position != before:
            cursor.save(self.kept, position)

    def _line(self, entry: Entry) -> bytes:
        from remit.service.reading import rendering

        if self.session.options.quiet:
            return f"{entry.after.seq}\n".encode()
        found = rendering.event(entry.recorded)
        if self.session.options.json:
            return envelope({**found, "digest": entry.after.digest})
        return _shown(found).encode("utf-8", "backslashreplace")


def _shown(event: dict[str, Any]) -> str:
    """An event as a line for people: nothing in it can break the line or move a cursor."""
    from remit.surfaces.cli.showing import note

    cells = (
        str(event["seq"]).rjust(6),
        event["at"],
        event["actor"],
        event["stream"],
        event["type"],
    )
    said = visible(note(event), NOTE)
    return "  ".join([*(visible(cell) for cell in cells), *([said] if said else [])]) + "\n"


@stands(
    ledger,
    "follow",
    OPERATE,
    "remit ledger follow --after 120",
    "remit ledger follow --cursor ../seen.json --json",
    "remit ledger follow --item W-4 --type LeaseGranted --no-wait",
)
def follow(
    session: Session,
    after: Annotated[
        int, typer.Option("--after", metavar="SEQ", min=0, help="Begin after this event.")
    ] = 0,
    new: Annotated[
        bool, typer.Option("--new", help="Begin with the next event that comes.")
    ] = False,
    kept: Annotated[
        Path | None,
        typer.Option(
            "--cursor",
            metavar="FILE",
            help="Go on where this file says, and keep there how far the output went; where there"
            " is no such file, --after or --new say where to begin.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="End after N events; 0: never.")
    ] = 0,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only events of this type; may be repeated."),
    ] = None,
    stream: Annotated[
        str, typer.Option("--stream", metavar="STREAM", help="Only events of this stream.")
    ] = "",
    item: Annotated[
        str, typer.Option("--item", metavar="ID", help="Only events of this item.")
    ] = "",
    no_wait: Annotated[
        bool,
        typer.Option("--no-wait", "--once", help="End with the newest event instead of waiting."),
    ] = False,
) -> Answer:
    """Print every event in order of seq, then each new one as it comes, until interrupted.

    Nothing is left out, and nothing comes twice, but for events that were written to the output when
    this was killed before their cursor was kept. With --json each event is one object on a line.
    A ledger that was cut, put back or exchanged since its cursor was kept is refused.
    """
    from remit.service import feed

    wanted = _wanted(session, kinds or [], stream, item)
    store = session.ledger.store
    begun = cursor.load(kept) if kept is not None else None
    if begun is not None:
        feed.demand(store, begun)
    else:
        begun = feed.newest(store) if new else feed.position_at(store, after)
        if kept is not None:
            cursor.save(kept, begun)
    printer = Printer(session, wanted, kept, begun, limit)
    pages = _pages(session, begun, no_wait=no_wait)
    try:
        while not printer.done and (page := next(pages, None)) is not None:
            printer.take(page)
    except KeyboardInterrupt:
        raise _interrupted(printer) from None
    return Answer({}, printed=True)


def _wanted(session: Session, kinds: list[str], stream: str, item: str) -> Wanted:
    """What is asked for. Raises ``BAD_INPUT`` for a type that no event has, ``NOT_FOUND``."""
    import remit.core.work_events  # noqa: F401  # fills the registry
    from remit.core.events import EVENTS
    from remit.service.reading.items import find

    unknown = [kind for kind in kinds if kind not in EVENTS]
    if unknown:
        from difflib import get_close_matches

        near = get_close_matches(unknown[0], EVENTS, 3, 0.4) or sorted(EVENTS)[:3]
        raise stop(
            Code.BAD_INPUT,
            f"there is no event of type {unknown[0]!r}, expected one such as {', '.join(near)}",
            "write it as 'remit show' and 'remit ledger follow' do",
            types=sorted(EVENTS),
        )
    name = ""
    if item:
        with session.ledger.reading() as tx:
            name = required(find(tx, item))
    return Wanted(frozenset(kinds), stream, name)


def _pages(session: Session, begun: Position, *, no_wait: bool) -> Iterator[Iterable[Entry]]:
    """Pages up to the newest event, or for ever."""
    from remit.service import feed

    def again() -> Store:
        session.close()
        return session.ledger.store

    def told(trouble: RemitError | None) -> None:
        if not session.options.quiet:
            said = f"waiting: {trouble.message}" if trouble else "following again"
            print(visible(f"remit ledger follow: {said}"), file=sys.stderr, flush=True)

    store = session.ledger.store
    if not no_wait:
        yield from feed.follow(store, begun, wait=_wait, again=again, told=told)
        return
    page: list[Entry] = []
    for entry in feed.entries(store, begun):
        page.append(entry)
        if len(page) == feed.PAGE:
            yield page
            page = []
    yield page


def _wait(seconds: float) -> None:
    """Wait, unless whoever reads the output goes away, which ends everything quietly."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # there is no pipe to watch
        time.sleep(seconds)
        return
    watch = select.poll()
    watch.register(output, 0)
    if any(seen & select.POLLERR for _, seen in watch.poll(seconds * 1_000)):
        raise BrokenPipeError


def _interrupted(printer: Printer) -> Exception:
    where = f"--cursor {printer.kept}" if printer.kept else f"--after {printer.position.seq}"
    return stop(
        Code.INTERRUPTED,
        f"interrupted after event {printer.position.seq}",
        f"go on with {where}",
        seq=printer.position.seq,
    )
