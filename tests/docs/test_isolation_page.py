"""The page on isolation names every probe, once, and nothing that is not tried."""

import re
from pathlib import Path

from remit.isolation.inside import escapes

PAGE = Path(__file__).parents[2] / "docs/concepts/isolation.md"


def test_every_probe_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## What the probes try")[2]
    named = re.findall(r"^\| `([a-z-]+)` \|", text.partition("\n## ")[0], re.MULTILINE)
    assert sorted(named) == sorted(escapes.TRIES)
