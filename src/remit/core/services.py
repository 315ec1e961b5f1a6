"""The names under which remit itself acts: enrolled service actors that no caller may take.

They are apart so that whoever asks about them need not import decisions on the ledger.
"""

from __future__ import annotations

from typing import Final

from remit.core.decide.leases import QUEUE
from remit.core.intents import ADMISSION

VERIFIER: Final = "remit-verifier"
"""The built-in verifier."""

RECONCILER: Final = "remit-reconciler"
"""The built-in reconciler, which looks effects up."""

SERVICES: Final = (ADMISSION, QUEUE, VERIFIER, RECONCILER)
