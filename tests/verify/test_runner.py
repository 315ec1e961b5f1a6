"""Running one row: its environment and bounds, and the strays it may leave."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from remit.core.rows import JUnitState, RowKind, RowRun, RowSpec, RunEnd
from remit.verify.runner import run_row, was_killed


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def python(code: str, **more: object) -> RowSpec:
    spec = RowSpec(RowKind.COMMAND, (sys.executable, "-I", "-c", code), timeout_ms=20_000)
    return replace(spec, **more)  # type: ignore[arg-type]  # fields of a frozen spec, by name


def run(spec: RowSpec, tree: Path, **more: object) -> RowRun:
    return run_row(spec, tree, tree.parent, **more)  # type: ignore[arg-type]  # passed on by name


def gone(pid: int) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_a_bare_command_is_one_check(tree: Path) -> None:
    seen = run(python("print('hello')"), tree)
    assert (seen.end, seen.exit_code, seen.executed) == (RunEnd.EXITED, 0, 1)
    assert (seen.head, seen.junit) == (b"hello\n", JUnitState.NOT_NAMED)
    red = run(python("raise SystemExit(3)"), tree)
    assert (red.end, red.exit_code, red.executed) == (RunEnd.EXITED, 3, 1)


def test_it_runs_in_the_tree_with_both_outputs_in_order(tree: Path) -> None:
    code = (
        "import os,sys\nprint(os.getcwd(), flush=True)\nprint('err', file=sys.stderr, flush=True)"
    )
    assert run(python(code), tree).head == f"{tree}\nerr\n".encode()


def test_the_environment_is_an_allow_list(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "REMIT_TOKEN", "SSH_AUTH_SOCK", "PYTHONPATH", "GIT_DIR"):
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("HOME", "/root")
    code = (
        "import os,json; h=os.environ['HOME']; print(json.dumps([dict(os.environ), os.listdir(h)]))"
    )
    seen = run(python(code), tree, environment={"EXTRA": "1"})
    environment, home = json.loads(seen.head)
    assert "s3cret" not in environment.values()
    assert set(environment) <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "HOME",
        "TMPDIR",
        "EXTRA",
        "REMIT_ROW_RUN",
    }
    assert environment["EXTRA"] == "1"
    assert (environment["HOME"] == "/root", home) == (False, [])
    assert not Path(environment["HOME"]).exists()
    assert not Path(environment["TMPDIR"]).exists()


def test_no_input_no_core_dump_and_bounded_cpu(tree: Path) -> None:
    code = (
        "import sys,resource as r\n"
        "print(repr(sys.stdin.read()), r.getrlimit(r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_CPU)[0])"
    )
    seen = run(python(code), tree)
    bound = 20 * (os.cpu_count() or 1) + 5
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard != resource.RLIM_INFINITY:
        bound = min(bound, hard)
    assert seen.head == f"'' (0, 0) {bound}\n".encode()


def test_a_timeout_is_no_answer_and_takes_the_group_with_it(tree: Path) -> None:
    code = (
        "import signal,subprocess,time\nsignal.signal(15, signal.SIG_IGN)\n"
        "print(subprocess.Popen(['sleep','90']).pid, flush=True)\ntime.sleep(90)"
    )
    seen = run(python(code, timeout_ms=1_500), tree, grace_ms=100)
    if not seen.head:  # on a busy machine it may not be up so soon
        seen = run(python(code, timeout_ms=40_000), tree, grace_ms=100)
    assert (seen.end, seen.exit_code, seen.timed_out) == (RunEnd.TIMED_OUT, None, True)
    assert seen.executed == 0
    assert gone(int(seen.head))


@pytest.mark.parametrize("fled", [False, True])
def test_strays_are_killed_when_the_command_ends(tree: Path, fled: bool) -> None:
    code = (
        "import subprocess\n"
        f"print(subprocess.Popen(['sleep','90'], start_new_session={fled}).pid, flush=True)"
    )
    started = time.monotonic()
    seen = run(python(code), tree)
    assert (seen.end, seen.exit_code) == (RunEnd.EXITED, 0)
    assert time.monotonic() - started < 60
    assert gone(int(seen.head))


def test_output_is_bounded_and_says_what_was_cut(tree: Path) -> None:
    code = "import sys; sys.stdout.write('HEAD' + 'x' * 30_000_000 + 'TAIL')"
    seen = run(python(code, output_limit_bytes=2_000), tree)
    assert (len(seen.head), len(seen.tail)) == (1_000, 1_000)
    assert seen.cut_bytes == 30_000_008 - 2_000
    assert (seen.head[:4], seen.tail[-4:]) == (b"HEAD", b"TAIL")


def test_missing_and_forbidden_commands(tree: Path) -> None:
    (tree / "plain.sh").write_text("#!/bin/sh\n")
    for argv in (
        ("no-such-program-here",),
        ("./none",),
        ("./plain.sh",),
        ("/bin/sh", "-c", "exit 127"),
    ):
        seen = run(RowSpec(RowKind.COMMAND, argv), tree)
        assert (seen.end, seen.exit_code, seen.executed) == (RunEnd.COMMAND_MISSING, None, 0), argv


def test_a_command_ended_by_a_signal(tree: Path) -> None:
    seen = run(python("import os; os.kill(os.getpid(), 11)"), tree)
    assert (seen.end, seen.exit_code, seen.executed) == (RunEnd.SIGNALLED, -11, 0)


def test_walls_tell_a_signal_as_a_status_and_a_declared_status_is_none(tree: Path) -> None:
    """A control that was killed is no red one, though its walls say that it exited."""
    box = ("env", "BOX=yes")
    for status, told in ((137, (RunEnd.SIGNALLED, -9)), (139, (RunEnd.SIGNALLED, -11))):
        spec = python(f"raise SystemExit({status})")
        seen = run(spec, tree, prefix=box)
        assert (seen.end, seen.exit_code) == told
        assert was_killed(seen) is (status == 137)
        assert run(spec, tree).exit_code == status
        expected = run(replace(spec, expected_exit=status), tree, prefix=box)
        assert (expected.end, expected.exit_code) == (RunEnd.EXITED, status)
    for status in (1, 128, 160, 255):
        seen = run(python(f"raise SystemExit({status})"), tree, prefix=box)
        assert (seen.end, seen.exit_code) == (RunEnd.EXITED, status)


def test_a_directory_that_is_gone_is_a_failed_start(tree: Path) -> None:
    seen = run(python("pass"), tree / "gone")
    assert (seen.end, seen.exit_code) == (RunEnd.START_FAILED, None)


def test_a_prefix_is_put_before_the_command(tree: Path) -> None:
    seen = run(python("import os; print(os.environ['BOX'])"), tree, prefix=("env", "BOX=yes"))
    assert seen.head == b"yes\n"


WRITE = (
    "open('j.xml','w').write('<testsuite><testcase/><testcase><skipped/></testcase></testsuite>')"
)


def test_a_report_is_read_after_the_run(tree: Path) -> None:
    seen = run(python(WRITE, junit="j.xml"), tree)
    assert (seen.junit, seen.executed, seen.skipped, seen.failures) == (JUnitState.PARSED, 1, 1, 0)


def test_a_report_that_was_there_before_does_not_count(tree: Path) -> None:
    (tree / "j.xml").write_text("<testsuite><testcase/></testsuite>")
    seen = run(python("pass", junit="j.xml"), tree)
    assert (seen.junit, seen.executed) == (JUnitState.ABSENT, 0)


def test_a_report_path_that_leads_out_of_the_tree_is_neither_removed_nor_read(tree: Path) -> None:
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "j.xml").write_text("<testsuite><testcase/></testsuite>")
    (tree / "out").symlink_to(outside)
    seen = run(python("pass", junit="out/j.xml"), tree)
    assert (seen.end, seen.junit) == (RunEnd.START_FAILED, JUnitState.UNREADABLE)
    assert (outside / "j.xml").exists()
    (tree / "link.xml").symlink_to(outside / "j.xml")
    seen = run(python("pass", junit="link.xml"), tree)
    assert seen.junit is JUnitState.ABSENT
    assert (outside / "j.xml").exists()
