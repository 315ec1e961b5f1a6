"""From a goal to work that may start: the plan is checked and applied, and a human decides once.

The plan comes from a file, as ``remit plan check`` and ``remit plan apply`` take it. Its first revision
holds a requirement that is not clear, whose item may not start. An agent writes the plan anew without
it and may not bring it in; it proposes the decision and may not accept that. The owner signs, the same
file is applied once more, its closing event consumes the decision, and the item is closed. What was
refused on the way is kept, so that it can be told and checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.commands import AcceptDecision, ProposeDecision
from remit.core.decisions import DecisionKind, Option
from remit.core.gates import planned_gate
from remit.core.planning.bundle import Bundle, proposal_digest
from remit.core.planning.check import Gate
from remit.core.refusals import Refused
from remit.demo import plan
from remit.demo.agent import accepted
from remit.demo.bundle import NAME, REMOVED, bundle
from remit.demo.person import Person
from remit.demo.room import DemoTrouble, Room
from remit.service.operations import Operations
from remit.service.planning import Applied, apply_plan
from remit.service.proposing import proposed_on
from remit.service.reading.waiting import blocked
from remit.wiring import Ledger
from remit.wiring.plans import judge, plan_lines, read_plan

PLANNER: Final = plan.AGENTS[0]
"""The agent that writes the plan."""

COMING: Final = "D-1"
"""What the first decision of a ledger is called."""


@dataclass(slots=True)
class Governed:
    """What came of the plan: what was open, what was refused, which revisions are in force.

    ``problems`` are the codes of what the first check found, ``shut`` the work ids that stood behind the
    plan's gate of requirements then. ``refused`` holds a code for what an agent, and a key that signs by itself, may
    not do. ``unsigned`` says why the decision is not signed, empty where it is.
    """

    problems: list[str] = field(default_factory=list)
    shut: list[str] = field(default_factory=list)
    revisions: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    decision: str = ""
    unsigned: str = ""


@dataclass(frozen=True, slots=True)
class Governing:
    """Takes a ledger with a backlog to one with a plan in force; ``tell`` gets a line at a time."""

    room: Room
    ledger: Ledger
    tell: Callable[[str], None]
    found: Governed = field(default_factory=Governed)

    def first(self) -> None:
        """Apply the plan as it is written at first: on the ledger, and with one gate shut."""
        planner = self.ledger.acting(PLANNER)
        wanted = self._written(bundle())
        self.found.problems = self._checked(wanted)
        applied = self._apply(planner, wanted)
        gate = planned_gate(Gate.REQUIREMENTS, applied.plan)
        with self.ledger.reading() as tx:
            waiting = blocked(tx, 0)["items"]
        self.found.shut = [item["work_id"] for item in waiting if item["gate"] == gate]
        self.tell(
            f"'plan check' says {', '.join(self.found.problems)}: {', '.join(self.found.shut)} stays"
            f" behind the gate {gate}"
        )

    def decide(self) -> None:
        """Have a human remove the unclear requirement, and apply the plan without it."""
        planner = self.ledger.acting(PLANNER)
        wanted = self._written(bundle(COMING))
        self._refused("apply", "apply what nobody has decided", apply_plan(planner, wanted))
        proposed = accepted(planner.run(_proposal(wanted)), "propose the decision")
        name = proposed.events[0].stream
        if name != COMING:
            raise DemoTrouble(f"the first decision is {name}, expected {COMING}")
        self.found.decision = name
        answer = planner.run(AcceptDecision(name))
        self._refused("accept", f"accept {name} for a human", answer)
        self._sign(name)
        self._apply(planner, wanted)

    def _sign(self, name: str) -> None:
        """The owner decides, by a key that counts where there is one."""
        person = Person(self.room, self.ledger)
        person.enrol()
        self.found.refused["key"] = person.open_key
        self.tell(f"a key without a passphrase, which signs by itself: {person.open_key}")
        answer = person.acting().run(_choice(name))
        if isinstance(answer, Refused) and not person.unsigned:
            person.unsigned = f"the signature does not count here: {answer.code}"
            answer = person.acting().run(_choice(name))
        accepted(answer, f"accept {name}")
        self.found.unsigned = person.unsigned
        if person.unsigned:
            self.tell(f"{name} is accepted and not signed: {person.unsigned}")

    def _refused(self, what: str, doing: str, answer: Any) -> None:
        """Note what an agent may not do, by the code of its refusal."""
        code = answer.code.value if isinstance(answer, Refused) else "ACCEPTED"
        self.found.refused[what] = code
        self.tell(f"{PLANNER} may not {doing}: {code}")

    def _written(self, value: Bundle) -> Bundle:
        """Write a plan into the room and read it back, as everybody else would get it."""
        self.room.plan.write_text("".join(plan_lines(value)), encoding="utf-8")
        reading = read_plan(self.room.plan.read_bytes())
        if reading.bundle != value or reading.problems:
            raise DemoTrouble(f"{self.room.plan.name} does not read back as it was written")
        return reading.bundle

    def _checked(self, value: Bundle) -> list[str]:
        """What a check beside the ledger finds, as codes."""
        with self.ledger.reading() as tx:
            found = proposed_on(tx, value)
        if isinstance(found, Refused):
            raise DemoTrouble(found.message)
        judged = judge(self.room.plan.read_bytes(), lambda _: found.findings)
        return [str(problem.code) for problem in judged.problems if problem.blocking]

    def _apply(self, operations: Operations, value: Bundle) -> Applied:
        answer = apply_plan(operations, value)
        if isinstance(answer, Refused):
            raise DemoTrouble(f"the plan was refused: {answer.message}")
        self.found.revisions.append(answer.revision_id)
        return answer


def _proposal(value: Bundle) -> ProposeDecision:
    return ProposeDecision(
        str(DecisionKind.REQUIREMENT),
        "Leave money out of the converter",
        (
            Option("remove", "Convert no money; the rest goes on"),
            Option(
                "clarify", "Say first where rates come from", False, "only the network has them"
            ),
        ),
        (f"requirement/{REMOVED}",),
        proposal_digest(value),
        "May the goal be reached without converting amounts of money?",
        "remove",
        "The goal wants everything offline, and rates change daily.",
        NAME,
    )


def _choice(name: str) -> AcceptDecision:
    return AcceptDecision(name, chosen="remove", rationale="Nobody asked for money so far.")
