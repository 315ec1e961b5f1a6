"""Asking an ssh-agent what it holds, and to sign: the agent's own protocol over its socket.

It is spoken here and not by ``ssh-add``, because whoever wants a key to pass could put another program of
that name first in the search path. What an agent answers is bounded, and one that does not answer in time
is told apart from one that says no.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from remit.signatures.wire import Reader, WireError, string

LIST: Final = 11
LISTED: Final = 12
SIGN: Final = 13
SIGNED: Final = 14
SHA2_256: Final = 2
"""Lets an RSA key sign with SHA-2."""

LARGEST: Final = 256 * 1024
"""Longest answer, in bytes; the protocol's own bound."""

MOST_KEYS: Final = 2_048


def holds(path: Path, blob: bytes, timeout_s: float) -> bool | None:
    """Whether an agent holds a key; None where it could not be asked.

    A socket at which nobody listens any more holds nothing.
    """
    try:
        answer = _asked(path, bytes([LIST]), timeout_s)
        reader = Reader(answer)
        if reader.byte() != LISTED:
            return None
        number = reader.number()
        for _ in range(min(number, MOST_KEYS)):
            found = reader.string()
            reader.string()
            if found == blob:
                return True
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except (OSError, WireError):
        return None
    return False if number <= MOST_KEYS else None


def signs(path: Path, blob: bytes, data: bytes, timeout_s: float) -> bool | None:
    """Whether an agent signs at once; False where it says no or asks somebody meanwhile.

    None where it could not be asked at all.
    """
    flags = SHA2_256.to_bytes(4, "big")
    try:
        answer = _asked(path, bytes([SIGN]) + string(blob) + string(data) + flags, timeout_s)
    except TimeoutError:
        return False
    except (OSError, WireError):
        return None
    return answer[:1] == bytes([SIGNED])


def _asked(path: Path, message: bytes, timeout_s: float) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(timeout_s)
        line.connect(str(path))
        line.sendall(string(message))
        size = int.from_bytes(_exactly(line, 4), "big")
        if not 0 < size <= LARGEST:
            raise WireError(f"an answer of {size} bytes")
        return _exactly(line, size)


def _exactly(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = line.recv(size - len(found))
        if not part:
            raise WireError("the agent hung up")
        found += part
    return found
