"""What stands approved and could not land before: whether it is worth a turn of this run.

A run counts what it chooses, so an item that cannot land would use up a choice of every run to come. What
follows from the approval, its commits and main alone is as it was for as long as none of these changed:
the item is left, and the run's stream says which code stood in its way. What the remote or the machine
refused may be otherwise by now; that is tried again, after everything else where a remote said no.

How an earlier run ended with an item stands in its entry, as ``integrate:CODE way=… main=…``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.core.run_facts import RunEntry, RunOutcome, entry_id
from remit.service.reading.runs import newest_runs

if TYPE_CHECKING:
    from remit.ports import ReadTx

RUNS: Final = 20
ENTRIES: Final = 2_000
"""So many runs, and entries of them, are looked through, the newest first."""

BY_MAIN: Final = frozenset(
    {"COMMIT_MISMATCH", "NOTHING_TO_INTEGRATE", "HISTORY_NOT_LINEAR", "HISTORY_UNRELATED"}
)
"""Why something could not land that follows from its commits and main."""

BY_OTHERS: Final = frozenset({"DESTINATION_REFUSED", "ROWS_BLOCKED"})
"""Why something could not land that only others can change, and nobody here can see whether they did."""

_DETAIL: Final = re.compile(r"integrate:([A-Z_]+) way=([a-z]+) main=([0-9a-f]*)\Z")


def detail(refused: Refused, way: str, main: str) -> str:
    """How an entry says that its item could not land; a repository's own code says more than ours."""
    own = str(refused.details.get("repository_code", ""))
    code = own if own in BY_MAIN else refused.code.value
    return f"integrate:{code} way={way} main={main}"


@dataclass(frozen=True, slots=True)
class Failed:
    """How the newest try of an item ended: in which run, by which code, with which main."""

    run: str
    code: str
    main: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """Approved items: what is landed first, what is tried last, and what main has to be seen for."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    doubtful: Mapping[str, Failed]


def sort(tx: ReadTx, items: Sequence[Item], way: str) -> Sorted:
    """Sort approved items by how the newest try of each ended, where it has not changed since."""
    found = _newest(tx, {item.id for item in items}) if items else {}
    first, last, doubtful = [], [], {}
    for item in items:
        run, entry = found.get(item.id, ("", None))
        said = _DETAIL.match(entry.detail) if entry is not None else None
        same = entry is not None and item.changed_at <= entry.changed_at
        if said is None or not same or said[2] != way:
            first.append(item.id)
        elif said[1] in BY_MAIN and said[3]:
            doubtful[item.id] = Failed(run, said[1], said[3])
        elif said[1] in BY_OTHERS:
            last.append(item.id)
        else:
            first.append(item.id)
    return Sorted(tuple(first), tuple(last), doubtful)


def _newest(tx: ReadTx, wanted: set[str]) -> dict[str, tuple[str, RunEntry]]:
    """The newest entry of each item among those of the newest runs, with its run."""
    found: dict[str, tuple[str, RunEntry]] = {}
    left = ENTRIES
    for run in newest_runs(tx, RUNS)[0]:
        numbers = range(run.chosen, max(0, run.chosen - left), -1)
        left -= len(numbers)
        facts = tx.load([("run-entry", entry_id(run.id, number)) for number in numbers])
        entries = [fact for fact in facts.values() if isinstance(fact, RunEntry)]
        for entry in sorted(entries, key=lambda one: one.number, reverse=True):
            if entry.item in wanted and entry.outcome == RunOutcome.APPROVED:
                found.setdefault(entry.item, (run.id, entry))
        if not left or len(found) == len(wanted):
            break
    return found


def unchanged(item: str, failed: Failed) -> str:
    """Why an item is left: nothing that kept it from landing has changed."""
    return (
        f"{item} is left as it is: it could not land in {failed.run} ({failed.code}), and neither it nor"
        f" main has changed since; have it approved anew, or integrate it by hand: 'remit integrate {item}'"
    )
