"""The page on triage says of every kind what the core does."""

from __future__ import annotations

from tests.docs import triage_page

from remit.core.triage_kinds import Resolution, TriageKind


def test_the_tables_are_those_of_the_core() -> None:
    assert triage_page.PAGE.read_text("utf-8") == triage_page.page(), (
        "run 'python tests/docs/triage_page.py'"
    )


def test_every_kind_has_a_flow_and_every_resolution_a_line() -> None:
    text = triage_page.PAGE.read_text("utf-8")
    flows = text.partition("## Where each is opened")[2]
    assert [kind for kind in TriageKind if f"`{kind}`" not in flows] == []
    ways = text.partition("## Settling")[2].partition("## Kinds")[0]
    assert [way for way in Resolution if f"`{way}`" not in ways] == []
