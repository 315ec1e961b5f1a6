"""Reading JUnit XML that a foreign program wrote, without believing what it claims.

Counts come from the `testcase` elements themselves, never from the totals in attributes, which a
runner that crashed, or one that lies, leaves wrong. Totals only count against a report: a suite that
owns to failures or skipped cases which it does not list has them all the same. A case that some runner marks as skipped,
disabled or not run counts as skipped; one that failed and then passed on a rerun counts as failed,
since it gave two answers.

The text is hostile: its size, depth and number of cases are bounded; a DOCTYPE or entity
declaration is refused outright, so nothing expands and nothing outside is read; and the file must
be a plain one within the checkout, reached through no symbolic link.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from remit.core.rows import JUnitState

SIZE_LIMIT_BYTES = 32 * 1_048_576
DEPTH_LIMIT = 64
CASE_LIMIT_COUNT = 1_000_000

_FAILED = frozenset(
    {"failure", "error", "flakyFailure", "flakyError", "rerunFailure", "rerunError"}
)
_NOT_RUN = frozenset({"notrun", "skipped", "disabled", "suppressed", "ignored", "pending"})
_ROOTS = frozenset({"testsuites", "testsuite"})
_OWNED = (("failures", "errors"), ("skipped", "disabled"))
"""Attributes of a suite by which it owns to cases that failed, and to cases that did not run."""


@dataclass(frozen=True, slots=True)
class JUnitCounts:
    """What a report holds: cases, those with a failure or error, those skipped; `failed` also
    counts failures that a suite reports outside any case. `state` is PARSED, or says why not, and
    then the counts are 0.
    """

    state: JUnitState
    tests: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def executed(self) -> int:
        """How many cases ran."""
        return self.tests - self.skipped


class _RefusedError(Exception):
    """The document declares a DOCTYPE or an entity, or passes a bound."""


class _Reader:
    """Counts test cases as expat walks the document."""

    def __init__(self) -> None:
        self.tests = self.failed = self.skipped = 0
        self._depth = 0
        self._case_depth = 0
        self._case_failed = self._case_skipped = False
        self._owned_failed = self._owned_skipped = 0
        self.root = ""

    def parse(self, document: bytes) -> None:
        """Walk the whole document, or raise where it is refused or malformed."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.Parse(document, True)

    def _refuse(self, *_: object) -> int:
        raise _RefusedError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH_LIMIT or self.tests > CASE_LIMIT_COUNT:
            raise _RefusedError
        self.root = self.root or name
        if name in _ROOTS:
            self._own(attributes)
        if name == "testcase" and not self._case_depth:
            self._case_depth = self._depth
            said = {attributes.get("status", "").lower(), attributes.get("result", "").lower()}
            self._case_failed, self._case_skipped = False, bool(said & _NOT_RUN)
        elif name in _FAILED:
            self._case_failed = True
            self.failed += not self._case_depth
        elif name in ("skipped", "disabled") and self._case_depth:
            self._case_skipped = True

    def _own(self, attributes: dict[str, str]) -> None:
        """Take the highest totals of failed and skipped cases that any suite gives."""
        failed, skipped = (sum(_total(attributes.get(key, "")) for key in keys) for keys in _OWNED)
        self._owned_failed = max(self._owned_failed, failed)
        self._owned_skipped = max(self._owned_skipped, skipped)

    def counts(self) -> JUnitCounts:
        """What was counted, or owned to where that is more."""
        failed = max(self.failed, self._owned_failed)
        skipped = max(self.skipped, self._owned_skipped)
        return JUnitCounts(JUnitState.PARSED, max(self.tests, skipped), failed, skipped)

    def _end(self, name: str) -> None:
        if self._depth == self._case_depth:
            self._case_depth = 0
            self.tests += 1
            self.failed += self._case_failed
            self.skipped += self._case_skipped
        self._depth -= 1


def _total(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def count(document: bytes) -> JUnitCounts:
    """Count the cases of a report: PARSED, TOO_LARGE, REFUSED, or MALFORMED (cut ones too)."""
    if len(document) > SIZE_LIMIT_BYTES:
        return JUnitCounts(JUnitState.TOO_LARGE)
    reader = _Reader()
    try:
        reader.parse(document)
    except _RefusedError:
        return JUnitCounts(JUnitState.REFUSED)
    except (expat.ExpatError, ValueError, LookupError):
        return JUnitCounts(JUnitState.MALFORMED)
    if reader.root not in _ROOTS:
        return JUnitCounts(JUnitState.MALFORMED)
    return reader.counts()


def read(root: Path, relative: str) -> JUnitCounts:
    """Read the report at `relative` under `root` and count it.

    Beside the states of `count`: ABSENT, and UNREADABLE where the path leaves the tree, passes a
    symbolic link, or is no plain file.
    """
    path = root
    parts = relative.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return JUnitCounts(JUnitState.UNREADABLE)
    try:
        for part in parts[:-1]:
            path = path / part
            if not stat.S_ISDIR(path.lstat().st_mode):
                return JUnitCounts(JUnitState.UNREADABLE)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path / parts[-1], flags)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return JUnitCounts(JUnitState.UNREADABLE)
            return count(file.read(SIZE_LIMIT_BYTES + 1))
    except FileNotFoundError:
        return JUnitCounts(JUnitState.ABSENT)
    except OSError:
        return JUnitCounts(JUnitState.UNREADABLE)
