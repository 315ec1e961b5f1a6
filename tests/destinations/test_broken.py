"""The suite finds what is broken: each destination here lies about one thing, and is caught by name.

Half of them are the real service told to behave badly, half are adapters that misread a good one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.destinations.processes import Service
from tests.destinations.subjects import SECRET, folder_subject, http_subject

from remit.destinations.conformance import Result as Verdict
from remit.destinations.conformance import Subject, Trial, run_check
from remit.ports.destination import (
    Answered,
    Destination,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    SendError,
)

SERVICE_FAULTS = [
    ("second-send", {"ignores_key": True}, "SECOND_OBJECT"),
    ("other-payload", {"takes_other_payload": True}, "OTHER_PAYLOAD_TAKEN"),
    ("other-payload", {"ignores_key": True}, "OTHER_PAYLOAD_TAKEN"),
    ("racing-sends", {"races": True}, "SECOND_OBJECT"),
    ("second-send", {"duplicate": -1, "ignores_key": True}, "SECOND_OBJECT"),
    ("lost-answer", {"ignores_key": True}, "SECOND_OBJECT"),
    ("lower-fence", {"ignores_fence": True}, "LOWER_FENCE_TAKEN"),
    ("lower-fence", {"forgets_fence": True}, "LOWER_FENCE_TAKEN"),
    ("late-expiry", {"ignores_expiry": True}, "ARRIVED_AFTER_ITS_END"),
    ("in-flight", {"no_bound": True}, "ARRIVED_AFTER_THE_BOUND"),
    ("found", {"lag_ms": 60_000}, "NOT_FOUND"),
    ("found", {"wrong_digest": True}, "WRONG_DIGEST"),
    ("receipt", {"ignores_key": True, "duplicate": -1}, "RECEIPT_WITHOUT_OBJECT"),
]


@pytest.mark.parametrize(("check", "state", "reason"), SERVICE_FAULTS)
def test_a_service_that_is_broken(
    service: Service, check: str, state: dict[str, object], reason: str
) -> None:
    trial = Trial(http_subject(service))
    assert run_check(check, trial).result is Verdict.PASS
    service.control(**state)
    found = run_check(check, trial)
    assert (found.result, found.reason) == (Verdict.FAIL, reason), found


class Bent:
    """An adapter that hands on what a good one gives, bent in one way."""

    def __init__(self, good: Destination) -> None:
        self.good = good
        self.name = good.name

    @property
    def enforced(self) -> Enforced:
        return self.good.enforced

    def send(self, request: Request) -> Response:
        return self.good.send(request)

    def look_up(self, look_up: LookUp) -> Seen:
        return self.good.look_up(look_up)


class NoneInAnOutage(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        seen = super().look_up(look_up)
        return Seen(Result.NONE, 0) if seen.result is Result.UNAVAILABLE else seen


class RaisesInAnOutage(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        seen = super().look_up(look_up)
        if seen.result is Result.UNAVAILABLE:
            raise ConnectionError(seen.reason)
        return seen


class FoundWhatever(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        return Seen(Result.FOUND, 1, consistent=True)


class InconsistentAfterAll(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        return replace(super().look_up(look_up), consistent=False)


class TimeoutIsFailure(Bent):
    def send(self, request: Request) -> Response:
        try:
            return super().send(request)
        except NoAnswer as error:
            raise NotSent(error.message) from None


class FiveHundredIsNo(Bent):
    def send(self, request: Request) -> Response:
        try:
            return super().send(request)
        except SendError as error:
            raise Answered(Reason.REJECTED, error.message) from None


class AnswersAnyway(Bent):
    def send(self, request: Request) -> Response:
        try:
            return super().send(request)
        except SendError:
            return Response("surely done")


class TriesAgain(Bent):
    """Retries by itself under another key: the retry that nobody recorded."""

    def send(self, request: Request) -> Response:
        super().send(request)
        return super().send(replace(request, key=f"{request.key}-again"))


class WaitsForEver(Bent):
    def send(self, request: Request) -> Response:
        return super().send(replace(request, timeout_ms=4_000))


class NoReference(Bent):
    def send(self, request: Request) -> Response:
        return replace(super().send(request), reference="")


class SaysItDidAgain(Bent):
    def send(self, request: Request) -> Response:
        return replace(super().send(request), replayed=False)


class TellsTheToken(Bent):
    def send(self, request: Request) -> Response:
        try:
            return super().send(request)
        except SendError as error:
            raise NotSent(f"{error.message} Authorization: Bearer {SECRET}") from None


class IgnoresTheEnd(Bent):
    def send(self, request: Request) -> Response:
        return super().send(replace(request, expires_at=None))


class NoManifest(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        seen = super().look_up(look_up)
        return replace(seen, values=tuple(v for v in seen.values if v[0] != "manifest_id"))


ADAPTER_FAULTS: list[tuple[str, Callable[[Destination], Destination], str]] = [
    ("outage", NoneInAnOutage, "OUTAGE_TAKEN_AS_KNOWN"),
    ("outage", RaisesInAnOutage, "RAISED"),
    ("outage", AnswersAnyway, "ANSWERED_IN_AN_OUTAGE"),
    ("absent", FoundWhatever, "NOT_ABSENT"),
    ("absent", InconsistentAfterAll, "CONSISTENCY"),
    ("timeout", TimeoutIsFailure, "TIMEOUT_TAKEN_AS_KNOWN"),
    ("timeout", AnswersAnyway, "TIMEOUT_TAKEN_AS_KNOWN"),
    ("timeout", WaitsForEver, "TIMEOUT_TAKEN_AS_KNOWN"),
    ("lost-answer", TimeoutIsFailure, "LOST_ANSWER_TAKEN_AS_KNOWN"),
    ("lost-answer", FiveHundredIsNo, "LOST_ANSWER_TAKEN_AS_KNOWN"),
    ("other-payload", AnswersAnyway, "OTHER_PAYLOAD_TAKEN"),
    ("lower-fence", AnswersAnyway, "LOWER_FENCE_TAKEN"),
    ("second-send", SaysItDidAgain, "SAYS_IT_DID_AGAIN"),
    ("receipt", NoReference, "NO_REFERENCE"),
    ("secrets", TellsTheToken, "SECRET_TOLD"),
    ("past-expiry", IgnoresTheEnd, "EXPIRED_REQUEST_TAKEN"),
]


@pytest.mark.parametrize(("check", "bend", "reason"), ADAPTER_FAULTS)
def test_an_adapter_that_is_broken(
    service: Service, check: str, bend: Callable[[Destination], Destination], reason: str
) -> None:
    good = http_subject(service)
    assert run_check(check, Trial(good)).result is Verdict.PASS
    found = run_check(check, Trial(replace(good, destination=bend(good.destination))))
    assert (found.result, found.reason) == (Verdict.FAIL, reason), found


def test_a_retry_under_another_key_is_seen_by_who_counts_effects(service: Service) -> None:
    good = http_subject(service)

    def effects(asked: LookUp) -> int:
        keys = {one["key"] for one in service.get("/_log") if one["effect_id"] == asked.effect_id}
        return sum(service.objects(key) for key in keys)

    counting = replace(good, count=effects)
    assert run_check("second-send", Trial(counting)).result is Verdict.PASS
    bent = replace(counting, destination=TriesAgain(good.destination))
    assert run_check("second-send", Trial(bent)).reason == "SECOND_OBJECT"


def test_a_value_that_is_not_shown_is_blocked_and_not_passed(service: Service) -> None:
    good = http_subject(service)
    found = run_check("found", Trial(replace(good, destination=NoManifest(good.destination))))
    assert (found.result, found.reason) == (Verdict.BLOCKED, "VALUE_NOT_SHOWN")


def test_a_delay_that_delays_nothing_proves_nothing(service: Service) -> None:
    dropping = replace(http_subject(service), delayed=lambda _: service.during(lose_requests=-1))
    for check in ("late-expiry", "in-flight"):
        found = run_check(check, Trial(dropping))
        assert (found.result, found.reason) == (Verdict.BLOCKED, "NO_CONTROL")


def test_a_late_arrival_may_be_later_than_was_asked_for(service: Service) -> None:
    """As on a busy machine: whatever shows that something arrives late at all is waited for."""
    slow = replace(
        http_subject(service), delayed=lambda by_ms: service.during(delay_ms=by_ms + 200)
    )
    for check in ("late-expiry", "in-flight"):
        found = run_check(check, Trial(slow))
        assert found.result is Verdict.PASS, found


class ConfirmsNoFence(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        return replace(super().look_up(replace(look_up, fence=0)), confirmed_fence=0)


class ConfirmsALowerFence(Bent):
    def look_up(self, look_up: LookUp) -> Seen:
        return replace(super().look_up(look_up), confirmed_fence=1)


def test_a_fence_may_be_kept_by_a_service_whose_look_up_confirms_none(service: Service) -> None:
    good = http_subject(service)
    silent = replace(good, destination=ConfirmsNoFence(good.destination))
    assert run_check("lower-fence", Trial(silent)).result is Verdict.PASS
    service.control(ignores_fence=True)
    assert run_check("lower-fence", Trial(silent)).reason == "LOWER_FENCE_TAKEN"
    service.control(reset=True)
    odd = replace(good, destination=ConfirmsALowerFence(good.destination))
    assert run_check("lower-fence", Trial(odd)).reason == "FENCE_NOT_CONFIRMED"


class UndoesNothing(Bent):
    def send(self, request: Request) -> Response:
        if request.compensates:
            return Response("undone")
        return super().send(request)


class UndoesByAnotherFile(UndoesNothing):
    """Writes the inverse beside the thing, which still stands."""

    def look_up(self, look_up: LookUp) -> Seen:
        seen = super().look_up(look_up)
        return replace(seen, result=Result.FOUND, objects=1) if look_up.compensates else seen


@pytest.mark.parametrize(
    ("bend", "reason"),
    [(UndoesNothing, "COMPENSATION_NOT_FOUND"), (UndoesByAnotherFile, "STILL_THERE")],
)
def test_a_compensation_that_undoes_nothing(
    tmp_path: Path, bend: Callable[[Destination], Destination], reason: str
) -> None:
    good = folder_subject(tmp_path / "root")
    assert run_check("compensation", Trial(good)).result is Verdict.PASS
    found = run_check("compensation", Trial(replace(good, destination=bend(good.destination))))
    assert (found.result, found.reason) == (Verdict.FAIL, reason), found


def test_what_nobody_brings_or_declares_is_not_tested(tmp_path: Path) -> None:
    alone = Subject(folder_subject(tmp_path / "root").destination)
    told = {name: run_check(name, Trial(alone)) for name in ("outage", "lost-answer", "timeout")}
    assert {c.result for c in told.values()} == {Verdict.NOT_TESTED}
    assert {c.reason for c in told.values()} == {"NO_WAY_TO_LOOK"}
