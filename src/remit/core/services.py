"""The names under which remit itself acts: enrolled service actors that no caller may take.

They are apart so that whoever asks about them need not import decisions on the ledger.
"""

from __future__ import annotations

from typing import Final

ADMISSION: Final = "remit-admission"
"""The built-in service that owns verdicts."""

QUEUE: Final = "remit-queue"
"""The built-in service that gives leases and records expiries."""

VERIFIER: Final = "remit-verifier"
"""The built-in verifier."""

RECONCILER: Final = "remit-reconciler"
"""The built-in reconciler, which looks effects up."""

SERVICES: Final = (ADMISSION, QUEUE, VERIFIER, RECONCILER)
