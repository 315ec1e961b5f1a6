"""Plans on real stores: kept, read back now and as they were, through others' writes and kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.plans import COMMAND, item, large, requirement, row, sound
from tests.ground.ledgers import HUMAN, done, enrolled, faults_of
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.facts import PlanRevision
from remit.core.planning.bundle import Bundle
from remit.core.planning.difference import bundle_of, name_of
from remit.service.planned import read_plan
from remit.service.planning import Applied
from remit.wiring import Ledger, create_ledger, open_ledger, url_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may be made."""
    if request.param == "sqlite":
        return url_of(tmp_path / "ledger.db")
    server: Server = request.getfixturevalue("postgres")
    return server.url(request.getfixturevalue("wiped"))


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    made = enrolled(create_ledger(url, HUMAN))
    yield made
    made.close()


def apply(ledger: Ledger, plan: Bundle) -> Applied:
    found = ledger.acting(HUMAN).apply_plan(plan)
    assert isinstance(found, Applied), found
    return found


def read(ledger: Ledger, name: str, at: int | None = None) -> Any:
    with ledger.reading(at=at) as tx:
        return read_plan(tx, name)


def in_order(plan: Bundle) -> Bundle:
    """The plan as it is read back: its records by label."""
    return bundle_of(plan.name, sorted(plan.records(), key=name_of))


def head(ledger: Ledger) -> int:
    with ledger.reading() as tx:
        return tx.head().seq


def other(plan: Bundle) -> Bundle:
    """The plan with a requirement more, another row, and another title."""
    count = len(plan.requirements)
    more = requirement(count, clauses=("c0",), statement="é" * 2_000)
    items = (replace(plan.items[0], title="Other"), *plan.items[1:])
    rows = (replace(plan.rows[0], spec=replace(COMMAND, argv=("other",))), *plan.rows[1:])
    return replace(
        plan,
        requirements=(*plan.requirements, more),
        nodes=(*plan.nodes, replace(sound(count + 1).nodes[-1], edges=())),
        rows=(*rows, row(count)),
        items=(*items, item(count)),
    )


def test_a_plan_is_read_back_as_of_any_seq(ledger: Ledger) -> None:
    first, second = sound(12), other(sound(12))
    apply(ledger, first)
    before = head(ledger)
    apply(ledger, second)
    assert read(ledger, "exports") == in_order(second)
    assert read(ledger, "P-1") == in_order(second)
    assert read(ledger, "exports", at=before) == in_order(first)
    assert read(ledger, "nothing").code == "PLAN_UNKNOWN"
    assert faults_of(ledger) == []


def test_a_plan_of_exactly_as_many_records_as_a_part_is_sealed(ledger: Ledger) -> None:
    """What comes after the last full part is empty, and changes no digest."""
    plan = sound(249)
    rows = tuple(replace(each, label=f"x{n}") for n, each in enumerate(plan.rows[:3]))
    items = tuple(
        replace(each, rows=(*each.rows, f"x{n}")) if n < 3 else each
        for n, each in enumerate(plan.items)
    )
    plan = replace(plan, rows=(*plan.rows, *rows), items=items)
    assert len(plan.records()) == 1_000
    done_ = apply(ledger, plan)
    assert (done_.revision, len(done_.added)) == (1, 1_000)
    assert read(ledger, "exports") == in_order(plan)


def test_others_write_while_a_plan_is_applied(ledger: Ledger, url: str) -> None:
    """Each chunk is a transaction of its own, so nobody waits for the whole."""
    done(ledger.acting(HUMAN).create(c.CreateItem("mine", rows=(COMMAND,))))
    stop, notes = threading.Event(), [0]

    def write() -> None:
        mine = open_ledger(url)
        while not stop.is_set():
            done(mine.acting("bob").note(c.AddNote("W-1", c.Text("still here"))))
            notes[0] += 1
        mine.close()

    def between(*_: object) -> None:
        """After each chunk somebody else gets to write, which nobody could within it."""
        before, until = notes[0], time.monotonic() + 60
        while notes[0] == before and writer.is_alive():
            assert time.monotonic() < until, "nobody else could write"
            time.sleep(0.001)
        seen.append(notes[0])

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[int] = []
    try:
        found = ledger.acting(HUMAN).apply_plan(large(200), between)
    finally:
        stop.set()
        writer.join()
    assert isinstance(found, Applied)
    assert len(set(seen)) > 3
    assert faults_of(ledger) == []


APPLY = """
import sys
sys.path.insert(0, {root!r})
from tests.core.plans import sound
from tests.service.test_applying import other
from remit.wiring import open_ledger
ledger = open_ledger({url!r})
plan = other(sound(100)) if {second} else sound(100)
answer = ledger.acting({human!r}).apply_plan(plan, lambda *_: print("step", flush=True))
print("done" if hasattr(answer, "revision") else answer, flush=True)
"""


def killed_after(url: str, second: bool, steps: int) -> bool:
    """Apply in a process that is killed after so many chunks; whether it was done before."""
    code = APPLY.format(root=str(ROOT), url=url, second=second, human=HUMAN)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for lines, line in enumerate(process.stdout):
        if line.strip() != "step":
            assert line.strip() == "done", line
            break
        if lines >= steps:
            os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return process.returncode == 0


@pytest.mark.timeout(600)
def test_an_apply_killed_at_any_chunk_ends_the_same(url: str) -> None:
    """SIGKILL after each chunk in turn, of a first revision and of a second one."""
    made = enrolled(create_ledger(url, HUMAN))
    for second in (False, True):
        plan = other(sound(100)) if second else sound(100)
        tries = 1
        while not killed_after(url, second, tries % 3):
            tries += 1
        assert tries > 1
        assert apply(made, plan).changed is False
        assert read(made, "exports") == in_order(plan)
        with made.reading() as tx:
            fact = tx.load([("plan", "P-1")])["plan", "P-1"]
        assert isinstance(fact, PlanRevision)
        assert (fact.revision, fact.open) == (2 if second else 1, None)
    assert faults_of(made) == []
    made.close()
