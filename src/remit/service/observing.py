"""The built-in observer of capacity: figures of a work class from the ledger's own events.

It looks at a bounded number of the newest events: what of this class arrived, what was leased, and how
long it took until it was handed in. Little's law gives the wait of what is ready now: the number that
waits, over the rate at which work of the class is completed. Durations are told as the ninetieth in a
hundred, since a deadline is missed by the slow ones; the median stands in the basis.

Too few completions are no evidence, and never zero: nothing is posted then (CONTRACT 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from remit.core import commands as c
from remit.core.effect_events import IntentReceived, ResponseReported
from remit.core.effect_facts import Capacity
from remit.core.events import Recorded
from remit.core.facts import Item, Lane
from remit.core.item_events import CompletionReported, ItemCreated, LeaseGranted
from remit.core.limit_facts import Limit
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx
from remit.service.engine import Answer
from remit.service.operations import Operations

WINDOW: Final = 20_000
"""How many of the newest events are looked at."""

PAGE: Final = 2_000

SAMPLES: Final = 10
"""Completions of a class below which there is no evidence."""

LANES: Final = 10_000

OBSERVER: Final = "remit-observer"


@dataclass(slots=True)
class Flow:
    """What was seen of each item in the window."""

    began: int = 0
    arrived: set[str] = field(default_factory=set)
    leased: dict[str, int] = field(default_factory=dict)
    took: list[tuple[str, int]] = field(default_factory=list)

    def see(self, recorded: Recorded) -> None:
        """Take one event in."""
        item, event = recorded.stream, recorded.event
        if isinstance(event, IntentReceived | ItemCreated):
            self.arrived.add(item)
        elif isinstance(event, LeaseGranted):
            self.leased[item] = recorded.at
        elif isinstance(event, ResponseReported | CompletionReported) and item in self.leased:
            self.took.append((item, recorded.at - self.leased.pop(item)))


def observe(operations: Operations, work_class: str, *, command_id: str = "") -> Answer:
    """Derive the figures of a class and post them; refused as ``TOO_FEW_SAMPLES`` without evidence."""
    with operations.store.read() as tx:
        found = derive(tx, work_class)
    if isinstance(found, Refused):
        return found
    capacity, basis = found
    command = c.ObserveCapacity(capacity, basis)
    answer: Answer = operations.observe_capacity(command, command_id=command_id)
    return answer


def derive(tx: ReadTx, work_class: str) -> tuple[Capacity, str] | Refused:
    """The figures of a class now, and what they rest on."""
    flow = _flow(tx)
    own = _of_class(tx, work_class, {*flow.arrived, *(item for item, _ in flow.took)})
    durations = sorted(us for item, us in flow.took if item in own)
    if len(durations) < SAMPLES:
        return Refused(
            Code.TOO_FEW_SAMPLES,
            f"cannot observe {work_class}: found {len(durations)} completions in the newest {WINDOW}"
            f" events, expected {SAMPLES} or more",
            "post an observation from elsewhere with 'remit capacity observe FILE'",
            {"work_class": work_class, "samples": len(durations), "needed": SAMPLES},
        )
    now = tx.now()
    window_ms = max(1, (now - flow.began) // 1_000)
    queued, oldest = _queued(tx, work_class)
    facts = tx.load([("load", f"class/{work_class}"), ("limit", f"class/{work_class}")])
    live, limit = facts["load", f"class/{work_class}"], facts["limit", f"class/{work_class}"]
    most = limit.concurrency if isinstance(limit, Limit) else None
    p50, p90 = (_quantile(durations, part) // 1_000 for part in (50, 90))
    delay = queued * window_ms // len(durations)
    capacity = Capacity(
        id="", version=0, work_class=work_class, observed_at=now, start_delay_ms=delay,
        duration_ms=p90, queued_items=queued, queued_bytes=None, oldest_eligible_age_ms=oldest,
        arrival_window_ms=window_ms, arrivals=len(flow.arrived & own),
        completion_window_ms=window_ms, completions=len(durations),
        in_flight=live if isinstance(live, int) else 0, worker_limit=most, reserved=0,
        dependency_state="", destination_revision="", observer=OBSERVER, seq=0,
    )  # fmt: skip
    head = tx.head().seq
    return capacity, f"seq:{max(0, head - WINDOW)}..{head} samples:{len(durations)} p50_ms:{p50}"


def _flow(tx: ReadTx) -> Flow:
    flow, head = Flow(), tx.head().seq
    after = max(0, head - WINDOW)
    while after < head:
        page = tx.events(after, PAGE)
        if not page:
            break
        if not flow.began:
            flow.began = page[0].at
        for recorded in page:
            flow.see(recorded)
        after = page[-1].seq
    return flow


def _of_class(tx: ReadTx, work_class: str, items: set[str]) -> set[str]:
    names = sorted(items)
    own: set[str] = set()
    for start in range(0, len(names), PAGE):
        facts = tx.load([("item", name) for name in names[start : start + PAGE]])
        own |= {f.id for f in facts.values() if isinstance(f, Item) and f.work_class == work_class}
    return own


def _queued(tx: ReadTx, work_class: str) -> tuple[int, int | None]:
    """How many items of a class are ready, and how long the first of them has been."""
    lanes = [name for name in tx.lanes(LANES) if name.partition("|")[0] == work_class]
    facts = tx.load([("lane", name) for name in lanes])
    first = [tx.ready(name, None, 1) for name in lanes]
    heads = tx.load([("item", ids[0]) for ids in first if ids])
    ages = [tx.now() - f.ready_at for f in heads.values() if isinstance(f, Item)]
    ready = sum(fact.ready for fact in facts.values() if isinstance(fact, Lane))
    return ready, max(ages) // 1_000 if ages else None


def _quantile(values: list[int], part: int) -> int:
    """The smallest value that so many in a hundred do not exceed."""
    return values[max(0, -(-len(values) * part // 100) - 1)]
