"""A ledger that agents reach through a server alone: tokens prove who they are, on a real store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.service.engine import Done
from remit.service.proving import token_text
from remit.wiring import Ledger, create_ledger, url_of
from remit.workers.app import App
from remit.workers.main import make

SECRET = "5" * 64
TOKEN = token_text("1" * 16, SECRET)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Ledger]:
    ledger = create_ledger(url_of(tmp_path / "ledger.db"), "ann", served=True)
    ann = ledger.acting("ann")
    for command in (
        c.EnrolActor("bot", "service"),
        c.IssueToken("bot", "1" * 16, hashlib.sha256(SECRET.encode()).hexdigest()),
    ):
        assert isinstance(ann.run(command), Done)
    yield ledger
    ledger.close()


def test_an_agent_needs_its_token_and_is_proved_by_it(served: Ledger) -> None:
    refused = served.acting("bot").run(c.CreateItem("x"))
    assert isinstance(refused, Refused)
    assert refused.code is Code.TOKEN_MISSING
    done = served.acting("bot", token=TOKEN).run(c.CreateItem("x"))
    assert isinstance(done, Done)
    assert {r.assurance for r in done.events if r.actor == "bot"} == {"token"}
    for wrong in ("no token", token_text("1" * 16, "6" * 64)):
        refused = served.acting("bot", token=wrong).run(c.CreateItem("x"))
        assert isinstance(refused, Refused)
        assert refused.code is Code.TOKEN_UNKNOWN


def test_a_worker_shows_the_token_that_it_was_given(served: Ledger) -> None:
    app = App()

    @app.handler("EXPORT")
    def export(job: object) -> None:
        raise AssertionError(f"nothing is there to do, and {job} came")

    without, with_it = make(served, "bot", app), make(served, "bot", app, token=TOKEN)
    lease = c.GrantLease()
    [refused] = without._desk.ask([lease], 1e12)
    assert isinstance(refused, Refused)
    assert refused.code is Code.TOKEN_MISSING
    [idle] = with_it._desk.ask([lease], 1e12)
    assert isinstance(idle, Refused)
    assert idle.code is Code.NOTHING_READY


def test_the_secret_is_nowhere_in_the_ledger(served: Ledger, tmp_path: Path) -> None:
    served.acting("bot", token=TOKEN).run(c.CreateItem("x"))
    for file in tmp_path.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file
