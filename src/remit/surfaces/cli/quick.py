"""The quick way in: reads with ``--json``, without a command-line framework.

A prompt, a hook or an agent asks ``remit ready --json`` often, and most of a cold answer is loading
modules. This module understands exactly the options in ``READS`` and the global ones, written in
full; whatever else it meets, it steps aside, and the full way in answers, with the same functions
and the same bytes. It never decides that something is an error of usage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from remit.surfaces.cli import reads
from remit.surfaces.cli.answers import Answer, print_data, telling
from remit.surfaces.cli.session import Options, Session


@dataclass(frozen=True, slots=True)
class Read:
    """A read command: its function, its argument, and its options with their kind.

    ``aside`` are options with which it is another read, left to the whole command line.
    """

    run: Callable[..., Answer]
    argument: str = ""
    options: dict[str, tuple[str, str]] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()


_LIMIT: Final = {"--limit": ("limit", "int")}
_STATUS: Final = {"--status": ("status", "many")}
_AFTER: Final = {"--after": ("after", "text")}
_WHOLE: Final = frozenset(
    ("--matrix", "--orphans", "--suspect", "--delta", "--needs", "--plan", "--format", "--out")
)


def _triage(name: str) -> Callable[..., Answer]:
    """A read of triage records, loaded as those of plans are."""

    def run(session: Session, **given: Any) -> Answer:
        from remit.surfaces.cli import triage_reads

        found: Answer = getattr(triage_reads, name)(session, **given)
        return found

    return run


def _plan(name: str) -> Callable[..., Answer]:
    """A read of plans; what it needs is loaded only where one is asked for."""

    def run(session: Session, **given: Any) -> Answer:
        from remit.surfaces.cli import plan_reads, plan_views

        answer = getattr(plan_reads, name, None) or getattr(plan_views, name)
        found: Answer = answer(session, **given)
        return found

    return run


READS: Final[dict[tuple[str, ...], Read]] = {
    ("ready",): Read(reads.ready, "", _LIMIT),
    ("list",): Read(
        reads.list_items,
        "",
        {
            **_STATUS,
            "--gate": ("gate", "text"),
            "--hold": ("hold", "text"),
            **_AFTER,
            "--newest": ("newest", "flag"),
            **_LIMIT,
        },
    ),
    ("blocked",): Read(reads.blocked, "", {**_AFTER, **_LIMIT}),
    ("show",): Read(reads.show, "item"),
    ("search",): Read(reads.search, "text", {**_STATUS, **_LIMIT}),
    ("inbox",): Read(reads.inbox, "", _LIMIT),
    ("fleet",): Read(reads.fleet, "", _LIMIT),
    ("run", "list"): Read(reads.run_list, "", {"--live": ("live", "flag"), **_LIMIT}),
    ("run", "show"): Read(reads.run_show, "run", _LIMIT),
    ("explain",): Read(reads.explain, "item", {"--format": ("form", "text")}),
    ("trace",): Read(reads.trace, "item", _LIMIT, _WHOLE),
    ("brief",): Read(reads.brief, "item"),
    ("triage", "list"): Read(
        _triage("triage_list"),
        "",
        {
            "--all": ("every", "flag"),
            "--kind": ("kind", "text"),
            "--owner": ("owner", "text"),
            "--item": ("item", "text"),
            "--run": ("run", "text"),
            "--older": ("older", "text"),
            **_LIMIT,
        },
    ),
    ("triage", "show"): Read(_triage("triage_show"), "record"),
    ("dep", "tree"): Read(reads.dep_tree, "item"),
    ("actor", "list"): Read(reads.actor_list, "", _LIMIT),
    ("rule", "list"): Read(reads.rule_list, "", _LIMIT),
    ("policy", "show"): Read(reads.policy_show),
    ("policy", "list"): Read(reads.policy_list, "", _LIMIT),
    ("capacity", "show"): Read(reads.capacity_show, "", _LIMIT),
    ("plan", "check"): Read(_plan("check"), "file", _LIMIT),
    ("plan", "graph"): Read(
        _plan("graph"),
        "file",
        {
            "--format": ("form", "text"),
            "--around": ("around", "text"),
            "--out": ("out", "text"),
        },
    ),
    ("plan", "schema"): Read(_plan("schema")),
    ("plan", "list"): Read(_plan("listed"), "", _LIMIT),
    ("plan", "show"): Read(_plan("show"), "name"),
    ("plan", "export"): Read(
        _plan("export"), "name", {"--out": ("out", "text"), "--force": ("force", "flag")}
    ),
    ("limit", "show"): Read(reads.limit_show, "", _LIMIT),
}
"""Reads that the quick way in understands."""

GLOBALS: Final = {
    "--json": ("json", "flag"),
    "--quiet": ("quiet", "flag"),
    "--no-color": ("no_color", "flag"),
    "--ledger": ("ledger", "text"),
    "--as": ("actor", "text"),
    "--at": ("at", "int"),
}
"""The global options of reads."""


def parse(argv: Sequence[str]) -> tuple[Read, Options, dict[str, Any]] | None:
    """The read that was asked for, or None where the full way in has to look at it."""
    words: list[str] = []
    given: list[tuple[str, str, Any]] = []
    read, rest = None, list(argv)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            words.append(word)
            read = read or READS.get(tuple(words))
            if read is not None and tuple(words) in READS:
                words = []
            continue
        known = (read.options if read else {}).get(word) or GLOBALS.get(word)
        if known is None or (known[1] != "flag" and not rest):
            return None
        value = True if known[1] == "flag" else _value(known[1], rest.pop(0))
        if value is None:
            return None
        given.append((*known, value))
    if read is None or len(words) != (1 if read.argument else 0):
        return None
    options, arguments = _sorted(read, given)
    if read.argument:
        arguments[read.argument] = words[0]
    return (read, options, arguments) if options.json else None


def _value(kind: str, text: str) -> Any:
    if kind != "int":
        return None if text.startswith("-") else text
    return int(text) if text.isascii() and text.isdigit() else None


def _sorted(read: Read, given: list[tuple[str, str, Any]]) -> tuple[Options, dict[str, Any]]:
    globals_: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    own = {name for name, _ in read.options.values()}
    for name, kind, value in given:
        if name not in own:
            globals_[name] = value
        elif kind == "many":
            arguments[name] = (*arguments.get(name, ()), value)
        else:
            arguments[name] = value
    return Options(**globals_), arguments


def run(read: Read, session: Session, arguments: dict[str, Any]) -> int:
    """Answer a read."""
    answer = read.run(session, **arguments)
    with telling():
        print_data(answer.data)
    return answer.exit_status
