"""The Merkle tree against RFC 6962's own recursive definition and its published roots."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.merkle import EMPTY, Tree, leaf_hash, node_hash

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
"""The eight leaves that implementations of RFC 6962 test with."""


def defined(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, word by word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()


def grown(leaves: list[bytes]) -> Tree:
    tree = Tree()
    for leaf in leaves:
        tree.append(leaf)
    return tree


@pytest.mark.parametrize("size", range(9))
def test_every_size_has_the_defined_root(size: int) -> None:
    assert grown(LEAVES[:size]).root() == defined(LEAVES[:size])


@pytest.mark.parametrize(
    ("size", "root"),
    [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ],
)
def test_published_roots(size: int, root: str) -> None:
    assert grown(LEAVES[:size]).root().hex() == root


@given(st.lists(st.binary(max_size=40), max_size=70))
def test_any_leaves_on_the_way(leaves: list[bytes]) -> None:
    tree = Tree()
    for size, leaf in enumerate(leaves, 1):
        tree.append(leaf)
        assert tree.size == size
        assert tree.root() == defined(leaves[:size])
    assert len(tree._peaks) == len(leaves).bit_count()


def test_roots_tell_histories_apart() -> None:
    roots = {
        grown(LEAVES[:4]).root(),
        grown(LEAVES[:3]).root(),
        grown([*LEAVES[:3], LEAVES[4]]).root(),
        grown([LEAVES[1], LEAVES[0], *LEAVES[2:4]]).root(),
        EMPTY,
    }
    assert len(roots) == 5


def test_a_node_is_no_leaf() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert node_hash(left, right) == grown([b"a", b"b"]).root()
    assert leaf_hash(left + right) != node_hash(left, right)
