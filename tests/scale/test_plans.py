"""A plan of full size: 10,000 requirements, 20,000 rows, 10,000 items and 50,000 edges.

    make torture ARGS="-k full_size_plan -s"

prints what it took here, in seconds of wall time and of this process (of the command's, where it is
asked of the command line), and how much memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from remit.wiring.plans import plan_lines

COUNT = 10_000


def one_more(plan: Bundle) -> Bundle:
    """The plan with one requirement more, and what brings it about."""
    number = len(plan.requirements)
    return replace(
        plan,
        requirements=(*plan.requirements, requirement(number, clauses=("c0",))),
        nodes=(*plan.nodes, PlanNode(f"n{number}", (f"r{number}",))),
        rows=(*plan.rows, row(number)),
        items=(*plan.items, item(number)),
    )


def by_command(url: str, plan: Bundle, file: Path) -> tuple[dict[str, Any], float, float, int]:
    """An apply from a file by the command line: its answer, seconds of wall and own time, MiB."""
    file.write_text("".join(plan_lines(plan)), encoding="utf-8")
    argv = [sys.executable, "-m", "remit", "--ledger", url, "--as", HUMAN, "--json"]
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*argv, "plan", "apply", str(file)], capture_output=True, check=False, timeout=600
    )
    took = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"], took, own, after.ru_maxrss // 1024


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
    added, wall, own, mib = by_command(url, one_more(one_more(plan)), tmp_path / "plan.yaml")
    assert (added["changed"], len(added["added"]), added["revised"]) == (True, 4, [])
    print(f"{store}: by the command line {wall:.1f} s, {own:.1f} s of its process, {mib} MiB")
    with ledger.reading() as tx:
        assert isinstance(timed("read", lambda: read_plan(tx, "large")), Bundle)
    timed("first trace", lambda: traced(ledger, "W-5000"))
    for name in ("W-5001", "R-5000", "N-5000", "V-9000", "P-1"):
        timed(f"trace {name}", lambda name=name: traced(ledger, name, 1))  # type: ignore[misc]  # bound now
        assert took[f"trace {name}"][1] < 0.2
    with ledger.reading() as tx:
        lines = timed("matrix", lambda: matrix(tx))
        assert isinstance(lines, dict)
        assert lines["coverage"]["shallow"] == COUNT + 2
        assert isinstance(timed("suspect links", lambda: suspect_links(tx)), dict)
    ledger.close()
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{store}: {peak_mib:.0f} MiB")
    assert peak_mib < 1_024
    assert took["check and apply"][1] < 20
    assert took["apply with one requirement more"][1] < 3
    assert own < 3
