"""Folds of actors, their keys and tokens, and of signatures.

A nonce is a stream: a second signature under the same one cannot be folded. ``signed-through`` is the
last event that a signature covers, so an event that claims to be signed and is not stops the fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import authority_events as e
from remit.core.change import changed
from remit.core.events import ActorEnrolled, ActorRevoked, Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first
from remit.core.facts import LEDGER, Actor, ActorKey, ActorKind, Ledger, Signed, Token
from remit.core.fold import FoldError

Handler = Callable[[Get, Recorded, Any, Out], None]

COVERED: Final = ("counter", "signed-through")
"""The last event that the newest signature covers."""


def demand_signed(get: Get, rec: Recorded) -> None:
    """Stop where an event claims a signature that does not stand before it."""
    through = get(*COVERED)
    if not isinstance(through, int) or rec.seq > through:
        raise FoldError(rec, "it claims a signature, and none covers it")


def _actor(get: Get, rec: Recorded) -> Actor:
    actor = get("actor", rec.entity)
    if not isinstance(actor, Actor) or actor.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} of {rec.entity} does not follow")
    return actor


def _enrolled(get: Get, rec: Recorded, ev: ActorEnrolled, out: Out) -> None:
    first(get, rec, "actor")
    out["actor", rec.entity] = Actor(rec.entity, 1, ActorKind(ev.kind), False)


def _revoked(get: Get, rec: Recorded, ev: ActorRevoked, out: Out) -> None:
    actor = _actor(get, rec)
    out["actor", rec.entity] = changed(actor, version=rec.version, revoked=True)
    live = sum(not key.revoked for key in actor.keys)
    if live and actor.kind is ActorKind.HUMAN and not actor.revoked:
        add(get, out, "counter", "human-keys", -live)


def _key_enrolled(get: Get, rec: Recorded, ev: e.KeyEnrolled, out: Out) -> None:
    actor = _actor(get, rec)
    if get("key", ev.fingerprint) is not None:
        raise FoldError(rec, f"the key {ev.fingerprint} is enrolled already")
    if get("counter", "human-keys") and not rec.assurance.startswith("signature"):
        raise FoldError(rec, f"the key {ev.fingerprint} was signed in by no key that counts")
    key = ActorKey(ev.fingerprint, ev.kind, ev.hardware, ev.expires_at, rec.seq)
    out["actor", actor.name] = changed(actor, version=rec.version, keys=(*actor.keys, key))
    out["key", ev.fingerprint] = actor.name
    if actor.kind is ActorKind.HUMAN:
        add(get, out, "counter", "human-keys", 1)


def _key_revoked(get: Get, rec: Recorded, ev: e.KeyRevoked, out: Out) -> None:
    actor = _actor(get, rec)
    if not any(key.fingerprint == ev.fingerprint and not key.revoked for key in actor.keys):
        raise FoldError(rec, f"{actor.name} has no such key that counts: {ev.fingerprint}")
    keys = tuple(
        changed(key, revoked=True) if key.fingerprint == ev.fingerprint else key
        for key in actor.keys
    )
    out["actor", actor.name] = changed(actor, version=rec.version, keys=keys)
    if actor.kind is ActorKind.HUMAN and not actor.revoked:
        add(get, out, "counter", "human-keys", -1)


def _token_issued(get: Get, rec: Recorded, ev: e.TokenIssued, out: Out) -> None:
    first(get, rec, "token")
    out["token", rec.entity] = Token(
        rec.entity, 1, ev.actor, ev.digest, ev.item, ev.lease, ev.expires_at, revoked=False
    )


def _token_revoked(get: Get, rec: Recorded, ev: e.TokenRevoked, out: Out) -> None:
    token = get("token", rec.entity)
    if not isinstance(token, Token) or token.version != rec.version - 1 or token.revoked:
        raise FoldError(rec, f"there is no token {rec.entity} to revoke")
    out["token", token.id] = changed(token, version=rec.version, revoked=True)


def _signed(get: Get, rec: Recorded, ev: e.ActSigned, out: Out) -> None:
    first(get, rec, "signature")
    out["signature", rec.entity] = Signed(rec.entity, 1, rec.actor, ev.fingerprint, rec.seq)
    out[COVERED] = rec.seq + ev.count


def _mode(get: Get, rec: Recorded, ev: e.ModeDeclared, out: Out) -> None:
    ledger = get(*LEDGER)
    if not isinstance(ledger, Ledger) or ledger.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow")
    out[LEDGER] = changed(ledger, version=rec.version, served=ev.served)


HANDLERS: Final[dict[type[Event], Handler]] = {
    ActorEnrolled: _enrolled,
    ActorRevoked: _revoked,
    e.KeyEnrolled: _key_enrolled,
    e.KeyRevoked: _key_revoked,
    e.TokenIssued: _token_issued,
    e.TokenRevoked: _token_revoked,
    e.ActSigned: _signed,
    e.ModeDeclared: _mode,
}
