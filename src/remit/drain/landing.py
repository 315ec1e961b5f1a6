"""From hand-in to the end of the chain: review, integration, ship, verification.

Nobody holds a lease here, so nothing is renewed, and each part asks first where the item stands: a
person may have reviewed meanwhile, or an earlier holder of the run may have come further than it could
write down. What cannot be settled here stays where it is, and the entry says how far it got.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from remit.core import triage_records as records
from remit.core.facts import Item
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.drain import reviewing, standing, words
from remit.drain.agents.outcomes import Result as AgentResult
from remit.drain.workplace import Integrated, Job, Keep, Ready, ReviewSite, Told, Worked
from remit.ports.agent import Progress

if TYPE_CHECKING:
    from remit.core.work_facts import Work
    from remit.drain.journey import Journey
    from remit.service.engine import Answer

Walk = Generator[Job, Any, Any]

_UNSHIPPABLE: Final = (
    Code.COMMIT_MISMATCH, Code.COMMIT_ABSENT, Code.COMMIT_UNMERGED, Code.MAIN_REWRITTEN,
)  # fmt: skip
"""Why what landed cannot be tied to what was reviewed; people have to look."""

_OUTCOMES: Final = {
    Status.IN_REVIEW: "in-review",
    Status.APPROVED: "approved",
    Status.SHIPPED: "shipped",
    Status.VERIFIED: "verified",
    Status.TRIAGED: "triaged",
}


def land(journey: Journey, item: Item) -> Walk:
    """As far as the run may bring what was handed in; the entry is settled at the end."""
    if item.status is Status.IN_REVIEW and journey.hands.judging and not journey.must_end():
        yield from _review(journey, item)
        item = journey.hands.item(item.id)
    if item.status is Status.APPROVED:
        journey.note("reviewed")
        if journey.options.way != "none" and not journey.must_end():
            yield from _integrate(journey)
            item = journey.hands.item(item.id)
    if item.status is Status.SHIPPED:
        journey.note("shipped")
        if not journey.must_end():
            yield from _verify(journey)
            item = journey.hands.item(item.id)
    if item.status is Status.VERIFIED:
        journey.note("verified")
    if not journey.settled:
        settle_as(journey, item)


def settle_as(journey: Journey, item: Item) -> None:
    """Settle by where the item stands."""
    outcome = _OUTCOMES.get(item.status, "released")
    journey.settle(outcome, journey.entry.spent_micros, journey.detail)


def _review(journey: Journey, item: Item) -> Walk:
    """A reviewing agent's verdict, where it gives one; without one the item waits for people."""
    work, hands = item.work, journey.hands
    assert work is not None, "an item in review was handed in"
    journey.act("review")
    task = reviewing.task_of(hands.run, item, journey.entry.attempt)
    site = hands.place.review_site(task, work.head, work.base)
    found: AgentResult | str = yield from _reviewed(journey, site, item, work)
    yield site.clear
    if isinstance(found, str):
        journey.aside(f"review:{found}")
        return
    verdict = reviewing.verdict(found, work.head)
    if verdict is None or journey.must_end():
        journey.aside(f"review:{found.code}")
        return
    answer = hands.review(journey.entry, work.head, verdict, reviewing.reason(found))
    if isinstance(answer, Refused):
        journey.aside(f"review:{answer.code.value}")
    elif not verdict:
        journey.settle("released", journey.entry.spent_micros, "rejected")


def _reviewed(journey: Journey, site: ReviewSite, item: Item, work: Work) -> Walk:
    """The reviewer's result, or why there is none. Who was killed from outside begins again."""
    hands = journey.hands
    left = 1 + words.RESTARTS
    while True:
        left -= 1
        ready: Ready = yield site.ready
        hands.seen(journey.entry, "review-probed", ready.checks)
        if ready.unfit:
            if left:
                continue
            return ",".join(check.check for check in ready.unfit)
        diff: str = yield site.diff
        brief = reviewing.brief_of(hands.requirements(item.id), work.head, work.base, diff)
        journey.running(site.stop)
        worked: Worked = yield _agent(site, brief, reviewing.keep(hands.killed), journey.reviewing)
        journey.running(None)
        hands.seen(journey.entry, "review-ended", worked.checks, worked.figures, worked.transcript)
        if not (worked.ending.killed and left) or journey.must_end():
            return worked.result


def _agent(site: ReviewSite, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Job:
    return lambda: site.work(brief, keep, told)


def _integrate(journey: Journey) -> Walk:
    hands = journey.hands
    journey.act("integrate")
    found: Integrated | Refused = yield from journey.asked(
        lambda: hands.integrate(journey.entry, journey.options.way)
    )
    if isinstance(found, Refused):
        journey.aside(standing.detail(found, journey.options.way, hands.last_main()))
        return
    if found.outcome == "triaged":
        journey.aside(f"integrate:{found.triage}")
        return
    if found.outcome in ("open", "closed"):
        journey.aside(f"pull-request-{found.outcome}:{found.detail[:300]}")
        return
    journey.note("integrated", head=found.commit)
    if found.outcome != "shipped":
        yield from _ship(journey, found.commit)


def _ship(journey: Journey, sha: str) -> Walk:
    hands = journey.hands
    journey.act("ship")
    answer: Answer = yield from journey.asked(lambda: hands.ship(journey.entry))
    if not isinstance(answer, Refused):
        return
    if answer.code not in _UNSHIPPABLE:
        journey.aside(f"ship:{answer.code.value}")
        return
    record = records.ship_unverifiable(why=answer.code.value, commit=sha)
    hands.triage(journey.entry, record, answer.message)


def _verify(journey: Journey) -> Walk:
    hands = journey.hands
    journey.act("verify")
    answer: Answer = yield from journey.asked(lambda: hands.verify(journey.entry))
    if isinstance(answer, Refused):
        journey.aside(f"verify:{answer.code.value}")
    else:
        journey.tell(Told("verified", journey.entry.item))
