"""A run with a bound of seconds, which the command line does not have: driven in this process."""

from __future__ import annotations

import os

import pytest
from tests.drain.yard import Yard

from remit.core import commands as c
from remit.core.refusals import Refused
from remit.core.run_facts import Run, RunBounds
from remit.drain.version import code_digest
from remit.wiring import url_of
from remit.wiring.agents import builtin
from remit.wiring.draining import Here, Told, conductor, machine


def timed(yard: Yard, bounds: RunBounds) -> tuple[Run, int]:
    """Drive a run to its end; the run, and by how many milliseconds its end was after its bound."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in yard.environment().items():
            patch.setenv(name, value)
        ledger = yard.ledger()
        try:
            [worker] = [one.agent for one in builtin() if one.agent.name == "scripted"]
            url = url_of(yard.cli.cwd / ".git/remit/ledger.db")
            here = Here(ledger, url, yard.cli.cwd, worker)
            told = Told(shown=(str(yard.scripts),))
            holder = os.urandom(8).hex()
            start = c.StartRun(
                "bot", "", "scripted", bounds, "D-1", code_digest(), holder, told.pairs([worker])
            )
            answer = ledger.acting("ann").start_run(start)
            assert not isinstance(answer, Refused), answer
            with ledger.reading() as tx:
                run = tx.load([("run", "RUN-1")])["run", "RUN-1"]
            assert isinstance(run, Run)
            place = machine(here, run.id, told)
            assert conductor(here, run, holder, place, lambda _: None).drive() is None
            place.finish()
            with ledger.reading() as tx:
                found = tx.load([("run", "RUN-1")])["run", "RUN-1"]
            assert isinstance(found, Run)
            return found, (found.stopped_at - found.ends_at) // 1_000
        finally:
            ledger.close()
