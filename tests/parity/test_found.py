"""What scenarios found in this product, each made small, so that it is never found again."""

from __future__ import annotations

import pytest

from remit.proofs.parity.scenario import SECOND, Act, Scenario, Thing, Try
from remit.proofs.parity.trying import try_one


def alike(scenario: Scenario) -> dict[str, list[str]]:
    """The types of events of each item, where both sides left the same."""
    tried = try_one(scenario)
    assert tried.unlike == (), tried.unlike[0]
    assert tried.drained is not None
    streams = tried.drained.events
    return {name: [one.fields["eventType"] for one in streams[name]] for name in streams}


def test_whoever_hands_in_too_late_is_told_so_once() -> None:
    """The drain gave the item back after that as well, which was kept as another late report."""
    found = alike(Scenario((Thing(),), (Act(3 * SECOND, "cancel"),)))
    assert found["W-1"].count("LateReportRecorded") == 1


def test_on_an_adopted_ledger_work_is_integrated() -> None:
    """Under a command id each try was answered with the first one, which only led to a look-up."""
    found = alike(Scenario((Thing(),), (Act(1, "adopt"),)))
    assert found["W-1"].count("IntegrationTested") == 2
    assert found["W-1"][-1] == "VerificationRecorded"


def test_who_is_refused_a_report_works_no_longer() -> None:
    """The agent went on until its lease was to be renewed."""
    one = Try(works_us=20 * SECOND, progress=((4 * SECOND, 5), (6 * SECOND, 6)))
    found = alike(Scenario((Thing(tries=(one,)),), (Act(3 * SECOND, "cancel"),)))
    assert found["W-1"].count("LateReportRecorded") == 2
    assert "ProgressReported" not in found["W-1"]


@pytest.mark.parametrize(("came", "left"), [("done", ""), ("done", "dirty"), ("crashed", "")])
def test_what_late_work_cost_is_said_once_whichever_answer_is_lost(came: str, left: str) -> None:
    """A drain that died at that answer told the cost again when it came back."""
    thing = Thing(tries=(Try(came=came, left=left, spent=1_500),))
    for number in range(1, 30):
        found = alike(Scenario((thing,), (Act(3 * SECOND, "cancel"),), lost=(number,)))
        assert found["W-1"].count("LateReportRecorded") <= 1, number
