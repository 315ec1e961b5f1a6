"""Secrets in the remote's URL, events forced in by SQL, and answers that are asked for again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.test_ship import BAD, Attempt
from tests.surfaces.cli.calling import Cli, git

from remit.core import item_events as e
from remit.core.events import Event, Recorded
from remit.stores.codec import columns_of
from remit.wiring import open_ledger, url_of

SECRET = "s3cr3t-t0ken"
URLS = (
    f"https://user:{SECRET}@127.0.0.1:1/x.git",
    f"https://{SECRET}@127.0.0.1:1/x.git",
    f"https://127.0.0.1:1/x.git?token={SECRET}",
    f"https://127.0.0.1:1/x.git#{SECRET}",
    f"ssh://{SECRET}@127.0.0.1:1/x.git",
    f"ext::sh -c 'echo {SECRET}'",
)


@pytest.mark.parametrize("url", URLS)
def test_a_secret_of_the_remotes_url_is_said_and_kept_nowhere(
    repo: Cli, tmp_path: Path, url: str
) -> None:
    item = repo.json("create", "x", "--verify", "true")["item"]["id"]
    git(repo.cwd, "remote", "set-url", "origin", url)
    for argv in (("lease", item, "--clone", str(tmp_path / "c")), ("doctor",)):
        ran = repo.run(*argv, "--json", "--as", "bot")
        assert SECRET not in ran.out + ran.err, argv
    for file in (repo.cwd / ".git" / "remit").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


def test_a_secret_of_a_url_that_works_reaches_neither_clone_nor_ledger(
    repo: Cli, tmp_path: Path
) -> None:
    """git rewrites the URL to the real origin, as a person's insteadOf does for a token."""
    git(repo.cwd, "remote", "set-url", "origin", f"https://ann:{SECRET}@example.org/x.git")
    real = f"file://{tmp_path}/origin.git"
    git(repo.cwd, "config", f"url.{real}.insteadOf", f"https://ann:{SECRET}@example.org/x.git")
    attempt = Attempt(repo, tmp_path)
    sha = attempt.commit()
    attempt.approved()
    attempt.push()
    ran = repo.run("ship", attempt.item, "--commit", sha, "--json", "--as", "bot")
    assert ran.status == 0, ran
    shown = [ran, repo.run("show", attempt.item, "--json"), repo.run("trace", attempt.item)]
    assert all(SECRET not in said.out + said.err for said in shown)
    for file in (*(repo.cwd / ".git" / "remit").iterdir(), attempt.clone / ".git" / "config"):
        assert SECRET.encode() not in file.read_bytes(), file


def force(repo: Cli, actor: str, assurance: str, event: Event, item: str = "W-1") -> None:
    """Put an event in with SQL, past every rule but those of the database."""
    path = repo.cwd / ".git" / "remit" / "ledger.db"
    ledger = open_ledger(url_of(path))
    with ledger.reading() as tx:
        fact: Any = tx.load([("item", item)])["item", item]
        seq, at = tx.head().seq + 1, tx.now()
    name = ledger.store.ledger_id
    ledger.close()
    recorded = Recorded(seq, item, fact.version + 1, actor, assurance, at, event)
    with sqlite3.connect(path) as attacker:
        row = columns_of(name, recorded)
        attacker.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)
    attacker.close()


@pytest.mark.parametrize(
    ("event", "where"),
    [
        (
            e.ReviewApproved("T06", "in-review", "approved", "a" * 40, "", (), (), (), (), "x", ""),
            "fold",
        ),
        (e.NoteAdded("nobody wrote this", ""), "item_rows W-1"),
        (
            e.ShipObserved(
                "T08", "ready", "shipped", "a" * 40, "a" * 40, "o", "m", "b" * 40, "sha", ""
            ),
            "fold",
        ),
    ],
    ids=["a move that is not", "a row that does not know", "a ship that nobody saw"],
)
def test_an_event_that_was_forced_in_is_reported(repo: Cli, event: Event, where: str) -> None:
    repo.json("create", "x", "--verify", "true")
    assert repo.json("ledger", "verify")["problems"] == []
    force(repo, "bea", "asserted", event)
    ran = repo.run("ledger", "verify", "--json")
    assert ran.status == 7, ran
    said = json.loads(ran.out or ran.err)
    problems = said["data"]["problems"] if "data" in said else said["error"]["details"]["problems"]
    assert any(where in p["where"] for p in problems), problems


def test_a_gap_is_not_asked_again_into_green(repo: Cli, tmp_path: Path) -> None:
    attempt = Attempt(repo, tmp_path)
    flaky = tmp_path / "flag"
    other = repo.json(
        "create", "Flaky", "--verify", f"test -f prog2.py && test -f {flaky}", "--scope", "prog2.py"
    )["item"]["id"]
    attempt.item = other
    attempt.lease_again(other)
    sha = attempt.commit(BAD, "prog2.py")
    attempt.approved()
    attempt.push()
    repo.json("ship", other, "--commit", sha)
    repo.json("verify", other, status=6)
    record = repo.json("show", other)["triage"][0]
    name = record["id"] if isinstance(record, dict) else record
    flaky.write_text("now it passes")
    repo.json("triage", "resolve", name, "reverify", "--reason", "the file was missing")
    repo.json("verify", other, status=6)
    assert attempt.status() == "triaged"
    kinds = [r["kind"] for r in repo.json("triage", "list")["records"]]
    assert "contradicted" in kinds
