"""A coverage matrix as CSV and as HTML: files that other people open.

What plans say is foreign text. In HTML every cell is escaped and the page loads nothing: no script,
no font, no picture, and a policy that forbids all of them. In CSV a cell that a spreadsheet would
take for a formula gets an apostrophe in front, since opening a file must not run what is in it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from remit.surfaces.cli.visible import visible

Data = Mapping[str, Any]

HEADERS: Final = (
    "requirement",
    "label",
    "statement",
    "goal revision",
    "nodes",
    "rows",
    "items",
    "reviews",
    "commits",
    "results",
    "coverage",
    "why",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

_STYLE: Final = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#1a1a1a}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{border:1px solid #c8c8c8;padding:.3em .5em;text-align:left;vertical-align:top}"
    "th{background:#f0f0f0;position:sticky;top:0}"
    ".deep{background:#dff3df}.shallow{background:#fff7d6}.orphan,.suspect{background:#fbdcdc}"
    ".outdated{background:#fde8d0}.justified{background:#e3e8fb}"
)


def cells(line: Data) -> tuple[str, ...]:
    """One requirement as texts, in the order of ``HEADERS``."""
    items = line["items"]
    why = [*line["lacks"]]
    why += [f"{line['suspects']} suspect links"] if line["suspects"] else []
    for each in line["justified_by"]:
        until = f" until {each['expires_at']}" if each["expires_at"] else ""
        why.append(f"{each['decision']}{until}{' (unproved)' if each['unproved'] else ''}")
    return (
        line["revision"],
        line["label"],
        line["statement"],
        line["goal_revision"],
        " ".join(line["nodes"]),
        " ".join(f"{row['id']}:{row['state']}" for row in line["rows"]),
        " ".join(f"{item['id']}:{item['status']}" for item in items),
        " ".join(str(item["review_seq"]) for item in items if item["review_seq"]),
        " ".join(dict.fromkeys(item["commit"] for item in items if item["commit"])),
        " ".join(result for item in items for result in item["results"]),
        line["coverage"],
        "; ".join(why),
    )


def as_csv(data: Data) -> str:
    """The matrix as CSV with a line of headers, rows ended by CR LF (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADERS)
    for line in data["requirements"]:
        writer.writerow([_inert(cell) for cell in cells(line)])
    return out.getvalue()


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula, without characters that hide or overwrite."""
    shown = visible(text, lines=True)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def as_html(data: Data) -> str:
    """The matrix as one page that needs nothing else."""
    title = f"Coverage of {data['label']} ({data['revision']})"
    counts = ", ".join(f"{number} {state}" for state, number in data["coverage"].items() if number)
    head = "".join(f"<th>{escape(name)}</th>" for name in HEADERS)
    body = "\n".join(_html_row(line) for line in data["requirements"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        f"<title>{_safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_safe(title)}</h1>\n"
        f"<p>{data['total']} requirements: {_safe(counts)}. {data['suspect']} suspect links,"
        f" {data['orphans']} orphans. As of event {data['at']}.</p>\n"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        "</body>\n</html>\n"
    )


def _html_row(line: Data) -> str:
    state = escape(line["coverage"], quote=True)
    return f'<tr class="{state}">' + "".join(f"<td>{_safe(c)}</td>" for c in cells(line)) + "</tr>"


def _safe(text: str) -> str:
    return escape(visible(text, lines=True), quote=True)
