"""The record of a proof: what was proved, by how much, for which code.

A record is written by remit's own service actor and by nobody's word, and only where the proof held.
``remit.drain.version`` says what the digest covers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import remit
from remit.core import commands as c
from remit.drain.version import digest_of


def code_now() -> str:
    """The digest of the code as it lies on the disk now, not as this process began with it."""
    return digest_of(Path(remit.__file__).resolve().parent)


def record_of(account: dict[str, Any], code: str) -> c.RecordParityProof:
    """The record of an account that holds. Raises ``ValueError`` for one that does not."""
    if not account["ok"] or not account["mutants"]:
        raise ValueError("only a proof that held, with its shortcuts, is recorded")
    return c.RecordParityProof(
        remit.__version__, code, account["scenarios"], len(account["mutants"]), "PASS"
    )
