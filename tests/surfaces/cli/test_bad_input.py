"""Bad input of every kind: one line with what, where and what to do; never half a change."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, environment, git, process

from remit.wiring import open_ledger


def head(cli: Cli) -> int:
    ledger = open_ledger(f"sqlite://{cli.cwd}/.remit/ledger.db")
    try:
        with ledger.reading() as tx:
            return tx.head().seq
    finally:
        ledger.close()


BAD = (
    (("show", "W-77"), 4, "NOT_FOUND"),
    (("show", ""), 4, "NOT_FOUND"),
    (("show", "W-1'; drop table events; --"), 4, "NOT_FOUND"),
    (("note", "W-77", "x"), 4, "NOT_FOUND"),
    (("edit", "W-1"), 2, "BAD_INPUT"),
    (("edit", "W-1", "--priority", "9"), 2, "BAD_INPUT"),
    (("edit", "W-1", "--priority", "high"), 2, "BAD_INPUT"),
    (("close", "W-1"), 2, "BAD_INPUT"),
    (("close", "W-1", "--outcome", "great"), 2, "BAD_INPUT"),
    (("close", "W-1", "--superseded-by", "W-1"), 2, "BAD_INPUT"),
    (("create", ""), 2, "BAD_INPUT"),
    (("create", "   "), 2, "BAD_INPUT"),
    (("create", "x" * 501), 2, "BAD_INPUT"),
    (("create", "two\nlines"), 2, "BAD_INPUT"),
    (("create", "esc \x1b[31m"), 2, "BAD_INPUT"),
    (("create", "bytes \udcff\udcfe"), 2, "BAD_INPUT"),
    (("create", "x", "--scope", "/etc"), 2, "BAD_INPUT"),
    (("create", "x", "--scope", "../up"), 2, "BAD_INPUT"),
    (("create", "x", "--id", "W-9"), 2, "BAD_INPUT"),
    (("create", "x", "--id", "-rf"), 2, "BAD_INPUT"),
    (("create", "x", "--verify", ""), 2, "BAD_INPUT"),
    (("create", "x", "--verify", " ", "--verify", "true"), 2, "BAD_INPUT"),
    (("create", "x", "--body-file", "pipe"), 2, "INPUT_PROBLEM"),
    (
        ("create", "x", "--verify", "true", "--mutation", "pipe", "--red-reason", "y"),
        2,
        "INPUT_PROBLEM",
    ),
    (("edit", "W-1", "--verify", ""), 2, "BAD_INPUT"),
    (("submit", "pipe"), 2, "INPUT_PROBLEM"),
    (("plan", "check", "pipe"), 2, "INPUT_PROBLEM"),
    (("plan", "apply", "pipe"), 2, "INPUT_PROBLEM"),
    (("plan", "draft", "markdown", "pipe"), 2, "INPUT_PROBLEM"),
    (("create", "x", "--goal", "G-99"), 4, "NOT_FOUND"),
    (("create", "x", "--after", "W-99"), 4, "NOT_FOUND"),
    (("create", "x", "--body-file", "/no/such/file"), 2, "INPUT_PROBLEM"),
    (("create", "x", "--body-file", "/"), 2, "INPUT_PROBLEM"),
    (("create", "x", "--verify", "true", "--class", "a|b"), 2, "BAD_INPUT"),
    (("dep", "add", "W-1", "W-1"), 3, "DEPENDENCY_CYCLE"),
    (("dep", "add", "W-1", "W-99"), 4, "NOT_FOUND"),
    (("dep", "add", "W-1", "W-2", "--kind", "likes"), 2, "BAD_INPUT"),
    (("dep", "rm", "W-1", "W-2"), 3, "DEPENDENCY_ABSENT"),
    (("lease",), 2, "BAD_INPUT"),
    (("lease", "W-1", "--next"), 2, "BAD_INPUT"),
    (("lease", "W-2"), 3, "ITEM_NOT_READY"),
    (("lease", "W-1", "--ttl", "soon"), 2, "BAD_INPUT"),
    (("lease", "W-1", "--ttl", "900h"), 2, "BAD_INPUT"),
    (("renew", "W-1", "--fence", "1"), 3, "STALE_FENCE"),
    (("renew", "W-1", "--fence", "one"), 2, "BAD_INPUT"),
    (("renew", "W-1"), 2, "BAD_INPUT"),
    (("release", "W-1", "--fence", "99999999999999999999999"), 2, "BAD_INPUT"),
    (("report", "progress", "W-1", "--fence", "-1"), 3, "STALE_FENCE"),
    (("fail", "W-1", "--fence", "1"), 3, "STALE_FENCE"),
    (("review", "W-1"), 2, "BAD_INPUT"),
    (("review", "W-1", "--approve", "--reject"), 2, "BAD_INPUT"),
    (("review", "W-1", "--approve", "--reason", "ok"), 3, "NOTHING_TO_REVIEW"),
    (("verify", "W-1", "--pass"), 2, "BAD_INPUT"),
    (("verify", "W-1"), 3, "TRANSITION_REFUSED"),
    (("ship", "W-1", "--commit", "HEAD"), 3, "TRANSITION_REFUSED"),
    (("triage", "show", "T-9"), 4, "TRIAGE_UNKNOWN"),
    (("triage", "resolve", "T-9", "requeue"), 4, "TRIAGE_UNKNOWN"),
    (("actor", "add", "no good"), 2, "BAD_INPUT"),
    (("actor", "add", "x", "--kind", "god"), 2, "BAD_INPUT"),
    (("actor", "add", "bot"), 3, "ACTOR_EXISTS"),
    (("actor", "revoke", "nobody"), 4, "NOT_FOUND"),
    (("rule", "accept", "nothing"), 4, "RULE_UNKNOWN"),
    (("rule", "show", "nothing"), 4, "RULE_UNKNOWN"),
    (("policy", "set", "ttl_ms"), 2, "BAD_INPUT"),
    (("policy", "set", "ttl_ms=-1"), 2, "BAD_INPUT"),
    (("policy", "set", "colour=1"), 2, "BAD_INPUT"),
    (("policy", "set", "accept_unproved=maybe"), 2, "BAD_INPUT"),
    (("import", "beads", "/no/such/file"), 2, "INPUT_PROBLEM"),
    (("import", "beads", "/"), 2, "INPUT_PROBLEM"),
    (("import", "trello", "/dev/null"), 2, "BAD_INPUT"),
    (("ledger", "verify", "--root", "xyz"), 2, "BAD_INPUT"),
    (("ledger", "redact", "xyz", "--reason", "x"), 4, "BLOB_UNKNOWN"),
    (("ledger", "redact", "ab" * 32, "--reason", "x"), 4, "BLOB_UNKNOWN"),
    (("ledger", "restore", "/no/such/file", "--to", "x.db"), 4, "LEDGER_MISSING"),
    (("ledger", "backup", "/no/such/folder/x.db"), 8, "STORE_UNAVAILABLE"),
    (("ready", "--limit", "many"), 2, "BAD_INPUT"),
    (("ready", "--limit", "-2"), 2, "BAD_INPUT"),
    (("ready", "--at", "never"), 2, "BAD_INPUT"),
    (("frobnicate",), 2, "BAD_INPUT"),
    (("--at", "3", "create", "x"), 2, "BAD_INPUT"),
    (("--command-id", "x", "ready"), 2, "BAD_INPUT"),
    (("init",), 3, "LEDGER_EXISTS"),
)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    cli.json("create", "Number one", "--verify", "true")
    cli.json("create", "Number two")
    os.mkfifo(cli.cwd / "pipe")
    return cli


@pytest.mark.parametrize(
    ("argv", "status", "code"), BAD, ids=[f"{i}-{b[0][0]}" for i, b in enumerate(BAD)]
)
def test_bad_input_is_one_line_and_changes_nothing(
    filled: Cli, argv: tuple[str, ...], status: int, code: str
) -> None:
    before = head(filled)
    error = filled.refused(*argv, status=status, code=code)
    line = filled.line(*argv, status=status)
    assert line.startswith(f"error[{code}]: ")
    assert line.isprintable()
    assert error["hint"]
    assert head(filled) == before


def test_an_actor_that_is_not_enrolled_or_may_not(filled: Cli) -> None:
    filled.refused("create", "x", status=3, code="ACTOR_UNKNOWN", actor="stranger")
    filled.refused("policy", "set", "attempts=2", status=3, code="ACTOR_KIND_REFUSED", actor="bot")
    filled.json("actor", "revoke", "bot")
    filled.refused("note", "W-1", "x", status=3, code="ACTOR_REVOKED", actor="bot")


@pytest.mark.parametrize(
    "url", ["mysql://x", "sqlite:", "sqlite://host/x", "x.db", "sqlite:///x?y"]
)
def test_a_wrong_url(cli: Cli, url: str) -> None:
    error = cli.refused("ready", "--ledger", url, status=2, code="BAD_INPUT")
    assert "sqlite:///" in error["hint"]


def test_no_ledger_anywhere(tmp_path: Path) -> None:
    error = Cli(tmp_path).refused("ready", status=4, code="LEDGER_MISSING")
    assert "remit init" in error["hint"]
    Cli(tmp_path).refused(
        "ready", "--ledger", f"sqlite://{tmp_path}/no.db", status=4, code="LEDGER_MISSING"
    )


def test_what_is_not_a_ledger(tmp_path: Path) -> None:
    here = Cli(tmp_path)
    for name, content, code, status in (
        ("empty", b"", "STORE_REFUSED", 8),
        ("text", b"hello", "STORE_REFUSED", 8),
        ("sqlite", b"SQLite format 3\0" + bytes(84), "STORE_REFUSED", 8),
    ):
        (tmp_path / name).write_bytes(content)
        for command in (("ready",), ("create", "x"), ("ledger", "verify")):
            url = f"sqlite://{tmp_path}/{name}"
            here.refused(*command, "--ledger", url, status=status, code=code)
            here.line(*command, "--ledger", url, status=status)
    here.refused("ready", "--ledger", f"sqlite://{tmp_path}", status=8, code="STORE_REFUSED")


def test_a_corrupt_ledger(filled: Cli) -> None:
    path = filled.cwd / ".remit/ledger.db"
    data = bytearray(path.read_bytes())
    for wal in filled.cwd.glob(".remit/ledger.db-*"):
        wal.unlink()
    data[100:4096] = os.urandom(3996)
    path.write_bytes(data)
    for command in (("ready",), ("show", "W-1"), ("create", "x"), ("ledger", "verify")):
        filled.refused(*command, status=7, code="LEDGER_CORRUPT")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_ledger_that_may_not_be_read(filled: Cli) -> None:
    path = filled.cwd / ".remit/ledger.db"
    path.chmod(0)
    filled.refused("ready", status=8, code="STORE_UNAVAILABLE")
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("remote = 1\n", 1),
        ('main = "main"\nremote = \n', 2),
        ('\n\ncolour = "red"\n', 3),
        ('[rules.default]\ncommand = "x"\ntimeout_s = 0\n', 3),
        ("[rules.default]\n", 1),
        ('[rules.default]\ncomand = "x"\n', 2),
        ("rules = 3\n", 1),
        ('[rules.default]\ncommand = "x"\nexpected_exit = true\n', 3),
    ],
)
def test_a_bad_configuration_is_refused_with_its_line(filled: Cli, text: str, line: int) -> None:
    config = filled.cwd / ".remit/config.toml"
    config.write_text(text)
    before = head(filled)
    error = filled.refused("create", "x", status=2, code="BAD_INPUT")
    assert error["details"] == {"path": str(config), "line": line}
    assert f"line {line}" in error["message"]
    assert head(filled) == before


def test_a_configuration_that_is_no_text(filled: Cli) -> None:
    (filled.cwd / ".remit/config.toml").write_bytes(b"\xff\xfe")
    filled.refused("create", "x", status=2, code="BAD_INPUT")


def test_init_with_a_bad_configuration_makes_no_ledger(tmp_path: Path) -> None:
    (tmp_path / ".remit").mkdir()
    (tmp_path / ".remit/config.toml").write_text("remote = 1\n")
    Cli(tmp_path).refused("init", status=2, code="BAD_INPUT")
    assert [p.name for p in (tmp_path / ".remit").iterdir()] == ["config.toml"]
    Cli(tmp_path, "no good").refused("init", "--ledger", f"sqlite://{tmp_path}/l.db", status=2,
                                     code="BAD_INPUT")  # fmt: skip


def test_init_in_a_repository_is_shared_by_worktrees_and_survives_clean(
    repo: Cli, tmp_path: Path
) -> None:
    assert (repo.cwd / ".git/remit/ledger.db").is_file()
    git(repo.cwd, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    git(repo.cwd, "clean", "-fdxq")
    made = repo.json("create", "x", "--verify", "true", cwd=tmp_path / "tree")
    assert repo.json("ready")["items"][0]["id"] == made["item"]["id"]
    error = repo.refused("init", status=3, code="LEDGER_EXISTS", cwd=tmp_path / "tree")
    assert error["details"]["ledger"].endswith("/.git/remit/ledger.db")


def test_a_closed_standard_output_stops_before_anything_is_done(filled: Cli) -> None:
    before = head(filled)
    command = f"exec {sys.executable} -m remit create x --as ann --verify true >&-"
    ran = subprocess.run(
        ["sh", "-c", command], cwd=filled.cwd, env=environment(), capture_output=True, timeout=60
    )
    assert ran.returncode == 2
    assert ran.stderr.count(b"\n") == 1
    assert b"nothing was done" in ran.stderr
    assert head(filled) == before


def test_a_full_standard_output_is_said(filled: Cli) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = process(filled.cwd, "create", "x", "--as", "ann", "--json", stdout=full)
    assert ran.returncode == 1
    assert ran.stderr.count(b"\n") == 1
    assert b"Traceback" not in ran.stderr


def test_a_reader_that_goes_away_is_quiet(filled: Cli) -> None:
    for argv in ("list", "list --json", "show W-1", "--help"):
        command = f"{sys.executable} -m remit {argv} --as ann | true"
        if argv == "--help":
            command = f"{sys.executable} -m remit --help | true"
        ran = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=filled.cwd, env=environment(), capture_output=True, timeout=60,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, b""), argv


def test_a_fault_of_ours_is_one_line_and_says_how_to_see_more(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.surfaces.cli import reads

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nnothing")

    monkeypatch.setattr(reads, "ready", broken)
    line = cli.line("ready", status=1)
    assert line.startswith("error[UNEXPECTED]: ")
    assert "REMIT_DEBUG=1" in line
    assert "by\\nnothing" in line


def test_binary_arguments_are_refused_by_a_real_process(filled: Cli) -> None:
    before = head(filled)
    argv = [sys.executable.encode(), b"-m", b"remit", b"create", b"\xff\xfe\x80", b"--as", b"ann"]
    for more in ([], [b"--json"]):
        ran = subprocess.run(
            [*argv, *more], cwd=filled.cwd, env=environment(), capture_output=True, timeout=60
        )
        assert ran.returncode == 2
        assert ran.stderr.count(b"\n") == 1
    assert head(filled) == before
