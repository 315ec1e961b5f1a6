"""One push: whatever the remote answers, or does not, and whoever comes in between (INV-13, INV-14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.integrating.lab import Lab

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.effect_events import EffectIntended, EffectObserved
from remit.core.refusals import Code, Refused, meaning
from remit.core.status import Status
from remit.service.integrating import Integrated
from remit.service.pushing import due
from remit.verify.builtin import BuiltInVerifier
from remit.wiring import Settings
from remit.wiring.integrating import pushes

ONCE = 'mark="$GIT_DIR/once"; [ -e "$mark" ] && exit 0; touch "$mark"'
MAIN_ONLY = '[ "$1" = refs/heads/main ] || exit 0'


def claims(lab: Lab, name: str) -> dict[str, Result]:
    event = next(e for e in lab.pushed(name) if isinstance(e, EffectIntended))
    return {check.check: check.result for check in event.checks}


@pytest.mark.parametrize("markers", [True, False])
def test_inv_13_a_lost_answer_is_settled_by_looking(lab: Lab, markers: bool) -> None:
    """The server took it and dies before it says so: it is found there, and nothing is sent again."""
    lab.settings = Settings(markers=markers)
    name = lab.approved()
    lab.hook("post-receive", f"{ONCE}; kill -9 $PPID")
    found = lab.integrate(name)
    assert (found.outcome, found.state) == ("shipped", "PRESENT")
    assert len(lab.landed()) == 2
    told = [type(event).__name__ for event in lab.pushed(name)]
    assert told == [
        "EffectClaimed",
        "EffectIntended",
        "EffectUncertain",
        "WorkerTerminated",
        "EffectObserved",
    ]


def test_a_push_that_died_on_the_way_is_kept_out_before_another(lab: Lab) -> None:
    name = lab.approved()
    lab.hook("update", f"{MAIN_ONLY}; {ONCE}; kill -9 $PPID")
    found = lab.integrate(name)
    assert found.outcome == "shipped"
    assert len(lab.landed()) == 2
    seen = [e for e in lab.pushed(name) if isinstance(e, EffectObserved)]
    assert [(e.state, e.basis) for e in seen] == [
        ("ABSENT", "higher-fence-confirmed"),
        ("PRESENT", "in-flight-bound-passed"),
    ]
    assert lab.effect(name).intents == 2


def test_without_markers_it_is_put_aside_until_main_moves(lab: Lab) -> None:
    """Nothing says that it cannot land any more, so nothing is pushed beside it."""
    lab.settings = Settings(markers=False)
    name = lab.approved()
    lab.hook("update", f"{MAIN_ONLY}; {ONCE}; kill -9 $PPID")
    found = lab.refused(name, Code.OUTCOME_UNKNOWN)
    assert meaning(found.code).exit_status == 9
    [record] = lab.records(name)
    assert (record.triage_kind, record.from_) == ("effect-uncertain", "approved")
    lab.refused(name, Code.TRANSITION_REFUSED)
    lab.moved({"a.txt": "two\n"})
    looked = pushes(lab.ledger, lab.host).one(f"push/{name}")
    assert not isinstance(looked, Refused), looked
    seen = [e for e in lab.pushed(name) if isinstance(e, EffectObserved)]
    assert [(e.state, e.basis) for e in seen] == [("UNCERTAIN", ""), ("ABSENT", "main-moved")]
    assert lab.item(name).status is Status.APPROVED
    assert lab.integrate(name).outcome == "shipped"
    assert len(lab.landed()) == 3


def test_what_a_remote_does_not_enforce_is_a_narrowed_claim(lab: Lab) -> None:
    one = lab.approved({"one.txt": "good\n", "work.txt": "good\n"})
    lab.integrate(one)
    lab.settings = Settings(markers=False)
    two = lab.approved(
        {"two.txt": "good\n", "work.txt": "good too\n"}, argv=("test", "-e", "two.txt")
    )
    lab.integrate(two)
    named = ("lease-on-main", "external-fencing", "in-flight-bound")
    full, plain = claims(lab, one), claims(lab, two)
    assert [full[name] for name in named] == [Result.PASS, Result.PASS, Result.BLOCKED]
    assert [plain[name] for name in named] == [Result.PASS, Result.BLOCKED, Result.BLOCKED]
    refs = lab.git("for-each-ref", "refs/remit", cwd=lab.origin).splitlines()
    assert len(refs) == 1


def test_a_remote_that_says_no_is_told_as_it_says(lab: Lab) -> None:
    name = lab.approved()
    lab.hook("pre-receive", "exit 1")
    found = lab.refused(name, Code.DESTINATION_REFUSED)
    assert "pre-receive hook declined" in found.message
    assert lab.effect(name).state == "ABSENT"
    assert lab.item(name).status is Status.APPROVED
    (lab.origin / "hooks" / "pre-receive").unlink()
    assert lab.integrate(name).outcome == "shipped"
    assert len(lab.landed()) == 2


def test_a_remote_that_refuses_markers_is_told_how_to_go_on(lab: Lab) -> None:
    name = lab.approved()
    lab.hook("update", 'case "$1" in refs/remit/*) exit 1;; esac')
    found = lab.refused(name, Code.DESTINATION_REFUSED)
    assert "markers = false" in found.hint
    assert len(lab.landed()) == 1
    lab.settings = Settings(markers=False)
    assert lab.integrate(name).outcome == "shipped"
    assert len(lab.landed()) == 2


class Meanwhile:
    """A verifier beside whose work somebody else does something."""

    def __init__(self, lab: Lab, act: Callable[[int], object]) -> None:
        self.inner = BuiltInVerifier(lab.ledger.delivery("ann", lab.host).repository)  # type: ignore[arg-type]  # it is the git one
        self.act = act
        self.runs = 0
        self.commits: list[str] = []

    def verify(self, shipped: str, *rest: Any) -> Any:
        self.runs += 1
        self.commits.append(shipped)
        self.act(self.runs)
        return self.inner.verify(shipped, *rest)


@pytest.mark.parametrize("markers", [True, False])
def test_a_main_that_moves_while_it_is_tested_is_followed(lab: Lab, markers: bool) -> None:
    lab.settings = Settings(markers=markers)
    name = lab.approved()

    def once(run: int) -> None:
        if run == 1:
            lab.moved({"a.txt": "two\n"})

    verifier = Meanwhile(lab, once)
    found = lab.integration(verifier=verifier).integrate(name)
    assert isinstance(found, Integrated), found
    assert (found.outcome, found.way, found.commit) == ("shipped", "merge", verifier.commits[-1])
    assert verifier.runs == 2
    assert lab.main() == verifier.commits[-1]
    assert verifier.commits[0] not in lab.landed()


def test_a_main_that_never_rests_is_left_to_another_time(lab: Lab) -> None:
    name = lab.approved()
    verifier = Meanwhile(lab, lambda run: lab.moved({"a.txt": f"{run}\n"}))
    found = lab.integration(verifier=verifier).integrate(name)
    assert isinstance(found, Refused)
    assert (found.code, verifier.runs) == (Code.MAIN_MOVED, 3)
    assert lab.item(name).status is Status.APPROVED
    assert not set(verifier.commits) & set(lab.landed())


def test_what_was_reviewed_anew_meanwhile_is_not_pushed(lab: Lab) -> None:
    name = lab.approved()

    def rejected(run: int) -> None:
        lab.ok("eve", c.ReviewWork(name, False, c.Text("no")))

    found = lab.integration(verifier=Meanwhile(lab, rejected)).integrate(name)
    assert isinstance(found, Refused)
    assert found.code is Code.TRANSITION_REFUSED
    assert len(lab.landed()) == 1


def test_inv_14_who_was_paused_before_the_push_comes_too_late(lab: Lab) -> None:
    """Another process takes over between intent and push; the first one's push is refused."""
    name = lab.approved()
    slow = lab.integration()
    sent: list[Any] = []
    real = slow.push.send

    class Paused:
        name = slow.push.name
        enforced = slow.push.enforced
        look_up = slow.push.look_up

        def send(self, request: Any) -> Any:
            if not sent:
                sent.append(lab.integrate(name))
            return real(request)

    slow.push = Paused()
    found = slow.integrate(name)
    assert len(lab.landed()) == 2
    assert sent[0].outcome == "shipped"
    assert isinstance(found, Refused)
    assert found.code is Code.TRANSITION_REFUSED


def test_a_remote_that_is_away_leaves_it_unknown_until_it_is_back(lab: Lab) -> None:
    name = lab.approved()
    away = lab.root / "away.git"
    lab.hook("post-receive", f"{ONCE}; mv {lab.origin} {away}; kill -9 $PPID")
    found = lab.refused(name, Code.OUTCOME_UNKNOWN, command_id="c-1")
    assert found.details["state"] == "UNCERTAIN"
    lab.refused(name, Code.EFFECT_UNRECONCILED, command_id="c-1")
    for move in (c.ReviewWork(name, False, c.Text("no")), c.CloseItem(name, "failed")):
        refused = lab.ledger.acting("eve").run(move)
        assert isinstance(refused, Refused)
    away.rename(lab.origin)
    done = lab.integrate(name, command_id="c-1")
    assert done.outcome == "shipped"
    assert len(lab.landed()) == 2
    again = lab.integrate(name, command_id="c-1")
    assert (again.commit, again.results, again.main_after) == (
        done.commit,
        done.results,
        done.main_after,
    )


def test_a_main_that_was_put_back_contradicts_what_was_pushed(lab: Lab) -> None:
    name = lab.approved()
    before = lab.main()
    assert lab.integration().integrate(name, ship=False).outcome == "pushed"  # type: ignore[union-attr]  # asserted
    lab.git("update-ref", "refs/heads/main", before, cwd=lab.origin)
    looked = pushes(lab.ledger, lab.host).one(f"push/{name}")
    assert not isinstance(looked, Refused), looked
    assert lab.effect(name).state == "CONTRADICTED"
    assert [r.triage_kind for r in lab.records(name)] == ["effect-mismatch"]


def test_pushed_work_is_shipped_in_a_step_of_its_own(lab: Lab) -> None:
    name = lab.approved()
    once = lab.integration().integrate(name, ship=False, command_id="c-1")
    again = lab.integration().integrate(name, ship=False, command_id="c-1")
    for found in (once, again):
        assert isinstance(found, Integrated), found
        assert (found.outcome, found.commit, found.main_after) == ("pushed", lab.main(), lab.main())
    assert lab.item(name).status is Status.APPROVED
    assert not isinstance(lab.integration().ship(name, command_id="c-2"), Refused)
    assert lab.item(name).status is Status.SHIPPED
    assert len(lab.landed()) == 2


def test_cancelled_while_it_was_pushed_is_settled_by_what_is_seen(lab: Lab) -> None:
    lab.settings = Settings(markers=False)
    lost, there = lab.approved(), lab.approved({"b.txt": "good\n"}, argv=("test", "-e", "b.txt"))
    lab.hook("update", f"{MAIN_ONLY}; kill -9 $PPID")
    for name in (lost, there):
        integration = lab.integration()
        integration.pushes.look = lambda item: Refused(Code.REMOTE_UNREACHABLE, "away")  # type: ignore[method-assign]  # nobody can look
        assert isinstance(integration.integrate(name), Refused)
        lab.ok("ann", c.CloseItem(name, "cancelled", c.Text("not wanted")))
        assert lab.item(name).status is Status.TRIAGED
        assert lab.records(name)[-1].triage_kind == "cancelled-in-flight"
    (lab.origin / "hooks" / "update").unlink()
    work = lab.item(there).work
    assert work is not None
    assert work.push is not None
    lab.git("push", "-q", "origin", f"{work.push.commit}:main")
    looker = pushes(lab.ledger, lab.host)
    with lab.ledger.reading() as tx:
        assert sorted(due(tx)) == sorted(f"push/{name}" for name in (lost, there))
    for name in (lost, there):
        assert not isinstance(looker.one(f"push/{name}"), Refused)
    assert (lab.item(lost).status, lab.item(lost).outcome) == (Status.CLOSED, "cancelled")
    assert lab.item(there).status is Status.APPROVED
    assert lab.integrate(there).outcome == "shipped"
    with lab.ledger.reading() as tx:
        assert due(tx) == []
