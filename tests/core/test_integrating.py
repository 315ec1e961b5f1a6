"""A push of approved work as the core decides it: no lease, one open effect, compare-and-set on the item.

The histories at the end play a remote that compares leases and keeps markers, with pushes that arrive
late or never and answers that get lost, against the core alone: whatever order they come in, a commit
lands once, and nothing is believed to be absent that lands later (INV-13, INV-14).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.core.pushing import about, say, work_of
from tests.core.world import COMMAND, HUMAN, MAIN, RUBRIC, World, sha

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.commands import Text
from remit.core.effect_facts import Effect, EffectState
from remit.core.facts import Item
from remit.core.pushes import push_digest, push_effect, push_fence
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.proofs.patching import planted
from remit.service.engine import Answer, Done

RECONCILER = "remit-reconciler"
OPEN = (EffectState.INTENDED, EffectState.UNCERTAIN, EffectState.CONTRADICTED)


def effect_of(world: World, item: str) -> Effect:
    found = world.fact("effect", push_effect(item))
    assert isinstance(found, Effect)
    return found


def ok(world: World, command: c.Command, actor: str = HUMAN) -> Done:
    answer = say(world, command, actor)
    assert isinstance(answer, Done), answer
    return answer


def no(world: World, command: c.Command, code: Code, actor: str = HUMAN) -> None:
    before = world.state()
    answer = say(world, command, actor)
    assert isinstance(answer, Refused), answer
    assert answer.code is code, answer
    assert world.state() == before


def look(world: World, item: str, result: str, **seen: Any) -> Answer:
    effect = effect_of(world, item)
    now = world.now
    command = c.ObserveEffect(effect.id, "", result, now, effect.version, **seen)
    return say(world, command, RECONCILER)


def test_an_intent_is_bound_to_what_was_approved_and_tested() -> None:
    world = World()
    item = world.until("approved", COMMAND, RUBRIC)
    good = about(world, item)
    for wrong, code in (
        ({"head": sha(5)}, Code.APPROVAL_STALE),
        ({"approval": 1}, Code.APPROVAL_STALE),
        ({"findings": good.findings[:1]}, Code.BAD_INPUT),
        ({"commit": "abc"}, Code.BAD_INPUT),
        ({"commit": MAIN}, Code.BAD_INPUT),
        ({"way": "force"}, Code.BAD_INPUT),
        ({"way": "fast-forward"}, Code.BAD_INPUT),
        ({"artifact_diff": "fine"}, Code.BAD_INPUT),
        ({"artifact_diff": "BLOCKED"}, Code.ROWS_BLOCKED),
        ({"executed": 0}, Code.ROWS_BLOCKED),
        ({"result": "ship-verify-gap", "check": Result.BLOCKED}, Code.ROWS_BLOCKED),
    ):
        no(world, about(world, item, **wrong), code)
    done = ok(world, good)
    assert [type(r.event).__name__ for r in done.events] == [
        "EffectClaimed",
        "IntegrationTested",
        "EffectIntended",
    ]
    effect = effect_of(world, item)
    assert (effect.lease, effect.fence, effect.state) == ("", 1, EffectState.INTENDED)
    assert effect.payload_digest == push_digest(good.commit, MAIN)
    assert world.status(item) == "approved"
    no(world, about(world, item, sha(7_001)), Code.EFFECT_UNRECONCILED)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({"result": "ship-verify-gap", "check": Result.FAIL}, "test-failure"),
        ({"result": "contradicted"}, "test-failure"),
        ({"artifact_diff": "FAIL", "out_of_scope": ("x.py",)}, "scope-breach"),
        ({"artifact_diff": "FAIL", "missing_artifacts": ("dist/x",)}, "ship-unverifiable"),
    ],
)
def test_what_does_not_pass_is_put_aside_and_never_intended(how: dict[str, Any], kind: str) -> None:
    world = World()
    item = world.until("approved")
    ok(world, about(world, item, **how))
    assert world.triage_of(item) == (kind,)
    assert work_of(world, item).push is None
    assert world.fact("effect", push_effect(item)) is None


def test_inv_4_nothing_moves_on_while_a_push_is_open() -> None:
    world = World()
    item = world.until("approved")
    ok(world, about(world, item))
    no(world, c.ReviewWork(item, False, Text("no")), Code.EFFECT_UNRECONCILED, "cat")
    ok(world, c.CloseItem(item, "cancelled", Text("not wanted")))
    assert world.triage_of(item) == ("cancelled-in-flight",)
    no(world, c.CloseItem(item, "failed"), Code.EFFECT_UNRECONCILED)
    no(world, c.CancelWork(item), Code.BAD_INPUT)


def test_what_landed_is_never_undone_by_a_review_or_a_close() -> None:
    world = World()
    item = world.until("approved")
    push = about(world, item)
    ok(world, push)
    assert isinstance(
        look(world, item, "FOUND", objects=1, values=(("commit", push.commit),)), Done
    )
    assert effect_of(world, item).state is EffectState.PRESENT
    no(world, c.ReviewWork(item, False, Text("no")), Code.EFFECT_PRESENT, "cat")
    no(world, c.CloseItem(item, "cancelled"), Code.TRANSITION_REFUSED)
    no(world, about(world, item, sha(7_001)), Code.EFFECT_PRESENT)


def test_only_the_reconciler_says_what_is_there() -> None:
    world = World()
    item = world.until("approved")
    ok(world, about(world, item))
    effect = effect_of(world, item)
    seen = c.ObserveEffect(effect.id, "", "NONE", world.now, effect.version)
    no(world, seen, Code.ACTOR_KIND_REFUSED, "bob")
    ok(world, c.NotePush(effect.id, effect.attempt, "refused", "no"), RECONCILER)
    no(world, seen, Code.OBSERVATION_STALE, RECONCILER)
    no(world, c.NotePush(effect.id, effect.attempt, "refused"), Code.BAD_INPUT, RECONCILER)
    no(
        world,
        c.RepeatRequest(effect.id, effect_of(world, item).version),
        Code.BAD_INPUT,
        RECONCILER,
    )


@dataclass
class Sent:
    """A push that may be under way."""

    item: str
    commit: str
    expected: str
    fence: int
    marker: int
    attempt: str


@dataclass
class Remote:
    """Main that compares leases, and markers that keep what was overtaken out."""

    markers: bool
    main: list[str] = field(default_factory=lambda: [MAIN])
    fences: dict[str, int] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    under_way: list[Sent] = field(default_factory=list)

    def read(self, item: str) -> int:
        return self.fences.get(item, 0)

    def arrive(self, sent: Sent) -> bool:
        overtaken = self.markers and (self.read(sent.item) != sent.marker or sent.item in self.done)
        if self.main[-1] != sent.expected or overtaken:
            return False
        self.main.append(sent.commit)
        self.fences[sent.item], self.done[sent.item] = sent.fence, sent.commit
        return True


class History:
    """Random steps of integrators, a remote, reviewers and the world around them."""

    def __init__(self, seed: int, *, markers: bool) -> None:
        self.rnd = random.Random(seed)
        self.world = World()
        self.remote = Remote(markers)
        self.items = [self.world.until("approved") for _ in range(2)]
        self.commits = 10_000
        self.senders: list[Sent] = []
        self.seen = 0
        self.ends: set[str] = set()

    def run(self, steps: int) -> None:
        ways = (self.intend, self.send, self.arrive, self.look, self.note, self.others, self.judge)
        for _ in range(steps):
            self.rnd.choices(ways, (3, 3, 1, 3, 2, 2, 1))[0]()
            self.check()

    def item(self) -> Item:
        return self.world.item(self.rnd.choice(self.items))

    def effect(self, item: str) -> Effect | None:
        found = self.world.fact("effect", push_effect(item))
        return found if isinstance(found, Effect) else None

    def intend(self) -> None:
        item = self.item()
        if item.status is not Status.APPROVED:
            return
        self.commits += 1
        seen = self.remote.main[-1] if self.rnd.random() < 0.8 else self.remote.main[0]
        command = about(
            self.world,
            item.id,
            sha(self.commits),
            main_before=seen,
            markers=self.remote.markers,
            in_flight_ms=self.rnd.choice((None, 5)),
        )
        before = self.effect(item.id)
        answer = say(self.world, command)
        if isinstance(answer, Done):
            assert before is None or before.state is EffectState.ABSENT, "one open push an item"
            effect = effect_of(self.world, item.id)
            marker = self.remote.read(item.id)
            self.senders.append(
                Sent(item.id, command.commit, seen, effect.fence, marker, effect.attempt)
            )

    def send(self) -> None:
        """A sender reads the marker again, and sends; one that was overtaken sees that."""
        if not self.senders:
            return
        sent = self.senders.pop(self.rnd.randrange(len(self.senders)))
        sent.marker = self.remote.read(sent.item)
        if not self.remote.markers or sent.marker <= sent.fence:
            self.remote.under_way.append(sent)
            if self.rnd.random() < 0.5:
                self.answered(sent)

    def answered(self, sent: Sent) -> None:
        """The answer comes at once, and is noted: nothing of it is under way any more."""
        self.remote.under_way.remove(sent)
        end = "answered" if self.remote.arrive(sent) else "refused"
        say(self.world, c.NotePush(push_effect(sent.item), sent.attempt, end), RECONCILER)

    def arrive(self) -> None:
        """A push whose answer nobody gets arrives, or is lost for good."""
        if self.remote.under_way:
            late = self.remote.under_way
            sent = late.pop(self.rnd.randrange(len(late)))
            if self.rnd.random() < 0.7:
                self.remote.arrive(sent)

    def note(self) -> None:
        """A sender that got no answer says so; what it sent arrives within its bound or not at all."""
        for sent in [s for s in self.remote.under_way if self.rnd.random() < 0.5]:
            push = work_of(self.world, sent.item).push
            bound = push.in_flight_ms if push is not None else None
            note = c.NotePush(push_effect(sent.item), sent.attempt, "unanswered")
            if isinstance(say(self.world, note, RECONCILER), Done) and bound is not None:
                self.remote.under_way.remove(sent)
                if self.rnd.random() < 0.5:
                    self.remote.arrive(sent)
                self.world.pass_us(6_000)

    def look(self) -> None:
        item = self.item()
        effect = self.effect(item.id)
        if effect is None:
            return
        if self.rnd.random() < 0.1:
            look(self.world, item.id, "UNAVAILABLE")
            return
        push = item.work.push if item.work is not None else None
        if push is None:
            return  # another round of work began, and nothing of it was pushed yet
        fence = push_fence(0, effect.intents)
        there = push.commit in self.remote.main
        if self.remote.markers:
            there = item.id in self.remote.done
            if not there and self.remote.read(item.id) < fence:
                self.remote.fences[item.id] = fence
        now = (("ref_now", self.remote.main[-1]),)
        if there:
            values = (("commit", self.remote.done[item.id]), *now)
            look(self.world, item.id, "FOUND", objects=1, values=values)
        elif self.remote.markers:
            look(self.world, item.id, "NONE", confirmed_fence=fence)
        else:
            look(self.world, item.id, "NONE", values=now)

    def others(self) -> None:
        if self.rnd.random() < 0.3:
            self.commits += 1
            self.remote.main.append(sha(self.commits))
        self.world.pass_us(1_000)

    def judge(self) -> None:
        """Reviewers, people who close, and the observation that ships."""
        item = self.item()
        before = self.effect(item.id)
        way = self.rnd.choice(("reject", "close", "cancel", "ship"))
        match way:
            case "reject":
                answer = say(self.world, c.ReviewWork(item.id, False, Text("no")), "cat")
            case "ship":
                if not (item.work and item.work.push and item.work.push.commit in self.remote.main):
                    return
                ship = self.world.ship_of(item.id)
                self.ends.add("ship")
                say(self.world, ship)
                return
            case _:
                outcome = "failed" if way == "close" else "cancelled"
                answer = say(self.world, c.CloseItem(item.id, outcome, Text("no")))
        now = self.world.item(item.id)
        if isinstance(answer, Done) and before is not None and now.work is not None:
            held = before.state in OPEN and now.work.push is not None
            put_aside = now.status is Status.TRIAGED
            assert not held or put_aside, f"{way} of {item.id} with its push {before.state}"
        if isinstance(answer, Done):
            self.again(item.id)

    def again(self, name: str) -> None:
        """Rejected work comes back approved, with another head."""
        if self.world.item(name).status is Status.READY:
            lease = self.world.lease(name)
            self.world.complete(lease)
            self.world.ok("cat", c.ReviewWork(name, approve=True, reason=Text("good")))

    def check(self) -> None:
        landed = self.remote.main
        assert len(landed) == len(set(landed)), "a commit landed twice"
        for name in self.items:
            effect = self.effect(name)
            if effect is None:
                continue
            self.ends.add(str(effect.state))
            if effect.state is EffectState.ABSENT:
                late = [s for s in self.remote.under_way if s.item == name]
                alive = [s for s in late if Remote.arrive(self.copy(), s)]
                assert not alive, "absent, and it may land yet"
            if effect.state is EffectState.PRESENT:
                assert self.remote.done[name] in landed, "present, and not there"

    def copy(self) -> Remote:
        remote = self.remote
        return Remote(remote.markers, [*remote.main], {**remote.fences}, {**remote.done})


def histories(markers: bool, seeds: range, steps: int = 80) -> set[str]:
    ends: set[str] = set()
    for seed in seeds:
        history = History(seed, markers=markers)
        try:
            history.run(steps)
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}, markers {markers}: {wrong}") from wrong
        ends |= history.ends
    return ends


@pytest.mark.parametrize("markers", [True, False])
def test_inv_14_a_push_lands_once_in_a_random_history(markers: bool) -> None:
    ends = histories(markers, range(60))
    assert {"PRESENT", "ABSENT", "UNCERTAIN", "INTENDED", "ship"} <= ends


FAULTS = [
    ("remit.core.pushes:settle_push", 'if now not in ("", push.expected):', "if True:", False),
    ("remit.core.pushes:push_fence", "intents + 1", "intents", True),
    (
        "remit.core.decide.integrating:_push",
        "state_of(draft, effect) not in INTENDABLE",
        "state_of(draft, effect) is EffectState.PRESENT",
        True,
    ),
    ("remit.core.decide.pushing:note_push", 'if cmd.end == "unanswered":', "if False:", False),
    ("remit.core.view:Draft.emit", " or _pushed(fact)", "", True),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f[0]}-{f[1][:20]}" for f in FAULTS])
def test_with_a_guard_taken_out_a_history_finds_it(fault: tuple[str, str, str, bool]) -> None:
    target, old, new, markers = fault
    with planted(target, old, new), pytest.raises(Exception):  # noqa: B017, PT011  # by whichever it is seen
        histories(markers, range(60))
