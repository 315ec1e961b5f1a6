"""The worksheet of effect work, put together from its sections.

``worksheet(tx, item)`` answers for ``explain``. It writes nothing, looks at no clock, and says the
same of the same events for ever: with ``--at`` it is the sheet that stood there then.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.effect_facts import Intent
from remit.core.facts import Item
from remit.core.status import Status
from remit.ports import ReadTx
from remit.service.reading import rendering
from remit.service.reading.lease_now import lease_now
from remit.service.reading.sheets import claims, outside, states
from remit.service.reading.sheets.capacity import capacity
from remit.service.reading.sheets.story import Story, at

OUT_OF_SCOPE: Final = (
    "whether the request is authorized or lawful",
    "what lies outside the named records",
    "how long an effect will last",
    "the quality of what a worker makes",
)
"""Claims that no worksheet supports."""


BEFORE: Final = 4
"""Where the section on a lease stands: after the decision, before who owns the work."""


def story_of(tx: ReadTx, item: Item) -> Story | None:
    """The story of effect work, None where it has no intent."""
    intent = tx.load([("intent", item.id)])["intent", item.id]
    return Story(tx, item, intent) if isinstance(intent, Intent) else None


def worksheet(tx: ReadTx, item: Item) -> dict[str, Any] | None:
    """The worksheet with what ``explain`` answers beside it; None where it has no intent."""
    story = story_of(tx, item)
    if story is None:
        return None
    found, lease = told(story), lease_now(tx, item)
    if lease is not None:
        section, how = lease
        found["worksheet"]["sections"].insert(BEFORE, section)
        found["how_to_open"] = found["how_to_open"] or how
    return found


def told(story: Story) -> dict[str, Any]:
    """The same of a story that is at hand."""
    item, owner = story.item, story.item.owner
    decided = story.admission.event if story.admission else None
    hold = item.hold
    checks = rendering.plain(decided.checks) if decided else []
    return {
        "worksheet": sheet(story),
        "id": item.id,
        "status": item.status.value,
        "question": _question(story),
        "verdict": "HOLD" if hold else decided.verdict if decided else "NOT_DECIDED",
        "reason": (hold.reason if hold else decided.reason if decided else "") or "",
        "gate": None,
        "trigger": (hold.trigger if hold else decided.trigger if decided else "") or None,
        "owner": {"kind": owner.kind.value, "identity": owner.identity} if owner else None,
        "checks": checks,
        "recorded": {"gate": None, "hold": rendering.plain(hold)},
        "how_to_open": _next(story),
        "as_of_seq": story.seq,
    }


def sheet(story: Story) -> dict[str, Any]:
    """The sheet itself."""
    given, decided = story.envelope, story.admission
    validated = story.validated
    return {
        "id": f"{story.item.id}@{story.seq}",
        "question": _question(story),
        "controlled_condition": "the events of this work and its effect up to this seq; nothing"
        " outside the ledger was looked at",
        "span": {
            "from_seq": story.events[0].seq if story.events else 0,
            "as_of_seq": story.seq,
            "from": at(story.events[0].at) if story.events else "-",
            "to": at(story.now),
            "item_version": story.item.version,
            "events_left_out": story.left_out,
        },
        "system_boundary": f"ledger {story.ledger_id}; workers, queues and"
        f" {given.destination or 'the destination'} lie outside",
        "exact_operation": given.operation_id or "-",
        "logical_effect": given.effect_id or "-",
        "out_of_scope": list(OUT_OF_SCOPE),
        "revisions": {
            "candidate": given.candidate_revision or None,
            "policy": (decided.event.policy if decided else story.intent.policy) or None,
            "validation": validated.event.validation if validated else None,
            "dependency": story.destination.label if story.destination else None,
            "claims": claims.REVISION,
        },
        "sections": sections(story),
    }


def sections(story: Story) -> list[dict[str, Any]]:
    """All sections, in the order in which one reads them."""
    return [
        states.envelope(story),
        states.separation(story),
        capacity(story),
        states.decision(story),
        outside.ownership(story),
        outside.attempted(story),
        outside.retry(story),
        outside.reconciliation(story),
        states.verdicts(story),
        outside.oracle(story),
    ]


def _question(story: Story) -> str:
    name = story.envelope.work_id or story.item.id
    if story.item.terminal:
        return f"What became of {name}?"
    if story.granted is None:
        return f"May {name} join those that wait for a worker?"
    return f"May {story.envelope.effect_id} of {name} be sent again?"


def _next(story: Story) -> str:
    item, hold = story.item, story.item.hold
    if item.status is Status.TRIAGED and item.triage:
        return f"settle it: 'remit triage show {item.triage[0]}'"
    if hold is None:
        return ""
    kind, _, what = hold.trigger.partition(":")
    return {
        "capacity": f"post an observation of {what}: 'remit capacity observe'",
        "reconcile": f"look it up: 'remit reconcile {what}'",
        "recovery": f"when {what} can be read again: 'remit reconcile {story.envelope.effect_id}'",
        "dependency": f"finish {what} first: 'remit show {what}'",
        "destination": f"register {what}: 'remit policy apply'",
        "cancellation": f"say whether it is wanted: 'remit cancel {item.id}'",
        "time": f"wait until {at(int(what)) if what.isdigit() else what}",
    }.get(kind, f"'remit recheck {item.id}'")
