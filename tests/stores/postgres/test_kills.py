"""A server killed again and again under load: nothing acknowledged is lost, nothing is done twice.

Several threads ask, each under a command id of its own, and repeat what failed or stayed unknown until
it is answered. Killing a process does not test syncs: what the disk keeps is the server's promise.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

import pytest
from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem
from remit.core.evolve import evolve
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.service.operations import item_of
from remit.wiring import Ledger, create_ledger, open_ledger

WORKERS = 4
SYNCED = ("max_connections=60", "log_min_messages=fatal", "shared_buffers=64MB")


@dataclass
class Load:
    """What the workers did, by command id."""

    url: str
    stop: threading.Event = field(default_factory=threading.Event)
    items: dict[str, str] = field(default_factory=dict)
    unknown: int = 0
    unavailable: int = 0
    faults: list[BaseException] = field(default_factory=list)

    def work(self, name: str) -> None:
        try:
            ledger = open_ledger(self.url)
            number = 0
            while not self.stop.is_set():
                number += 1
                self._one(ledger, f"{name}-{number}")
            ledger.close()
        except BaseException as error:
            self.faults.append(error)

    def _one(self, ledger: Ledger, command_id: str) -> None:
        while True:
            try:
                answer = ledger.acting("ann").create(CreateItem(command_id), command_id=command_id)
            except OutcomeUnknown:
                self.unknown += 1
            except StoreUnavailable:
                self.unavailable += 1
                time.sleep(0.02)
            else:
                assert isinstance(answer, Done), answer
                self.items[command_id] = item_of(answer)
                return


def cycles(many: int, seed: int) -> Load:
    """Kill the server so many times under load, then look at what is there."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    server = Server(SYNCED)
    try:
        server.start()
        server.run("CREATE DATABASE killed")
        create_ledger(server.url("killed"), "ann").close()
        load = Load(server.url("killed"))
        threads = [threading.Thread(target=load.work, args=(f"w{n}",)) for n in range(WORKERS)]
        for thread in threads:
            thread.start()
        for _ in range(many):
            time.sleep(chance.uniform(0.1, 0.6))
            server.kill()
            server.start()
        time.sleep(0.3)
        load.stop.set()
        for thread in threads:
            thread.join(60)
        assert load.faults == []
        check(load)
    finally:
        server.stop()
    return load


def check(load: Load) -> None:
    """Every acknowledged item is there under its title, once, and the ledger is whole."""
    ledger = open_ledger(load.url)
    with ledger.reading() as tx:
        names = tx.names("item", "", 1 << 20)
        titles = {
            name: getattr(fact, "title", "")
            for (_, name), fact in tx.load([("item", name) for name in names]).items()
        }
    report = verify(ledger.store, fold=evolve)
    ledger.close()
    assert {item: command for command, item in load.items.items()} == titles
    assert report.problems == ()
    assert report.rows_compared


@pytest.mark.timeout(300)
def test_a_server_killed_under_load() -> None:
    load = cycles(4, seed=11)
    assert len(load.items) > 20
    assert load.unknown + load.unavailable > 0


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_server_killed_fifty_times_under_load() -> None:
    load = cycles(50, seed=random.randrange(1 << 32))
    print(f"{len(load.items)} items, {load.unknown} unknown, {load.unavailable} unavailable")
    assert load.unknown > 0
