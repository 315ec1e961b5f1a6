"""The operator's views on 100,000 items: now, and as of seqs all over the past.

    make torture ARGS="-k fleet_of_full_size -s"

prints what each took here, in milliseconds of wall time and of this process: the slowest of all that were
asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.core.drained import CODE, propose, start
from tests.core.triaging import put
from tests.core.world import BASE, COMMAND, sha
from tests.ground.ledgers import HUMAN
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.run_decisions import MINUTE_MS
from remit.core.run_facts import RunBounds
from remit.service.engine import Done
from remit.service.glimpsing import glimpse
from remit.service.reading.fleet import fleet
from remit.service.reading.inbox import inbox
from remit.service.reading.runs import run_show
from remit.service.running import record_proof
from remit.wiring import Ledger, create_ledger, url_of

ITEMS = 100_000
CHUNK = 1_000
WAITING = 20_000
"""Items that wait for another, so that they are held."""
WORKED = 6_000
"""Items that are leased, of which a part goes on to review or triage."""
CHOSEN = 2_000
BOUNDS = RunBounds(CHOSEN, 256, 31 * 24 * 60 * MINUTE_MS, 1_000_000, CHOSEN)


def accepted(answers: Any) -> list[Done]:
    found = answers if isinstance(answers, list) else [answers]
    wrong = [answer for answer in found if not isinstance(answer, Done)]
    assert not wrong, wrong[:1]
    return found


def fill(ledger: Ledger) -> None:
    """A hundred thousand items in all statuses, and a run with two thousand entries."""
    human, bob, cat = (ledger.acting(name) for name in (HUMAN, "bob", "cat"))
    accepted(human.run([c.EnrolActor("bob", "agent"), c.EnrolActor("cat", "agent")]))
    limits = c.SetPolicy(_policy(ledger))
    accepted(human.run(limits))
    for first in range(0, ITEMS, CHUNK):
        waits = (("W-1", "blocks"),) if 0 < first <= WAITING else ()
        items = [
            c.CreateItem(f"item {n}", rows=(COMMAND,), depends_on=waits)
            for n in range(first, first + CHUNK)
        ]
        accepted(human.create(items))
    for _ in range(0, WORKED, CHUNK):
        leases = [d.events[-1].event.lease for d in accepted(bob.lease([c.GrantLease()] * CHUNK))]  # type: ignore[attr-defined]  # granted
        done = [lease for lease in leases if lease.item != "W-1"][: CHUNK // 2]
        reports = [
            c.ReportCompletion(x.item, x.fence, sha(x.fence), BASE, tree=sha(9)) for x in done
        ]
        accepted(bob.report_completion(reports))
        reviews = [
            c.ReviewWork(x.item, approve=True, reason=Text("good")) for x in done[: CHUNK // 4]
        ]
        accepted(cat.review(reviews))
        aside = [put(x.item, "ambiguity", "what?") for x in done[CHUNK // 4 :: 2]]
        accepted(human.triage(aside))
    drain(ledger)


def _policy(ledger: Ledger) -> Any:
    from dataclasses import replace

    from remit.core.facts import LEDGER
    from remit.core.facts import Ledger as LedgerFact

    with ledger.reading() as tx:
        found = tx.small()[LEDGER]
    assert isinstance(found, LedgerFact)
    wide: Any = dict.fromkeys(
        ("ledger_leases", "class_leases", "tenant_leases", "actor_leases"), WORKED
    )
    return replace(found.policy, ttl_ms=3_600_000, **wide)


def drain(ledger: Ledger) -> None:
    """A run of two thousand entries, each with all its steps."""
    human = ledger.acting(HUMAN)
    accepted(record_proof(human, c.RecordParityProof("1", CODE, 1, 5, "PASS")))
    accepted(human.run([propose(BOUNDS), c.AcceptDecision("D-1")]))
    accepted(human.start_run(start(bounds=BOUNDS)))
    for first in range(1, CHOSEN + 1, 100):
        names = [f"W-{n}" for n in range(first, first + 100)]
        accepted(human.choose([c.ChooseItem("RUN-1", "h1", name, 100) for name in names]))
        for step in ("leased", "cloned", "started", "ended", "handed-in"):
            steps = [c.CheckpointRun("RUN-1", "h1", name, step) for name in names]
            accepted(human.checkpoint(steps))
        if first < CHOSEN - 100:
            ends = [c.SettleRunItem("RUN-1", "h1", name, "in-review", 90) for name in names]
            accepted(human.settle(ends))


def timed(call: Callable[[], Any], times: int) -> tuple[float, float]:
    """The slowest of some calls, in milliseconds: on the wall, and of this process."""
    took = []
    for _ in range(times):
        wall, own = time.perf_counter(), time.process_time()
        call()
        took.append((time.perf_counter() - wall, time.process_time() - own))
    return max(w for w, _ in took) * 1_000, max(p for _, p in took) * 1_000


VIEWS: dict[str, Callable[[Any], Any]] = {
    "fleet": lambda tx: fleet(tx, 50),
    "inbox of a human": lambda tx: inbox(tx, HUMAN, 50),
    "inbox of an agent": lambda tx: inbox(tx, "bob", 50),
    "run show": lambda tx: run_show(tx, "RUN-1", 50),
}


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_fleet_of_full_size(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if store == "sqlite":
        url = url_of(tmp_path / "ledger.db")
    else:
        server: Server = request.getfixturevalue("postgres")
        url = server.url(server.database())
    ledger = create_ledger(url, HUMAN)
    began = time.perf_counter()
    fill(ledger)
    with ledger.reading() as tx:
        head = tx.head().seq
        moments = len(tx.names("moment", "", 10_000))
    print(f"\n{store}: {ITEMS} items, {head} events, {moments} moments", end="")
    print(f", filled in {time.perf_counter() - began:.0f} s")

    def ask(view: Callable[[Any], Any], at: int | None) -> Any:
        with glimpse(ledger.store, at) as tx:
            return view(tx)

    seqs = [head, head - 1, 1, *Random(7).sample(range(1, head), 22)]
    for name, view in VIEWS.items():
        ask(view, None)  # what is imported once is no part of an answer
        now = timed(lambda view=view: ask(view, None), 10)  # type: ignore[misc]  # bound now
        each = [
            timed(lambda view=view, at=at: ask(view, at), 1)  # type: ignore[misc]  # bound now
            for at in seqs
        ]
        past = max(w for w, _ in each), max(p for _, p in each)
        print(f"  {name:18} now {now[0]:7.1f} ms ({now[1]:.1f} of this process)", end="")
        print(f", past {past[0]:7.1f} ms ({past[1]:.1f}), the slowest of {len(seqs)} seqs")
    with glimpse(ledger.store, None) as tx:
        found = fleet(tx, 50)
    assert found["counts"]["total"] == ITEMS
    assert len(found["leases"]) == 50
    assert found["lists"]["holds"]["total"] == WAITING
    ledger.close()
