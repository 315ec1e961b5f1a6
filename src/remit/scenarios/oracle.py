"""Reading the oracle of a scenario: lines, each with the probes that give its actual.

A line has either ``probe`` (one or more answers, joined) or ``holds`` (conditions, which together come
to PASS, FAIL or NOT_TESTED). What is expected stands in the scenario; what is actual never does.
"""

from __future__ import annotations

from remit.documents.fields import Faults, taken
from remit.documents.marked import Marked
from remit.scenarios import verbs
from remit.scenarios.model import Line, Probe


def oracle(at: Marked, path: str, faults: Faults) -> Line | None:
    """One line of the oracle."""
    said = taken(at, verbs.LINE, faults, path)
    probe, holds = said["probe"], said["holds"]
    if (probe is None) == (holds is None):
        faults.add(at, path, "expected either probe or holds")
        return None
    own = "holds" if holds is not None else "probe"
    given = holds if holds is not None else probe
    found = _probes(given, f"{path}.{own}", faults, conditions=own == "holds")
    return Line(
        said["check"],
        said["section"],
        said["branch"],
        said["expected"],
        found,
        own == "holds",
        said["join"],
        at.line,
    )


def _probes(at: Marked, path: str, faults: Faults, *, conditions: bool) -> tuple[Probe, ...]:
    listed = at.value if isinstance(at.value, list) else [at]
    if not listed:
        faults.add(at, path, "found no probe")
    found = []
    for i, one in enumerate(listed):
        where = f"{path}[{i}]" if isinstance(at.value, list) else path
        said = taken(one, verbs.PROBED, faults, where)
        if conditions and said["wanted"] is None and isinstance(one.value, dict):
            faults.add(one, where, "the part is is missing: what the answer must be")
        if not conditions and said["wanted"] is not None:
            faults.add(one, f"{where}.is", "leave it out: the line says what is expected")
        found.append(Probe(**said))
    return tuple(found)
