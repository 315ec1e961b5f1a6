"""Running a program within bounds: what is kept, what is killed, and that nothing hangs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from remit.machine.processes import Finished, run_bounded


def run(code: str, tmp_path: Path, **more: object) -> Finished:
    settings: dict[str, object] = {
        "cwd": tmp_path,
        "environment": {"PATH": os.environ["PATH"]},
        "timeout_ms": 20_000,
        "output_limit_bytes": 1_000,
    }
    return run_bounded([sys.executable, "-I", "-c", code], **{**settings, **more})  # type: ignore[arg-type]  # settings are a plain mapping here


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def dies(pid: int) -> bool:
    end = time.monotonic() + 60
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def test_exit_status_and_outputs(tmp_path: Path) -> None:
    done = run("import sys; print('o'); print('e', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (done.exit_code, done.timed_out) == (3, False)
    assert (done.stdout.whole(), done.stderr.whole()) == (b"o\n", b"e\n")
    assert done.duration_ms >= 0


def test_outputs_can_be_merged_and_input_given(tmp_path: Path) -> None:
    code = "import sys; d=sys.stdin.read(); print(len(d), flush=True); print(1, file=sys.stderr)"
    done = run(code, tmp_path, merge_stderr=True, stdin=b"x" * 200_000)
    assert done.stdout.whole() == b"200000\n1\n"
    assert run("import sys; print(repr(sys.stdin.read()))", tmp_path).stdout.head == b"''\n"


@pytest.mark.parametrize("size", [0, 1, 999, 1_000, 1_001, 70_000, 5_000_000])
def test_output_keeps_head_and_tail_and_counts_the_rest(tmp_path: Path, size: int) -> None:
    done = run(f"import sys; sys.stdout.write('a'*{size} + 'END')", tmp_path)
    kept = done.stdout.head, done.stdout.tail
    assert sum(map(len, kept)) + done.stdout.cut_bytes == size + 3
    assert sum(map(len, kept)) == min(size + 3, 1_000)
    assert done.stdout.whole().endswith(b"END")


def test_a_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = "import signal,time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    code += "; time.sleep(90)"
    done = run(code, tmp_path, timeout_ms=1_500, grace_ms=100)
    assert done.duration_ms >= 1_500
    if not done.stdout.head:  # on a busy machine it may not be up so soon
        done = run(code, tmp_path, timeout_ms=40_000, grace_ms=100)
    assert done.timed_out
    assert done.duration_ms < 90_000
    assert done.exit_code == -9
    assert done.stdout.head == b"1\n"


def test_a_background_child_does_not_outlive_the_command(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '90']).pid)"
    done = run(code, tmp_path)
    assert done.exit_code == 0
    assert done.duration_ms < 60_000
    assert dies(int(done.stdout.head))


def test_a_child_in_another_session_cannot_hold_us(tmp_path: Path) -> None:
    code = "import subprocess as s; print(s.Popen(['sleep', '90'], start_new_session=True).pid)"
    done = run(code, tmp_path)
    assert done.stdout.head.strip().isdigit()
    assert alive(int(done.stdout.head)), "it was not waited for"
    os.kill(int(done.stdout.head), 9)


def test_no_descriptor_is_inherited(tmp_path: Path) -> None:
    with open(tmp_path / "secret", "w") as file:
        os.set_inheritable(file.fileno(), True)
        done = run(f"import os; os.fstat({file.fileno()})", tmp_path)
    assert done.exit_code == 1
    assert b"Bad file descriptor" in done.stderr.whole()


def test_a_program_that_cannot_start_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_bounded(
            [str(tmp_path / "none")],
            cwd=tmp_path,
            environment={},
            timeout_ms=1_000,
            output_limit_bytes=10,
        )
