"""What lands is what was approved, and exactly what was tested."""

from __future__ import annotations

import pytest
from tests.integrating.lab import Broken, Lab

from remit.core import commands as c
from remit.core.gitfacts import Brought, Way
from remit.core.refusals import Code, Refused, meaning
from remit.core.status import Status
from remit.repository.repository import GitRepository
from remit.service.integrating import Integrated


def test_work_that_goes_on_from_main_is_pushed_as_it_is(lab: Lab) -> None:
    name = lab.approved()
    before = lab.main()
    found = lab.integrate(name)
    head = lab.item(name).work
    assert head is not None
    assert (found.outcome, found.way, found.commit) == ("shipped", "fast-forward", head.head)
    assert (found.main_before, found.main_after) == (before, head.head)
    assert (found.effect, found.state) == (f"push/{name}", "PRESENT")
    assert [r.result for r in found.results] == ["verified"]
    assert lab.landed() == [before, head.head]
    assert lab.item(name).status is Status.SHIPPED


def test_a_main_that_went_on_is_merged_and_the_merge_itself_ships(lab: Lab) -> None:
    name = lab.approved()
    theirs = lab.moved({"a.txt": "two\n"})
    found = lab.integrate(name)
    work = lab.item(name).work
    assert work is not None
    assert (found.outcome, found.way) == ("shipped", "merge")
    parents = lab.git("rev-list", "--parents", "-n1", found.commit, cwd=lab.origin).split()[1:]
    assert parents == [theirs, work.head]
    assert (lab.main(), work.shipped, work.shipped_base) == (found.commit, found.commit, theirs)
    said = lab.git("log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%B", found.commit, cwd=lab.origin)
    assert said.splitlines()[:3] == ["Host <host@example.org>"] * 2 + [f"Merge {name}"]
    assert lab.git("show", f"{found.commit}:a.txt", cwd=lab.origin) == "two"


def test_rebased_commits_keep_their_author_and_message(lab: Lab) -> None:
    name = lab.approved(commits=3)
    theirs = lab.moved({"a.txt": "two\n"})
    found = lab.integrate(name, way="rebase")
    assert (found.outcome, found.way) == ("shipped", "rebase")
    told = lab.git("log", "--format=%an|%cn|%s|%P", f"{theirs}..{found.commit}", cwd=lab.origin)
    rows = [line.split("|") for line in told.splitlines()]
    assert [row[:3] for row in rows] == [["Ada", "Host", f"step {n}"] for n in (2, 1, 0)]
    assert rows[-1][3] == theirs
    assert lab.item(name).status is Status.SHIPPED
    assert lab.landed()[-2:] == [theirs, found.commit]


def test_a_merge_that_is_another_patch_ships_the_approved_head(lab: Lab) -> None:
    """Main changed a line beside the change: git merges it, and the patch is no longer the same."""
    name = lab.approved()
    lab.moved({"work.txt": "\n".join("012345x789") + "\n"})
    lab.refused(name, Code.COMMIT_MISMATCH, way="rebase")
    assert lab.item(name).status is Status.APPROVED
    found = lab.integrate(name)
    work = lab.item(name).work
    assert work is not None
    assert (found.outcome, lab.main()) == ("shipped", found.commit)
    assert work.shipped == work.head


def test_a_clash_puts_the_work_aside_and_pushes_nothing(lab: Lab) -> None:
    name = lab.approved()
    theirs = lab.moved({"work.txt": "\n".join("012345678") + "\nelse\n"})
    for way in ("merge", "rebase"):
        planned = lab.integration().plan(name, way=way)
        assert isinstance(planned, Integrated)
        assert (planned.outcome, planned.detail) == ("clash", "work.txt")
    found = lab.integrate(name, command_id="c-1")
    again = lab.integrate(name, command_id="c-1")
    assert (found.outcome, found.triage) == (again.outcome, again.triage)
    assert (found.outcome, found.triage) == ("triaged", "merge-conflict")
    work = lab.item(name).work
    assert work is not None
    [record] = lab.records(name)
    assert record.triage_kind == "merge-conflict"
    assert record.evidence == (
        f"base:{work.base}",
        f"head:{work.head}",
        f"main:{theirs}",
        "path:work.txt",
        "way:merge",
    )
    assert lab.main() == theirs
    assert lab.events(name).count("ItemTriaged") == 1


def test_rows_that_fail_on_the_result_put_the_work_aside(lab: Lab) -> None:
    """Both sides are green alone; what would land is red, and never lands."""
    both = ("sh", "-c", "grep -q good work.txt && ! grep -q two a.txt")
    name = lab.approved(argv=both)
    theirs = lab.moved({"a.txt": "two\n"})
    found = lab.integrate(name, command_id="c-1")
    assert (found.outcome, found.triage, lab.main()) == ("triaged", "test-failure", theirs)
    [row] = found.results
    assert (row.result, row.reason) == ("ship-verify-gap", "EXIT_UNEXPECTED")
    assert row.log
    [record] = lab.records(name)
    assert f"commit:{found.commit}" in record.evidence
    assert {f"row:{row.row}", "found:EXIT_UNEXPECTED", f"log:{row.log}"} <= set(record.evidence)
    with lab.ledger.reading() as tx:
        assert f"== shipped {found.commit}".encode() in tx.blobs([row.log])[row.log]
    assert lab.integrate(name, command_id="c-1").results == found.results
    lab.refused(name, Code.TRANSITION_REFUSED)


def test_what_leaves_the_scope_is_a_breach(lab: Lab) -> None:
    name = lab.approved({"work.txt": "good\n", "else.txt": "x\n"}, scope=("work.txt",))
    found = lab.integrate(name)
    assert (found.outcome, found.triage) == ("triaged", "scope-breach")
    assert "outside:else.txt" in lab.records(name)[0].evidence


def test_a_row_without_an_answer_refuses_and_changes_nothing(lab: Lab) -> None:
    name = lab.approved(argv=("sh", "-c", "grep -q good work.txt && exec no-such-program"))
    before, events = lab.main(), lab.events(name)
    verifier = Broken()
    found = lab.integration(verifier=verifier).integrate(name)
    assert isinstance(found, Refused)
    assert (found.code, found.details["reasons"]) == (Code.ROWS_BLOCKED, {"V-1": "START_FAILED"})
    assert meaning(found.code).exit_status == 5
    assert (lab.main(), lab.events(name)) == (before, events)


def test_work_that_is_on_main_already_is_shipped_and_not_pushed(lab: Lab) -> None:
    name = lab.approved()
    work = lab.item(name).work
    assert work is not None
    lab.git("push", "-q", "origin", f"{work.head}:main")
    landed = lab.landed()
    found = lab.integrate(name)
    assert (found.outcome, found.way, found.effect) == ("shipped", "there", "")
    assert lab.landed() == landed


def test_a_change_that_main_has_by_another_commit_is_named(lab: Lab) -> None:
    name = lab.approved()
    lab.moved({"work.txt": "\n".join("012345678") + "\ngood\n"})
    for way in ("merge", "rebase"):
        found = lab.refused(name, Code.NOTHING_TO_INTEGRATE, way=way)
        assert "remit ship" in found.hint


def test_a_rebase_of_merges_is_refused(lab: Lab) -> None:
    name = lab.handed_in(merged=True)
    lab.ok("eve", c.ReviewWork(name, True, c.Text("good")))
    lab.moved({"a.txt": "two\n"})
    found = lab.refused(name, Code.REPOSITORY_REFUSED, way="rebase")
    assert found.details["repository_code"] == "HISTORY_NOT_LINEAR"
    assert lab.integrate(name).outcome == "shipped"


def test_who_may_be_pushed_is_decided_as_for_a_ship(lab: Lab) -> None:
    name = lab.handed_in()
    lab.refused(name, Code.TRANSITION_REFUSED)
    lab.ok("eve", c.ReviewWork(name, True, c.Text("good")))
    lab.git("push", "-q", "origin", f"{lab.commit({'b.txt': 'x'})}:refs/heads/remit/A-1.1")
    assert "BRANCH_MOVED" in str(lab.refused(name, Code.APPROVAL_STALE).details)
    lab.git("push", "-q", "origin", ":refs/heads/remit/A-1.1")
    lab.ok("ann", c.EngageKillSwitch("stop"))
    lab.refused(name, Code.KILL_SWITCH_ON)
    assert len(lab.landed()) == 1
    assert lab.item(name).status is Status.APPROVED


def test_a_dry_run_writes_nothing(lab: Lab) -> None:
    name = lab.approved()
    lab.moved({"a.txt": "two\n"})
    events, landed = lab.events(name), lab.landed()
    planned = lab.integration().plan(name)
    assert isinstance(planned, Integrated)
    assert (planned.outcome, planned.way) == ("planned", "merge")
    assert (lab.events(name), lab.landed()) == (events, landed)


def test_nothing_of_the_host_runs_or_moves(lab: Lab) -> None:
    """No hook, no merge driver, no filter; and branches, index and work tree stay as they are."""
    name = lab.approved()
    lab.moved({"work.txt": "\n".join("x123456789") + "\n"})
    trap = lab.root / "ran"
    for hook in ("pre-push", "post-checkout", "pre-merge-commit", "reference-transaction"):
        path = lab.host / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {hook} >> {trap}\n")
        path.chmod(0o755)
    lab.git("config", "merge.trap.driver", f"touch {trap}")
    for place in (lab.host / ".gitattributes", lab.host / ".git" / "info" / "attributes"):
        place.write_text("* merge=trap\n")
    before = lab.git("status", "--porcelain=v2", "--branch"), lab.git("for-each-ref", "refs/heads")
    assert lab.integrate(name).outcome == "shipped"
    assert not trap.exists()
    after = lab.git("status", "--porcelain=v2", "--branch"), lab.git("for-each-ref", "refs/heads")
    assert after == before


def test_a_remote_of_two_places_is_refused(lab: Lab) -> None:
    name = lab.approved()
    lab.git("remote", "set-url", "--push", "origin", str(lab.root / "elsewhere.git"))
    found = lab.refused(name, Code.REPOSITORY_REFUSED)
    assert found.details["repository_code"] == "REMOTE_SPLIT"
    assert len(lab.landed()) == 1


def test_an_old_git_is_named(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    name = lab.approved()
    lab.moved({"a.txt": "two\n"})
    monkeypatch.setattr("remit.repository.landing.OLDEST_GIT", (99, 0))
    found = lab.refused(name, Code.REPOSITORY_REFUSED)
    assert found.details["repository_code"] == "GIT_TOO_OLD"
    assert "99.0 or newer" in found.message


def test_equal_inputs_make_equal_commits(lab: Lab) -> None:
    name = lab.approved(commits=2)
    main = lab.moved({"a.txt": "two\n"})
    work = lab.item(name).work
    assert work is not None
    git = GitRepository(lab.host)
    git.observe_main()
    for way in (Way.MERGE, Way.REBASE):
        made = [
            git.bring_onto(name, work.head, work.base, main, way, seconds)
            for seconds in (1_700_000_000, 1_700_000_000, 1_700_000_001)
        ]
        commits = [one.commit for one in made if isinstance(one, Brought)]
        assert commits[0] == commits[1] != commits[2]
