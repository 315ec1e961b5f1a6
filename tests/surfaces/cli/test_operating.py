"""Actors, policy, the kill switch, and the ledger itself: verify, replay, copies, redaction."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, git


@pytest.fixture
def filled(cli: Cli) -> Cli:
    cli.json("create", "Number one", "--verify", "true")
    cli.json("create", "Number two", "--body", "secret " * 2_000, "--verify", "true")
    return cli


def edited(cli: Cli, *statements: str) -> None:
    """What a foreign hand does to the file."""
    with sqlite3.connect(cli.cwd / ".remit/ledger.db") as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        guards = triggers.fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in guards:
            connection.execute(sql)
    connection.close()


def test_actors_come_and_go(cli: Cli) -> None:
    assert cli.json("actor", "add", "bea", "--kind", "human")["actor"]["kind"] == "human"
    revoked = cli.json("actor", "revoke", "bot", "--reason", "gone")
    assert revoked["actor"] == {"name": "bot", "kind": "agent", "revoked": True, "keys": []}
    listed = {a["name"]: a for a in cli.json("actor", "list")["actors"]}
    assert listed["bot"]["revoked"]
    assert "revoked" in cli.text("actor", "list")


def test_the_policy_is_set_and_shown(cli: Cli) -> None:
    assert cli.json("policy", "show")["policy"]["attempts"] == 5
    changed = cli.json("policy", "set", "attempts=2", "imported_closed_satisfies=no")["policy"]
    assert (changed["attempts"], changed["imported_closed_satisfies"]) == (2, False)
    assert changed["revision"] == 2
    cli.refused("policy", "set", "accept_unproved=false", status=3, code="KEY_NEEDED")
    assert "attempts" in cli.text("policy", "show")


def test_the_kill_switch_stops_leases_until_a_human_releases_it(filled: Cli) -> None:
    assert filled.json("kill-switch", "engage", actor="bot")["state"] == "engaged"
    filled.refused("lease", "--next", status=5, code="KILL_SWITCH_ON")
    filled.refused("kill-switch", "release", status=3, code="ACTOR_KIND_REFUSED", actor="bot")
    assert filled.json("kill-switch", "show")["state"] == "engaged"
    assert filled.json("kill-switch", "release")["state"] == "released"
    assert filled.json("kill-switch", "show")["state"] == "released"
    filled.json("lease", "--next")


def test_nothing_ready_and_held_are_5(cli: Cli) -> None:
    cli.refused("lease", "--next", status=5, code="NOTHING_READY")


def test_a_new_ledger_beside_what_an_old_one_left_says_what_is_in_the_way(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    (tmp_path / ".remit").mkdir()
    (tmp_path / ".remit" / "ledger.db-wal").write_bytes(b"")
    refused = cli.refused("init", status=3, code="LEDGER_EXISTS")
    assert "ledger.db-wal" in refused["message"]
    assert "remit init" not in refused["hint"]


def test_an_older_copy_or_another_ledger_put_back_takes_no_writes(cli: Cli, tmp_path: Path) -> None:
    path = cli.cwd / ".remit/ledger.db"
    cli.json("create", "before")
    old = path.read_bytes()
    cli.json("create", "after")
    path.write_bytes(old)
    refused = cli.refused("create", "x", status=3, code="LEDGER_NOT_ADOPTED")
    assert "older copy" in refused["message"]
    assert len(cli.json("list")["items"]) == 1
    cli.json("ledger", "adopt", "--reason", "it is meant")
    cli.json("create", "x")
    (tmp_path / "there").mkdir()
    there = Cli(tmp_path / "there")
    there.json("init")
    path.write_bytes((there.cwd / ".remit/ledger.db").read_bytes())
    refused = cli.refused("create", "x", status=3, code="LEDGER_NOT_ADOPTED")
    assert "another ledger" in refused["message"]


def test_a_guard_that_was_taken_off_is_found(filled: Cli) -> None:
    with sqlite3.connect(filled.cwd / ".remit/ledger.db") as connection:
        connection.execute("DROP TRIGGER events_continue")
    connection.close()
    [problem] = filled.json("ledger", "verify", status=7)["problems"]
    assert problem["where"] == "sqlite_schema events_continue"


def test_a_whole_ledger_verifies_and_replays(filled: Cli) -> None:
    found = filled.json("ledger", "verify")
    assert (found["problems"], found["rows_compared"]) == ([], True)
    noted = ("--root", found["root"], "--size", str(found["events"]))
    filled.json("create", "later")
    assert filled.json("ledger", "verify", *noted)["anchored_through"] == found["events"]
    wrong = filled.json("ledger", "verify", "--root", "0" * 64, "--size", "3", status=7)
    assert wrong["problems"]
    assert filled.json("ledger", "replay")["differences"] == []
    assert "is whole" in filled.text("ledger", "verify")


def test_a_changed_actor_is_found_at_its_seq(filled: Cli) -> None:
    edited(filled, "UPDATE events SET actor = 'eve' WHERE seq = 7")
    found = filled.json("ledger", "verify", status=7)
    assert found["first_bad_seq"] == 7
    assert found["problems"][0]["seq"] == 7
    assert "seq 7" in filled.text("ledger", "verify", status=7).splitlines()[0]


def test_a_cut_tail_is_found_against_a_noted_root(filled: Cli) -> None:
    found = filled.json("ledger", "verify")
    edited(filled, f"DELETE FROM events WHERE seq = {found['events']}")
    noted = ("--root", found["root"], "--size", str(found["events"]))
    cut = filled.json("ledger", "verify", *noted, status=7)
    assert cut["first_bad_seq"] == found["events"]


def test_an_edited_row_is_found_and_mended_by_a_replay(filled: Cli) -> None:
    edited(filled, "UPDATE item_rows SET status = 'verified' WHERE id = 'W-1'")
    found = filled.json("ledger", "verify", status=7)
    assert found["problems"][0]["where"].startswith("item_rows")
    assert filled.json("ledger", "replay", status=7)["swapped"] is False
    assert filled.json("ledger", "replay", "--swap")["swapped"] is True
    assert filled.json("ledger", "verify")["problems"] == []


def test_a_backup_is_restored_adopted_and_ends_earlier_leases(filled: Cli, tmp_path: Path) -> None:
    lease = filled.json("lease", "W-1", actor="bot")["lease"]
    copy, place = tmp_path / "copy.db", tmp_path / "new.db"
    made = filled.json("ledger", "backup", str(copy))
    assert (made["path"], made["events"] > 0) == (str(copy), True)
    filled.refused("ledger", "backup", str(copy), status=3, code="LEDGER_EXISTS")
    restored = filled.json("ledger", "restore", str(copy), "--to", str(place))
    url = ("--ledger", restored["ledger"])
    assert restored["events"] == made["events"]
    assert filled.json("show", "W-1", *url)["status"] == "leased"
    filled.refused("note", "W-1", "x", *url, status=3, code="LEDGER_NOT_ADOPTED")
    argv = ("ledger", "adopt", "--reason", "moved", "--epoch-above", "6", *url)
    filled.refused(*argv, status=3, code="ACTOR_KIND_REFUSED", actor="bot")
    adopted = filled.json(*argv, "--command-id", "once")
    assert (adopted["epoch"], adopted["expired"]) == (7, 1)
    assert filled.json(*argv, "--command-id", "once")["epoch"] == 7
    assert filled.json("show", "W-1", *url)["status"] == "ready"
    stale = ("release", "W-1", "--fence", str(lease["fence"]), *url)
    filled.refused(*stale, status=3, code="STALE_FENCE", actor="bot")
    assert filled.json("lease", "W-1", *url)["lease"]["fence"] > 7 << 32
    assert filled.json("ledger", "verify", *url)["problems"] == []


def test_a_ledger_is_moved_with_its_events_and_root(filled: Cli, tmp_path: Path) -> None:
    lines, there = tmp_path / "ledger.jsonl", f"sqlite://{tmp_path / 'there.db'}"
    made = filled.json("ledger", "export", str(lines))
    assert made["lines"] == len(lines.read_bytes().splitlines())
    filled.refused("ledger", "export", str(lines), status=3, code="LEDGER_EXISTS")
    filled.refused("ledger", "export", "/no/such/x", status=8, code="STORE_UNAVAILABLE")
    moved = filled.json("ledger", "import", str(lines), "--to", there)
    here = filled.json("ledger", "verify")
    assert (moved["events"], moved["root"]) == (here["events"], here["root"])
    again = filled.json("ledger", "import", str(lines), "--to", there)
    assert again["root"] == here["root"]
    url = ("--ledger", there)
    assert filled.json("ledger", "verify", *url)["root"] == here["root"]
    filled.json("ledger", "adopt", "--reason", "moved", *url)
    filled.json("note", "W-1", "goes on", *url)
    lines.write_bytes(lines.read_bytes().replace(b"ItemCreated", b"ItemCreated ", 1))
    other = ("ledger", "import", str(lines), "--to", f"sqlite://{tmp_path / 'other.db'}")
    filled.refused(*other, status=2, code="INPUT_PROBLEM")
    gone = ("ledger", "import", str(tmp_path / "gone"), "--to", there)
    filled.refused(*gone, status=2, code="INPUT_PROBLEM")


def test_a_redacted_text_is_gone_and_every_proof_holds(filled: Cli) -> None:
    digest = filled.json("show", "W-2")["text_ref"]
    argv = ("ledger", "redact", digest, "--reason", "personal")
    filled.refused(*argv, status=3, code="ACTOR_KIND_REFUSED", actor="bot")
    assert filled.json(*argv)["event"]["type"] == "BlobRedacted"
    assert filled.json(*argv)["event"] is None
    assert filled.json("show", "W-2")["body"] == "[redacted]"
    assert b"secret secret" not in (filled.cwd / ".remit/ledger.db").read_bytes()
    assert filled.json("ledger", "verify")["problems"] == []


def test_recheck_looks_again(filled: Cli) -> None:
    filled.json("create", "Number three")
    [verdict] = filled.json("recheck", "W-3")["verdicts"]
    assert (verdict["verdict"], verdict["reason"]) == ("HOLD", "verification-plan")
    assert filled.json("recheck")["total"] == 1
    assert "1 looked at again" in filled.text("recheck")


def test_planning_commands_do_what_they_say(filled: Cli) -> None:
    made = filled.json(
        "create", "Three", "--verify", "true", "--scope", "src/**, docs/", "--artifact", "src/a.py",
        "--priority", "0", "--id", "three", "--tenant", "blue", "--class", "fix",
    )  # fmt: skip
    assert made["item"]["work_id"] == "three"
    shown = filled.json("show", "three")
    assert shown["plan"]["scope"] == ["src/**", "docs/"]
    assert (shown["priority"], shown["tenant"], shown["class"]) == (0, "blue", "fix")
    filled.refused("create", "x", "--id", "three", status=3, code="ALIAS_TAKEN")
    assert filled.json("edit", "three", "--title", "3", "--clarify")["item"]["title"] == "3"
    assert filled.json("dep", "add", "three", "W-1")["item"]["status"] == "held"
    cycle = filled.refused("dep", "add", "W-1", "three", status=3, code="DEPENDENCY_CYCLE")
    assert cycle["details"]["cycle"]
    assert [n["id"] for n in filled.json("dep", "tree", "three")["nodes"]] == ["W-3", "W-1"]
    assert "W-1 [ready]" in filled.text("dep", "tree", "three")
    assert filled.json("dep", "rm", "three", "W-1")["item"]["status"] == "ready"
    closed = filled.json("close", "W-1", "--superseded-by", "three")
    assert closed["item"]["successor"] == "W-3"
    assert filled.json("cancel", "three", "--reason", "no")["item"]["outcome"] == "cancelled"
    filled.refused("cancel", "three", status=3, code="TRANSITION_REFUSED")
    assert "remit edit W-4 --verify" in filled.text("create", "Draft")


def test_people_get_every_view(filled: Cli) -> None:
    filled.json("create", "Number three")
    for argv, part in (
        (("list",), "Number one"),
        (("ready",), "W-2"),
        (("blocked",), "gate verification-plan"),
        (("search", "three"), "W-3"),
        (("show", "W-1"), "ItemCreated"),
        (("inbox",), "nothing waits for ann"),
        (("explain", "W-3"), "HOLD: PLAN_GATE_SHUT"),
        (("trace", "W-1"), "not complete"),
        (("triage", "list"), "no records"),
        (("rule", "list"), "no rules"),
        (("doctor",), "NOT_TESTED"),
    ):
        assert part in filled.text(*argv), argv


def test_doctor_keeps_four_results_apart(repo: Cli, tmp_path: Path) -> None:
    checks = {c["name"]: c for c in repo.json("doctor")["checks"]}
    assert {c["result"] for c in checks.values()} <= {"PASS", "NOT_TESTED"}
    assert checks["remote"]["result"] == checks["clock"]["result"] == "PASS"
    assert checks["sandbox"]["result"] == checks["keys"]["result"] == "NOT_TESTED"
    assert "FULL" in checks["store"]["reason"]
    (repo.cwd / ".git/remit/ledger.db").chmod(0o666)
    git(repo.cwd, "remote", "set-url", "origin", str(tmp_path / "gone.git"))
    checks = {c["name"]: c for c in repo.json("doctor", status=6)["checks"]}
    assert checks["permissions"]["result"] == "FAIL"
    assert checks["remote"]["result"] == "FAIL"
    assert "chmod" in checks["permissions"]["hint"]
    outside = {c["name"]: c for c in Cli(tmp_path).json("doctor")["checks"]}
    assert outside["store"]["result"] == "BLOCKED"
    assert outside["git"]["result"] == "NOT_TESTED"
