"""Reading YAML: plain values with their places, and everything that is not read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.documents import marked
from remit.documents.marked import MAX_DEPTH, MAX_INTEGER, read


def plain(text: str) -> Any:
    documents, problems = read(text.encode())
    assert problems == []
    [one] = documents
    return one.plain()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}), ("a: -7", {"a": -7}), ("a: '1'", {"a": "1"}), ("a: yes", {"a": "yes"}),
        ("a: true", {"a": True}), ("a: null", {"a": None}), ("a: ", {"a": None}), ("a: ~", {"a": None}),
        ("a: 2026-01-01", {"a": "2026-01-01"}), ("a: 0x10", {"a": "0x10"}),
        ("a: 1_000", {"a": "1_000"}), ("[1, [2, {b: c}]]", [1, [2, {"b": "c"}]]),
        ('{"a": [1, "x", false, null]}', {"a": [1, "x", False, None]}), ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ("a: 12:30:00", {"a": "12:30:00"}), ("a: .inf", {"a": ".inf"}),
    ],
)  # fmt: skip
def test_scalars_are_what_was_written(text: str, value: Any) -> None:
    assert plain(text) == value


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("a: &x 1\n", (1, 4), "anchor"), ("a: [1]\nb: *x\n", (2, 4), "alias"),
        ("a: !!python/object:os.system {}", (1, 4), "tag"), ("<<: {a: 1}", (1, 1), "merge key"),
        ("a: 1\nb: 2\na: 3\n", (3, 1), "twice"), ("a: 1.5", (1, 4), "whole number"),
        ("a: 1e3", (1, 4), "whole number"), ("a: 007", (1, 4), "whole number"), ("a: 9007199254740992", (1, 4), "whole number"),
        ("? [a]\n: 1\n", (1, 3), "not text"), ("a: [1,\n", (2, 1), "not YAML"),
        ("a: b: c", (1, 5), "not YAML"), ("\ta: 1", (1, 1), "not YAML"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named_with_its_place(
    text: str, where: tuple[int, int], says: str
) -> None:
    _, problems = read(text.encode())
    assert [(p.line, p.column) for p in problems][:1] == [where], problems
    assert says in problems[0].message


def test_every_problem_is_named_at_once() -> None:
    _, problems = read(b"a: &x 1\nb: 2.5\nb: 3\n")
    assert [(p.line, p.path) for p in problems] == [(1, "$.a"), (2, "$.b"), (3, "$.b")]


def test_bytes_that_are_no_text_are_refused() -> None:
    for data in (b"a: 1\n\xff", b"\xff\xfe"):
        _, [problem] = read(data)
        assert "UTF-8" in problem.message


def test_depth_count_and_size_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)[1] == []
    deep = read(b"[" * 5_000)
    assert deep[0] == []
    assert deep[1]
    assert "levels" in read(b"[" * 100)[1][0].message
    monkeypatch.setattr(marked, "MAX_NODES", 10)
    assert "values" in read(b"[1,2,3,4,5,6,7,8,9,10]")[1][0].message
    monkeypatch.setattr(marked, "MAX_BYTES", 5)
    assert "bytes" in read(b"abcdef")[1][0].message


@given(st.binary(max_size=60))
def test_nothing_raises(data: bytes) -> None:
    documents, problems = read(data)
    assert isinstance(documents, list)
    assert all(p.line >= 1 and p.column >= 1 for p in problems)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    import json

    documents, problems = read(json.dumps(value, ensure_ascii=False).encode())
    assert problems == []
    assert documents[0].plain() == value
