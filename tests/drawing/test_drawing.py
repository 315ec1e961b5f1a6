"""Drawings: laid out whatever the graph, and safe whatever the words."""

from __future__ import annotations

import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.drawing.graph import Arrow, Graph, Node, short
from remit.drawing.layout import forward, layout
from remit.drawing.svg import MOST_NODES, TooLargeError, svg
from remit.drawing.texts import dot, lines, mermaid

HOSTILE = (
    '"]; evil [label="', "</text><script>alert(1)</script>", "a\nb\r\nc", "\x1b[31mred", "\u202egnp.exe",
    "%% comment", "end", "graph", "click n0 href", "#quot;", "\\", "\\n", 'x" onload="y', "&lt;", "a-->b", "{}[]()|;",
    "😀 é 日本", "x" * 5_000, "<br/>", "javascript:alert(1)", "```", "<!--", "]]>", "\0",
)  # fmt: skip

names = st.integers(0, 9).map(lambda n: f"n{n}")
arrows = st.lists(st.tuples(names, names), max_size=25)
ALL = [f"n{n}" for n in range(10)]


def hostile() -> Graph:
    nodes = tuple(Node(f"{n} {text}", (text, text)) for n, text in enumerate(HOSTILE))
    pairs = pairwise(nodes)
    return Graph(
        HOSTILE[1], nodes, tuple(Arrow(a.name, b.name, words=a.words[0]) for a, b in pairs)
    )


def acyclic(pairs: list[tuple[str, str]]) -> bool:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for first, later in pairs:
        sorter.add(later, first)
    try:
        list(sorter.static_order())
    except CycleError:
        return False
    return True


@given(arrows)
def test_only_what_closes_a_cycle_is_left_out(pairs: list[tuple[str, str]]) -> None:
    kept = forward(ALL, pairs)
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(pairs)
    assert acyclic(kept)
    if acyclic(pairs):
        assert set(kept) == set(pairs)
    for arrow in set(pairs) - set(kept):
        assert not acyclic([*kept, arrow])


PARTS = [
    ("n1", "n0"), ("n9", "n4"), ("n9", "n2"), ("n5", "n2"), ("n7", "n5"), ("n3", "n9"), ("n5", "n8"),
    ("n4", "n5"),
]  # fmt: skip
"""Two parts that do not hang together, with arrows over several layers in the second."""


@given(arrows)
@example(PARTS)
@settings(deadline=None)
def test_every_node_has_a_place_of_its_own_and_work_runs_to_the_right(
    pairs: list[tuple[str, str]],
) -> None:
    graph = Graph("g", tuple(map(Node, ALL)), tuple(Arrow(*pair) for pair in pairs))
    places, bends = layout(graph)
    assert set(places) == set(ALL)
    assert len(set(places.values())) == len(ALL)
    kept = forward(ALL, pairs)
    for first, later in kept:
        assert places[first][0] < places[later][0]
    for (first, later), way in bends.items():
        assert (first, later) in kept
        layers = [places[first][0], *(x for x, _ in way), places[later][0]]
        assert layers == sorted(layers)


def test_a_node_that_waits_for_itself_does_not_end_the_process() -> None:
    """The library that finds the layers aborts on a loop; run apart, since it would end this run."""
    script = (
        "from remit.drawing.graph import *; from remit.drawing.svg import svg;"
        "print(len(svg(Graph('t', (Node('a'), Node('b')), (Arrow('a', 'a'), Arrow('a', 'b'))))))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 100


def test_svg_holds_texts_and_nothing_that_runs_or_leads_away() -> None:
    text = svg(hostile())
    root = ElementTree.fromstring(text)
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "defs", "marker", "path", "rect", "g", "text"}
    known = {
        "viewBox", "width", "height", "font-family", "font-size", "role", "id", "refX", "refY", "markerWidth",
        "markerHeight", "orient", "d", "fill", "stroke", "stroke-dasharray", "marker-end", "x", "y", "rx", "font-weight",
    }  # fmt: skip
    for element in root.iter():
        assert set(element.attrib) <= known
        assert all(value.isprintable() for value in element.attrib.values())
    shown = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    assert short(HOSTILE[1], 60) in shown
    assert all(len(line) <= 60 and line.isprintable() for line in shown)


def test_dot_has_one_statement_a_line_with_its_quotes_closed() -> None:
    quoted = r'"(?:[^"\\]|\\.)*"'
    forms = (
        rf"digraph {quoted} {{", r"  rankdir=LR;", r'  node \[shape=box, style=rounded, fontname="sans-serif"\];',
        rf"  n\d+ \[label={quoted}\];", rf"  n\d+ -> n\d+( \[tooltip={quoted}\])?;", "}", "",
    )  # fmt: skip
    for line in dot(hostile()).split("\n"):
        assert any(re.fullmatch(form, line) for form in forms), line
        assert line.isprintable()


def test_mermaid_has_letters_and_numbers_in_its_quotes() -> None:
    forms = (
        "flowchart LR", r"  %% [\w .?-]*", r'  n\d+\["(?:[\w .,]|#\d+;|<br/>)*"\]', r"  n\d+ -->? ?n\d+", "",
    )  # fmt: skip
    for line in mermaid(hostile()).split("\n"):
        assert any(re.fullmatch(form, line) for form in forms), line


def test_lines_say_what_waits_for_what() -> None:
    graph = Graph(
        "t",
        (Node("a", ("one",)), Node("b"), Node("c")),
        (Arrow("a", "b"), Arrow("b", "c", firm=False), Arrow("b", "a", wrong=True)),
    )
    assert lines(graph) == (
        "a\n  one\n  after b  (in a cycle)\nb\n  after a\nc\n  after b  (related)\n"
    )
    assert "stroke:red" in mermaid(graph)
    assert "color=red" in dot(graph)
    assert "#c00" in svg(graph)
    for line in lines(hostile()).split("\n"):
        assert line.isprintable()


def test_a_part_holds_what_comes_before_and_after() -> None:
    graph = Graph(
        "t", tuple(map(Node, "abcde")), (Arrow("a", "b"), Arrow("b", "c"), Arrow("d", "c"))
    )
    assert [node.name for node in graph.around("b").nodes] == ["a", "b", "c"]
    assert len(graph.around("b").arrows) == 2
    assert [node.name for node in graph.around("e").nodes] == ["e"]


def test_what_is_too_large_to_read_is_not_drawn() -> None:
    nodes = tuple(Node(f"n{n}") for n in range(MOST_NODES + 1))
    with pytest.raises(TooLargeError, match="501 nodes"):
        svg(Graph("t", nodes, ()))
    assert svg(Graph("t", nodes[1:], ())).count("<g>") == MOST_NODES
    assert svg(Graph("empty", (), ())).startswith("<svg")
