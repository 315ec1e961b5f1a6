"""People with keys, for tests: made by ``ssh-keygen`` itself, or built here where that needs a device.

A private key that would sign unprompted does not count, so people here have a passphrase, and sign with
an askpass program that knows it, as a person's fingers would. A security key is played by a software
key: what such a device signs is documented, so its signatures can be built with any flags.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from remit.signatures.keys import SK_ECDSA, SK_ED25519
from remit.signatures.sshsig import MAGIC, VERSION, armoured, signed_data
from remit.signatures.wire import string

PASSPHRASE = "correct horse"


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair in files; ``path`` is the private one."""

    path: Path
    passphrase: str = ""

    @property
    def line(self) -> str:
        """The public key line."""
        return Path(f"{self.path}.pub").read_text().strip()

    def sign(self, statement: bytes, namespace: str) -> str:
        """An armoured signature by ``ssh-keygen -Y sign``."""
        argv = ["ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", str(self.path)]
        done = subprocess.run(
            argv, input=statement, env=typing(self), capture_output=True, check=True
        )
        return done.stdout.decode()


def typing(key: Key) -> dict[str, str]:
    """An environment in which somebody types the passphrase."""
    askpass = key.path.with_suffix(".askpass")
    askpass.write_text(f"#!/bin/sh\necho '{key.passphrase}'\n")
    askpass.chmod(0o700)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(key.path.parent),
        "SSH_ASKPASS": str(askpass),
        "SSH_ASKPASS_REQUIRE": "force",
    }


def make_key(folder: Path, name: str, *kind: str, passphrase: str = PASSPHRASE) -> Key:
    """A key pair of OpenSSH; ``kind`` is such as ``-t rsa -b 3072``, Ed25519 unless given."""
    path = folder / name
    argv = ["ssh-keygen", "-q", *(kind or ("-t", "ed25519")), "-N", passphrase, "-a", "1"]
    subprocess.run([*argv, "-C", name, "-f", str(path)], check=True, capture_output=True)
    return Key(path, passphrase)


def agrees(folder: Path, line: str, statement: bytes, namespace: str, signature: str) -> bool:
    """What ``ssh-keygen -Y verify`` says of a signature."""
    signers, sig = folder / "signers", folder / "sig"
    signers.write_text(f"ann {line}\n")
    sig.write_text(signature)
    argv = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "ann", "-n", namespace]
    done = subprocess.run(
        [*argv, "-s", str(sig)], input=statement, capture_output=True, check=False
    )
    return done.returncode == 0


class SecurityKey:
    """A security key in software; ``kind`` is one of the two that OpenSSH knows."""

    def __init__(self, kind: str = SK_ED25519, application: str = "ssh:") -> None:
        self.kind = kind
        self.application = application.encode()
        self.counter = 0
        self._private: Any = (
            ed25519.Ed25519PrivateKey.generate()
            if kind == SK_ED25519
            else ec.generate_private_key(ec.SECP256R1())
        )

    @property
    def blob(self) -> bytes:
        """The public key in SSH's encoding."""
        public = self._private.public_key()
        if self.kind == SK_ED25519:
            raw = string(public.public_bytes(Encoding.Raw, PublicFormat.Raw))
        else:
            point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            raw = string(b"nistp256") + string(point)
        return string(self.kind.encode()) + raw + string(self.application)

    @property
    def line(self) -> str:
        """The public key line."""
        import base64

        return f"{self.kind} {base64.b64encode(self.blob).decode()} device"

    def sign(self, statement: bytes, namespace: str, flags: int = 0x01) -> str:
        """An armoured signature with these flags, as OpenSSH's documents say that it is made."""
        self.counter += 1
        said = bytes([flags]) + self.counter.to_bytes(4, "big")
        data = signed_data(statement, namespace, "sha512")
        place = hashlib.sha256(self.application).digest()
        raw = self._raw(place + said + hashlib.sha256(data).digest())
        inner = string(self.kind.encode()) + string(raw) + said
        parts = (self.blob, namespace.encode(), b"", b"sha512", inner)
        head = MAGIC + VERSION.to_bytes(4, "big")
        return armoured(head + b"".join(string(part) for part in parts))

    def _raw(self, data: bytes) -> bytes:
        if self.kind == SK_ED25519:
            return bytes(self._private.sign(data))
        assert self.kind == SK_ECDSA
        return b"".join(
            string(integer(n))
            for n in decode_dss_signature(self._private.sign(data, ec.ECDSA(SHA256())))
        )


def integer(number: int) -> bytes:
    """A positive integer as SSH writes it, without its length."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")
