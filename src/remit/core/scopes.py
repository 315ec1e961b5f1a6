"""Scopes: which paths of a repository a piece of work may change, as a list of patterns.

The same patterns name expected artifacts. They are matched against the whole path from the root of
the repository, case-sensitively, and no .gitignore plays a part:

- `*` stands for any run of characters within one part of the path, `?` for one such character;
- `**` as a whole part stands for any number of parts, none included;
- a pattern without a wildcard names a file, or a directory with all that lies beneath it; a
  trailing `/` after any pattern means all beneath it;
- nothing else is special: `[id].tsx` is a file name.

Matching is done part by part in bounded time, never by a regular expression built from foreign
text. An empty list of patterns covers nothing: a scope is explicit or it is no scope.
"""

from __future__ import annotations

from collections.abc import Iterable

PATTERN_LIMIT_CHARS = 4096
"""The longest pattern that is accepted."""


def pattern_problem(pattern: str) -> str | None:
    """Say what is wrong with a scope pattern, or None.

    Refused: empty or overlong ones, absolute ones, `.` and `..` parts, empty parts, negation,
    control characters, and `**` glued to other text in one part.
    """
    if not pattern or len(pattern) > PATTERN_LIMIT_CHARS:
        return f"pattern must have 1 to {PATTERN_LIMIT_CHARS} characters, found {len(pattern)}"
    if pattern.startswith(("/", "!", "-")):
        return f"pattern {pattern!r} starts with {pattern[0]!r}; give a path from the root"
    if min(pattern) < " ":
        return f"pattern {pattern!r} has a control character"
    for part in pattern.removesuffix("/").split("/"):
        if part in ("", ".", ".."):
            return f"pattern {pattern!r} has the part {part!r}; give a plain path from the root"
        if "**" in part and part != "**":
            return f"pattern {pattern!r} joins ** to other text; ** stands alone between slashes"
    return None


def in_scope(path: str, patterns: Iterable[str]) -> bool:
    """Say whether any pattern covers `path`, a path from the root with `/` between its parts.

    A pattern that `pattern_problem` faults covers nothing.
    """
    return any(covers(pattern, path) for pattern in patterns)


def covers(pattern: str, path: str) -> bool:
    """Say whether one pattern covers one path."""
    if pattern_problem(pattern) is not None:
        return False
    parts = path.split("/")
    wanted = pattern.removesuffix("/").split("/")
    if pattern.endswith("/"):
        return _match_parts([*wanted, "*", "**"], parts)
    if not any(char in pattern for char in "*?"):
        return parts[: len(wanted)] == wanted
    return _match_parts(wanted, parts)


def _match_parts(wanted: list[str], parts: list[str]) -> bool:
    """Match whole parts; `reach` holds how many parts the pattern so far can have used up."""
    reach = {0}
    for pattern in wanted:
        if pattern == "**":
            reach = set(range(min(reach), len(parts) + 1))
        else:
            reach = {
                used + 1
                for used in reach
                if used < len(parts) and _match_part(pattern, parts[used])
            }
        if not reach:
            return False
    return len(parts) in reach


def _match_part(pattern: str, text: str) -> bool:
    """Match one part with `*` and `?`, going back to the last star only: at most m x n steps."""
    at_pattern = at_text = 0
    star: tuple[int, int] | None = None
    while at_text < len(text):
        char = pattern[at_pattern] if at_pattern < len(pattern) else None
        if char == "*":
            star = (at_pattern, at_text)
            at_pattern += 1
        elif char is not None and char in ("?", text[at_text]):
            at_pattern += 1
            at_text += 1
        elif star is not None:
            star = (star[0], star[1] + 1)
            at_pattern, at_text = star[0] + 1, star[1]
        else:
            return False
    return set(pattern[at_pattern:]) <= {"*"}
