"""``remit drain`` with everything real: what it refuses, what it bounds, and what its failures become."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.drain.yard import Yard, good, strays
from tests.surfaces.cli.calling import IDENTITY, git

from remit.core.item_events import LeaseGranted
from remit.core.refusals import Code, Refused
from remit.core.run_decisions import MINUTE_MS
from remit.core.run_events import AttemptNoted, RunItemChosen, RunItemSettled
from remit.core.run_facts import RunBounds
from remit.core.status import Status
from remit.drain.conductor import Conductor
from remit.drain.journey import Options
from remit.drain.words import TURNS
from remit.drain.workplace import Told


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


def made(folder: Path, items: int) -> Yard:
    yard = Yard.make(folder.resolve(), items)
    yard.script({f"W-{number}": good(number) for number in range(1, items + 1)})
    return yard


def head(yard: Yard) -> int:
    with closing(yard.ledger()) as ledger, ledger.reading() as tx:
        return int(tx.head().seq)


def test_a_dry_run_says_what_a_run_would_choose_and_writes_nothing(tmp_path: Path) -> None:
    yard = made(tmp_path, 3)
    bare = yard.cli.json("create", "No check yet")["item"]["id"]
    before = head(yard)
    told = yard.cli.json(*yard.arguments("--dry-run", "--max-items", "2"))
    assert [one["id"] for one in told["would_choose"]] == ["W-1", "W-2"]
    assert [one["id"] for one in told["not_chosen"]] == ["W-3"]
    [waits] = told["blocked"]
    assert (waits["id"], bool(waits["how_to_open"])) == (bare, True)
    assert told["would_start"] is True
    assert (head(yard), yard.left()) == (before, [])
    other = yard.cli.json(*yard.arguments("--dry-run", "--decision", "D-9"))
    assert (other["would_start"], other["checks"][-1]["code"]) == (False, "DECISION_MISSING")
    bounds = "items=10,parallel=1,minutes=60,spend-micros=0,failures=10"
    assert f"--run-bounds {bounds} --run-agent scripted'" in other["checks"][-1]["hint"]
    bare = yard.cli.json(*yard.arguments("--dry-run", "--without-sandbox", "D-9"))
    assert "--about drain/without-sandbox" in bare["checks"][-1]["hint"]


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        (("--agent", "nobody"), 4, "NOT_FOUND"),
        (("--agent", "claude-code", "--actor", "bot"), 3, "AGENT_MISSING"),
        (("--decision", ""), 3, "DECISION_MISSING"),
        (("--max-parallel", "17"), 3, "DECISION_SCOPE"),
        (("--max-items", "0"), 2, "BAD_INPUT"),
        (("--review-as", "bot"), 3, "REVIEWER_IS_IMPLEMENTER"),
        (("--integrate", "hope"), 2, "BAD_INPUT"),
        (("--actor", "ann"), 3, "ACTOR_KIND_REFUSED"),
        (("--without-sandbox", "D-1"), 3, "DECISION_SCOPE"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    more: tuple[str, ...], status: int, code: str, tmp_path: Path
) -> None:
    yard = made(tmp_path, 1)
    before = head(yard)
    yard.cli.refused(*yard.arguments(*more), status=status, code=code)
    assert (head(yard), yard.show("W-1")["status"]) == (before, "ready")


def test_bounds_hold_as_the_events_tell_it(tmp_path: Path) -> None:
    """Never more at a time than allowed, never more money set aside, however many would be ready."""
    yard = made(tmp_path, 7)
    spends = [{"do": "report", "spent_micros": 100}]
    yard.script({f"W-{n}": [*good(n)[:-1], *spends] for n in range(1, 8)})
    run = yard.call(
        *yard.arguments("--max-parallel", "3", "--max-spend", "1000", "--spend-each", "300")
    )[-1]["data"]["run"]
    live = reserved = settled = most_live = most_micros = 0
    set_aside: dict[int, int] = {}
    with closing(yard.ledger()) as ledger:
        events = [entry.recorded.event for entry in ledger.events()]
    for event in events:
        if isinstance(event, RunItemChosen):
            live, set_aside[event.entry] = live + 1, event.reserve_micros
        elif isinstance(event, RunItemSettled):
            live, settled = live - 1, settled + event.spent_micros
            del set_aside[event.entry]
        reserved = sum(set_aside.values())
        most_live, most_micros = max(most_live, live), max(most_micros, reserved + settled)
    granted = sum(isinstance(event, LeaseGranted) for event in events)
    assert (most_live, live) == (3, 0)
    assert most_micros <= 1_000
    # 300 more fit while 700 or less are settled: seven at 100 each.
    assert (run["used"]["items"], granted, settled) == (7, 7, 700)
    assert run["stopped_by"] in ("nothing-ready", "spend")


FAILURES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "W-1": ([{"do": "secret", "path": "greeting-1.txt"}, {"do": "report"}], "secret-found"),
    "W-2": ([{"do": "commit", "path": "elsewhere.txt"}, {"do": "report"}], "scope-breach"),
    "W-3": (
        [
            {"do": "commit", "path": "greeting-3.txt", "text": "hello\n"},
            {"do": "write", "path": "greeting-3.txt", "text": "more\n"},
            {"do": "report"},
        ],
        "dirty-tree",
    ),
    "W-4": ([{"do": "commit", "path": "greeting-4.txt"}, {"do": "lie"}], "agent-crash"),
    "W-5": ([{"do": "report", "outcome": "declined", "reason": "no"}], "refusal"),
    "W-6": ([{"do": "commit", "path": "greeting-6.txt"}, {"do": "exit", "status": 3}], "agent-crash"),
    "W-7": ([{"do": "report"}], "refusal"),
    "W-8": ([{"do": "commit", "path": "greeting-8.txt"}, {"do": "crash"}], "agent-crash"),
    "W-9": ([{"do": "commit", "path": "greeting-9.txt", "text": "no\n"}, {"do": "report"}], "test-failure"),
}  # fmt: skip


def test_every_failure_becomes_a_record_of_its_kind_and_no_commit_is_lost(tmp_path: Path) -> None:
    yard = made(tmp_path, len(FAILURES))
    yard.script({name: steps for name, (steps, _) in FAILURES.items()})
    run = yard.call(*yard.arguments("--max-parallel", "4"))[-1]["data"]["run"]
    assert {entry["item"]: entry["outcome"] for entry in run["items"]} == dict.fromkeys(
        FAILURES, "triaged"
    )
    records = {one["item"]: one for one in yard.cli.json("triage", "list")["records"]}
    assert {name: record["kind"] for name, record in records.items()} == {
        name: kind for name, (_, kind) in FAILURES.items()
    }
    for name in ("W-4", "W-6", "W-8"):
        refs = [e for e in records[name]["evidence"] if e.startswith("rescue:refs/remit/attempts/")]
        assert refs, records[name]
        ref = refs[0].partition(":")[2]
        assert git(yard.cli.cwd, "rev-parse", "--verify", f"{ref}^{{commit}}")
    assert (yard.left(), strays(str(yard.folder))) == ([], [])


def test_a_clone_that_cannot_be_read_is_its_agents_doing_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    yard = made(tmp_path, 2)
    lender = {"do": "write", "path": ".git/objects/info/alternates", "text": "/etc\n"}
    yard.script({"W-1": [*good(1), lender], "W-2": good(2)})
    run = yard.call(*yard.arguments())[-1]["data"]["run"]
    assert [(entry["item"], entry["outcome"]) for entry in run["items"]] == [
        ("W-1", "triaged"), ("W-2", "verified"),
    ]  # fmt: skip
    [record] = yard.cli.json("triage", "list")["records"]
    assert record["kind"] == "agent-crash"
    assert "code:CLONE_UNREADABLE" in record["evidence"]
    assert f"{run['id']}/A-1.1" in record["reason"]
    assert (yard.runs_folder() / run["id"] / "A-1.1" / "clone" / ".git").is_dir()


def notes(yard: Yard, attempt: str) -> dict[str, AttemptNoted]:
    """What was seen of an attempt, by phase."""
    with closing(yard.ledger()) as ledger, ledger.reading() as tx:
        found = [r.event for r in tx.events(0, 10_000) if r.stream == attempt]
    return {event.phase: event for event in found if isinstance(event, AttemptNoted)}


def test_how_an_agent_ended_is_kept_whatever_it_printed(tmp_path: Path) -> None:
    yard = made(tmp_path, 2)
    yard.script({"W-1": [{"do": "print", "text": "a\0b\x1b[2J"}, *good(1)], "W-2": good(2)})
    run = yard.call(*yard.arguments())[-1]["data"]["run"]
    assert [entry["outcome"] for entry in run["items"]] == ["verified", "verified"]
    assert run["refused"] == []
    for attempt in ("A-1.1", "A-2.1"):
        seen = notes(yard, attempt)
        for phase in ("ended", "review-ended"):
            assert "termination" in [check.check for check in seen[phase].checks]
            assert dict(seen[phase].figures)["reason"] == "exited"
        assert {"probed", "examined", "review-probed"} <= set(seen)


def test_what_always_comes_back_does_not_use_up_the_turns_of_others(tmp_path: Path) -> None:
    yard = made(tmp_path, 2)
    yard.review([{"do": "report", "outcome": "declined", "reason": "say it louder"}])
    run = yard.call(*yard.arguments())[-1]["data"]["run"]
    taken = [entry["item"] for entry in run["items"]]
    assert (taken.count("W-1"), taken.count("W-2")) == (TURNS, TURNS)
    assert run["stopped_by"] == "nothing-ready"


def test_a_reviewer_sends_work_back_and_without_one_it_waits_for_people(tmp_path: Path) -> None:
    yard = made(tmp_path, 1)
    yard.review([{"do": "report", "outcome": "declined", "reason": "say it louder"}])
    first = yard.call(*yard.arguments("--max-items", "1"))[-1]["data"]["run"]
    assert [entry["outcome"] for entry in first["items"]] == ["released"]
    assert yard.show("W-1")["status"] == "ready"
    alone = [word for word in yard.arguments() if word not in ("--reviewer", "judge")]
    second = yard.call(*alone)[-1]["data"]["run"]
    assert [entry["outcome"] for entry in second["items"]] == ["in-review"]
    assert (yard.show("W-1")["status"], second["stopped_by"]) == ("in-review", "nothing-ready")


def test_items_and_failures_are_counted_to_the_last(tmp_path: Path) -> None:
    yard = made(tmp_path, 4)
    run = yard.call(*yard.arguments("--max-items", "2", "--max-parallel", "2"))[-1]["data"]["run"]
    assert (run["used"]["items"], run["stopped_by"]) == (2, "items")
    yard.script({}, [{"do": "exit", "status": 3}])
    failed = yard.call(*yard.arguments("--max-failures", "1"))[-1]["data"]["run"]
    assert (failed["used"]["items"], failed["used"]["failures"], failed["stopped_by"]) == (
        1,
        1,
        "failures",
    )


def test_nothing_runs_later_than_the_bound_on_time_and_the_bound_of_a_stop(tmp_path: Path) -> None:
    from tests.drain.timed import timed

    yard = made(tmp_path, 1)
    yard.script({"W-1": [{"do": "hang", "deaf": True}]})
    run, late_ms = timed(yard, RunBounds(1, 1, 6_000, 0, 1))
    assert (run.stopped_by, yard.show("W-1")["status"]) == ("minutes", "ready")
    assert late_ms < MINUTE_MS, "the bound of a stop is 5 s; the rest is a busy machine"
    assert (yard.left(), strays(str(yard.folder))) == ([], [])


def test_a_limit_below_the_parallel_bound_costs_no_choice_twice(tmp_path: Path) -> None:
    """Refused for concurrency, a run waits until one of its own ends, and does not ask meanwhile."""
    yard = made(tmp_path, 3)
    yard.cli.json("limit", "set", "actor/bot", "--concurrency", "1")
    run = yard.call(*yard.arguments("--max-parallel", "3"))[-1]["data"]["run"]
    outcomes = [entry["outcome"] for entry in run["items"]]
    assert sorted(outcomes) == ["refused", "verified", "verified", "verified"]


def test_what_was_left_approved_while_the_remote_was_away_is_landed_by_the_next_drain(
    tmp_path: Path,
) -> None:
    """The remote goes between approval and integration; when it is back, nothing is worked again."""
    yard = made(tmp_path, 2)
    origin, away = yard.folder / "origin.git", yard.folder / "away.git"
    assert yard.dies("RUN-1/W-1/1/integrated:before", *yard.arguments("--max-items", "1"))
    origin.rename(away)
    first = yard.call("run", "resume", "RUN-1")[-1]["data"]["run"]
    [entry] = first["items"]
    assert entry["outcome"] == "approved"
    assert entry["detail"].startswith("integrate:")
    assert yard.show("W-1")["status"] == "approved"

    away.rename(origin)
    for more in (
        ("--class", "other"),
        ("--integrate", "none"),
        ("--actor", "judge", "--review-as", "bot"),
    ):
        found = yard.cli.json(*yard.arguments("--dry-run", *more))["would_choose"]
        assert "W-1" not in [one["id"] for one in found]
    told = yard.cli.json(*yard.arguments("--dry-run"))["would_choose"]
    assert [one["id"] for one in told] == ["W-1", "W-2"]
    assert yard.dies("RUN-2/W-1/1/integrated:done", *yard.arguments())
    second = yard.call("run", "resume", "RUN-2")[-1]["data"]["run"]
    assert [(one["item"], one["outcome"]) for one in second["items"]] == [
        ("W-1", "verified"), ("W-2", "verified"),
    ]  # fmt: skip
    with closing(yard.ledger()) as ledger:
        events = [entry.recorded for entry in ledger.events()]
    leased = [one.stream for one in events if isinstance(one.event, LeaseGranted)]
    assert sorted(leased) == ["W-1", "W-2"]
    assert git(origin, "log", "--format=%H", "main", "--", "greeting-1.txt").count("\n") == 0
    assert (yard.left(), strays(str(yard.folder))) == ([], [])


def test_a_transcript_is_read_by_the_scanner_before_it_is_kept(tmp_path: Path) -> None:
    """A token whose form only the scanner's rules know; and one agent that prints nothing like it."""
    yard = made(tmp_path, 2)
    token = "npm_" + "".join(chr(97 + (7 * n) % 26) + str((3 * n) % 10) for n in range(18))
    yard.script(
        {
            "W-1": [
                {"do": "print", "text": f"_authToken={token}\n"},
                *good(1),
            ],
            "W-2": [{"do": "print", "text": "on it\n"}, *good(2)],
        }
    )
    run = yard.call(*yard.arguments())[-1]["data"]["run"]
    assert [entry["outcome"] for entry in run["items"]] == ["verified", "verified"]
    ended = {attempt: notes(yard, attempt)["ended"] for attempt in ("A-1.1", "A-2.1")}
    looked = {
        attempt: [check.result for check in note.checks if check.check == "transcript"]
        for attempt, note in ended.items()
    }
    with closing(yard.ledger()) as ledger, ledger.reading() as tx:
        blobs = tx.blobs([note.text_ref for note in ended.values()])
    kept = {attempt: blobs[note.text_ref].decode() for attempt, note in ended.items()}
    assert kept["A-1.1"].startswith("[withheld: the scanner found ")
    assert kept["A-2.1"] == "on it\n"
    assert looked == {"A-1.1": ["FAIL"], "A-2.1": ["PASS"]}
    files = yard.cli.cwd.joinpath(".git/remit").glob("ledger.db*")
    assert not any(token.encode() in file.read_bytes() for file in files)
    assert "transcript" not in [c.check for c in notes(yard, "A-1.1")["review-ended"].checks]


def stuck(folder: Path) -> Yard:
    """One approved item whose change main has changed lines beside since, so that no rebase of it is the same."""
    yard = Yard.make(folder.resolve(), 0)
    lines = "one\ntwo\nthree\nfour\n"
    changed(yard, lines)
    yard.item(1)
    said = {"do": "commit", "path": "greeting-1.txt", "text": f"hello\n{lines}"}
    yard.script({"W-1": [said, {"do": "report"}]})
    [entry] = yard.call(*yard.arguments("--integrate", "none"))[-1]["data"]["run"]["items"]
    assert entry["outcome"] == "approved"
    changed(yard, lines.replace("three", "3"))
    return yard


def changed(yard: Yard, text: str) -> None:
    """Somebody pushes a file to main."""
    (yard.cli.cwd / "greeting-1.txt").write_text(text)
    git(yard.cli.cwd, "add", "greeting-1.txt")
    git(yard.cli.cwd, "commit", "-q", "-m", "by somebody")
    git(yard.cli.cwd, "push", "-q", "origin", "main")


def drained(yard: Yard, way: str, status: int = 0) -> tuple[list[tuple[str, str]], list[str], Any]:
    """What a drain came to: outcomes with the code of each, refusals by code, and what it told."""
    said = yard.call(*yard.arguments("--integrate", way, "--max-items", "1"), status=status)
    run = said[-1]["data"]["run"]
    items = [(one["outcome"], (one["detail"] or "").split(" way=")[0]) for one in run["items"]]
    return items, [one["code"] for one in run["refused"]], said


def test_what_cannot_land_costs_no_run_a_choice_until_something_changed(tmp_path: Path) -> None:
    yard = stuck(tmp_path)
    failed = [("approved", "integrate:COMMIT_MISMATCH")]
    assert drained(yard, "rebase")[:2] == (failed, [])
    told = yard.cli.json(*yard.arguments("--integrate", "rebase", "--dry-run"))
    assert told["would_choose"] == []
    assert [(one["id"], one["why"]) for one in told["not_chosen"]] == [("W-1", "LANDING_UNCHANGED")]
    drained(yard, "rebase", status=5)
    items, refused, said = drained(yard, "rebase", status=5)
    assert (items, refused) == ([], ["LANDING_UNCHANGED"]), "nor does a run between bring it back"
    left = [one["event"] for one in said[:-1] if one["event"]["kind"] == "left-approved"]
    assert [(one["item"], one["words"]) for one in left] == [("W-1", "LANDING_UNCHANGED")]

    new = yard.item(2)
    yard.script({new: good(2)})
    items, refused, _ = drained(yard, "rebase")
    assert [one[0] for one in items] == ["verified"], "its only choice is for what can be done"
    assert refused == ["LANDING_UNCHANGED"]

    assert drained(yard, "rebase")[:2] == (failed, []), "main moved, so it is tried once more"
    assert drained(yard, "rebase", status=5)[1] == ["LANDING_UNCHANGED"]
    assert drained(yard, "merge")[0] == [("verified", "")], "another way is another question"
    assert yard.cli.json("ledger", "verify")["problems"] == []


def test_what_the_ledger_keeps_from_landing_costs_no_choice() -> None:
    stale = Refused(Code.APPROVAL_STALE, "a row has changed since", "have it approved anew")
    left: list[tuple[str, str, str]] = []
    hands: Any = SimpleNamespace(
        item=lambda name: SimpleNamespace(id=name, status=Status.APPROVED, work=None),
        unready=lambda name: stale,
        leave=lambda *told: left.append(told),
    )
    told: list[Told] = []
    assert Conductor(hands, Options(), told.append)._land("W-1"), "there may be another"
    assert left == [("W-1", "APPROVAL_STALE", "a row has changed since")]
    assert [(one.kind, one.item, one.words) for one in told] == [
        ("left-approved", "W-1", "APPROVAL_STALE")
    ]


def test_what_a_remote_refuses_comes_after_everything_else(tmp_path: Path) -> None:
    yard = Yard.make(tmp_path.resolve(), 1)
    yard.script({"W-1": good(1), "W-2": good(2)})
    hook = yard.folder / "origin.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected >&2; exit 1\n")
    hook.chmod(0o755)
    refused = [("approved", "integrate:DESTINATION_REFUSED")]
    assert drained(yard, "merge")[0] == refused
    yard.item(2)
    told = yard.cli.json(*yard.arguments("--dry-run"))["would_choose"]
    assert [one["id"] for one in told] == ["W-2", "W-1"]
    hook.unlink()
    run = yard.call(*yard.arguments())[-1]["data"]["run"]
    assert [(one["item"], one["outcome"]) for one in run["items"]] == [
        ("W-2", "verified"), ("W-1", "verified"),
    ]  # fmt: skip


OBEYS = """\
agent: judge
about: Takes orders from the folder that it starts in, as many programs do; else it sends everything back.
command: [sh, -c, "if [ -e orders.sh ]; then . ./orders.sh; fi; git -C $REMIT_CHANGE log -1 --format=%s; exit 3"]
exits: {done: [0], declined: [3]}
report: optional
"""
ORDERS = """\
head=$(git rev-parse HEAD)
echo '{"schema":"remit.agent-report.v1","outcome":"done","summary":"fine","head":"'$head'"}' > $REMIT_REPORT
exit 0
"""


def test_nothing_in_a_change_gives_orders_to_whoever_reviews_it(tmp_path: Path) -> None:
    yard = Yard.make(tmp_path.resolve(), 0)
    (yard.cli.cwd / ".remit" / "agents" / "judge.yaml").write_text(OBEYS)
    yard.item(1, "--scope", "orders.sh")
    orders = {"do": "commit", "path": "orders.sh", "text": ORDERS}
    yard.script({"W-1": [orders, *good(1)]})
    said = yard.call(*yard.arguments("--max-items", "1"))
    [entry] = said[-1]["data"]["run"]["items"]
    assert (entry["outcome"], entry["detail"]) == ("released", "rejected")
    assert yard.show("W-1")["status"] == "ready"
