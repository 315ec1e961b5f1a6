"""The judge of a run can fail: each falsified record is called by its name, an honest one by none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.core.effect_world import RECORD, EffectWorld
from tests.core.world import HUMAN, SECOND
from tests.effects import checker
from tests.effects.checker import Arrived, Run, Sent, judge

from remit.core import commands as c
from remit.core.change import changed
from remit.core.effect_events import EffectIntended, EffectObserved
from remit.core.effect_facts import Comparison, EffectState
from remit.core.events import Recorded

TEST = (Comparison("one", "object_count", "count", "1"),)
VALUES = (("effect_id", "E-1"),)


def honest() -> Run:
    """Sent and lost, found absent, sent again, and found."""
    world = EffectWorld()
    item = world.submit(completion_test=TEST)
    first = world.lease(item)
    world.intend(first)
    at = [world.now + 1]
    world.pass_us(2)
    world.until_over(first)
    world.ended()
    world.pass_us(31 * SECOND)
    world.look("NONE")
    world.pass_us(5 * SECOND)
    world.ok(HUMAN, c.RecheckHolds())
    second = world.lease(item)
    world.intend(second)
    at.append(world.now + 1)
    world.pass_us(2)
    world.ok(second.actor, c.ReportEffect(item, second.fence, "201"))
    world.look("FOUND", values=VALUES, record=RECORD)
    sends = [Sent(f"s{n}", "E-1", "plain", fence) for n, fence in ((1, first.fence), (2, second.fence))]  # fmt: skip
    arrived = [
        Arrived(
            "plain", 1, "s1", "E-1", first.fence, "d", at[0], "lost", (("lost", False, at[0]),)
        ),
        Arrived("plain", 2, "s2", "E-1", second.fence, "d", at[1], "", (("made", False, at[1]),)),
    ]
    return Run(sends, arrived, [world.events()], world.facts(), {"WORK-1": "E-1"}, {"E-1": "d"})


def arriving(run: Run, number: int, **new: Any) -> Run:
    """The run with one arrival changed."""
    some = [replace(one, **new) if one.number == number else one for one in run.arrived]
    return replace(run, arrived=some)


def more(run: Run, **new: Any) -> Run:
    """The run with one arrival more, like the second."""
    return replace(run, arrived=[*run.arrived, replace(run.arrived[1], number=3, **new)])


def without(run: Run, kind: type, *, state: str = "") -> Run:
    """The run with a history that lacks events of a kind."""
    events: Sequence[Recorded] = run.histories[0]
    kept = [
        r for r in events if not (isinstance(r.event, kind) and state in str(getattr(r.event, "state", "")))
    ]  # fmt: skip
    return replace(run, histories=[kept])


def stating(run: Run, **new: Any) -> Run:
    """The run with another state of the effect."""
    facts = dict(run.facts)
    facts["effect", "E-1"] = changed(facts["effect", "E-1"], **new)
    return replace(run, facts=facts)


MADE: tuple[tuple[str, bool, int], ...] = (("made", False, 0),)

FALSE: dict[str, Callable[[Run], Run]] = {
    checker.SECOND_SEND: lambda r: without(r, EffectObserved, state="ABSENT"),
    checker.SECOND_INTENT: lambda r: without(r, EffectObserved, state="ABSENT"),
    checker.SECOND_OBJECT: lambda r: arriving(
        r, 1, outcomes=(("made", False, r.arrived[1].at - 1),)
    ),
    checker.SENT_PRESENT: lambda r: arriving(r, 1, outcomes=(("made", False, r.arrived[0].at),)),
    checker.EARLY: lambda r: arriving(r, 1, outcomes=(("made", False, r.arrived[1].at + 9),)),
    checker.NO_INTENT: lambda r: without(r, EffectIntended),
    checker.AGAIN: lambda r: replace(
        more(r, send="s3", outcomes=()),
        sent=[*r.sent, Sent("s3", "E-1", "plain", r.sent[1].fence)],
    ),
    checker.ON_THE_WIRE: lambda r: more(r, outcomes=()),
    checker.BAD_REPEAT: lambda r: replace(
        more(r, send="s3", outcomes=()),
        sent=[*r.sent, Sent("s3", "E-1", "plain", r.sent[1].fence, repeat=True)],
    ),
    checker.NOT_SO: lambda r: stating(r, state=EffectState.ABSENT),
    checker.NO_END: lambda r: replace(r, works={**r.works, "WORK-2": "E-2"}),
    checker.FENCES: lambda r: replace(r, histories=[[*r.histories[0], *r.histories[0]]]),
}


def test_an_honest_run_has_nothing_wrong() -> None:
    run = honest()
    assert judge(run) == []
    assert (run.counts["intents"], run.counts["PRESENT"], run.counts["objects"]) == (2, 1, 1)


@pytest.mark.parametrize("kind", sorted(FALSE))
def test_a_falsified_run_is_called_by_its_name(kind: str) -> None:
    assert kind in {one.kind for one in judge(FALSE[kind](honest()))}


def test_what_the_way_doubled_is_no_second_send() -> None:
    run = honest()
    at = run.arrived[1].at
    found = judge(arriving(run, 2, outcomes=(("made", False, at), ("made", True, at))))
    assert {one.kind for one in found} == {checker.NOT_SO}, "it only must not end as PRESENT once"


@pytest.mark.parametrize(("epoch", "wrong"), [(0, {checker.EARLY}), (1, set())])
def test_a_ledger_put_back_may_repeat_what_a_lost_one_found_absent(
    epoch: int, wrong: set[str]
) -> None:
    run = honest()
    late = run.arrived[1].at + 9
    repeat = Sent("s3", "E-1", "plain", run.sent[0].fence, repeat=True, epoch=epoch)
    came = {"send": "s3", "fence": repeat.fence, "at": late, "outcomes": (("made", False, late),)}
    run = replace(arriving(run, 2, outcomes=()), sent=[*run.sent, repeat])
    run = replace(more(run, **came), keyed=frozenset(("plain",)))
    assert {one.kind for one in judge(run)} == wrong


def test_an_absence_from_before_a_new_epoch_frees_nothing() -> None:
    run = honest()
    events = list(run.histories[0])
    place = next(i for i, r in enumerate(events) if getattr(r.event, "state", "") == "ABSENT")
    from remit.core.events import EpochAdopted

    adopted = replace(events[place], event=EpochAdopted(1, 0, "put back"), stream="ledger")
    found = judge(replace(run, histories=[[*events[: place + 1], adopted, *events[place + 1 :]]]))
    assert checker.SECOND_SEND in {one.kind for one in found}
