"""The full command line: all commands put together, run, and their errors of usage answered.

Importing this loads the framework and every module of commands, which the quick way in avoids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import typer

from remit.core.refusals import Code
from remit.surfaces.cli import (
    actors,
    agents,
    deciding,
    decisions,
    drafting,
    draining,
    following,
    integrating,
    ledger_commands,
    limiting,
    looking,
    moving,
    operating,
    parity,
    planning,
    plans,
    priming,
    proving,
    running,
    scenarios,
    serving,
    starting,
    submitting,
    tracing,
    triaging,
    working,
)
from remit.surfaces.cli.answers import stop
from remit.surfaces.cli.declare import LOOK, OPERATE, PLAN, START, WORK
from remit.surfaces.cli.groups import app

COMMANDS: Final = (
    starting,
    planning,
    plans,
    drafting,
    working,
    draining,
    priming,
    submitting,
    serving,
    deciding,
    integrating,
    decisions,
    looking,
    triaging,
    tracing,
    moving,
    running,
    actors,
    operating,
    agents,
    limiting,
    ledger_commands,
    following,
    proving,
    parity,
    scenarios,
)
"""Modules whose import declares commands."""

PANELS: Final = (START, PLAN, WORK, LOOK, OPERATE)
"""The order in which help shows groups of commands."""

app.registered_commands.sort(key=lambda info: PANELS.index(str(info.rich_help_panel)))

_USAGE: Final = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


def run(arguments: Sequence[str]) -> int:
    """Run one command of the full command line, and return its exit status."""
    try:
        status = app(args=list(arguments), prog_name="remit", standalone_mode=False)
    except SystemExit as left:  # the framework's answer to a pipe that nobody reads
        if isinstance(left.__context__, BrokenPipeError):
            raise BrokenPipeError from left
        raise
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not isinstance(error, _USAGE):
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "remit"
        message = _said(error)
        if type(error).__name__ == "NoArgsIsHelpError" and "--json" not in arguments:
            print(message)
            return 2
        raise stop(Code.BAD_INPUT, message.strip().rstrip("."), f"see '{path} --help'") from error
    return status if isinstance(status, int) else 0


def _said(error: Exception) -> str:
    formatted = getattr(error, "format_message", None)
    return str(formatted() if formatted is not None else error)
