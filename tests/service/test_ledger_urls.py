"""URLs of ledgers: every file has one that leads back to it, and nothing else is taken for one."""

import os
from pathlib import Path

import pytest

from remit.core.refusals import Code
from remit.ports import RemitError
from remit.wiring import path_of, url_of


@pytest.mark.parametrize(
    "name",
    [b"ledger.db", b"a b/l#1.db", b"50%41/l.db", b"what?/l.db", "\u00e4.db".encode(), b"\xff.db"],
)
def test_url_leads_back_to_its_file(name: bytes) -> None:
    path = Path(os.fsdecode(b"/somewhere/" + name))
    assert path_of(url_of(path)) == path


def test_a_fourth_slash_changes_nothing() -> None:
    assert path_of("sqlite:////home/me/l.db") == Path("/home/me/l.db")


@pytest.mark.parametrize(
    "url",
    ["", "l.db", "sqlite:", "sqlite:///", "sqlite://host/l.db", "postgresql:///l", "sqlite:///l?a=b",
     "sqlite:///l#b"],
)  # fmt: skip
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(RemitError) as refused:
        path_of(url)
    assert refused.value.code is Code.BAD_INPUT
    assert refused.value.hint
