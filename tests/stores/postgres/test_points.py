"""Each side of a commit ends at each of its moments: exit 8 or 9, and the command id settles it.

The caller is killed, the server is killed (at once, or as in an emergency), or the wire between them
is cut: in the steps before, before COMMIT is sent, in the middle of the word, after it was sent, after the server has
answered, and after the caller was told. What is there afterwards is held against the caller's record
by the history checker, before the call is asked again and after (INV-9, INV-22).
"""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from tests.ground.children import Child
from tests.ground.ledgers import HUMAN, enrolled, faults_of
from tests.ground.load import AWAY, UNKNOWN, VERBS, Asked, Load, accepted, exit_status, prepared
from tests.ground.sidelog import SideLog, told
from tests.stores.postgres.proxy import CUTS, Wire
from tests.stores.postgres.server import Server

from remit.ports import RemitError
from remit.stores.postgres import store as store_module
from remit.stores.postgres.store import PostgresStore
from remit.wiring import create_ledger, open_ledger

KILLS: dict[str, Callable[[Server], None]] = {
    "server killed": lambda server: server.kill(children=True),
    "server quit": Server.quit,
}
STEPS = ("begin", "begun", "before events", "after rows")
"""Moments before there is anything to commit."""
CASES = [
    *(("wire cut", cut) for cut in CUTS),
    *((kill, at) for kill in KILLS for at in (*STEPS, "before", "sent", "after", "told")),
    *(("caller killed", at) for at in ("before", "sent", "after", "told")),
]
DONE = {**dict.fromkeys((*STEPS, "before", "half"), False), "after": True, "told": True}
"""Whether a commit has happened when it is broken off there; at ``sent`` nobody knows."""


@dataclass
class Stage:
    """A server of its own with a ledger that is put back for each case."""

    server: Server
    folder: Path
    calls: dict[str, Asked] = field(default_factory=dict)
    cases: int = 0
    heard: dict[int, int] = field(default_factory=lambda: {AWAY: 0, UNKNOWN: 0})

    def __post_init__(self) -> None:
        self.database = self.server.database()
        self.url = self.server.url(self.database)
        ledger = enrolled(create_ledger(self.url, HUMAN))
        load = Load(ledger, SideLog(self.folder / "stage-log", durable=False), 0, "stage")
        self.calls = prepared(load)
        load.log.close()
        ledger.close()
        self.server.keep(self.database)

    def case(self, verb: str, fault: str, at: str) -> None:
        """Break one call off at one moment, look, ask again, and look again."""
        self.cases += 1
        self.server.put_back(self.database)
        log = self.folder / f"log-{self.cases}"
        with tempfile.TemporaryDirectory(prefix="remit-wire-") as folder:
            wire = Wire(Path(folder), self.server.folder)
            away = f"postgresql://postgres@/{self.database}?host={folder}"
            if fault == "caller killed":
                self.kill_caller(away, log, self.calls[verb], at, wire)
            else:
                self.break_off(away, log, self.calls[verb], fault, at, wire)
            wire.close()
        self.settle(log, at)

    def break_off(self, url: str, log: Path, asked: Asked, fault: str, at: str, wire: Wire) -> None:
        """The wire or the server fails, and this process hears of it."""
        ledger = open_ledger(url)
        with ledger.reading():
            pass
        load = Load(ledger, SideLog(log, durable=False), 0, "once")
        if fault in KILLS:
            wire.act = lambda: KILLS[fault](self.server)
        store = ledger.store
        assert isinstance(store, PostgresStore)
        wire.cut = at if at in CUTS else ""

        def pause(step: str) -> None:
            if step == at:
                wire.act()

        store.pause = pause
        if at == "told":
            load.call(asked)
            wire.act()
        else:
            with pytest.raises(RemitError) as caught:
                load.call(asked)
            status = exit_status(caught.value)
            assert status in ((AWAY,) if at in STEPS else (AWAY, UNKNOWN))
            self.heard[status] += 1
        load.log.close()
        ledger.close()
        if fault in KILLS:
            self.server.start()

    def kill_caller(self, url: str, log: Path, asked: Asked, at: str, wire: Wire) -> None:
        """The caller ends, and nobody hears of it."""
        child = Child("tests.crash.asking", url, str(log), json.dumps(asked))
        assert child.line() == "ready"
        wire.act, wire.cut = child.process.kill, "" if at == "told" else at
        child.send("go\n")
        if at == "told":
            assert child.line() == "told"
            child.process.kill()
        assert child.process.wait(30) == -signal.SIGKILL
        child.kill()

    def settle(self, log: Path, at: str) -> None:
        """What is there is what was told; the same call, asked again, is done and done once."""
        logs = (self.folder / "stage-log", log)
        with closing(open_ledger(self.url)) as ledger:
            assert faults_of(ledger, told(*logs)) == []
            again = Load(ledger, SideLog(log.with_suffix(".2"), durable=False), 0, "again")
            answers = again.again(log)
            assert len(answers) == (at != "told")
            for answer in answers:
                repeated = {done.repeated for done in accepted(answer)}
                assert repeated == {DONE.get(at, max(repeated))}
            again.call([HUMAN, "create", "and on"])
            again.log.close()
            assert faults_of(ledger, told(*logs, again.log.path)) == []


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    server = Server()
    try:
        server.start()
        server.prepare_template()
        yield Stage(server, tmp_path_factory.mktemp("points"))
    finally:
        server.stop()


@pytest.mark.parametrize(("fault", "at"), CASES)
def test_a_commit_broken_off_is_settled_by_its_command_id(
    stage: Stage, fault: str, at: str
) -> None:
    stage.case("completion", fault, at)


def test_a_store_that_says_nothing_was_done_where_it_cannot_know_is_found_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "is_certain", lambda _error: True)
    with pytest.raises(AssertionError, match="refused-and-done"):
        stage.case("create", "wire cut", "after")


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("verb", VERBS)
def test_any_commit_broken_off_anywhere_is_settled(stage: Stage, verb: str) -> None:
    for fault, at in CASES:
        stage.case(verb, fault, at)
    print(f"{verb}: {len(CASES)} ways to end it; so far {stage.heard}")


PATIENT = ("fsync=off", "wal_writer_delay=10s", "max_connections=40", "log_min_messages=fatal",
           "shared_buffers=64MB", "autovacuum=off")  # fmt: skip


def test_an_answer_before_the_flush_would_be_noticed(tmp_path: Path) -> None:
    """A server that answers before it flushes keeps what this store was told, since it is asked to.

    The server dies as in an emergency. One ledger was opened while the server still flushed by
    itself. A control, whose store does not ask, loses.
    """
    server = Server(PATIENT)
    logs = {name: tmp_path / name for name in ("asked", "before", "control")}
    faults: dict[str, list[str]] = {}
    try:
        server.start()
        server.prepare_template()
        urls = {name: server.url(server.database()) for name in logs}
        before = create_ledger(urls["before"], HUMAN)
        control = create_ledger(urls["control"], HUMAN)
        assert isinstance(control.store, PostgresStore)
        deaf = control.store._begin_write.replace(b"= 'off'", b"= 'never'")
        assert deaf != control.store._begin_write
        control.store._begin_write = deaf
        server.run("ALTER SYSTEM SET synchronous_commit = off")
        server.run("SELECT pg_reload_conf()")
        flushes_by_itself(server, "off")
        asked = create_ledger(urls["asked"], HUMAN)
        ledgers = {"asked": asked, "before": before, "control": control}
        for name, ledger in ledgers.items():
            load = Load(ledger, SideLog(logs[name], durable=False), 0)
            for number in range(5):
                load.call([HUMAN, "create", f"item {number}"])
            load.log.close()
        server.quit()
        for ledger in ledgers.values():
            ledger.close()
        server.start()
        for name, url in urls.items():
            with closing(open_ledger(url)) as ledger:
                faults[name] = faults_of(ledger, told(logs[name]))
    finally:
        server.stop()
    assert faults["asked"] == faults["before"] == []
    assert any("acknowledged-and-lost" in fault for fault in faults["control"]), faults


def flushes_by_itself(server: Server, expected: str) -> None:
    """Wait until new sessions have this setting."""
    until = time.monotonic() + 60
    while True:
        with psycopg.connect(server.url("postgres")) as connection:
            if connection.execute("SHOW synchronous_commit").fetchone() == (expected,):
                return
        assert time.monotonic() < until
        time.sleep(0.02)
