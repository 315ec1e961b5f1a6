"""The adapter behind ``remit.ports.signing``, and signing with OpenSSH's own program.

``ssh-keygen -Y sign`` asks for passphrase, PIN or touch by itself, on the terminal of whoever calls;
remit never sees any of them. The statement is handed over in a file that only this user can read, the
program gets an argument list, and what it wrote is verified before it is believed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from remit.machine.processes import absolute_path
from remit.ports.signing import Examined, PublicKey, Reach, SignatureFault
from remit.signatures.keys import LONGEST_LINE, read_line
from remit.signatures.reach import here, try_key
from remit.signatures.sshsig import LONGEST, examine


class OpenSsh:
    """Reads, verifies and tries keys of OpenSSH; ``files`` are key files that the caller named."""

    def __init__(self, files: tuple[Path, ...] = ()) -> None:
        self.files = files

    def key(self, line: str) -> PublicKey | SignatureFault:
        """Read a public key."""
        return read_line(line)

    def examine(self, statement: bytes, signature: str) -> Examined | SignatureFault:
        """Verify a signature over these bytes."""
        return examine(statement, signature)

    def reach(self, key: PublicKey) -> Reach:
        """Try whether the key signs unprompted; see ``remit.signatures.reach``."""
        return try_key(key, here(self.files))


def public_file(path: Path) -> str | SignatureFault:
    """The public key line of a file, or of the private key file beside which it lies."""
    for each in (path, Path(f"{path}.pub")):
        try:
            with each.open("rb") as file:
                data = file.read(LONGEST_LINE + 1)
        except OSError:
            continue
        text = data.decode("utf-8", "replace").strip()
        if "PRIVATE KEY" not in text.partition("\n")[0]:
            return text
    return SignatureFault(f"there is no public key at {path} or {path}.pub")


def sign(statement: bytes, namespace: str, key: Path) -> str | SignatureFault:
    """The armoured signature that ``ssh-keygen`` makes; it may ask on the terminal for as long as it
    takes. ``key`` is a private key file, or a public one whose private half an agent holds.
    """
    program = _program()
    if program is None:
        return SignatureFault("there is no program ssh-keygen: install OpenSSH, or sign elsewhere")
    with tempfile.TemporaryDirectory(prefix="remit-sign-") as folder:
        text = Path(folder) / "statement"
        text.write_bytes(statement)
        argv = [program, "-Y", "sign", "-n", namespace, "-f", str(key), str(text)]
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)
        made = text.with_suffix(".sig")
        if done.returncode != 0 or not made.exists():
            return SignatureFault("ssh-keygen did not sign; it has said why")
        return made.read_bytes()[: LONGEST + 1].decode("ascii", "replace")


def _program() -> str | None:
    for entry in absolute_path(os.environ.get("PATH", os.defpath)).split(os.pathsep):
        found = Path(entry) / "ssh-keygen"
        if found.is_file() and os.access(found, os.X_OK):
            return str(found)
    return None
