"""Power cuts: what was acknowledged is there, what was not is there whole or not at all (INV-22).

Killing a process does not test syncs, since the kernel keeps what it was given. So the power is cut
with a file system of our own that forgets what was written since the last sync, sector by sector and
by chance. While a caller works, images of its disk are taken at moments between any two writes and
syncs, in commits and in checkpoints alike; each is opened as the machine would after the cut, judged
by the history checker in the light of what the caller had been told by then, and worked on.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.ground.ledgers import faults_of, made, opened
from tests.ground.load import Load, problems
from tests.ground.sidelog import SideLog, open_calls
from tests.stores.disks import Disk, mounted

from remit.ports import LedgerCorrupt
from remit.proofs.history import Kind
from remit.stores.sqlite import store as store_module

LOST = (1.0, 0.7, 0.3)
"""Which share of the unsynced sectors a cut may take: all, most or few."""

SHARES = {"write": 0.03, "written": 0.03, "sync": 0.5, "synced": 0.5}
"""How many moments of each kind become an image."""


@dataclass
class Images:
    """What a run of power cuts saw."""

    cuts: int = 0
    at: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    wrong: list[str] = field(default_factory=list)
    settled: int = 0


def run(folder: Path, disk: Disk, seed: int, calls: int) -> list[tuple[str, Path]]:
    """Work, and leave an image of the disk and of the caller's record at chosen moments."""
    chance = random.Random(seed)
    home = folder / "home"
    home.mkdir()
    log = folder / "log"
    taken: list[tuple[str, Path]] = []

    def moment(what: str) -> None:
        if chance.random() < SHARES[what]:
            image = folder / f"image-{len(taken)}"
            disk.power_cut(home, image, chance, chance.choice(LOST))
            shutil.copy(log, image / "log")
            taken.append((what, image))

    ledger = made(home)
    load = Load(ledger, SideLog(log, durable=False), seed)
    load.step()
    disk.moment = moment
    for _ in range(calls):
        load.step()
    disk.moment = lambda _what: None
    ledger.close()
    load.log.close()
    disk.before.clear()
    return taken


def look(image: Path, found: Images, *, work: bool) -> None:
    """Open an image, judge it, and with ``work`` settle what was open and go on."""
    log = image / "log"
    try:
        ledger = opened(image)
        wrong = problems(ledger, log)
    except LedgerCorrupt as error:
        found.lost += 1
        found.wrong.append(f"{image.name}: {error}")
        return
    if any(problem.kind is Kind.LOST for problem in wrong):
        found.lost += 1
    found.wrong += [f"{image.name}: {problem}" for problem in wrong]
    if work and not wrong:
        open_ = open_calls(log)
        load = Load(ledger, SideLog(image / "log-2", durable=False), image.name, "after")
        load.again(log)
        load.step()
        load.log.close()
        found.settled += len(open_)
        found.wrong += [
            f"{image.name}, worked on: {p}" for p in problems(ledger, log, load.log.path)
        ]
        found.wrong += faults_of(ledger)
    ledger.close()


def cut(
    folder: Path, patch: pytest.MonkeyPatch, images: int, seed: int, settings: str = "FULL"
) -> Images:
    """Take at least so many images of a disk that syncs as ``settings`` says."""

    def change(text: str) -> str:
        assert "synchronous = FULL" in text
        return text.replace("synchronous = FULL", f"synchronous = {settings}")

    print(f"seed {seed}")
    found = Images()
    while found.cuts < images:
        room = folder / f"run-{found.cuts}"
        room.mkdir()
        with mounted(patch, change) as disk:
            patch.setattr(store_module, "CHECKPOINT_PAGES", 60)
            taken = run(room, disk, seed + found.cuts, 24)
        for what, image in taken:
            look(image, found, work=settings == "FULL")
            found.at[what] += 1
        found.cuts += len(taken)
        shutil.rmtree(room)
    spread = ", ".join(f"{many} at a {what}" for what, many in sorted(found.at.items()))
    print(
        f"{found.cuts} images with synchronous={settings} ({spread}): in {found.lost} something lost"
    )
    return found


def test_a_power_cut_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cut(tmp_path, monkeypatch, 60, seed=11)
    assert found.wrong == []
    assert found.settled > 0
    assert set(found.at) == {"write", "written", "sync", "synced"}


@pytest.mark.torture
@pytest.mark.timeout(1_800)
def test_many_power_cuts_lose_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cut(tmp_path, monkeypatch, 1_000, seed=random.randrange(1 << 32))
    assert found.wrong == []
    assert found.cuts >= 1_000


def kill_and_cut(folder: Path, disk: Disk, seed: int, calls: int) -> Images:
    """Kill the caller at moments by chance, ask again what it left open, and cut the power at once."""
    chance, found = random.Random(seed), Images()
    home, log = folder / "home", folder / "log"
    home.mkdir()
    left: list[tuple[str, Path]] = []

    def moment(what: str) -> None:
        if chance.random() < SHARES[what]:
            killed = folder / f"killed-{len(left)}"
            disk.carry_over(home, killed)
            shutil.copy(log, killed / "log")
            left.append((what, killed))

    ledger = made(home)
    load = Load(ledger, SideLog(log, durable=False), seed)
    load.step()
    disk.moment = moment
    for _ in range(calls):
        load.step()
    disk.moment = lambda _what: None
    ledger.close()
    load.log.close()
    images: list[tuple[str, Path]] = []
    for what, killed in left:
        ledger = opened(killed)
        again = Load(ledger, SideLog(killed / "log-2", durable=False), seed, "again")
        found.settled += len(again.again(killed / "log"))
        images.append((what, folder / f"image-{len(images)}"))
        disk.power_cut(killed, images[-1][1], chance, 1.0)
        ledger.close()
        again.log.close()
    found.cuts = len(images)
    found.at.update(what for what, _ in images)
    found.wrong = [str(image) for _, image in images]
    return found


def judged_after_kills(folder: Path, patch: pytest.MonkeyPatch, seed: int) -> Images:
    """What ``kill_and_cut`` saw, judged on the machine's own disk."""
    with mounted(patch) as disk:
        found = kill_and_cut(folder, disk, seed, 16)
    images, found.wrong = found.wrong, []
    for image in map(Path, images):
        ledger = opened(image)
        wrong = problems(ledger, image / "log", image / "log-2")
        ledger.close()
        found.lost += bool(wrong)
        found.wrong += [f"{image.name}: {problem}" for problem in wrong]
    print(f"{found.cuts} kills and cuts, {found.settled} calls asked again: {found.lost} lost")
    return found


def test_an_answer_from_what_a_killed_process_left_survives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process died between writing and syncing; asked again, its call is there, not yet durable."""
    found = judged_after_kills(tmp_path, monkeypatch, 5)
    assert found.wrong == []
    assert found.settled > 10


@pytest.mark.torture
@pytest.mark.timeout(1_800)
def test_answers_after_many_kills_survive_power_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    for number in range(10):
        (tmp_path / str(number)).mkdir()
        found = judged_after_kills(tmp_path / str(number), monkeypatch, seed + number)
        assert found.wrong == []
        shutil.rmtree(tmp_path / str(number))


@pytest.mark.parametrize("settings", ["NORMAL", "OFF"])
def test_the_power_cut_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    """The red control: where less is synced, the same cuts lose acknowledged writes."""
    found = cut(tmp_path, monkeypatch, 25, seed=11, settings=settings)
    assert found.lost > 0
