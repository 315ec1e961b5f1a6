"""What every command has in common: its base, who asks and when, and text that may be long.

The surfaces and the service speak in these; ``remit.core.commands`` gives them as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.signing import Proof, Shown


@dataclass(frozen=True, slots=True)
class Command:
    """The base of all commands."""


@quick
@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks and when.

    ``now`` is the ledger's time in microseconds. ``actor`` is the enrolled name, ``assurance`` how
    well it was proved. ``command_id`` is empty where the caller named none. ``proof`` is a human's
    signature, ``token`` what an agent or service showed.
    """

    now: int
    actor: str
    assurance: str = "asserted"
    command_id: str = ""
    command_digest: bytes = b""
    conversation_ref: str = ""
    trace_context: str = ""
    proof: Proof | None = None
    token: Shown | None = None


@quick
@dataclass(frozen=True, slots=True)
class Text:
    """Text of a report or reason: short text inline, long or foreign text as a blob digest."""

    inline: str = ""
    ref: str = ""


NO_TEXT = Text()
