"""Scanning what attempts brought and printed for secrets, in batches: who waits is scanned together.

A scan costs most of its time before it looks at the first file. So while one runs, changes gather, and
the next scan takes all of them, each in a folder of its own; a finding belongs to the folder that it was
found in. Where that cannot be said, or the scanner could not look, each change is scanned alone. A scan
that could begin waits a moment for others while attempts are at work whose changes may come.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from remit.core.checks import Result
from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Refused
from remit.isolation import remains
from remit.machine.directories import remove_tree
from remit.ports.sandbox import SecretScan, SecretScanner
from remit.repository.repository import GitRepository
from remit.service.outside import refused_by

BATCH: Final = 16
GATHER_S: Final = 1.0
"""So long a scan waits for others at most: as long as the last one took, and no longer than this."""

FINDINGS: Final = 100
"""With more findings than so many, a batch says too little of each of its changes."""


@dataclass(slots=True, eq=False)
class _Asked:
    """One caller's change or text, told from another's that is like it."""

    base: str = ""
    head: str = ""
    text: str = ""
    answer: SecretScan | Refused | None = None
    error: BaseException | None = None


class Scans:
    """Scans changes of one repository for callers on many threads."""

    def __init__(self, repository: GitRepository, scanner: SecretScanner) -> None:
        self._repository = repository
        self._scanner = scanner
        self._turn = threading.Condition()
        self._waiting: list[_Asked] = []
        self._busy = False
        self._coming: set[str] = set()
        self._took_s = GATHER_S

    def expect(self, attempt: str) -> None:
        """A change of this attempt may come soon."""
        with self._turn:
            self._coming.add(attempt)

    def expect_no_more(self, attempt: str) -> None:
        """None of this attempt comes any more, or it is there."""
        with self._turn:
            self._coming.discard(attempt)
            self._turn.notify_all()

    def scan(self, base: str, head: str) -> SecretScan | Refused:
        """Every blob and message of a change; with others that wait meanwhile."""
        return self._ask(_Asked(base, head))

    def read(self, text: str) -> SecretScan | Refused:
        """A text that somebody printed; with others that wait meanwhile."""
        return self._ask(_Asked(text=text))

    def _ask(self, asked: _Asked) -> SecretScan | Refused:
        with self._turn:
            self._waiting.append(asked)
            self._turn.notify_all()
            while self._busy and asked in self._waiting:
                self._turn.wait()
            if asked not in self._waiting:
                return self._answered(asked)
            self._busy = True
            try:
                self._gather()
            except BaseException:
                self._busy = False
                self._waiting.remove(asked)
                self._turn.notify_all()
                raise
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            if asked not in batch:
                batch.append(asked)
                self._waiting.remove(asked)
        try:
            self._scan(batch)
        except BaseException as error:
            for one in batch:
                one.error = one.error or error
            raise
        finally:
            with self._turn:
                self._busy = False
                self._turn.notify_all()
        return self._answered(asked)

    def _gather(self) -> None:
        """Wait for those who may come, for a bounded time, and for no more than a batch takes."""
        until = time.monotonic() + min(GATHER_S, self._took_s)
        while self._coming and len(self._waiting) < BATCH:
            left = until - time.monotonic()
            if left <= 0:
                return
            self._turn.wait(left)

    def _answered(self, asked: _Asked) -> SecretScan | Refused:
        with self._turn:
            while asked.answer is None and asked.error is None:
                self._turn.wait()
        if asked.answer is not None:
            return asked.answer
        if isinstance(asked.error, OSError):  # trouble of this machine, to whoever asked
            raise OSError(*asked.error.args) from asked.error
        raise RuntimeError("the scan of a batch failed") from asked.error

    def _scan(self, batch: list[_Asked]) -> None:
        with remains.held("changes") as top:
            laid: dict[int, int] = {}
            for place, one in enumerate(batch):
                folder = top / str(place)
                folder.mkdir()
                try:
                    count = self._lay_out(one, folder)
                except OSError as error:
                    one.error = error  # it is this one's trouble, not that of the others
                    remove_tree(folder)
                    continue
                if isinstance(count, RepositoryRefusal):
                    one.answer = refused_by(count)
                else:
                    laid[place] = count
            began = time.monotonic()
            found = self._scanner.scan(top)
            self._took_s = time.monotonic() - began
            told = len(laid) == 1 or _told(found, laid)
            for place, count in laid.items():
                own = _own(found, place, count) if told else self._scanner.scan(top / str(place))
                batch[place].answer = own

    def _lay_out(self, one: _Asked, folder: Path) -> int | RepositoryRefusal:
        if one.head:
            return self._repository.lay_out(one.base, one.head, folder)
        (folder / "text").write_text(one.text, "utf-8", "replace")
        return 1


def _told(found: SecretScan, laid: dict[int, int]) -> bool:
    """Whether a scan of a batch says enough of each of its changes."""
    known = {str(place) for place in laid}
    return (
        found.result is not Result.BLOCKED
        and len(found.findings) <= FINDINGS
        and all(one.path.partition("/")[0] in known for one in found.findings)
    )


def _own(found: SecretScan, place: int, count: int) -> SecretScan:
    """What a scan of a batch says of one of its changes."""
    if found.result is Result.BLOCKED:
        return found
    own = tuple(
        replace(one, path=one.path.partition("/")[2])
        for one in found.findings
        if one.path.partition("/")[0] == str(place)
    )
    said = f"{count} files scanned, {len(own)} secrets found"
    return SecretScan(Result.FAIL if own else Result.PASS, own, said, found.hint if own else "")
