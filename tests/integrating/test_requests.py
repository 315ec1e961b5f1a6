"""A pull request is opened once and then only looked at; nothing ships by it but main.

The host is a scripted program that takes the flags and prints the JSON of GitHub's ``gh``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integrating.lab import Lab

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.effect_events import EffectIntended
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.destinations.pull_requests import GITHUB
from remit.wiring import Settings

HOST = """
import json, os, subprocess, sys
place = os.path.dirname(os.path.abspath(__file__))
state = os.path.join(place, "requests.json")
kept = json.load(open(state)) if os.path.exists(state) else []
flags = dict(a[2:].split("=", 1) for a in sys.argv[3:])
with open(os.path.join(place, "calls"), "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
told = os.path.join(place, "told")
order = open(told).read() if os.path.exists(told) else ""
if sys.argv[2] == "list":
    if order == "away":
        sys.exit("no network")
    if order == "garbage":
        print("<html>"); sys.exit(0)
    fields = flags["json"].split(",")
    print(json.dumps([{f: r[f] for f in fields} for r in kept if r["headRefName"] == flags["head"]]))
    sys.exit(0)
if order == "fails":
    sys.exit("GraphQL: something is wrong")
for one in kept:
    if one["headRefName"] == flags["head"] and one["state"] == "OPEN":
        sys.exit("a pull request for this branch already exists: " + one["url"])
head = subprocess.run(["git", "ls-remote", ORIGIN, "refs/heads/" + flags["head"]],
                      capture_output=True, text=True).stdout.split()[0]
kept.append({"headRefName": flags["head"], "headRefOid": head, "baseRefName": flags["base"],
             "state": "OPEN", "isCrossRepository": False, "mergeCommit": None, "number": len(kept) + 1,
             "url": "https://host.example/pull/%d" % (len(kept) + 1), "title": flags["title"],
             "body": flags["body"]})
json.dump(kept, open(state, "w"))
if order == "lost":
    os.kill(os.getpid(), 9)
print(kept[-1]["url"])
"""


class Host:
    def __init__(self, lab: Lab) -> None:
        self.place = lab.root / "gh"
        self.place.mkdir()
        program = self.place / "gh.py"
        program.write_text(f"ORIGIN = {str(lab.origin)!r}\n{HOST}")
        ways = [(sys.executable, str(program), *argv[1:]) for argv in (GITHUB.create, GITHUB.find)]
        lab.settings = Settings(host=tuple(ways))
        self.lab = lab

    def told(self, order: str) -> None:
        (self.place / "told").write_text(order)

    def calls(self, what: str) -> int:
        path = self.place / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return sum(json.loads(line)[1] == what for line in lines)

    @property
    def requests(self) -> list[dict[str, Any]]:
        path = self.place / "requests.json"
        found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return found

    def change(self, **what: Any) -> None:
        [one] = self.requests
        (self.place / "requests.json").write_text(json.dumps([{**one, **what}]))

    def merged(self, *, squash: bool) -> str:
        """The host brings it onto main, as a button there does."""
        [one] = self.requests
        path = self.lab.root / "button"
        self.lab.git("clone", "-q", str(self.lab.origin), str(path), cwd=self.lab.root)
        how = ["--squash"] if squash else ["--no-ff", "-m", "merged"]
        self.lab.git("merge", "-q", *how, f"origin/{one['headRefName']}", cwd=path)
        if squash:
            self.lab.git("commit", "-q", "-m", "squashed", cwd=path)
        self.lab.git("push", "-q", "origin", "HEAD:main", cwd=path)
        made = self.lab.git("rev-parse", "HEAD", cwd=path)
        self.change(state="MERGED", mergeCommit={"oid": made})
        return made


@pytest.fixture
def host(lab: Lab) -> Host:
    return Host(lab)


@pytest.mark.parametrize("squash", [True, False])
def test_it_is_opened_once_and_ships_when_main_has_it(lab: Lab, host: Host, squash: bool) -> None:
    name = lab.approved(commits=2)
    work = lab.item(name).work
    assert work is not None
    found = lab.integrate(name, way="pr", command_id="c-1")
    assert (found.outcome, found.effect) == ("open", "pull-request/A-1.1")
    assert (found.state, found.detail) == ("PRESENT", "https://host.example/pull/1")
    assert [r.result for r in found.results] == ["verified"]
    [asked] = host.requests
    assert (asked["title"], asked["headRefOid"]) == (f"{name}: Do it", work.head)
    assert (asked["baseRefName"], asked["body"]) == ("main", f"{name} was approved at {work.head}.")
    for _ in range(2):
        assert lab.integrate(name, way="pr", command_id="c-1").outcome == "open"
    assert host.calls("create") == 1
    assert lab.item(name).status is Status.APPROVED
    made = host.merged(squash=squash)
    done = lab.integrate(name, way="pr", command_id="c-1")
    assert done.outcome == "shipped"
    after = lab.item(name).work
    assert after is not None
    assert after.shipped == made
    assert host.calls("create") == 1


def test_what_the_host_makes_later_is_not_claimed_as_tested(lab: Lab, host: Host) -> None:
    name = lab.approved()
    lab.integrate(name, way="pr")
    events = lab.stream("effect/pull-request/A-1.1")
    event = next(e for e in events if isinstance(e, EffectIntended))
    claims = {check.check: check.result for check in event.checks}
    assert claims["tested-is-what-lands"] is Result.BLOCKED
    assert claims["external-duplicate-prevention"] is Result.PASS


def test_an_answer_that_is_lost_is_looked_up(lab: Lab, host: Host) -> None:
    name = lab.approved()
    host.told("lost")
    found = lab.integrate(name, way="pr")
    assert (found.outcome, found.state) == ("open", "PRESENT")
    assert host.calls("create") == len(host.requests) == 1


def test_a_host_that_is_away_leaves_it_unknown(lab: Lab, host: Host) -> None:
    name = lab.approved()
    host.told("away")
    for _ in range(2):
        found = lab.refused(name, Code.OUTCOME_UNKNOWN, way="pr")
        assert found.details["state"] == "UNCERTAIN"
    refused = lab.ledger.acting("eve").run(c.ReviewWork(name, False, c.Text("no")))
    assert isinstance(refused, Refused)
    host.told("garbage")
    lab.refused(name, Code.OUTCOME_UNKNOWN, way="pr")
    host.told("")
    assert lab.integrate(name, way="pr").outcome == "open"
    assert host.calls("create") == len(host.requests) == 1


def test_a_program_that_fails_is_not_asked_again_before_its_bound(lab: Lab, host: Host) -> None:
    name = lab.approved()
    host.told("fails")
    found = lab.refused(name, Code.OUTCOME_UNKNOWN, way="pr")
    assert "something is wrong" in found.message
    host.told("")
    lab.refused(name, Code.OUTCOME_UNKNOWN, way="pr")
    assert host.calls("create") == 1


def test_a_sender_that_died_unseen_is_settled_by_asking_again(lab: Lab, host: Host) -> None:
    """The host takes one request for a branch: asking the same again is a look-up, written down first."""
    name = lab.approved()
    integration = lab.integration()
    assert integration.requests is not None
    there = integration.requests.host

    class Dead:
        name = "dead"
        enforced = there.enforced
        look_up = there.look_up

        def send(self, request: Any) -> Any:
            raise KeyboardInterrupt

    object.__setattr__(integration.requests, "host", Dead())  # it is frozen
    with pytest.raises(KeyboardInterrupt):
        integration.integrate(name, way="pr")
    assert lab.integrate(name, way="pr").outcome == "open"
    told = [type(e).__name__ for e in lab.stream("effect/pull-request/A-1.1")]
    assert told == [
        "EffectClaimed",
        "EffectIntended",
        "EffectObserved",
        "RequestRepeated",
        "EffectObserved",
    ]
    assert host.calls("create") == len(host.requests) == 1


def test_a_request_keeps_nobody_from_reviewing_anew(lab: Lab, host: Host) -> None:
    name = lab.approved()
    lab.integrate(name, way="pr")
    lab.ok("eve", c.ReviewWork(name, False, c.Text("on second thoughts")))
    assert lab.item(name).status is Status.READY


def test_another_head_than_the_approved_contradicts_it(lab: Lab, host: Host) -> None:
    name = lab.approved()
    lab.integrate(name, way="pr")
    host.change(headRefOid="e" * 40)
    found = lab.integrate(name, way="pr")
    assert (found.outcome, found.triage) == ("triaged", "effect-mismatch")
    assert [r.triage_kind for r in lab.records(name)] == ["effect-mismatch"]


def test_requests_of_others_are_none_of_ours(lab: Lab, host: Host) -> None:
    name = lab.approved()
    lab.integrate(name, way="pr")
    host.change(isCrossRepository=True)
    (lab.root / "gh" / "told").write_text("")
    found = lab.integrate(name, way="pr")
    assert (found.outcome, found.triage) == ("triaged", "effect-mismatch")


def test_a_branch_that_is_something_else_is_not_pushed_over(lab: Lab, host: Host) -> None:
    name = lab.approved()
    lab.integration()
    lab.git("push", "-q", "origin", "main:refs/heads/remit/A-1.1")
    found = lab.refused(name, Code.DESTINATION_REFUSED, way="pr")
    assert "remit/A-1.1 is at" in found.message
    assert host.calls("create") == 0
    lab.git("push", "-q", "origin", ":refs/heads/remit/A-1.1")
    assert lab.integrate(name, way="pr").outcome == "open"


def test_a_program_that_is_not_there_is_named(lab: Lab, tmp_path: Path) -> None:
    lab.settings = Settings(host=(("no-such-program",), ("no-such-program",)))
    name = lab.approved()
    found = lab.refused(name, Code.OUTCOME_UNKNOWN, way="pr")
    assert "no-such-program could not be started" in found.message
