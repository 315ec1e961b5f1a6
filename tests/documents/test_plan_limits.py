"""Plans at their largest and at their worst: long files within bounds, broken ones without an error."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.test_plans import GOOD

from remit.core.planning.bundle import (
    Bundle,
    Clause,
    EdgeType,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Risk,
)
from remit.core.rows import RowKind, RowSpec
from remit.documents.marked import Bounds, read
from remit.documents.plan_writing import lines
from remit.documents.plans import parse
from remit.wiring.plans import judge


def large(size: int) -> Bundle:
    """A sound plan of so many requirements, twice as many rows, and five edges a node."""
    clauses = tuple(Clause(f"c{n}", f"Part {n} works.") for n in range(min(size, 500)))
    goal = PlanGoal(
        "g", "All of it works.", clauses, provenance=("a survey",), authority="The owner."
    )
    check = RowSpec(RowKind.COMMAND, ("sh", "-c", "pytest -q tests/test_part.py"))
    return Bundle(
        "large",
        goal,
        tuple(
            PlanRequirement(
                f"r{n}", f"On command {n} the counter goes up by one.", (f"c{n % len(clauses)}",),
                ("The counter is one more.",), (), ("page 1",), risk=Risk.HIGH,
            )
            for n in range(size)
        ),
        tuple(
            PlanNode(
                f"n{n}", (f"r{n}",),
                tuple(
                    PlanEdge(f"n{k}", EdgeType.BLOCKS, "It needs this first.")
                    for k in range(max(0, n - 5), n)
                ),
            )
            for n in range(size)
        ),
        tuple(
            PlanRow(f"v{n}", f"r{n // 2}", f"w{n // 2}", "the public function", check)
            for n in range(2 * size)
        ),
        tuple(
            PlanItem(
                f"w{n}", f"Do part {n}", "", f"n{n}", (f"r{n}",), (f"v{2 * n}", f"v{2 * n + 1}"),
                (f"src/part{n}/**",),
            )
            for n in range(size)
        ),
    )  # fmt: skip


def text_of(bundle: Bundle) -> bytes:
    return "".join(lines(bundle)).encode()


def test_a_plan_of_a_thousand_is_read_and_sound() -> None:
    bundle = large(1_000)
    judged = judge(text_of(bundle))
    assert judged.problems == ()
    assert judged.bundle == bundle


def test_the_elements_of_lists_are_not_kept_as_marked_values() -> None:
    seen: list[int] = []
    documents, problems = read(
        text_of(large(20)), handed={"rows": lambda _at, number: seen.append(number)}
    )
    assert problems == []
    assert seen == list(range(40))
    assert documents[0].value["rows"].value == []
    assert len(documents[0].value["items"].value) == 20


def test_too_many_values_stop_the_reading() -> None:
    _, problems = read(text_of(large(20)), Bounds(bytes=1_000_000, nodes=100))
    assert "found more than 100 values" in problems[0].message
    _, problems = read(text_of(large(20)), Bounds(bytes=100, nodes=100))
    assert "at most 100 are read" in problems[0].message


_SCRIPT = """
import resource, sys
from remit.wiring.plans import digest, judge
judged = judge(open(sys.argv[1], "rb").read())
print(len(judged.problems), len(digest(judged.bundle)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_ten_thousand_requirements_stay_well_below_a_gibibyte(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(text_of(large(10_000)))
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(file)], capture_output=True, text=True, timeout=500
    )
    assert ran.stdout.startswith("0 64\n"), ran.stderr
    peak = int(ran.stdout.split()[2]) * (1 if sys.platform == "darwin" else 1024)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(file.read_bytes()):,} bytes, peak {peak:,} bytes, {used.ru_utime:.1f} s")
    assert peak < 512 * 1024 * 1024


edits = st.lists(
    st.tuples(
        st.integers(0, len(GOOD) - 1),
        st.integers(0, 12),
        st.sampled_from(
            ["", "\n", " ", "  ", "-", ":", "- ", ": ", "[", "]", "{", "}", '"', "'", "|", ">", "#", "&a ", "*a", "!x ",
             "null", "1.5", "\t", "\x00", "\x1b", "\u2028", "é", "---\n", "label: x\n", "a" * 300]
        ),
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip


@given(edits)
@settings(max_examples=400, deadline=None)
def test_no_edit_of_a_plan_is_an_error(changes: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for at, length, put in changes:
        text = text[:at] + put + text[at + length :]
    judged = judge(text.encode())
    for problem in judged.problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert len(problem.message) < 2_000
    if judged.bundle is not None and not judged.malformed:
        assert parse(text_of(judged.bundle)).bundle == judged.bundle


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error(data: bytes) -> None:
    assert judge(data).malformed
