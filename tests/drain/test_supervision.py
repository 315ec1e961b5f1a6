"""Supervision against programs that misbehave: each is ended whole and in time, and nothing stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.drain.ground import BOUND_S, FAST, HOSTILE, Ground, running, until
from tests.drain.yard import strays
from tests.ground.children import Child

from remit.drain import groups, leftovers, supervision
from remit.drain.leftovers import Record, keep, records, recover
from remit.drain.limits import Limits
from remit.drain.output import Line, Lines
from remit.drain.processes import Identity, WardenLost, below, boot_id, look, send
from remit.drain.supervision import Ended, Reason
from remit.drain.warden import NOTED, Warden
from remit.drain.wardens import Wardens


def test_an_ordinary_program_is_told_as_it_was(ground: Ground) -> None:
    lines: list[tuple[str, bytes]] = []
    ended = ground.run("quick", on_line=lambda stream, line: lines.append((stream, line.data)))
    assert (ended.reason, ended.exit_code, ended.signal) == (Reason.EXITED, 7, None)
    assert (ended.strays, ended.left, ended.asked) == (0, 0, "")
    assert (ended.stdout.whole(), ended.stderr.whole()) == (b"out\n", b"err\n")
    assert sorted(lines) == [("stderr", b"err"), ("stdout", b"out")]
    assert ended.usage.cpu_ms > 0


def test_what_is_handed_in_is_read_to_its_end(ground: Ground) -> None:
    ended = ground.run("echo", stdin=b"a brief\n" * 1000)
    assert ended.stdout.whole() == b"a brief\n" * 1000
    assert ground.run("echo").stdout.whole() == b""


@pytest.mark.parametrize(
    ("argv", "cwd", "number"),
    [
        (["/no/such/program"], "", 2),
        ([str(HOSTILE)], "", 13),
        (["true"], "none", 2),
        (["true", "a\0b"], "", 22),
    ],
)
def test_what_cannot_be_started_is_an_error_and_leaves_nothing(
    tmp_path: Path, argv: list[str], cwd: str, number: int
) -> None:
    with pytest.raises(OSError, match=r"(program|cwd)") as caught:
        supervision.start(
            argv,
            environment={"PATH": os.environ["PATH"]},
            cwd=tmp_path / cwd,
            limits=FAST,
            records=tmp_path,
            name="p",
        )
    assert caught.value.errno == number
    assert records(tmp_path) == []


def test_it_has_a_session_and_an_environment_of_its_own(ground: Ground) -> None:
    speaking = threading.Event()
    process = ground.start("ignore", on_line=lambda *_: speaking.set())
    assert speaking.wait(60)
    seen = look(process.pid)
    assert seen is not None
    assert seen.session == process.pid != os.getsid(0)
    names = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    assert sorted(name.partition(b"=")[0] for name in names if name) == [
        b"PATH", b"REMIT_SUPERVISED",
    ]  # fmt: skip
    above = groups.own_group()
    if above is not None and os.access(above, os.W_OK):
        assert process.confinement[:4] == ("session", "rlimits", "warden", "cgroup")
    opened = sorted(os.listdir(f"/proc/{process.pid}/fd"))
    assert opened == ["0", "1", "2"]


@pytest.mark.parametrize("words", ["ignore", "tree", "stopped", "close", "daemon_and_stay"])
def test_stop_ends_everything_in_time(ground: Ground, words: str) -> None:
    process = ground.start(words)
    count = {"tree": 1 + 3 + 9 + 27 + 81, "stopped": 2, "daemon_and_stay": 3}.get(words, 1)
    warden = look(process.pid)
    assert warden is not None
    until(lambda: len(below(warden.parent)) >= count)
    time.sleep(0.3)
    asked = time.monotonic()
    process.stop("kill switch")
    ended = process.wait(60_000)
    assert ended is not None
    assert time.monotonic() - asked < BOUND_S
    assert (ended.reason, ended.asked, ended.left) == (Reason.STOPPED, "kill switch", 0)
    assert running(ground.folder) == []


def test_who_was_stopped_hears_that_it_is_to_end(ground: Ground) -> None:
    process = ground.start("stopped_listener")
    until((ground.folder / "stopped").exists)
    time.sleep(0.3)
    process.stop()
    ended = process.wait(60_000)
    assert ended is not None
    assert (ground.folder / "heard").exists()


def test_a_group_that_cannot_be_joined_is_done_without(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = groups.Group(ground.folder / "nowhere")
    monkeypatch.setattr(groups, "make", lambda *_: lost)
    process = ground.start("daemon")
    assert "cgroup" not in process.confinement
    ended = process.wait(60_000)
    assert ended is not None
    assert (ended.exit_code, ended.strays, ended.left) == (0, 1, 0)


def test_a_daemon_that_is_left_behind_is_ended_and_counted(ground: Ground) -> None:
    ended = ground.run("daemon")
    assert (ended.reason, ended.exit_code, ended.strays, ended.left) == (Reason.EXITED, 0, 1, 0)
    assert running(ground.folder) == []


def test_a_daemon_is_ended_without_a_control_group_too(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "own_group", lambda: None)
    process = ground.start("daemon")
    assert process.group is None
    assert process.confinement == ("session", "rlimits", "warden")
    ended = process.wait(60_000)
    assert ended is not None
    assert (ended.strays, ended.left) == (1, 0)
    assert running(ground.folder) == []


def test_endless_output_is_bounded_and_says_what_was_cut(ground: Ground) -> None:
    longest = 0

    def measure(_stream: str, line: Line) -> None:
        nonlocal longest
        longest = max(longest, len(line.data))

    ended = ground.run("write", on_line=measure)
    assert (ended.exit_code, longest) == (0, 999_999)
    kept = ended.stdout
    assert len(kept.whole()) == FAST.output_bytes
    assert len(kept.whole()) + kept.cut_bytes == 100 * 1_000_000 + 8
    assert kept.tail.endswith(b"the end\n")


def test_a_line_without_an_end_is_cut(ground: Ground) -> None:
    lines: list[Line] = []
    ended = ground.run("one_line", on_line=lambda _stream, line: lines.append(line))
    assert ended.exit_code == 0
    assert [(len(line.data), line.cut) for line in lines] == [(1 << 20, True)]


def test_silence_is_ended_and_a_growing_file_is_no_silence(ground: Ground) -> None:
    ended = ground.run("silent", limits=Limits(wall_ms=20_000, idle_ms=1_000, stop_ms=3_000))
    assert (ended.reason, ended.signal) == (Reason.IDLE, signal.SIGTERM)
    watched = (ground.folder / "progress.jsonl",)
    patient = Limits(wall_ms=60_000, idle_ms=4_000, stop_ms=3_000)
    ended = ground.run("grow", limits=patient, watch=watched)
    assert (ended.reason, ended.exit_code) == (Reason.EXITED, 0)
    assert ended.usage.wall_ms > patient.idle_ms, "it printed nothing for longer than is allowed"


def up_in_time(run: Callable[[int], Ended], up: Callable[[Ended], object]) -> Ended:
    """Run with little time; with more where the program was not up so soon, on a busy machine."""
    for wall_ms in (1_000, 10_000, 40_000):
        ended = run(wall_ms)
        assert ended.left == 0
        if up(ended):
            return ended
        assert ended.reason is Reason.WALL
    raise AssertionError("it never came up")


def test_time_is_bounded(ground: Ground) -> None:
    ended = up_in_time(
        lambda wall_ms: ground.run("ignore", limits=Limits(wall_ms=wall_ms, stop_ms=1_500)),
        lambda ended: ended.stdout.whole() == b"deaf\n",
    )
    assert (ended.reason, ended.signal) == (Reason.WALL, signal.SIGKILL)
    assert ended.usage.wall_ms >= 1_000


def test_memory_of_all_processes_is_bounded(ground: Ground) -> None:
    ended = ground.run("memory", limits=Limits(memory_bytes=250_000_000, stop_ms=1_500))
    assert ended.reason is Reason.MEMORY
    assert ended.usage.memory_peak_bytes > 250_000_000
    alone = ground.run("memory_alone", limits=Limits(memory_bytes=250_000_000, stop_ms=1_500))
    assert (alone.exit_code, alone.stdout.whole()) == (3, b"refused\n")


def test_files_and_processor_time_are_bounded(ground: Ground) -> None:
    ended = ground.run("big_file", limits=Limits(file_bytes=5_000_000, stop_ms=1_500))
    assert (ended.exit_code, (ground.folder / "big").stat().st_size) == (4, 5_000_000)
    ended = ground.run("busy", limits=Limits(cpu_ms=500, stop_ms=1_500))
    assert ended.reason is Reason.CPU


def test_a_fork_bomb_is_ended(ground: Ground) -> None:
    ended = ground.run("bomb", limits=Limits(processes=40, stop_ms=1_500))
    assert (ended.reason, ended.left) == (Reason.PROCESSES, 0)
    assert ended.usage.processes_peak > 40
    assert running(ground.folder) == []


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_program_that_attacks_its_warden_gains_nothing(ground: Ground, number: str) -> None:
    ended = up_in_time(
        lambda wall_ms: ground.run(
            "kill_parent", number, limits=Limits(wall_ms=wall_ms, stop_ms=1_500)
        ),
        lambda _: (ground.folder / "attacks").exists(),
    )
    assert ended.reason is Reason.LOST
    assert running(ground.folder) == []


def test_a_program_that_stops_its_warden_at_once_gains_nothing(tmp_path: Path) -> None:
    attack = f"touch attacks; kill -STOP $PPID; sleep 61; : {tmp_path}"

    def run(wall_ms: int) -> Ended:
        process = supervision.start(
            ["sh", "-c", attack],
            environment={"PATH": os.environ["PATH"]},
            cwd=tmp_path,
            limits=Limits(wall_ms=wall_ms, stop_ms=1_000),
            records=tmp_path,
            name="p",
        )
        ended = process.wait(60_000)
        assert ended is not None
        return ended

    try:
        ended = up_in_time(run, lambda _: (tmp_path / "attacks").exists())
    except TimeoutError:  # it was stopped before it could say that it had started anything
        assert (tmp_path / "attacks").exists()
    else:
        assert ended.reason is Reason.LOST
    assert records(tmp_path) == []
    assert strays(str(tmp_path)) == []


def test_a_warden_that_is_killed_at_its_start_is_told_from_a_program_that_cannot_be_started(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = Wardens("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.setattr("remit.drain.supervision.WARDENS", dying)
    with pytest.raises(WardenLost, match="the warden ended at once"):
        ground.start("deaf")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_nursery_that_is_killed_takes_no_agent_with_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    mine = Wardens()
    monkeypatch.setattr("remit.drain.supervision.WARDENS", mine)
    before = ground.start("daemon_and_stay")
    assert mine._nursery is not None
    mine._nursery.send_signal(number)
    mine._nursery.wait(60)
    assert before.wait(0) is None
    after = ground.run("quick")
    assert after.exit_code == 7
    before.stop()
    ended = before.wait(20_000)
    assert ended is not None
    assert (ended.reason, ended.left) == (Reason.STOPPED, 0)
    mine.end()


def test_a_nursery_ends_with_its_supervisor_and_holds_nothing_of_its_wardens(
    tmp_path: Path,
) -> None:
    child, record = killed_supervisor(tmp_path, "daemon_and_stay")
    assert record.warden is not None
    warden = look(record.warden.pid)
    assert warden is not None
    nursery = look(warden.parent)
    assert nursery is not None
    assert nursery.parent == child.process.pid
    held = [
        str(Path(f"/proc/{warden.parent}/fd/{at}").readlink())
        for at in os.listdir(f"/proc/{warden.parent}/fd")
    ]
    assert sorted(held)[:3] == ["/dev/null"] * 3
    assert [name.partition(":")[0] for name in sorted(held)[3:]] == ["socket"]
    child.kill()
    until(lambda: look(nursery.identity.pid) is None)
    until(lambda: running(tmp_path) == [], 30)
    assert all(not swept.left for swept in recover(tmp_path))


def test_orders_may_be_longer_than_a_pipe(ground: Ground) -> None:
    more = {f"V{n}": "x" * 1000 for n in range(400)}
    process = supervision.start(
        [sys.executable, str(HOSTILE), "quick", str(ground.folder)],
        environment={"PATH": os.environ["PATH"]} | more,
        cwd=ground.folder,
        limits=FAST,
        records=ground.folder,
        name="long",
    )
    ended = process.wait(60_000)
    assert ended is not None
    assert ended.exit_code == 7


def killed_at_moments(folder: Path, count: int, seed: int) -> int:
    """Kill supervisors at random moments after the first trace of a run; how many left something."""
    print("seed", seed)
    chance = random.Random(seed)
    return sum(killed_once(folder / str(number), chance) for number in range(count))


def killed_once(here: Path, chance: random.Random) -> bool:
    here.mkdir()
    above = groups.own_group()
    grouped = above is not None and os.access(above, os.W_OK)
    # Without a group, a daemon that the warden had no time to see is a known limit.
    words = "daemon_and_stay" if grouped else "sleeper_in_session"
    child = Child("tests.drain.supervising", str(here), words)
    try:
        until(lambda: list(here.iterdir()))
        time.sleep(chance.uniform(0, 0.4))
        if chance.random() < 0.5:
            seen = below(child.process.pid)
            nurseries = {one.identity.pid for one in seen if one.parent == child.process.pid}
            for one in seen:
                if one.parent in nurseries or one.identity.pid in nurseries:
                    send(one.identity, signal.SIGKILL)
    finally:
        child.kill()
    left = bool(running(here))
    group = [one.group for one in records(here)]
    assert all(not swept.left for swept in recover(here))
    until(lambda: running(here) == [])
    assert records(here) == []
    assert not any(path and Path(path).exists() for path in group)
    return left


def test_a_supervisor_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    killed_at_moments(tmp_path, 8, random.SystemRandom().randrange(1 << 30))


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_supervisor_may_be_killed_at_any_of_many_moments(tmp_path: Path) -> None:
    assert killed_at_moments(tmp_path, 150, random.SystemRandom().randrange(1 << 30)) > 10


def test_a_fault_of_who_listens_ends_the_run_and_is_handed_on(ground: Ground) -> None:
    def break_(_stream: str, _line: Line) -> None:
        raise ValueError("planted")

    ended = ground.run("ignore", on_line=break_)
    assert isinstance(ended.fault, ValueError)
    assert (ended.reason, ended.asked) == (Reason.STOPPED, "fault")


def killed_supervisor(folder: Path, *words: str) -> tuple[Child, Record]:
    child = Child("tests.drain.supervising", str(folder), *words)
    try:
        assert child.line() == "started"
        until(lambda: len(running(folder)) >= 2)
        [record] = records(folder)
    except BaseException:
        child.kill()
        raise
    return child, record


def gone(record: Record) -> bool:
    return record.warden is not None and look(record.warden.pid) is None


def test_when_the_supervisor_is_killed_its_warden_ends_all(tmp_path: Path) -> None:
    child, record = killed_supervisor(tmp_path, "daemon_and_stay")
    child.kill()
    until(lambda: running(tmp_path) == [])
    until(lambda: gone(record))
    assert [(one.name, one.ended, one.left) for one in recover(tmp_path)] == [("p", 0, 0)]
    assert records(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "grouped"),
    [("sleeper_in_session", True), ("sleeper_in_session", False), ("daemon_and_stay", False)],
)
def test_when_both_are_killed_the_next_start_ends_what_is_left(
    tmp_path: Path, words: str, grouped: bool
) -> None:
    child, record = killed_supervisor(tmp_path, words)
    until(lambda: set(running(tmp_path)) <= {one.pid for one in leftovers.noted(tmp_path, "p")})
    assert record.warden is not None
    send(record.warden, signal.SIGSTOP)
    child.kill()
    send(record.warden, signal.SIGKILL)
    until(lambda: gone(record))
    left = running(tmp_path)
    if not grouped:
        keep(tmp_path, replace(record, group=""))
    assert left, "nothing was left, so nothing is shown"
    [swept] = recover(tmp_path)
    assert (swept.ended >= len(left), swept.left) == (True, 0)
    assert running(tmp_path) == []
    assert records(tmp_path) == []
    groups.Group(Path(record.group or "none")).remove()


def test_after_a_restart_of_the_machine_there_is_nothing_to_end(tmp_path: Path) -> None:
    with innocent() as stranger:
        keep(tmp_path, Record("p", "another-boot", "t", warden=stranger, agent=stranger))
        [swept] = recover(tmp_path)
        assert (swept.ended, swept.left, swept.other_boot) == (0, 0, True)
        assert look(stranger.pid) is not None
    assert records(tmp_path) == []


def test_a_number_that_was_given_out_again_is_nobody_to_end(tmp_path: Path) -> None:
    with innocent() as stranger:
        before = Identity(stranger.pid, stranger.start - 1)
        assert not send(before, signal.SIGKILL)
        keep(tmp_path, Record("p", boot_id(), "t", warden=before, agent=before))
        [swept] = recover(tmp_path)
        assert (swept.ended, swept.left) == (0, 0)
        assert look(stranger.pid) is not None
        keep(tmp_path, Record("p", boot_id(), "t", agent=stranger))
        assert recover(tmp_path)[0].ended == 1


class innocent:  # noqa: N801  # reads as a word in a with statement
    """A process that has nothing to do with any record."""

    def __enter__(self) -> Identity:
        self.process = subprocess.Popen(["sleep", "60"])
        seen = look(self.process.pid)
        assert seen is not None
        return seen.identity

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def test_a_daemon_is_found_by_what_the_warden_saw_of_it(tmp_path: Path) -> None:
    with innocent() as stranger, innocent() as ours:
        keep(tmp_path, Record("p", boot_id(), "t"))
        lines = (
            f"{ours.pid} {ours.start}\n{stranger.pid} {stranger.start + 1}\nx y\n{stranger.pid}\n"
        )
        leftovers.seen_path(tmp_path, "p").write_text(lines)
        [swept] = recover(tmp_path)
        assert (swept.ended, swept.left) == (1, 0)
        assert look(stranger.pid) is not None
    assert list(tmp_path.iterdir()) == []


def test_what_a_warden_notes_stays_short(tmp_path: Path) -> None:
    warden = Warden({"limits": {}, "group": "", "seen": str(tmp_path / "p.seen")}, b"")
    for number in range(NOTED + 10):
        warden._note({Identity(1, 1), Identity(2, number)})
    words = (tmp_path / "p.seen").read_text().split()
    assert 4 <= len(words) < 40


def test_a_record_that_is_none_is_left_alone(tmp_path: Path) -> None:
    for data in (b"", b"{", b'{"name": 1}', b"[]"):
        (tmp_path / f"x{len(data)}{leftovers.SUFFIX}").write_bytes(data)
    assert records(tmp_path) == []


def test_a_record_that_does_not_fit_on_the_disk_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("remit.drain.leftovers.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        keep(tmp_path, Record("p", boot_id(), "t"))
    assert list(tmp_path.glob("p.*")) == []


def test_lines_are_cut_and_go_on_after_their_end() -> None:
    lines = Lines(4)
    assert lines.feed(b"ab") == []
    assert lines.feed(b"c\nlonger") == [Line(b"abc"), Line(b"long", cut=True)]
    assert lines.feed(b" still\nnext") == []
    assert lines.close() == [Line(b"next")]
    assert lines.close() == []


@pytest.mark.parametrize("wrong", [0, -1, 1 << 53])
def test_a_limit_is_a_number_above_nothing(wrong: int) -> None:
    with pytest.raises(ValueError, match="wall_ms"):
        Limits(wall_ms=wrong)
