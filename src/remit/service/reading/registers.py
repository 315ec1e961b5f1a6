"""Registers of a ledger: who may act, which default rules there are, which figures decisions use.

Each is short and bounded; a register never says more than the ledger holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.core.facts import LEDGER, Actor, Ledger, Rule
from remit.core.limit_facts import NO_SPEND, Limit, Spend
from remit.ports import ReadTx
from remit.service.reading import rendering

PAGE: Final = 1_000
"""How many names are read at once."""


def actors(tx: ReadTx, limit: int = 0) -> dict[str, Any]:
    """Everybody who was ever enrolled, by name; ``limit`` 0 means all."""
    found = [actor_of(fact) for fact in _all(tx, "actor") if isinstance(fact, Actor)]
    return _cut("actors", found, limit)


def actor_of(fact: Actor) -> dict[str, Any]:
    """An actor as the interface names it, with the keys that count or counted."""
    keys = [
        {
            "fingerprint": key.fingerprint,
            "kind": key.kind,
            "hardware": key.hardware,
            "expires_at": None if key.expires_at is None else rendering.rfc3339(key.expires_at),
            "revoked": key.revoked,
            "seq": key.enrolled_seq,
        }
        for key in fact.keys
    ]
    return {"name": fact.name, "kind": fact.kind.value, "revoked": fact.revoked, "keys": keys}


def rules(tx: ReadTx, limit: int = 0) -> dict[str, Any]:
    """Every default rule in its newest revision, by name; ``limit`` 0 means all."""
    found = [rule_of(fact) for fact in _all(tx, "rule") if isinstance(fact, Rule)]
    return _cut("rules", found, limit)


def rule(tx: ReadTx, name: str) -> dict[str, Any] | None:
    """One rule in full, or None where the ledger has none of that name."""
    fact = tx.load([("rule", name)])["rule", name] if name else None
    return rule_of(fact) if isinstance(fact, Rule) else None


def rule_of(fact: Rule) -> dict[str, Any]:
    """A rule as the interface names it."""
    shown: dict[str, Any] = rendering.plain(fact)
    return {key: value for key, value in shown.items() if key != "version"}


def policy(tx: ReadTx) -> dict[str, Any]:
    """The present policy revision, with the state of the kill switch and the epoch."""
    fact = tx.load([LEDGER])[LEDGER]
    assert isinstance(fact, Ledger), "a ledger has its own fact from its first event on"
    shown: dict[str, Any] = rendering.plain(fact.policy)
    return {
        **shown,
        "kill_switch": fact.kill_switch,
        "epoch": fact.epoch,
        "served": fact.served,
    }


def limits(tx: ReadTx, limit: int = 0) -> dict[str, Any]:
    """Every limit by scope, with what its scope uses now; ``limit`` 0 means all."""
    found = [fact.scope for fact in _all(tx, "limit") if isinstance(fact, Limit)]
    cut = found[:limit] if limit else found
    return {
        "limits": [limit_now(tx, scope) for scope in cut],
        "total": len(found),
        "truncated": len(found) > len(cut),
    }


def limit_now(tx: ReadTx, scope: str) -> dict[str, Any]:
    """One limit with what its scope uses now."""
    facts = tx.load([(kind, scope) for kind in ("limit", "spend", "load")])
    fact, spend, live = facts["limit", scope], facts["spend", scope], facts["load", scope]
    assert isinstance(fact, Limit), "asked for a limit that was set"
    used = spend if isinstance(spend, Spend) else NO_SPEND
    if scope == "ledger":
        live = tx.load([("count", "leased")])["count", "leased"]
    return {
        "scope": scope,
        "live": live if isinstance(live, int) else 0,
        "concurrency": fact.concurrency,
        "rate": fact.rate,
        "per_ms": fact.per_ms,
        "spend_micros": fact.spend_micros,
        "settled_micros": used.settled,
        "reserved_micros": used.reserved,
        "reserve_micros": fact.reserve_micros,
        "weight": fact.weight,
        "stopped": used.stopped,
    }


def _all(tx: ReadTx, kind: str) -> Iterator[object]:
    after = ""
    while names := tx.names(kind, after, PAGE):
        facts = tx.load([(kind, name) for name in names])
        yield from (facts[kind, name] for name in names)
        after = names[-1]


def _cut(name: str, found: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    shown = found[:limit] if limit else found
    return {name: shown, "total": len(found), "truncated": len(found) > len(shown)}
