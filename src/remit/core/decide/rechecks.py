"""Decisions that look at many holds again: by a trigger that came, or because their time has come.

One decision looks at a bounded batch in the holds' own order, writes verdicts where they changed, and
one event for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core.decide.asking import bad
from remit.core.facts import DueRecheck
from remit.core.rechecking import BATCH, batch_of, place_of, recheck, tell, through
from remit.core.refusals import Refused
from remit.core.view import Draft


def _holds(draft: Draft, cmd: c.RecheckHolds) -> Refused | None:
    if not cmd.limit >= 0:
        return bad("limit", cmd.limit, "0 or more")
    if cmd.after and place_of(cmd.after) is None:
        return bad("after", cmd.after, "a place in line as RANK:NUMBER, or nothing")
    if not cmd.trigger:
        return _by_time(draft, cmd.limit)
    due = next((d for d in draft.ledger.rechecks if d.trigger == cmd.trigger), None)
    after = cmd.after or (due.through if due is not None else "")
    names, more = batch_of(draft, cmd.trigger, after)
    most = min(cmd.limit or BATCH, BATCH, due.left if due is not None else BATCH)
    more = more or len(names) > most
    names = names[:most]
    if not names and due is None:
        return None
    changed = recheck(draft, names)
    at = through(draft, names, after)
    finished = not more or _reached(due, len(names))
    tell(draft, cmd.trigger, len(names), changed, at, finished=finished)
    return None


def _reached(due: DueRecheck | None, looked: int) -> bool:
    """Whether the policy's horizon ends a round here."""
    return due is not None and looked >= due.left


def _by_time(draft: Draft, limit: int) -> Refused | None:
    """Holds whose time trigger has come, the longest overdue first."""
    names = list(draft.query("waking?", str(draft.now)))[: min(limit or BATCH, BATCH)]
    if not names:
        return None
    changed = recheck(draft, names)
    if changed:
        tell(draft, "time", len(names), changed, str(draft.now), finished=True)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.RecheckHolds: _holds,
}
