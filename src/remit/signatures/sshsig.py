"""SSHSIG: the format that ``ssh-keygen -Y sign`` writes, read strictly and verified.

A signature holds its own public key, a namespace that says what it was made for, and the name of a
hash. What is signed is that namespace and the hash of the message, so a signature for one purpose is
none for another (OpenSSH's PROTOCOL.sshsig). There is one way to write each signature down here: what
decodes but would be written otherwise is refused, so that no changed byte goes unnoticed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Final

from remit.ports.signing import Examined, SignatureFault
from remit.signatures.keys import open_key, verify
from remit.signatures.wire import Reader, WireError, string

MAGIC: Final = b"SSHSIG"
VERSION: Final = 1
HASHES: Final = ("sha256", "sha512")
BEGIN: Final = "-----BEGIN SSH SIGNATURE-----\n"
END: Final = "\n-----END SSH SIGNATURE-----"
LONGEST: Final = 16_384
"""Longest signature text, in characters."""

_ONE_LINE: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
_LINES: Final = re.compile(r"(?:[A-Za-z0-9+/]{70}\n)*[A-Za-z0-9+/]{0,70}={0,2}\Z")


def examine(statement: bytes, signature: str) -> Examined | SignatureFault:
    """Verify a signature over a statement; the fault says what is wrong with it."""
    try:
        blob = unarmoured(signature)
        key, namespace, name, raw = _parts(blob)
        opened = open_key(key)
        flags = verify(opened, raw, signed_data(statement, namespace, name))
    except (WireError, binascii.Error, ValueError) as error:
        return SignatureFault(f"cannot take the signature: {error}")
    return Examined(
        opened.key,
        namespace,
        base64.b64encode(blob).decode(),
        flags.presence,
        flags.verification,
        flags.counter,
    )


def _parts(blob: bytes) -> tuple[bytes, str, str, bytes]:
    """Key, namespace, hash and raw signature of a blob. Raises ``WireError``."""
    reader = Reader(blob)
    if reader.raw(len(MAGIC)) != MAGIC:
        raise WireError("it does not begin as an SSH signature")
    version = reader.number()
    if version != VERSION:
        raise WireError(f"version {version} of the format, expected {VERSION}")
    key = reader.string()
    namespace, reserved, name = reader.name(), reader.string(), reader.name()
    raw = reader.string()
    reader.end()
    if not namespace or reserved or name not in HASHES:
        raise WireError("its namespace is empty, its reserved part is not, or its hash unknown")
    return key, namespace, name, raw


def signed_data(statement: bytes, namespace: str, name: str) -> bytes:
    """The bytes that a key signs for a statement in a namespace."""
    digest = hashlib.new(name, statement).digest()
    parts = (namespace.encode(), b"", name.encode(), digest)
    return MAGIC + b"".join(string(part) for part in parts)


def unarmoured(text: str) -> bytes:
    """The bytes of an armoured signature or of one base64 line. Raises ``WireError``."""
    if len(text) > LONGEST:
        raise WireError(f"{len(text)} characters, at most {LONGEST} are taken")
    text = text.replace("\r\n", "\n")
    body = text
    if text.startswith(BEGIN):
        body, found, rest = text.removeprefix(BEGIN).partition(END)
        if not found or rest.strip("\n") or not _LINES.match(body):
            raise WireError("its armour is broken")
        body = body.replace("\n", "")
    if not _ONE_LINE.match(body):
        raise WireError("it is neither an armoured signature nor a line of base64")
    blob = base64.b64decode(body, validate=True)
    if base64.b64encode(blob).decode() != body:
        raise WireError("its base64 is not as it would be written")
    return blob


def armoured(blob: bytes) -> str:
    """A signature as ``ssh-keygen`` writes it."""
    body = base64.b64encode(blob).decode()
    lines = "\n".join(body[at : at + 70] for at in range(0, len(body), 70))
    return f"{BEGIN}{lines}{END}\n"
