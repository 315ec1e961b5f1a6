"""One world explored by several processes, level by level.

Every process begins with the same first levels, takes its share of the frontier, and expands it; at
the end of each level they exchange the keys of new states, and a state that two of them came upon
stays with the one that has fewer. States themselves never travel: who reached a state keeps it, and
with it the way back to the beginning. With one process nothing is exchanged and nothing is started; a world
that is searched for dead ends is always one process's, since those need all its steps together.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, Final

from remit.proofs.keys import SIZE
from remit.proofs.search import Broken, Found, Search, dead_ends, scaled
from remit.proofs.world import World

SEED: Final = 400
"""Frontier from which on the work is shared."""

PATIENCE_S: Final = 600.0
"""Longest that one level of one process may take, in seconds."""


def explore(
    world: World, *, processes: int = 1, limit: int = 0, probing: bool = True, seed: int = SEED
) -> Found:
    """Explore a world to its end, to ``limit`` states (0: the world's own) or to a violation.

    ``seed`` is the size of frontier from which on processes share the work.
    """
    limit = limit or world.limit
    if processes > 1 and not world.alive:
        return _shared(world, processes, limit, probing, seed)
    with scaled(world):
        search = Search(world, probing=probing)
        _alone(search, limit)
        return _ended(search)


def _alone(search: Search, limit: int, seed: int = 0) -> None:
    """Expand level by level until something ends it, or the frontier has ``seed`` states."""
    found = search.found
    while search.frontier and found.broken is None and (not limit or found.states < limit):
        search.expand(limit - found.states if limit else 0)
        search.advance()
        if seed and len(search.frontier) >= seed:
            return


def _ended(search: Search) -> Found:
    """What was found, with the check for dead ends where the world was explored whole."""
    found, world = search.found, search.world
    found.complete = not search.frontier and found.broken is None
    if world.alive and found.complete:
        found.checked["way-to-the-end"] += found.states
        dead = dead_ends(search.edges, search.ends)
        if dead:
            steps = min((tuple(search.path(key)) for key in dead), key=len)
            said = f"{len(dead)} states have no way to an end"
            found.broken = Broken(world.name, "way-to-the-end", said, len(steps), steps)
    return found


def _shared(world: World, processes: int, limit: int, probing: bool, seed: int) -> Found:
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    workers = []
    for share in range(processes):
        mine, theirs = context.Pipe()
        args = (theirs, world, share, processes, limit, probing, seed)
        worker = context.Process(target=_work, args=args, daemon=True)
        worker.start()
        theirs.close()
        pipes.append(mine)
        workers.append(worker)
    try:
        return _coordinate(pipes, limit)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
            worker.close()
        for pipe in pipes:
            pipe.close()


def _coordinate(pipes: Sequence[Connection], limit: int) -> Found:
    """Settle each level: who keeps what, and whether to go on."""
    states, alone = 0, True
    while True:
        levels = [_receive(pipe) for pipe in pipes]
        states = states or levels[0]["states"]
        alone = alone and levels[0]["alone"]
        kept = _keep([_split(level["keys"]) for level in levels])
        states += sum(map(len, kept))
        broken = any(level["broken"] for level in levels)
        over = broken or alone or not any(kept) or (limit > 0 and states >= limit)
        quota = 0 if not limit else max(1, (limit - states) // len(pipes))
        union = b"".join(key for part in kept for key in part)
        for pipe, part in zip(pipes, kept, strict=True):
            pipe.send({"kept": b"".join(part), "all": union, "over": over, "quota": quota})
        if over:
            return _merged([_receive(pipe) for pipe in pipes])


def _receive(pipe: Connection) -> Any:
    """What a worker has to say. Raises ``RuntimeError`` where it is gone or silent."""
    if not pipe.poll(PATIENCE_S):
        raise RuntimeError(f"a process of the search said nothing for {PATIENCE_S:.0f} s")
    try:
        answer = pipe.recv()
    except EOFError as gone:
        raise RuntimeError("a process of the search ended early: see its error above") from gone
    return answer


def _keep(levels: list[list[bytes]]) -> list[list[bytes]]:
    """Give every key to one process: doubles to the one that has fewer."""
    owner: dict[bytes, int] = {}
    kept = [0] * len(levels)
    for share, keys in enumerate(levels):
        for key in keys:
            other = owner.get(key)
            if other is None:
                owner[key] = share
                kept[share] += 1
            elif kept[share] < kept[other]:
                owner[key] = share
                kept[share] += 1
                kept[other] -= 1
    return [[key for key in keys if owner[key] == n] for n, keys in enumerate(levels)]


def _split(keys: bytes) -> list[bytes]:
    return [keys[at : at + SIZE] for at in range(0, len(keys), SIZE)]


def _merged(ends: list[Found]) -> Found:
    """One account of all processes; the first levels were counted by the first alone."""
    whole = ends[0]
    for found in ends[1:]:
        whole.states += found.states
        whole.transitions += found.transitions
        whole.refusals += found.refusals
        whole.depth = max(whole.depth, found.depth)
        whole.complete = whole.complete and found.complete
        whole.checked.update(found.checked)
        whole.marks |= found.marks
        if found.broken and (whole.broken is None or found.broken.depth < whole.broken.depth):
            whole.broken = found.broken
    return whole


def _work(
    pipe: Connection,
    world: World,
    share: int,
    processes: int,
    limit: int,
    probing: bool,
    seed: int,
) -> None:
    """One process: begin like all, keep a share, expand and exchange."""
    gc.disable()  # nothing here makes cycles worth looking for among a million values
    with scaled(world):
        search = Search(world, probing=probing)
        _alone(search, limit, seed)
        found = search.found
        alone = not search.frontier or found.broken is not None or 0 < limit <= found.states
        before = found.states
        if share and not alone:
            found.transitions = found.refusals = 0
            found.checked.clear()
        if share:
            found.states = 0
        if not alone:
            search.frontier = search.frontier[share::processes]
        quota = max(1, (limit - before) // processes) if limit else 0
        over = False
        while not over:
            if not alone:
                search.expand(quota)
            keys = b"".join(key for key, _ in search.coming)
            broken = found.broken is not None
            pipe.send({"keys": keys, "states": before, "alone": alone, "broken": broken})
            said = pipe.recv()
            kept = set(_split(said["kept"]))
            search.coming = [pair for pair in search.coming if pair[0] in kept]
            search.visited.update(_split(said["all"]))
            if not alone:
                search.advance()
            over, quota = said["over"], said["quota"]
        pipe.send(_ended(search))


__all__ = ["explore"]
