"""What keeps ready work from being leased, as of one seq: the kill switch, and limits that are used up.

Ready work that nobody gets looks like a queue without workers. Whoever asks why is shown each scope
that its lease would fall under, with what stands in the way and what takes it out. A rate is left out:
it is over by itself, and a sheet looks at no clock. So is the actor's own limit: nobody has asked yet.
"""

from __future__ import annotations

from typing import Any

from remit.core.checks import Check, Result
from remit.core.effect_facts import Intent
from remit.core.facts import LEDGER, Item, Ledger
from remit.core.limit_facts import NO_SPEND, Limit, Spend, scopes_of
from remit.core.refusals import Code
from remit.core.status import Status
from remit.ports import ReadTx
from remit.service.reading import rendering


def lease_now(tx: ReadTx, item: Item) -> tuple[dict[str, Any], str] | None:
    """A section of the sheet of ready work, and how to open the first check that fails.

    None where the work is not ready, so that no lease is to be had of it anyway.
    """
    if item.status is not Status.READY:
        return None
    found = [_switch(tx)]
    for scope in scopes_of(item.work_class, item.tenant, "", item.kind):
        if not scope.endswith("/"):
            found += _scope(tx, item, scope)
    failed = [(check, how) for check, how in found if check.result is Result.FAIL]
    section = {
        "title": "Lease at this seq",
        "result": str(Result.FAIL if failed else Result.PASS),
        "lines": [],
        "checks": [rendering.plain(check) for check, _ in found],
        "boxes": [],
        "claims": None,
    }
    return section, failed[0][1] if failed else ""


def _switch(tx: ReadTx) -> tuple[Check, str]:
    ledger = tx.load([LEDGER])[LEDGER]
    on = isinstance(ledger, Ledger) and ledger.kill_switch
    observed, reason = ("on", Code.KILL_SWITCH_ON.value) if on else ("off", "")
    check = Check("kill-switch", _result(not on), observed, "off", "", reason)
    return check, "a human releases it: 'remit kill-switch release'"


def _scope(tx: ReadTx, item: Item, scope: str) -> list[tuple[Check, str]]:
    facts = tx.load([LEDGER, *((kind, scope) for kind in ("limit", "spend", "load"))])
    ledger, limit = facts[LEDGER], facts["limit", scope]
    found = []
    most = _concurrency(ledger, limit, scope)
    live = (
        tx.load([("count", "leased")])["count", "leased"]
        if scope == "ledger"
        else facts["load", scope]
    )
    live = live if isinstance(live, int) else 0
    if most is not None and (isinstance(limit, Limit) or live >= most):
        reason = "" if live < most else Code.CONCURRENCY_LIMIT.value
        check = Check(
            f"concurrency {scope}", _result(not reason), str(live), f"<{most}", "", reason
        )
        raise_it = f"raise it: 'remit limit set {scope} --concurrency N'"
        found.append((check, raise_it if not live else f"wait until a lease ends, or {raise_it}"))
    if isinstance(limit, Limit) and limit.spend_micros is not None:
        spend = facts["spend", scope]
        found.append(_spend(tx, item, limit, spend if isinstance(spend, Spend) else NO_SPEND))
    return found


def _concurrency(ledger: object, limit: object, scope: str) -> int | None:
    """The limit of live leases in a scope: that which was set, else the policy's."""
    if isinstance(limit, Limit) and limit.concurrency is not None:
        return limit.concurrency
    kind = scope.partition("/")[0]
    if not isinstance(ledger, Ledger) or kind == "repository":
        return None
    policy = ledger.policy
    found = {
        "ledger": policy.ledger_leases,
        "class": policy.class_leases,
        "tenant": policy.tenant_leases,
    }
    return found[kind]


def _spend(tx: ReadTx, item: Item, limit: Limit, used: Spend) -> tuple[Check, str]:
    name, most = f"spend {limit.scope}", limit.spend_micros
    if used.stopped:
        reason = Code.BUDGET_EXHAUSTED.value
        check = Check(name, Result.FAIL, f"stopped by {used.stopped}", "not stopped", "", reason)
        return check, f"settle it: 'remit triage show {used.stopped}'"
    intent = tx.load([("intent", item.id)])["intent", item.id]
    said = (intent.envelope.spend_micros or 0) if isinstance(intent, Intent) else 0
    asked = said or limit.reserve_micros
    whole = used.settled + used.reserved + asked
    reason = "" if most is None or whole <= most else Code.BUDGET_EXHAUSTED.value
    reason = reason or ("" if asked else Code.SPEND_UNESTIMATED.value)
    observed = f"settled {used.settled}, reserved {used.reserved}, asked {asked}"
    check = Check(name, _result(not reason), observed, f"<={most}", "", reason)
    if reason == Code.SPEND_UNESTIMATED:
        return check, f"say what one costs: 'remit limit set {limit.scope} --reserve MICROS'"
    return check, f"raise it: 'remit limit set {limit.scope} --spend MICROS'"


def _result(good: bool) -> Result:
    return Result.PASS if good else Result.FAIL
