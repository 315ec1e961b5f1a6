"""Every house rule meets a sample that breaks it and one that only looks as if it did."""

from collections.abc import Callable

import pytest
from tests.style import checks

Check = Callable[[str, str], list[str]]

LONG = "def f():\n" + "    x = 1\n" * checks.FUNCTION_LINES
FITS = "def f():\n" + "    x = 1\n" * (checks.FUNCTION_LINES - 1)

BAD: list[tuple[Check, str]] = [
    (checks.too_long, "x = 1\n" * (checks.MODULE_LINES + 1)),
    (checks.long_functions, LONG),
    (checks.long_functions, LONG.replace("def", "async def")),
    (checks.no_essay, "x = 1\n"),
    (checks.no_essay, '"""One line."""\nx = 1\n'),
    (checks.no_essay, ""),
    (checks.unfinished, "# TO" + "DO later\n"),
    (checks.unfinished, "raise NotImplemented" + "Error\n"),
    (checks.swallowed, "try:\n    f()\nexcept:\n    g()\n"),
    (checks.swallowed, "try:\n    f()\nexcept Exception:\n    pass\n"),
    (checks.swallowed, "try:\n    f()\nexcept (OSError, BaseException):\n    ...\n"),
    (
        checks.swallowed,
        "for x in y:\n    try:\n        f()\n    except Exception:\n        continue\n",
    ),
    (checks.unexplained_ignores, "x = 1  # type: " + "ignore\n"),
    (checks.unexplained_ignores, "x = 1  # type: " + "ignore[arg-type]\n"),
    (checks.unexplained_ignores, "x = 1  # no" + "qa\n"),
    (checks.unexplained_ignores, "x = 1  # no" + "qa: E501\n"),
    (checks.sql_in_python, "q = 'SELECT 1'\n"),
    (checks.sql_in_python, "q = '''\n  insert into items values (1)'''\n"),
    (checks.sql_in_python, "q = 'select id from items'\n"),
    (checks.sql_in_python, "q = f'UPDATE {table} SET x = 1'\n"),
    (checks.sql_in_python, "q = 'create table t (x)'\n"),
    (checks.impure_core, "import time\n"),
    (checks.impure_core, "import os.path\n"),
    (checks.impure_core, "from msgspec import json\n"),
    (checks.impure_core, "from remit.stores import sqlite\n"),
    (checks.impure_core, "def f():\n    import random\n"),
    (checks.impure_core, "from datetime import datetime\nx = datetime.now()\n"),
]

GOOD: list[tuple[Check, str]] = [
    (checks.too_long, "x = 1\n" * checks.MODULE_LINES),
    (checks.long_functions, FITS),
    (checks.no_essay, '"""An empty package."""\n'),
    (checks.no_essay, '"""What it is.\n\nWhy it is here.\n"""\nx = 1\n'),
    (checks.unfinished, "mastodon = 1\n"),
    (checks.swallowed, "try:\n    f()\nexcept Exception as why:\n    tell(why)\n"),
    (checks.swallowed, "try:\n    f()\nexcept FileNotFoundError:\n    pass\n"),
    (checks.unexplained_ignores, "x = 1  # type: " + "ignore[arg-type]  # the stub is wrong\n"),
    (checks.unexplained_ignores, "x = 1  # no" + "qa: S602, S604  # a row is a shell line\n"),
    (checks.unexplained_ignores, "x = '# no" + "qa'\n"),
    (checks.sql_in_python, '"""SELECT is what a query does."""\n'),
    (checks.sql_in_python, "x = 'Select one from the list'\n"),
    (checks.sql_in_python, "x = ['BEGIN IMMEDIATE', 'PRAGMA journal_mode = WAL', 'UPDATE']\n"),
    (checks.impure_core, "from dataclasses import dataclass\nfrom remit.core.ids import ItemId\n"),
    (checks.impure_core, "from . import items\n"),
]


def name(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("check", "sample"), BAD, ids=name)
def test_a_bad_sample_is_found(check: Check, sample: str) -> None:
    assert check("sample.py", sample)


@pytest.mark.parametrize(("check", "sample"), GOOD, ids=name)
def test_a_good_sample_passes(check: Check, sample: str) -> None:
    assert check("sample.py", sample) == []


def test_every_check_over_python_has_a_bad_sample() -> None:
    from tests.style import test_tidy

    used = {*test_tidy.SRC_CHECKS, *test_tidy.ALL_PYTHON_CHECKS, checks.impure_core}
    assert used == {check for check, _ in BAD}


@pytest.mark.parametrize("path", ["src/remit/utils.py", "src/remit/common/x.py"])
def test_a_banned_name_is_found(path: str) -> None:
    assert checks.banned_name(path)
    assert checks.banned_name("src/remit/core/commons.py") == []


@pytest.mark.parametrize("host", checks.REGISTRY_HOSTS)
def test_a_registry_host_is_found(host: str) -> None:
    assert checks.places("x", f"--index-url https://{host}/simple", [])


def test_a_folder_of_this_machine_is_found() -> None:
    assert checks.places("x", "see /srv/checkout/remit/src", ["/srv/checkout"])
    assert checks.places("x", "see /srv/checkout", ["/srv/checkout"])
    assert checks.places("x", "see /srv/checkouts and ./srv/checkout", ["/srv/checkout"]) == []
    assert checks.places("x", "see /me/notes", ["/me"])
    assert checks.places("x", "a tmpfs over /me, and some/me/too", ["/me"]) == []


RULES = """
[tool.ruff.lint]
select = ["D"]
ignore = [
  "D105",{reason}
]
[tool.ruff.lint.per-file-ignores]
"tests/**" = ["S"]{reason}
[[tool.mypy.overrides]]
module = "tests.*"
strict_optional = false{reason}
"""


def test_a_rule_switched_off_without_a_reason_is_found() -> None:
    assert len(checks.unexplained_rules(RULES.format(reason=""))) == 3
    assert checks.unexplained_rules(RULES.format(reason="  # because")) == []


def test_a_target_that_does_not_exist_is_found() -> None:
    assert checks.unknown_targets("x.md", "Run `make dream`.", "test: all\n\tpytest\n")
    assert checks.unknown_targets("x.md", "    make dream\n", "test:\n")
    assert checks.unknown_targets("x.md", "Run `make test`, make sense.", "test: all\n") == []
