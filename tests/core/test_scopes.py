"""Scope patterns: what they cover, what they refuse, and that foreign ones cost little."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.scopes import covers, in_scope, pattern_problem

COVERS = [
    ("a.txt", "a.txt"),
    ("src", "src/a/b.py"),
    ("src/", "src/a/b.py"),
    ("src/*.py", "src/a.py"),
    ("src/?.py", "src/a.py"),
    ("**", "anything/at/all"),
    ("**/x.py", "x.py"),
    ("**/x.py", "a/b/x.py"),
    ("a/**/x.py", "a/x.py"),
    ("a/**/x.py", "a/b/c/x.py"),
    ("a/**", "a/b"),
    ("a*c*e", "abcde"),
    ("[id].tsx", "[id].tsx"),
    ("new*", "new\nline"),
    ("*/", "a/b"),
    (".github", ".github/workflows/ci.yml"),
]
LEAVES = [
    ("a.txt", "A.txt"),
    ("a.txt", "b/a.txt"),
    ("src", "src2/a.py"),
    ("src/", "src"),
    ("src/*.py", "src/a/b.py"),
    ("src/?.py", "src/ab.py"),
    ("src/*", "src/a/b"),
    ("**/x.py", "a/x.pyc"),
    ("a/**/x.py", "b/a/x.py"),
    ("[id].tsx", "i.tsx"),
    ("a*c*e", "abcdef"),
    ("src/a.py", "src/a.py\nb"),
]


@pytest.mark.parametrize(("pattern", "path"), COVERS)
def test_covers(pattern: str, path: str) -> None:
    assert covers(pattern, path)


@pytest.mark.parametrize(("pattern", "path"), LEAVES)
def test_leaves(pattern: str, path: str) -> None:
    assert not covers(pattern, path)


@pytest.mark.parametrize(
    "pattern",
    ["", "/a", "!a", "-a", "a//b", "./a", "../a", "a/..", "a**", "**a/b", "a\nb", "/", "x" * 5000],
)
def test_faulty_patterns_are_named_and_cover_nothing(pattern: str) -> None:
    assert pattern_problem(pattern)
    assert not covers(pattern, pattern)
    assert not covers(pattern, "a")


def test_an_empty_scope_covers_nothing() -> None:
    assert not in_scope("a", [])
    assert in_scope("a", ["b", "a"])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/".join(["**"] * 500), "/".join(["a"] * 1000)),
        ("/".join(["**", "a"] * 400) + "/b", "/".join(["a"] * 1000)),
        ("*a" * 1000 + "b", "a" * 4000),
    ],
)
def test_hostile_patterns_cost_little(pattern: str, path: str) -> None:
    started = time.process_time()
    covers(pattern, path)
    assert time.process_time() - started < 5


@given(st.lists(st.text("ab.[]", min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_plain_path_covers_itself_and_what_lies_beneath(parts: list[str]) -> None:
    path = "/".join(parts)
    if pattern_problem(path) is None:
        assert covers(path, path)
        assert covers(path, path + "/x")
        assert not covers(path, path + "x")
