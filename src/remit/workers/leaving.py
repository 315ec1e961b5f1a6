"""The end of a worker: no lease of it is live, or it says which one is and why.

Handing back needs no knowledge of what a handler did meanwhile: the core holds an item whose effect
was intended, and gives the other ones back. What is looked at last is the ledger itself, since a
worker that only believed that it had ended a lease would strand its item for the whole ttl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.commands import ReleaseLease
from remit.core.facts import Item, Lease
from remit.core.item_events import LeaseGranted
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, ReadTx, StoreUnavailable
from remit.workers.clock import boot_s
from remit.workers.desk import Desk
from remit.workers.endings import Ending
from remit.workers.job import Job

LAST_S: Final = 5.0
"""How long a store that is away is asked to take the end of leases."""


@dataclass(slots=True)
class Report:
    """What a worker did. ``left`` are leases that may still be live, which is a fault.

    ``still_running`` counts handlers that did not return although their work was handed back.
    ``kept_back`` is the code that kept work from being taken which was ready at the end.
    """

    ended: Counter[Ending] = field(default_factory=Counter)
    unsettled: list[Job] = field(default_factory=list)
    still_running: int = 0
    left: tuple[str, ...] = ()
    kept_back: str = ""

    def count(self, ending: Ending) -> None:
        """One more job has ended."""
        self.ended[ending] += 1

    def as_data(self) -> dict[str, Any]:
        """The counts as they stand in JSON."""
        counts = {ending.value.replace("-", "_"): self.ended[ending] for ending in Ending}
        return {
            "jobs": sum(self.ended.values()),
            **counts,
            "still_running": self.still_running,
            "live_leases": list(self.left),
            "kept_back": self.kept_back,
        }


def release_all(desk: Desk, jobs: Sequence[Job], reason: str) -> None:
    """Hand everything back in one transaction; from here on no handler can begin anything."""
    for job in jobs:
        job.tenure.lose(reason)
    if not jobs:
        return
    try:
        answers = desk.ask([job.release(reason) for job in jobs], boot_s() + LAST_S)
    except (StoreUnavailable, OutcomeUnknown):
        return  # ``left_behind`` asks once more, and says what could not be ended
    for job, answer in zip(jobs, answers, strict=True):
        if not isinstance(answer, Refused):
            job.tenure.end()


def left_behind(
    desk: Desk, jobs: Iterable[Job], unsure: Sequence[tuple[str, list[str]]]
) -> tuple[str, ...]:
    """Leases of this worker that are live in the ledger and could not be ended.

    ``unsure`` are calls for leases of which nobody knows whether they were answered with one.
    """
    mine = {job.lease.id: job.lease for job in jobs if not job.over}
    if not mine and not unsure:
        return ()
    try:
        live = desk.insist(lambda: _live(desk, mine, unsure), boot_s() + LAST_S)
        if live:
            ends = [ReleaseLease(lease.item, lease.fence, "STOPPING") for lease in live]
            desk.ask(ends, boot_s() + LAST_S)
            live = desk.insist(lambda: _live(desk, mine, unsure), boot_s() + LAST_S)
    except (StoreUnavailable, OutcomeUnknown):
        asked = [f"{item} (asked for)" for _, items in unsure for item in items]
        return (*mine, *asked)
    return tuple(lease.id for lease in live)


def _live(
    desk: Desk, mine: dict[str, Lease], unsure: Sequence[tuple[str, list[str]]]
) -> list[Lease]:
    with desk.operations.store.read() as tx:
        wanted = mine | {lease.id: lease for lease in _given(tx, unsure)}
        items = tx.load([("item", lease.item) for lease in wanted.values()])
        held = [fact.lease for fact in items.values() if isinstance(fact, Item) and fact.lease]
        return [lease for lease in held if lease.id in wanted and lease.expires_at > tx.now()]


def _given(tx: ReadTx, unsure: Sequence[tuple[str, list[str]]]) -> list[Lease]:
    """Leases that calls of unknown outcome turn out to have been given."""
    ids = [f"{named}/{n}" for named, items in unsure for n in range(len(items))]
    return [
        recorded.event.lease
        for events in tx.commands(ids).values()
        for recorded in events
        if isinstance(recorded.event, LeaseGranted)
    ]
