"""The house rules as functions: text in, findings out.

Each check takes a path to speak of and the text to judge, and returns one line per finding. None of
them reads a file, so a test can hand each one a bad sample and see it object: a check that was
never red proves nothing. `test_tidy.py` runs them over the tree, `test_checks_can_fail.py` over the
samples.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

MODULE_LINES = 400
FUNCTION_LINES = 60
BANNED_NAMES = frozenset({"utils", "util", "common", "helpers", "helper", "manager", "managers"})

# What the core may import: words for shapes and numbers, nothing that can look at the world.
CORE_MAY_IMPORT = frozenset(
    {
        "__future__", "abc", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses",
        "datetime", "decimal", "enum", "fnmatch", "fractions", "functools", "hashlib", "heapq",
        "hmac", "itertools", "json", "math", "operator", "re", "string", "struct", "textwrap",
        "types", "typing", "unicodedata",
    }
)  # fmt: skip
CLOCK_CALLS = frozenset({"now", "utcnow", "today"})

# Statements that steer a connection and hold no query may stand in Python.
STEERING = ("PRAGMA", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH")
# Upper case, or all lower case with a second keyword: prose like "Select one from" stays free.
_SQL = re.compile(
    r"""\s*(?:
        (?:SELECT|INSERT|UPDATE|DELETE|CREATE|REPLACE|ALTER|DROP|WITH)\s
      | select\s.+?\sfrom\s | insert\s+(?:or\s+\w+\s+)?into\s | update\s+\w+\s+set\s
      | delete\s+from\s | create\s+(?:\w+\s+)?(?:table|index|view|trigger)\s
      | (?:alter|drop)\s+(?:table|index|view|trigger)\s
    )""",
    re.VERBOSE | re.DOTALL,
)

_UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b")
_TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore")
_TYPE_IGNORE_GOOD = re.compile(r"#\s*type:\s*ignore\[[a-z0-9, -]+\]\s+#\s*\S.{4,}")
_NOQA = re.compile(r"#\s*noqa\b", re.IGNORECASE)
_NOQA_GOOD = re.compile(r"#\s*noqa:\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*\s+(?:#|-)\s*\S.{4,}")

# Joined here, so that this file does not name what it looks for.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("yarnpkg", "com"),
        ("deb", "debian", "org"), ("security", "debian", "org"), ("archive", "ubuntu", "com"),
        ("crates", "io"), ("proxy", "golang", "org"), ("rubygems", "org"),
    )
)  # fmt: skip


def too_long(path: str, text: str) -> list[str]:
    """A module that does not fit in a reader's head is two modules."""
    lines = len(text.splitlines())
    return [f"{path}: {lines} lines, at most {MODULE_LINES}"] if lines > MODULE_LINES else []


def long_functions(path: str, text: str) -> list[str]:
    """A function that does not fit on a page is two functions."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                found.append(
                    f"{path}:{node.lineno}: {node.name} has {lines} lines, at most {FUNCTION_LINES}"
                )
    return found


def no_essay(path: str, text: str) -> list[str]:
    """A module says what it is and why it is here; one line will do for an empty package."""
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)
    if docstring is None:
        return [f"{path}: no module docstring"]
    if len(tree.body) > 1 and len(docstring.splitlines()) < 2:
        return [f"{path}: the module docstring has one line; say what it is and why it is here"]
    return []


def banned_name(path: str) -> list[str]:
    """A module named after nothing collects everything."""
    parts = re.split(r"[/.]", path)
    return [f"{path}: '{part}' is no name for a module" for part in parts if part in BANNED_NAMES]


def unfinished(path: str, text: str) -> list[str]:
    """What is not done belongs in ROADMAP.md, where it is seen."""
    return [
        f"{path}:{number}: unfinished: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1)
        if _UNFINISHED.search(line)
    ]


def swallowed(path: str, text: str) -> list[str]:
    """An exception nobody named and nobody answered is a lost fact."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            found.append(f"{path}:{node.lineno}: bare except")
        elif _is_broad(node.type) and all(_does_nothing(step) for step in node.body):
            found.append(f"{path}:{node.lineno}: a broad except that does nothing")
    return found


def _is_broad(kind: ast.expr) -> bool:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(n, ast.Name) and n.id in {"Exception", "BaseException"} for n in names)


def _does_nothing(step: ast.stmt) -> bool:
    return isinstance(step, ast.Pass | ast.Continue) or (
        isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
    )


def unexplained_ignores(path: str, text: str) -> list[str]:
    """An ignore names its code and its reason, or the next reader cannot remove it."""
    found = []
    for number, comment in _comments(text):
        if _TYPE_IGNORE.search(comment) and not _TYPE_IGNORE_GOOD.search(comment):
            found.append(f"{path}:{number}: write `# type: ignore[code]  # reason`")
        if _NOQA.search(comment) and not _NOQA_GOOD.search(comment):
            found.append(f"{path}:{number}: write `# noqa: CODE  # reason`")
    return found


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def sql_in_python(path: str, text: str) -> list[str]:
    """Queries live in .sql files, where a database person finds them (a heuristic)."""
    tree = ast.parse(text)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        f"{path}:{node.lineno}: SQL in Python: {node.value.strip()[:50]!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and not node.value.lstrip().upper().startswith(STEERING)
        and _SQL.match(node.value)
    ]


def impure_core(path: str, text: str) -> list[str]:
    """The core decides from its arguments alone: no import that sees the world, no clock."""
    found = []
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            if not (name == "remit" or name.startswith("remit.core")) and (
                name.split(".")[0] not in CORE_MAY_IMPORT
            ):
                found.append(f"{path}:{getattr(node, 'lineno', 0)}: the core may not import {name}")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CLOCK_CALLS
        ):
            found.append(f"{path}:{node.lineno}: the core reads no clock; `now` is an argument")
    return found


def places(path: str, text: str, here: Sequence[str]) -> list[str]:
    """A tracked file names no package index and no folder of the machine it was written on.

    `here` lists the folders of this machine. A short one, such as a home folder at the root, may
    stand alone as a place in a sandbox; with something below it, it tells of this machine.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for host in REGISTRY_HOSTS:
            if re.search(rf"\b{re.escape(host)}\b", line):
                found.append(f"{path}:{number}: names the registry host {host}")
        for folder in here:
            end = r"(?![\w-])" if folder.count("/") > 1 else "/"
            if re.search(rf"(?<![\w.-]){re.escape(folder)}{end}", line):
                found.append(f"{path}:{number}: names a folder of this machine, {folder}")
    return found


def unexplained_rules(text: str) -> list[str]:
    """Every rule that pyproject.toml switches off says why, in a comment on its line."""
    found = []
    section, listing = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            section, listing = line.strip(), False
        elif line.startswith(("select", "ignore")):
            listing = line.startswith("ignore")
        lint_off = section.endswith(".per-file-ignores]") or (
            section == "[tool.ruff.lint]" and listing
        )
        off = re.findall(r'"([A-Z]+\d*)"', line) if lint_off else []
        if section == "[[tool.mypy.overrides]]" and not line.startswith(("module", "[")):
            off = re.findall(r"^(\w+) =", line)
        if off and "#" not in line:
            found.append(f"pyproject.toml:{number}: {', '.join(off)}: no reason given")
    return found


def unknown_targets(path: str, text: str, makefile: str) -> list[str]:
    """A `make` target that the documents name is in the Makefile."""
    known = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:`|^\s*(?:\$ )?)make ([a-z][a-z-]*)", text, re.MULTILINE))
    return [f"{path}: `make {name}` is not in the Makefile" for name in sorted(named - known)]
