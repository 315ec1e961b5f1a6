"""Options that describe verification rows, and the texts that commands read from files.

A command decides what it checks by being red somewhere: on the base, or on what shipped with a
declared patch. What comes from a file is bounded and must be UTF-8; it is data, never interpreted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from remit.core.refusals import Code
from remit.core.rows import PATCH_LIMIT_BYTES, Control, RowKind, RowSpec
from remit.surfaces.cli.answers import stop
from remit.surfaces.cli.inputs import read_bytes

Verify = Annotated[
    list[str] | None,
    typer.Option("--verify", metavar="CMD", help="A shell command that decides; may be repeated."),
]
Mutation = Annotated[
    Path | None,
    typer.Option(
        "--mutation",
        metavar="PATCH",
        help="A patch under which the command must fail, instead of on the base.",
    ),
]
RedReason = Annotated[
    str,
    typer.Option(
        "--red-reason", metavar="TEXT", help="What the output says where the command must fail."
    ),
]


def rows_of(
    commands: list[str] | None, mutation: Path | None, red_reason: str, rubric: str = ""
) -> tuple[RowSpec, ...]:
    """Verification rows that run shell commands, with the control asked for, and one of a rubric.

    Raises ``BAD_INPUT`` where a mutation or a reason does not belong to exactly one command.
    """
    given = commands or []
    if any(not command.strip() for command in given):
        raise stop(
            Code.BAD_INPUT,
            "--verify is empty, expected a shell command",
            "name the command whose exit status decides, or leave --verify out",
        )
    if (mutation is not None or red_reason) and len(given) != 1:
        raise stop(
            Code.BAD_INPUT,
            f"--mutation and --red-reason belong to one --verify, found {len(given)}",
            "give one --verify with them; 'remit edit' adds further rows",
        )
    if mutation is not None and not red_reason:
        raise stop(
            Code.BAD_INPUT,
            "a mutation declares for what reason it makes the command fail",
            "say what its output must contain: --red-reason TEXT",
        )
    patch = read_text(mutation, PATCH_LIMIT_BYTES) if mutation is not None else None
    control = Control.BASE_RED if patch is None else Control.MUTATION
    scored = [RowSpec(RowKind.RUBRIC, rubric=rubric, control=Control.NONE)] if rubric else []
    run = [
        RowSpec(
            RowKind.COMMAND,
            ("sh", "-c", command),
            control=control,
            red_reason=red_reason or None,
            patch=patch,
        )
        for command in given
    ]
    return (*run, *scored)


def read_text(file: Path, limit: int) -> str:
    """A text file, or standard input for ``-``. Raises ``INPUT_PROBLEM`` with what is wrong."""
    data = read_bytes(file, limit, "give a shorter text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot read {file}: byte {error.start} is not UTF-8",
            "give a text in UTF-8",
        ) from error
