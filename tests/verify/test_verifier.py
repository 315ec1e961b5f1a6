"""Rows verified on real commits: the shipped one, and the base as control."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.core.checks import Result
from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.core.rows import Control, RowKind, RowReason, RowSpec, Verdict
from remit.verify import RowVerification, verify_artifacts, verify_rows

CHECK = RowSpec(RowKind.COMMAND, (sys.executable, "-I", "check.py"), timeout_ms=30_000)
ASKS = "import sys\nsys.exit('total is wrong' if open('total').read() != '42' else 0)\n"


@pytest.fixture
def commits(room: Any) -> tuple[str, str]:
    base = room.commit({"check.py": ASKS, "total": "41"})
    return base, room.commit({"total": "42"})


def verify(room: Any, base: str, shipped: str, *specs: RowSpec, **more: Any) -> Any:
    rows = [(f"R-{number}", spec) for number, spec in enumerate(specs)]
    done = verify_rows(room.repository, shipped, base, rows, room.work, **more)
    assert list(room.work.iterdir()) == []  # nothing is left behind
    return done


def only(done: Any) -> RowVerification:
    assert len(done) == 1
    assert isinstance(done[0], RowVerification)
    return done[0]


def test_green_at_the_shipped_commit_red_at_the_base(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    heard: list[tuple[str, str]] = []
    spec = replace(CHECK, red_reason="total is wrong", scope=("total",), artifacts=("total",))
    done = only(
        verify(room, base, shipped, spec, progress=lambda row, where: heard.append((row, where)))
    )
    assert done.result.result is Verdict.VERIFIED, done
    assert done.row_id == "R-0"
    assert heard == [("R-0", "shipped"), ("R-0", "base")]
    assert {"within-scope", "artifacts-changed"} <= {c.name for c in done.result.checks}
    for part in (shipped, base, "total is wrong", "exit: 1", "check.py"):
        assert part.encode() in done.log


def test_uncommitted_work_of_the_person_plays_no_part(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    (room.path / "total").write_text("0")
    assert only(verify(room, base, shipped, CHECK)).result.result is Verdict.VERIFIED


def test_a_green_base_is_a_gap(room: Any, commits: tuple[str, str]) -> None:
    _, shipped = commits
    later = room.commit({"other": "x"})
    done = only(verify(room, shipped, later, CHECK))
    assert done.result.result is Verdict.SHIP_VERIFY_GAP
    assert done.result.reason is RowReason.CONTROL_GREEN


def test_red_at_the_shipped_commit_is_a_gap(room: Any, commits: tuple[str, str]) -> None:
    base, _ = commits
    worse = room.commit({"total": "43"})
    assert only(verify(room, base, worse, CHECK)).result.reason is RowReason.EXIT_UNEXPECTED


def test_the_wrong_red_is_a_gap(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    done = only(verify(room, base, shipped, replace(CHECK, red_reason="another reason")))
    assert done.result.reason is RowReason.CONTROL_REASON_ABSENT


def test_a_command_missing_at_the_base_is_no_control(room: Any) -> None:
    base = room.commit({"a": "a"})
    shipped = room.commit({"run": "#!/bin/sh\nexit 0\n"})
    (room.path / "run").chmod(0o755)
    shipped = room.commit({})
    done = only(verify(room, base, shipped, RowSpec(RowKind.COMMAND, ("./run",))))
    assert done.result.reason is RowReason.CONTROL_INVALID


def test_a_check_that_the_change_adds_is_red_at_the_base_for_want_of_it(room: Any) -> None:
    base = room.commit({"total": "41"})
    shipped = room.commit({"check.py": ASKS, "total": "42"})
    done = only(verify(room, base, shipped, CHECK))
    assert done.result.result is Verdict.VERIFIED
    control = next(c for c in done.result.checks if c.name == "control-red")
    assert control.observed == "EXITED 2"


def test_a_timeout_is_a_gap(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    slow = replace(CHECK, argv=("sleep", "60"), timeout_ms=100)
    assert only(verify(room, base, shipped, slow)).result.reason is RowReason.TIMED_OUT


@pytest.mark.parametrize("control", [Control.BASE_RED, Control.MUTATION])
def test_a_run_that_was_killed_says_nothing_and_is_run_again(
    control: Control, room: Any, commits: tuple[str, str], tmp_path: Path
) -> None:
    base, shipped = commits
    count = tmp_path / "count"
    script = (
        f'echo x >> "{count}"; [ $(($(wc -l < "{count}") % 3)) = 0 ] || kill -9 $$;'
        f' exec "{sys.executable}" -I check.py'
    )
    patch = "--- a/total\n+++ b/total\n@@ -1 +1 @@\n-42\n\\ No newline at end of file\n+41\n"
    spec = replace(CHECK, argv=("sh", "-c", script), control=control)
    if control is Control.MUTATION:
        spec = replace(spec, patch=patch, red_reason="total is wrong", scope=("total",))
    done = only(verify(room, base, shipped, spec, scope=("total",)))
    assert done.result.result is Verdict.VERIFIED, done
    assert count.read_text() == "x\n" * 6
    assert b"2 runs before this one were killed" in done.log


def test_who_is_killed_each_time_is_not_verified(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    dies = replace(CHECK, argv=("sh", "-c", "kill -9 $$"))
    assert only(verify(room, base, shipped, dies)).result.reason is RowReason.EXIT_UNEXPECTED
    only_there = "grep -qx 42 total || kill -9 $$"
    red = replace(CHECK, argv=("sh", "-c", only_there))
    assert only(verify(room, base, shipped, red)).result.reason is RowReason.CONTROL_INVALID


def test_scope_and_artifacts_of_a_row_are_checked(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    narrow = replace(CHECK, scope=("src",))
    expects = replace(CHECK, artifacts=("docs/x.md",))
    first, second = verify(room, base, shipped, narrow, expects)
    assert first.result.reason is RowReason.OUT_OF_SCOPE
    assert second.result.reason is RowReason.ARTIFACT_MISSING


REPORTS = (
    "import sys\nok = open('total').read() == '42'\n"
    "open('j.xml', 'w').write('<testsuite>' + {case!r} + '</testsuite>')\nsys.exit(not ok)\n"
)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("<testcase/>", RowReason.ALL_CHECKS_PASSED),
        ("<testcase><skipped/></testcase>", RowReason.CHECKS_SKIPPED),
        ("<testcase/><testcase><skipped/></testcase>", RowReason.CHECKS_SKIPPED),
        ("", RowReason.NOTHING_EXECUTED),
        ("<testcase><failure/></testcase>", RowReason.CHECKS_FAILED),
        ("<testcase>", RowReason.JUNIT_UNREADABLE),
    ],
)
def test_reports(room: Any, case: str, reason: RowReason) -> None:
    code = REPORTS.format(case=case)
    base = room.commit({"check.py": code, "total": "41"})
    shipped = room.commit({"total": "42"})
    done = only(verify(room, base, shipped, replace(CHECK, junit="j.xml")))
    assert done.result.reason is reason


def test_a_committed_report_is_not_believed(room: Any) -> None:
    report = "<testsuite><testcase/></testsuite>"
    base = room.commit({"check.py": ASKS, "total": "41", "j.xml": report})
    shipped = room.commit({"total": "42"})
    done = only(verify(room, base, shipped, replace(CHECK, junit="j.xml")))
    assert done.result.reason is RowReason.JUNIT_ABSENT


def test_rows_do_not_meet_each_others_traces(room: Any) -> None:
    code = (
        "import os,sys\nseen = os.path.exists('trace') or os.path.exists('.git/trace')\n"
        "open('trace','w').close()\nopen('.git/trace','w').close()\n"
        "sys.exit(seen or open('total').read() != '42')\n"
    )
    base = room.commit({"check.py": code, "total": "41"})
    shipped = room.commit({"total": "42"})
    done = verify(room, base, shipped, CHECK, CHECK, repeats=2)
    assert [row.result.result for row in done] == [Verdict.VERIFIED] * 2


def test_two_answers_on_one_commit_are_contradicted(room: Any, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    code = (
        f"import os,sys\nflag = {str(flag)!r}\nonce = os.path.exists(flag)\n"
        "open(flag,'w').close()\nsys.exit(once)\n"
    )
    base = room.commit({"check.py": code, "total": "41"})
    shipped = room.commit({"total": "42"})
    done = only(verify(room, base, shipped, CHECK, repeats=2))
    assert done.result.result is Verdict.CONTRADICTED
    assert len(done.shipped) == 2
    with pytest.raises(ValueError, match="repeats 0"):
        verify(room, base, shipped, CHECK, repeats=0)


def test_rubric_and_faulty_rows_run_nothing(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    rubric = RowSpec(RowKind.RUBRIC, rubric="kind?", control=Control.NONE)
    faulty = replace(CHECK, timeout_ms=0)
    heard: list[str] = []
    first, second = verify(
        room, base, shipped, rubric, faulty, progress=lambda row, where: heard.append(row)
    )
    assert first.result.result is Verdict.NOT_MACHINE_CHECKABLE
    assert second.result.reason is RowReason.ROW_INVALID
    assert heard == []


def test_a_commit_that_cannot_be_checked_out_judges_nothing(
    room: Any, commits: tuple[str, str]
) -> None:
    base, shipped = commits
    for pair in ((base, "1" * 40), ("1" * 40, shipped)):
        done = verify(room, *pair, CHECK)
        assert isinstance(done, RepositoryRefusal)
        assert done.code is RepositoryCode.COMMIT_ABSENT


def test_the_artifact_verifier(room: Any, commits: tuple[str, str]) -> None:
    base, shipped = commits
    repository = room.repository

    def reasons(*args: Any) -> tuple[Result, list[RowReason | None]]:
        verdict = verify_artifacts(repository, *args)
        return verdict.result, [c.reason for c in verdict.checks if c.reason]

    assert reasons(base, shipped, ["total"], ["total"]) == (Result.PASS, [])
    assert reasons(base, shipped, [], []) == (Result.FAIL, [RowReason.OUT_OF_SCOPE])
    missing = (Result.FAIL, [RowReason.ARTIFACT_MISSING])
    assert reasons(base, shipped, ["**"], ["check.py"]) == missing
    nothing = (Result.FAIL, [RowReason.NOTHING_CHANGED])
    assert reasons(shipped, shipped, ["**"], []) == nothing
    blocked = (Result.BLOCKED, [RowReason.DIFF_UNAVAILABLE] * 3)
    assert reasons(base, "1" * 40, ["**"], []) == blocked
