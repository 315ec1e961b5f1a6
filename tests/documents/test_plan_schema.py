"""The JSON Schema of a bundle: as published, and in step with the reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from tests.documents.plans_at_random import bundles
from tests.documents.test_plans import FAULTS, GOOD

from remit.core.planning.bundle import Bundle
from remit.core.planning.check import check
from remit.documents.marked import read
from remit.documents.plan_writing import plain, schema
from remit.documents.plans import SCHEMA_LINE, parse

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/plans/search.yaml"
PAGE = ROOT / "docs/reference/plans.md"
JUDGE = jsonschema_rs.Draft202012Validator(schema())

BEYOND = (
    "twice",
    "as well",
    "more than",
    "without NUL",
    "printable",
    "5 minutes",
    "at most",
    "tag",
    "anchor",
    "alias",
)
"""Faults that a schema cannot see, or not in the values that are left without anchors and tags."""


def plainly(text: str) -> Any:
    documents, _ = read(text.encode())
    return documents[0].plain()


def test_the_published_schema_is_what_the_tables_say() -> None:
    kept = json.loads((ROOT / "docs/reference/plan.schema.json").read_text())
    assert kept == schema(), "remit plan schema > docs/reference/plan.schema.json"
    jsonschema_rs.meta.validate(kept)


def test_an_editor_finds_the_schema_of_the_example() -> None:
    first = EXAMPLE.read_text().split("\n", 1)[0]
    assert first.startswith(SCHEMA_LINE)
    named = EXAMPLE.parent / first.removeprefix(SCHEMA_LINE)
    assert json.loads(named.read_text())["title"] == "remit plan bundle"


@given(bundles)
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
def test_what_is_written_is_valid(bundle: Bundle) -> None:
    JUDGE.validate(plain(bundle))


def test_the_examples_are_valid_and_pass_the_check() -> None:
    text = EXAMPLE.read_text()
    JUDGE.validate(plainly(text))
    JUDGE.validate(plainly(GOOD))
    found = parse(text.encode())
    assert found.problems == []
    assert found.bundle is not None
    assert check(found.bundle) == ()
    [shown] = re.findall(r"<!-- the example -->\n```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert parse(shown.encode()).bundle == found.bundle


@pytest.mark.parametrize(("old", "new", "where", "says"), FAULTS)
def test_what_the_reader_refuses_is_invalid(
    old: str, new: str, where: tuple[int, int], says: str
) -> None:
    read_anyway, problems = read(GOOD.replace(old, new, 1).encode())
    if problems or len(read_anyway) > 1 or any(word in says for word in BEYOND):
        return
    assert not JUDGE.is_valid(read_anyway[0].plain()), (where, says)


def test_a_part_that_is_not_known_is_invalid_at_every_depth() -> None:
    for old in (
        "plan: search",
        "  label: find-things",
        "      text: It is fast.",
        "    direct: true",
    ):
        text = GOOD.replace("    timeout: 5m", "    direct: true")
        assert JUDGE.is_valid(plainly(text))
        pad = " " * (len(old) - len(old.lstrip()))
        assert not JUDGE.is_valid(plainly(text.replace(old, f"{old}\n{pad}extra: 1", 1))), old


def test_the_page_names_every_part() -> None:
    page = PAGE.read_text()
    named = set(re.findall(r"`(\w+)(?::[^`]*)?`", page)) | set(
        re.findall(r"^ *-? ?(\w+):", page, re.M)
    )
    wanted = set(schema()["properties"])
    for table in schema()["$defs"].values():
        wanted |= set(table["properties"])
        for part in table["properties"].values():
            wanted |= set(part.get("properties", ())) | set(
                part.get("items", {}).get("properties", ())
            )
    assert wanted - named == set()
