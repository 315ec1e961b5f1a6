"""A ledger that an older version wrote is as today's fold makes it once it was opened (INV-21)."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from tests.core.world import folded
from tests.stores.postgres.server import Server

from remit.core import moments
from remit.core.evolve import evolve
from remit.core.facts import LEDGER, Ledger
from remit.core.refusals import Refused
from remit.service.integrity import Report, replay, verify
from remit.stores import upgrading
from remit.stores.fact_codec import encode_fact
from remit.stores.sqlite import connect, place
from remit.wiring import Ledger as Opened
from remit.wiring import create_ledger, open_ledger, url_of

OLD = Path(__file__).with_name("ledgers") / "schema_0002.sql"
AS_IT_WAS = """
UPDATE remit.fact_rows
   SET body = convert_to(replace(replace(convert_from(body, 'UTF8'), '"served":false,', ''),
                                 '"engaged_seq":' || %s || ',', ''), 'UTF8')
 WHERE kind = 'ledger'
"""


@pytest.fixture
def old(tmp_path: Path) -> str:
    """The URL of the stored ledger, as that version left it."""
    path = tmp_path / "ledger.db"
    connection = connect.connect(path, create=True)
    connection.execute(f"PRAGMA application_id = {connect.APPLICATION_ID}")
    for step in connect.MIGRATIONS[:2]:
        connection.execute(step.read_text("utf-8"))
    connection.execute(OLD.read_text("utf-8"))
    connection.execute("PRAGMA user_version = 2")
    [(name,)] = connection.execute("SELECT ledger_id FROM store_state").fetchall()
    connection.close()
    place.write_epoch(path, str(name), 0)
    return url_of(path)


def looked_over(ledger: Opened) -> Report:
    return verify(ledger.store, fold=evolve)


def released(ledger: Opened) -> None:
    """The switch that an older version engaged is let go, which writes the old rows anew."""
    with ledger.reading() as tx:
        fact = tx.load([LEDGER])[LEDGER]
    assert isinstance(fact, Ledger)
    assert fact.kill_switch
    answer = ledger.acting("ann").release_kill_switch("it is over")
    assert not isinstance(answer, Refused), answer
    assert answer.events[0].event.engaged_seq == fact.engaged_seq > 0


def test_rows_of_an_older_ledger_are_made_anew_when_it_is_opened(old: str) -> None:
    ledger = open_ledger(old)
    report = looked_over(ledger)
    assert (report.events, report.problems) == (8, ())
    released(ledger)
    assert looked_over(ledger).problems == ()
    ledger.close()


def test_the_ledgers_own_row_has_what_its_fact_has_gained(old: str) -> None:
    """Whether it is served came without a step of its own, and was read as its default."""

    def row() -> bytes:
        connection = connect.connect(Path(old.removeprefix("sqlite://")))
        [(body,)] = connection.execute("SELECT body FROM fact_rows WHERE kind = 'ledger'")
        connection.close()
        assert isinstance(body, bytes)
        return body

    assert b'"served"' not in row()
    ledger = open_ledger(old)
    with ledger.reading() as tx:
        fact = tx.load([LEDGER])[LEDGER]
        events = tx.events(0, 100)
    ledger.close()
    assert isinstance(fact, Ledger)
    assert row() == encode_fact(fact) == encode_fact(folded(events)[LEDGER])
    assert b'"served":false' in row()


def test_moments_are_made_anew_with_the_other_rows(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were left out, so a look at the past of a large ledger was slow from then on."""
    monkeypatch.setattr(moments, "EVERY", 3)
    ledger = open_ledger(old)
    with ledger.reading() as tx:
        names = tx.names("moment", "", 99)
    assert [int(name) for name in names] == [3, 6]
    assert not replay(ledger.store, fold=evolve, swap=False).differences
    ledger.close()


def test_rows_that_are_only_kept_are_named_and_cannot_be_written(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the step is for: without it verification named each row, and no write on one was taken."""
    monkeypatch.setattr(upgrading, "folded", lambda _events: None)
    ledger = open_ledger(old)
    where = {p.where for p in looked_over(ledger).problems}
    assert {"fact_rows ledger/ledger", "fact_rows actor/bob"} <= where
    with pytest.raises(Exception, match="expected the row as it was loaded"):
        ledger.acting("ann").release_kill_switch("it is over")
    ledger.close()


def test_a_ledger_that_cannot_be_folded_opens_and_verification_says_why(old: str) -> None:
    path = Path(old.removeprefix("sqlite://"))
    connection = connect.connect(path)
    connection.execute("DROP TRIGGER events_never_change")
    connection.execute("UPDATE events SET type = 'NobodyKnows' WHERE seq = 7")
    connection.close()
    ledger = open_ledger(old)
    assert any(p.seq == 7 for p in looked_over(ledger).problems)
    ledger.close()


def test_an_interrupted_step_is_taken_again(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and the number of the schema change in one transaction."""

    def killed(_events: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrading, "folded", killed)
        with pytest.raises(KeyboardInterrupt):
            open_ledger(old)
    ledger = open_ledger(old)
    assert looked_over(ledger).problems == ()
    ledger.close()


def test_postgres_makes_rows_anew_once_for_each_ledger_that_is_due(
    postgres: Server, database: str
) -> None:
    url = postgres.url(database)
    ledger = create_ledger(url, "ann")
    engaged = ledger.acting("ann").engage_kill_switch("to try it")
    assert not isinstance(engaged, Refused)
    seq = engaged.events[0].seq
    ledger.close()
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(AS_IT_WAS, (str(seq),))
        kept = open_ledger(url)
        assert [p.where for p in looked_over(kept).problems] == ["fact_rows ledger/ledger"]
        kept.close()
        raw.execute("INSERT INTO remit.rows_due SELECT ledger_id FROM remit.store_state")
        ledger = open_ledger(url)
        assert looked_over(ledger).problems == ()
        assert raw.execute("SELECT count(*) FROM remit.rows_due").fetchone() == (0,)
        released(ledger)
        ledger.close()
