"""The command line on a ledger in PostgreSQL: the same commands, one URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.stores.postgres.server import Server
from tests.surfaces.cli.calling import Cli

from remit.core.refusals import Code


def test_a_ledger_on_a_server_from_the_command_line(
    postgres: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(database)
    cli = Cli(tmp_path)
    made = cli.run("init", "--ledger", url, "--json").data
    assert made["ledger"] == f"{url}&ledger={made['ledger_id']}"
    monkeypatch.setenv("REMIT_LEDGER", made["ledger"])
    item = cli.run("create", "Fix the parser", "--verify", "true", "--json").data["item"]
    assert item["id"] == "W-1"
    assert cli.run("lease", "W-1", "--json").data["lease"]["fence"] > 0
    assert [i["id"] for i in cli.run("list", "--json").data["items"]] == ["W-1"]
    assert cli.run("ledger", "verify", "--json").data["problems"] == []
    checks = {c["name"]: c["result"] for c in cli.run("doctor", "--json").data["checks"]}
    assert checks["store"] == checks["clock"] == "PASS"
    again = cli.run("init", "--ledger", url, "--json")
    assert again.status == 3
    assert again.error["code"] == Code.LEDGER_EXISTS


def test_a_server_that_is_away_is_exit_8(tmp_path: Path) -> None:
    ran = Cli(tmp_path).run(
        "list", "--ledger", "postgresql://ann:hunter2@127.0.0.1:1/work", "--json"
    )
    assert ran.status == 8
    assert "hunter2" not in ran.out + ran.err
