"""The Merkle tree over event digests: RFC 6962, grown one leaf at a time.

The root of the tree stands for the whole history: two ledgers with the same root hold the same
events. Leaves and inner nodes are hashed with different prefixes, so neither can be passed off as
the other. ``Tree`` keeps only the roots of the perfect subtrees that make up the leaves so far, at
most one for each bit of their number: growing to n leaves costs O(n) hashes and O(log n) memory.

Pure: hashing bytes is all that happens here. The leaf's input is an event's digest, and its index is
the event's seq minus one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

EMPTY: Final = sha256(b"").digest()
"""The root of a tree without leaves (RFC 6962, 2.1)."""


def leaf_hash(digest: bytes) -> bytes:
    """The hash of a leaf: SHA-256 of a zero byte and the digest."""
    return sha256(b"\x00" + digest).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256 of a one byte and both children."""
    return sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing Merkle tree that can tell its root at any size on the way."""

    __slots__ = ("_peaks", "_size")

    def __init__(self) -> None:
        self._peaks: list[bytes] = []
        self._size = 0

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._size

    def append(self, digest: bytes) -> None:
        """Add the next event's digest."""
        node = sha256(b"\x00" + digest).digest()
        peaks, size = self._peaks, self._size
        while size & 1:
            node = sha256(b"\x01" + peaks.pop() + node).digest()
            size >>= 1
        peaks.append(node)
        self._size += 1

    def root(self) -> bytes:
        """The root over all leaves so far: the perfect subtrees, joined from the right."""
        if not self._peaks:
            return EMPTY
        node = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            node = node_hash(peak, node)
        return node
