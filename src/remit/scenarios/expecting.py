"""What was expected right after a step, compared with what the ledger shows.

Each expectation is one comparison with its own name; a step that was refused without anybody having
expected that is a fault of its own.
"""

from __future__ import annotations

from typing import Any

from remit.core.effect_events import EffectIntended
from remit.core.refusals import Refused
from remit.scenarios.coverage import row_of
from remit.scenarios.running import Taken, World
from remit.service.engine import Done
from remit.service.reading.sheets.story import Story


def judge(world: World, taken: Taken) -> list[dict[str, Any]]:
    """Every expectation of a step with what was found."""
    step = taken.step
    expected = step.expect
    refused = taken.answer if isinstance(taken.answer, Refused) else None
    found: list[dict[str, Any]] = []
    wanted = expected.parts if expected is not None else {}
    if refused is not None or wanted.get("refused"):
        code = refused.code.value if refused is not None else "accepted"
        found.append(_line("refused", wanted.get("refused") or "accepted", code))
    if expected is None:
        return found
    if wanted["repeated"] is not None:
        again = isinstance(taken.answer, Done) and not taken.events
        found.append(_line("repeated", str(wanted["repeated"]), str(again)))
    work = wanted["work"] or str(step.args.get("work") or "")
    story = world.story(work or _only(world))
    asked = {name: value for name, value in wanted.items() if value not in (None, "", {})}
    for name in ("refused", "repeated", "work", "checks"):
        asked.pop(name, None)
    for name, value in asked.items():
        actual = str(_actual(world, story, name)) if story is not None else "no such work"
        found.append(_line(name, str(value), actual))
    for name, parts in wanted["checks"].items():
        found += _check(story, name, parts)
    return found


def _only(world: World) -> str:
    works = list(world.scenario.works)
    return works[0] if len(works) == 1 else ""


def _line(check: str, expected: str, actual: str) -> dict[str, Any]:
    return {"check": check, "expected": expected, "actual": actual, "pass": expected == actual}


def _actual(world: World, story: Story, name: str) -> object:
    item, decided = story.item, story.admission.event if story.admission else None
    hold, retry = item.hold, story.retry.event if story.retry else None
    match name:
        case "verdict":
            return decided.verdict if decided else "NOT_DECIDED"
        case "reason":
            return hold.reason if hold else decided.reason if decided else "none"
        case "row":
            return row_of(decided.reason) if decided else "none"
        case "owner":
            return hold.identity if hold else item.owner.identity if item.owner else "nobody"
        case "trigger":
            return world.label("", hold.trigger) if hold else "none"
        case "status":
            return item.status.value
        case "outcome":
            return item.outcome.value if item.outcome else "none"
        case "effect":
            return story.state
        case "retry":
            return retry.decision if retry else "none"
        case "retry_reason":
            return retry.reason if retry else "none"
        case "triage":
            return _triage(world, story)
        case "sends":
            return len(list(story.all(EffectIntended)))
        case _:
            raise AssertionError(f"no such expectation: {name}")


def _triage(world: World, story: Story) -> str:
    from remit.core.facts import Triage

    with world.ledger.reading() as tx:
        facts = tx.load([("triage", name) for name in story.item.triage])
    kinds = [fact.kind for fact in facts.values() if isinstance(fact, Triage)]
    return ",".join(kinds) or "none"


def _check(story: Story | None, name: str, parts: dict[str, Any]) -> list[dict[str, Any]]:
    check = story.check(name) if story is not None else None
    found = []
    for part, value in parts.items():
        if value is not None:
            actual = str(getattr(check, part)) if check is not None else "no such check"
            found.append(_line(f"{name} {part}", value, actual))
    return found
