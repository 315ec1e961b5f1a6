"""The checks: each declared property against the real thing, one function each.

A check gives one of four results (INV-1). NOT_TESTED: the destination does not declare the property,
or the subject brings no way to look. BLOCKED: what would decide could not be observed. A check that
passes has seen the property hold, once; it proves no more than that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

from remit.core.checks import Check
from remit.core.checks import Result as Verdict
from remit.destinations.conformance.trial import Trial, shown
from remit.ports.destination import (
    Answered,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    SendError,
)

One = Callable[[Trial], Check]
CHECKS: dict[str, One] = {}
_SLACK_MS = 2_000


def check(name: str, needs: str = "", brings: str = "") -> Callable[[One], One]:
    """Register a check of a declared property, given what the subject has to bring for it."""

    def registered(make: One) -> One:
        def run(trial: Trial) -> Check:
            declared = getattr(trial.enforced, needs) if needs else True
            if declared is None or declared is False or declared == "":
                return Check(name, Verdict.NOT_TESTED, "", needs, reason="NOT_DECLARED")
            if brings and not getattr(trial.subject, brings):
                return Check(name, Verdict.NOT_TESTED, "", brings, reason="NO_WAY_TO_LOOK")
            return replace(make(trial), check=name)

        CHECKS[name] = run
        return run

    return registered


def passed(observed: object) -> Check:
    """The property was seen to hold."""
    return Check("", Verdict.PASS, str(observed), str(observed))


def failed(observed: object, required: object, reason: str) -> Check:
    """The property was seen not to hold."""
    return Check("", Verdict.FAIL, str(observed), str(required), reason=reason)


def blocked(observed: object, required: object, reason: str) -> Check:
    """What would decide was not observed."""
    return Check("", Verdict.BLOCKED, str(observed), str(required), reason=reason)


def counted(trial: Trial, request: Request, required: int, reason: str) -> Check:
    """Compare the number of an effect's objects."""
    count = trial.count(request)
    if count is None:
        return blocked("", required, "COUNT_NOT_OBSERVED")
    return passed(count) if count == required else failed(count, required, reason)


@check("found", needs="lookup")
def found(trial: Trial) -> Check:
    """What was sent is found: exactly one, with its id, digest and manifest, within the lag."""
    request = trial.request()
    outcome = trial.send(request)
    if not isinstance(outcome, Response):
        return failed(shown(outcome), "answer", "SEND_FAILED")
    seen = trial.settled(request, lambda seen: seen.result is Result.FOUND)
    if seen.result is not Result.FOUND or seen.objects != 1:
        return failed(f"{seen.result} {seen.objects}", "FOUND 1", "NOT_FOUND")
    if seen.differences:
        return failed("; ".join(seen.differences), "no difference", "DIFFERENCES")
    wanted = {
        "effect_id": request.effect_id,
        "digest": request.digest,
        "manifest_id": request.manifest_id,
    }
    for name, required in wanted.items():
        if seen.value(name) not in (None, required):
            return failed(seen.value(name), required, f"WRONG_{name.upper()}")
    absent = [name for name in wanted if seen.value(name) is None]
    return blocked("", ", ".join(absent), "VALUE_NOT_SHOWN") if absent else passed("FOUND 1")


@check("absent", needs="lookup")
def absent(trial: Trial) -> Check:
    """What was never sent is NONE, as consistent as declared."""
    seen = trial.look(trial.request())
    if seen.result is not Result.NONE or seen.objects:
        return failed(f"{seen.result} {seen.objects}", "NONE 0", "NOT_ABSENT")
    if seen.consistent != trial.enforced.lookup_consistent:
        declared = trial.enforced.lookup_consistent
        return failed(f"consistent={seen.consistent}", f"consistent={declared}", "CONSISTENCY")
    return passed("NONE")


@check("second-send", needs="idempotency_key")
def second_send(trial: Trial) -> Check:
    """The same request again makes no second object and is answered."""
    request = trial.request()
    for outcome in (trial.send(request), again := trial.send(request)):
        if not isinstance(outcome, Response):
            return failed(shown(outcome), "answer", "SEND_FAILED")
    if isinstance(again, Response) and again.replayed is False:
        return failed("replayed=False", "replayed=True", "SAYS_IT_DID_AGAIN")
    return counted(trial, request, 1, "SECOND_OBJECT")


@check("other-payload", needs="idempotency_key")
def other_payload(trial: Trial) -> Check:
    """The key with another payload is refused, and the first object stays as it was."""
    request = trial.request()
    first = trial.send(request)
    if not isinstance(first, Response):
        return failed(shown(first), "answer", "SEND_FAILED")
    outcome = trial.send(replace(request, payload=trial.payload()))
    if not isinstance(outcome, Answered) or outcome.reason is not Reason.KEY_REUSED:
        return failed(shown(outcome), "Answered KEY_REUSED", "OTHER_PAYLOAD_TAKEN")
    if trial.enforced.lookup:
        seen = trial.settled(request, lambda seen: seen.result is Result.FOUND)
        if seen.value("digest") not in (None, request.digest):
            return failed(seen.value("digest"), request.digest, "OBJECT_CHANGED")
    return passed("Answered KEY_REUSED")


@check("racing-sends", needs="idempotency_key")
def racing_sends(trial: Trial) -> Check:
    """Four identical requests at the same time make one object."""
    request = trial.request()
    gate = threading.Barrier(4)
    outcomes: list[Response | SendError] = []

    def race() -> None:
        gate.wait()
        outcomes.append(trial.send(request))

    threads = [threading.Thread(target=race, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(trial.subject.timeout_ms / 1_000 + 5)
    if len(outcomes) < 4:
        return failed(f"{len(outcomes)} ended well", "4", "SEND_RAISED")
    if not any(isinstance(outcome, Response) for outcome in outcomes):
        return blocked("; ".join(map(shown, outcomes)), "an answer", "NOBODY_WAS_ANSWERED")
    return counted(trial, request, 1, "SECOND_OBJECT")


@check("lower-fence", needs="fence")
def lower_fence(trial: Trial) -> Check:
    """After a higher fence was confirmed, a lower one is refused, and the higher one is not."""
    request = trial.request()
    above = replace(request, fence=request.fence + 10)
    confirmed = (
        trial.look(request, fence=above.fence).confirmed_fence if trial.enforced.lookup else 0
    )
    if 0 < confirmed < above.fence:
        return failed(f"confirmed {confirmed}", above.fence, "FENCE_NOT_CONFIRMED")
    if not confirmed:  # a look-up may confirm none; then an object that was sent under one does
        trial.send(above)
    before = trial.count(request)
    outcome = trial.send(request)
    if not isinstance(outcome, Answered) or outcome.reason is not Reason.STALE_FENCE:
        return failed(shown(outcome), "Answered STALE_FENCE", "LOWER_FENCE_TAKEN")
    if trial.count(request) != before:
        return failed(trial.count(request), before, "LOWER_FENCE_TOOK_EFFECT")
    outcome = trial.send(above)
    if not isinstance(outcome, Response):
        return failed(shown(outcome), "answer", "HIGHER_FENCE_REFUSED")
    return counted(trial, request, 1, "SECOND_OBJECT")


@check("past-expiry", needs="request_expiry")
def past_expiry(trial: Trial) -> Check:
    """A request that has ended is refused and leaves nothing."""
    request = replace(trial.request(), expires_at=time.time_ns() // 1_000 - 1_000_000)
    outcome = trial.send(request)
    expired = isinstance(outcome, Answered) and outcome.reason is Reason.EXPIRED
    if not expired and not isinstance(outcome, NotSent):
        return failed(shown(outcome), "NotSent or Answered EXPIRED", "EXPIRED_REQUEST_TAKEN")
    return counted(trial, request, 0, "EXPIRED_REQUEST_TOOK_EFFECT")


@check("late-expiry", needs="request_expiry", brings="delayed")
def late_expiry(trial: Trial) -> Check:
    """A request that left in time and arrives after its end leaves nothing, unlike one without."""
    assert trial.subject.delayed is not None
    endless = replace(trial.request(), timeout_ms=150)
    with trial.subject.delayed(600):
        trial.send(endless)
        ends = time.time_ns() // 1_000 + 300_000
        request = replace(trial.request(), expires_at=ends, timeout_ms=150)
        trial.send(request)
        if not trial.arrives(endless):
            return blocked("nothing arrived late", "a late arrival", "NO_CONTROL")
        trial.wait(1_500)
    return counted(trial, request, 0, "ARRIVED_AFTER_ITS_END")


@check("in-flight", needs="in_flight_ms", brings="delayed")
def in_flight(trial: Trial) -> Check:
    """Past the declared bound since the send ended, nothing of it arrives any more."""
    assert trial.subject.delayed is not None
    bound = trial.enforced.in_flight_ms or 0
    if bound > trial.subject.patience_ms:
        return Check("", Verdict.NOT_TESTED, "", str(bound), reason="BOUND_ABOVE_PATIENCE")
    within, request = (replace(trial.request(), timeout_ms=150) for _ in range(2))
    if bound > 400:
        with trial.subject.delayed(250):
            trial.send(within)
            if not trial.arrives(within):
                return blocked("nothing arrived late", "a late arrival", "NO_CONTROL")
    with trial.subject.delayed(bound + 600):
        trial.send(request)
        trial.wait(bound)
        before = trial.count(request)
        trial.wait(1_500)
    if before is None:
        return blocked("", "a count", "COUNT_NOT_OBSERVED")
    return counted(trial, request, before, "ARRIVED_AFTER_THE_BOUND")


@check("timeout", brings="delayed")
def timeout(trial: Trial) -> Check:
    """No answer in time leaves the outcome unknown, and the call ends in its time."""
    assert trial.subject.delayed is not None
    request = replace(trial.request(), timeout_ms=200)
    started = time.monotonic()
    with trial.subject.delayed(700):
        outcome = trial.send(request)
        took_ms = int((time.monotonic() - started) * 1_000)
        trial.wait(max(0, 900 - took_ms))
    if isinstance(outcome, Response) or not outcome.uncertain:
        return failed(shown(outcome), "an uncertain error", "TIMEOUT_TAKEN_AS_KNOWN")
    if took_ms > request.timeout_ms + _SLACK_MS:
        return failed(f"{took_ms} ms", f"{request.timeout_ms} ms", "TIMEOUT_NOT_KEPT")
    return passed(shown(outcome))


@check("lost-answer", brings="lost_answers")
def lost_answer(trial: Trial) -> Check:
    """A lost answer leaves the outcome unknown; the same request again makes one object."""
    assert trial.subject.lost_answers is not None
    request = replace(trial.request(), timeout_ms=min(1_000, trial.subject.timeout_ms))
    with trial.subject.lost_answers():
        outcome = trial.send(request)
    if isinstance(outcome, Response) or not outcome.uncertain:
        return failed(shown(outcome), "an uncertain error", "LOST_ANSWER_TAKEN_AS_KNOWN")
    if not trial.enforced.idempotency_key:
        return passed(shown(outcome))
    again = trial.send(replace(request, timeout_ms=trial.subject.timeout_ms))
    if not isinstance(again, Response):
        return failed(shown(again), "answer", "NOT_ANSWERED_AGAIN")
    return counted(trial, request, 1, "SECOND_OBJECT")


@check("outage", needs="lookup", brings="outage")
def outage(trial: Trial) -> Check:
    """In an outage a look-up is UNAVAILABLE, for what is there and for what is not."""
    assert trial.subject.outage is not None
    there, fresh = trial.request(), trial.request()
    trial.send(there)
    with trial.subject.outage():
        during: list[Seen] = [trial.look(r, timeout_ms=1_000) for r in (there, fresh)]
        outcome = trial.send(replace(fresh, timeout_ms=1_000))
    results = [seen.result for seen in during]
    if results != [Result.UNAVAILABLE] * 2:
        return failed(", ".join(results), "UNAVAILABLE", "OUTAGE_TAKEN_AS_KNOWN")
    if isinstance(outcome, Response):
        return failed(shown(outcome), "an error", "ANSWERED_IN_AN_OUTAGE")
    seen = trial.settled(there, lambda seen: seen.result is Result.FOUND)
    if seen.result is not Result.FOUND:
        return failed(seen.result, "FOUND", "NOT_FOUND_AFTERWARDS")
    if isinstance(outcome, NotSent) and trial.count(fresh):
        return failed(trial.count(fresh), 0, "NOT_SENT_TOOK_EFFECT")
    return passed("UNAVAILABLE, then FOUND")


@check("receipt", needs="receipt_authoritative")
def receipt(trial: Trial) -> Check:
    """An answer names what it made, and it is there."""
    request = trial.request()
    outcome = trial.send(request)
    if not isinstance(outcome, Response) or not outcome.reference:
        return failed(shown(outcome), "an answer with a reference", "NO_REFERENCE")
    return counted(trial, request, 1, "RECEIPT_WITHOUT_OBJECT")


@check("compensation", needs="compensation")
def compensation(trial: Trial) -> Check:
    """The declared inverse undoes the effect, once, and is found as an effect of its own."""
    request = trial.request()
    undo = replace(trial.request(), compensates=request.key, fence=request.fence + 1)
    undo = replace(undo, operation=request.operation)
    for outcome in (trial.send(request), trial.send(undo), trial.send(undo)):
        if not isinstance(outcome, Response):
            return failed(shown(outcome), "answer", "SEND_FAILED")
    if not trial.enforced.lookup:
        return blocked("", "a look-up", "COUNT_NOT_OBSERVED")
    seen = trial.settled(undo, lambda seen: seen.result is Result.FOUND)
    if seen.result is not Result.FOUND:
        return failed(seen.result, "FOUND", "COMPENSATION_NOT_FOUND")
    return counted(trial, request, 0, "STILL_THERE")


@check("secrets", brings="secrets")
def secrets(trial: Trial) -> Check:
    """No text of any answer or error so far holds a secret, nor does the destination's own.

    Errors tell most, so there is one: of an outage where that can be arranged, or else of a time so
    short that hardly anybody answers in it.
    """
    hindered = trial.subject.outage or trial.subject.lost_answers
    with hindered() if hindered is not None else nullcontext():
        outcome = trial.send(replace(trial.request(), timeout_ms=1_000 if hindered else 1))
    texts = [*trial.texts, repr(trial.subject.destination), shown(outcome)]
    told = [n for n, secret in enumerate(trial.subject.secrets) if any(secret in t for t in texts)]
    if told:
        return failed(f"secret {told[0] + 1} in {len(texts)} texts", "none", "SECRET_TOLD")
    return passed(f"none in {len(texts)} texts")
