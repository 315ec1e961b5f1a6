"""Kills a call at every step, and at random moments, repeats it, and says what differs.

A process of its own without threads, so that it may fork: each victim is a fork that opens the
ledger anew, begins the call, and dies by SIGKILL. It reads one JSON request a line,
``[call, random kills, seed, plant]``, and answers each with ``{"points", "killed", "faults"}``.
``postgres`` as its argument puts the ledger into a server of its own.

A victim keeps a record of what it asks and hears, and its last step comes after the answer; the
history checker judges what is found in the light of that. Two plants must be found out: the store of
a ``forgetful`` driver knows no command id, and that of a ``hasty`` one answers without a commit.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.crash.stage import AGAIN, CALLS, WITHOUT_ID, Place, accepted, build, happened
from tests.ground.gitlab import settle
from tests.ground.ledgers import all_items, each_event, faults_of, opened
from tests.ground.sidelog import SideLog, told
from tests.stores.postgres.server import Server

import remit.service.importing
from remit.core.events import Recorded
from remit.proofs.told import Account
from remit.service.engine import Done
from remit.stores.postgres.store import PostgresStore
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.sqlite.store import SqliteStore
from remit.stores.sqlite.transaction import SqliteRead
from remit.wiring import Ledger

MOST_POINTS: Final = 600
"""Most steps of one call that are tried."""

SALTED: Final = frozenset(("text", "text_ref", "statement_ref", "log", "evidence", "digest"))
"""Fields that may hold a digest over chance."""


def plain(value: Any) -> Any:
    """A value without digests over chance."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in SALTED}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def state(ledger: Ledger) -> dict[str, Any]:
    """All items, and what each event is: everything but seq and time of events."""
    events: list[list[str]] = []
    each_event(
        ledger,
        lambda r: events.append([r.stream, type(r.event).__name__, r.actor, r.command_id]),
    )
    with ledger.store.read() as tx:
        items = [plain(msgspec.to_builtins(item)) for item in all_items(tx)]
        ledger_fact = plain(msgspec.to_builtins(tx.small()["ledger", "ledger"]))
    return {"items": items, "events": sorted(events), "ledger": ledger_fact}


def ids_of(found: dict[str, Any]) -> list[str]:
    """The command ids of a state's events."""
    return sorted({name for *_, name in found["events"] if name})


class Driver:
    """One stage, copied for each attempt; ``server`` holds its ledger where one is given."""

    def __init__(self, room: Path, server: Server | None = None) -> None:
        self.room = room
        self.server = server
        self.database = ""
        self.hasty = False
        self.ids: list[str] = [AGAIN]
        self.earlier: list[str] = []
        url = ""
        settle(room / "home")
        if server is not None:
            self.database = server.database()
            url = server.url(self.database)
        self.stage = build(room / "stage", url)
        if server is not None:
            server.keep(self.database)
        self.copies = 0

    def copy(self) -> Place:
        """A fresh copy of the stage; there is one at a time."""
        self.copies += 1
        folder = self.room / f"copy-{self.copies}"
        shutil.copytree(self.stage.folder, folder, symlinks=True)
        if self.server is not None:
            self.server.put_back(self.database)
        return Place(folder, self.stage.url)

    def finish(self, place: Place) -> None:
        """Remove a copy."""
        shutil.rmtree(place.folder)

    def fork(self, body: Callable[[], None]) -> int:
        """A process that does this and ends; returns its id."""
        child = os.fork()
        if child:
            return child
        try:
            body()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def victim(self, place: Place, name: str, at: int) -> int:
        """A process that makes the call and kills itself at a step (never where negative)."""

        def body() -> None:
            left = at

            def pause(_step: str) -> None:
                nonlocal left
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

            ledger = place.ledger()
            ledger.store.pause = pause  # type: ignore[attr-defined]  # of both stores
            if self.hasty and at >= 0:
                SqliteStore._commit = _hasty  # type: ignore[method-assign]  # the injected fault
                PostgresStore._commit = _hasty  # type: ignore[method-assign]  # the injected fault
            self.logged(ledger, place, name, "log")
            pause("answered")
            ledger.close()

        return self.fork(body)

    def logged(self, ledger: Ledger, place: Place, name: str, log: str) -> list[Done]:
        """Make the call, and keep a record of what was asked and heard."""
        record = SideLog(place.folder / log, durable=False)
        record.asks(self.earlier, "the stage")
        number = record.asks(self.ids, name)
        done = accepted(CALLS[name](ledger, place))
        events = [recorded for answer in done for recorded in answer.events]
        of_each = [tuple(r for r in events if r.command_id == one) for one in self.ids]
        record.hears(number, [Done(some) for some in of_each])
        record.close()
        return done

    def account(self, place: Place) -> Account:
        """What the victim, and whoever repeated its call, asked and heard."""
        logs = (place.folder / name for name in ("log", "log-2"))
        return told(*(log for log in logs if log.exists()))

    def repeat(self, place: Place, name: str) -> tuple[dict[str, Any], list[bool]]:
        """Make the call again, twice: the state after it, and whether it was there before."""
        ledger = place.ledger()
        before = [answer.repeated for answer in self.logged(ledger, place, name, "log-2")]
        found = state(ledger)
        again = happened(CALLS[name](ledger, place))
        assert all(again), f"the third call was decided anew: {again}"
        assert state(ledger) == found, "the third call changed something"
        ledger.close()
        return found, before

    def compare(
        self, place: Place, name: str, expected: dict[str, Any], untouched: dict[str, Any]
    ) -> list[str]:
        """Repeat the call after a crash, and say what is not as in an undisturbed run."""
        ledger = place.ledger()
        left = state(ledger)
        faults = self.faults(ledger, place, name)
        ledger.close()
        if name not in (*WITHOUT_ID, "adopt") and left not in (untouched, expected):
            faults.append("the crash left half a change")
        try:
            found, before = self.repeat(place, name)
        except BaseException as error:
            return [*faults, f"the repeated call failed: {error!r}"]
        if name not in (*WITHOUT_ID, "adopt") and set(before) != {left == expected}:
            faults.append(f"repeated said {before}, the crash left {left == expected}")
        faults += [
            _first(found[what], expected[what], what)
            for what in expected
            if found[what] != expected[what]
        ]
        ledger = place.ledger()
        faults += self.faults(ledger, place, name)
        ledger.close()
        if name == "backup":
            copy = opened(place.folder, "copy.db")
            faults += [] if state(copy) == expected else ["the copy holds another state"]
            faults += faults_of(copy)
            copy.close()
        if name == "adopt":
            restored = opened(place.folder, "restored.db")
            kinds = [kind for _, kind, _, _ in state(restored)["events"]]
            faults += [] if kinds.count("EpochAdopted") == 1 else ["adopted more than once"]
            faults += faults_of(restored, self.account(place))
            restored.close()
        return faults

    def faults(self, ledger: Ledger, place: Place, name: str) -> list[str]:
        """What is wrong with the ledger of a place; an adoption was of another one."""
        return faults_of(ledger, None if name == "adopt" else self.account(place))

    def run(self, name: str, kills: int, seed: int) -> dict[str, Any]:
        """All steps of a call, then some random moments."""
        place = self.copy()
        ledger = place.ledger()
        untouched = state(ledger)
        ledger.close()
        self.earlier, self.ids = ids_of(untouched), [AGAIN]
        started = time.monotonic()
        assert os.waitpid(self.victim(place, name, -1), 0)[1] == 0, "the call itself failed"
        lasted = time.monotonic() - started
        expected, _ = self.repeat(place, name)
        self.ids = [one for one in ids_of(expected) if one not in self.earlier] or [AGAIN]
        self.finish(place)
        faults: list[str] = []
        point = 0
        while point < MOST_POINTS:
            place = self.copy()
            status = os.waitpid(self.victim(place, name, point), 0)[1]
            if status == 0:
                self.finish(place)
                break
            assert os.WTERMSIG(status) == signal.SIGKILL, f"a victim ended with {status}"
            found = self.compare(place, name, expected, untouched)
            faults += [f"killed at step {point}: {fault}" for fault in found]
            self.finish(place)
            point += 1
        killed = 0
        chance = random.Random(f"{seed} {name}")
        for _ in range(kills):
            place = self.copy()
            victim = self.victim(place, name, -1)
            after = chance.uniform(0, lasted * 1.2)
            time.sleep(after)
            os.kill(victim, signal.SIGKILL)
            killed += os.WIFSIGNALED(os.waitpid(victim, 0)[1])
            found = self.compare(place, name, expected, untouched)
            faults += [f"killed after {after:.4f} s: {fault}" for fault in found]
            self.finish(place)
        return {"points": point, "killed": killed, "faults": faults[:20]}


def _first(found: Any, expected: Any, where: str = "") -> str:
    """Where two states differ first."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in found.keys() | expected.keys():
            if found.get(name) != expected.get(name):
                return _first(found.get(name), expected.get(name), f"{where}.{name}")
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            if one != other:
                return _first(one, other, f"{where}[{i}]")
    if isinstance(found, list) and isinstance(expected, list):
        more = [one for one in found if one not in expected]
        less = [one for one in expected if one not in found]
        return f"{where}: {len(found)} instead of {len(expected)}: {more[:5]} for {less[:5]}"
    return f"{where}: {found} instead of {expected}"


def _nothing(_tx: SqliteRead | PostgresRead, _ids: Iterable[str]) -> dict[str, list[Recorded]]:
    return {}


def _hasty(*_: object, **__: object) -> None:
    """A commit that does not wait for itself."""


def serve(driver: Driver) -> None:
    """Answer requests until there are no more."""
    print(json.dumps(AGAIN), flush=True)
    for line in sys.stdin:
        name, kills, seed, plant = json.loads(line)
        remembers = SqliteRead.commands, PostgresRead.commands
        driver.hasty = plant == "hasty"
        if plant == "forgetful":
            SqliteRead.commands = _nothing  # type: ignore[method-assign, assignment]  # the injected fault
            PostgresRead.commands = _nothing  # type: ignore[method-assign, assignment]  # and there
        try:
            found = driver.run(name, kills, seed)
        except AssertionError as error:
            found = {"points": 0, "killed": 0, "faults": [str(error)]}
        SqliteRead.commands, PostgresRead.commands = remembers  # type: ignore[method-assign]  # and back
        print(json.dumps(found), flush=True)


def main() -> None:
    """Serve on the store that is asked for."""
    remit.service.importing.CHUNK = 13  # type: ignore[misc]  # many chunks from few rows
    with tempfile.TemporaryDirectory(prefix="remit-crash-") as room:
        if sys.argv[1:] != ["postgres"]:
            serve(Driver(Path(room)))
            return
        server = Server()
        try:
            server.start()
            server.prepare_template()
            serve(Driver(Path(room), server))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
