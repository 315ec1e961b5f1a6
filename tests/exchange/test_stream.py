"""Files as streams: any bytes, every line end, bounds, refusals, and a file that moves."""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.exchange import lines
from remit.exchange.backlog import BacklogRow, QuarantineCode, Quarantined
from remit.exchange.beads import Scan, rows, scan
from remit.exchange.lines import InputCode, InputProblem, RowReader, spooled

GOOD = b'{"id":"%d","title":"x","status":"open","priority":1}'
FRAGMENTS = st.sampled_from(
    [
        b"\n", b"\r", b"\r\n", b" ", b"\xef\xbb\xbf", b"\xff", b"\0", b"{", b"}", b"[", b'"', b"null",
        b"\\ud800", b"\\u0000", GOOD % 1, GOOD % 2, b'{"id":"1"}', b'{"title":"x"}', b"[]", b"7",
        b'{"id":"1","title":"x","dependencies":[{"depends_on_id":"2"}]}',
        b'{"id":"2","title":"x","dependencies":[{"depends_on_id":"1","type":"parent-child"}]}',
    ]
)  # fmt: skip
ANY_BYTES = st.one_of(st.binary(max_size=200), st.lists(FRAGMENTS, max_size=30).map(b"".join))


def lines_of(data: bytes) -> list[tuple[int, bytes]]:
    """The rows of some bytes, by the plainest reading there is."""
    parts = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))
    return [(n, part) for n, part in enumerate(parts, start=1) if part and not part.isspace()]


def scanned(path: Path) -> Scan | InputProblem:
    try:
        return scan(path)
    except InputProblem as problem:
        return problem


def refusals(data: bytes, expected: list[tuple[int, bytes]]) -> set[InputCode]:
    """The codes with which these bytes may be refused as a whole."""
    allowed = set() if expected else {InputCode.EMPTY}
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{", b"\0\0")):
        allowed.add(InputCode.UTF_16)
    if data.startswith(b"SQLite"):
        allowed.add(InputCode.DATABASE)
    if data.startswith((b"\x1f\x8b", b"PK", b"\x28\xb5", b"BZh", b"\xfd7z")):
        allowed.add(InputCode.COMPRESSED)
    return allowed


@settings(max_examples=400, deadline=None)
@given(ANY_BYTES, st.integers(1, 40))
def test_any_bytes_become_rows_with_one_outcome_each(data: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", max(block, 4))
        path = Path(folder) / "issues.jsonl"
        path.write_bytes(data)
        expected = lines_of(data)
        seen = scanned(path)
        if isinstance(seen, InputProblem):
            assert seen.code in refusals(data, expected)
            return
        found = list(rows(path, seen))
        assert len(found) == seen.rows == len(expected)
        places = [(one.number if isinstance(one, BacklogRow) else one.row) for one in found]
        assert places == list(range(1, len(expected) + 1))
        refused = [one for one in found if isinstance(one, Quarantined)]
        assert len(found) - len(refused) == seen.importable
        assert {
            code: sum(one.code is code for one in refused) for code in seen.quarantined
        } == dict(seen.quarantined)
        assert all(one.line == expected[one.row - 1][0] for one in refused)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"bb", b"\r", b"\n", b"\r\n", b" "]), max_size=40).map(
        b"".join
    ),
    st.integers(1, 7),
)
def test_blocks_do_not_show(data: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        path = Path(folder) / "rows"
        path.write_bytes(data)
        found = [(n, r.rstrip(b"\r\n")) for n, r in RowReader(path) if isinstance(r, bytes)]
        assert found == lines_of(data)


def test_a_row_over_the_bound_is_skipped_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    monkeypatch.setattr(lines, "ROW_LIMIT_BYTES", 100)
    fits = GOOD % 1 + b" " * (100 - len(GOOD % 1))
    path = tmp_path / "issues.jsonl"
    for end in (b"\n", b"\r\n", b"\r"):
        path.write_bytes(end.join([fits, b"x" * 101, GOOD % 2, b"y" * 5_000, GOOD % 3]))
        found = list(rows(path, scan(path)))
        assert [type(one) for one in found] == [
            BacklogRow, Quarantined, BacklogRow, Quarantined, BacklogRow
        ]  # fmt: skip
        refused = [one for one in found if isinstance(one, Quarantined)]
        assert [(one.row, one.line, one.code) for one in refused] == [
            (2, 2, QuarantineCode.ROW_TOO_LARGE),
            (4, 4, QuarantineCode.ROW_TOO_LARGE),
        ]
        assert [one.reason.split()[0] for one in refused] == ["101", "5000"]


def test_a_single_huge_line_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(b'{"id":"1","title":"' + b"x" * 9_000_000)
    (one,) = rows(path, scan(path))
    assert isinstance(one, Quarantined)
    assert one.code is QuarantineCode.ROW_TOO_LARGE


def test_mixed_line_ends_a_mark_and_no_last_line_end(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + GOOD % 1 + b"\r\n\r\n" + GOOD % 2 + b"\r" + b" \t\n" + GOOD % 3
    )
    found = list(rows(path, scan(path)))
    assert [(one.number, one.alias) for one in found if isinstance(one, BacklogRow)] == [
        (1, "1"), (2, "2"), (3, "3")
    ]  # fmt: skip


REFUSED = [
    (b"", InputCode.EMPTY),
    (b"\xef\xbb\xbf \r\n\n", InputCode.EMPTY),
    ('{"id":"1"}'.encode("utf-16"), InputCode.UTF_16),
    ('{"id":"1"}'.encode("utf-16-be"), InputCode.UTF_16),
    ('{"id":"1"}'.encode("utf-16-le"), InputCode.UTF_16),
    ('{"id":"1"}'.encode("utf-32"), InputCode.UTF_16),
    (b"SQLite format 3\0rest", InputCode.DATABASE),
    (b"\x1f\x8b\x08rest", InputCode.COMPRESSED),
    (b"PK\x03\x04rest", InputCode.COMPRESSED),
]


@pytest.mark.parametrize(("data", "code"), REFUSED)
def test_an_input_that_is_no_backlog_is_refused_by_name(
    tmp_path: Path, data: bytes, code: InputCode
) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputProblem) as caught:
        scan(path)
    problem = caught.value
    assert problem.code is code
    assert problem.where == str(path)
    assert problem.what
    assert problem.hint
    assert "\n" not in str(problem)


def test_a_path_that_leads_to_no_file_is_refused_by_name(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plain = tmp_path / "plain"
    plain.write_bytes(GOOD % 1)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, code in (
        (tmp_path, InputCode.DIRECTORY),
        (tmp_path / "none", InputCode.MISSING),
        (plain / "below", InputCode.MISSING),
        (pipe, InputCode.NOT_A_FILE),
        (loop, InputCode.UNREADABLE),
        (Path("a\0b"), InputCode.UNREADABLE),
    ):
        with pytest.raises(InputProblem) as caught:
            scan(path)
        assert caught.value.code is code


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(GOOD % 1)
    path.chmod(0)
    with pytest.raises(InputProblem) as caught:
        scan(path)
    assert caught.value.code is InputCode.UNREADABLE


def test_an_unreadable_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "issues.jsonl"
    path.write_bytes(GOOD % 1)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputProblem, match="Permission denied") as caught:
        scan(path)
    assert caught.value.code is InputCode.UNREADABLE


def changed_file(path: Path, new: bytes, keep_time: bool) -> list[BacklogRow | Quarantined]:
    """Scan, rewrite, read again; returns the rows that got out before the refusal."""
    seen = scan(path)
    before = path.stat()
    path.write_bytes(new)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    given_out: list[BacklogRow | Quarantined] = []

    def read_again() -> None:
        for one in rows(path, seen):
            given_out.append(one)

    with pytest.raises(InputProblem) as caught:
        read_again()
    assert caught.value.code is InputCode.INPUT_CHANGED
    return given_out


def test_a_file_that_changes_between_the_passes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", len(GOOD % 1) + 1)
    path = tmp_path / "issues.jsonl"
    old = b"".join(GOOD % n + b"\n" for n in range(1, 5))
    for new, keep_time, out in (
        (old.replace(b'"3"', b'"7"'), True, 2),  # same size and time, other bytes
        (old[:-1], True, 0),  # shorter
        (old + GOOD % 5, True, 0),  # longer
        (old[: len(old) // 2] + old[: len(old) // 2], True, 2),  # same size, first half again
    ):
        path.write_bytes(old)
        assert len(changed_file(path, new, keep_time)) == out


def test_a_touched_file_is_refused_since_somebody_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(GOOD % 1)
    os.utime(path, ns=(1, 1))
    assert changed_file(path, GOOD % 1, keep_time=False) == []


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(GOOD % 1 + b"\n")
    seen = scan(path)
    stream = rows(path, seen)
    next(stream)
    with path.open("ab") as file:
        file.write(GOOD % 2)
    with pytest.raises(InputProblem) as caught:
        list(stream)
    assert caught.value.code is InputCode.INPUT_CHANGED


def test_a_file_that_changes_under_the_first_pass_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(GOOD % 1 + b"\n")
    stream = iter(RowReader(path))
    next(stream)
    with path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(InputProblem) as caught:
        list(stream)
    assert caught.value.code is InputCode.INPUT_CHANGED


def test_a_pipe_is_spooled_so_that_it_can_be_read_twice() -> None:
    with spooled(io.BytesIO(GOOD % 1)) as path:
        (one,) = rows(path, scan(path))
        assert isinstance(one, BacklogRow)
        assert one.alias == "1"
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()
