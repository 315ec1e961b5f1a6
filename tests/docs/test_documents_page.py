"""The page of documents: each block is read without a fault, and names every part that there is."""

from __future__ import annotations

import re
from pathlib import Path

from remit.documents.intents import CAPACITY, INTENT, observations, submissions
from remit.documents.rulings import DESTINATION, ENFORCES, POLICY, VALIDATION, rulings

PAGE = Path(__file__).parents[2] / "docs/reference/documents.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_block_is_read() -> None:
    rules, policy, destination, intent, capacity = (block.encode() for block in BLOCKS)
    for block, kind in ((rules, "validation"), (policy, "policy"), (destination, "destination")):
        [found], problems = rulings(block)
        assert (problems, found.kind) == ([], kind)
    [submitted], problems = submissions(intent)
    assert (problems, submitted.faults) == ([], ())
    [observed], problems = observations(capacity)
    assert problems == []
    assert (observed.start_delay_ms, observed.duration_ms) == (960_000, 300_000)


def test_every_part_is_named() -> None:
    text = PAGE.read_text()
    for table in (VALIDATION, POLICY, DESTINATION, ENFORCES, INTENT, CAPACITY):
        for name in table:
            assert re.search(rf"\b{name}\b", text), name


def test_the_figures_of_the_page_are_those_that_hold_otherwise() -> None:
    shown = rulings(BLOCKS[1].encode())[0][0].command
    least = rulings(b"policy: P\nvalidation: V\nclasses: [a]\n")[0][0].command
    same = ("max_payload_bytes", "storage_retry_ms", "recheck_horizon", "attempts", "looks",
            "backoff_base_ms", "backoff_cap_ms", "retry_within_ms", "rows", "human_decision")  # fmt: skip
    for name in same:
        assert getattr(shown.policy, name) == getattr(least.policy, name), name  # type: ignore[attr-defined]  # a policy's
