"""Reads take abbreviations, writes take whole ids: a slip of the finger must not ship another item."""

from pathlib import Path

from remit.core.commands import CreateItem
from remit.core.item_events import ItemCreated
from remit.core.refusals import Code, Refused
from remit.service.engine import Done
from remit.service.reading.items import find
from remit.wiring import create_ledger, url_of


def test_delivery_takes_no_abbreviations(tmp_path: Path) -> None:
    ledger = create_ledger(url_of(tmp_path / "ledger.db"), "owner")
    answer = ledger.acting("owner").run(CreateItem("an item", alias="parser-1"))
    assert isinstance(answer, Done)
    [item] = [r.stream for r in answer.events if isinstance(r.event, ItemCreated)]
    delivery = ledger.delivery("owner", tmp_path)
    with ledger.reading() as tx:
        assert find(tx, "parser") == item
    sha = "0" * 40
    for name, code in (
        ("parser", Code.NOT_FOUND),
        ("W", Code.NOT_FOUND),
        ("", Code.NOT_FOUND),
        ("parser-1", Code.TRANSITION_REFUSED),
        (item, Code.TRANSITION_REFUSED),
    ):
        for refused in (delivery.mark_shipped(name, sha), delivery.verify(name)):
            assert isinstance(refused, Refused)
            assert refused.code is code, name
    ledger.close()
