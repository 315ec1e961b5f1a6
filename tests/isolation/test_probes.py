"""Probes pass in a whole cell, and each goes red when the wall that it looks at is taken out."""

from __future__ import annotations

import os
import pty
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.isolation.conftest import SMALL, Cells, Host

from remit.core.checks import Result
from remit.isolation import groups, layout, probes
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.isolation.inside import escapes
from remit.ports.sandbox import (
    CellLimits,
    Egress,
    Probe,
    Room,
    SandboxCode,
    SandboxRefusal,
    refused,
)


def by_name(found: tuple[Probe, ...]) -> dict[str, Probe]:
    return {probe.name: probe for probe in found}


def test_every_probe_passes_in_a_whole_cell(cells: Cells, host: Host) -> None:
    found = cells().probe()
    assert {probe.name for probe in found} == {"cell", *escapes.TRIES}
    assert refused(found) == ()
    assert all(probe.evidence for probe in found)
    for part in ("landlock", "seccomp"):
        expected = Result.PASS if probes.kernel_has(part) else Result.NOT_TESTED
        assert by_name(found)[part].result is expected
    assert list(host.clone.iterdir()) == []
    assert host.as_it_was()


def test_every_probe_passes_with_egress_and_paths_shown(cells: Cells, tmp_path: Path) -> None:
    pytest.importorskip("h11", reason="egress needs h11, which remit[drain] brings")
    shared, more = tmp_path / "objects", tmp_path / "more"
    shared.mkdir()
    more.mkdir()
    cell = cells(
        egress=Egress(("api.example:443",)), read_only=(shared,), writable=(more.resolve(),)
    )
    assert refused(cell.probe()) == ()


def without(words: list[str], *dropped: str) -> list[str]:
    return [word for word in words if word not in dropped]


Weaken = Callable[[pytest.MonkeyPatch, Path], None]


def shared_net(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    whole = layout.namespaces()
    patch.setattr(layout, "namespaces", lambda: without(whole, "--unshare-net"))


def shared_processes(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    whole = layout.namespaces()
    patch.setattr(layout, "namespaces", lambda: without(whole, "--unshare-pid"))


def shown_folder(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """The probes' own folder lies in the temporary folder: show that, writable."""
    whole = layout.shown
    top = str(Path(tempfile.gettempdir()).resolve())
    patch.setattr(layout, "shown", lambda room: ["--bind", top, top, *whole(room)])
    whole_closing = layout.closing

    def closing(room: Room, tools: layout.Tools) -> list[str]:
        return [
            w.replace('"writable":[', f'"writable":["{top}",') for w in whole_closing(room, tools)
        ]

    patch.setattr(layout, "closing", closing)


def kept_environment(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    whole = layout.variables
    patch.setattr(
        layout, "variables", lambda room, tools: without(whole(room, tools), "--clearenv")
    )
    from remit.isolation import cell

    clean = 'exec "$empty" -i "$program"'
    assert cell.DOOR.count(clean) == 1
    patch.setattr(cell, "DOOR", cell.DOOR.replace(clean, 'exec "$program"'))
    prefix = cell.BubblewrapCell.prefix
    patch.setattr(cell.BubblewrapCell, "prefix", lambda self: prefix(self)[2:])


def no_landlock(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    _edit(patch, tmp, "landlock(writable)", "pass")


def both_gone(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """Landlock holds what these walls hold, so it has to go with them."""
    shared_net(patch, tmp)
    writable_proc(patch, tmp)
    no_landlock(patch, tmp)


def no_filter(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    _edit(patch, tmp, "filter_calls()\n        if", "pass\n        if")


def all_powers(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """All capabilities in the cell's own user namespace, and neither filter nor Landlock."""
    names, rest = layout.namespaces(), layout.powers()
    patch.setattr(layout, "namespaces", lambda: without(names, "--disable-userns"))
    kept = ["--cap-add" if word == "--cap-drop" else word for word in rest]
    patch.setattr(layout, "powers", lambda: kept)
    no_landlock(patch, tmp)
    _edit(patch, tmp, "filter_calls()\n        if", "pass\n        if")


def no_limits(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    _edit(patch, tmp, "limit(*limits)", "pass")
    patch.setattr(groups, "make", lambda limits: groups.Groups())


def big_scratch(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    whole = layout.scratch

    def scratch(room: Room) -> list[str]:
        return [w if w != str(room.limits.scratch_bytes) else str(1 << 30) for w in whole(room)]

    patch.setattr(layout, "scratch", scratch)


def writable_proc(patch: pytest.MonkeyPatch, _tmp: Path) -> None:
    whole = layout.arguments

    def arguments(*given: Any) -> list[str]:
        said = whole(*given)
        at = said.index("/proc", said.index("--remount-ro"))
        return said[: at - 1] + said[at + 1 :]

    patch.setattr(layout, "arguments", arguments)


def _edit(patch: pytest.MonkeyPatch, tmp: Path, old: str, new: str) -> None:
    """A copy of the programs that close the cell, with one step taken out."""
    from remit.isolation import cell

    folder = tmp / f"inside-{len(old)}"
    folder.mkdir()
    for path in cell.PROGRAMS.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    text = (folder / "launch.py").read_text()
    assert text.count(old) == 1
    (folder / "launch.py").write_text(text.replace(old, new))
    patch.setattr(cell, "PROGRAMS", folder)


@dataclass(frozen=True)
class Fault:
    weaken: Weaken
    red: tuple[str, ...]
    part: str = ""


FAULTS = [
    Fault(shared_net, ("tcp", "dns")),
    Fault(shared_processes, ("process",)),
    Fault(shown_folder, ("write-outside", "git-hook", "secret", "unix-socket")),
    Fault(kept_environment, ("environment",)),
    Fault(no_landlock, ("landlock",), "landlock"),
    Fault(no_filter, ("seccomp", "kernel-socket"), "seccomp"),
    Fault(all_powers, ("powers", "remount")),
    Fault(no_limits, ("process-limit", "room-limit")),
    Fault(big_scratch, ("room-limit",)),
    Fault(both_gone, ("abstract-socket", "machine-settings")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.weaken.__name__)
def test_a_weak_cell_is_found(
    fault: Fault, cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if fault.part and not probes.kernel_has(fault.part):
        pytest.skip(f"this kernel has no {fault.part}, so there is nothing to take out")
    fault.weaken(monkeypatch, tmp_path)
    found = cells().probe()
    red = {probe.name for probe in found if probe.result is Result.FAIL}
    assert set(fault.red) <= red, found
    assert refused(found)


def test_what_goes_away_while_sockets_are_looked_for_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        monkeypatch.chdir(tmp_path)
        there.bind("s")
        (tmp_path / "plain").touch()
        monkeypatch.setattr(
            os, "walk", lambda top: [(top, [], ["gone", "plain", "s"]), (f"{top}/gone", [], ["s"])]
        )
        assert escapes._found(stat.S_ISSOCK, str(tmp_path)) == [str(tmp_path / "s")]


def test_a_trap_that_was_touched_counts_whatever_the_guest_says(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared_net(monkeypatch, tmp_path)
    held = {name: {"out": False, "evidence": "held"} for name in escapes.TRIES}
    monkeypatch.setattr(probes, "_answers", lambda _stdout: held)
    # The try stops at the interfaces that it sees; let it go on to the listener.
    _edit_try(monkeypatch, tmp_path)
    found = by_name(cells().probe())
    assert found["tcp"].result is Result.FAIL
    assert "reached" in found["tcp"].evidence
    assert found["remount"].result is Result.PASS


def _edit_try(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    from remit.isolation import cell

    folder = tmp / "inside-tries"
    folder.mkdir()
    for path in cell.PROGRAMS.glob("*.py"):
        text = path.read_text().replace('if names != ["lo"]:', "if not names:")
        (folder / path.name).write_text(text)
    patch.setattr(cell, "PROGRAMS", folder)


def test_the_try_of_the_terminal_can_get_out(tmp_path: Path) -> None:
    """In no cell, on a terminal of its own: the try that is held in cells gets out here."""
    script = f"""
import fcntl, sys, termios
sys.path.insert(0, {str(Path(escapes.__file__).parent)!r})
import escapes
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
try:
    escapes.type_into_terminal({{}})
except escapes.Out as out:
    sys.stderr.write(f"out: {{out}}")
"""
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-c", script]
    done = subprocess.run(
        argv, stdin=theirs, capture_output=True, text=True, start_new_session=True, cwd=tmp_path
    )
    os.close(ours)
    os.close(theirs)
    assert "out: the terminal of the host can be opened" in done.stderr


def test_a_cell_that_cannot_be_built_is_blocked(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "namespaces", lambda: ["--no-such-option"])
    found = cells().probe()
    assert [probe.result for probe in found] == [Result.BLOCKED]
    assert refused(found) == found
    assert "no-such-option" in found[0].evidence
    assert found[0].hint


def test_a_probe_that_cannot_lay_its_traps_is_blocked(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cell = cells()
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert [(probe.name, probe.result) for probe in cell.probe()] == [("cell", Result.BLOCKED)]


def test_a_try_without_an_answer_is_blocked(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(escapes.TRIES, "one-more", escapes.remount)
    found = by_name(cells().probe())
    assert found["one-more"].result is Result.BLOCKED


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{", b'{"tcp": 3}', b'{"tcp": {"out": "no"}}', b'{"tcp": {"out": 0}}']
)
def test_no_answer_of_a_guest_makes_a_probe_pass(
    answer: bytes, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = probes._answers
    monkeypatch.setattr(probes, "_answers", lambda _stdout: read(answer))
    assert by_name(cells().probe())["tcp"].result is Result.BLOCKED


def test_without_bubblewrap_there_is_no_cell(host: Host, tmp_path: Path) -> None:
    empty = BubblewrapSandbox(search=str(tmp_path))
    refusal = empty.prepare(Room("W-1.1", host.clone))
    assert isinstance(refusal, SandboxRefusal)
    assert refusal.code is SandboxCode.SANDBOX_MISSING
    assert "bubblewrap" in refusal.hint
    first = empty.examine()[0]
    assert (first.name, first.result) == ("sandbox", Result.BLOCKED)


def test_a_bubblewrap_that_others_may_write_is_refused(host: Host, tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexec true\n")
    program.chmod(0o777)
    refusal = BubblewrapSandbox(search=str(tmp_path)).prepare(Room("W-1.1", host.clone))
    assert isinstance(refusal, SandboxRefusal)
    assert "others may write" in refusal.message


def test_doctor_names_each_part(sandbox: BubblewrapSandbox) -> None:
    found = by_name(sandbox.examine())
    assert set(found) == {
        "sandbox", "user-namespaces", "landlock", "seccomp", "egress", "kingfisher",
    }  # fmt: skip
    assert found["sandbox"].result is Result.PASS, found["sandbox"].evidence


def test_limits_have_defaults_that_a_build_fits_in() -> None:
    limits = CellLimits()
    assert limits.processes > SMALL.processes
    assert limits.memory_bytes >= 1 << 30


@pytest.mark.parametrize(
    ("said", "result", "hint"),
    [
        ("bwrap: setting up uid map: Permission denied", Result.FAIL, "user"),
        ("bwrap: No permissions to create new namespace", Result.FAIL, "user"),
        ("bwrap: Unknown option --disable-userns", Result.BLOCKED, "0.8"),
        ("bwrap: execvp: Exec format error", Result.BLOCKED, "do not run"),
    ],
)
def test_doctor_says_why_there_is_no_cell(
    tmp_path: Path, said: str, result: Result, hint: str
) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    program.chmod(0o755)
    found = by_name(BubblewrapSandbox(search=str(tmp_path)).examine())
    assert found["sandbox"].result is Result.BLOCKED
    assert said in found["sandbox"].evidence
    assert found["user-namespaces"].result is result
    assert hint in found["user-namespaces"].hint


def test_the_fix_for_apparmor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _path: True)
    assert "AppArmor" in probes.restricted_hint()
    monkeypatch.setattr(Path, "exists", lambda _path: False)
    assert "max_user_namespaces" in probes.restricted_hint()
