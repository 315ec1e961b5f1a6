"""Answers of the command line: one object for programs, one line for what went wrong.

A command returns its data, or raises ``Stop`` with the refusal of a rule; trouble with the world
arrives as ``RemitError``. This module turns each of them into what scripts match on: the envelope of
``--json`` with its schema version, and the exit status of the code (``remit.core.refusals``). It
prints no tables and imports nothing that a cold read could do without.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from remit.core.refusals import Code, Refused, meaning
from remit.surfaces.cli.visible import visible

SCHEMA_VERSION: Final = 1
"""Version of the envelope and of the names in it."""

LONGEST_LINE: Final = 2_000
"""Most characters of an error for people; the envelope of ``--json`` holds all of it."""


class Stop(Exception):  # noqa: N818  # it may be a refusal, which is an answer and no error
    """The command ends with a refusal."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found or did.

    ``data`` is the interface's object. ``show`` prints it for people on a ``Screen``. A command that
    was carried out may still say no (6) or find damage (7): ``exit_status`` is then not 0.
    ``printed`` says that the command has written its answer itself.
    """

    data: Mapping[str, Any]
    show: Callable[[Any, Mapping[str, Any]], None] | None = None
    exit_status: int = 0
    printed: bool = False


def stop(code: Code, message: str, hint: str = "", **details: Any) -> Stop:
    """A refusal of the command line itself, ready to be raised."""
    return Stop(Refused(code, message, hint, details))


def envelope(data: Mapping[str, Any]) -> bytes:
    """An answer in its envelope, as one line."""
    import msgspec

    whole = {"schema_version": SCHEMA_VERSION, "data": data}
    try:
        return msgspec.json.encode(whole) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(_sound(whole)) + b"\n"


def print_data(data: Mapping[str, Any]) -> None:
    """Write the envelope of an answer to standard output."""
    write_out(envelope(data))


def print_error(refused: Refused, *, json: bool) -> int:
    """Write an error to standard error, and return its exit status."""
    if json:
        import msgspec

        error = {
            "code": refused.code.value,
            "message": refused.message,
            "hint": refused.hint,
            "details": dict(refused.details),
        }
        whole = {"schema_version": SCHEMA_VERSION, "error": error}
        line = msgspec.json.encode(_sound(whole)).decode()
    else:
        hint = f"; {refused.hint}" if refused.hint else ""
        line = visible(f"error[{refused.code.value}]: {refused.message}{hint}", LONGEST_LINE)
    if sys.stderr is not None:
        print(line, file=sys.stderr)
    return meaning(refused.code).exit_status


def write_out(data: bytes) -> None:
    """Write bytes to standard output, all of them."""
    stream = sys.stdout
    buffer = getattr(stream, "buffer", None)
    stream.flush()
    if buffer is None:
        stream.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
        buffer.flush()
    stream.flush()


@contextmanager
def telling(command_id: str = "") -> Iterator[None]:
    """The time in which an answer is written: where that fails, the command itself is done.

    Raises ``Stop`` with what to do then; a reader that went away is left to the caller.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        quiet_pipe()
        again = f"repeat it with --command-id {command_id}" if command_id else "repeat it"
        raise stop(
            Code.UNEXPECTED,
            f"cannot write the answer to standard output: {error.strerror}",
            f"what was asked is done; to see the answer, {again}",
            command_id=command_id,
        ) from error


def flush_out() -> None:
    """Flush standard output; a reader that went away is no error (the pipe is closed quietly)."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        quiet_pipe()


def quiet_pipe() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    void = os.open(os.devnull, os.O_WRONLY)
    os.dup2(void, 1)
    os.close(void)


def _sound(value: Any) -> Any:
    """The same value with text that UTF-8 can hold (arguments may be any bytes)."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_sound(str(key)): _sound(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(part) for part in value]
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)
