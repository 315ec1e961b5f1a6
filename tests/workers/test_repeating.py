"""Where a key is enforced and nothing can be looked up: the identical request is the look-up.

The destination is the recording HTTP service, a process of its own, without its look-up; the worker is
one as well. What is judged is what the service made, and what it recorded of each request.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.destinations.processes import Service
from tests.destinations.subjects import http_document
from tests.workers.ground import Ground, Worker, key_of
from tests.workers.test_processes import TOKEN, paused, unique, woken

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.effect_facts import EffectState
from remit.core.refusals import Code, Refused
from remit.ports import RemitError
from remit.workers import App

Start = Callable[..., Worker]
REPEATS = {**TOKEN, "REPEATS": "1"}


@pytest.fixture
def effect(ground: Ground, service: Service) -> str:
    """An effect at a destination that enforces a key, and that nobody can look up."""
    blind(ground, service)
    return unique(ground)


def blind(ground: Ground, service: Service, **enforces: Any) -> None:
    less = {
        "lookup": False,
        "lookup_consistent": False,
        "fence": False,
        "receipt_authoritative": False,
    }
    document = http_document(service.url, **{**less, **enforces})
    for name in ("lookup_url", "fence_url", "objects", "absent_header"):
        del document["settings"][name]
    ground.register(document)
    ground.document = document


def outcomes(service: Service, effect: str) -> list[str]:
    """What the service made of each request, in the order of their arrival."""
    return [entry["outcome"] for entry in service.log(key_of(effect))]


def settled(ground: Ground, start: Start, item: str, status: str, **env: str) -> Worker:
    """Let a worker reconcile until the item is there, and stop it."""
    worker = start("--reconcile", **{**REPEATS, **env})
    ground.until(lambda: ground.status(item) == status)
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    return worker


@pytest.mark.parametrize(
    ("fault", "made"),
    [("lose_answers", ["made", "replayed"]), ("lose_requests", ["lost", "made"])],
)
def test_a_lost_answer_and_a_lost_request_are_settled_by_the_same_request(
    ground: Ground, service: Service, start: Start, effect: str, fault: str, made: list[str]
) -> None:
    service.control(**{fault: 1})
    item = ground.submit(effect_id=effect)
    worker = settled(ground, start, item, "verified")
    assert outcomes(service, effect) == made
    assert service.objects(key_of(effect)) == 1
    assert worker.saw("repeated")["effect"] == effect
    assert len(ground.events("RequestRepeated")) == 1, "it was on record before it left"
    assert len(ground.events("EffectIntended")) == 1, "and it is no second send"
    first, second = service.log(key_of(effect))
    assert first["fence"] == second["fence"], "nobody leased the work again"
    found = ground.effect(effect)
    assert (found.state, found.repeating) == (EffectState.PRESENT, 0)


def test_an_answer_that_was_heard_and_proves_nothing_is_asked_for_again(
    ground: Ground, service: Service, start: Start, effect: str
) -> None:
    item = ground.submit(effect_id=effect)
    settled(ground, start, item, "verified")
    assert outcomes(service, effect) == ["made", "replayed"]


def test_a_worker_that_wakes_up_after_the_repetition_makes_no_second_object(
    ground: Ground, service: Service, start: Start, effect: str
) -> None:
    item = ground.submit(effect_id=effect)
    (ground.folder / "hold").touch()
    said = {**TOKEN, "POINT": "sending", "DOCUMENT": json.dumps(ground.document)}
    first = start("--ttl", "1s", "--max-jobs", "1", **said)
    paused(ground, first, "sending")
    second = start("--reconcile", actor="bot-2", **REPEATS)
    ground.until(lambda: ground.status(item) == "verified")
    assert outcomes(service, effect) == ["made"], "the repetition brought it about"
    assert woken(ground, first) == 0
    second.signal(signal.SIGTERM)
    assert second.ended() == 0
    assert outcomes(service, effect)[1:] in (["replayed"], ["expired"], ["dropped as too late"])
    assert service.objects(key_of(effect)) == 1
    assert ground.effect(effect).state is EffectState.PRESENT


@pytest.mark.parametrize("why", ["other payload", "no payload", "retention"])
def test_what_cannot_be_repeated_goes_to_somebody_who_can_decide(
    ground: Ground, service: Service, start: Start, why: str
) -> None:
    """Another payload is another request, and a repetition that may come after the retention is none."""
    blind(ground, service, **({"key_retention_ms": 500} if why == "retention" else {}))
    effect = unique(ground)
    policy = ground.policy(looks=3)
    service.control(lose_answers=1)
    item = ground.submit(effect_id=effect)
    other = {"other payload": {"OTHER": "E-other"}, "no payload": {"REPEATS": ""}}.get(why, {})
    worker = settled(ground, start, item, "triaged", **other)
    assert policy == "POLICY-2"
    assert outcomes(service, effect) == ["made"]
    assert ground.events("RequestRepeated") == []
    assert [r.event.triage_kind for r in ground.events("ItemTriaged")] == ["effect-uncertain"]  # type: ignore[attr-defined]  # of this type
    told = [one["reason"] for one in worker.of("not-repeated")]
    assert told == (["OTHER_PAYLOAD"] if why == "other payload" else [])


def test_a_key_that_stands_for_another_payload_is_a_contradiction(
    ground: Ground, service: Service, start: Start, effect: str
) -> None:
    """Somebody used the key before: the answer says that what is there is not this."""
    from remit.ports.destination import Request
    from remit.wiring import destination

    there = destination(ground.document, TOKEN)
    there.send(Request(effect, key_of(effect), 1, b"something else"))
    service.control(lose_requests=1)
    item = ground.submit(effect_id=effect)
    settled(ground, start, item, "triaged")
    assert outcomes(service, effect) == ["made", "lost", "other payload"]
    assert ground.effect(effect).state is EffectState.CONTRADICTED
    assert [r.event.triage_kind for r in ground.events("ItemTriaged")] == ["effect-mismatch"]  # type: ignore[attr-defined]  # of this type


@pytest.mark.parametrize(
    ("replay_class", "code"),
    [
        ("IDEMPOTENT", Code.KILL_SWITCH_ON),
        ("IDEMPOTENT", Code.WORK_CANCELLED),
        ("IRREVERSIBLE", Code.EFFECT_UNRECONCILED),
    ],
)
def test_nothing_is_repeated_that_nobody_may_want_any_more(
    ground: Ground, service: Service, start: Start, effect: str, replay_class: str, code: Code
) -> None:
    """A repetition may be the first request to arrive, so it asks what a first one asks."""
    service.control(lose_requests=1)
    item = ground.submit(
        effect_id=effect, replay_class=replay_class, cancellation_id="C-1",
        cancellation_state="NOT_REQUESTED", decision="D-1",
    )  # fmt: skip
    assert start("--max-jobs", "1", **REPEATS).ended() == 0
    assert ground.effect(effect).state is EffectState.UNCERTAIN
    if code is Code.KILL_SWITCH_ON:
        ground.ok(ground.ann.engage_kill_switch("stop"))
    elif code is Code.WORK_CANCELLED:
        ground.ok(ground.ann.cancel(k.CancelWork(item, "REQUESTED", c.Text("no more"))))
    answer = ground.observed(k.RepeatRequest(effect, ground.effect(effect).version))
    assert isinstance(answer, Refused)
    assert answer.code is code
    worker = start("--reconcile", **REPEATS)
    ground.until(lambda: len(ground.events("EffectObserved")) >= 2)
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert outcomes(service, effect) == ["lost"], "nothing more arrived"


def test_an_operation_has_one_payload() -> None:
    app = App()
    app.payload("export")(lambda _envelope, _document: b"")
    app.payload("exp*")(lambda _envelope, _document: b"wider")
    with pytest.raises(RemitError, match="another makes it already"):
        app.payload("export")(lambda _envelope, _document: b"")
    with pytest.raises(RemitError, match="it names none"):
        app.payload("")(lambda _envelope, _document: b"")
    found = [app.payload_of(name) for name in ("export", "expand", "count")]
    assert [one.operation if one else "" for one in found] == ["export", "exp*", ""]
