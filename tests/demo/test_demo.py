"""The demo, played once for real in a hostile environment, and looked at afterwards.

Whoever plays it here has a HOME that cannot be used, a global git configuration that breaks every
commit, variables that point git elsewhere, and no identity. One play serves all tests, also where
they run in several processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.core.authority_events import ActSigned
from remit.core.decision_events import DecisionConsumed
from remit.core.evolve import evolve
from remit.core.item_events import (
    CompletionReported,
    LateReportRecorded,
    LeaseExpired,
    LeaseGranted,
    ReviewApproved,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.plan_events import PlanClosed
from remit.demo import plan
from remit.demo.bundle import bundle
from remit.demo.checks import Found, exit_status, judge
from remit.demo.draining import ALIAS, Drained
from remit.demo.governing import PLANNER, Governed, Governing
from remit.demo.main import gather
from remit.demo.play import Cast, Witness
from remit.demo.room import Room, wearing
from remit.demo.stage import Imported, bring_backlog, confirm, make_ledger
from remit.demo.telling import chain, decided
from remit.service.integrity import verify
from remit.service.reading.decisions import decision
from remit.wiring import Ledger, open_ledger
from remit.wiring.plans import digest, read_plan
from remit.wiring.signing import signatures

SOURCES = str(Path(remit.__file__).resolve().parents[1])


def hostile(room: Path) -> dict[str, str]:
    """The environment of somebody with the worst git set-up."""
    config = room / "hostile.gitconfig"
    config.write_text(
        "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nonexistent\n\tautocrlf = true\n"
        "[init]\n\tdefaultBranch = trunk\n[push]\n\tdefault = nothing\n[pull]\n\trebase = true\n"
        '[url "file:///nonexistent/"]\n\tinsteadOf = /\n'
    )
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
    return kept | {
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_DIR": "/nonexistent",
        "GIT_AUTHOR_NAME": "",
        "REMIT_LEDGER": "sqlite:///nonexistent/ledger.db",
        "PYTHONPATH": SOURCES,
    }


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str
    room: Room

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)["data"]
        return found


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept, room = shared / "demo-run.json", shared / "demo-room"
    with (shared / "demo-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            done = subprocess.run(
                [sys.executable, "-m", "remit.demo", "--json", "--keep", str(room)],
                env=hostile(shared),
                capture_output=True,
                text=True,
                timeout=110,
            )
            kept.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
    code, out, err = json.loads(kept.read_text())
    print(err)
    return Run(code, out, err, Room(room.resolve()))


def found_again(run: Run) -> Found:
    """What the checks look at, read once more from the kept ledger and repository."""
    data = run.data
    half = dict(data["killed"])
    witness = Witness(data["processes"], half, half.pop("exit"), data["late_report"])
    ledger = open_ledger(data["ledger"])
    try:
        with wearing(run.room.environment()):
            governed = Governed(**data["governed"])
            drained = Drained(**data["drained"])
            return gather(run.room, ledger, Imported(**data["import"]), governed, witness, drained)
    finally:
        ledger.close()


def more(demo: Run) -> int:
    """How many items a drain worked beside those of the story: one, or none without a sandbox."""
    return 1 if demo.data["drained"]["item"] else 0


def test_everything_promised_came_true(demo: Run) -> None:
    assert demo.code == 0, demo.err
    data = demo.data
    assert [c for c in data["checks"] if c["result"] != "PASS"] == []
    print(f"the demo took {data['seconds']} s")
    assert data["seconds"] < 90
    drained = {} if data["drained"]["why_not"] else {ALIAS: "verified"}
    found = {item["work_id"]: item["status"] for item in data["items"]}
    assert found == plan.EXPECTED | drained
    [undone] = [item for item in data["items"] if item["status"] == "triaged"]
    assert [record["kind"] for record in undone["triage"]] == ["verifier-gap"]
    [waiting] = [item for item in data["blocked"] if item["work_id"] == plan.WAITING]
    assert waiting["blocked_by"] == "hold UNMET_DEPENDENCY"
    assert undone["id"] in waiting["how_to_open"]


def test_story_is_told_without_steering_the_terminal(demo: Run) -> None:
    assert "is killed in the middle of" in demo.err
    assert "under the old fence" in demo.err
    assert "verifier-gap" in demo.err
    assert "Traceback" not in demo.err
    assert all(char.isprintable() or char == "\n" for char in demo.err)
    assert 20 < len(demo.err.splitlines()) < 80


def test_fences_tell_the_dead_worker_from_the_next(demo: Run) -> None:
    found = found_again(demo)
    first, second = (e.lease for _, e in found.of(LeaseGranted, plan.KILLED))
    [(_, expired)] = found.of(LeaseExpired, plan.KILLED)
    [(late, report)] = found.of(LateReportRecorded, plan.KILLED)
    [(_, completed)] = found.of(CompletionReported, plan.KILLED)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.fence < second.fence
    assert first.actor == late.actor != second.actor
    assert expired.lease.fence == report.fence == first.fence
    assert completed.lease.fence == second.fence
    assert demo.data["late_report"]["code"] == "STALE_FENCE"
    assert completed.head != report.head
    assert [e.lease.fence for _, e in found.of(LeaseGranted)] == list(range(1, 10 + more(demo)))


def test_four_actors_stand_behind_each_verified_item(demo: Run) -> None:
    found = found_again(demo)
    verified = [alias for alias, status in plan.EXPECTED.items() if status == "verified"]
    for alias in verified:
        implementers = {e.lease.actor for _, e in found.of(LeaseGranted, alias)}
        [reviewer] = {r.actor for r, _ in found.of(ReviewApproved, alias)}
        verifiers = {r.actor for r, _ in found.of(VerificationRecorded, alias)}
        assert implementers <= set(plan.AGENTS)
        assert reviewer == plan.REVIEWER
        wanted = {"remit-verifier", "owner"} if alias == plan.RULED else {"remit-verifier"}
        assert verifiers == wanted
        [(_, ship)] = found.of(ShipObserved, alias)
        assert ship.observed_commit_sha == found.items[alias]["observed_commit_sha"]


def test_commits_are_on_main_and_by_their_workers(demo: Run) -> None:
    found = found_again(demo)
    with wearing(demo.room.environment()):
        repository = Path(demo.data["repository"])
        git = ["git", "-C", str(repository), "log", "--format=%H %an", "origin/main"]
        lines = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
    authors = dict(line.split(" ", 1) for line in lines)
    for alias in plan.EXPECTED:
        for _, ship in found.of(ShipObserved, alias):
            holders = [e.lease.actor for _, e in found.of(LeaseGranted, alias)]
            assert authors[ship.observed_commit_sha] == holders[-1]
    assert len(authors) == 1 + len(found.of(ShipObserved))


def test_ledger_verifies_afterwards(demo: Run) -> None:
    ledger = open_ledger(demo.data["ledger"])
    report = verify(ledger.store, fold=evolve, signatures=signatures())
    ledger.close()
    assert report.problems == ()
    assert report.rows_compared
    assert (report.events, report.root) == (demo.data["events"], demo.data["root"])
    assert report.unproved["ReviewApproved"] == 8 + more(demo)


def test_a_human_signed_what_the_plan_rests_on(demo: Run) -> None:
    found = found_again(demo)
    decision = demo.data["decision"]
    assert (decision["state"], decision["chosen"]) == ("accepted", "remove")
    assert (decision["proposed_by"], decision["decided_by"]) == (PLANNER, plan.OWNER)
    assert decision["assurance"] == "signature"
    assert [each["label"] for each in decision["rejected_options"]] == ["clarify"]
    [(signed, act)] = found.of(ActSigned)
    assert (signed.actor, act.act, act.reach) == (plan.OWNER, "DecisionAccepted", "PASS")
    (_, consumed), *others = found.of(DecisionConsumed)
    assert [event.revision for _, event in others] == ["RUN-1"] * more(demo)
    _, closed = found.of(PlanClosed)
    assert consumed.revision == closed[1].plan_revision_id == "P-1@2"
    assert consumed.digest == closed[1].digest
    assert {r.actor for r, _ in found.of(PlanClosed)} == {PLANNER}


def test_the_plan_in_the_room_is_the_one_in_force(demo: Run) -> None:
    reading = read_plan(demo.room.plan.read_bytes())
    assert reading.problems == []
    assert reading.bundle == bundle("D-1")
    found = found_again(demo)
    assert found.of(PlanClosed)[-1][1].digest == digest(bundle("D-1"))


def test_the_end_shows_every_link(demo: Run) -> None:
    """From goal to verification result, and beside that the node and the decision."""
    found = found_again(demo)
    lines = chain(dict(found.trace)) + decided(found.node, dict(found.decision))
    told = {line.split()[0]: line for line in lines}
    wanted = {"goal", "requirement", "dependencies", "rows", "item", "lease", "review", "ship"}
    assert set(told) >= wanted | {"verify", "node", "decision"}
    assert "missing" not in "".join(lines)
    assert "G-2@" in told["goal"]
    assert told["node"].split()[1].startswith("N-")
    assert "by owner  signature" in told["decision"]
    assert "for P-1@2" in told["decision"]
    assert told["review"].endswith("unproved")


def governing(room: Room) -> tuple[Ledger, Governing, list[str]]:
    """A ledger with the backlog and the first revision of the plan, in a room of its own."""
    room.furnish()
    ledger = make_ledger(room)
    bring_backlog(room, ledger)
    confirm(ledger)
    said: list[str] = []
    found = Governing(room, ledger, said.append)
    found.first()
    return ledger, found, said


def without_keygen(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(room))


def with_a_mistyped_passphrase(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.demo.person._ASKPASS", "#!/bin/sh\necho something-else\n")


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (without_keygen, "cannot run ssh-keygen"),
        (with_a_mistyped_passphrase, "the signature does not count here: SIGNATURE_MISSING"),
    ],
)
def test_a_decision_that_nobody_can_sign_is_marked_unproved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Any, why: str
) -> None:
    ledger, found, said = governing(Room(tmp_path / "room"))
    trouble(tmp_path, monkeypatch)
    found.decide()
    assert why in found.found.unsigned
    assert f"D-1 is accepted and not signed: {found.found.unsigned}" in said
    with ledger.reading() as tx:
        record = decision(tx, "D-1")
    ledger.close()
    assert record is not None
    assert (record["state"], record["unproved"]) == ("accepted", True)
    assert found.found.revisions == ["P-1@1", "P-1@2"]


def agents_in(room: Room) -> list[str]:
    """Command lines of agents that still run in a room."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if b"remit.demo.agent" in words and os.fsencode(room.path) in words:
                found.append(os.fsdecode(b" ".join(words)))
    return found


def test_nothing_that_was_started_still_runs(demo: Run) -> None:
    assert agents_in(demo.room) == []


def test_self_check_fails_on_another_expectation(demo: Run) -> None:
    found = found_again(demo)
    assert exit_status(judge(found)) == 0
    wrong = judge(found, plan.EXPECTED | {plan.UNDONE: "verified"})
    assert [o.name for o in wrong if not o.passed] == [f"{plan.UNDONE} ends verified"]
    assert exit_status(wrong) == 6
    assert exit_status([]) == 6


def test_self_check_fails_on_another_story(demo: Run) -> None:
    found = found_again(demo)
    late = found.witness.late
    found.witness.late = late | {"code": "ACCEPTED"}
    found.witness.killed_exit = 0
    failed = {outcome.name for outcome in judge(found) if not outcome.passed}
    assert failed == {"an agent was killed by SIGKILL", "its late report was refused"}


def test_self_check_fails_where_no_human_decided(demo: Run) -> None:
    found = found_again(demo)
    found.governed.refused["accept"] = "ACCEPTED"
    found.governed.shut = []
    other = dict(found.decision) | {"decided_by": PLANNER, "consumed": []}
    failed = {
        outcome.name for outcome in judge(replace(found, decision=other)) if not outcome.passed
    }
    assert failed == {
        "what rests on it may not start",
        "no agent decides, and no key that signs by itself counts",
        "the decision is a human's, and says what proves it",
        "it names exactly the revision that consumed it",
    }


@pytest.mark.parametrize("keep", ["full", "full/precious", "/proc/nowhere"])
def test_room_that_cannot_be_used_is_refused(tmp_path: Path, keep: str) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious").write_text("mine")
    argv = [sys.executable, "-m", "remit.demo", "--json", "--keep", str(tmp_path / keep)]
    done = subprocess.run(
        argv, env=dict(os.environ) | {"PYTHONPATH": SOURCES}, capture_output=True, text=True
    )
    assert done.returncode == 2
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "BAD_INPUT"
    assert error["hint"]
    assert (full / "precious").read_text() == "mine"


@pytest.mark.timeout(300)
def test_interrupt_leaves_no_process(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    argv = [sys.executable, "-m", "remit.demo", "--keep", str(room.path), "--quiet"]
    env = dict(os.environ) | {"PYTHONPATH": SOURCES}
    playing = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 150
    while not (room.half_done.exists() and agents_in(room)) and time.monotonic() < until:
        time.sleep(0.02)
    assert room.half_done.exists()
    playing.send_signal(signal.SIGINT)
    _, err = playing.communicate(timeout=60)
    assert playing.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert agents_in(room) == []


def test_an_interrupt_right_after_a_start_ends_what_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the start of a process and the note of it nobody would know whom to end."""
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def startled(*args: Any, **more: Any) -> subprocess.Popen[bytes]:
        started.append(real(*args, **more))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    room = Room(tmp_path / "room")
    room.furnish()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch, Cast(room, "sqlite:///nowhere") as cast:
            patch.setattr(subprocess, "Popen", startled)
            with pytest.raises(KeyboardInterrupt):
                cast.start("agent", "agent-1")
            assert list(cast.running) == ["agent"]
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].poll() is not None


def test_absent_git_is_one_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "remit.demo", "--keep", str(tmp_path / "room")]
    env = {"PATH": "/nonexistent", "PYTHONPATH": SOURCES}
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot run git: it is not on PATH" in done.stderr
    assert "Traceback" not in done.stderr


def test_room_is_removed_whole(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    room.furnish()
    shut = room.clone("shut")
    (shut / "inner").mkdir(parents=True)
    (shut / "link").symlink_to(tmp_path)
    shut.chmod(0o500)
    room.remove()
    assert not room.path.exists()
    assert tmp_path.exists()
