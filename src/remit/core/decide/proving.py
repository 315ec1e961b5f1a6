"""Acts of human authority, and the proof that each of them needs (INV-15).

An act is one or a few events that only a human may bring about. Where policy does not accept unproved
acts it needs that human's own signature over exactly these events; where it does, they say that nothing
proved them. Each way in which a signature does not suffice has a code of its own. What only keys protect
(the keys themselves, and the policy's own figure about proof) needs a signature as soon as there is a
human's key to give one.
"""

from __future__ import annotations

import re
from typing import Final

from remit.core.authority_events import ActSigned
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.decide.asking import human_only
from remit.core.events import Event, stream_of
from remit.core.facts import Actor, ActorKey, Assurance, Token
from remit.core.refusals import Code, Refused
from remit.core.signing import (
    LONGEST_VALIDITY_US,
    NAMESPACES,
    Proof,
    content_of,
    differing,
    statement_of,
)
from remit.core.view import Draft

Act = tuple[str, str, Event]
"""Kind and id of a fact, and the event that it gets."""

_NONCE: Final = re.compile(r"[0-9a-f]{32}\Z")
_OTHER: Final = {
    "ledger": (Code.SIGNATURE_OF_ANOTHER_LEDGER, "another ledger"),
    "epoch": (Code.SIGNATURE_OF_ANOTHER_EPOCH, "another epoch of this ledger"),
    "actor": (Code.SIGNATURE_OF_ANOTHER_ACTOR, "another actor"),
    "act": (Code.SIGNATURE_OF_ANOTHER_ACT, "another act"),
    "subject": (Code.SIGNATURE_OF_ANOTHER_SUBJECT, "something else"),
    "nonce": (Code.SIGNATURE_STALE, "another nonce"),
    "until": (Code.SIGNATURE_STALE, "another time"),
    "content": (Code.SIGNATURE_STALE, "another content or revision"),
}


def enact(
    draft: Draft,
    doing: str,
    *acts: Act,
    always: bool = False,
    human: bool = True,
    lacking: Code = Code.SIGNATURE_MISSING,
) -> Refused | None:
    """Write the events of a human's act, with what proves them.

    ``always``: needs a signature whatever policy says. Not ``human``: where nothing has to be signed,
    anybody may. ``lacking`` is the code of the refusal that names a missing signature.
    """
    proof = draft.ask.proof
    needed = always or (human and not draft.policy.accept_unproved)
    if human or needed or proof is not None:
        refused = human_only(draft, doing)
        if refused is not None:
            return refused
    if proof is None and not needed:
        _write(draft, acts, draft.ask.assurance)
        return None
    statement = _statement(draft, acts, proof)
    if proof is None or not proof.signature:
        return _missing(draft, doing, acts, lacking, statement if proof else "")
    refused = _flawed(draft, doing, acts, proof, statement)
    if refused is not None:
        return refused
    draft.emit("signature", proof.nonce, _signed(acts, proof, statement))
    level = Assurance.PRESENCE if proof.presence else Assurance.SIGNATURE
    _write(draft, acts, level)
    return None


def _write(draft: Draft, acts: tuple[Act, ...], assurance: str) -> None:
    for kind, name, event in acts:
        draft.emit(kind, name, event, assurance=assurance)


def _name(acts: tuple[Act, ...]) -> str:
    return type(acts[0][2]).__name__


def _statement(draft: Draft, acts: tuple[Act, ...], proof: Proof | None) -> str:
    """What has to be signed for these events, under the nonce and time that the caller gave."""
    kind, name, _ = acts[0]
    return statement_of(
        ledger=draft.ledger.ledger_id,
        epoch=draft.ledger.epoch,
        actor=draft.ask.actor,
        act=_name(acts),
        subject=stream_of(kind, name),
        nonce=proof.nonce if proof else "",
        until=proof.until if proof else 0,
        content=content_of((stream_of(k, n), event) for k, n, event in acts),
    )


def _signed(acts: tuple[Act, ...], proof: Proof, statement: str) -> ActSigned:
    return ActSigned(
        _name(acts),
        proof.namespace,
        proof.fingerprint,
        statement,
        proof.signature,
        len(acts),
        proof.presence,
        proof.verification,
        proof.counter,
        proof.reach,
    )


def _missing(
    draft: Draft, doing: str, acts: tuple[Act, ...], code: Code, statement: str
) -> Refused:
    details: dict[str, object] = {"act": _name(acts), "actor": draft.ask.actor}
    if statement:
        details |= {"statement": statement, "namespace": NAMESPACES[_name(acts)]}
    return Refused(
        code,
        f"cannot {doing} as {draft.ask.actor}: it needs a human's own signature, a name is a label",
        "sign it with --key FILE, or with --statement FILE to sign elsewhere",
        details,
    )


def _flawed(
    draft: Draft, doing: str, acts: tuple[Act, ...], proof: Proof, statement: str
) -> Refused | None:
    """Why this signature does not prove this act, the plainest reason first."""
    wanted = NAMESPACES[_name(acts)]

    def no(code: Code, found: str, hint: str) -> Refused:
        details = {"key": proof.fingerprint, "namespace": proof.namespace, "where": proof.where}
        return Refused(code, f"cannot {doing} as {draft.ask.actor}: {found}", hint, details)

    if proof.namespace != wanted:
        found = f"it was signed in the namespace {proof.namespace!r}, this act needs {wanted!r}"
        return no(Code.SIGNATURE_NAMESPACE, found, "sign the statement of this very act")
    other = differing(proof.statement, statement)
    if other:
        code, what = _OTHER[other]
        found = f"what was signed is about {what} ({other} differs)"
        return no(code, found, "look at it as it is now, and sign that")
    if not _NONCE.match(proof.nonce) or draft.get("signature", proof.nonce) is not None:
        return no(Code.NONCE_USED, "its nonce was used, or is none", "sign a fresh statement")
    ahead = proof.until - draft.now
    if not 0 < ahead <= LONGEST_VALIDITY_US:
        found = f"the statement holds until {proof.until}, now is {draft.now}"
        return no(Code.SIGNATURE_EXPIRED, found, "sign a fresh statement, valid seven days at most")
    return _unfit_key(draft, doing, proof)


def _unfit_key(draft: Draft, doing: str, proof: Proof) -> Refused | None:
    """Why the key does not count for the asking human."""
    name = draft.ask.actor
    owner = draft.get("key", proof.fingerprint)
    key = key_of(draft, name, proof.fingerprint)
    found, code = "", Code.KEY_UNKNOWN
    hint = f"'remit actor list' shows the keys of {name}"
    if not isinstance(owner, str):
        found = "nobody has enrolled this key"
    elif key is None:
        found, code = f"this is a key of {owner}", Code.KEY_OF_ANOTHER
    elif key.revoked:
        found, code = "this key was revoked", Code.KEY_REVOKED
    elif key.expires_at is not None and draft.now >= key.expires_at:
        found, code = f"this key held until {key.expires_at}", Code.KEY_EXPIRED
    elif proof.hardware and not proof.presence:
        found, code = "nobody touched the security key", Code.PRESENCE_MISSING
        hint = "use a key that asks for touch: without no-touch-required"
    elif proof.reach is Result.FAIL:
        found, code = f"this key signs unprompted, by {proof.where}", Code.KEY_IN_REACH
        hint = "give it a passphrase, take it out of the agent, or use a security key"
    elif proof.reach is not Result.PASS and not proof.presence:
        found, code = (
            f"whether this key signs unprompted is not known: {proof.where}",
            (Code.KEY_REACH_UNKNOWN),
        )
        hint = "see that this place can be tried, or use a security key"
    if not found:
        return None
    details = {"key": proof.fingerprint, "actor": name, "where": proof.where}
    return Refused(code, f"cannot {doing} as {name}: {found}", hint, details)


def key_of(draft: Draft, actor: str, fingerprint: str) -> ActorKey | None:
    """A key of an actor, revoked or not."""
    fact = draft.get("actor", actor)
    keys = fact.keys if isinstance(fact, Actor) else ()
    return next((key for key in keys if key.fingerprint == fingerprint), None)


def guarded(draft: Draft) -> bool:
    """Whether there is a human's key, so that keys and the figure about proof change by one alone."""
    return draft.counter("human-keys") > 0


def shown_token(draft: Draft, item: str) -> Refused | None:
    """Refuse a token that does not stand for the asking actor here; where it does, note it."""
    shown = draft.ask.token
    if shown is None:
        return None
    token = draft.get("token", shown.id)
    name = draft.ask.actor

    def no(code: Code, found: str) -> Refused:
        details = {"token": shown.id, "actor": name}
        hint = "ask a human for a token with 'remit actor token'"
        return Refused(
            code, f"cannot act as {name} with the token {shown.id}: {found}", hint, details
        )

    if not isinstance(token, Token) or token.digest != shown.digest:
        return no(Code.TOKEN_UNKNOWN, "there is no such token")
    if token.actor != name:
        return no(Code.TOKEN_OF_ANOTHER, f"it stands for {token.actor}")
    if token.revoked:
        return no(Code.TOKEN_REVOKED, "it was revoked")
    if token.expires_at is not None and draft.now >= token.expires_at:
        return no(Code.TOKEN_EXPIRED, f"it held until {token.expires_at}")
    lease = ""
    if token.lease and item:
        found = draft.item(item)
        lease = found.lease.id if found is not None and found.lease is not None else ""
    if (token.item and token.item != item) or (token.lease and token.lease != lease):
        scope = " ".join(part for part in (token.item, token.lease) if part)
        return no(Code.TOKEN_SCOPE, f"it is good for {scope} alone")
    if draft.ledger.served:
        draft.ask = changed(draft.ask, assurance=Assurance.TOKEN)
    return None
