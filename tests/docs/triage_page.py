"""Makes the tables of ``docs/reference/triage.md`` from the tables of the core.

``python tests/docs/triage_page.py`` writes them into the page; a test holds that they are there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from remit.core.triage_kinds import TriageKind
from remit.service.reading.triage import kind_row

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "triage.md"
BEGIN: Final = "<!-- made by tests/docs/triage_page.py from here -->\n"
END: Final = "<!-- to here -->\n"


def tables() -> str:
    """The part of the page that is made."""
    rows = [kind_row(kind) for kind in TriageKind]
    lines = ["| kind | meaning | for the | opened by |", "|---|---|---|---|"]
    lines += [
        f"| [`{r['kind']}`](#{r['kind']}) | {r['meaning']} | {r['owner']} | {_opener(r)} |"
        for r in rows
    ]
    return "\n".join([*lines, *(part for row in rows for part in _kind(row))]) + "\n"


def _opener(row: dict[str, Any]) -> str:
    return "the ledger" if row["opened_by_ledger_alone"] else "holders, people, the drain"


def _kind(row: dict[str, Any]) -> list[str]:
    found = ["", f"### {row['kind']}", "", f"{row['meaning'].capitalize()}. Next: {row['next']}."]
    found += ["", "| evidence | how often | form | meaning |", "|---|---|---|---|"]
    found += [
        f"| `{f['name']}` | {_often(f)} | {f['form']} | {f['meaning']} |" for f in row["fields"]
    ]
    if row["any_of"]:
        found += ["", "At least one of " + ", ".join(f"`{n}`" for n in row["any_of"]) + "."]
    found += ["", "| put aside from | resolutions |", "|---|---|"]
    together: dict[tuple[str, ...], list[str]] = {}
    for status, ways in row["resolutions"].items():
        together.setdefault(tuple(ways), []).append(status)
    found += [
        f"| {', '.join(statuses)} | {', '.join(_way(w, row) for w in ways)} |"
        for ways, statuses in together.items()
    ]
    return found


def _often(field: dict[str, Any]) -> str:
    often = "many" if field["many"] else "once"
    return often if field["required"] else f"{often}, or not at all"


def _way(way: str, row: dict[str, Any]) -> str:
    return f"`{way}` (a human)" if way in row["human"] else f"`{way}`"


def page() -> str:
    """The page as it should be."""
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + "\n" + tables() + "\n" + END + tail


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
