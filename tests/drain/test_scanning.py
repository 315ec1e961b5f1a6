"""Changes that are scanned together are told apart, and a scan that says too little is made again."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from remit.core.checks import Result
from remit.core.refusals import Code, Refused
from remit.drain.workplace import Task
from remit.ports.agent import Agent
from remit.ports.sandbox import SecretFinding, SecretScan
from remit.repository.repository import GitRepository
from remit.wiring import scanning
from remit.wiring.places import Place
from remit.wiring.scanning import Scans
from remit.wiring.workplace import Ground


class Changes:
    """Lays out one file a change; its head says what is in it."""

    def lay_out(self, base: str, head: str, folder: Path) -> int:
        del base
        (folder / "file").write_text(head)
        return 1


class Scanner:
    """Finds the word ``secret``; waits at the first scan until it is let go."""

    def __init__(self, *, blocked: int = 0) -> None:
        self.scanned: list[list[str]] = []
        self.go = threading.Event()
        self.blocked = blocked

    def scan(self, folder: Path) -> SecretScan:
        if not self.scanned:
            self.scanned.append([])
            self.go.wait(60)
        files = sorted(folder.rglob("file"))
        self.scanned.append([file.read_text() for file in files])
        if self.blocked:
            self.blocked -= 1
            return SecretScan(Result.BLOCKED, (), "it could not look")
        found = tuple(
            SecretFinding("a-rule", str(file.relative_to(folder)), 1)
            for file in files
            if "secret" in file.read_text()
        )
        return SecretScan(Result.FAIL if found else Result.PASS, found, f"{len(files)} files")


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, with patience."""
    for _ in range(6_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def together(scanner: Scanner, heads: list[str]) -> dict[str, Any]:
    """Scan one change and, while that is under way, all others."""
    scans = Scans(cast(GitRepository, Changes()), scanner)
    found: dict[str, Any] = {}

    def scan(head: str) -> None:
        found[head] = scans.scan("base", head)

    first, *others = (threading.Thread(target=scan, args=(head,)) for head in heads)
    first.start()
    until(lambda: bool(scanner.scanned))
    for thread in others:
        thread.start()
    until(lambda: len(scans._waiting) == len(others))
    scanner.go.set()
    for thread in (first, *others):
        thread.join(60)
    return found


def test_each_change_hears_of_its_own_secrets() -> None:
    scanner = Scanner()
    found = together(scanner, ["first", "clean", "a secret", "clean too"])
    assert {head: scan.result for head, scan in found.items()} == {
        "first": "PASS", "clean": "PASS", "a secret": "FAIL", "clean too": "PASS",
    }  # fmt: skip
    assert [one.path for one in found["a secret"].findings] == ["file"]
    assert [sorted(batch) for batch in scanner.scanned[1:]] == [
        ["first"], ["a secret", "clean", "clean too"],
    ]  # fmt: skip


class Full(Changes):
    """One of its changes finds no room on the disk."""

    def lay_out(self, base: str, head: str, folder: Path) -> int:
        if head == "full":
            raise OSError(errno.ENOSPC, "no room")
        return super().lay_out(base, head, folder)


def test_who_finds_no_room_troubles_no_other() -> None:
    scanner = Scanner()
    scans = Scans(cast(GitRepository, Full()), scanner)
    found: dict[str, Any] = {}

    def scan(head: str) -> None:
        try:
            found[head] = scans.scan("base", head).result  # type: ignore[union-attr]  # scanned
        except OSError as error:
            found[head] = error.errno

    threads = [threading.Thread(target=scan, args=(head,)) for head in ("first", "full", "other")]
    threads[0].start()
    until(lambda: bool(scanner.scanned))
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(scans._waiting) == 2)
    scanner.go.set()
    for thread in threads:
        thread.join(60)
    assert found == {"first": "PASS", "full": errno.ENOSPC, "other": "PASS"}


def test_texts_that_are_alike_are_told_apart() -> None:
    assert scanning._Asked(text="same") != scanning._Asked(text="same")


def test_a_scan_waits_for_who_may_come_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.wiring.scanning.GATHER_S", 60.0)
    scanner = Scanner()
    scanner.go.set()
    scans = Scans(cast(GitRepository, Changes()), scanner)
    scans.expect("A-2")
    found: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda head=head: found.update({head: scans.scan("base", head)}))
        for head in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(scans._waiting) == 2)
    assert scanner.scanned == []
    scans.expect_no_more("A-2")
    for thread in threads:
        thread.join(60)
    assert [sorted(batch) for batch in scanner.scanned[1:]] == [["one", "two"]]
    monkeypatch.setattr("remit.wiring.scanning.GATHER_S", 0.05)
    scans.expect("A-3")
    assert isinstance(scans.scan("base", "three"), SecretScan), (
        "who does not come is not waited for"
    )


def test_a_batch_that_could_not_be_looked_at_is_scanned_one_by_one() -> None:
    scanner = Scanner(blocked=2)
    found = together(scanner, ["first", "clean", "a secret"])
    assert found["first"].result == "BLOCKED", "it was alone, and whoever asks may ask again"
    assert (found["clean"].result, found["a secret"].result) == ("PASS", "FAIL")


def test_what_was_printed_is_scanned_as_a_text_of_its_own() -> None:
    scans = Scans(cast(GitRepository, Changes()), TextScanner())
    assert [scans.read(text).result for text in ("a secret", "nothing")] == ["FAIL", "PASS"]  # type: ignore[union-attr]  # no refusal


class TextScanner:
    """Finds the word ``secret`` in what was printed."""

    def scan(self, folder: Path) -> SecretScan:
        found = tuple(
            SecretFinding("a-rule", str(file.relative_to(folder)), 1)
            for file in folder.rglob("text")
            if "secret" in file.read_text()
        )
        return SecretScan(Result.FAIL if found else Result.PASS, found, "1 file")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (SecretScan(Result.PASS, (), "1 file"), "hello"),
        (SecretScan(Result.NOT_TESTED, (), "no sandbox"), "hello"),
        (SecretScan(Result.BLOCKED, (), "ran out of time"), "[withheld: it could not be scanned]"),
        (Refused(Code.REPOSITORY_REFUSED, "no", "x"), "[withheld: it could not be scanned]"),
        (
            SecretScan(Result.FAIL, (SecretFinding("a-rule", "text", 1),) * 2, "1 file"),
            "[withheld: the scanner found a-rule]",
        ),
        (SecretScan(Result.FAIL, (), "1 file"), "[withheld: the scanner found a secret]"),
    ],
)
def test_a_transcript_that_could_not_be_scanned_is_withheld(
    said: SecretScan | Refused, kept: str, tmp_path: Path
) -> None:
    ground = SimpleNamespace(read=lambda _: said, suspicious=lambda text: "AKIA" in text)
    place = Place(
        cast(Ground, ground), Task("RUN-1", "W-1", "A-1.1", "b"), cast(Agent, None), tmp_path
    )
    text, [check] = place.transcript("hello")
    assert (text, check.check) == (kept, "transcript")
    assert place.transcript("") == ("", ())
    form, unasked = place.transcript("AKIA")
    assert (form.startswith("[withheld: it looks like"), unasked) == (True, ())
