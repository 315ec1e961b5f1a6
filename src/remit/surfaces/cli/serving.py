"""``worker``: run the handlers of an app until stopped, and say what happens meanwhile.

The work is done in ``remit.workers``; here are its options, its signals and its lines. People see a
line at the start, one when something goes wrong, and now and then how much was done, all on standard
error; programs get one object a line on standard output. The first SIGTERM or SIGINT lets what runs
finish, the second hands it back at once. A worker that leaves a live lease behind exits with 8.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code, meaning
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Answer, envelope, flush_out, quiet_pipe, stop, write_out
from remit.surfaces.cli.declare import WORK, stands
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.signing import TOKEN
from remit.surfaces.cli.visible import visible
from remit.surfaces.cli.working import duration_ms

if TYPE_CHECKING:
    from remit.workers.leaving import Report
    from remit.workers.worker import Worker

EVERY_S: Final = 5.0
"""Shortest time between two lines on how much was done."""

QUIET: Final = frozenset(("leased", "reported", "observed", "handed-back", "started"))
"""Events that people see as counts."""


AppName = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="The module, and its remit.App().")
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, max=1_000, help="Jobs at once.")
]
Classes = Annotated[
    list[str] | None,
    typer.Option("--class", metavar="NAME", help="Only this work class; may be repeated."),
]
Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="NAME", help="Only this tenant; may be repeated."),
]
MaxJobs = Annotated[
    int, typer.Option("--max-jobs", metavar="N", min=0, help="End after N jobs; 0: never.")
]
ExitWhenIdle = Annotated[
    bool, typer.Option("--exit-when-idle", help="End when nothing is ready and nothing runs.")
]
Ttl = Annotated[
    str,
    typer.Option(
        "--ttl",
        metavar="TIME",
        help="How long a lease holds unless it is renewed: 30s, 5m. Default: 60s.",
    ),
]
Grace = Annotated[
    str,
    typer.Option(
        "--grace",
        metavar="TIME",
        help="How long running jobs may take to finish after a stop. Default: 30s.",
    ),
]
Reconcile = Annotated[
    bool,
    typer.Option("--reconcile", help="Look effects up as well, where the app can reach them."),
]


class Teller:
    """Prints what a worker tells; called from several threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._said_at = time.monotonic()
        self._gone = False
        self.when_gone: Callable[[], None] = lambda: None

    def __call__(self, event: str, more: dict[str, Any]) -> None:
        """One event. Nothing is told any more once its reader has gone, which ``when_gone`` learns."""
        with self._lock:
            if self._gone:
                return
            try:
                self._tell(event, more)
            except BrokenPipeError:
                self._gone = True
                quiet_pipe()
        if self._gone:
            self.when_gone()

    def _tell(self, event: str, more: dict[str, Any]) -> None:
        if self._session.options.json:
            write_out(envelope({"event": event, **more}))
        elif not self._session.options.quiet and sys.stderr is not None:
            self._for_people(event, more)

    def _for_people(self, event: str, more: dict[str, Any]) -> None:
        self._counts[event] = self._counts.get(event, 0) + 1
        if event not in QUIET:
            told = ", ".join(f"{k} {v}" for k, v in more.items() if v not in ("", [], None, 0))
            self._say(f"{event}: {told}" if told else event)
        elif event == "started":
            self._say(
                f"{more['actor']}, {more['concurrency']} at once, {more['handlers']} handlers"
            )
        elif time.monotonic() - self._said_at > EVERY_S:
            self._said_at = time.monotonic()
            self._say(", ".join(f"{number} {name}" for name, number in self._counts.items()))

    def _say(self, text: str) -> None:
        print(visible(f"remit worker: {text}", 500), file=sys.stderr, flush=True)


@contextmanager
def stopped_by_signals(worker: Worker) -> Iterator[None]:
    """SIGTERM and SIGINT stop the worker for this time."""
    before = {
        number: signal.signal(number, lambda *_: worker.stop())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@stands(
    app,
    "worker",
    WORK,
    "remit worker exports:app --as bot-1",
    "remit worker exports:app --as bot-1 --concurrency 8 --class STANDARD --reconcile",
    "remit worker exports:app --as bot-1 --exit-when-idle --json",
)
def worker(
    session: Session,
    name: AppName,
    concurrency: Concurrency = 1,
    classes: Classes = None,
    tenants: Tenants = None,
    max_jobs: MaxJobs = 0,
    exit_when_idle: ExitWhenIdle = False,
    ttl: Ttl = "",
    grace: Grace = "",
    reconcile: Reconcile = False,
) -> Answer:
    """Run the handlers of an app for effect work that is ready, until stopped by SIGTERM or SIGINT.

    The first signal lets what runs finish within --grace, the second hands it back at once. What sent
    nothing goes back to the queue; what was intended is held until it is looked up. With --json each
    event is one object on a line.
    """
    from remit.workers.importing import app_named
    from remit.workers.main import make
    from remit.workers.settings import GRACE_S, TTL_MS, Settings

    found = app_named(name, finding.working_directory())
    settings = Settings(
        concurrency,
        frozenset(classes or ()),
        frozenset(tenants or ()),
        max_jobs,
        exit_when_idle,
        duration_ms("--ttl", ttl) or TTL_MS,
        reconcile,
        duration_ms("--grace", grace) / 1_000 or GRACE_S,
    )
    teller = Teller(session)
    shown = os.environ.get(TOKEN, "")
    made = make(session.ledger, session.actor, found, settings, teller, shown)
    teller.when_gone = made.stop
    teller("started", {"actor": session.actor, "concurrency": concurrency, "handlers": len(found.handlers)})  # fmt: skip
    with stopped_by_signals(made):
        report = made.run()
    return _ended(report)


def _ended(report: Report) -> Answer:
    """The end of the command; a handler that never returned ends with the process."""
    status = 0
    if report.left:
        refused = stop(
            Code.STORE_UNAVAILABLE,
            f"leases may still be live: {', '.join(report.left)}",
            "they run out by themselves; see 'remit fleet' or 'remit list --status leased'",
            leases=list(report.left),
        )
        if not report.still_running:
            raise refused
        status = meaning(Code.STORE_UNAVAILABLE).exit_status
    if report.still_running:
        # A handler that never returns must not keep the process, nor run while it is taken apart.
        flush_out()
        os._exit(status)
    if report.kept_back:
        raise stop(
            Code(report.kept_back),
            "there is work that is ready, and the kill switch keeps it from being leased",
            "a human releases it with 'remit kill-switch release'",
        )
    return Answer({}, printed=True)
