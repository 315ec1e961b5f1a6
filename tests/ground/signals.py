"""What a program has of signals, as the kernel tells it."""

from __future__ import annotations

import signal


def marks(text: str) -> dict[str, set[int]]:
    """Which signals a program has blocked and ignores: lines of ``/proc/self/status`` as sets of numbers.

    The two that the C library keeps for itself are left out: whoever is started by ``posix_spawn``, as
    all that ``make`` starts is, ignores one of them, and nobody can change that through the library.
    """
    told = signal.valid_signals()
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        bits = int(value, 16)
        found[name] = {int(number) for number in told if bits >> (number - 1) & 1}
    return found
