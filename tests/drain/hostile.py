"""Programs that do what no agent should: each a few lines, run by `python hostile.py NAME … FOLDER`.

The folder tells the processes of one test from those of another.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def sleep(seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(1)


def tree(depth: int = 4) -> None:
    """Three children each, deaf, to a depth: 3 + 9 + 27 + 81 processes."""
    deaf()
    print("tree", flush=True)
    for level in range(depth):
        for _ in range(3):
            if os.fork() == 0:
                break
        else:
            break
        del level
    sleep()


def ignore() -> None:
    deaf()
    print("deaf", flush=True)
    sleep()


def stopped() -> None:
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        sleep()
    print("child is stopped", flush=True)
    sleep()


def stopped_listener() -> None:
    def hear(*_: object) -> None:
        Path("heard").touch()
        sys.exit(0)

    signal.signal(signal.SIGTERM, hear)
    Path("stopped").touch()
    os.kill(os.getpid(), signal.SIGSTOP)
    sleep()


def close() -> None:
    print("bye", flush=True)
    os.close(1)
    os.close(2)
    sleep()


def write() -> None:
    block = b"x" * 999_999 + b"\n"
    for _ in range(100):
        os.write(1, block)
    os.write(1, b"the end\n")


def one_line() -> None:
    for _ in range(50):
        os.write(1, b"y" * 1_000_000)


def silent() -> None:
    sleep()


def memory() -> None:
    """Several processes that hold more together than any may alone."""
    for _ in range(5):
        if os.fork() == 0:
            held = bytearray(60_000_000)
            held[::4096] = b"z" * len(held[::4096])
            sleep()
    sleep()


def memory_alone() -> None:
    try:
        bytearray(600_000_000)
    except MemoryError:
        print("refused", flush=True)
        sys.exit(3)


def big_file() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("big", "wb") as opened:
        try:
            for _ in range(100):
                opened.write(b"f" * 1_000_000)
        except OSError as error:
            print(error.errno, flush=True)
            sys.exit(4)


def busy() -> None:
    while True:
        pass


def bomb() -> None:
    """Doubles for two seconds at most; what is born later ends by itself."""
    until = time.monotonic() + 2
    print("bomb", flush=True)
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            os.fork()
        time.sleep(0.02)
    sleep(30)


def daemon(code: int = 0) -> None:
    """Leaves a daemon: double fork, session of its own, clean environment, no descriptors."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            os.execve(
                sys.executable, [sys.executable, __file__, "ignore_quietly", sys.argv[-1]], {}
            )
        os._exit(0)
    os.wait()
    time.sleep(0.3)
    print("left one", flush=True)
    sys.exit(code)


def ignore_quietly() -> None:
    deaf()
    sleep()


def daemon_and_stay() -> None:
    if os.fork() == 0:
        daemon()
    sleep()


def sleeper_in_session() -> None:
    """A child in a session of its own that keeps the environment."""
    subprocess.Popen(
        [sys.executable, __file__, "ignore_quietly", sys.argv[-1]], start_new_session=True, stdout=2
    )
    print("ready", flush=True)
    sleep()


def kill_parent() -> None:
    """Kills what watches it, after starting somebody else."""
    subprocess.Popen(
        [sys.executable, __file__, "ignore_quietly", sys.argv[-1]], start_new_session=True
    )
    Path("attacks").touch()
    os.kill(os.getppid(), getattr(signal, sys.argv[2]))
    sleep()


def quick() -> None:
    print("out", flush=True)
    print("err", file=sys.stderr, flush=True)
    sys.exit(7)


def echo() -> None:
    sys.stdout.buffer.write(sys.stdin.buffer.read())


def grow() -> None:
    for _ in range(20):
        with open("progress.jsonl", "ab") as opened:
            opened.write(b"{}\n")
        time.sleep(0.25)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
