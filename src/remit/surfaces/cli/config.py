"""The configuration of a repository: ``.remit/config.toml``, found upwards, meant to be committed.

It says what people agree on before work starts: which remote and branch are observed, the class and
tenant of new items, and the default rules that may give items a verification row once a human
accepted them. Everything has a default, so the file may be absent. A fault is refused with the line
it is on; an unknown name is a fault, because a misspelt rule would otherwise be no rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Stop, stop

NAME: Final = ".remit/config.toml"

TEMPLATE: Final = """\
# What remit agrees on in this repository. Commit this file. Every line may be left out.

# The remote whose main branch is observed: work ships when it is seen there.
remote = "origin"
main = "main"

# Whether that remote takes small refs of remit's beside main (refs/remit/...), by which a push that was
# interrupted is known for certain. Say false where it refuses them.
markers = true

# How 'remit integrate --pr' speaks to the remote's host; without it, by GitHub's gh:
#
# [pull_requests]
# create = ["gh", "pr", "create", "--head={branch}", "--base={base}", "--title={title}", "--body={body}"]
# find = ["gh", "pr", "list", "--head={branch}", "--base={base}", "--state=all",
#         "--json=url,state,headRefOid,baseRefName,isCrossRepository,mergeCommit"]

# The lane of items that name none.
class = "delivery"
tenant = "default"

# A default rule gives items that come without a check of their own one to pass, once a human has
# accepted it ('remit rule accept default'). Take the marks off and adapt:
#
# [rules.default]
# command = "make test"
# rubric = "The change does what the title says, and nothing else."
# timeout_s = 600
"""

_TOP: Final = {
    "remote": str,
    "main": str,
    "markers": bool,
    "class": str,
    "tenant": str,
    "pull_requests": dict,
    "rules": dict,
}
_HOST: Final = {"create": list, "find": list}
_KINDS: Final = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
_MOST_ARGUMENTS: Final = 100
_RULE: Final = {
    "command": str,
    "rubric": str,
    "expected_exit": int,
    "junit": str,
    "red_reason": str,
    "timeout_s": int,
}


@dataclass(frozen=True, slots=True)
class RuleConfig:
    """A default rule as configured; ``command`` is run by ``sh -c``, ``timeout_s`` is seconds."""

    name: str
    command: str = ""
    rubric: str = ""
    expected_exit: int = 0
    junit: str = ""
    red_reason: str = ""
    timeout_s: int = 600


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says; ``path`` is None where there is no file."""

    path: Path | None = None
    remote: str = "origin"
    main: str = "main"
    work_class: str = "delivery"
    tenant: str = "default"
    markers: bool = True
    host: tuple[tuple[str, ...], ...] = ()
    rules: tuple[RuleConfig, ...] = field(default=())


def find(start: Path) -> Path | None:
    """The nearest configuration file upwards."""
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder / NAME
    return None


def load(start: Path) -> Config:
    """The configuration that holds in a folder. Raises ``BAD_INPUT`` with path and line."""
    path = find(start)
    if path is None:
        return Config()
    import tomllib

    try:
        text = path.read_bytes().decode("utf-8")
        found = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise _fault(path, 0, str(error)) from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise _fault(path, int(line[1]) if line else 0, str(error)) from error
    _check(path, text, found, _TOP, "")
    rules = []
    for name, table in found.get("rules", {}).items():
        if not isinstance(table, dict):
            raise _fault(path, _line(text, name), f"rules.{name} is not a table")
        _check(path, text, table, _RULE, f"rules.{name}.")
        rules.append(_rule(path, text, name, table))
    return Config(
        path,
        found.get("remote", "origin"),
        found.get("main", "main"),
        found.get("class", "delivery"),
        found.get("tenant", "default"),
        found.get("markers", True),
        _host(path, text, found.get("pull_requests", {})),
        tuple(rules),
    )


def _host(path: Path, text: str, table: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """How the host's command line opens and finds pull requests; empty where nothing is said."""
    _check(path, text, table, _HOST, "pull_requests.")
    if not table:
        return ()
    found = []
    for name in _HOST:
        argv = table.get(name, [])
        sound = all(isinstance(part, str) and part for part in argv)
        if not sound or not 1 <= len(argv) <= _MOST_ARGUMENTS:
            what = f"pull_requests.{name} is no list of 1 to {_MOST_ARGUMENTS} texts"
            raise _fault(path, _line(text, name), what)
        found.append(tuple(argv))
    return tuple(found)


def _rule(path: Path, text: str, name: str, table: dict[str, Any]) -> RuleConfig:
    rule = RuleConfig(name, **table)
    if not rule.command.strip() and not rule.rubric.strip():
        raise _fault(path, _line(text, name), f"rules.{name} has neither a command nor a rubric")
    if rule.timeout_s < 1:
        raise _fault(path, _line(text, "timeout_s"), f"rules.{name}.timeout_s is not positive")
    return rule


def _check(
    path: Path, text: str, found: Mapping[str, Any], known: Mapping[str, type], where: str
) -> None:
    for key, value in found.items():
        if key not in known:
            names = ", ".join(known)
            raise _fault(path, _line(text, key), f"{where}{key} is unknown, expected {names}")
        if type(value) is not known[key]:  # a bool is an int, and no number here
            kind = _KINDS[known[key]]
            raise _fault(path, _line(text, key), f"{where}{key} is {value!r}, expected {kind}")


def _line(text: str, key: str) -> int:
    """The line on which a key or table is first written; 0 where it cannot be told."""
    pattern = re.compile(rf"\s*(\[.*\b)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.match(line):
            return number
    return 0


def _fault(path: Path, line: int, what: str) -> Stop:
    where = f"{path}, line {line}" if line else str(path)
    return stop(
        Code.BAD_INPUT,
        f"cannot use the configuration {where}: {what}",
        "correct the file; docs/reference/configuration.md names what it may hold",
        path=str(path),
        line=line,
    )
