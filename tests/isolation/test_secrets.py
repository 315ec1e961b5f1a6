"""What comes back is scanned in a cell, and whatever is not a plain answer is BLOCKED."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.isolation.conftest import Host, needs_scanner, token

from remit.core.checks import Result
from remit.isolation import secrets
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.isolation.cell import BubblewrapCell
from remit.isolation.packed import Opened
from remit.isolation.secrets import Kingfisher
from remit.machine.processes import Captured, Finished
from remit.ports.sandbox import Room, SandboxRefusal
from remit.wiring import isolating


@needs_scanner
@pytest.mark.timeout(300)
def test_secrets_are_found_wherever_a_guest_puts_them(scanner: Kingfisher, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / ".hidden").mkdir(parents=True)
    clean = scanner.scan(folder)
    assert clean.result is Result.PASS, clean.evidence
    (folder / "plain.py").write_text(f'key = "{token(1)}"\n')
    (folder / "excused.py").write_text(f'key = "{token(2)}"  # kingfisher:ignore\n')
    (folder / ".hidden" / "x").write_text(f"token: {token(3)}\n")
    (folder / ".gitignore").write_text("ignored.txt\n*\n")
    (folder / "ignored.txt").write_text(f"token: {token(4)}\n")
    with tarfile.open(folder / "packed.tar.gz", "w:gz") as archive:
        data = f"token: {token(6)}\n".encode()
        entry = tarfile.TarInfo("inner.txt")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    found = scanner.scan(folder)
    assert found.result is Result.FAIL
    files = {finding.path.split("!")[0].split("/")[0] for finding in found.findings}
    assert {"plain.py", "excused.py", ".hidden", "ignored.txt"} <= files, found
    assert any("packed" in finding.path for finding in found.findings), found
    assert token(1) not in repr(found)
    assert "5 secrets" in found.evidence


@needs_scanner
@pytest.mark.timeout(300)
def test_what_two_changes_hold_is_named_in_both(scanner: Kingfisher, tmp_path: Path) -> None:
    for name in ("0", "1", "2"):
        (tmp_path / "texts" / name).mkdir(parents=True)
        (tmp_path / "texts" / name / "x.txt").write_text(f"token: {token(7)}\n")
    found = scanner.scan(tmp_path / "texts")
    assert {finding.path for finding in found.findings} == {"0/x.txt", "1/x.txt", "2/x.txt"}


@needs_scanner
@pytest.mark.timeout(300)
def test_a_folder_whose_name_the_scanner_skips_passes_nothing(
    scanner: Kingfisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "node_modules" / "tmp"
    (top / "texts").mkdir(parents=True)
    (top / "texts" / "x.txt").write_text(f"token: {token(8)}\n")
    monkeypatch.setattr(tempfile, "tempdir", str(top))
    found = scanner.scan(top / "texts")
    assert found.result is Result.BLOCKED
    assert "planted" in found.evidence


@needs_scanner
def test_a_repository_in_what_came_back_is_text_like_all_else(
    scanner: Kingfisher, tmp_path: Path
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    marker = tmp_path / "marker"
    subprocess.run(["git", "config", "core.fsmonitor", f"touch {marker}"], cwd=folder, check=True)
    assert scanner.scan(folder).result is Result.PASS
    assert not marker.exists()


def test_without_the_scanner_nothing_passes(
    sandbox: BubblewrapSandbox, host: Host, tmp_path: Path
) -> None:
    found = Kingfisher(sandbox, tmp_path / "cache", search=str(tmp_path)).scan(host.clone)
    assert found.result is Result.BLOCKED
    assert "remit[drain]" in found.hint


def test_without_a_cell_nothing_is_scanned(host: Host, tmp_path: Path) -> None:
    nowhere = BubblewrapSandbox(search=str(tmp_path))
    program = tmp_path / "kingfisher"
    marker = tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    found = Kingfisher(nowhere, tmp_path / "cache", search=str(tmp_path)).scan(host.clone)
    assert found.result is Result.BLOCKED
    assert not marker.exists()


def finished(code: int, text: bytes, *, timed_out: bool = False, cut: int = 0) -> Finished:
    return Finished(code, timed_out, 1, Captured(text, b"", cut), Captured(b"", b"", 0))


PLANTED = b'{"rule":{"id":"r"},"finding":{"path":"/room/planted.txt","line":1}}'
ONE = PLANTED + b',{"rule":{"id":"r"},"finding":{"path":"/t/a\\u001b[2J","line":3}}'
GUESTS = b'{"rule":{"id":"r"},"finding":{"path":"/t/planted.txt","line":1}}'
Report = Callable[[bytes], bytes]


def report(findings: bytes) -> bytes:
    return b'{"findings":[' + findings + b'],"metadata":{"summary":{"blobs_scanned":2}}}\n{}\n'


@pytest.mark.parametrize(
    ("done", "result"),
    [
        (finished(200, report(PLANTED)), Result.PASS),
        (finished(200, report(ONE)), Result.FAIL),
        (finished(200, report(PLANTED + b"," + GUESTS)), Result.FAIL),
        (finished(200, report(GUESTS)), Result.BLOCKED),
        (finished(0, report(b"")), Result.BLOCKED),
        (finished(205, report(ONE)), Result.FAIL),
        (finished(0, report(ONE)), Result.BLOCKED),
        (finished(200, report(b"")), Result.BLOCKED),
        (finished(0, b""), Result.BLOCKED),
        (finished(0, b"[]"), Result.BLOCKED),
        (finished(0, b'{"findings":null}'), Result.BLOCKED),
        (finished(1, report(b"")), Result.BLOCKED),
        (finished(-9, report(b"")), Result.BLOCKED),
        (finished(0, report(b""), timed_out=True), Result.BLOCKED),
        (finished(0, report(b""), cut=1), Result.BLOCKED),
    ],
)
def test_only_a_plain_answer_counts(done: Finished, result: Result) -> None:
    found = secrets._read(done, Path("/t"), Opened())
    assert found.result is result
    if result is Result.FAIL:
        assert found.findings[0].path in ("a?[2J", "planted.txt")


@needs_scanner
@pytest.mark.timeout(300)
def test_rules_are_compiled_away_from_what_is_scanned(
    sandbox: BubblewrapSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell that reads a guest's text cannot write the rules that the next scan believes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    scanner = isolating.secret_scanner()
    assert isinstance(scanner, Kingfisher)
    folder = tmp_path / "texts"
    folder.mkdir()
    seen: list[tuple[Path, ...]] = []
    prepare = BubblewrapSandbox.prepare

    def watched(self: BubblewrapSandbox, room: Room) -> BubblewrapCell | SandboxRefusal:
        seen.append(room.writable)
        assert folder not in room.writable
        return prepare(self, room)

    monkeypatch.setattr(BubblewrapSandbox, "prepare", watched)
    told: list[str] = []
    for _ in range(2):
        scanner.prepare(lambda: told.append("begun"))
    assert told == ["begun"], "who waits is told once, and only where there is something to compile"
    for _ in range(2):
        assert scanner.scan(folder).result is Result.PASS
    assert [len(writable) for writable in seen] == [1, 0, 0]


def test_doctor_says_whether_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "find", lambda search=None: None)
    assert secrets.examine().result is Result.BLOCKED
    assert secrets.examine().hint
