"""JUnit reports: counted from the cases, refused where hostile."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from remit.core.rows import JUnitState
from remit.verify import junit

GOOD = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite tests="99" failures="0" skipped="0">
<testcase name="a"/>
<testcase name="b"><failure/><failure/></testcase>
<testcase name="c"><error message="x"/></testcase>
<testcase name="d"><skipped/></testcase>
<testcase name="e"><system-out>&lt;failure/&gt;</system-out></testcase>
</testsuite></testsuites>"""


def suite(cases: str) -> bytes:
    return f"<testsuite>{cases}</testsuite>".encode()


def test_counts_come_from_the_cases_not_the_claims() -> None:
    counts = junit.count(GOOD)
    assert (counts.state, counts.tests, counts.failed, counts.skipped, counts.executed) == (
        JUnitState.PARSED,
        5,
        2,
        1,
        4,
    )


@pytest.mark.parametrize(
    ("cases", "tests", "failed", "skipped"),
    [
        ("", 0, 0, 0),
        ("<testcase><skipped/></testcase>", 1, 0, 1),
        ('<testcase status="notrun"/>', 1, 0, 1),
        ('<testcase status="run" result="suppressed"/>', 1, 0, 1),
        ('<testcase status="run" result="completed"/>', 1, 0, 0),
        ("<testcase><flakyFailure/></testcase>", 1, 1, 0),
        ("<testcase/><error/>", 1, 1, 0),
        ("<testsuite><testcase/></testsuite><testcase/>", 2, 0, 0),
        ("<properties><property name='skipped'/></properties><testcase/>", 1, 0, 0),
    ],
)
def test_shapes(cases: str, tests: int, failed: int, skipped: int) -> None:
    counts = junit.count(suite(cases))
    assert (counts.tests, counts.failed, counts.skipped) == (tests, failed, skipped)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"not xml",
        GOOD[:-20],
        GOOD + b"<more/>",
        b"<html><testcase/></html>",
        b"\xff\xfe<",
        b'<?xml version="1.0" encoding="no-such"?><testsuite/>',
        b"<testsuite><testcase></testsuite>",
    ],
)
def test_what_is_cut_or_is_no_report_is_malformed(document: bytes) -> None:
    counts = junit.count(document)
    assert counts == junit.JUnitCounts(JUnitState.MALFORMED)


BOMB = b"".join(
    [
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "lol">',
        *(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">'.encode() for n in range(1, 12)),
        b"]><testsuite><testcase>&a11;</testcase></testsuite>",
    ]
)


@pytest.mark.parametrize(
    "document",
    [
        BOMB,
        b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite><testcase/></testsuite>',
        b'<!DOCTYPE t [<!ENTITY x SYSTEM "/etc/passwd">]><testsuite>&x;</testsuite>',
        b"<!DOCTYPE testsuite><testsuite><testcase/></testsuite>",
        b"<testsuite>" + b"<a>" * 100 + b"</a>" * 100 + b"</testsuite>",
    ],
)
def test_declarations_and_depth_are_refused_at_once(document: bytes) -> None:
    started = time.process_time()
    assert junit.count(document) == junit.JUnitCounts(JUnitState.REFUSED)
    assert time.process_time() - started < 2


def test_the_number_of_cases_and_the_size_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "CASE_LIMIT_COUNT", 3)
    assert junit.count(suite("<testcase/>" * 5)).state is JUnitState.REFUSED
    monkeypatch.setattr(junit, "SIZE_LIMIT_BYTES", 50)
    assert junit.count(GOOD).state is JUnitState.TOO_LARGE


def test_reading_stays_within_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "out").mkdir(parents=True)
    outside.mkdir()
    (outside / "j.xml").write_bytes(GOOD)
    (root / "out" / "j.xml").write_bytes(GOOD)
    (root / "file-link.xml").symlink_to(outside / "j.xml")
    (root / "dir-link").symlink_to(outside)
    os.mkfifo(root / "fifo.xml")
    (root / "folder.xml").mkdir()
    assert junit.read(root, "out/j.xml").state is JUnitState.PARSED
    assert junit.read(root, "out/none.xml").state is JUnitState.ABSENT
    assert junit.read(root, "none/j.xml").state is JUnitState.ABSENT
    for path in ("file-link.xml", "dir-link/j.xml", "fifo.xml", "folder.xml", "../outside/j.xml"):
        assert junit.read(root, path).state is JUnitState.UNREADABLE, path
    monkeypatch.setattr(junit, "SIZE_LIMIT_BYTES", 50)
    assert junit.read(root, "out/j.xml").state is JUnitState.TOO_LARGE


@pytest.mark.parametrize(
    ("suite", "counted"),
    [
        ('<testsuite failures="1"><testcase/></testsuite>', (1, 1, 0)),
        ('<testsuite errors="2" tests="1"><testcase/></testsuite>', (1, 2, 0)),
        ('<testsuite skipped="3"><testcase/></testsuite>', (3, 0, 3)),
        ('<testsuites><testsuite disabled="1"><testcase/></testsuite></testsuites>', (1, 0, 1)),
        ('<testsuite tests="9" failures="-1" skipped="x"><testcase/></testsuite>', (1, 0, 0)),
    ],
)
def test_what_a_suite_owns_to_counts_against_it(suite: str, counted: tuple[int, int, int]) -> None:
    """A runner that lists only the cases that passed once made a pass of the rest."""
    found = junit.count(suite.encode())
    assert found.state is JUnitState.PARSED
    assert (found.tests, found.failed, found.skipped) == counted
