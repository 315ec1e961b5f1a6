"""Disks that are full or cannot be written, and files that go away under an open ledger."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.ground.children import Child
from tests.ground.ledgers import HUMAN, done, faults_of, head, made, opened

from remit.core import commands as c
from remit.core.refusals import Code, meaning
from remit.ports import RemitError
from remit.wiring import Ledger, create_ledger, url_of

AWAY = 8
"""The exit status of a store that cannot be used."""


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts, or mounts again with other options, a small file system in memory."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "remit-small-disk", str(place)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("this user may not mount a file system")
        return place

    yield mounted
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


def fill(ledger: Ledger, most: int = 4_000) -> tuple[int, RemitError]:
    """Create items until the store fails: how many were acknowledged, and the failure."""
    for number in range(most):
        item = c.CreateItem(f"item {number}", body="x" * 3_000)
        try:
            done(ledger.acting(HUMAN).create(item, command_id=f"c-{number}"))
        except RemitError as error:
            return number, error
    raise AssertionError(f"{most} items fitted")


def _counted(ledger: Ledger) -> int:
    with ledger.store.read() as tx:
        count = tx.small().get(("counter", "work-item"), 0)
    assert isinstance(count, int)
    return count


def test_a_full_disk_is_named_and_what_was_acknowledged_is_kept(
    mount: Callable[[str], Path],
) -> None:
    place = mount("size=3m")
    ledger = made(place)
    acknowledged, error = fill(ledger)
    assert error.code is Code.STORE_FULL
    assert meaning(error.code).exit_status == AWAY
    assert error.hint
    assert acknowledged > 10
    assert _counted(ledger) == acknowledged
    assert faults_of(ledger) == []
    _, again = fill(ledger)
    assert again.code is Code.STORE_FULL
    mount("remount,size=30m")
    item = c.CreateItem(f"item {acknowledged}", body="x" * 3_000)
    answer = done(ledger.acting(HUMAN).create(item, command_id=f"c-{acknowledged}"))
    assert not answer.repeated
    assert _counted(ledger) == acknowledged + 1
    assert faults_of(ledger) == []
    ledger.close()


def test_a_full_disk_on_which_a_ledger_cannot_even_be_opened_is_called_full(
    mount: Callable[[str], Path],
) -> None:
    place = mount("size=2m")
    made(place).close()
    for left in place.glob("ledger.db-*"):
        left.unlink()
    with suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while file.write(b"x" * 4_096):
            pass
    with pytest.raises(RemitError) as caught:
        opened(place).acting(HUMAN).create(c.CreateItem("one"))
    assert caught.value.code is Code.STORE_FULL
    (place / "fill").unlink()
    done(opened(place).acting(HUMAN).create(c.CreateItem("one")))


def test_a_full_disk_takes_no_new_ledger_and_leaves_nothing(mount: Callable[[str], Path]) -> None:
    place = mount("size=64k")
    with pytest.raises(RemitError) as caught:
        create_ledger(url_of(place / "ledger.db"), HUMAN)
    assert meaning(caught.value.code).exit_status == AWAY
    assert [path.name for path in place.iterdir() if path.suffix == ".db"] == []


def test_a_limit_on_the_size_of_files_is_no_half_write(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    child = Child("tests.faults.limited", str(tmp_path), str(600_000))
    acknowledged, code = child.line()
    assert child.ended() == 0
    child.kill()
    assert meaning(Code(code)).exit_status in (AWAY, 9)
    assert acknowledged > 0
    assert _counted(ledger) in (acknowledged, acknowledged + 1)
    assert faults_of(ledger) == []
    done(ledger.acting(HUMAN).create(c.CreateItem("after")))
    assert faults_of(ledger) == []
    ledger.close()


def test_a_disk_that_became_read_only_is_named(mount: Callable[[str], Path]) -> None:
    place = mount("size=20m")
    ledger = made(place)
    done(ledger.acting(HUMAN).create(c.CreateItem("before")))
    seq = head(ledger)
    ledger.close()
    mount("remount,ro")
    with pytest.raises(RemitError) as caught:
        opened(place).acting(HUMAN).create(c.CreateItem("one"))
    assert meaning(caught.value.code).exit_status == AWAY
    assert "its file system is read-only" in caught.value.message
    with pytest.raises(RemitError) as caught:
        create_ledger(url_of(place / "other.db"), HUMAN)
    assert meaning(caught.value.code).exit_status == AWAY
    assert "its file system is read-only" in caught.value.message
    mount("remount,rw")
    ledger = opened(place)
    assert head(ledger) == seq
    done(ledger.acting(HUMAN).create(c.CreateItem("two")))
    assert faults_of(ledger) == []
    ledger.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    made(tmp_path).close()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RemitError) as caught:
            opened(tmp_path).acting(HUMAN).create(c.CreateItem("one"))
        assert meaning(caught.value.code).exit_status == AWAY
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("how", ["deleted", "replaced", "another ledger", "emptied"])
def test_a_file_that_went_away_under_an_open_ledger_is_named(tmp_path: Path, how: str) -> None:
    ledger = made(tmp_path)
    path = tmp_path / "ledger.db"
    done(ledger.acting(HUMAN).create(c.CreateItem("before")))
    seq = head(ledger)
    kept = tmp_path / "kept.db"
    if how == "emptied":
        shutil.copy(path, kept)
        path.unlink()
        path.write_bytes(b"")
    else:
        path.rename(kept)
    if how == "replaced":
        shutil.copy(kept, path)
    if how == "another ledger":
        (tmp_path / "x").mkdir()
        made(tmp_path / "x").close()
        shutil.copy(tmp_path / "x" / "ledger.db", path)
    for act in (
        lambda: ledger.acting(HUMAN).create(c.CreateItem("one")),
        lambda: head(ledger),
    ):
        with pytest.raises(RemitError) as caught:
            act()
        assert meaning(caught.value.code).exit_status == AWAY
        assert caught.value.hint
    if how != "emptied":
        kept.replace(path)
        assert head(ledger) == seq
        done(ledger.acting(HUMAN).create(c.CreateItem("two")))
        assert faults_of(ledger) == []
    ledger.close()
