"""Decisions on limits: what a scope may use, and the weights of classes and lanes.

Only a human sets them, since they bound what agents and services may do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core.decide.asking import bad, human_only
from remit.core.decide.proving import enact
from remit.core.ids import MAX_INTEGER
from remit.core.limit_events import LimitSet
from remit.core.limit_facts import REPOSITORY, Limit
from remit.core.refusals import Refused
from remit.core.view import Draft

MAX_WEIGHT: Final = 1_000

MAX_PERIOD_MS: Final = 366 * 24 * 60 * 60 * 1_000
"""Longest period of a rate: a year."""

_SCOPE: Final = re.compile(
    r"(ledger|repository/main|lane/[^\s|/]{1,100}\|[^\s|/]{1,100}"
    r"|(class|tenant|actor)/[^\s|/]{1,100})\Z"
)


def _set(draft: Draft, cmd: c.SetLimit) -> Refused | None:
    refused = human_only(draft, "set a limit") or _unfit(cmd)
    if refused is not None:
        return refused
    event = LimitSet(
        cmd.concurrency, cmd.rate, cmd.per_ms, cmd.spend_micros, cmd.reserve_micros, cmd.weight
    )
    old = draft.get("limit", cmd.scope)
    if isinstance(old, Limit):
        same = (old.concurrency, old.rate, old.per_ms, old.spend_micros, old.reserve_micros)
        if (*same, old.weight) == tuple(getattr(event, name) for name in event.__slots__):
            return None
    return enact(draft, "set a limit", ("limit", cmd.scope, event))


def _unfit(cmd: c.SetLimit) -> Refused | None:
    if not _SCOPE.match(cmd.scope):
        expected = (
            "ledger, class/NAME, tenant/NAME, actor/NAME, repository/main or lane/CLASS|TENANT"
        )
        return bad("scope", cmd.scope, expected)
    for name in ("concurrency", "rate", "spend_micros"):
        value = getattr(cmd, name)
        if value is not None and not 0 <= value <= MAX_INTEGER:
            return bad(name, value, f"0 to {MAX_INTEGER}, or none")
    if not 0 <= cmd.reserve_micros <= MAX_INTEGER:
        return bad("reserve_micros", cmd.reserve_micros, f"0 to {MAX_INTEGER}")
    if not 1 <= cmd.per_ms <= MAX_PERIOD_MS:
        return bad("per_ms", cmd.per_ms, f"1 to {MAX_PERIOD_MS}")
    if not 1 <= cmd.weight <= MAX_WEIGHT:
        return bad("weight", cmd.weight, f"1 to {MAX_WEIGHT}")
    kind = cmd.scope.partition("/")[0]
    if cmd.weight != 1 and kind not in ("class", "lane"):
        return bad("weight", cmd.weight, f"1 for {kind}: classes and lanes have weights")
    figures = (cmd.concurrency, cmd.rate, cmd.spend_micros)
    if kind == "lane" and (figures != (None, None, None) or cmd.reserve_micros):
        return bad("limit of a lane", figures, "a weight alone: limit its class or its tenant")
    if cmd.scope == REPOSITORY and cmd.concurrency is not None:
        return bad("concurrency", cmd.concurrency, "a limit of the ledger or of a class")
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {c.SetLimit: _set}
