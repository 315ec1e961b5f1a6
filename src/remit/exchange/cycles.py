"""Cycles among imported rows: which of them hold work for ever, and which only look as if.

What waits for what. Row X waits for Y when X has a BLOCKS or CONDITIONAL edge to Y, or a
WAITS_FOR edge to Z and Y is a child of Z. A PARENT edge passes its parent's waiting down: a child
also waits for what its parent waits for, and so on upwards. One wait is not passed down: that of
a row for its own descendants (an epic blocked by its tasks). It says when the epic is finished,
not when the tasks may begin; passed down, each task would wait for itself and its siblings, and
the common idiom could never move. Beads does pass it down, and there such an epic is stuck in
silence; here it is free, and is named ROLL_UP, so that nobody takes the one for the other.

So a waiting row is not its own state of being waited for: each row is split into ITEM (its
completion), PASS (what it hands down) and KIDS (all of its children). ITEM leads to PASS, PASS to
the ITEMs that are awaited and to the PASS of each parent. A DEADLOCK is a strongly connected
component that holds an ITEM, among rows still open: none in it can ever start. A loop of PARENT
edges alone hands nothing round; it is PARENT_LOOP. Closed rows wait for nothing, so a cycle that
only exists with them is SETTLED.

Each component is shown by its shortest cycle, found exactly by breadth-first search from each of
its ITEMs, up to SEARCH_BUDGET steps a file; beyond, the best cycle so far is shown as not exact,
and each component still gets one search. Rows on no cycle are stripped first, in linear time and
about 30 bytes a row, so the graph proper is built only of what is left.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from remit.exchange.backlog import EdgeKind
from remit.exchange.digraph import (
    Arc,
    Graph,
    adjacency,
    components,
    shortest_cycle,
    strip_sources,
)

SEARCH_BUDGET = 2_000_000  # edges looked at while searching for shortest cycles, a file
KIND_CODES = tuple(EdgeKind)  # what the bytes of `EdgeTable.kinds` index

_CODES = {kind: code for code, kind in enumerate(KIND_CODES)}
_PARENT = _CODES[EdgeKind.PARENT]
_WAITS_FOR = _CODES[EdgeKind.WAITS_FOR]
_LINK = _CODES[EdgeKind.LINK]

_ITEM, _PASS, _KIDS = 0, 1, 2  # node of row i in a graph: 3 * i + role
_OWN = -1  # the step from a row's ITEM to its PASS: the same row, no edge of the file


class CycleKind(StrEnum):
    """What a cycle means for the rows on it, gravest first."""

    DEADLOCK = "DEADLOCK"  # open rows that can never start, each for the sake of the next
    PARENT_LOOP = "PARENT_LOOP"  # a row is its own ancestor; holds nothing, but is no hierarchy
    ROLL_UP = "ROLL_UP"  # a parent waits for its own descendants; free here, stuck in Beads
    SETTLED = "SETTLED"  # a deadlock once, but a row on it has closed


@dataclass(frozen=True, slots=True)
class CycleLink:
    """One step: `source` waits for, or inherits the waiting of, `target`.

    `via` names the row whose children a WAITS_FOR edge waits for; `target` is one of them.
    """

    source: str
    kind: EdgeKind
    target: str
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Cycle:
    """The shortest cycle of one component.

    `links` are in order and begin at the smallest id; `rows` counts the rows of the component;
    `exact` is False where the search budget ran out before shortness was proved.
    """

    kind: CycleKind
    links: tuple[CycleLink, ...]
    rows: int
    exact: bool

    @property
    def members(self) -> tuple[str, ...]:
        """The ids on the cycle, smallest first."""
        return tuple(link.source for link in self.links)

    @property
    def holds_work(self) -> bool:
        """Whether open rows can never start because of it."""
        return self.kind is CycleKind.DEADLOCK

    def __str__(self) -> str:
        return " -> ".join((*self.members, self.links[0].source))


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """Edges of a backlog, one entry each in three arrays: 9 bytes an edge.

    Rows are numbers into the importer's table of ids; kinds are indexes into KIND_CODES.
    """

    sources: array[int] = field(default_factory=lambda: array("I"))
    kinds: bytearray = field(default_factory=bytearray)
    targets: array[int] = field(default_factory=lambda: array("I"))

    @staticmethod
    def code(kind: EdgeKind) -> int:
        """The byte that stands for a kind."""
        return _CODES[kind]

    def add(self, source: int, kind: EdgeKind, target: int) -> None:
        """Append one edge."""
        self.sources.append(source)
        self.kinds.append(_CODES[kind])
        self.targets.append(target)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.sources, self.kinds, self.targets, strict=True)

    def __len__(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True, slots=True)
class Findings:
    """All cycles, gravest kind first and then by id, and which rows take part.

    `marks` maps a row's number to the index of the first cycle whose component holds it.
    """

    cycles: tuple[Cycle, ...]
    marks: Mapping[int, int]


def find_cycles(
    ids: Mapping[str, int], waiting: bytes, table: EdgeTable, budget: int = SEARCH_BUDGET
) -> Findings:
    """Find every cycle of waiting or of parenthood among the rows of a backlog.

    `ids` maps each id to its number, in the order 0, 1, ...; `waiting[number]` is 1 for a row
    still open and 0 for one that is closed, deleted or missing. The answer depends on the ids,
    not on the order of rows or edges.
    """
    core = _strip_acyclic(len(ids), table)
    if not any(core):
        return Findings((), {})
    names = [(name, number) for name, number in ids.items() if core[number]]
    names.sort()
    local = {number: index for index, (_, number) in enumerate(names)}
    edges = sorted(
        {
            (local[source], kind, local[target])
            for source, kind, target in table
            if kind != _LINK and source in local and target in local
        }
    )
    search = _Search(
        [name for name, _ in names], edges, [waiting[number] == 1 for _, number in names], budget
    )
    gravity = list(CycleKind)
    found = sorted(search.run(), key=lambda pair: (gravity.index(pair[0].kind), pair[0].members))
    marks: dict[int, int] = {}
    for index, (_, rows) in enumerate(found):
        for row in rows:
            marks.setdefault(names[row][1], index)
    return Findings(tuple(cycle for cycle, _ in found), marks)


class _Search:
    """The exact analysis, on the rows that stripping left; rows are numbered by sorted id."""

    def __init__(
        self,
        names: Sequence[str],
        edges: Sequence[tuple[int, int, int]],
        waiting: Sequence[bool],
        budget: int,
    ) -> None:
        self.names = names
        self.edges = edges
        self.waiting = waiting
        self.budget = budget
        self.parents: dict[int, list[int]] = {}
        for source, kind, target in edges:
            if kind == _PARENT:
                self.parents.setdefault(source, []).append(target)
        self.own_subtree = self._edges_into_own_subtree()

    def run(self) -> Iterator[tuple[Cycle, set[int]]]:
        """Each cycle with the rows of its component."""
        everyone = [True] * len(self.names)
        deadlocked: set[int] = set()
        for kind, waiting, literal in (
            (CycleKind.DEADLOCK, self.waiting, False),
            (CycleKind.ROLL_UP, self.waiting, True),
            (CycleKind.SETTLED, everyone, False),
        ):
            graph = adjacency(self._arcs(waiting, literal))
            held = set(deadlocked)
            for nodes in components(graph, 3 * len(self.names)):
                items = sorted(node for node in nodes if node % 3 == _ITEM)
                if not items or not deadlocked.isdisjoint(nodes):
                    continue
                if kind is CycleKind.DEADLOCK:
                    held |= nodes
                yield self._shown(kind, graph, nodes, items)
            deadlocked = held
        lineage = adjacency(
            (3 * child + _PASS, 3 * parent + _PASS, _PARENT, 1)
            for child, parents in self.parents.items()
            for parent in parents
        )
        for nodes in components(lineage, 3 * len(self.names)):
            yield self._shown(CycleKind.PARENT_LOOP, lineage, nodes, sorted(nodes))

    def _arcs(self, waiting: Sequence[bool], literal: bool) -> Iterator[Arc]:
        """The graph of the module's essay, among rows that wait.

        Nothing leads on from the ITEM of a row that does not wait, nor through it to what its own
        parents wait for: a closed parent hands nothing down. `literal` passes every wait
        down, also one for a row's own descendants.
        """
        awaited_kids = {target for _, kind, target in self.edges if kind == _WAITS_FOR}
        for row, waits in enumerate(waiting):
            if waits:
                yield 3 * row + _ITEM, 3 * row + _PASS, _OWN, 0
        for at, (source, kind, target) in enumerate(self.edges):
            if kind == _PARENT:
                if waiting[target]:
                    yield 3 * source + _PASS, 3 * target + _PASS, _PARENT, 1
                if target in awaited_kids:
                    yield 3 * target + _KIDS, 3 * source + _ITEM, _WAITS_FOR, 1
            elif waiting[source]:
                stays = at in self.own_subtree and not literal
                tail = 3 * source + (_ITEM if stays else _PASS)
                if kind == _WAITS_FOR:
                    yield tail, 3 * target + _KIDS, _WAITS_FOR, 0
                else:
                    yield tail, 3 * target + _ITEM, kind, 1

    def _edges_into_own_subtree(self) -> set[int]:
        """Indexes of waiting edges whose target is the source or descends from it.

        Each walks up from the target. Half of the budget may go here; edges left over count as
        passed down, which can only show a ROLL_UP as a DEADLOCK, never the other way.
        """
        inside: set[int] = set()
        steps = self.budget // 2
        for at, (source, kind, target) in enumerate(self.edges):
            if kind == _PARENT:
                continue
            stack, seen = [target], {target}
            while stack and steps > 0:
                row = stack.pop()
                if row == source:
                    inside.add(at)
                    break
                steps -= 1
                fresh = [up for up in self.parents.get(row, ()) if up not in seen]
                seen.update(fresh)
                stack.extend(fresh)
        return inside

    def _shown(
        self, kind: CycleKind, graph: Graph, nodes: set[int], roots: Sequence[int]
    ) -> tuple[Cycle, set[int]]:
        path, exact, steps = shortest_cycle(graph, set(nodes), roots, max(self.budget, 0))
        self.budget -= steps
        links = self._links(path)
        first = min(range(len(links)), key=lambda at: links[at].source)
        rows = {node // 3 for node in nodes if node % 3 != _KIDS}
        return Cycle(kind, tuple(links[first:] + links[:first]), len(rows), exact), rows

    def _links(self, path: Sequence[tuple[int, int]]) -> list[CycleLink]:
        """A closed walk of (node, kind of the step out of it) as edges between rows."""
        links: list[CycleLink] = []
        source, via = path[0][0], None
        for at, (_, kind) in enumerate(path):
            head = path[(at + 1) % len(path)][0]
            if kind == _OWN:
                continue
            if head % 3 == _KIDS:
                via = self.names[head // 3]
                continue
            names = self.names[source // 3], self.names[head // 3]
            links.append(CycleLink(names[0], KIND_CODES[kind], names[1], via))
            source, via = head, None
        return links


def _strip_acyclic(count: int, table: EdgeTable) -> bytearray:
    """Mark the rows that may lie on a cycle; the others surely do not.

    Works on a coarser graph, with one node a row and an edge for each way in which one row can
    lead to another, so that no cycle of the exact graph is lost.
    """
    awaited = bytearray(count)
    for _, kind, target in table:
        if kind == _WAITS_FOR:
            awaited[target] = 1
    tails, heads = array("I"), array("I")
    for source, kind, target in table:
        if kind == _LINK:
            continue
        tails.append(source)
        heads.append(target)
        if kind == _PARENT and awaited[target]:
            tails.append(target)
            heads.append(source)
    alive = bytearray(b"\1") * count
    strip_sources(tails, heads, alive)
    strip_sources(heads, tails, alive)
    return alive
