"""A ledger's URL names its file and nothing else, whatever characters the path has."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.core.refusals import Code
from remit.ports import RemitError
from remit.wiring import create_ledger, open_ledger, path_of, url_of


@pytest.mark.parametrize(
    "name", ["ledger.db", "a b.db", "100%.db", "what?.db", "a#b.db", "ü;&=.db"]
)
def test_the_url_of_an_open_ledger_opens_it_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    made = create_ledger(url_of(path), "ada")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert made.store.url == url_of(path)
    again = open_ledger(made.store.url)
    assert again.store.ledger_id == made.store.ledger_id
    assert path_of(made.store.url) == path
    again.close()
    made.close()


def test_a_url_with_four_slashes_names_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert path_of(f"sqlite:///{path}") == path_of(f"sqlite://{path}") == path


@pytest.mark.parametrize(
    "url",
    ["", "ledger.db", "sqlite:", "sqlite://", "sqlite://host/x.db", "sqlite:///x?mode=ro",
     "sqlite:///x#y", "mysql://h/db", "/tmp/x.db"],
)  # fmt: skip
def test_any_other_url_is_refused_with_what_is_expected(url: str) -> None:
    with pytest.raises(RemitError) as found:
        open_ledger(url)
    assert found.value.code is Code.BAD_INPUT
    assert "sqlite:///path" in found.value.message
