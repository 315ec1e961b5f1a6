"""Public keys of SSH, and whether a raw signature by one is good.

Ed25519, ECDSA on the three NIST curves, RSA with SHA-2, and the two kinds that live in security keys.
Certificates, DSA and SHA-1 are refused by name. A security key signs more than the data: the hash of
the application it was made for, its flags and its counter stand before it, so the flags are as well
proved as the data is (OpenSSH's PROTOCOL.u2f).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512

from remit.ports.signing import PublicKey, SignatureFault
from remit.signatures.wire import Reader, WireError

ED25519: Final = "ssh-ed25519"
RSA: Final = "ssh-rsa"
SK_ED25519: Final = "sk-ssh-ed25519@openssh.com"
SK_ECDSA: Final = "sk-ecdsa-sha2-nistp256@openssh.com"
HARDWARE: Final = (SK_ED25519, SK_ECDSA)

LEAST_RSA_BITS: Final = 2_048
MOST_RSA_BITS: Final = 8_192
"""A larger modulus would make a signature larger than an event may hold."""

LONGEST_LINE: Final = 4_096
"""Longest public key line, in characters."""

PRESENCE: Final = 0x01
VERIFICATION: Final = 0x04

_Curve = tuple[ec.EllipticCurve, SHA256 | SHA384 | SHA512]
CURVES: Final[dict[str, _Curve]] = {
    "nistp256": (ec.SECP256R1(), SHA256()),
    "nistp384": (ec.SECP384R1(), SHA384()),
    "nistp521": (ec.SECP521R1(), SHA512()),
}
_RSA_HASHES: Final[dict[str, SHA256 | SHA512]] = {
    "rsa-sha2-256": SHA256(),
    "rsa-sha2-512": SHA512(),
}

_Public = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey


@dataclass(frozen=True, slots=True)
class Opened:
    """A public key ready to verify with; ``application`` is what a security key was made for."""

    key: PublicKey
    public: _Public
    application: bytes = b""


@dataclass(frozen=True, slots=True)
class Flags:
    """What a security key says of how it signed; all off for other keys."""

    presence: bool = False
    verification: bool = False
    counter: int = 0


def read_line(line: str) -> PublicKey | SignatureFault:
    """A public key as OpenSSH writes it in one line."""
    parts = line.strip().split(maxsplit=2) if len(line) <= LONGEST_LINE else []
    if len(parts) < 2 or "\n" in line.strip():
        return SignatureFault("expected one line: a kind of key, its base64, perhaps a comment")
    try:
        blob = base64.b64decode(parts[1], validate=True)
        opened = open_key(blob)
    except (WireError, binascii.Error, ValueError) as error:
        return SignatureFault(f"cannot read the public key: {error}")
    if opened.key.kind != parts[0]:
        return SignatureFault(f"the line says {parts[0][:60]!r}, the key is {opened.key.kind}")
    return opened.key


def open_key(blob: bytes) -> Opened:
    """The key that SSH's encoding holds. Raises ``WireError`` or ``ValueError``."""
    reader = Reader(blob)
    kind = reader.name()
    application = b""
    public: _Public
    if kind in (ED25519, SK_ED25519):
        bits, public = 256, ed25519.Ed25519PublicKey.from_public_bytes(reader.string())
    elif kind == SK_ECDSA or kind.startswith("ecdsa-sha2-"):
        bits, public = _on_curve(reader, kind)
    elif kind == RSA:
        bits, public = _rsa(reader)
    else:
        raise WireError(f"keys of the kind {kind[:60]!r} are not taken")
    if kind in HARDWARE:
        application = reader.string()
    reader.end()
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    text = base64.b64encode(blob).decode()
    key = PublicKey(kind, f"SHA256:{digest}", text, bits, kind in HARDWARE)
    return Opened(key, public, application)


def _on_curve(reader: Reader, kind: str) -> tuple[int, ec.EllipticCurvePublicKey]:
    name = reader.name()
    if name not in CURVES or kind not in (SK_ECDSA, f"ecdsa-sha2-{name}"):
        raise WireError(f"the curve {name[:60]!r} does not fit a key of the kind {kind[:60]!r}")
    if kind == SK_ECDSA and name != "nistp256":
        raise WireError("a security key of this kind is on nistp256")
    curve = CURVES[name][0]
    point = reader.string()
    if not point or point[0] != 4:
        raise WireError("a point that is not written out")
    return curve.key_size, ec.EllipticCurvePublicKey.from_encoded_point(curve, point)


def _rsa(reader: Reader) -> tuple[int, rsa.RSAPublicKey]:
    exponent, modulus = reader.integer(), reader.integer()
    bits = modulus.bit_length()
    if not LEAST_RSA_BITS <= bits <= MOST_RSA_BITS:
        raise WireError(f"an RSA key of {bits} bits, {LEAST_RSA_BITS} to {MOST_RSA_BITS} are taken")
    return bits, rsa.RSAPublicNumbers(exponent, modulus).public_key()


def verify(opened: Opened, signature: bytes, data: bytes) -> Flags:
    """Verify SSH's encoding of a signature over data.

    Returns a security key's flags. Raises ``WireError`` for one that cannot be read or is not good.
    """
    reader = Reader(signature)
    kind = reader.name()
    raw = reader.string()
    flags = Flags()
    if opened.key.hardware:
        said, counter = reader.byte(), reader.number()
        flags = Flags(bool(said & PRESENCE), bool(said & VERIFICATION), counter)
        place = hashlib.sha256(opened.application).digest()
        data = place + bytes([said]) + counter.to_bytes(4, "big") + hashlib.sha256(data).digest()
    reader.end()
    try:
        _verify(opened, kind, raw, data)
    except InvalidSignature as error:
        raise WireError("it is not a signature of this statement by this key") from error
    return flags


def _verify(opened: Opened, kind: str, raw: bytes, data: bytes) -> None:
    public = opened.public
    if isinstance(public, rsa.RSAPublicKey):
        if kind not in _RSA_HASHES:
            raise WireError(f"RSA signatures are taken with SHA-2 alone, this is {kind[:60]!r}")
        size = (opened.key.bits + 7) // 8
        public.verify(raw.rjust(size, b"\0"), data, padding.PKCS1v15(), _RSA_HASHES[kind])
        return
    if kind != opened.key.kind:
        raise WireError(f"a signature of the kind {kind[:60]!r} by a {opened.key.kind} key")
    if isinstance(public, ed25519.Ed25519PublicKey):
        public.verify(raw, data)
        return
    pair = Reader(raw)
    r, s = pair.integer(), pair.integer()
    pair.end()
    public.verify(encode_dss_signature(r, s), data, ec.ECDSA(CURVES[_curve_name(public)][1]))


def _curve_name(public: ec.EllipticCurvePublicKey) -> str:
    return f"nistp{public.curve.key_size}"
