"""Kills a call at every step, and at random moments, repeats it, and says what differs.

A process of its own without threads, so that it may fork: each victim is a fork that opens the
ledger anew, begins the call, and dies by SIGKILL. It reads one JSON request a line,
``[call, random kills, seed, forgetful]``, and answers each with ``{"points", "killed", "faults"}``.
A forgetful driver's store knows no command id, so that a call is done twice and must be found out.
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
from tests.crash.stage import AGAIN, CALLS, WITHOUT_ID, Place, build, happened
from tests.ground.gitlab import settle
from tests.ground.ledgers import all_items, each_event, faults_of, opened

import remit.service.importing
from remit.core.events import Recorded
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


class Driver:
    """One stage, copied for each attempt."""

    def __init__(self, room: Path) -> None:
        self.room = room
        settle(room / "home")
        self.stage = build(room / "stage")
        self.copies = 0

    def copy(self) -> Place:
        """A fresh copy of the stage."""
        self.copies += 1
        folder = self.room / f"copy-{self.copies}"
        shutil.copytree(self.stage.folder, folder, symlinks=True)
        return Place(folder)

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
            ledger.store.pause = pause  # type: ignore[attr-defined]  # of the SQLite store
            happened(CALLS[name](ledger, place))
            ledger.close()

        return self.fork(body)

    def repeat(self, place: Place, name: str) -> tuple[dict[str, Any], list[bool]]:
        """Make the call again, twice: the state after it, and whether it was there before."""
        ledger = place.ledger()
        before = happened(CALLS[name](ledger, place))
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
        faults = faults_of(ledger)
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
        faults += faults_of(ledger)
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
            faults += faults_of(restored)
            restored.close()
        return faults

    def run(self, name: str, kills: int, seed: int) -> dict[str, Any]:
        """All steps of a call, then some random moments."""
        place = self.copy()
        ledger = place.ledger()
        untouched = state(ledger)
        ledger.close()
        started = time.monotonic()
        assert os.waitpid(self.victim(place, name, -1), 0)[1] == 0, "the call itself failed"
        lasted = time.monotonic() - started
        expected, _ = self.repeat(place, name)
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


def _nothing(_tx: SqliteRead, _ids: Iterable[str]) -> dict[str, list[Recorded]]:
    return {}


def main() -> None:
    """Answer requests until there are no more."""
    remit.service.importing.CHUNK = 13  # type: ignore[misc]  # many chunks from few rows
    with tempfile.TemporaryDirectory(prefix="remit-crash-") as room:
        driver = Driver(Path(room))
        print(json.dumps(AGAIN), flush=True)
        for line in sys.stdin:
            name, kills, seed, forgetful = json.loads(line)
            remembers = SqliteRead.commands
            if forgetful:
                SqliteRead.commands = _nothing  # type: ignore[method-assign, assignment]  # the injected fault
            try:
                found = driver.run(name, kills, seed)
            except AssertionError as error:
                found = {"points": 0, "killed": 0, "faults": [str(error)]}
            SqliteRead.commands = remembers  # type: ignore[method-assign]  # and back
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
