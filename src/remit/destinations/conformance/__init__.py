"""The conformance suite: it holds a destination to what it declares.

``examine(subject)`` runs every check and returns them in order. ``python -m
remit.destinations.conformance module:factory`` does so from the command line, and a test suite may
run them one by one (``CHECKS``). It uses no test framework. It sends real requests: give it a
destination where test objects may stay.
"""

from __future__ import annotations

from remit.core.checks import Check, Result
from remit.destinations.conformance.checks import CHECKS
from remit.destinations.conformance.subject import Subject, plain_payload
from remit.destinations.conformance.trial import Trial

__all__ = ["CHECKS", "Check", "Result", "Subject", "Trial", "examine", "plain_payload", "run_check"]


def run_check(name: str, trial: Trial) -> Check:
    """One check. A destination that raises what the port does not know has failed it."""
    try:
        return CHECKS[name](trial)
    except Exception as error:  # noqa: BLE001  # a foreign destination may raise anything
        found = f"{type(error).__name__}: {error}"
        trial.texts.append(found)
        return Check(
            name, Result.FAIL, found[:400], "an answer or an error of the port", "", "RAISED"
        )


def examine(subject: Subject) -> list[Check]:
    """Every check, in order."""
    trial = Trial(subject)
    return [run_check(name, trial) for name in CHECKS]
