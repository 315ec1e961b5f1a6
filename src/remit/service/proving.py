"""What a caller shows of itself, made into what the core is told: tokens, signatures, tried keys.

Signatures are verified, and keys tried, here and before any transaction, since an agent that asks
somebody may take seconds. What the core gets was found good by this process: a caller hands in what was
signed and never what was found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from remit.core.actor_commands import KeySpec
from remit.core.commands import Command
from remit.core.refusals import Code, Refused
from remit.core.signing import Proof, Shown
from remit.ports.signing import Examined, SignatureFault, Signatures

_TOKEN: Final = re.compile(r"remit_([0-9a-f]{16})_([0-9a-f]{64})\Z")

Signer = Callable[[str, str], "str | Refused"]
"""Gives the signature of a statement in a namespace, by whatever way the caller has."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A statement that somebody signed elsewhere, with nonce and time as it names them."""

    nonce: str
    until: int
    statement: str
    signature: str


def token_text(name: str, secret: str) -> str:
    """A token as people carry it: its id, and the secret of which the ledger has the digest."""
    return f"remit_{name}_{secret}"


def shown_token(text: str) -> Shown | Refused | None:
    """The token that a caller shows; none where it shows nothing."""
    if not text:
        return None
    found = _TOKEN.match(text)
    if found is None:
        return Refused(
            Code.TOKEN_UNKNOWN,
            "REMIT_TOKEN holds no token: expected remit_, 16 digits, _ and 64 digits",
            "ask a human for one with 'remit actor token NAME'",
        )
    return Shown(found[1], hashlib.sha256(found[2].encode()).hexdigest())


def examined(signatures: Signatures | None, signed: Signed) -> Proof | Refused:
    """A signature that was handed in, verified, with its key tried."""
    if signatures is None:
        return _unchecked()
    try:
        statement = signed.statement.encode()
    except UnicodeEncodeError:
        return _invalid("the statement is no text")
    found = signatures.examine(statement, signed.signature)
    if isinstance(found, SignatureFault):
        return _invalid(found.reason)
    return _proof(signatures, signed, found)


def _proof(signatures: Signatures, signed: Signed, found: Examined) -> Proof:
    reach = signatures.reach(found.key)
    return Proof(
        signed.nonce,
        signed.until,
        signed.statement,
        found.text,
        found.namespace,
        found.key.fingerprint,
        found.key.hardware,
        found.presence,
        found.verification,
        found.counter,
        reach.result,
        reach.where[:500],
    )


def tried(signatures: Signatures | None, command: Command) -> Command | Refused:
    """A command with the key that it enrols read and tried here, whatever its caller says of it."""
    spec: Any = getattr(command, "key", None)
    if not isinstance(spec, KeySpec):
        return command
    if signatures is None:
        return _unchecked()
    key = signatures.key(f"{spec.kind} {spec.blob}")
    if isinstance(key, SignatureFault):
        return Refused(Code.BAD_INPUT, key.reason, "give a public key as OpenSSH writes it")
    reach = signatures.reach(key)
    found = KeySpec(
        key.fingerprint,
        key.kind,
        key.blob,
        key.hardware,
        spec.expires_at,
        str(reach.result),
        reach.where[:500],
    )
    return replace(command, key=found)  # type: ignore[call-arg]  # it has such a field


def _unchecked() -> Refused:
    return Refused(
        Code.SIGNATURE_UNCHECKED,
        "nothing here can read keys or signatures",
        "open the ledger with remit.wiring, which brings what reads them",
    )


def _invalid(reason: str) -> Refused:
    return Refused(
        Code.SIGNATURE_INVALID, reason, "sign the statement again, exactly as it was written"
    )
