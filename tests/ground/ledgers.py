"""Whole ledgers for tests that go through the Python API, and what may be said of any of them.

Everything here stands on SQLite files and on the operations that surfaces call. ``faults_of`` is what
every test of the whole ends with: the ledger verifies, the rows are the fold, the counts add up, and
the history could have come about by the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.facts import COUNTS, Item
from remit.core.refusals import Code, Refused
from remit.core.rows import RowKind, RowSpec
from remit.ports import ReadTx
from remit.proofs.history import judge, read_rows
from remit.proofs.told import Account
from remit.service.engine import Answer, Done
from remit.service.integrity import verify
from remit.service.operations import item_of
from remit.wiring import Ledger, create_ledger, open_ledger, url_of

HUMAN = "ada"
AGENTS = ("bob", "cyd", "dot")
REVIEWER = "eve"
HEAD, BASE = "a" * 40, "b" * 40

TABLES = (
    "item_rows",
    "edge_rows",
    "child_rows",
    "link_rows",
    "lane_rows",
    "alias_rows",
    "triage_rows",
    "fact_rows",
)


def row(*argv: str) -> RowSpec:
    """A verification row of one command."""
    return RowSpec(RowKind.COMMAND, argv=argv or ("true",))


def made(folder: Path, name: str = "ledger.db", agents: tuple[str, ...] = AGENTS) -> Ledger:
    """A new ledger with a human, some agents and a reviewer."""
    return enrolled(create_ledger(url_of(folder / name), HUMAN), agents)


def enrolled(ledger: Ledger, agents: tuple[str, ...] = AGENTS) -> Ledger:
    """The ledger, with some agents and a reviewer beside its first human."""
    enrol = [c.EnrolActor(agent, "agent") for agent in agents] + [c.EnrolActor(REVIEWER, "human")]
    for answer in ledger.acting(HUMAN).enrol(enrol):
        done(answer)
    return ledger


def opened(folder: Path, name: str = "ledger.db") -> Ledger:
    """What another process would open."""
    return open_ledger(url_of(folder / name))


def done(answer: Answer) -> Done:
    """The answer, which must not be a refusal."""
    assert isinstance(answer, Done), answer
    return answer


def refused(answer: Answer, *codes: Code) -> Refused:
    """The refusal, with one of these codes, in words and with a next step."""
    assert isinstance(answer, Refused), answer
    assert not codes or answer.code in codes, answer
    assert answer.message
    assert "\n" not in answer.message
    assert answer.hint or answer.code is Code.UNCHANGED, answer
    return answer


def ready_item(ledger: Ledger, title: str = "work", **more: Any) -> str:
    """The id of a new item that may be leased."""
    made = ledger.acting(HUMAN).create(c.CreateItem(title, rows=(row(),), **more))
    return item_of(done(made))


def all_items(tx: ReadTx) -> list[Item]:
    """Every item of a snapshot, by number."""
    found: list[Item] = []
    after = ""
    while names := tx.names("item", after, 1_000):
        after = names[-1]
        facts = tx.load([("item", name) for name in names])
        found += [fact for fact in facts.values() if isinstance(fact, Item)]
    return sorted(found, key=lambda item: item.number)


def head(ledger: Ledger) -> int:
    """The newest seq."""
    with ledger.store.read() as tx:
        return tx.head().seq


def rows_of(path: Path) -> dict[tuple[str, tuple[Any, ...]], tuple[Any, ...]]:
    """Every row beside the events, by table and key, as another program reads them."""
    keys = {"item_rows": 2, "fact_rows": 3, "edge_rows": 6, "child_rows": 3, "link_rows": 3}
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {
            (table, found[: keys.get(table, 2)]): found
            for table in TABLES
            for found in connection.execute(f"SELECT * FROM {table}")
        }
    finally:
        connection.close()


def faults_of(ledger: Ledger, account: Account | None = None) -> list[str]:
    """What is wrong with a ledger: integrity, rows against the fold, counts, and its history.

    With an account of what callers asked and heard, the history is judged in its light.
    """
    report = verify(ledger.store, fold=evolve)
    found = [str(problem) for problem in report.problems]
    if not report.rows_compared:
        found.append("rows were not compared")
    with ledger.store.read() as tx:
        items = all_items(tx)
        small = tx.small()
        lanes = {name: tx.load([("lane", name)])["lane", name] for name in tx.names("lane", "", 99)}
    by_status = Counter(str(item.status) for item in items)
    for key in COUNTS:
        if small.get(key, 0) != by_status[key[1]]:
            found.append(f"{key}: {small.get(key, 0)} counted, {by_status[key[1]]} there")
    for name, lane in lanes.items():
        for what, status in (("ready", "ready"), ("leased", "leased")):
            there = sum(item.lane == name and str(item.status) == status for item in items)
            if getattr(lane, what) != there:
                found.append(f"lane {name}: {getattr(lane, what)} {what} counted, {there} there")
    for item in items:
        if (item.lease is not None) != (str(item.status) == "leased"):
            found.append(f"{item.id}: status {item.status} with lease {item.lease}")
    with ledger.store.read() as tx:
        events, rows = read_rows(tx)
    judged = judge(events, rows=rows) if account is None else account.judge(events, rows)
    found += [str(problem) for problem in judged]
    return found


def each_event(ledger: Ledger, take: Callable[[Any], None], after: int = 0) -> None:
    """Call ``take`` with every event after a seq."""
    with ledger.store.read() as tx:
        while chunk := tx.events(after, 5_000):
            for recorded in chunk:
                take(recorded)
            after = chunk[-1].seq
