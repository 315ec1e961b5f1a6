"""The way into the command line, and the way out: every end of a call passes through here.

A read with ``--json`` takes the quick way; everything else goes to the full command line. Whatever
happens (a refusal, a store that is away, Ctrl-C, a reader that closed the pipe, a bug), the caller
gets one line with a code and an exit status that means something, never a traceback, unless
``REMIT_DEBUG=1`` asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from remit.core.refusals import Code, Refused, meaning
from remit.ports import RemitError
from remit.surfaces.cli import quick
from remit.surfaces.cli.answers import Stop, flush_out, print_error, quiet_pipe
from remit.surfaces.cli.session import Session


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _keep_descriptors()
    if sys.stdout is None:
        refused = Refused(
            Code.BAD_INPUT,
            "standard output is closed, so no answer could be written; nothing was done",
            "send it to a file, or to /dev/null",
        )
        return print_error(refused, json=wants_json(arguments))
    found = quick.parse(arguments)
    if found is None:
        return guarded(lambda: _run(arguments), wants_json(arguments))
    read, options, given = found
    session = Session(options)
    return guarded(lambda: quick.run(read, session, given), True, session)


def _run(arguments: list[str]) -> int:
    """The full command line; most of a short call is spent on this import."""
    from remit.surfaces.cli.app import run

    return run(arguments)


def guarded(work: Callable[[], int], json: bool, session: Session | None = None) -> int:
    """Run something to its end, and turn every way that it may fail into a line and a status."""
    try:
        status = work()
        flush_out()
    except Stop as stopped:
        return print_error(stopped.refused, json=json)
    except RemitError as trouble:
        refused = Refused(trouble.code, trouble.message, trouble.hint, trouble.details)
        return print_error(refused, json=json)
    except BrokenPipeError:
        quiet_pipe()
        return 0
    except KeyboardInterrupt:
        refused = Refused(Code.INTERRUPTED, "interrupted", "what was committed before stays")
        return print_error(refused, json=json)
    except Exception as error:  # noqa: BLE001  # the last line of defence: it is reported below
        return _unexpected(error, json=json)
    else:
        return status
    finally:
        if session is not None:
            session.close()


def _unexpected(error: Exception, *, json: bool) -> int:
    if os.environ.get("REMIT_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    said = f"{type(error).__name__}: {error}".strip()
    refused = Refused(
        Code.UNEXPECTED,
        f"something went wrong that should not: {said}",
        "set REMIT_DEBUG=1 and repeat to see where; please report it",
        {"error": type(error).__name__},
    )
    print_error(refused, json=json)
    return meaning(Code.UNEXPECTED).exit_status


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether errors of usage are to be written as JSON too."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


def _keep_descriptors() -> None:
    """Let no file that is opened later get the number of a standard stream that was closed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
