"""Acts of human authority, and the proof that each of them needs (INV-15).

An act is one event that only a human may bring about. Where policy does not accept unproved acts, it
needs that human's own signature; where it does, the event says that nothing proved it.
"""

from __future__ import annotations

from remit.core.decide.asking import human_only
from remit.core.events import Event
from remit.core.refusals import Code, Refused
from remit.core.view import Draft


def enact(draft: Draft, kind: str, name: str, event: Event, doing: str) -> Refused | None:
    """Write the event of a human's act, as the asking human, with what proves it."""
    refused = human_only(draft, doing)
    if refused is not None:
        return refused
    if not draft.policy.accept_unproved:
        return Refused(
            Code.SIGNATURE_MISSING,
            f"cannot {doing}: it needs your signature",
            "sign it with --key FILE",
        )
    draft.emit(kind, name, event)
    return None
