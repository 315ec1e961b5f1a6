"""``ledger follow`` among real processes: racing writers, kills, restarts, and ledgers put back."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.stores.postgres.server import Server
from tests.surfaces.cli.calling import Cli, environment, process

from remit.core import commands as c
from remit.core.refusals import Code
from remit.service.engine import Done
from remit.wiring import create_ledger, open_ledger

WRITER = """
import sys
import time
from remit.core.commands import CreateItem
from remit.service.engine import Done
from remit.wiring import open_ledger

ledger = open_ledger(sys.argv[1])
ann = ledger.acting("ann")
for n in range(int(sys.argv[3])):
    assert isinstance(ann.create(CreateItem(f"{sys.argv[2]} {n}")), Done)
    time.sleep(float(sys.argv[4]))
"""


def started(*argv: str, **how: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *argv], env=environment(), **how)


def following(url: str, out: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A follower that appends to a file; what it says goes beside it."""
    with out.open("ab") as file, out.with_suffix(".err").open("ab") as said:
        follow = ("-m", "remit", "ledger", "follow", "--ledger", url, "--json")
        return started(*follow, *argv, stdout=file, stderr=said)


@contextmanager
def ended(*children: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
            child.wait(30)


def complete(out: Path) -> list[tuple[int, str]]:
    """The lines that were written whole: seq and digest."""
    text = out.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    found = [json.loads(line)["data"] for line in whole.splitlines()]
    return [(event["seq"], event["digest"]) for event in found]


def told(out: Path) -> list[str]:
    """What the follower said of itself, a word a line."""
    said = out.with_suffix(".err").read_text()
    whole = said[: said.rfind("\n") + 1].splitlines()
    return [line.split(": ")[1].split(" again")[0] for line in whole]


def stream(url: str) -> list[tuple[int, str]]:
    with closing(open_ledger(url)) as ledger, ledger.reading() as tx:
        return [(e.seq, e.digest.hex()) for e in tx.stored(0, 1 << 30)]


def until(true: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger with its first human in it."""
    if request.param == "sqlite":
        place = f"sqlite://{tmp_path}/ledger.db"
    else:
        server: Server = request.getfixturevalue("postgres")
        place = server.url(request.getfixturevalue("database"))
    with closing(create_ledger(place, "ann")) as made:
        return made.store.url


def create(url: str, title: str = "one") -> None:
    with closing(open_ledger(url)) as ledger:
        assert isinstance(ledger.acting("ann").create(c.CreateItem(title)), Done)


def writers(url: str, many: int, each: int, pause: float = 0) -> list[subprocess.Popen[bytes]]:
    return [started("-c", WRITER, url, f"w{n}", str(each), str(pause)) for n in range(many)]


def test_racing_writers_are_followed_exactly(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch()
    racing = writers(url, 3, 40)
    follower = following(url, out)
    with ended(follower, *racing):
        for writer in racing:
            assert writer.wait(60) == 0
        wanted = stream(url)
        assert len(wanted) > 3 * 40
        until(lambda: len(complete(out)) >= len(wanted))
    assert complete(out) == wanted


def test_killed_at_any_moment_and_resumed_nothing_is_missed(url: str, tmp_path: Path) -> None:
    """Each run goes on right behind its cursor; only what no cursor covered yet comes again."""
    chance = random.Random(5)
    cursor = tmp_path / "cursor"
    racing = writers(url, 2, 10_000, 0.004)
    runs: list[list[tuple[int, str]]] = []
    begins: list[int] = []
    with ended(*racing):
        for n in range(6):
            out = tmp_path / f"run{n}"
            begins.append(json.loads(cursor.read_bytes())["seq"] if n else 0)
            follower = following(url, out, "--cursor", str(cursor))
            with ended(follower):
                until(lambda out=out: complete(out))
                time.sleep(chance.uniform(0, 0.2))
                follower.send_signal(signal.SIGKILL)
            runs.append(complete(out))
        assert [writer.poll() for writer in racing] == [None, None]
    begins.append(json.loads(cursor.read_bytes())["seq"])
    last = following(url, tmp_path / "last", "--cursor", str(cursor), "--no-wait")
    with ended(last):
        assert last.wait(60) == 0
    runs.append(complete(tmp_path / "last"))
    wanted = stream(url)
    for begin, run in zip(begins, runs, strict=True):
        assert run == wanted[begin : begin + len(run)]
    assert sorted({event for run in runs for event in run}) == wanted
    assert json.loads(cursor.read_bytes())["seq"] == len(wanted)


def test_a_server_that_is_started_again_is_followed_on(tmp_path: Path) -> None:
    server = Server()
    out = tmp_path / "out"
    out.touch()
    try:
        server.start()
        server.run("CREATE DATABASE followed")
        with closing(create_ledger(server.url("followed"), "ann")) as made:
            place = made.store.url
        follower = following(place, out, "--cursor", str(tmp_path / "cursor"))
        with ended(follower):
            for round_ in range(3):
                create(place, f"before {round_}")
                until(lambda: complete(out) == stream(place))
                server.kill()
                until(lambda round_=round_: len(told(out)) == 2 * round_ + 1)
                server.start()
                until(lambda round_=round_: len(told(out)) == 2 * round_ + 2)
            create(place, "after")
            until(lambda: complete(out) == stream(place))
            assert follower.poll() is None
        assert told(out) == ["waiting", "following"] * 3
    finally:
        server.stop()


@pytest.fixture
def cut(tmp_path: Path) -> tuple[str, Path, Path]:
    """A ledger that was followed to its end, and a backup of it from before."""
    url = f"sqlite://{tmp_path}/ledger.db"
    create_ledger(url, "ann").close()
    cli = Cli(tmp_path)
    cli.json("ledger", "backup", str(tmp_path / "old.db"), "--ledger", url)
    create(url)
    cursor = tmp_path / "cursor"
    cli.text("ledger", "follow", "--no-wait", "--ledger", url, "--cursor", str(cursor))
    return url, tmp_path / "ledger.db", cursor


def put_back(path: Path) -> None:
    """The backup in the place of the ledger, as an operator would do it."""
    for ending in ("", "-wal", "-shm"):
        if Path(f"{path}{ending}").exists():
            Path(f"{path}{ending}").rename(path.with_name(f"away.db{ending}"))
    Cli(path.parent).json("ledger", "restore", str(path.with_name("old.db")), "--to", str(path))


def test_a_ledger_that_was_put_back_is_refused(cut: tuple[str, Path, Path]) -> None:
    url, path, cursor = cut
    cli = Cli(path.parent)
    follow = ("ledger", "follow", "--no-wait", "--ledger", url, "--cursor", str(cursor))
    kept = cursor.read_bytes()
    put_back(path)
    cli.refused(*follow, status=3, code="CURSOR_AHEAD")
    cli.json("ledger", "adopt", "--reason", "put back", "--ledger", url)
    for n in range(3):
        create(url, f"another {n}")
    cli.refused(*follow, status=3, code="CURSOR_DIVERGED")
    assert cursor.read_bytes() == kept
    other = f"sqlite://{path.parent}/other.db"
    create_ledger(other, "ann").close()
    cli.refused(*follow[:3], "--ledger", other, "--cursor", str(cursor),
                status=3, code="CURSOR_OF_ANOTHER")  # fmt: skip


def test_a_ledger_put_back_under_a_follower_ends_it(cut: tuple[str, Path, Path]) -> None:
    url, path, cursor = cut
    out = path.parent / "out"
    follower = following(url, out, "--cursor", str(cursor))
    with ended(follower):
        create(url, "seen")
        until(lambda: complete(out))
        put_back(path)
        assert follower.wait(30) == 3
    said = out.with_suffix(".err").read_text()
    assert json.loads(said.splitlines()[-1])["error"]["code"] == "CURSOR_AHEAD"


def test_a_reader_that_goes_ends_it_quietly(url: str) -> None:
    follow = ("-m", "remit", "ledger", "follow", "--ledger", url)
    follower = started(*follow, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with ended(follower):
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert b"LedgerCreated" in follower.stdout.readline()
        follower.stdout.close()
        assert follower.wait(60) == 0
        assert follower.stderr.read() == b""
        follower.stderr.close()


def test_interrupted_it_says_where_to_go_on(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    follower = following(url, out)
    with ended(follower):
        until(lambda: out.exists() and len(complete(out)) == len(stream(url)))
        time.sleep(0.3)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(60) == 130
    error = json.loads(out.with_suffix(".err").read_text())["error"]
    assert error["code"] == Code.INTERRUPTED
    assert error["hint"] == f"go on with --after {len(stream(url))}"


def test_what_events_hold_cannot_move_a_cursor(cli: Cli) -> None:
    item = cli.json("create", "x", "--verify", "true")["item"]["id"]
    cli.json("note", item, "a\x1b[2J\n99  b\u202e")
    text = cli.text("ledger", "follow", "--no-wait", "--item", item)
    assert "a\\x1b[2J\\n99  b\\u202e" in text
    assert text.replace("\n", "").isprintable()
    seqs = [int(line.split()[0]) for line in text.splitlines()]
    assert seqs == sorted(set(seqs))


def test_only_what_is_asked_for(cli: Cli) -> None:
    for title in ("one", "two"):
        cli.json("create", title, "--verify", "true")
    cli.json("lease", "W-2")

    def follow(*argv: str) -> list[dict[str, Any]]:
        text = cli.text("ledger", "follow", "--no-wait", "--json", *argv)
        return [json.loads(line)["data"] for line in text.splitlines()]

    everything = follow()
    assert [e["seq"] for e in everything] == list(range(1, len(everything) + 1))
    assert follow("--after", "5", "--limit", "2") == everything[5:7]
    assert follow("--new") == []
    assert {e["stream"] for e in follow("--stream", "W-1")} == {"W-1"}
    assert {e["stream"] for e in follow("--item", "W-2")} == {"W-2", "R-2"}
    kinds = ("--type", "ItemCreated", "--type", "LeaseGranted")
    assert [e["type"] for e in follow(*kinds)] == ["ItemCreated", "ItemCreated", "LeaseGranted"]
    quiet = cli.text("ledger", "follow", "--no-wait", "--quiet", "--limit", "3")
    assert quiet == "1\n2\n3\n"


def test_a_limit_ends_it_and_the_cursor_stands_behind_what_was_printed(cli: Cli) -> None:
    kept = str(cli.cwd / "kept")
    seqs = ""
    for _ in range(3):
        follow = ("ledger", "follow", "--no-wait", "--limit", "2", "--quiet")
        seqs += cli.text(*follow, "--cursor", kept)
    assert seqs.split() == ["1", "2", "3", "4", "5", "6"]


def test_faults_of_usage_are_one_line(cli: Cli) -> None:
    follow = ("ledger", "follow", "--no-wait")
    assert "LeaseGranted" in cli.line(*follow, "--type", "LeaseGrant", status=2)
    assert "abbreviat" not in cli.line(*follow, "--item", "W-99", status=4)
    cli.refused(*follow, "--after", "999", status=3, code="CURSOR_AHEAD")
    bad = cli.cwd / "bad"
    bad.write_text("{}")
    cli.refused(*follow, "--cursor", str(bad), status=2, code="BAD_INPUT")
    cli.refused(*follow, "--cursor", str(cli.cwd / "no" / "where"), status=2, code="BAD_INPUT")
    cli.refused(*follow, "--at", "3", status=2, code="BAD_INPUT")


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="there is no full device")
def test_an_output_that_takes_nothing_moves_no_cursor(cli: Cli) -> None:
    kept = cli.cwd / "kept"
    with Path("/dev/full").open("wb") as full:
        ran = process(cli.cwd, "ledger", "follow", "--no-wait", "--cursor", "kept", stdout=full)
    assert ran.returncode == 1
    assert b"cannot write the answer" in ran.stderr
    assert json.loads(kept.read_bytes())["seq"] == 0
