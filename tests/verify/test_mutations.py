"""Declared mutations on real commits: applied to the shipped one, red for the declared reason."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from typing import Any

import pytest

from remit.core.checks import Result
from remit.core.gitfacts import CheckoutMade, RepositoryRefusal
from remit.core.rows import Control, Mutation, RowKind, RowReason, RowSpec, Verdict
from remit.verify import RowVerification, verifier, verify_rows

CODE = "def total(a, b):\n    return a + b\n"
CHECK = "import code42\nassert code42.total(40, 2) == 42, 'total is wrong'\n"
PATCH = """\
--- a/code42.py
+++ b/code42.py
@@ -1,2 +1,2 @@
 def total(a, b):
-    return a + b
+    return a - b
"""
ROW = RowSpec(
    RowKind.COMMAND,
    (sys.executable, "check.py"),
    control=Control.MUTATION,
    red_reason="total is wrong",
    patch=PATCH,
    timeout_ms=30_000,
)
ALL = ("**",)
PATIENCE_MS = (1_500, 15_000, 40_000)
"""How long a run may take, one after the other: on a busy machine it may not be up so soon."""


@pytest.fixture
def shipped(room: Any) -> str:
    """A commit of which the base is green as well, so that the base is no control."""
    commit: str = room.commit({"code42.py": CODE, "check.py": CHECK, "docs/x.md": "x\n"})
    return commit


def verify(room: Any, shipped: str, spec: RowSpec, scope: Any = ALL, **more: Any) -> Any:
    done = verify_rows(
        room.repository, shipped, shipped, [("V-1", spec)], room.work, scope=scope, **more
    )
    assert list(room.work.iterdir()) == []  # nothing is left behind
    if isinstance(done, RepositoryRefusal):
        return done
    assert isinstance(done[0], RowVerification)
    return done[0]


def check_of(done: RowVerification, name: str) -> Any:
    return next(c for c in done.result.checks if c.name == name)


def test_red_under_the_mutation_where_the_base_is_green(room: Any, shipped: str) -> None:
    heard: list[tuple[str, str]] = []
    done = verify(room, shipped, ROW, progress=lambda row, where: heard.append((row, where)))
    assert done.result.result is Verdict.VERIFIED, done
    assert heard == [("V-1", "shipped"), ("V-1", "mutation")]
    assert done.mutation == Mutation(True, "1 paths")
    assert check_of(done, "control-red").result is Result.PASS
    digest = hashlib.sha256(PATCH.encode()).hexdigest()
    for part in (shipped, f"patch {digest}", "total is wrong"):
        assert part.encode() in done.log
    assert (room.path / "code42.py").read_text() == CODE  # nothing of the person's was touched
    assert room.git("status", "--porcelain") == ""
    plain = replace(ROW, control=Control.BASE_RED, patch=None)
    assert verify(room, shipped, plain).result.reason is RowReason.CONTROL_GREEN


def test_a_mutation_that_nothing_notices_is_a_green_control(room: Any, shipped: str) -> None:
    harmless = PATCH.replace("a - b", "b + a")
    done = verify(room, shipped, replace(ROW, patch=harmless))
    assert done.result.result is Verdict.SHIP_VERIFY_GAP
    assert done.result.reason is RowReason.CONTROL_GREEN


def test_red_for_another_reason_is_no_control(room: Any, shipped: str) -> None:
    broken = PATCH.replace("a - b", "a +")
    done = verify(room, shipped, replace(ROW, patch=broken))
    assert done.result.reason is RowReason.CONTROL_REASON_ABSENT


MISFITS = {
    "stale context": PATCH.replace("def total(a, b)", "def total(a, c)"),
    "no such file": PATCH.replace("code42.py", "code43.py"),
    "no patch at all": "total is wrong\n",
    "cut short": PATCH[: PATCH.index("+    return")],
    "half applies": PATCH + "--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-x\n+y\n",
    "out of the tree": "--- /dev/null\n+++ b/../out.py\n@@ -0,0 +1 @@\n+x\n",
    "git's own": "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n",
    "behind a link": (
        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n"
        "@@ -0,0 +1 @@\n+..\n\\ No newline at end of file\n"
        "diff --git a/link/out b/link/out\nnew file mode 100644\n--- /dev/null\n+++ b/link/out\n"
        "@@ -0,0 +1 @@\n+x\n"
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_patch_that_does_not_apply_is_no_control_and_runs_nothing(
    room: Any, shipped: str, name: str
) -> None:
    done = verify(room, shipped, replace(ROW, patch=MISFITS[name]))
    assert done.result.result is Verdict.SHIP_VERIFY_GAP
    assert done.result.reason is RowReason.CONTROL_INVALID
    check = check_of(done, "mutation-applies")
    assert (check.result, check.reason) == (Result.BLOCKED, RowReason.CONTROL_INVALID)
    assert done.control is None
    assert "control-red" not in {c.name for c in done.result.checks}
    assert b"not run: " in done.log
    assert not list(room.work.rglob("out"))


def test_a_patch_that_changes_nothing_is_no_control(room: Any, shipped: str) -> None:
    room.commit({"code42.py": CODE + "\n"})
    same = "diff --git a/check.py b/moved.py\nsimilarity index 100%\nrename from check.py\nrename to moved.py\n"
    back = "diff --git a/moved.py b/check.py\nsimilarity index 100%\nrename from moved.py\nrename to check.py\n"
    done = verify(room, shipped, replace(ROW, patch=same + back))
    assert check_of(done, "mutation-applies").result is Result.BLOCKED, done.log


def test_a_mutation_keeps_to_the_scope_of_the_item_and_of_the_row(room: Any, shipped: str) -> None:
    docs = ("docs/**",)
    for spec, scope in ((ROW, docs), (ROW, ()), (replace(ROW, scope=docs), ALL)):
        done = verify(room, shipped, spec, scope)
        check = check_of(done, "mutation-in-scope")
        assert (check.result, check.observed) == (Result.BLOCKED, "code42.py")
        assert done.control is None
        assert b"out of scope: code42.py" in done.log
    assert verify(room, shipped, ROW, ("code42.py",)).result.result is Verdict.VERIFIED


def test_a_rename_out_of_scope_is_seen_from_both_ends(room: Any, shipped: str) -> None:
    away = "diff --git a/check.py b/docs/check.py\nsimilarity index 100%\nrename from check.py\nrename to docs/check.py\n"
    done = verify(room, shipped, replace(ROW, patch=away), ("docs/**",))
    assert check_of(done, "mutation-in-scope").observed == "check.py"


def test_a_mutation_may_lie_in_the_repository_under_its_registered_digest(room: Any) -> None:
    files = {"code42.py": CODE, "check.py": CHECK, "mutations/minus.patch": PATCH}
    shipped = room.commit(files)
    digest = hashlib.sha256(PATCH.encode()).hexdigest()
    spec = replace(ROW, patch=None, patch_path="mutations/minus.patch", patch_digest=digest)
    assert verify(room, shipped, spec).result.result is Verdict.VERIFIED
    other = verify(room, shipped, replace(spec, patch_digest="0" * 64))
    assert other.result.reason is RowReason.CONTROL_INVALID
    assert digest in check_of(other, "mutation-applies").observed
    for path in ("mutations/gone.patch", "mutations"):
        gone = verify(room, shipped, replace(spec, patch_path=path))
        assert "is no file" in check_of(gone, "mutation-applies").observed
    (room.path / "mutations/link.patch").symlink_to("minus.patch")
    linked = room.commit({})
    done = verify(room, linked, replace(spec, patch_path="mutations/link.patch"))
    assert "is no file" in check_of(done, "mutation-applies").observed
    large = room.commit({"mutations/minus.patch": PATCH + "#" * 1_048_576})
    done = verify(room, large, spec)
    assert "at most 1048576" in check_of(done, "mutation-applies").observed


def test_a_mutation_that_never_ends_is_no_answer(room: Any, shipped: str) -> None:
    endless = PATCH.replace("return a - b", "import time; time.sleep(90)")
    done: Any = None
    for timeout_ms in PATIENCE_MS:
        done = verify(room, shipped, replace(ROW, patch=endless, timeout_ms=timeout_ms))
        if done.result.reason is RowReason.CONTROL_INVALID:
            assert check_of(done, "control-red").result is Result.BLOCKED
            return
    raise AssertionError(f"the mutation was never looked at: {done}")


def test_a_check_of_mutations_that_looks_away_would_be_noticed(
    room: Any, shipped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault planted: whatever does not apply is run as it is, where a bad patch is never red."""

    def applied(self: Any, made: CheckoutMade, patch: bytes, scopes: Any) -> Mutation:
        return Mutation(applied=True, found="1 paths")

    monkeypatch.setattr(type(room.repository), "apply_mutation", applied)
    done = verify(room, shipped, replace(ROW, patch=MISFITS["stale context"]))
    assert done.result.reason is RowReason.CONTROL_GREEN


ANSWERS = {
    "g": True, "r": True, "t": False, "gg": True, "gt": False, "rt": True, "tr": True, "gr": True,
}  # fmt: skip
"""What runs say together: green, red, or a time-out, which is no answer."""


@pytest.mark.parametrize("runs", ANSWERS)
def test_what_several_runs_answer_together(
    room: Any, shipped: str, runs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A red run beside one that came to nothing is an answer, and stays one."""
    room.commit({"check.py": CHECK + "#\n"})
    script, spoke = room.path.parent / "turn", room.path.parent / "spoke"
    code = (
        f"import time,sys\np={str(script)!r}\nt=open(p).read()\nopen(p,'w').write(t[1:])\n"
        "if t[:1] == 't': time.sleep(90)\n"
        f"open({str(spoke)!r},'a').write(t[:1])\nsys.exit(t[:1] == 'r')\n"
    )
    at = room.commit({"check.py": code})
    monkeypatch.setattr(
        verifier, "_on_base", lambda place, spec: verifier._Controlled(None, None, b"")
    )
    done: Any = None
    for timeout_ms in PATIENCE_MS:
        script.write_text(runs)
        spoke.write_text("")
        spec = RowSpec(RowKind.COMMAND, (sys.executable, "check.py"), timeout_ms=timeout_ms)
        done = verify(room, at, spec, repeats=len(runs))
        if spoke.read_text() == runs.replace("t", ""):
            break
    else:
        raise AssertionError(f"whoever was to answer did not: {done}")
    assert done.answered is ANSWERS[runs]
    if "g" in runs and "r" in runs:
        assert done.result.result is Verdict.CONTRADICTED
