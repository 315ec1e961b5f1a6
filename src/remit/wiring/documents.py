"""Wiring of documents: which reader takes a text that somebody handed in.

Surfaces know what a text is meant to be; how it is read is an adapter's matter.
"""

from __future__ import annotations

from remit.core.effect_facts import Capacity
from remit.documents.intents import Submission
from remit.documents.intents import observations as read_observations
from remit.documents.intents import submissions as read_submissions
from remit.documents.marked import Problem


def submissions(data: bytes) -> tuple[list[Submission], list[Problem]]:
    """The intents of a text, and every problem that kept one from being read."""
    return read_submissions(data)


def observations(data: bytes) -> tuple[list[Capacity], list[Problem]]:
    """The observations of capacity of a text, and every problem of it."""
    return read_observations(data)
