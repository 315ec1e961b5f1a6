"""SSH's wire encoding: numbers and strings with their lengths before them (RFC 4251, section 5).

Everything read here comes from outside. A length that lies, a number with a sign and bytes that are
left over raise ``WireError``; nothing is skipped and nothing is guessed.
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 16_384
"""Most bytes of one string: room for the signature of the largest key that is taken."""


class WireError(ValueError):
    """Bytes that are not what they should be."""


class Reader:
    """Reads one value after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def raw(self, size: int) -> bytes:
        """Exactly this many bytes."""
        end = self._at + size
        if end > len(self._data):
            raise WireError(f"it ends after {len(self._data)} bytes, {end} were announced")
        found = self._data[self._at : end]
        self._at = end
        return found

    def byte(self) -> int:
        """One byte."""
        return self.raw(1)[0]

    def number(self) -> int:
        """Four bytes, the largest first."""
        return int.from_bytes(self.raw(4), "big")

    def string(self) -> bytes:
        """A string with its length before it."""
        size = self.number()
        if size > LONGEST:
            raise WireError(f"a part of {size} bytes, at most {LONGEST} are taken")
        return self.raw(size)

    def name(self) -> str:
        """A string of printable ASCII."""
        found = self.string()
        if not found.isascii() or not found.decode("ascii").isprintable():
            raise WireError("a name that is not printable ASCII")
        return found.decode("ascii")

    def integer(self) -> int:
        """A multiple-precision integer, which may not be negative."""
        found = self.string()
        if found and found[0] & 0x80:
            raise WireError("a negative number")
        return int.from_bytes(found, "big")

    def end(self) -> None:
        """Demand that nothing is left."""
        if self._at != len(self._data):
            raise WireError(f"{len(self._data) - self._at} bytes are left over")


def string(data: bytes) -> bytes:
    """A string with its length before it."""
    return len(data).to_bytes(4, "big") + data
