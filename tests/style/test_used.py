"""Nothing is kept that nobody uses: functions, classes, constants and codes of refusals."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest
from tests.style.test_tidy import listed, read

CODE = re.compile(r'^    ([A-Z_]+) = "\1"$', re.MULTILINE)
WORD = re.compile(r"\w+")


def named(source: str) -> list[str]:
    """Functions, classes and constants at the top of a module, but for what registers itself."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
            found.append(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.append(node.target.id)
    return [name for name in found if not name.startswith("__")]


def unused(sources: dict[str, str], others: str = "") -> list[str]:
    """Names that stand nowhere but where they are made."""
    words = Counter(WORD.findall("\n".join((*sources.values(), others))))
    return [
        f"{path}: {name}" for path, text in sources.items() for name in named(text)
        if words[name] < 2
    ]  # fmt: skip


def test_every_name_is_used_somewhere() -> None:
    sources = {path: read(path) for path in listed("src/**/*.py")}
    tests = "\n".join(read(path) for path in listed("tests/**/*.py"))
    assert unused(sources, tests) == []


def test_every_code_of_a_refusal_can_be_met() -> None:
    refusals = "src/remit/core/refusals.py"
    codes = CODE.findall(read(refusals))
    assert len(codes) > 40
    rest = "\n".join(read(path) for path in listed("src/**/*.py"))
    assert [code for code in codes if not re.search(rf"\bCode\.{code}\b", rest)] == []


@pytest.mark.parametrize(
    "source", ["def lonely() -> None: ...", "class Lonely: ...", "LONELY: int = 3"]
)
def test_what_nobody_uses_is_found(source: str) -> None:
    assert unused({"a.py": source, "b.py": "import a"}) != []
    assert unused({"a.py": source}, "lonely Lonely LONELY") == []
