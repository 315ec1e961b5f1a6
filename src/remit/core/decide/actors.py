"""Decisions on who may act, and on what proves it: actors, keys of humans, tokens of agents.

Only a human enrols, revokes or issues. A key counts for one person alone, and several keys of a person
count once. The first key of a ledger is its root: from then on every key, and every human, is signed in
by a human whose key counts (INV-15).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from remit.core import actor_commands as k
from remit.core import events as e
from remit.core.asking import Command
from remit.core.authority_events import KeyEnrolled, KeyRevoked, TokenIssued, TokenRevoked
from remit.core.checks import Result
from remit.core.decide.asking import bad, human_only
from remit.core.decide.proving import Act, enact, guarded, key_of
from remit.core.facts import Actor, ActorKind, Token
from remit.core.ids import is_actor_name
from remit.core.ledger_commands import EnrolActor, RevokeActor
from remit.core.refusals import Code, Refused
from remit.core.services import SERVICES
from remit.core.view import Draft

MAX_REASON: Final = 4_000
MAX_KEYS: Final = 20
"""Most keys of one actor, revoked ones included."""

_FINGERPRINT: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}\Z")
_BLOB: Final = re.compile(r"[A-Za-z0-9+/]{40,4000}={0,2}\Z")
_TOKEN: Final = re.compile(r"[0-9a-f]{16}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")


def unfit_key(draft: Draft, spec: k.KeySpec) -> Refused | None:
    """Refuse a key that cannot count for anybody, or that counts already."""
    if not _FINGERPRINT.match(spec.fingerprint) or not _BLOB.match(spec.blob):
        return bad("key", spec.fingerprint, "a public key as OpenSSH writes it")
    if spec.expires_at is not None and spec.expires_at <= draft.now:
        return bad("key expiry", spec.expires_at, f"a time after {draft.now}")
    owner = draft.get("key", spec.fingerprint)
    if isinstance(owner, str):
        return Refused(
            Code.KEY_TAKEN,
            f"the key {spec.fingerprint} is one of {owner}, and a key stands for one person alone",
            "make a key of your own with ssh-keygen",
            {"key": spec.fingerprint, "actor": owner},
        )
    details = {"key": spec.fingerprint, "where": spec.where}
    if spec.reach == Result.FAIL:
        return Refused(
            Code.KEY_IN_REACH,
            f"the key {spec.fingerprint} signs unprompted, by {spec.where}: so would an agent of"
            " this user",
            "give it a passphrase, take it out of the agent, or use a security key",
            details,
        )
    if spec.reach != Result.PASS and not spec.hardware:
        return Refused(
            Code.KEY_REACH_UNKNOWN,
            f"whether the key {spec.fingerprint} signs unprompted is not known: {spec.where or 'nobody tried'}",
            "see that this place can be tried, or use a security key",
            details,
        )
    return None


def enrolled(spec: k.KeySpec) -> KeyEnrolled:
    """The event that lets a key count."""
    return KeyEnrolled(
        spec.fingerprint, spec.kind, spec.blob, spec.hardware, spec.expires_at, spec.reach
    )


def _enrol(draft: Draft, cmd: EnrolActor) -> Refused | None:
    kinds = [kind.value for kind in ActorKind]
    if cmd.kind not in kinds:
        return bad("actor kind", cmd.kind, "one of " + ", ".join(kinds))
    if not is_actor_name(cmd.name):
        return bad("actor name", cmd.name, "1 to 64 letters, digits or . _ @ + -")
    if cmd.key is not None and cmd.kind != ActorKind.HUMAN:
        return bad("key", cmd.key.fingerprint, "none: keys are for humans, tokens for the rest")
    refused = human_only(draft, f"enrol {cmd.name}")
    if refused is not None:
        return refused
    if draft.get("actor", cmd.name) is not None:
        return Refused(
            Code.ACTOR_EXISTS,
            f"{cmd.name} is enrolled already",
            "see 'remit actor list', or choose another name",
            {"actor": cmd.name},
        )
    acts: list[Act] = [("actor", cmd.name, e.ActorEnrolled(cmd.kind))]
    if cmd.key is not None:
        refused = unfit_key(draft, cmd.key)
        if refused is not None:
            return refused
        acts.append(("actor", cmd.name, enrolled(cmd.key)))
    always = cmd.kind == ActorKind.HUMAN and guarded(draft)
    return enact(draft, f"enrol {cmd.name}", *acts, always=always)


def _known(draft: Draft, name: str) -> Actor | Refused:
    actor = draft.get("actor", name)
    if isinstance(actor, Actor):
        return actor
    return Refused(Code.NOT_FOUND, f"there is no actor {name!r}", "see 'remit actor list'")


def _revoke(draft: Draft, cmd: RevokeActor) -> Refused | None:
    refused = human_only(draft, f"revoke {cmd.name}")
    if refused is not None:
        return refused
    actor = _known(draft, cmd.name)
    if isinstance(actor, Refused):
        return actor
    if actor.revoked or cmd.name in SERVICES or cmd.name == draft.ask.actor:
        return Refused(
            Code.ACTOR_REVOKED if actor.revoked else Code.ACTOR_KIND_REFUSED,
            f"cannot revoke {cmd.name}: it is revoked, built in, or yourself",
            "see 'remit actor list'",
            {"actor": cmd.name},
        )
    always = actor.kind is ActorKind.HUMAN and guarded(draft)
    event = e.ActorRevoked(cmd.reason[:MAX_REASON])
    return enact(draft, f"revoke {cmd.name}", ("actor", cmd.name, event), always=always)


def _enrol_key(draft: Draft, cmd: k.EnrolKey) -> Refused | None:
    refused = human_only(draft, f"enrol a key of {cmd.name}")
    if refused is not None:
        return refused
    actor = _known(draft, cmd.name)
    if isinstance(actor, Refused):
        return actor
    if actor.kind is not ActorKind.HUMAN or actor.revoked:
        return bad("actor", cmd.name, "a human whose enrolment was not revoked")
    if len(actor.keys) >= MAX_KEYS:
        return bad("keys", len(actor.keys), f"at most {MAX_KEYS} keys of one person")
    refused = unfit_key(draft, cmd.key)
    if refused is not None:
        return refused
    act = ("actor", cmd.name, enrolled(cmd.key))
    if not guarded(draft) and draft.policy.accept_unproved:
        return enact(draft, f"enrol a key of {cmd.name}", act)  # the root: nothing could sign it
    return enact(draft, f"enrol a key of {cmd.name}", act, always=True)


def _revoke_key(draft: Draft, cmd: k.RevokeKey) -> Refused | None:
    refused = human_only(draft, f"revoke a key of {cmd.name}")
    if refused is not None:
        return refused
    key = key_of(draft, cmd.name, cmd.fingerprint)
    if key is None or key.revoked:
        return Refused(
            Code.KEY_REVOKED if key else Code.KEY_UNKNOWN,
            f"cannot revoke {cmd.fingerprint}: {cmd.name} has no such key that counts",
            "see 'remit actor list'",
            {"actor": cmd.name, "key": cmd.fingerprint},
        )
    if draft.counter("human-keys") == 1 and not draft.policy.accept_unproved:
        return Refused(
            Code.KEY_LAST,
            f"cannot revoke {cmd.fingerprint}: it is the last key of a human, nobody could sign",
            "enrol another key first",
            {"key": cmd.fingerprint},
        )
    event = KeyRevoked(cmd.fingerprint, cmd.reason[:MAX_REASON])
    return enact(draft, f"revoke a key of {cmd.name}", ("actor", cmd.name, event), always=True)


def _issue(draft: Draft, cmd: k.IssueToken) -> Refused | None:
    refused = human_only(draft, f"issue a token for {cmd.name}")
    if refused is not None:
        return refused
    actor = _known(draft, cmd.name)
    if isinstance(actor, Refused):
        return actor
    if actor.kind is ActorKind.HUMAN or actor.revoked or cmd.name in SERVICES:
        return bad("actor", cmd.name, "an enrolled agent or service; humans sign with a key")
    if not _TOKEN.match(cmd.token) or not _DIGEST.match(cmd.digest):
        return bad("token", cmd.token, "16 hexadecimal digits, and a digest of 64")
    if draft.get("token", cmd.token) is not None:
        return bad("token", cmd.token, "a new one")
    if cmd.expires_at is not None and cmd.expires_at <= draft.now:
        return bad("token expiry", cmd.expires_at, f"a time after {draft.now}")
    if cmd.item and draft.item(cmd.item) is None:
        return Refused(Code.NOT_FOUND, f"there is no work item {cmd.item!r}", "see 'remit list'")
    event = TokenIssued(cmd.name, cmd.digest, cmd.item, cmd.lease, cmd.expires_at)
    act = ("token", cmd.token, event)
    if not draft.ledger.served:
        draft.emit(*act)  # here it proves nothing, so nothing has to prove it
        return None
    return enact(draft, f"issue a token for {cmd.name}", act)


def _revoke_token(draft: Draft, cmd: k.RevokeToken) -> Refused | None:
    refused = human_only(draft, f"revoke the token {cmd.token}")
    if refused is not None:
        return refused
    token = draft.get("token", cmd.token)
    if not isinstance(token, Token) or token.revoked:
        return Refused(
            Code.TOKEN_REVOKED if token else Code.TOKEN_UNKNOWN,
            f"cannot revoke the token {cmd.token!r}: there is none that counts",
            "see 'remit actor list'",
            {"token": cmd.token},
        )
    draft.emit("token", token.id, TokenRevoked(cmd.reason[:MAX_REASON]))
    return None


HANDLERS: Final[dict[type[Command], Callable[[Draft, Any], Refused | None]]] = {
    EnrolActor: _enrol,
    RevokeActor: _revoke,
    k.EnrolKey: _enrol_key,
    k.RevokeKey: _revoke_key,
    k.IssueToken: _issue,
    k.RevokeToken: _revoke_token,
}
