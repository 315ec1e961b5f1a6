"""Making scenarios by seeded chance, and making one that failed smaller.

Chance comes in as a ``random.Random``, so that the same seed gives the same scenario for ever, and so that
a tool which searches better than chance can hand in its own. Moments are drawn to the microsecond: two
things that fall on the same one would make an order out of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from remit.core.change import changed
from remit.proofs.parity.scenario import (
    ACTS,
    CAME,
    FINDING,
    LANDING,
    LEFT,
    SECOND,
    Act,
    Bounds,
    Kill,
    Scenario,
    Thing,
    Try,
)

MOST_THINGS: Final = 8
MOST_ACTS: Final = 4
MOST_KILLS: Final = 3
HORIZON_US: Final = 90 * SECOND
"""By when most of a scenario has happened."""

_LEFT: Final = ("", "", "", "", "", "secret", "out-of-scope", "dirty", "nothing")
_CAME: Final = ("done",) * 8 + ("declined", "failed", "crashed", "timed-out")
_ACTS: Final = (*ACTS, "kill-switch")
_LANDING: Final = ("clean",) * 4 + ("moved", "moved", "conflict", "red", "unanswered", "raced")
_FINDINGS: Final = ("verified", "verified", "verified", "verified", "gap", "contradicted")


def scenario_of(seed: int) -> Scenario:
    """The scenario of a seed."""
    return changed(drawn(Random(seed)), seed=seed)  # noqa: S311  # repeatable chance, no secret


def drawn(chance: Random) -> Scenario:
    """A scenario, from whatever chance is given."""
    size = chance.randint(1, chance.choice((2, 3, 4, MOST_THINGS)))
    things = tuple(_thing(chance, number) for number in range(size))
    reserve = chance.choice((0, 0, 1_000))
    return Scenario(
        things,
        _acts(chance, size),
        _kills(chance),
        _lost(chance),
        _bounds(chance, size),
        ttl_ms=chance.choice((10_000, 30_000)),
        longest_ms=chance.choice((20_000, 60_000, 120_000)) + 10_000,
        attempts=chance.randint(2, 4),
        reserve=reserve,
        reviewer=chance.random() < 0.9,
    )


def _thing(chance: Random, number: int) -> Thing:
    waits = tuple(sorted(n for n in range(number) if chance.random() < 0.25))
    tries = tuple(_try(chance) for _ in range(chance.randint(1, 3)))
    return Thing(
        priority=chance.randint(0, 4),
        tenant=chance.choice(("default", "default", "other")),
        waits_on=waits,
        tries=tries,
        rubric=chance.random() < 0.1,
    )


def _try(chance: Random) -> Try:
    longest = chance.choice((3, 8, 25, 60)) * SECOND
    works = chance.randrange(SECOND // 2, longest)
    moments = sorted(chance.randrange(1, works) for _ in range(chance.choice((0, 0, 1, 2))))
    costs = sorted(chance.randrange(1, 1_500) for _ in moments)
    told = chance.random() < 0.6
    progress = tuple((at, cost if told else None) for at, cost in zip(moments, costs, strict=True))
    return Try(
        works_us=works,
        came=chance.choice(_CAME),
        left=chance.choice(_LEFT),
        progress=progress,
        spent=chance.randrange(1, 1_200) if told or chance.random() < 0.3 else None,
        probe=chance.random() < 0.95,
        approve=chance.random() < 0.85,
        reviews_us=chance.randrange(SECOND // 4, 5 * SECOND),
        landing=chance.choice(_LANDING),
        findings=tuple(chance.choice(_FINDINGS) for _ in range(chance.randint(1, 2))),
    )


def _acts(chance: Random, size: int) -> tuple[Act, ...]:
    found = []
    for _ in range(chance.choice((0, 0, 1, 2, MOST_ACTS))):
        what = chance.choice(_ACTS)
        lasts = chance.choice((0, chance.randrange(SECOND, 20 * SECOND)))
        found.append(Act(chance.randrange(1, HORIZON_US), what, chance.randrange(size), lasts))
    return tuple(sorted(found, key=lambda act: act.at_us))


def _kills(chance: Random) -> tuple[Kill, ...]:
    number = chance.choice((0, 0, 1, 1, 2, MOST_KILLS))
    return tuple(
        Kill(
            chance.randint(1, 60), chance.choice((1, 2, 15, 40)) * SECOND + chance.randrange(SECOND)
        )
        for _ in range(number)
    )


def _lost(chance: Random) -> tuple[int, ...]:
    if chance.random() < 0.7:
        return ()
    signs = (1, -1)
    return tuple(chance.randint(3, 80) * chance.choice(signs) for _ in range(chance.randint(1, 2)))


def _bounds(chance: Random, size: int) -> Bounds:
    tight = chance.random() < 0.3
    return Bounds(
        items=chance.randint(1, size + 2) if tight else 2 * size + 1,
        parallel=chance.randint(1, 3),
        minutes_ms=chance.choice((60_000, 120_000)) if tight else 3_600_000,
        spend=chance.choice((1_000, 3_000)) if tight else 1_000_000,
        failures=chance.randint(1, 3) if tight else 50,
    )


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios that lack one thing of this one, the boldest cuts first."""
    for number in range(len(scenario.things)):
        if len(scenario.things) > 1:
            yield _without(scenario, number)
    for name in ("acts", "kills", "lost"):
        whole = getattr(scenario, name)
        for number in range(len(whole)):
            yield changed(scenario, **{name: whole[:number] + whole[number + 1 :]})
    plain = Scenario(scenario.things)
    for name in ("bounds", "ttl_ms", "longest_ms", "attempts", "reserve", "reviewer"):
        if getattr(scenario, name) != getattr(plain, name):
            yield changed(scenario, **{name: getattr(plain, name)})
    for number, thing in enumerate(scenario.things):
        for less in _smaller_thing(thing):
            things = (*scenario.things[:number], less, *scenario.things[number + 1 :])
            yield changed(scenario, things=things)


def _without(scenario: Scenario, number: int) -> Scenario:
    """The scenario without one item; what named a later one names it by its new number."""

    def moved(old: int) -> int:
        return old - (old > number)

    things = tuple(
        changed(thing, waits_on=tuple(moved(n) for n in thing.waits_on if n != number))
        for at, thing in enumerate(scenario.things)
        if at != number
    )
    acts = tuple(
        changed(act, thing=moved(act.thing) % len(things))
        for act in scenario.acts
        if act.thing != number
    )
    return changed(scenario, things=things, acts=acts)


def _smaller_thing(thing: Thing) -> Iterator[Thing]:
    usual, plain = Thing(), Try()
    for name in ("waits_on", "tenant", "priority", "rubric"):
        if getattr(thing, name) != getattr(usual, name):
            yield changed(thing, **{name: getattr(usual, name)})
    if len(thing.tries) > 1:
        yield changed(thing, tries=thing.tries[:-1])
        yield changed(thing, tries=thing.tries[:1])
    for number, one in enumerate(thing.tries):
        for name in Try.__slots__:
            if getattr(one, name) != getattr(plain, name):
                less = changed(one, **{name: getattr(plain, name)})
                yield changed(
                    thing, tries=(*thing.tries[:number], less, *thing.tries[number + 1 :])
                )


def shrunk(scenario: Scenario, fails: Callable[[Scenario], bool], *, most: int = 400) -> Scenario:
    """The smallest scenario that this can be cut to and that still fails, in so many tries."""
    tries, found = 0, True
    while found and tries < most:
        found = False
        for less in smaller(scenario):
            tries += 1
            if fails(less):
                scenario, found = less, True
                break
            if tries >= most:
                break
    return scenario


assert set(_CAME) == set(CAME), "every end of an agent is drawn"
assert set(_LEFT) == set(LEFT), "and everything that it may leave"
assert set(_LANDING) == set(LANDING), "and everything that integration may meet"
assert set(_FINDINGS) == set(FINDING), "and everything that the verifier may find"
