"""The exchange: a folder of its own for each attempt, beside the clone, in which files go in and out.

``brief.md`` goes in; ``progress.jsonl`` and ``report.json`` come out. The folder is not part of the
clone, so nothing of it can be committed by mistake. What comes out is written by a foreign program:
it is opened as a plain file or not at all (no link, no pipe, no device), and read up to a bound.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BRIEF: Final = "brief.md"
PROGRESS: Final = "progress.jsonl"
REPORT: Final = "report.json"
PROGRESS_BYTES: Final = 4 << 20
"""So much of the progress is read; what follows is not."""

RULES: Final = """
## Under supervision

You run under the supervision of remit. It keeps the lease and reports for you: call no `remit report`,
`renew`, `release` or `fail` yourself, and push nothing.

1. Work in this folder, a clone of your own, on the branch that is checked out. Change nothing outside
   the scope above.
2. Commit what is to be reviewed. What is not committed is not handed in.
3. While you work you may append lines to the file named by `REMIT_PROGRESS`, one JSON object each:
   `{"text": "parser done, tests next"}`.
4. At the end write the file named by `REMIT_REPORT`:
   `{"schema": "remit.agent-report.v1", "outcome": "done", "head": "FULL COMMIT ID", "summary": "…"}`.
   If the work should not or cannot be done, use the outcome `declined` or `failed` with a `reason`.

Your report is a claim. The clone is looked at, the checks above are run again elsewhere, and somebody
else reviews.
"""


class NotPlain(Exception):  # noqa: N818  # what was found, said by its name
    """What lies there is no plain file, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The folder of one attempt."""

    folder: Path

    @property
    def brief(self) -> Path:
        """What is to be done."""
        return self.folder / BRIEF

    @property
    def progress(self) -> Path:
        """How it goes."""
        return self.folder / PROGRESS

    @property
    def report(self) -> Path:
        """What came of it."""
        return self.folder / REPORT

    def prepare(self, brief: str) -> str:
        """Write the brief with the rules of the protocol, and return it whole."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = brief.rstrip("\n") + "\n" + RULES
        self.brief.write_text(whole, "utf-8")
        return whole

    def progress_lines(self, limit_bytes: int = PROGRESS_BYTES) -> list[bytes]:
        """The lines of progress so far, without one that is not at its end yet."""
        try:
            data = read_plain(self.progress, limit_bytes) or b""
        except NotPlain:
            return []
        return data.split(b"\n")[:-1]


def read_plain(path: Path, limit_bytes: int) -> bytes | None:
    """The first bytes of a plain file, one more than ``limit_bytes`` at most; None where there is none.

    Raises ``NotPlain`` for anything else that lies there, and where it cannot be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotPlain(f"{path.name} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotPlain(f"{path.name} is no plain file")
    with os.fdopen(handle, "rb") as opened:
        return opened.read(limit_bytes + 1)
