"""The plan of the demo: why its work exists, what has to come first, and what will prove each item.

It takes over six items of the backlog by their work ids and adds three. As it is written at first, it
holds a requirement that nobody understands: money cannot be converted offline, since rates change.
Whether that may be dropped is not for an agent to say, so the second writing, which has it no longer,
names the decision by which a human removes it. Both are files that ``remit plan check`` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    Clause,
    EdgeType,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
)
from remit.core.rows import RowKind, RowSpec
from remit.demo.plan import PYTHON, SCOPE, UNDONE

NAME: Final = "units"
"""What the plan is called."""

REMOVED: Final = "money"
"""The requirement that a human takes out again."""


_UNCLEAR: Final = (
    Ambiguity("rates", "Where do the rates come from, if nothing is looked up?"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    """One piece of work with what it is for; ``name`` labels requirement, node and row.

    ``after`` pairs a node that comes first with the reason.
    """

    number: int
    name: str
    clause: str
    statement: str
    path: str
    title: str
    body: str = ""
    priority: int = 2
    after: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The work id of the item."""
        return f"units-{self.number}"

    def requirement(self) -> PlanRequirement:
        """What must come true."""
        known = f"tests.test_{self.name} passes, and did not before."
        source = f"backlog, {self.label}" if self.number < 9 else "the owner, on reading the plan"
        unclear = _UNCLEAR if self.name == REMOVED else ()
        return PlanRequirement(
            self.name,
            self.statement,
            (self.clause,),
            (known,),
            sources=(source,),
            ambiguities=unclear,
        )

    def node(self) -> PlanNode:
        """Its place in the graph."""
        edges = tuple(PlanEdge(target, EdgeType.BLOCKS, why) for target, why in self.after)
        return PlanNode(self.name, (self.name,), edges)

    def row(self) -> PlanRow:
        """What will prove it: one test module, red on the base because it is not there.

        The work that will be reported and not done has a report that says how many checks ran, since
        a skipped check is no check.
        """
        test = f"tests.test_{self.name}"
        report = "report.xml" if self.label == UNDONE else None
        runner = ("tools/junit.py", "report.xml") if report else ("-m", "unittest")
        spec = RowSpec(
            RowKind.COMMAND,
            argv=(PYTHON, *runner, test),
            junit=report,
            red_reason=f"No module named '{test}'",
            timeout_ms=60_000,
        )
        boundary = "the function that converts, called from a test"
        limits = "one example for each family"
        return PlanRow(
            self.name, self.name, self.label, boundary, spec, expected="green", limitations=limits
        )

    def item(self) -> PlanItem:
        """The work itself."""
        return PlanItem(
            self.label,
            self.title,
            self.body,
            self.name,
            (self.name,),
            (self.name,),
            SCOPE,
            (self.path,),
            priority=self.priority,
        )


def _family(
    number: int,
    name: str,
    clause: str,
    statement: str,
    *texts: str,
    priority: int = 2,
    after: tuple[tuple[str, str], ...] = (),
) -> _Part:
    title, body = texts
    path = f"units/families/{name}.py"
    return _Part(number, name, clause, statement, path, title, body, priority, after)


_PARTS: Final = (
    _family(3, "mass", "everyday", "2 t are 2000 kg.", "Convert masses",
            "Kilograms, grams, tonnes, pounds.", priority=1),
    _family(4, "duration", "everyday", "2 h are 120 min.", "Convert durations",
            "Seconds to days.", priority=1),
    _family(5, "temperature", "kitchen", "0 C are 32 F and 273.15 K.", "Convert temperatures",
            "C, F and K; they need offsets, not factors.",
            after=(("mass", "Factors alone carry masses; see first that they do."),)),
    _family(6, "oven", "kitchen", "180 C are gas mark 4.", "Print oven marks",
            "Gas marks for a temperature.",
            after=(("temperature", "A gas mark is looked up by its temperature."),)),
    _family(7, "speed", "everyday", "90 km/h are 25 m/s.", "Convert speeds",
            "From lengths and durations.",
            after=(("duration", "A speed is a length in a duration."),)),
    _family(8, "area", "everyday", "3 km2 are 300 ha.", "Convert areas",
            "Square metres, hectares."),
    _Part(9, "rounding", "readable", "1609.344 at three digits is 1610.", "units/rounding.py",
          "Round results to significant digits", "1609.344 at three digits is 1610."),
    _Part(10, "catalogue", "readable", "One line for each family names its units.",
          "units/catalogue.py", "List every unit", "One line for each family, speeds included.",
          after=(("speed", "A list without the last family would be written twice."),)),
    _family(11, REMOVED, "everyday", "1 EUR is as many USD as today's rate says.",
            "Convert amounts of money", "By the rate of the day."),
)  # fmt: skip

PLANNED: Final = tuple(part.label for part in _PARTS)
"""Work ids of the items that are planned at first."""

_CLAUSES: Final = (
    Clause("everyday", "Quantities of everyday life are converted."),
    Clause("kitchen", "Temperatures and oven marks are converted."),
    Clause("readable", "Results can be read, and one can see which units there are."),
)


def bundle(decision: str = "") -> Bundle:
    """The plan; with a ``decision``, without the requirement that is removed by it."""
    parts = [part for part in _PARTS if not decision or part.name != REMOVED]
    goal = PlanGoal(
        NAME,
        "People convert what they meet in everyday life with one command, offline.",
        _CLAUSES,
        ("Looking anything up on the network.",),
        ("the backlog, rows units-3 to units-8",),
        "The owner of the program; it reaches no further than its repository.",
        decisions=(decision,) if decision else (),
    )
    return Bundle(
        NAME,
        goal,
        tuple(part.requirement() for part in parts),
        tuple(part.node() for part in parts),
        tuple(part.row() for part in parts),
        tuple(part.item() for part in parts),
    )
