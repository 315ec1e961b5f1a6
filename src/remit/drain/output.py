"""Lines of an output that nobody can trust: bounded, split as they come, and never held back.

What a program writes is looked at line by line while it runs. A line may be as long as the program
likes and may never end; what is handed on is cut at a bound, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LINE_BYTES: Final = 1 << 20
"""The longest line that is handed on whole."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end, or the beginning of one that was longer than the bound."""

    data: bytes
    cut: bool = False


class Lines:
    """Splits what arrives into lines of at most ``limit_bytes``."""

    def __init__(self, limit_bytes: int = LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._rest = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        found: list[Line] = []
        parts = chunk.split(b"\n")
        for number, part in enumerate(parts):
            if not self._skipping:
                room = self._limit - len(self._rest)
                self._rest += part[:room]
                if len(part) > room:
                    found.append(Line(bytes(self._rest), cut=True))
                    self._rest.clear()
                    self._skipping = True
            if number < len(parts) - 1:
                if not self._skipping:
                    found.append(Line(bytes(self._rest)))
                self._rest.clear()
                self._skipping = False
        return found

    def close(self) -> list[Line]:
        """What is left at the end of the output, if anything."""
        left = [Line(bytes(self._rest))] if self._rest else []
        self._rest.clear()
        return left
