"""The quick reader of documents: what it reads is what the reader of all YAML reads, or it gives up."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.plans import large
from tests.documents.plans_at_random import TRICKS, bundles

from remit.core.planning.bundle import Bundle
from remit.documents import lines, plans
from remit.documents.lines import UnusualError, read_lines
from remit.documents.marked import read
from remit.documents.plan_writing import lines as written

USUAL = """\
---
# yaml-language-server: $schema=plan.schema.json
plan: search
goal:
  label: find-things
  objective: "Find \\u00e9 \\"things\\": \\\\ all"
  # why
  clauses:
  - label: fast
    text: It is fast. It's a#b c:d, [e] {f}
    material: true

  - label: 'it''s'
    text: null
  authority: |
    The house.
      Indented: yes # no comment

    Last.

requirements:
  - label: r1
    clauses: [fast, src/**, "it is, so", null]
    statement: |-
      one
      two
    risk:
    sources: []
    acceptance:
      - 2026-01-01
      - 12:30:00
      - -5
      - |
        a
        b
      - x
items:
  - label: é
    priority: 2
  - two
"""

SPICES = (
    *TRICKS, "- ", "  ", "    ", "key:", "key: ", "key: |", "|", "|-", ">", "a: 1", "[a, b]", "[a,b]", "[ a ]", "{}",
    "[]", "[a: b]", "[null, true]", "'a'", "'a''b'", "'a'b'", '"a"', '"a" # b', '"\\u00e9"', '"\\ud800"', '"\\x41"',
    '"a\\/b"', "! a", "1_000", "0b1", "0o7", "9007199254740991", "9007199254740992", "-0", "1e5", "12:30", "a # b",
    "a  b", "a:", "a: b: c", "-", "--", "- - a", "# a", "? a", "<<: a", "\t", " ", "\n", "\n\n", "a\n  b", "é",
)  # fmt: skip


def slow(data: bytes) -> tuple[Any, dict[str, list[Any]], bool]:
    """What the reader of all YAML says: the value, what was handed over, whether it is sound."""
    handed: dict[str, list[Any]] = {"requirements": [], "items": []}
    keep = {name: (lambda at, _, to=to: to.append(at.plain())) for name, to in handed.items()}
    documents, problems = read(data, plans.BOUNDS, keep)
    whole = documents[0].plain() if documents else None
    return whole, handed, len(documents) == 1 and not problems


def agrees(data: bytes) -> bool:
    """Whether the quick reader read a text; what it read must be what the other one reads."""
    handed: dict[str, list[Any]] = {"requirements": [], "items": []}
    try:
        found = read_lines(data, {name: to.append for name, to in handed.items()})
    except UnusualError:
        return False
    assert (found, handed, True) == slow(data), data
    return True


def spoiled(text: str, random: Random) -> str:
    """A text with a few small changes, such as people make."""
    parts = text.split("\n")
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(parts))
        line = parts[at]
        cut = random.randint(0, len(line))
        spice = random.choice(SPICES)
        match random.randrange(8):
            case 0:
                parts[at] = line[:cut] + spice + line[cut:]
            case 1:
                parts[at] = line[:cut] + line[cut + random.randint(1, 3) :]
            case 2:
                parts.insert(at, " " * random.randrange(8) + spice)
            case 3:
                parts[at] = " " * random.randrange(4) + line
            case 4:
                parts[at] = line.removeprefix(" " * random.randint(1, 4))
            case 5:
                parts.insert(at, parts[random.randrange(len(parts))])
            case 6:
                parts[at] = line.partition(": ")[0] + ": " + spice
            case _:
                del parts[at]
        parts = parts or [""]
    return "\n".join(parts)


def test_the_usual_way_is_read_at_once() -> None:
    assert agrees(USUAL.encode())
    assert agrees(b"\xef\xbb\xbf" + USUAL.encode())
    assert agrees("".join(written(large(5))).encode())


@pytest.mark.parametrize("seed", range(20))
def test_a_text_with_slips_is_read_as_the_other_reader_reads_it_or_not_at_all(seed: int) -> None:
    random = Random(seed)
    taken = sum(agrees(spoiled(USUAL, random).encode("utf-8", "replace")) for _ in range(300))
    assert 20 < taken < 280


@given(st.lists(st.sampled_from(SPICES), min_size=1, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_lines_at_random_are_read_alike(pieces: list[str], random: Random) -> None:
    heads = ("k: ", "- ", "  - ", "- k: ", "    ", "  k: ", "  ", "")
    agrees(
        "".join(f"{random.choice(heads)}{piece}\n" for piece in pieces).encode("utf-8", "replace")
    )


@given(bundles)
@settings(max_examples=150, deadline=None)
def test_a_written_plan_gives_the_same_bundle_either_way(plan: Bundle) -> None:
    data = "".join(written(plan)).encode()
    quick, whole = plans.usual(data), plans.marked(data)
    if quick is not None:
        assert (quick.bundle, quick.problems, quick.numbers) == (
            whole.bundle,
            whole.problems,
            whole.numbers,
        )


def test_a_plan_is_read_the_quick_way() -> None:
    found = plans.usual("".join(written(large(30))).encode())
    assert found is not None
    assert found.bundle == large(30)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plan: large", "plan: [large]"),
        ("plan: large", "plan: large\nmore: x"),
        ("plan: large", "plan: large\nrows: x"),
        ("label: r1\n", "label: r0\n"),
        ("label: r1\n", "label: r 1\n"),
        ("label: r1\n", "label: r1\n    odd: 1\n"),
        ("    statement: part 1 is exported\n", ""),
        ("requirement: r1", "requirement:"),
        ("title: Export part 1", f"title: {'x' * 5000}"),
        ("node: n1", "priority: 9"),
        ("node: n1", "risk: huge"),
        ("node: n1", "scope: 1"),
    ],
)
def test_a_file_with_a_fault_is_left_to_the_reader_that_says_where(old: str, new: str) -> None:
    text = "".join(written(large(3)))
    assert text.count(old) >= 1
    data = text.replace(old, new, 1).encode()
    assert plans.usual(data) is None
    assert plans.parse(data).problems == plans.marked(data).problems != []


def test_long_texts_and_deep_ones_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "".join(f"{'  ' * n}k:\n" for n in range(40))
    with pytest.raises(UnusualError):
        read_lines(deep.encode(), {})
    monkeypatch.setattr(lines, "MOST_BYTES", 10)
    with pytest.raises(UnusualError):
        read_lines(b"k: " + b"a" * 10 + b"\n", {})
