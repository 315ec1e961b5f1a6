"""Scanning what attempts brought and printed for secrets, in batches: who waits is scanned together.

A scan costs most of its time before it looks at the first file. So while one runs, changes gather, and
the next scan takes all of them, each in a folder of its own; a finding belongs to the folder that it was
found in. Where that cannot be said, or the scanner could not look, each change is scanned alone.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from remit.core.checks import Result
from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Refused
from remit.ports.sandbox import SecretScan, SecretScanner
from remit.repository.repository import GitRepository
from remit.service.outside import refused_by

BATCH: Final = 16
FINDINGS: Final = 100
"""With more findings than so many, a batch says too little of each of its changes."""


@dataclass(slots=True)
class _Asked:
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

    def scan(self, base: str, head: str) -> SecretScan | Refused:
        """Every blob and message of a change; with others that wait meanwhile."""
        return self._ask(_Asked(base, head))

    def read(self, text: str) -> SecretScan | Refused:
        """A text that somebody printed; with others that wait meanwhile."""
        return self._ask(_Asked(text=text))

    def _ask(self, asked: _Asked) -> SecretScan | Refused:
        with self._turn:
            self._waiting.append(asked)
            while self._busy and asked in self._waiting:
                self._turn.wait()
            if asked not in self._waiting:
                return self._answered(asked)
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            if asked not in batch:
                batch.append(asked)
                self._waiting.remove(asked)
            self._busy = True
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

    def _answered(self, asked: _Asked) -> SecretScan | Refused:
        while asked.answer is None and asked.error is None:
            self._turn.wait()
        if asked.answer is None:
            raise RuntimeError("the scan of a batch failed") from asked.error
        return asked.answer

    def _scan(self, batch: list[_Asked]) -> None:
        with tempfile.TemporaryDirectory(prefix="remit-scan-") as name:
            top = Path(name).resolve()
            laid: dict[int, int] = {}
            for place, one in enumerate(batch):
                folder = top / str(place)
                folder.mkdir()
                count = self._lay_out(one, folder)
                if isinstance(count, RepositoryRefusal):
                    one.answer = refused_by(count)
                else:
                    laid[place] = count
            found = self._scanner.scan(top)
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
