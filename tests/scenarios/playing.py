"""Scenarios for tests: the shipped ones by name, small ones from a text, and what came of them."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from remit.documents.marked import Problem
from remit.scenarios.main import run_one
from remit.scenarios.model import Scenario
from remit.scenarios.reading import scenario as read

SHIPPED = Path(__file__).parents[2] / "examples" / "scenarios"
NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))

SMALL = """
scenario: small
documents:
  - validation: RULES-1
  - {policy: POLICY-1, validation: RULES-1, classes: [EXPORT], freshness_limit: 2m}
  - {destination: STORE-1, name: objects, record: INDEX-1, enforces: {lookup: true, lookup_consistent: true}}
works:
  WORK-1:
    message_id: MESSAGE-1
    operation_id: EXPORT-1
    effect_id: PACKAGE-1
    payload_digest: DIGEST-1
    priority_class: EXPORT
    replay_class: RECONCILABLE
    destination: objects
    cancellation_state: NOT_REQUESTED
    completion_test: [{name: digest, field: digest, required: DIGEST-1}]
"""
"""The beginning of a small scenario; steps are for the test to say."""


@cache
def shipped(name: str) -> Scenario:
    """A shipped scenario, read once."""
    return scenario_of((SHIPPED / f"{name}.yaml").read_text())


def scenario_of(text: str) -> Scenario:
    """The scenario of a text that has no faults."""
    found, problems = read(text.encode())
    assert found is not None, [str(p) for p in problems]
    return found


def small(steps: str) -> str:
    """A small scenario with these steps."""
    return SMALL + textwrap.dedent(steps)


def problems_of(text: str) -> list[Problem]:
    """Every fault of a text."""
    return read(text.encode())[1]


def played(found: Scenario) -> dict[str, Any]:
    """What playing it came to."""
    return run_one("test.yaml", found)


def failed(found: Scenario) -> list[str]:
    """The lines that did not come out as expected."""
    return [
        f"{line['check']}: expected {line['expected']}, found {line['actual']}"
        for line in played(found)["oracle"]
        if not line["pass"]
    ]
