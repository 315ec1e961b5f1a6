"""What one worker keeps beside the ledger: what it asked, before it asked, and what it was told.

One JSON value a line, each written by one call to the system, so that a worker that is killed leaves
whole lines and at most one torn end. A torn question was never asked, since it is written first; a
torn answer is as good as none. The log shares no code with the store but the columns of an event.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from remit.core.events import Recorded
from remit.core.refusals import Refused
from remit.service.engine import Answer
from remit.stores.codec import columns_of, recorded_of

AWAY: Final = "away"
UNKNOWN: Final = "unknown"
AGAIN: Final = "again"
ANSWERED: Final = "answered"

STALE: Final = frozenset(("STALE_FENCE", "LEASE_EXPIRED"))
"""Refusals of a write that came too late."""


class Part(msgspec.Struct, omit_defaults=True):
    """The answer to one element: events as columns, or the code of a refusal."""

    events: list[list[Any]] = []
    repeated: bool = False
    refused: str = ""


class Line(msgspec.Struct, omit_defaults=True):
    """One line: a life that began (``life``), a question (``args``) or what came of one (``came``).

    ``made`` is how many items the worker had created when it asked.
    """

    at: int
    life: int = 0
    made: int = 0
    id: str = ""
    op: str = ""
    args: list[list[Any]] = []
    came: str = ""
    parts: list[Part] = []


@dataclass
class Asked:
    """One call: its elements, each attempt's outcome in order, and the last answer."""

    id: str
    op: str
    args: list[list[Any]]
    asked_us: int
    made: int = 0
    came: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    answered_us: int = 0

    @property
    def ids(self) -> list[str]:
        """The command id of each element."""
        return element_ids(self.id, self.op, len(self.args))

    @property
    def was_unknown(self) -> bool:
        """Whether there was a time at which nobody could tell whether it was done."""
        return UNKNOWN in self.came or AGAIN in self.came

    @property
    def happened(self) -> bool:
        """Whether the answer said that it had been done by an earlier attempt."""
        return any(part.repeated for part in self.parts)


def element_ids(command_id: str, op: str, elements: int) -> list[str]:
    """Ids of a call's elements; a ``turn`` is a list of pairs, a single element is no list."""
    if op == "turn":
        elements *= 2
    elif elements == 1:
        return [command_id]
    return [f"{command_id}/{i}" for i in range(elements)]


def now_us() -> int:
    """A clock that all processes of this machine share."""
    return time.monotonic_ns() // 1_000


class SideLog:
    """The log of one worker, open for its next line."""

    def __init__(self, path: Path) -> None:
        self._mend(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._encode = msgspec.json.Encoder().encode

    def _mend(self, path: Path) -> None:
        """Cut off what a killed worker had not finished writing."""
        if path.exists():
            content = path.read_bytes()
            os.truncate(path, content.rfind(b"\n") + 1)

    def _write(self, line: Line) -> None:
        data = self._encode(line) + b"\n"
        while data:
            data = data[os.write(self._file, data) :]

    def born(self, life: int) -> None:
        """A life of the worker begins."""
        self._write(Line(now_us(), life=life))

    def ask(self, command_id: str, op: str, args: list[list[Any]], made: int) -> None:
        """What is about to be asked."""
        self._write(Line(now_us(), made=made, id=command_id, op=op, args=args))

    def came(self, command_id: str, what: str) -> None:
        """An attempt that brought no answer, or another one that begins."""
        self._write(Line(now_us(), id=command_id, came=what))

    def told(self, command_id: str, answers: Sequence[Answer]) -> None:
        """The answer."""
        parts = [
            Part(refused=answer.code.value)
            if isinstance(answer, Refused)
            else Part([_plain(r) for r in answer.events], answer.repeated)
            for answer in answers
        ]
        self._write(Line(now_us(), id=command_id, came=ANSWERED, parts=parts))


def _plain(r: Recorded) -> list[Any]:
    found: list[Any] = list(columns_of("", r))
    found[8] = found[8].decode()
    for i in (9, 11, 12):
        found[i] = found[i].hex() if isinstance(found[i], bytes) else found[i]
    return found


def event_of(plain: list[Any]) -> Recorded:
    """The event that a worker was told of."""
    row = list(plain)
    row[8] = row[8].encode()
    row[11] = bytes.fromhex(row[11] or "")
    return recorded_of(tuple(row))


def read(path: Path, tail: int = 0) -> tuple[int, list[Asked]]:
    """How many lives a worker had, and what it asked, in order.

    With ``tail`` only what begins in the last so many bytes: enough for a worker that lives again,
    which asks one thing at a time.
    """
    decode = msgspec.json.Decoder(Line).decode
    lives = 0
    asked: dict[str, Asked] = {}
    with path.open("rb") as file:
        if 0 < tail < path.stat().st_size:
            file.seek(-tail, os.SEEK_END)
            file.readline()
        for text in file:
            if not text.endswith(b"\n"):
                break
            line = decode(text)
            if line.life:
                lives = line.life
            elif line.args:
                lives = max(lives, int(line.id.split(".")[1]))
                asked[line.id] = Asked(line.id, line.op, line.args, line.at, line.made)
            elif line.id in asked or not tail:
                found = asked[line.id]
                found.came.append(line.came)
                if line.came == ANSWERED:
                    found.parts, found.answered_us = line.parts, line.at
    return lives, list(asked.values())
