"""Holding the garbage collector back while a bounded amount of plain values is made.

Facts and events hold no cycles, so counting references frees them; but the collector looks at all of
them again and again while a batch or a fold makes thousands, and finds nothing. It is switched off for
a batch of many calls (a tenth of a second at most), for a plan that is read or applied, and for the fold
of a whole ledger, and left as it was found.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MANY: Final = 50
"""Calls of one transaction from which on it is worth it."""


@contextmanager
def held_back() -> Iterator[None]:
    """Collect no cycles within; whoever found the collector on switches it on again."""
    found = gc.isenabled()
    if found:
        gc.disable()
    try:
        yield
    finally:
        if found:
            gc.enable()
