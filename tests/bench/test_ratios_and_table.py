"""Ratios are taken within rounds, and the table shows them within eighty columns."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from remit.bench import machine, show
from remit.bench.rounds import (
    BARE_PYTHON,
    HAND_WRITTEN,
    Contestant,
    Round,
    Row,
    Settings,
    Trial,
    compete,
    rows_of,
)


class Paced:
    """A contestant whose rounds take the times it is given; it notes when its turn was."""

    store = "sqlite"

    def __init__(self, peer: str, seconds: list[float], turns: list[str] | None = None) -> None:
        self.peer = peer
        self.settings: Settings = {}
        self.seconds = iter(seconds)
        self.turns = [] if turns is None else turns

    def round(self) -> Round:
        self.turns.append(self.peer)
        return Round(100, next(self.seconds))

    def check(self) -> None:
        self.turns.append(f"{self.peer} checked")

    def close(self) -> None:
        self.turns.append(f"{self.peer} closed")


def rows(*contestants: Contestant, rounds: int) -> list[Row]:
    seen: list[list[Round]] = [[] for _ in contestants]
    for _ in range(rounds):
        for contestant, done in zip(contestants, seen, strict=True):
            done.append(contestant.round())
    return rows_of(Trial("create", 100, ()), list(contestants), seen)


def test_drift_of_the_machine_does_not_move_a_ratio() -> None:
    ours, limit = rows(
        Paced("remit", [1.0, 2.0, 8.0]), Paced(HAND_WRITTEN, [0.5, 1.0, 4.0]), rounds=3
    )
    assert (ours.per_s, ours.low, ours.high) == (50.0, 12.5, 100.0)
    assert (ours.ratio, limit.ratio) == (0.5, 1.0)
    assert ours.times_bare_python is None
    assert (ours.ratios, limit.ratios) == ({HAND_WRITTEN: 0.5}, {})


def test_a_cold_start_is_a_multiple_of_a_bare_interpreter() -> None:
    ours, bare = rows(Paced("remit", [0.3, 0.5]), Paced(BARE_PYTHON, [0.1, 0.1]), rounds=2)
    assert ours.times_bare_python == pytest.approx(4.0)
    assert bare.times_bare_python == pytest.approx(1.0)
    assert ours.ratio is None


def test_contestants_take_turns_and_the_first_round_does_not_count(tmp_path: Path) -> None:
    turns: list[str] = []
    a, b = (Paced(name, [9.0, 1.0, 2.0], turns) for name in "AB")
    found = compete(Trial("any", 1, (lambda _: a, lambda _: b)), tmp_path, 2)
    assert turns == [*"ABABAB", "A checked", "B checked", "A closed", "B closed"]
    assert [(row.repeats, row.low) for row in found] == [(2, 50.0), (2, 50.0)]


def test_the_table_fits_eighty_columns_and_cuts_nothing() -> None:
    (row,) = rows(Paced("remit", [1.0]), rounds=1)
    wide = replace(
        row,
        metric="create, no rows",
        peer="hand-written sqlite3",
        batch=1_000,
        per_s=1_010_347.0,
        low=99_949.0,
        high=660_051.0,
        workers=10,
        ratio=0.0083,
        ratios={"hand-written sqlite3": 0.0083, "persist-queue": 1.25},
    )
    cold = replace(row, metric="cold ready", batch=1, per_s=4.25, times_bare_python=12.34)
    text = io.StringIO()
    console = Console(file=text, width=80)
    show.table([wide, cold], [("huey", "not installed")], {"cpu_count": 2}, console)
    shown = text.getvalue()
    assert "…" not in shown
    for part in (
        "create, no rows",
        "1,000",
        "1.01M",
        "99,949",
        "660k",
        "0.0083",
        "4.25",
        "12.3x",
        "10 workers",
        "persist-queue 1.2",
    ):
        assert part in shown
    assert "huey: not installed" in shown
    assert "cpu_count 2" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_stores_are_put_on_a_disk_where_temporary_files_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, disk, mounts = tmp_path / "memory", tmp_path / "disk", tmp_path / "mounts"
    memory.mkdir()
    disk.mkdir()
    mounts.write_text(f"none / ext4 rw 0 0\nnone {memory} tmpfs rw 0 0\n", "utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(memory))
    monkeypatch.chdir(disk)
    assert machine.file_system(memory / "below", mounts) == "tmpfs"
    assert machine.file_system(disk, mounts) == "ext4"
    with machine.place(mounts) as folder:
        assert folder.parent == disk
    assert not folder.exists()
    mounts.write_text("none / ext4 rw 0 0\n", "utf-8")
    with machine.place(mounts) as folder:
        assert folder.parent == memory
    assert machine.file_system(disk, tmp_path / "absent") == "unknown"
