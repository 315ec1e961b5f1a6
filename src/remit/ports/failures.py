"""Failures: what goes wrong outside the rules.

They are exceptions because no rule decided them: the store is away, the outcome of a commit is
unknown, or the bytes are not what they should be. Each carries what a refusal carries, so surfaces
treat both alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.core.refusals import Code


class RemitError(Exception):
    """Something outside the rules went wrong; carries what a refusal carries."""

    code: Code = Code.UNEXPECTED

    def __init__(
        self,
        message: str,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
        code: Code | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] = details or {}
        self.code = code or type(self).code


class StoreUnavailable(RemitError):  # noqa: N818  # a state of the world, named as CONTRACT does
    """The store cannot be reached or refuses work; nothing was done."""

    code = Code.STORE_UNAVAILABLE


class OutcomeUnknown(RemitError):  # noqa: N818  # a state of the world, named as CONTRACT does
    """The commit may or may not have happened; repeat with the same command id."""

    code = Code.OUTCOME_UNKNOWN


class LedgerCorrupt(RemitError):  # noqa: N818  # a state of the world, named as CONTRACT does
    """What is stored is not what was written."""

    code = Code.LEDGER_CORRUPT
