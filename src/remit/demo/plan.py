"""The backlog of the demo: a Beads file, the cast, and how each item must stand in the end.

Most items are taken over by a plan (``remit.demo.bundle``), which says what will prove them; one gets
its rows from the default rule, once the owner has accepted that. Each row's command is red before the
change and green after it, and the verifier runs both.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.core.commands import RegisterRule

PYTHON: Final = "python3" if shutil.which("python3") else sys.executable
"""What runs the program's checks."""

OWNER: Final = "owner"
AGENTS: Final = ("agent-1", "agent-2")
REVIEWER: Final = "reviewer"

RULE: Final = "default"
SCOPE: Final = ("units/**", "tests/**", "README.md")

KILLED: Final = "units-4"
"""The work during which an agent is killed."""

UNDONE: Final = "units-5"
"""The work that is reported and was not done."""

WAITING: Final = "units-6"
"""The work that waits on it."""

RULED: Final = "units-2"
"""The work whose rows the default rule gives."""

DROPPED: Final = "units-11"
"""The work whose requirement a human takes out again."""

TRACED: Final = "units-7"
"""The work whose chain is shown in the end."""

EXPECTED: Final = {
    "units-1": "closed",
    "units-2": "verified",
    "units-3": "verified",
    "units-4": "verified",
    "units-5": "triaged",
    "units-6": "held",
    "units-7": "verified",
    "units-8": "verified",
    "units-9": "verified",
    "units-10": "verified",
    "units-11": "closed",
}
"""How each item must stand in the end, by work id."""


@dataclass(frozen=True, slots=True)
class _Bead:
    """One row of the Beads file; ``after`` names what it depends on."""

    number: int
    title: str
    body: str
    priority: int = 2
    status: str = "open"
    after: tuple[int, ...] = ()

    def line(self) -> str:
        name = f"units-{self.number}"
        row: dict[str, Any] = {
            "id": name,
            "title": self.title,
            "description": self.body,
            "status": self.status,
            "priority": self.priority,
            "issue_type": "feature",
            "created_at": f"2026-01-0{self.number}T09:00:00Z",
            "updated_at": "2026-01-12T09:00:00Z",
            "dependencies": [
                {"issue_id": name, "depends_on_id": f"units-{other}", "type": "blocks"}
                for other in self.after
            ],
        }
        if self.status == "closed":
            row |= {"closed_at": "2026-01-05T09:00:00Z", "close_reason": "done"}
        return json.dumps(row)


_BEADS: Final = (
    _Bead(1, "Convert lengths", "Metres, kilometres, miles.", status="closed"),
    _Bead(2, "Read negative numbers", "-40 is refused as no number; the suite is red.", 1),
    _Bead(3, "Convert masses", "Kilograms, grams, tonnes, pounds.", 1, after=(1,)),
    _Bead(4, "Convert durations", "Seconds to days.", 1),
    _Bead(5, "Convert temperatures", "C, F and K; they need offsets, not factors.", after=(3,)),
    _Bead(6, "Print oven marks", "Gas marks for a temperature.", after=(5,)),
    _Bead(7, "Convert speeds", "From lengths and durations.", after=(1, 4)),
    _Bead(8, "Convert areas", "Square metres, hectares.", status="in_progress"),
)

UNCONFIRMED: Final = "units-8"
"""The row whose source says that somebody may be at work on it."""


def write_beads(path: Path) -> int:
    """Write the Beads file; returns how many rows it has."""
    path.write_text("".join(bead.line() + "\n" for bead in _BEADS), encoding="utf-8")
    return len(_BEADS)


def rule() -> RegisterRule:
    """The default rule: the whole suite, and a judgement that only a person can make."""
    argv = (PYTHON, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
    return RegisterRule(
        RULE,
        "demo-1",
        argv,
        "Somebody who types a negative number gets a sensible answer.",
        red_reason="FAILED",
        timeout_ms=60_000,
    )
