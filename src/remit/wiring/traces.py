"""Wiring of traceability: what is known of a plan, in the forms that other programs read.

Whoever asks gives the matrix that was read; nothing here looks into a ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def needs(matrix: Mapping[str, Any], objective: str, created: str, project: str) -> dict[str, Any]:
    """A coverage matrix as ``needs.json``; see ``remit.exchange.needs_json``."""
    from remit.exchange.needs_json import needs_json

    return needs_json(matrix, objective, created, project)
