"""The rules of stage 3: the graph of a plan leads somewhere, covers everything, and ends.

Only edges of the type ``blocks`` make one node wait for another, so only they can close a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remit.core.planning.bundle import EdgeType, PlanNode
from remit.core.planning.cycles import cycles
from remit.core.planning.findings import Finding, Gate, Problem
from remit.core.planning.index import Index

SHOWN: Final = 20
"""Most nodes of a cycle that a message spells out; the finding holds all of them."""


def graph_findings(index: Index) -> Iterator[Finding]:
    """What is wrong with nodes and edges; cycles last, the smallest first."""
    for node in index.plan.nodes:
        yield from _node(index, node)
    for requirement in index.plan.requirements:
        if requirement.label not in index.nodes_of:
            yield Finding(
                Problem.REQUIREMENT_UNCOVERED,
                "requirement",
                requirement.label,
                "",
                f"no node of the graph covers the requirement {requirement.label!r}",
                Gate.GRAPH,
            )
    yield from _cycles(index)


def _node(index: Index, node: PlanNode) -> Iterator[Finding]:
    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "node", node.label, field, why, Gate.GRAPH)

    if not node.requirements:
        yield found(Problem.NODE_ORPHAN, "requirements", "the node covers no requirement")
    for n, label in enumerate(node.requirements):
        if label not in index.requirements:
            why = f"the plan has no requirement {label!r}"
            yield found(Problem.REQUIREMENT_UNKNOWN, f"requirements[{n}]", why)
    seen: set[tuple[str, EdgeType]] = set()
    waits: set[str] = set()
    for n, edge in enumerate(node.edges):
        if edge.target not in index.nodes:
            why = f"the plan has no node {edge.target!r}"
            yield found(Problem.NODE_UNKNOWN, f"edges[{n}].target", why)
        if not edge.rationale.strip():
            why = f"the edge to {edge.target!r} does not say why it is there"
            yield found(Problem.RATIONALE_MISSING, f"edges[{n}].rationale", why)
        if (edge.target, edge.type) in seen:
            why = f"there are two edges of the type {edge.type} to {edge.target!r}"
            yield found(Problem.EDGE_TWICE, f"edges[{n}]", why)
        seen.add((edge.target, edge.type))
        if edge.type is EdgeType.BLOCKS:
            waits.add(edge.target)
    for n, (target, _) in enumerate(node.bypass):
        if target in waits:
            why = f"{target!r} is waited for and bypassed at once"
            yield found(Problem.BYPASS_AND_EDGE, f"bypass[{n}]", why)


def _cycles(index: Index) -> Iterator[Finding]:
    graph = {
        node.label: [e.target for e in node.edges if e.type is EdgeType.BLOCKS]
        for node in index.nodes.values()
    }
    found = cycles(graph)
    for path in found.found:
        shown = " -> ".join((*path[:SHOWN], *(["..."] if len(path) > SHOWN else []), path[0]))
        node, following = index.nodes[path[0]], (*path[1:], path[0])[0]
        at = [e.target if e.type is EdgeType.BLOCKS else "" for e in node.edges].index(following)
        yield Finding(
            Problem.CYCLE,
            "node",
            path[0],
            f"edges[{at}].target",
            f"{len(path)} nodes wait for one another: {shown}",
            Gate.GRAPH,
            path=path,
        )
    if not found.complete:
        why = f"there are more cycles than the {len(found.found)} that are listed"
        label = found.found[0][0]
        yield Finding(Problem.CYCLE, "node", label, "", why, Gate.GRAPH)
