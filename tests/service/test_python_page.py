"""The page on the Python interface does what it says, word for word."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, object] = {"folder": tmp_path}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{PAGE.name} block {number + 1}", "exec"), names)
    assert (tmp_path / "ledger.db").exists()
