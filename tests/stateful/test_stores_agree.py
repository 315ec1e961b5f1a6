"""Memory, SQLite and PostgreSQL give the same answers and hold the same state, step by step.

In CI eight seeds of 2,560 steps each, always the same ones. The long form takes a number of steps and a
first seed, goes on seed by seed, and says which it did:

    make torture ARGS="-k agree_for_long --differential-steps 1000000 --differential-seed 1000"

A seed is repeated with ``--differential-steps 1``, since a seed that was begun is finished. Steps are
counted when everything was compared and equal, and a run that did fewer than it says fails.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import constants_from_module
from tests.stateful.asking import PROFILES, Everything
from tests.stateful.machine import HOW, SLICE, Tally, nothing_found, run_slice
from tests.stateful.moves import MOVES, Ground, Trio
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core import moments

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)

PROMISED = 20_000
"""Steps in CI, at least."""

MOST_ASKED = 400
"""After so many asked for the next step on the way to a successor, there is one."""

COMMANDS = {cls.__name__ for cls in c.Command.__subclasses__()}


@pytest.fixture
def ground(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    monkeypatch.setattr(moments, "EVERY", 64)
    made = Ground(postgres, (postgres.database(), postgres.database()))
    yield made
    made.leave()
    for database in made.databases:
        postgres.drop(database)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_stores_agree(ground: Ground, seed: int) -> None:
    tally = slice_of(ground, seed)
    print(told(seed, tally))
    assert tally.moves.keys() == MOVES.keys()


@pytest.mark.timeout(600)
def test_the_stores_agree_on_who_goes_on_from_verified_work(ground: Ground) -> None:
    """It takes a plan, work of it that is verified, and a revision; slices get there at times only."""
    trio = Trio(ground, 16, "plans")
    trio.traffic.going_on = 1.0
    seen = trio.traffic.seen
    for number in range(MOST_ASKED):
        trio.ask(Random(number))
        trio.compare()
        if seen["SucceedItem", "done"]:
            break
    assert seen["SucceedItem", "done"] == 1
    assert any(i.successor and i.stale for i in trio.traffic.world.items())
    trio.move(Random(0))
    trio.compare(full=True)
    trio.prove(Random(0))
    trio.close()


def test_the_slices_are_as_many_steps_as_promised() -> None:
    assert len(set(SEEDS)) * SLICE >= PROMISED


def drawn() -> list[bytes]:
    """The bytes that a seed stands for."""
    found: list[bytes] = []

    @seeded(1)
    @settings(HOW, max_examples=300, phases=(Phase.generate,))
    @given(st.binary(min_size=4, max_size=4))
    def draw(data: bytes) -> None:
        found.append(data)

    draw()
    return found


def test_a_seed_means_the_same_whatever_was_imported_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_found():
        before = drawn()
    (tmp_path / "nearby.py").write_text(
        'WRITTEN = [b"\\x07\\x07\\x07\\x01", b"\\x07\\x07\\x07\\x02"]\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    nearby = importlib.import_module("nearby")
    found = constants_from_module(nearby)
    assert set(nearby.WRITTEN) <= found.bytes, "what is written in a module is looked for"
    with monkeypatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", lambda: found)
        providers.CONSTANTS_CACHE.cache.clear()
        assert found.bytes & set(drawn()), "and drawn where nobody forbids it"
        with nothing_found():
            assert drawn() == before
    del sys.modules["nearby"]


def slice_of(ground: Ground, seed: int) -> Tally:
    """One seed, done in full; what was done."""
    tally = run_slice(ground, seed)
    assert tally.steps >= SLICE
    return tally


@pytest.mark.timeout(600)
def test_every_command_is_asked_and_done() -> None:
    """The ledger is created before, so that is only refused.

    In two profiles people, keys and decisions are what most is asked about, and in every second world
    of plans the way to a successor of what was verified.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for number, profile in enumerate([*PROFILES] * 32):
        traffic = Everything(Random(number), 30, profile, "world")
        traffic.authority = 0.6 if profile in ("mixed", "waiting") else traffic.authority
        if profile == "plans":
            traffic.going_on = 0.7 if (number // len(PROFILES)) % 2 else 0.25
        for _ in range(150):
            traffic.wander()
        seen += traffic.seen
    asked = {command for command, _ in seen}
    done = {command for command, outcome in seen if outcome == "done"}
    assert asked == COMMANDS
    assert done == COMMANDS - {"CreateLedger"}


def told(seed: int, tally: Tally) -> str:
    """A slice in one line."""
    refusals = len({code for _, code in tally.answers if code != "done"})
    return (
        f"seed {seed}: {tally.steps} steps on {tally.ledgers} ledgers, {tally.events} events,"
        f" {tally.answers.total()} answers, {refusals} kinds of refusal, all equal"
    )


@pytest.mark.torture
@pytest.mark.timeout(400_000)
def test_the_stores_agree_for_long(
    ground: Ground, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = pytestconfig.getoption("differential_steps")
    seed = pytestconfig.getoption("differential_seed")
    seed = time.time_ns() % 1_000_000_000 if seed is None else seed
    done = 0
    while done < wanted:
        tally = slice_of(ground, seed)
        done += tally.steps
        with capsys.disabled():
            print(f"{told(seed, tally)} ({done} of {wanted})", flush=True)
        seed += 1
    assert done >= wanted
