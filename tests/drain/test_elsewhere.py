"""Drains that are not the usual one: on a server's ledger, by pull requests, without a sandbox."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.drain.yard import Yard, good, strays
from tests.integrating.lab import Lab
from tests.integrating.test_requests import Host
from tests.stores.postgres.server import Server
from tests.surfaces.cli.calling import IDENTITY, git

from remit.core.run_decisions import WITHOUT_SANDBOX
from remit.core.run_events import AttemptNoted


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


def checked(yard: Yard, attempt: str) -> dict[str, str]:
    """The result of each check that was made of an attempt."""
    with closing(yard.ledger()) as ledger, ledger.reading() as tx:
        found = [r.event for r in tx.events(0, 10_000) if r.stream == attempt]
    noted = [event for event in found if isinstance(event, AttemptNoted)]
    return {check.check: check.result.value for event in noted for check in event.checks}


def test_a_ledger_on_a_server_is_drained_as_one_in_a_file_is(
    tmp_path: Path, postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(database)
    monkeypatch.setenv("REMIT_LEDGER", url)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yard = Yard.make(tmp_path.resolve(), 2, url)
    yard.script({f"W-{number}": good(number) for number in (1, 2)})
    assert yard.dies("RUN-1/W-1/1/handed-in:done", *yard.arguments("--max-parallel", "2"))
    run = yard.call("run", "resume", "RUN-1")[-1]["data"]["run"]
    assert sorted((one["item"], one["outcome"]) for one in run["items"]) == [
        ("W-1", "verified"), ("W-2", "verified"),
    ]  # fmt: skip
    assert run["stopped_by"] == "nothing-ready"
    assert {name: yard.show(name)["status"] for name in ("W-1", "W-2")} == {
        "W-1": "verified",
        "W-2": "verified",
    }
    main = git(yard.folder / "origin.git", "ls-tree", "--name-only", "main").split()
    assert main == ["README", "greeting-1.txt", "greeting-2.txt"]
    assert yard.cli.json("ledger", "verify")["problems"] == []
    assert (yard.left(), strays(str(yard.folder))) == ([], [])


def test_a_pull_request_is_opened_by_one_drain_and_shipped_by_the_next(tmp_path: Path) -> None:
    yard = Yard.make(tmp_path.resolve(), 1)
    yard.script({"W-1": good(1)})
    lab = SimpleNamespace(
        root=yard.folder,
        origin=yard.folder / "origin.git",
        git=lambda *argv, cwd: git(cwd, *argv),
    )
    host = Host(cast(Lab, lab))
    create, find = lab.settings.host
    (yard.cli.cwd / ".remit" / "config.toml").write_text(
        f"[pull_requests]\ncreate = {json.dumps(create)}\nfind = {json.dumps(find)}\n"
    )
    by_request = yard.arguments("--integrate", "pr")
    for outcome in ("approved", "approved"):
        [entry] = yard.call(*by_request)[-1]["data"]["run"]["items"]
        assert entry["outcome"] == outcome
        assert entry["detail"] == "pull-request-open:https://host.example/pull/1"
    assert (yard.show("W-1")["status"], host.calls("create")) == ("approved", 1)
    assert git(lab.origin, "ls-tree", "--name-only", "main").split() == ["README"]

    new = yard.item(2)
    told = yard.cli.json(*by_request, "--dry-run")["would_choose"]
    assert [one["id"] for one in told] == [new, "W-1"], "what waits for people uses up no turn"
    yard.script({"W-1": good(1), new: [{"do": "report", "outcome": "declined", "reason": "no"}]})
    [entry] = yard.call(*by_request, "--max-items", "1")[-1]["data"]["run"]["items"]
    assert (entry["item"], entry["outcome"]) == (new, "triaged")

    made = host.merged(squash=True)
    [entry] = yard.call(*by_request)[-1]["data"]["run"]["items"]
    assert (entry["item"], entry["outcome"]) == ("W-1", "verified")
    shown = yard.show("W-1")
    assert (shown["status"], host.calls("create")) == ("verified", 1)
    with closing(yard.ledger()) as ledger, ledger.reading() as tx:
        item = tx.load([("item", "W-1")])["item", "W-1"]
    assert item.work.shipped == made  # type: ignore[union-attr]  # it is there, and was worked on
    assert (yard.left(), strays(str(yard.folder))) == ([], [])


def test_without_a_sandbox_nothing_is_said_to_be_probed_or_scanned(tmp_path: Path) -> None:
    yard = Yard.make(tmp_path.resolve(), 1)
    yard.script({"W-1": [{"do": "print", "text": "on it\n"}, *good(1)]})
    allowed = yard.decide(scope=(WITHOUT_SANDBOX,))
    yard.cli.refused(*yard.arguments("--without-sandbox", "D-1"), status=3, code="DECISION_SCOPE")
    run = yard.call(*yard.arguments("--without-sandbox", allowed))[-1]["data"]["run"]
    assert [(one["item"], one["outcome"]) for one in run["items"]] == [("W-1", "verified")]
    assert yard.show("W-1")["status"] == "verified"
    found = checked(yard, "A-1.1")
    assert {name: found[name] for name in ("sandbox", "secrets", "transcript", "scope")} == {
        "sandbox": "NOT_TESTED",
        "secrets": "NOT_TESTED",
        "transcript": "NOT_TESTED",
        "scope": "PASS",
    }
    assert not {"probes", "write", "tcp"} & found.keys()
    assert (yard.left(), strays(str(yard.folder))) == ([], [])
