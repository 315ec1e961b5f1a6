"""What is given before the first step, brought about by the same operations as all else.

A queue count is so many stored messages, a next fence so many leases that were given and handed back,
a document a registered revision. Nothing is written past the rules, so a given state is a possible
one.
"""

from __future__ import annotations

from typing import Final

from remit.core import commands as c
from remit.core.canonical import digest_of
from remit.core.effect_facts import AdmissionPolicy, Comparison, Envelope, Validation
from remit.core.refusals import Refused
from remit.ports import RemitError
from remit.scenarios.model import Step
from remit.scenarios.running import OPERATOR, World
from remit.service.engine import Answer, Done
from remit.service.operations import item_of
from remit.service.submitting import intent_of

CLASS: Final = "remit-given"
WORKER: Final = "remit-given-worker"

_POLICY: Final = AdmissionPolicy(
    label=CLASS, version=0, digest=digest_of({"given": 1}), document="", validation=CLASS,
    classes=(CLASS,), operations=("*",), replay_classes=("PURE",), max_payload_bytes=0,
    storage_limit=0, storage_retry_ms=0, freshness_limit_ms=0, clock_skew_ms=0, capacity_fields=(),
    rows=(), human_decision=(), recheck_horizon=1, attempts=1_000_000, looks=1, backoff_base_ms=0,
    backoff_cap_ms=0, retry_within_ms=0, admission_owner="", retry_owner="", seq=0,
)  # fmt: skip


def prepare(world: World) -> None:
    """Bring about what a scenario has given."""
    given = world.scenario.given
    for name in (*given.actors, *_acting(world)):
        enrol(world, name)
    if given.next_fence > 1:
        _fences(world, given.next_fence - 1)
    for document in world.scenario.documents:
        if not document.later:
            _need(world.ledger.acting(OPERATOR).run(document.command), f"register {document.label}")
    for work_class, count in given.stored.items():
        for number in range(1, count + 1):
            _store(world, work_class, number)


def _acting(world: World) -> list[str]:
    """Everybody whom a step names, in the order in which they come."""
    found: dict[str, None] = {}

    def walk(steps: tuple[Step, ...]) -> None:
        for step in steps:
            if step.by:
                found[step.by] = None
            elif step.verb in ("lease", "finish"):
                found["worker"] = None
            for branch in step.forks.values():
                walk(branch)

    walk(world.scenario.steps)
    return list(found)


def enrol(world: World, name: str) -> None:
    """Let somebody act, once."""
    if name in world.actors or name == OPERATOR:
        return
    world.actors.add(name)
    _need(world.ledger.acting(OPERATOR).run(c.EnrolActor(name, "agent")), f"enrol {name}")


def _need(answer: Answer, doing: str) -> Done:
    if isinstance(answer, Refused):
        raise RemitError(
            f"cannot {doing} in this scenario: {answer.message}",
            answer.hint or "correct what the scenario has given",
            answer.details,
            answer.code,
        )
    return answer


def _fences(world: World, count: int) -> None:
    """So many leases given and handed back, so that the next one has the fence that is given."""
    people = world.ledger.acting(OPERATOR)
    rules = Validation(CLASS, 0, digest_of({"given": 2}), "", (), 0, 0, 0)
    _need(people.run(c.RegisterValidation(rules)), "register rules for what is given")
    _need(people.run(c.RegisterPolicy(_POLICY)), "register a policy for what is given")
    enrol(world, WORKER)
    envelope = _envelope(CLASS, 0, "PURE")
    item = item_of(_need(people.run(intent_of(envelope)), "store what is given"))
    commands: list[c.Command] = []
    for fence in range(1, count + 1):
        commands += [c.GrantLease(item), c.ReleaseLease(item, fence)]
    for answer in world.ledger.acting(WORKER).run(commands):
        _need(answer, "bring the fence to what is given")
    _need(people.run(c.CancelWork(item)), "close what was given")


def _envelope(work_class: str, number: int, replay_class: str) -> Envelope:
    name = f"GIVEN-{work_class}-{number}"
    return Envelope(
        work_id=name,
        message_id=f"MESSAGE-{name}",
        operation_id=f"OPERATION-{name}",
        effect_id=f"EFFECT-{name}",
        replay_class=replay_class,
        completion_test=(Comparison("effect", "effect_id", "equals", f"EFFECT-{name}"),),
        priority_class=work_class,
        cancellation_state="NOT_REQUESTED",
    )


def _store(world: World, work_class: str, number: int) -> None:
    from dataclasses import replace

    command = replace(intent_of(_envelope(work_class, number, "PURE")), decide=False)
    _need(world.ledger.acting(OPERATOR).run(command), f"store what is given in {work_class}")
