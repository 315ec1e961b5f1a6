"""Workers on each store: what is delivered, what a stop leaves, and a server that goes away.

The same worker processes as beside this file, on SQLite and on a PostgreSQL server. What only a server
can do to a worker comes on top: the wire is cut at the commit of a report, so that nobody hears
whether it was done, and the server is killed and comes back while work is under way.
"""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.stores.postgres.proxy import CUTS, Wire
from tests.stores.postgres.server import Server
from tests.workers.ground import Ground, Worker
from tests.workers.test_processes import TOKEN, stuck

from remit.core.effect_events import EffectAnswered
from remit.core.effect_facts import EffectState

Start = Callable[..., Worker]
UNTIL_IDLE = ("--reconcile", "--exit-when-idle", "--concurrency", "4")


@pytest.fixture
def ground(either: Ground) -> Ground:
    return either


@pytest.fixture
def on_a_server(tmp_path: Path) -> Iterator[tuple[Ground, Server]]:
    """A ground on a server of its own, which may be killed."""
    server = Server()
    try:
        server.start()
        server.prepare_template()
        made = Ground(tmp_path, server.url(server.database()))
        yield made, server
        made.close()
    finally:
        server.stop()


def test_exports_are_delivered_once_each_and_results_are_kept(ground: Ground, start: Start) -> None:
    root = ground.folder_destination()
    exports = [ground.submit() for _ in range(6)]
    results = [ground.pure() for _ in range(6)]
    workers = [start(*UNTIL_IDLE, actor=f"bot-{n}", **TOKEN) for n in (1, 2)]
    assert [worker.ended() for worker in workers] == [0, 0]
    assert {ground.status(item) for item in (*exports, *results)} == {"verified"}
    assert {ground.item(item).attempt for item in (*exports, *results)} == {1}
    assert len(list(root.glob("*.txt"))) == 6
    assert len(ground.events("EffectIntended")) == 6
    assert ground.effect("E-1").state is EffectState.PRESENT
    assert ground.leases() == []


def test_a_stop_hands_back_what_runs_on_each_store(ground: Ground, start: Start) -> None:
    pure, effect, worker = stuck(ground, start, "--grace", "1s")
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert ground.leases() == []
    assert (ground.status(pure), ground.item(pure).counted) == ("ready", 0)
    assert (ground.status(effect), ground.item(effect).attempt) == ("held", 1)
    assert worker.saw("stopped")["live_leases"] == []


@pytest.fixture
def wired(postgres: Server, wiped: str, tmp_path: Path) -> Iterator[tuple[Ground, Wire]]:
    """A ground on the server, whose workers reach it by a wire that can be cut."""
    made = Ground(tmp_path, postgres.url(wiped))
    with tempfile.TemporaryDirectory(prefix="remit-wire-") as folder:
        wire = Wire(Path(folder), postgres.folder)
        made.worker_url = f"postgresql://postgres@/{wiped}?host={folder}"
        yield made, wire
        wire.close()
    made.close()


@pytest.mark.parametrize("cut", CUTS)
def test_a_report_whose_answer_is_lost_is_settled_by_its_command_id(
    wired: tuple[Ground, Wire], cut: str
) -> None:
    """Cut before, within and after the commit: the report is there once, whatever was heard of it."""
    ground, wire = wired
    root = ground.folder_destination()
    item = ground.submit()
    cuts: list[str] = []

    def once() -> None:
        cuts.append(wire.cut)
        wire.cut = ""

    wire.act = once
    (ground.folder / "hold").touch()
    said = {"POINT": "answered", "DOCUMENT": json.dumps(ground.document)}
    worker = Worker(ground, "tests.workers.handlers:app", "--max-jobs", "1", **said)
    try:
        ground.until((ground.folder / "at-answered").exists)
        wire.cut = cut
        (ground.folder / "hold").unlink()
        assert worker.ended() == 0
    finally:
        worker.kill()
    assert cuts == [cut], "the wire was cut at one commit"
    assert worker.saw("stopped")["reported"] == 1
    answered = ground.events("EffectAnswered")
    assert [type(r.event) for r in answered] == [EffectAnswered]
    assert len(ground.events("EffectSent")) == 1
    asked = answered[0].command_id
    assert asked
    assert len({r.seq for r in ground.events() if r.command_id == asked}) >= 1
    assert (ground.status(item), ground.item(item).attempt) == ("held", 1)
    assert len(list(root.glob("*.txt"))) == 1


def test_a_worker_outlives_its_server(on_a_server: tuple[Ground, Server]) -> None:
    """Killed and started again in the middle of work: nothing is lost, and nothing sent twice."""
    ground, server = on_a_server
    root = ground.folder_destination()
    items = [ground.submit() for _ in range(40)]
    worker = Worker(ground, "tests.workers.handlers:app", *UNTIL_IDLE, **TOKEN)
    try:
        for left in (30, 15):
            ground.until(lambda: len(list(root.glob("*.txt"))) >= 40 - left)  # noqa: B023  # at once
            server.kill(children=True)
            server.start()
        assert worker.ended(60) == 0
    finally:
        worker.kill()
    assert {ground.status(item) for item in items} == {"verified"}
    assert len(list(root.glob("*.txt"))) == 40
    intended = [r.entity for r in ground.events("EffectIntended")]
    assert len(intended) == len(set(intended)) == 40, "no effect was tried twice"
