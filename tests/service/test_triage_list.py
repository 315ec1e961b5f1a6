"""The list of triage records on a real ledger: all of them, and the first few."""

from pathlib import Path

from tests.core.triaging import put

from remit.core.commands import CreateItem
from remit.core.refusals import Refused
from remit.service.reading.triage import triage_list
from remit.wiring import create_ledger, url_of


def test_limit_zero_lists_all_records(tmp_path: Path) -> None:
    ledger = create_ledger(url_of(tmp_path / "ledger.db"), "owner")
    owner = ledger.acting("owner")
    for number in (1, 2, 3):
        answers = owner.run(
            [
                CreateItem(f"item {number}"),
                put(f"W-{number}", "ambiguity", "what does it mean?"),
            ]
        )
        assert not [answer for answer in answers if isinstance(answer, Refused)]
    with ledger.reading() as tx:
        every = triage_list(tx, open_only=True, limit=0)
        some = triage_list(tx, open_only=True, limit=2)
    ledger.close()
    assert [record["id"] for record in every["records"]] == ["T-1", "T-2", "T-3"]
    assert not every["truncated"]
    assert [record["id"] for record in some["records"]] == ["T-1", "T-2"]
    assert some["truncated"]
