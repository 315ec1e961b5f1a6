"""A plan of full size: 10,000 requirements, 20,000 rows, 10,000 items and 50,000 edges.

    make torture ARGS="-k full_size_plan -s"

prints what it took here, in seconds of wall time and of this process, and how much memory.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.plans import item, large, requirement, row
from tests.ground.ledgers import HUMAN
from tests.stores.postgres.server import Server

from remit.core.planning.bundle import Bundle, PlanNode
from remit.core.planning.check import check
from remit.service.planned import read_plan
from remit.service.planning import Applied
from remit.service.reading.coverage import matrix, suspect_links
from remit.service.reading.trace import trace
from remit.wiring import Ledger, create_ledger, url_of

COUNT = 10_000


def one_more(plan: Bundle) -> Bundle:
    """The plan with one requirement more, and what brings it about."""
    return replace(
        plan,
        requirements=(*plan.requirements, requirement(COUNT, clauses=("c0",))),
        nodes=(*plan.nodes, PlanNode(f"n{COUNT}", (f"r{COUNT}",))),
        rows=(*plan.rows, row(COUNT)),
        items=(*plan.items, item(COUNT)),
    )


def traced(ledger: Ledger, name: str, limit: int = 50) -> None:
    """One trace, whose chain must be there."""
    with ledger.reading() as tx:
        found = trace(tx, name, limit)
    assert isinstance(found, dict), found
    chains = found.get("chains", [found])
    assert len(chains) == 1
    assert not found["broken"]
    assert all(link["present"] for link in chains[0]["chain"][:2])


@pytest.mark.torture
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_full_size_plan_is_applied(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if store == "sqlite":
        url = url_of(tmp_path / "ledger.db")
    else:
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("wiped"))
    ledger = create_ledger(url, HUMAN)
    people = ledger.acting(HUMAN)
    plan = large(COUNT)
    assert sum(len(node.edges) for node in plan.nodes) > 49_000
    took: dict[str, tuple[float, float]] = {}

    def timed(what: str, do: Callable[[], object]) -> object:
        wall, own = time.perf_counter(), time.process_time()
        answer = do()
        took[what] = (time.perf_counter() - wall, time.process_time() - own)
        print(f"{store}: {what} {took[what][0]:.1f} s, {took[what][1]:.1f} s of this process")
        return answer

    assert timed("check", lambda: check(plan)) == ()
    first = timed("check and apply", lambda: people.apply_plan(plan))
    assert isinstance(first, Applied)
    assert len(first.added) == 1 + 5 * COUNT
    again = timed("apply again", lambda: people.apply_plan(plan))
    assert isinstance(again, Applied)
    assert not again.changed
    more = timed("apply with one requirement more", lambda: people.apply_plan(one_more(plan)))
    assert isinstance(more, Applied)
    assert (len(more.added), more.revised) == (4, ())
    with ledger.reading() as tx:
        assert isinstance(timed("read", lambda: read_plan(tx, "large")), Bundle)
    timed("first trace", lambda: traced(ledger, "W-5000"))
    for name in ("W-5001", "R-5000", "N-5000", "V-9000", "P-1"):
        timed(f"trace {name}", lambda name=name: traced(ledger, name, 1))  # type: ignore[misc]  # bound now
        assert took[f"trace {name}"][1] < 0.2
    with ledger.reading() as tx:
        lines = timed("matrix", lambda: matrix(tx))
        assert isinstance(lines, dict)
        assert lines["coverage"]["shallow"] == COUNT + 1
        assert isinstance(timed("suspect links", lambda: suspect_links(tx)), dict)
    ledger.close()
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{store}: {peak_mib:.0f} MiB")
    assert peak_mib < 1_024
    assert took["check and apply"][1] < 20
    assert took["apply with one requirement more"][1] < 3
