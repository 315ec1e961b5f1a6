"""From hand-in to the end of the chain: review, integration, ship, verification.

Nobody holds a lease here, so nothing is renewed, and each part asks first where the item stands: a
person may have reviewed meanwhile, or an earlier holder of the run may have come further than it could
write down. What cannot be settled here stays where it is, and the entry says how far it got.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from remit.core import triage_records as records
from remit.core.facts import Item
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.drain import reviewing, words
from remit.drain.workplace import Integrated, Job, Ready, Told, Worked

if TYPE_CHECKING:
    from remit.drain.journey import Journey

Walk = Generator[Job, Any, Any]

TRIES: Final = 4
"""How often an integration or an observation that could not be made now is asked for."""

_LATER: Final = frozenset(
    {"EFFECT_UNRECONCILED", "MAIN_MOVED", "ROWS_BLOCKED", "REMOTE_UNREACHABLE",
     "REPOSITORY_REFUSED", "NOT_SENT", "COMMIT_UNMERGED"}
)  # fmt: skip
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
    if item.status is Status.IN_REVIEW and journey.hands.judging and not journey.halted:
        yield from _review(journey, item)
        item = journey.hands.item(item.id)
    if item.status is Status.APPROVED:
        journey.note("reviewed")
        if journey.options.way != "none" and not journey.halted:
            yield from _integrate(journey)
            item = journey.hands.item(item.id)
    if item.status is Status.SHIPPED:
        journey.note("shipped")
        if not journey.halted:
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
    hold_attempt, work = journey.entry.attempt, item.work
    assert work is not None, "an item in review was handed in"
    hands = journey.hands
    task = reviewing.task_of(hands.run, item, hold_attempt)
    site = hands.place.review_site(task, work.head, work.base)
    journey.act("review")
    for left in reversed(range(1 + words.RESTARTS)):
        ready: Ready = yield site.ready
        if ready.unfit:
            continue
        diff: str = yield site.diff
        brief = reviewing.brief_of(hands.requirements(item.id), work.head, work.base, diff)
        journey.running(site.stop)
        keep = reviewing.keep(hands.killed)
        worked: Worked = yield lambda b=brief, k=keep: site.work(b, k, journey.reviewing)
        journey.running(None)
        if not (worked.ending.killed and left and not journey.halted):
            break
    yield site.clear
    if ready.unfit:
        journey.aside(f"review:{','.join(check.check for check in ready.unfit)}")
        return
    found = worked.result
    verdict = reviewing.verdict(found, work.head)
    if verdict is None or journey.halted:
        journey.aside(f"review:{found.code}")
        return
    answer = hands.review(journey.entry, work.head, verdict, reviewing.reason(found))
    if isinstance(answer, Refused):
        journey.aside(f"review:{answer.code.value}")
    elif not verdict:
        journey.settle("released", journey.entry.spent_micros, "rejected")


def _integrate(journey: Journey) -> Walk:
    hands = journey.hands
    journey.act("integrate")
    found: Integrated | Refused
    for _ in range(TRIES):
        found = yield lambda: hands.integrate(journey.entry, journey.options.way)
        if not isinstance(found, Refused) or found.code.value not in _LATER or journey.halted:
            break
    if isinstance(found, Refused):
        journey.aside(f"integrate:{found.code.value}")
        return
    if found.outcome == "triaged":
        journey.aside(f"integrate:{found.triage}")
        return
    if found.outcome == "open":
        journey.aside(f"pull-request:{found.detail[:300]}")
        return
    journey.note("integrated", head=found.commit)
    if found.outcome == "pushed":
        yield from _ship(journey, found.commit)


def _ship(journey: Journey, sha: str) -> Walk:
    hands = journey.hands
    journey.act("ship")
    for _ in range(TRIES):
        answer = yield lambda: hands.ship(journey.entry, sha)
        if not isinstance(answer, Refused) or answer.code.value not in _LATER:
            break
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
    for _ in range(TRIES):
        answer = yield lambda: hands.verify(journey.entry)
        if not isinstance(answer, Refused) or answer.code.value not in _LATER or journey.halted:
            break
    if isinstance(answer, Refused):
        journey.aside(f"verify:{answer.code.value}")
    else:
        journey.tell(Told("verified", journey.entry.item))
