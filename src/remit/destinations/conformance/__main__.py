"""``python -m remit.destinations.conformance module:factory``: try a destination of one's own.

The factory takes nothing and returns a ``Subject``, or a context manager that gives one. Exit status
0: no check failed; 6: one did; 2: there is no such factory.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from remit.core.checks import Result
from remit.destinations.conformance import Subject, examine

_USAGE = "usage: python -m remit.destinations.conformance module:factory\n"


def main(arguments: list[str]) -> int:
    """Run the suite and print a line for each check."""
    module, _, name = arguments[0].partition(":") if len(arguments) == 1 else ("", "", "")
    if not module or not name:
        sys.stderr.write(_USAGE)
        return 2
    sys.path.insert(0, "")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        sys.stderr.write(f"cannot load {arguments[0]}: {error}; name a function that is there\n")
        return 2
    with _opened(factory()) as subject:
        checks = examine(subject)
    for check in checks:
        seen = f"{check.observed or '-'} (required {check.required or '-'})"
        why = f" {check.reason}" if check.reason else ""
        sys.stdout.write(f"{check.result.value:10} {check.check:14} {seen}{why}\n")
    counts = {result: sum(c.result is result for c in checks) for result in Result}
    sys.stdout.write(", ".join(f"{n} {result.value}" for result, n in counts.items()) + "\n")
    return 6 if counts[Result.FAIL] else 0


def _opened(made: Any) -> AbstractContextManager[Subject]:
    return made if isinstance(made, AbstractContextManager) else nullcontext(made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
