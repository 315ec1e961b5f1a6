"""The record that a caller keeps beside a ledger: what it asked, before; what it was told, after.

A file of lines, each on the disk before the caller goes on, so that it outlives a ``kill -9`` of its
writer at any moment. ``words`` reads what one or more callers kept; a last line without an end was
never written. ``open_calls`` tells what a caller has yet to ask again, under the same command id.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.core.events import Recorded
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, RemitError
from remit.proofs.told import Account, Said, Word, account
from remit.service.engine import Done
from remit.stores.codec import columns_of, recorded_of

LEDGER = "told"
"""Stands for the ledger in a line: an event is read back without it."""


@dataclass(frozen=True)
class Open:
    """A call that has no certain answer yet: its number, its ids, and what was asked."""

    ids: tuple[str, ...]
    asked: Any


class SideLog:
    """Keeps what one caller asks and hears."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self._durable = durable
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._calls = 0

    def asks(self, ids: Iterable[str], asked: Any) -> int:
        """Note a call before it is made; its number is needed to note the answer."""
        self._calls += 1
        self._note({"call": self._calls, "ids": list(ids), "asked": asked})
        return self._calls

    def hears(self, call: int, answer: Any) -> None:
        """Note the answer: a list of them, or the failure that stands for one."""
        if isinstance(answer, BaseException):
            said = Said.NOTHING
            if isinstance(answer, RemitError):
                said = Said.UNKNOWN if isinstance(answer, OutcomeUnknown) else Said.AWAY
            self._note({"answer": call, "failed": said, "found": repr(answer)[:400]})
            return
        self._note({"answer": call, "said": [_said(one) for one in answer]})

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _note(self, line: dict[str, Any]) -> None:
        line["at"] = time.monotonic_ns() // 1_000
        os.write(self._file, json.dumps(line).encode() + b"\n")
        if self._durable:
            os.fsync(self._file)


def _said(answer: Done | Refused) -> list[Any]:
    if isinstance(answer, Refused):
        return [Said.REFUSED, answer.code]
    return [Said.DONE, [_columns(r) for r in answer.events]]


def _columns(recorded: Recorded) -> list[Any]:
    return [
        {"hex": value.hex()} if isinstance(value, bytes) else value
        for value in columns_of(LEDGER, recorded)
    ]


def _recorded(columns: list[Any]) -> Recorded:
    row = (bytes.fromhex(v["hex"]) if isinstance(v, dict) else v for v in columns)
    return recorded_of(tuple(row))  # type: ignore[arg-type]  # columns as they were written


def _lines(path: Path) -> list[dict[str, Any]]:
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.split(b"\n") if line]


def words(*paths: Path) -> list[Word]:
    """All that these callers asked and heard."""
    found: list[Word] = []
    for path in paths:
        lines = _lines(path)
        answers = {line["answer"]: line for line in lines if "answer" in line}
        for line in lines:
            if "call" in line:
                found += _words(line, answers.get(line["call"]))
    return found


def _words(call: dict[str, Any], answer: dict[str, Any] | None) -> list[Word]:
    ids, asked = call["ids"], call["at"]
    if answer is None:
        return [Word(name, Said.NOTHING, (), asked) for name in ids]
    if "failed" in answer:
        return [Word(name, Said(answer["failed"]), (), asked, answer["at"]) for name in ids]
    found = []
    for name, (said, what) in zip(ids, answer["said"], strict=True):
        events = tuple(_recorded(r) for r in what) if said == Said.DONE else ()
        found.append(Word(name, Said(said), events, asked, answer["at"]))
    return found


def told(*paths: Path) -> Account:
    """What these callers' records come to."""
    return account(words(*paths))


def open_calls(*paths: Path) -> list[Open]:
    """Calls, oldest first, of which some command was neither done nor refused so far."""
    calls: dict[tuple[str, ...], Any] = {}
    for path in paths:
        for line in _lines(path):
            if "call" in line:
                calls[tuple(line["ids"])] = line["asked"]
    settled = {w.command_id for w in words(*paths) if w.said in (Said.DONE, Said.REFUSED)}
    return [Open(ids, asked) for ids, asked in calls.items() if not settled.issuperset(ids)]
