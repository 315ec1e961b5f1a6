"""Starting where the system gives nothing: the reason is told by its number, and what starts is unmarked."""

from __future__ import annotations

import errno
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.drain.ground import FAST, Ground, running
from tests.ground.signals import marks

from remit.drain import renewal, supervision
from remit.drain.leftovers import records
from remit.drain.processes import StartRefused
from remit.drain.wardens import BOOT, Wardens

NO_FORK = """
import os
real, left = os.fork, [{allowed}]
def fork():
    if not left[0]:
        raise OSError({number}, 'planted')
    left[0] -= 1
    return real()
os.fork = fork
"""
NO_HANDLE = "import os\ndef no(pid): raise OSError(24, 'planted')\nos.pidfd_open = no\n"
NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))\n"
NO_PIPE = "import os\ndef no(): raise OSError(23, 'planted')\nos.pipe = no\n"


@pytest.fixture
def wardens(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Wardens]]:
    """Gives supervision wardens of a test's own, and ends their nursery with the test."""
    made: list[Wardens] = []

    def own(boot: str = BOOT) -> Wardens:
        made.append(Wardens(boot))
        monkeypatch.setattr(supervision, "WARDENS", made[-1])
        return made[-1]

    yield own
    for one in made:
        one.end()


def boot(before: str) -> str:
    """How a nursery begins in which something is planted."""
    return f"exec({before!r}); {BOOT}"


@pytest.mark.parametrize(
    ("before", "number", "what"),
    [
        (NO_FORK.format(allowed=0, number=errno.EAGAIN), errno.EAGAIN, "fork"),
        (NO_FORK.format(allowed=0, number=errno.ENOMEM), errno.ENOMEM, "fork"),
        (NO_FORK.format(allowed=1, number=errno.EAGAIN), errno.EAGAIN, "fork"),
        (NO_HANDLE, errno.EMFILE, "handle"),
        (NO_ROOM, errno.EMFILE, "descriptors"),
        (NO_PIPE, errno.ENFILE, "warden"),
    ],
)
def test_what_the_system_does_not_give_is_told_by_its_number(
    ground: Ground, wardens: Callable[..., Wardens], before: str, number: int, what: str
) -> None:
    mine = wardens(boot(before))
    for _ in range(2):  # who could not serve once still answers
        with pytest.raises(StartRefused, match=rf"\({what}\)") as caught:
            ground.start("quick")
        assert caught.value.errno == number
    assert mine._nursery is not None
    assert mine._nursery.poll() is None
    assert records(ground.folder) == []


def test_a_nursery_that_cannot_be_started_is_no_warden_that_was_killed(
    ground: Ground, wardens: Callable[..., Wardens], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "planted")

    wardens()
    with monkeypatch.context() as planted:
        planted.setattr("remit.drain.wardens.subprocess.Popen", full)
        with pytest.raises(StartRefused) as caught:
            ground.start("quick")
    assert caught.value.errno == errno.EAGAIN
    assert ground.run("quick").exit_code == 7


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Let this process open so many files beyond those that it has open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    at = os.open(os.devnull, os.O_RDONLY)
    os.close(at)
    resource.setrlimit(resource.RLIMIT_NOFILE, (at + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("more", [2, 5, 9])
def test_a_supervisor_without_descriptors_says_so_and_keeps_none(
    ground: Ground, wardens: Callable[..., Wardens], more: int
) -> None:
    mine = wardens()
    assert ground.run("quick").exit_code == 7
    held = len(os.listdir("/proc/self/fd"))
    with few_descriptors(more), pytest.raises(StartRefused) as caught:
        mine.fork(b"")
    assert caught.value.errno == errno.EMFILE
    assert len(os.listdir("/proc/self/fd")) == held
    assert ground.run("quick").exit_code == 7


def no_thread(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the system give no thread of this name."""
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith(name):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)


def test_without_a_thread_to_watch_it_nothing_runs(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_thread(monkeypatch, "remit-")
    with pytest.raises(StartRefused) as caught:
        ground.start("daemon_and_stay")
    assert caught.value.errno == errno.EAGAIN
    assert running(ground.folder) == []
    assert records(ground.folder) == []


def test_without_threads_to_renew_it_nobody_keeps_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    no_thread(monkeypatch, "remit-clock")
    asked: list[int] = []

    def renew() -> int:
        asked.append(1)
        return 60_000

    before = set(threading.enumerate())
    with pytest.raises(RuntimeError, match="thread"):
        renewal.Renewal(
            60_000, renewal.boot_s(), renew=renew, killed=lambda: False, stop=lambda _: None
        )
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def marked() -> Iterator[None]:
    """Block and ignore signals, as whoever starts a drain may have done."""
    ignored = (signal.SIGQUIT, signal.SIGUSR2, signal.SIGPIPE, signal.SIGRTMIN)
    before = [(number, signal.signal(number, signal.SIG_IGN)) for number in ignored]
    blocked = {signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before:
            signal.signal(number, handler)


def test_an_agent_inherits_no_signal_that_somebody_blocked_or_ignored(
    tmp_path: Path, wardens: Callable[..., Wardens]
) -> None:
    wardens()
    with marked():
        process = supervision.start(
            ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"],
            environment={"PATH": os.environ["PATH"]},
            cwd=tmp_path,
            limits=FAST,
            records=tmp_path,
            name="p",
        )
        ended = process.wait(60_000)
    assert ended is not None
    assert marks(ended.stdout.whole().decode()) == {"SigBlk": set(), "SigIgn": set()}


def test_a_program_of_the_host_inherits_no_signal_that_was_blocked(tmp_path: Path) -> None:
    from remit.machine.processes import run_bounded

    with marked():
        done = run_bounded(
            ["grep", "-E", "^SigBlk", "/proc/self/status"],
            cwd=tmp_path,
            environment={"PATH": os.environ["PATH"]},
            timeout_ms=60_000,
            output_limit_bytes=4_096,
        )
    assert marks(done.stdout.whole().decode()) == {"SigBlk": set()}
