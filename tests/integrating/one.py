"""One process that integrates, and dies by SIGKILL at the point that it is told.

``python one.py ROOT NAME COMMAND_ID POINT``: the points are those between which a crash makes a difference.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integrating.lab import Lab

from remit.service import pushing
from remit.service.integrating import Integration

POINTS = (
    "observed",
    "tested",
    "intended",
    "pushed",
    "noted",
    "looked",
    "seen",
    "shipped",
)


def die(*_: Any, **__: Any) -> None:
    """As if the machine had lost power."""
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str) -> None:
    setattr(owner, name, die)


def after(owner: Any, name: str) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    def run(*args: Any, **how: Any) -> None:
        real(*args, **how)
        die()

    setattr(owner, name, run)


def armed(integration: Integration, point: str) -> None:
    match point:
        case "observed":
            before(integration.landing.__class__, "bring_onto")
        case "tested":
            after(integration.delivery.verifier.__class__, "verify")
        case "intended":
            before(integration.push.__class__, "send")
        case "pushed":
            after(integration.push.__class__, "send")
        case "noted":
            after(pushing.Pushes, "note")
        case "looked":
            after(integration.push.__class__, "look_up")
        case "seen":
            before(Integration, "ship")
        case "shipped":
            after(Integration, "ship")


def main(root: str, name: str, command_id: str, point: str) -> None:
    lab = Lab(Path(root))
    integration = lab.integration()
    armed(integration, point)
    print(integration.integrate(name, command_id=command_id))


if __name__ == "__main__":
    main(*sys.argv[1:])
