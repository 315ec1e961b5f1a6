"""Signatures as wired: the adapter, loaded when something is signed, verified or tried.

Most commands sign nothing, and the library behind this takes longer to load than they take to run.
"""

from __future__ import annotations

from pathlib import Path

from remit.ports.signing import Examined, PublicKey, Reach, SignatureFault, Signatures


class Lazily:
    """``remit.signatures``, loaded at the first question."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files
        self._found: Signatures | None = None

    def _adapter(self) -> Signatures:
        if self._found is None:
            from remit.signatures.openssh import OpenSsh

            self._found = OpenSsh(self._files)
        return self._found

    def key(self, line: str) -> PublicKey | SignatureFault:
        """Read a public key."""
        return self._adapter().key(line)

    def examine(self, statement: bytes, signature: str) -> Examined | SignatureFault:
        """Verify a signature over these bytes."""
        return self._adapter().examine(statement, signature)

    def reach(self, key: PublicKey) -> Reach:
        """Try whether the key signs unprompted."""
        return self._adapter().reach(key)


def signatures(files: tuple[Path, ...] = ()) -> Signatures:
    """What reads keys and verifies signatures; ``files`` are tried beside those in usual places."""
    return Lazily(files)


def public_key(path: Path) -> PublicKey | SignatureFault:
    """The public key in a file, or of the private key file that it lies beside."""
    from remit.signatures.openssh import OpenSsh, public_file

    line = public_file(path)
    return line if isinstance(line, SignatureFault) else OpenSsh().key(line)


def sign(statement: str, namespace: str, key: Path) -> str | SignatureFault:
    """A signature by ``ssh-keygen``, which asks for passphrase, PIN or touch where it has to."""
    from remit.signatures.openssh import sign as by_openssh

    return by_openssh(statement.encode(), namespace, key)
