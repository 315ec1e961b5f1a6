"""Rechecking: admission looks again at one item, or in chunks at all that wait.

A chunk is one transaction, so that other writers hardly wait, and the progress is told.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core import commands as c
from remit.core.refusals import Refused
from remit.ports import ItemQuery
from remit.service.engine import Done
from remit.service.reading.items import load_items
from remit.service.reading.rendering import rfc3339
from remit.service.submitting import recheck_holds, standing
from remit.surfaces.cli.answers import Stop
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.submitting import verdict

CHUNK: Final = 500
WAITING: Final = ("draft", "held")
VERDICTS: Final = {"ready": "ADMIT", "draft": "HOLD", "held": "HOLD"}
"""What admission said of work in a status, where it says anything."""

MOST_SHOWN: Final = 1_000
"""Most verdicts that an answer lists: those that changed something."""


def verdict_of(session: Session, name: str, *, changed: bool) -> dict[str, Any]:
    """What admission says of an item after a look, in the shape in which ``submit`` says it.

    Of effect work that is the newest verdict on the ledger, unless it waits for something else since,
    such as a look-up. Of other work it is what its status amounts to: empty where that is past
    admission.
    """
    with session.ledger.reading() as tx:
        [item] = load_items(tx, [name])
        seq, decided = tx.head().seq, standing(tx, item)
    owner, hold = item.owner, item.hold
    found: dict[str, Any] = {
        "work_id": item.alias or item.id,
        "item": item.id,
        "verdict": VERDICTS.get(item.status.value, ""),
        "reason": item.gate,
        "owner": owner.identity if owner else "",
        "recheck": "",
        "recheck_at": None,
        "checks": [],
        "seq": seq,
    }
    if decided is not None:
        found |= verdict(decided)
    if hold is not None:
        found |= {
            "verdict": "HOLD",
            "reason": hold.reason,
            "owner": owner.identity if owner else hold.identity,
            "recheck": hold.trigger,
            "recheck_at": rfc3339(hold.at) if hold.at else None,
        }
    return {**found, "status": item.status.value, "changed": changed}


def recheck_all(session: Session) -> dict[str, Any]:
    """Look again at everything that waits, in chunks; what changed is listed.

    What time has freed goes first, in the order of leases.
    """
    after = done = 0
    changed: list[str] = list(dict.fromkeys(r.stream for r in recheck_holds(session.operations)))
    with shown(session) as report:
        while True:
            query = ItemQuery(statuses=WAITING, after=after, limit=CHUNK)
            with session.ledger.reading() as tx:
                ids = tx.items(query)
                total = done + len(ids)
            if not ids:
                break
            own = f"{session.command_id}/{after}"
            answers = session.operations.recheck([c.Recheck(i) for i in ids], command_id=own)
            for name, answer in zip(ids, answers, strict=True):
                if isinstance(answer, Refused):
                    raise Stop(answer)
                if isinstance(answer, Done) and answer.events:
                    changed.append(name)
            after, done = int(ids[-1][2:]), done + len(ids)
            report("admission", done, total)
    listed = changed[:MOST_SHOWN]
    return {
        "verdicts": [verdict_of(session, name, changed=True) for name in listed],
        "total": done,
        "changed": len(changed),
        "truncated": len(changed) > len(listed),
    }
