"""Wiring of plan bundles: files read and judged, written, compared and drawn.

Joins the reader of files with the core's rules about whole plans: each finding of those gets the line
and column of the field that it is about, so that whoever wrote the file can go there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.core.planning.bundle import Bundle, EdgeType, bundle_digest, record_digest
from remit.core.planning.check import Finding, check
from remit.core.planning.difference import name_of
from remit.core.refusals import Code
from remit.documents.plans import BOUNDS, Reading, parse
from remit.ports import RemitError
from remit.service.collecting import held_back
from remit.wiring import input_error

if TYPE_CHECKING:
    from remit.drawing.graph import Graph
    from remit.exchange.drafting.draft import Draft

PlanFile = Reading
"""What a bundle's file says; surfaces know it by this name."""

FORM: Final = "FORM"
"""The code of what is wrong with a file's form, whatever the plan says."""

FILE_LIMIT_BYTES: Final = BOUNDS.bytes
"""The longest bundle that is read."""

SCHEMA_FILE: Final = "plan.schema.json"
"""Where a written bundle says that its schema is: beside it."""

FORMATS: Final = ("svg", "dot", "mermaid", "text")
"""Forms of drawings."""


MOST_ITEMS: Final = 8
"""Items of one node that are drawn."""


@dataclass(frozen=True, slots=True)
class Told:
    """One problem of a bundle with its place (from 1): a fault of form or a finding of the rules."""

    line: int
    column: int
    path: str
    message: str
    code: str = FORM
    kind: str = ""
    label: str = ""
    gate: str = ""
    blocking: bool = True

    def as_data(self) -> dict[str, Any]:
        """As programs read it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judged:
    """A bundle that was read and judged, with every problem in the order of lines."""

    bundle: Bundle | None
    problems: tuple[Told, ...]

    @property
    def malformed(self) -> bool:
        """Whether the file itself is wrong, so that the plan must not be used."""
        return self.bundle is None or any(p.code == FORM for p in self.problems)

    @property
    def blocking(self) -> bool:
        """Whether anything keeps a gate shut."""
        return any(p.blocking for p in self.problems)


Ask = Callable[[Bundle], Iterable[Finding]]
"""Gives the findings about a plan: ``check`` alone, or one that knows a ledger as well."""


@held_back()
def judge(data: bytes, ask: Ask = check) -> Judged:
    """Read a bundle and check it whole.

    A fault of form in a field hides what the rules would say of that field, and of nothing else.
    """
    return judged(parse(data), ask)


def judged(reading: Reading, ask: Ask) -> Judged:
    """Check a bundle that was read; see ``judge``."""
    told = [Told(p.line, p.column, p.path, p.message) for p in reading.problems]
    if reading.bundle is not None:
        found = check(reading.bundle) if reading.problems else ask(reading.bundle)
        told += _placed(reading, found)
    told.sort(key=lambda p: (p.line, p.column))
    return Judged(reading.bundle, tuple(told))


def _placed(reading: Reading, findings: Iterable[Finding]) -> Iterator[Told]:
    found = list(findings)
    places = reading.places((f.kind, f.label, f.field) for f in found)
    faulty: dict[tuple[int, int], list[str]] = {}
    for p in reading.problems:
        faulty.setdefault((p.line, p.column), []).append(p.message)
    for f in found:
        at = places[f.kind, f.label, f.field]
        said = faulty.get((at.line, at.column), ())
        if said and (not isinstance(at.value, dict) or f"the part {f.field} is missing" in said):
            continue
        path = f"{f.kind} {f.label}" + (f": {f.field}" if f.field else "")
        yield Told(at.line, at.column, path, f.message, f.code, f.kind, f.label, f.gate, f.blocking)


@held_back()
def read_plan(data: bytes) -> Reading:
    """What a bundle's file says, and what is wrong with its form."""
    return parse(data)


def digest(bundle: Bundle) -> str:
    """The digest of a bundle."""
    return bundle_digest({name_of(r): record_digest(r) for r in bundle.records()})


def plan_lines(bundle: Bundle, schema: str = "", notes: tuple[str, ...] = ()) -> Iterator[str]:
    """A bundle as lines of YAML that read back as an equal one."""
    from remit.documents.plan_writing import lines

    return lines(bundle, schema, notes)


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a bundle's file."""
    from remit.documents.plan_writing import schema

    return schema()


def draw(bundle: Bundle, form: str, around: str = "") -> tuple[str, int, int]:
    """The dependency graph of a plan as text of this form, with the numbers of nodes and arrows.

    ``around`` keeps what has to do with one node. Raises ``NOT_FOUND`` where there is none of that
    name, ``BAD_INPUT`` for another form and ``TOO_MANY`` where the graph is too large for a drawing.
    """
    from remit.drawing import svg, texts

    graph = graph_of(bundle)
    if around:
        if all(node.name != around for node in graph.nodes):
            raise RemitError(
                f"cannot draw around {around!r}: the plan has no such node",
                "name a node by its label",
                {"node": around},
                code=Code.NOT_FOUND,
            )
        graph = graph.around(around)
    makers = {"svg": svg.svg, "dot": texts.dot, "mermaid": texts.mermaid, "text": texts.lines}
    if form not in makers:
        raise RemitError(
            f"cannot draw as {form!r}: expected one of {', '.join(FORMATS)}",
            "give one of these with --format",
            {"format": form},
            code=Code.BAD_INPUT,
        )
    try:
        return makers[form](graph), len(graph.nodes), len(graph.arrows)
    except svg.TooLargeError as error:
        raise RemitError(
            f"cannot draw the plan {bundle.name!r}: {error}",
            "draw a part with --around NODE, or take --format dot",
            {"nodes": len(graph.nodes), "arrows": len(graph.arrows)},
            code=Code.TOO_MANY,
        ) from error


def graph_of(bundle: Bundle) -> Graph:
    """The dependency graph of a plan as something to draw; edges to unknown nodes are left out."""
    from remit.drawing.graph import Arrow, Graph, Node
    from remit.drawing.layout import forward

    items: dict[str, list[str]] = {}
    for item in bundle.items:
        items.setdefault(item.node, []).append(f"{item.label}: {item.title}")
    nodes = {
        node.label: Node(node.label, _words(node.requirements, items.get(node.label, [])))
        for node in bundle.nodes
    }
    edges = [(node.label, e) for node in bundle.nodes for e in node.edges if e.target in nodes]
    firm = [(e.target, label) for label, e in edges if e.type is EdgeType.BLOCKS]
    kept = set(forward(nodes, firm))
    arrows = tuple(
        Arrow(
            e.target,
            label,
            e.type is EdgeType.BLOCKS,
            e.rationale,
            e.type is EdgeType.BLOCKS and (e.target, label) not in kept,
        )
        for label, e in edges
    )
    return Graph(f"{bundle.name}: {bundle.goal.objective}", tuple(nodes.values()), arrows)


def _words(requirements: tuple[str, ...], items: list[str]) -> tuple[str, ...]:
    covers = [f"covers {', '.join(requirements)}"] if requirements else []
    more = [f"and {len(items) - MOST_ITEMS} more"] if len(items) > MOST_ITEMS else []
    return (*covers, *items[:MOST_ITEMS], *more)


def draft(fmt: str, path: Path, name: str, columns: Mapping[str, str]) -> Draft:
    """A bundle drafted from a foreign file. Raises ``BAD_INPUT`` and ``INPUT_PROBLEM``."""
    from remit.exchange.drafting import formats
    from remit.exchange.lines import InputProblem

    if fmt not in formats.FORMATS:
        raise RemitError(
            f"cannot draft from the format {fmt!r}: expected one of {', '.join(formats.FORMATS)}",
            "give one of these",
            {"format": fmt},
            code=Code.BAD_INPUT,
        )
    try:
        return formats.draft(fmt, path, name, columns)
    except formats.UnfitError as error:
        raise RemitError(
            f"cannot draft from {path}: {error}",
            "correct it, or take another format",
            {"format": fmt},
            code=Code.INPUT_PROBLEM,
        ) from error
    except InputProblem as problem:
        raise input_error(problem) from problem
    except OSError as error:
        raise RemitError(
            f"cannot draft from {path}: {error.strerror or error}",
            "name a file that can be read",
            {"format": fmt},
            code=Code.INPUT_PROBLEM,
        ) from error
