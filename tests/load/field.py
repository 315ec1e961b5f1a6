"""The field of a run under load: one ledger on a server, worker processes, and whatever befalls them.

Everything that is killed or stopped here was started here, and is known by its process id.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import psycopg
from tests.ground.children import ROOT, SOURCE
from tests.ground.ledgers import done
from tests.load.sidelog import ANSWERED, Asked
from tests.load.verdict import Verdict, asked_of, judged
from tests.load.worker import Load
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.facts import Fact, Key, Policy
from remit.core.ledger_commands import SetPolicy
from remit.ports import RemitError
from remit.wiring import Ledger, create_ledger, open_ledger

OWNER: Final = "ann"
OPEN: Final = ("draft", "held", "ready", "leased")
PATIENCE_S: Final = 100.0
"""How long a field waits for work to be done."""

END_S: Final = 60.0
"""How long workers that were told to stop may take, when nothing befalls them any more."""


class Field:
    """A ledger and its workers; ``names`` are their actors."""

    def __init__(self, server: Server, folder: Path, load: Load, names: Sequence[str]) -> None:
        self.server = server
        self.folder = folder
        self.load = load
        self.names = list(names)
        self.chance = random.Random(load.seed)
        self.did: Counter[str] = Counter()
        self.setup = 0
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def lay(self, policy: Policy) -> None:
        """Make the ledger, with a goal that all items share."""
        ledger = create_ledger(self.load.url, OWNER)
        ann = ledger.acting(OWNER)
        done(ann.run(SetPolicy(policy)))
        for answer in ann.enrol([c.EnrolActor(name, "agent") for name in self.names]):
            done(answer)
        self.load.goal = done(ann.run(c.DraftGoal("Bear a load", "a test"))).events[-1].stream
        with ledger.reading() as tx:
            self.setup = tx.head().seq
        ledger.close()
        (self.folder / "load.json").write_bytes(msgspec.json.encode(self.load))

    def start(self, name: str) -> None:
        """Let a worker live, for the first time or again."""
        path = os.pathsep.join((str(SOURCE), str(ROOT)))
        with (self.folder / f"{name}.errors").open("ab") as errors:
            self._workers[name] = subprocess.Popen(
                [sys.executable, "-m", "tests.load.worker", str(self.folder), name],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path},
            )

    def start_all(self) -> None:
        """Let all workers live."""
        for name in self.names:
            self.start(name)

    def resume(self) -> None:
        """Let workers that were told to stop live again."""
        (self.folder / "stop").unlink()
        self.start_all()

    def one(self) -> str:
        """Some worker."""
        return self.chance.choice(self.names)

    def kill_worker(self, name: str) -> None:
        """End a worker at once, and let it live again."""
        worker = self._workers[name]
        worker.kill()
        self._look(name, worker.wait(30))
        self.start(name)
        self.did["workers killed"] += 1

    def freeze(self, names: Sequence[str]) -> None:
        """Stop workers wherever they are."""
        for name in names:
            self._workers[name].send_signal(signal.SIGSTOP)
        self.did["workers stopped"] += len(names)

    def thaw(self, names: Sequence[str]) -> None:
        """Let stopped workers go on; one that was killed meanwhile lives another life already."""
        for name in names:
            self._workers[name].send_signal(signal.SIGCONT)

    def cut(self) -> None:
        """Let the server end one of the workers' sessions."""
        database = self.load.url.partition("@/")[2].partition("?")[0]
        with psycopg.connect(self.server.url("postgres"), autocommit=True) as connection:
            pids = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE application_name = 'remit' AND datname = %s",
                (database,),
            ).fetchall()
            if pids:
                connection.execute("SELECT pg_terminate_backend(%s)", self.chance.choice(pids))
                self.did["sessions ended"] += 1

    def kill_server(self, how: str) -> None:
        """End the server (its postmaster, all of its processes, or one session) and have it back."""
        if how == "session":
            self.server.kill_child(self.chance)
        else:
            self.server.kill(children=how == "all")
            self.server.start()
        self.did[f"server killed: {how}"] += 1

    def _look(self, name: str, code: int) -> None:
        """A worker may end by what befell it or because it was told to, and by nothing else."""
        if code not in (0, -signal.SIGKILL):
            said = (self.folder / f"{name}.errors").read_text("utf-8", "replace")[-3_000:]
            raise AssertionError(f"worker {name} ended with {code}: {said}")

    def watch(self) -> None:
        """Fail where a worker has ended by itself."""
        for name, worker in self._workers.items():
            code = worker.poll()
            if code is not None:
                self._look(name, code)

    def facts(self) -> tuple[int, dict[Key, Fact]] | None:
        """The newest event and all counts; None where the store cannot say now."""
        try:
            ledger = open_ledger(self.load.url)
        except RemitError:
            return None
        try:
            with ledger.reading() as tx:
                return tx.head().seq, tx.small()
        except RemitError:
            return None
        finally:
            ledger.close()

    def left(self) -> int | None:
        """Items to be worked on or not yet created; None where the store cannot say now."""
        found = self.facts()
        if found is None:
            return None
        counts = {key: fact for key, fact in found[1].items() if isinstance(fact, int)}
        standing = sum(counts.get(("count", status), 0) for status in OPEN)
        made = counts.get(("counter", "work-item"), 0)
        return len(self.names) * self.load.share - made + standing

    def wait(self, events: int) -> None:
        """Let the workers write so many events more, as long as any of them lives."""
        goal = None
        until = time.monotonic() + PATIENCE_S
        while any(worker.poll() is None for worker in self._workers.values()):
            self.watch()
            found = self.facts()
            if found is not None:
                goal = found[0] + events if goal is None else goal
                if found[0] >= goal:
                    return
            if time.monotonic() > until:
                raise AssertionError(f"no {events} events in {PATIENCE_S} s")
            time.sleep(0.05)

    def end(self) -> list[Asked]:
        """Tell all workers to stop, settle what is open, and return what they asked."""
        (self.folder / "stop").touch()
        for name, worker in self._workers.items():
            self._look(name, worker.wait(END_S))
        asked = asked_of(self.folder)
        for name in {one.id.partition(".")[0] for one in asked if ANSWERED not in one.came}:
            self.start(name)
            self._look(name, self._workers[name].wait(END_S))
        return asked_of(self.folder)

    def close(self) -> None:
        """End what still runs."""
        for worker in self._workers.values():
            if worker.poll() is None:
                worker.kill()
            worker.wait()

    def verdict(self, asked: Sequence[Asked]) -> Verdict:
        """Judge the run, and print what it came to."""
        ledger: Ledger = open_ledger(self.load.url)
        try:
            verdict = judged(ledger, asked, self.setup)
        finally:
            ledger.close()
        print(", ".join(f"{count:,} {what}" for what, count in self.did.items()))
        print(verdict.told())
        return verdict


@contextmanager
def field(
    server: Server, database: str, load: Load, workers: int, policy: Policy
) -> Iterator[Field]:
    """A field in a folder of its own, laid and not yet started."""
    print(f"seed {load.seed}")
    load.url = server.url(database)
    with tempfile.TemporaryDirectory(prefix="remit-load-") as folder:
        made = Field(server, Path(folder), load, [f"w{n}" for n in range(workers)])
        try:
            made.lay(policy)
            yield made
        finally:
            made.close()
