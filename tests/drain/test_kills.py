"""A drain that dies at each point of its way comes, after a resume, to where it would have come.

``REMIT_DRAIN_DIES_AT`` lets the process kill itself with SIGKILL right before an operation, after it, or
after its checkpoint. What is compared is the item as the ledger folds it, what is on main, and what is
left on the machine: nothing may be done twice, lost or left.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from tests.drain.yard import Yard, good, strays
from tests.surfaces.cli.calling import IDENTITY, git

from remit.drain.words import STEPS

OPERATIONS = ("leased", "cloned", "handed-in", "reviewed", "integrated", "shipped", "verified")
POINTS = [
    "0/chosen:before",
    *(f"1/{step}:{at}" for step in OPERATIONS for at in ("before", "done")),
    *(f"1/{step}:noted" for step in STEPS if step not in ("chosen", "settled")),
    "1/settled:before",
    "1/settled:noted",
]
SHORT = (
    "1/leased:done", "1/started:noted", "1/ended:noted", "1/handed-in:done", "1/reviewed:done",
    "1/integrated:done", "1/verified:done",
)  # fmt: skip


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A yard with one item that is ready, to be copied."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in IDENTITY.items():
            patch.setenv(name, value)
        folder = tmp_path_factory.mktemp("yard").resolve()
        yard = Yard.make(folder)
        yard.script({"W-1": good(1)})
    return folder


def copied(ready: Path, target: Path) -> Yard:
    """The same yard somewhere else; paths in it are those of the copy."""
    from tests.surfaces.cli.calling import Cli

    shutil.copytree(ready, target, symlinks=True)
    work = target / "work"
    git(work, "remote", "set-url", "origin", str(target / "origin.git"))
    agent = work / ".remit/agents/judge.yaml"
    agent.write_text(agent.read_text().replace(str(ready), str(target)))
    return Yard(Cli(work), target)


def standing(yard: Yard) -> dict[str, Any]:
    """What must be the same: the item, main's tree and length, and that nothing is left."""
    shown = yard.show("W-1")
    git(yard.cli.cwd, "fetch", "-q", "origin")
    return {
        "status": shown["status"],
        "lease": shown["lease"],
        "attempt": shown["attempt"],
        "results": [row["result"] for row in shown["results"]],
        "tree": git(yard.cli.cwd, "rev-parse", "origin/main^{tree}"),
        "commits": git(yard.cli.cwd, "rev-list", "--count", "origin/main"),
        "pushes": len([e for e in shown["history"] if e["type"] == "ShipObserved"]),
        "left": yard.left(),
        "strays": strays(str(yard.folder)),
    }


@pytest.fixture(scope="module")
def undisturbed(ready: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    yard = copied(ready, tmp_path_factory.mktemp("calm").resolve() / "yard")
    yard.call(*yard.arguments())
    found = standing(yard)
    assert (found["status"], found["left"], found["strays"]) == ("verified", [], [])
    return found


def dies_and_resumes(ready: Path, folder: Path, *points: str) -> dict[str, Any]:
    """A drain that dies at the first point, and again at each other one that its resumes come to."""
    yard = copied(ready, folder.resolve() / "yard")
    first, *others = (f"RUN-1/W-1/{point}" for point in points)
    assert yard.dies(first, *yard.arguments())
    for other in others:
        if not yard.dies(other, "run", "resume", "RUN-1"):
            return standing(yard)
    yard.call("run", "resume", "RUN-1")
    return standing(yard)


@pytest.mark.parametrize("point", SHORT)
def test_a_drain_that_is_killed_is_resumed(
    point: str, ready: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    assert dies_and_resumes(ready, tmp_path, point) == undisturbed


@pytest.mark.torture
@pytest.mark.parametrize("point", [point for point in POINTS if point not in SHORT])
def test_a_drain_that_is_killed_at_any_point_is_resumed(
    point: str, ready: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    assert dies_and_resumes(ready, tmp_path, point) == undisturbed


@pytest.mark.torture
@pytest.mark.parametrize("first", POINTS)
def test_a_drain_that_is_killed_twice_is_resumed(
    first: str, ready: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    for place, second in enumerate(POINTS[1:]):
        folder = tmp_path / str(place)
        folder.mkdir()
        assert dies_and_resumes(ready, folder, first, second) == undisturbed, second
        shutil.rmtree(folder)


ROUNDS = 8
"""How often a drain may come to its end before anybody looked at the right moment."""


def killed_while(yard: Yard, temporary: Path, held: str) -> bool:
    """Kill a drain that holds this among temporary files; False where it came to its end unseen."""
    process = yard.start(*yard.arguments(), TMPDIR=str(temporary))
    until = time.monotonic() + 120
    while True:
        process.send_signal(signal.SIGSTOP)  # what is seen now is there when the kill comes
        if list(temporary.glob(f"remit-cell-*/{held}")):
            break
        process.send_signal(signal.SIGCONT)
        if process.poll() is not None:
            _, err = process.communicate()
            assert process.returncode == 0, err[-3000:]
            return False
        assert time.monotonic() < until
        time.sleep(0.005)
    process.kill()
    process.communicate()
    return True


@pytest.mark.timeout(300)
@pytest.mark.parametrize("held", ["changes", "traps"])
def test_a_kill_leaves_no_scan_and_no_trap_among_temporary_files(
    held: str, ready: Path, tmp_path: Path
) -> None:
    """What a guest wrote lies there for the time of a scan; the next cell clears it away."""
    with tempfile.TemporaryDirectory(prefix="rk-") as name:  # short, for sockets lie in it
        temporary = Path(name).resolve()
        yards = (copied(ready, tmp_path / f"yard-{n}") for n in range(ROUNDS))
        yard = next(yard for yard in yards if killed_while(yard, temporary, held))
        assert list(temporary.glob(f"remit-cell-*/{held}"))
        yard.call("run", "resume", "RUN-1", TMPDIR=str(temporary))
        assert yard.show("W-1")["status"] == "verified"
        left = [path.name for path in temporary.iterdir() if path.name.startswith("remit-cell-")]
        assert left == []
