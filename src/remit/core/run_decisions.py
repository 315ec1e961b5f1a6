"""What a human's decision allows a run: numbers in its scope, never prose.

A decision of the kind ``cloud-spend-or-live-autonomy-activation`` that is about runs has these things in
its scope, which is part of the record that is signed:

- one ``run-bounds/items=20,parallel=4,minutes=90,spend-micros=5000000,failures=3``;
- a ``run-agent/NAME`` for each adapter that may work under it, one at least;
- where only some actors may, a ``run-actor/NAME`` for each;
- ``run-spend/each`` where each run may spend the whole sum. Otherwise what all its runs spend counts
  together.

Its proposal is the digest of that scope. A run within these bounds is covered; the bounds on items, time,
failures and parallel hold for each run, and one run at a time is under way under a decision, so that
nobody gets twice the parallel work that was signed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from remit.core.canonical import digest_of
from remit.core.decisions import Decision, DecisionKind, covers
from remit.core.refusals import Code, Refused
from remit.core.run_facts import RunBounds

MINUTE_MS: Final = 60_000

MOST: Final = RunBounds(100_000, 256, 31 * 24 * 60 * MINUTE_MS, (1 << 53) - 1, 100_000)
"""The widest bounds that a run or a decision may have."""

SPEND_EACH: Final = "run-spend/each"

WITHOUT_SANDBOX: Final = "drain/without-sandbox"
"""What the scope of a decision names that lets agents work without a sandbox."""

_BOUNDS: Final = re.compile(
    r"run-bounds/items=([1-9]\d{0,6}),parallel=([1-9]\d{0,3}),minutes=([1-9]\d{0,5}),"
    r"spend-micros=(0|[1-9]\d{0,15}),failures=([1-9]\d{0,6})\Z"
)


@dataclass(frozen=True, slots=True)
class Need:
    """What a decision has to name."""

    kind: str
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a decision about runs allows, read from its scope."""

    about: str
    bounds: RunBounds
    agents: tuple[str, ...]
    actors: tuple[str, ...]
    each: bool


def bounds_scope(bounds: RunBounds) -> str:
    """How a decision's scope names bounds; part of a minute counts as a whole one."""
    minutes = -(-bounds.minutes_ms // MINUTE_MS)
    return (
        f"run-bounds/items={bounds.items},parallel={bounds.parallel},minutes={minutes},"
        f"spend-micros={bounds.spend_micros},failures={bounds.failures}"
    )


def run_scope(
    bounds: RunBounds, agents: tuple[str, ...], actors: tuple[str, ...] = (), *, each: bool = False
) -> tuple[str, ...]:
    """The scope of a decision that allows runs within these bounds."""
    named = [f"run-agent/{name}" for name in agents] + [f"run-actor/{name}" for name in actors]
    return (bounds_scope(bounds), *named, *((SPEND_EACH,) if each else ()))


def run_proposal(scope: tuple[str, ...]) -> str:
    """The digest of what a decision about runs is about: everything in its scope, in any order."""
    return digest_of(["run", *sorted(scope)])


def allowance(decision: Decision) -> Allowance | None:
    """What a decision's scope allows; None where it names no bounds, or two."""
    found = [(about, _BOUNDS.match(about)) for about in decision.scope]
    named = [(about, match) for about, match in found if match is not None]
    if len(named) != 1:
        return None
    about, match = named[0]
    items, parallel, minutes, spend, failures = (int(figure) for figure in match.groups())
    return Allowance(
        about,
        RunBounds(items, parallel, minutes * MINUTE_MS, spend, failures),
        _names(decision, "run-agent/"),
        _names(decision, "run-actor/"),
        SPEND_EACH in decision.scope,
    )


def _names(decision: Decision, prefix: str) -> tuple[str, ...]:
    return tuple(about[len(prefix) :] for about in decision.scope if about.startswith(prefix))


def unsound(bounds: RunBounds) -> tuple[str, int, str] | None:
    """The first bound that no run can have: its name, what was found, what was expected."""
    for name in RunBounds.__slots__:
        found, most = getattr(bounds, name), getattr(MOST, name)
        least = 0 if name == "spend_micros" else 1
        if not least <= found <= most:
            return name, found, f"{least} to {most}"
    return None


def _proposing(bounds: RunBounds, agent: str) -> str:
    """How to propose what would allow a run of exactly these bounds."""
    given = bounds_scope(bounds).partition("/")[2]
    return (
        f"propose it with 'remit decision propose --kind {DecisionKind.ACTIVATION}"
        f" --run-bounds {given} --run-agent {agent}', and name it with --decision"
    )


def covers_run(
    decision: Decision | None,
    bounds: RunBounds,
    agent: str,
    actor: str,
    now: int,
    *,
    accept_unproved: bool,
) -> Refused | None:
    """Refuse unless this decision allows a run of this agent within these bounds."""
    allowed = allowance(decision) if decision is not None else None
    scope: tuple[str, ...] = (f"run-agent/{agent}",)
    if allowed is None or allowed.actors:
        scope = (*scope, f"run-actor/{actor}") if allowed else (bounds_scope(bounds), *scope)
    proposal = run_proposal(decision.scope) if decision is not None else ""
    need = Need(DecisionKind.ACTIVATION, scope)
    refused = covers(decision, need, proposal, now, accept_unproved=accept_unproved)
    if refused is not None and decision is None:
        return replace(refused, hint=_proposing(bounds, agent))
    if refused is not None or decision is None:
        return refused
    if allowed is None:
        return Refused(
            Code.DECISION_SCOPE,
            f"{decision.id} does not decide this: its scope names no bounds of a run, or two",
            "propose one whose scope names them once, with --run-bounds",
            {"decision": decision.id, "scope": list(decision.scope[:100])},
        )
    for name in RunBounds.__slots__:
        asked, most = getattr(bounds, name), getattr(allowed.bounds, name)
        if asked > most:
            unit = MINUTE_MS if name == "minutes_ms" else 1
            said = name.removesuffix("_ms").replace("_", "-")
            allows, wants = f"{said}={most / unit:g}", f"{asked / unit:g}"
            return Refused(
                Code.DECISION_SCOPE,
                f"{decision.id} does not decide this: it allows {allows}, the run wants {wants}",
                "lower the bound, or propose a decision that allows it",
                {"decision": decision.id, "bound": name, "asked": asked, "allowed": most},
            )
    return None
