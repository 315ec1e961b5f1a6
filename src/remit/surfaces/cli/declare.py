"""Declaring a command: a plain function becomes a command with the global options and an ending.

A command function takes a ``Session`` and its own options and returns an ``Answer``. The decorators
here add ``--ledger``, ``--as``, ``--json`` and the other global options to its signature, so that
they may stand before or after the command's name, and print what it answers. No command parses a
global option or prints by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, get_type_hints

import typer

from remit import __version__
from remit.core.refusals import Code
from remit.ports import OutcomeUnknown, RemitError
from remit.surfaces.cli.answers import Answer, Stop, print_data, stop, telling
from remit.surfaces.cli.session import Options, Session

GLOBAL: Final = "Global options"

START: Final = "Start"
PLAN: Final = "Plan: write work down"
WORK: Final = "Work: from a lease to a verified commit"
LOOK: Final = "Look: ask the ledger"
OPERATE: Final = "Operate: actors, rules, policy, the ledger itself"

_LEDGER = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="The ledger, such as sqlite:///path. Default: REMIT_LEDGER, then the repository's own,"
        " then the nearest .remit/ledger.db upwards.",
        rich_help_panel=GLOBAL,
    ),
]
_ACTOR = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="ACTOR",
        help="Who acts (a label). Default: REMIT_ACTOR, then the name of the user.",
        rich_help_panel=GLOBAL,
    ),
]
_JSON = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object for programs.", rich_help_panel=GLOBAL),
]
_QUIET = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print ids only, and no progress.", rich_help_panel=GLOBAL),
]
_NO_COLOR = Annotated[
    bool,
    typer.Option("--no-color", help="Print no colours (also: NO_COLOR).", rich_help_panel=GLOBAL),
]
_AT = Annotated[
    int | None,
    typer.Option(
        "--at",
        metavar="SEQ",
        help="Answer as of just after this event of the ledger.",
        rich_help_panel=GLOBAL,
    ),
]
_COMMAND_ID = Annotated[
    str,
    typer.Option(
        "--command-id",
        metavar="ID",
        help="Repeat a command with the same id and it is done once.",
        rich_help_panel=GLOBAL,
    ),
]
_KEY = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Sign as the acting human with this key, by ssh-keygen.",
        rich_help_panel=GLOBAL,
    ),
]
_STATEMENT = Annotated[
    str,
    typer.Option(
        "--statement",
        metavar="FILE",
        help="Sign elsewhere: writes what is to be signed; repeat once FILE.sig is there.",
        rich_help_panel=GLOBAL,
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"remit {__version__}")
        raise typer.Exit


_VERSION = Annotated[
    bool,
    typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
]

_EVERYWHERE: Final = (
    ("ledger", _LEDGER, ""),
    ("as_", _ACTOR, ""),
    ("json", _JSON, False),
    ("quiet", _QUIET, False),
    ("no_color", _NO_COLOR, False),
)
_READS: Final = (*_EVERYWHERE, ("at", _AT, None))
_WRITING: Final = (
    ("command_id", _COMMAND_ID, ""),
    ("key", _KEY, ""),
    ("statement", _STATEMENT, ""),
)
_WRITES: Final = (*_EVERYWHERE, *_WRITING)

Run = Callable[..., Answer]


def reads(app: typer.Typer, name: str, panel: str, *examples: str) -> Callable[[Run], Run]:
    """Declare a command that only reads; it takes ``--at``."""
    return _declare(app, name, panel, examples, _READS)


def writes(app: typer.Typer, name: str, panel: str, *examples: str) -> Callable[[Run], Run]:
    """Declare a command that changes the ledger; it takes ``--command-id``."""
    return _declare(app, name, panel, examples, _WRITES)


def stands(app: typer.Typer, name: str, panel: str, *examples: str) -> Callable[[Run], Run]:
    """Declare a command that neither reads as of a seq nor has a command id."""
    return _declare(app, name, panel, examples, _EVERYWHERE)


def root_options(app: typer.Typer) -> None:
    """Let the global options stand before the command's name as well."""

    def root(ctx: typer.Context, **given: Any) -> None:
        given.pop("version")
        ctx.obj = _options(given)

    _sign(root, [], (("version", _VERSION, False), *_READS, *_WRITING))
    app.callback()(root)


def _declare(
    app: typer.Typer,
    name: str,
    panel: str,
    examples: Sequence[str],
    options: Sequence[tuple[str, Any, Any]],
) -> Callable[[Run], Run]:
    def decorate(run: Run) -> Run:
        hints = get_type_hints(run, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in list(inspect.signature(run).parameters.values())[1:]
        ]

        def call(ctx: typer.Context, **given: Any) -> int:
            before = ctx.obj if isinstance(ctx.obj, Options) else Options()
            _demand_taken(before, name, options)
            here = {key: given.pop(key) for key, _, _ in options}
            return carry_out(run, Session(_options(here).over(before)), given)

        _sign(call, own, options)
        call.__doc__ = _paragraphs(run.__doc__ or "")
        shown = "\n\n".join(("Examples:", *examples)) if examples else None
        app.command(name, rich_help_panel=panel, epilog=shown)(call)
        return run

    return decorate


def _demand_taken(before: Options, name: str, options: Sequence[tuple[str, Any, Any]]) -> None:
    """Refuse a global option before the command's name that the command does not take."""
    taken = [option for option, _, _ in options]
    given = (
        ("at", before.at),
        ("command_id", before.command_id or None),
        ("key", before.key or None),
        ("statement", before.statement or None),
    )
    for option, value in given:
        if value is not None and option not in taken:
            shown = f"--{option.replace('_', '-')}"
            kind = "only reads take it" if option == "at" else "only what changes the ledger does"
            raise stop(
                Code.BAD_INPUT, f"'remit {name}' does not take {shown}", f"leave it out: {kind}"
            )


def _paragraphs(text: str) -> str:
    """A docstring with its paragraphs on one line each, so that the terminal wraps them."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part.replace("\n", " ") for part in parts)


def _sign(call: Any, own: Sequence[inspect.Parameter], options: Sequence[Any]) -> None:
    """Give a function the signature from which its command line is made."""
    ctx = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default in options
    ]
    positional = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    parameters = [ctx, *positional, *added]
    call.__signature__ = inspect.Signature(parameters)
    call.__annotations__ = {p.name: p.annotation for p in parameters}


def _options(given: dict[str, Any]) -> Options:
    renamed = {("actor" if key == "as_" else key): value for key, value in given.items()}
    return Options(**renamed)


def carry_out(run: Run, session: Session, given: dict[str, Any]) -> int:
    """Run a command, print its answer, and return the exit status."""
    try:
        answer = run(session, **given)
    except KeyboardInterrupt:
        raise _interrupted(session.used_command_id) from None
    except RemitError as trouble:
        raise _repeatable(trouble, session) from trouble
    finally:
        session.close()
    if answer.printed:
        return answer.exit_status
    with telling(session.used_command_id):
        _tell(answer, session)
    return answer.exit_status


def _tell(answer: Answer, session: Session) -> None:
    if session.options.json:
        print_data(answer.data)
    else:
        from remit.surfaces.cli.screen import essence, screen_of

        screen = screen_of(session.options)
        if session.options.quiet:
            screen.lines(essence(answer.data))
        elif answer.show is not None:
            answer.show(screen, answer.data)


def _interrupted(used: str) -> Stop:
    again = f"; repeat with --command-id {used} to carry on" if used else ""
    return stop(Code.INTERRUPTED, "interrupted", f"what was committed stays{again}")


def _repeatable(trouble: RemitError, session: Session) -> RemitError:
    """Name the command id with which the command may be repeated, where that is what helps."""
    used = session.used_command_id
    if not used or trouble.code not in (Code.OUTCOME_UNKNOWN, Code.STORE_UNAVAILABLE):
        return trouble
    kind = OutcomeUnknown if trouble.code is Code.OUTCOME_UNKNOWN else type(trouble)
    hint = f"{trouble.hint}; repeat with --command-id {used}"
    details = {**trouble.details, "command_id": used}
    return kind(trouble.message, hint, details, trouble.code)
