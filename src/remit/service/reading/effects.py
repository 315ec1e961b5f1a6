"""Reading effects: what is known of one, and what a look-up made of it.

A state is told as it stands under the ledger's present epoch, so after an adoption every effect reads
as uncertain until somebody has looked.
"""

from __future__ import annotations

from typing import Any

from remit.core.effect_events import RetryDecided
from remit.core.effect_facts import Effect
from remit.core.effect_states import standing
from remit.core.facts import LEDGER, Ledger
from remit.core.outside_events import EffectObserved
from remit.core.refusals import Refused
from remit.ports import ReadTx
from remit.service.engine import Answer
from remit.service.reading import rendering


def effect(tx: ReadTx, name: str) -> dict[str, Any] | None:
    """One effect in full, None where there is none."""
    facts = tx.load([("effect", name), LEDGER])
    fact, ledger = facts["effect", name], facts[LEDGER]
    if not isinstance(fact, Effect) or not isinstance(ledger, Ledger):
        return None
    shown: dict[str, Any] = rendering.plain(fact)
    return {**shown, "effect_id": fact.id, "state": str(standing(fact, ledger.epoch))}


def looked(tx: ReadTx, name: str, answer: Answer, why: str = "") -> dict[str, Any]:
    """What a look-up saw, what the effect is since, and the retry decision that followed.

    ``why`` says why the record could not be read, in the words of its destination. ``refused`` is the
    code with which the ledger refused what was seen, empty where it took it.
    """
    events = () if isinstance(answer, Refused) else answer.events
    seen = next((r.event for r in events if isinstance(r.event, EffectObserved)), None)
    retry = next((r.event for r in events if isinstance(r.event, RetryDecided)), None)
    known = effect(tx, name) or {"state": "", "item": ""}
    return {
        "effect_id": name,
        "item": known["item"],
        "observation": seen.result if seen else "",
        "checks": [rendering.plain(check) for check in seen.checks] if seen else [],
        "effect": known["state"],
        "retry": retry.decision if retry else "",
        "reason": retry.reason if retry else "",
        "recheck": retry.trigger if retry else "",
        "recheck_at": rendering.rfc3339(retry.recheck_at) if retry and retry.recheck_at else None,
        "seq": events[-1].seq if events else 0,
        "why": why,
        "refused": answer.code.value if isinstance(answer, Refused) else "",
    }
