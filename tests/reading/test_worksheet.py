"""The worksheet of effect work: what it says at each moment, and that it says no more (INV-1, INV-2).

The ledgers are those of shipped scenarios. Whole sheets are compared with files beside this test;
``python -m tests.reading.test_worksheet`` writes them anew after a change that was meant.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.playing import NAMES, scenario_of, shipped, small

from remit.core import evidence, reconcile, retrying
from remit.core.checks import Result
from remit.core.effect_events import AdmissionDecided, RetryDecided
from remit.core.refusals import Refused
from remit.scenarios.coverage import ROWS
from remit.scenarios.running import Played, World, play
from remit.service.reading.sheets import capacity, claims, outside, story
from remit.service.reading.sheets import states as states_module
from remit.service.reading.sheets.states import STATES
from remit.service.reading.worksheet import worksheet
from remit.surfaces.cli import sheets
from remit.surfaces.cli.screen import Screen

GOLDEN = Path(__file__).parent / "worksheets"

SHEETS = {
    "stale-capacity-T0": ("stale-capacity", "", "WORK-104", "T0"),
    "stale-capacity-T1": ("stale-capacity", "", "WORK-104", "T1"),
    "stale-capacity-T2": ("stale-capacity", "", "WORK-104", "T2_DECIDED"),
    "response-lost-U1": ("response-lost", "A", "WORK-205", "U1"),
    "response-lost-U2": ("response-lost", "A", "WORK-205", "U2"),
    "response-lost-U3": ("response-lost", "A", "WORK-205", "U3"),
    "response-lost-U4": ("response-lost", "B", "WORK-205", "U4"),
}


@cache
def traces(name: str) -> list[Played]:
    return play(shipped(name))


def world_of(name: str, branch: str = "") -> World:
    return next(one.world for one in traces(name) if one.branch == branch)


def sheet_at(world: World, work: str, seq: int | None = None) -> dict[str, Any]:
    with world.ledger.reading(seq) as tx:
        found = worksheet(tx, work)
    assert not isinstance(found, Refused), found
    return found


def at(name: str, branch: str, work: str, moment: str) -> dict[str, Any]:
    world = world_of(name, branch)
    return sheet_at(world, work, world.seqs[moment])


def markdown(data: dict[str, Any]) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        sheets.markdown(Screen(colour=False), data)
    return out.getvalue()


def text(data: dict[str, Any]) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        sheets.text(Screen(colour=False), data)
    return out.getvalue()


@pytest.mark.parametrize("name", SHEETS)
def test_a_whole_sheet_is_what_it_was(name: str) -> None:
    assert markdown(at(*SHEETS[name])) == (GOLDEN / f"{name}.md").read_text()


def part(data: dict[str, Any], title: str) -> dict[str, Any]:
    found = next(s for s in data["worksheet"]["sections"] if s["title"] == title)
    assert set(found) == {"title", "result", "lines", "checks", "boxes", "claims"}
    return {
        "result": found["result"],
        **{line["name"]: line["value"] for line in found["lines"]},
        **{check["check"]: check["result"] for check in found["checks"]},
        "boxes": [box["name"] for box in found["boxes"] if box["chosen"]],
        "claims": found["claims"],
    }


def states(data: dict[str, Any]) -> tuple[str, ...]:
    found = part(data, "State separation")
    return tuple(found[name] for name in STATES)


def test_the_past_is_shown_as_it_was_and_no_state_is_inferred() -> None:
    seen = [
        states(at("stale-capacity", "", "WORK-104", moment))
        for moment in ("T0", "T1", "T2_DECIDED")
    ]
    nothing = "NOT_TESTED"
    assert seen == [
        ("PASS", nothing, nothing, nothing, nothing),
        ("PASS", "PASS", "BLOCKED", nothing, nothing),
        ("PASS", "PASS", "FAIL", nothing, nothing),
    ]
    lost = ("response-lost", "WORK-205")
    assert states(at(lost[0], "A", lost[1], "U1")) == ("PASS", "PASS", "PASS", "PASS", nothing)
    assert states(at(lost[0], "A", lost[1], "U2")) == ("PASS", "PASS", "BLOCKED", "FAIL", "BLOCKED")
    assert states(at(lost[0], "A", lost[1], "U3"))[4] == "PASS"
    assert states(at(lost[0], "B", lost[1], "U4"))[4] == "BLOCKED"


def test_the_hold_of_the_past_stays_a_hold_after_it_expired() -> None:
    past = at("stale-capacity", "", "WORK-104", "T1")
    assert (past["verdict"], past["reason"]) == ("HOLD", "STALE_CAPACITY_EVIDENCE")
    assert past["owner"] == {"kind": "admission", "identity": "ADMISSION-2"}
    decision = part(past, "Admission decision")
    assert decision["boxes"] == ["HOLD"]
    assert decision["execution state"] == "NOT STARTED"
    assert at("stale-capacity", "", "WORK-104", "T2_DECIDED")["verdict"] == "EXPIRE"


def test_stale_figures_are_shown_and_counted_for_nothing() -> None:
    table = part(at("stale-capacity", "", "WORK-104", "T1"), "Capacity evidence")
    assert table["result"] == "BLOCKED"
    assert table["age at decision time"] == "720000 ms"
    assert table["expected start delay"] == "BLOCKED: no current evidence"
    assert table["remaining at expected start"] == "BLOCKED"
    assert (table["capacity-freshness"], table["storage-limit"]) == ("FAIL", "PASS")
    fresh = part(at("stale-capacity", "", "WORK-104", "T2_DECIDED"), "Capacity evidence")
    assert fresh["remaining at expected start"] == "240000 ms"
    assert fresh["result"] == "FAIL"


def test_ownership_attempt_and_retry_keep_apart_what_is_often_merged() -> None:
    data = at("response-lost", "A", "WORK-205", "U2")
    owned = part(data, "Ownership")
    assert (owned["retry owner"], owned["execution owner"]) == ("RETRY-3", "WORKER-A")
    assert (owned["local-fencing"], owned["external-fencing"]) == ("PASS", "BLOCKED")
    tried = part(data, "Attempt")
    assert tried["attempt result"] == tried["effect state"] == "UNCERTAIN"
    assert (tried["lease state"], tried["worker termination"]) == ("EXPIRED", "BLOCKED")
    assert tried["message acknowledgement"] == "NOT RECORDED"
    assert (tried["request-sent"], tried["response"]) == ("PASS", "BLOCKED")
    retry = part(data, "Retry decision")
    assert (retry["boxes"], retry["candidate fence"]) == (["HOLD"], "102")
    assert retry["execution state of the candidate"] == "NOT_STARTED"
    assert part(data, "Reconciliation")["result"] == "NOT_TESTED"


def test_a_look_up_is_compared_part_by_part() -> None:
    found = part(at("response-lost", "A", "WORK-205", "U3"), "Reconciliation")
    names = ("exact-effect-identity", "one-current-object", "digest-match", "manifest-match")
    assert {found[name] for name in names} == {"PASS"}
    assert (found["terminal state"], found["unresolved differences"]) == ("COMPLETED", "none")
    away = part(at("response-lost", "B", "WORK-205", "U4"), "Reconciliation")
    assert {away[name] for name in names} == {"BLOCKED"}
    assert away["terminal state"] == "UNCERTAIN"


@pytest.mark.parametrize("name", NAMES)
def test_every_sheet_of_every_scenario_holds_together_at_every_seq(name: str) -> None:
    """No claim without evidence, no box without a decision, and nothing that changes when read again."""
    for one in traces(name):
        world = one.world
        moments = {taken.seq for taken in one.taken}
        for work, item in world.items.items():
            earlier: dict[str, tuple[str, str]] = {}
            for seq in sorted(moments):
                with world.ledger.reading(seq) as tx:
                    found = worksheet(tx, item)
                if isinstance(found, Refused):
                    continue  # it was not there yet
                assert found == sheet_at(world, item, seq)
                sound(found, work)
                earlier = retained(found, earlier)


def sound(found: dict[str, Any], work: str) -> None:
    sheet = found["worksheet"]
    assert found["as_of_seq"] == sheet["span"]["as_of_seq"]
    separation = next(s for s in sheet["sections"] if s["title"] == "State separation")
    for check in separation["checks"]:
        if check["result"] != "NOT_TESTED":
            seq = int(check["evidence"].removeprefix("seq:"))
            assert 0 < seq <= found["as_of_seq"], (work, check)
    for section in sheet["sections"]:
        assert sum(box["chosen"] for box in section["boxes"]) <= 1
        for check in section["checks"]:
            assert check["result"] in tuple(Result), check
    decision = next(s for s in sheet["sections"] if s["title"] == "Admission decision")
    if found["verdict"] != "NOT_DECIDED":
        assert decision["claims"]["unsupported"], found["reason"]
        chosen = [box["name"] for box in decision["boxes"] if box["chosen"]]
        assert found["recorded"]["hold"] or chosen == [found["verdict"]]


def retained(
    found: dict[str, Any], earlier: dict[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """BLOCKED and NOT_TESTED turn into PASS or FAIL by newer evidence only (INV-1)."""
    sheet = found["worksheet"]
    separation = next(s for s in sheet["sections"] if s["title"] == "State separation")
    now = {c["check"]: (c["result"], c["evidence"]) for c in separation["checks"]}
    for name, (result, evidence_) in now.items():
        was, by = earlier.get(name, (result, evidence_))
        if was in ("BLOCKED", "NOT_TESTED") and result in ("PASS", "FAIL"):
            assert evidence_ != by, f"{name} became {result} on {by}"
    return now


def test_a_long_history_keeps_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "BEGINNING", 2)
    monkeypatch.setattr(story, "MOST", 2)
    data = at("response-lost", "A", "WORK-205", "U3")
    assert data["worksheet"]["span"]["events_left_out"] > 0
    assert states(data)[0] == states(data)[4] == "PASS"


def codes() -> set[str]:
    constants = {
        value
        for name, value in vars(reconcile).items()
        if name.isupper()
        and isinstance(value, str)
        and name not in ("FOUND", "NONE", "UNAVAILABLE", "NO_OBJECT")
    }
    return constants


def test_every_reason_code_has_claims_of_its_own() -> None:
    assert set(ROWS) == set(claims.ADMISSION)
    assert codes() <= set(claims.RETRY)
    assert {evidence.RETRY_BACKOFF} <= set(claims.ADMISSION)
    written = set(re.findall(r'"([A-Z]+_[A-Z_]+)"', Path(retrying.__file__).read_text()))
    assert written <= set(claims.RETRY)
    assert claims.of_verdict("SOMETHING_NEW").unsupported


def test_every_reason_that_scenarios_lead_to_has_claims() -> None:
    verdicts, retries = set(), set()
    for name in NAMES:
        for one in traces(name):
            for recorded in one.world.events():
                if isinstance(recorded.event, AdmissionDecided):
                    verdicts.add(recorded.event.reason)
                elif isinstance(recorded.event, RetryDecided):
                    retries.add(recorded.event.reason)
    assert verdicts <= set(claims.ADMISSION)
    assert retries <= set(claims.RETRY)


HOSTILE = "<b>\\x1b[2J|[x](http://e)` **#"


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    steps = """
        steps:
          - observe: {class: EXPORT, observed_at: now, start_delay: 0, duration: 1s}
          - at: T1
            submit: WORK-1
        covers: [row-1]
    """
    text_ = small(steps).replace("operation_id: EXPORT-1", f'operation_id: "{HOSTILE}"')
    [one] = play(scenario_of(text_))
    found = sheet_at(one.world, "WORK-1")
    raw = found["worksheet"]["exact_operation"]
    assert "\x1b" in raw or found["verdict"] == "REJECT"
    for shown in (text(found), markdown(found)):
        assert "\x1b" not in shown
        assert "\\x1b" in shown or "\\\\x1b" in shown
    marked = markdown(found)
    assert "<b>" not in marked.replace("\\<b\\>", "")
    assert "[x](" not in marked
    assert "\\|" in marked


# Faults planted in the sheet: something is taken for something else, and a test above must fail.


def valid_inferred_from_storage(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(states_module, "_valid", states_module._stored)


def eligible_for_good_once_admitted(patch: pytest.MonkeyPatch) -> None:
    def admitted(story_: Any) -> Any:
        told = story_.first(AdmissionDecided)
        return (Result.PASS, "ADMIT", told.evidence) if told else (Result.NOT_TESTED, "", "")

    patch.setattr(states_module, "_eligible", admitted)


def a_lease_that_never_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(story.Story, "lease_ended", property(lambda _self: None))


def completed_without_a_look_up(patch: pytest.MonkeyPatch) -> None:
    def sent(story_: Any) -> Any:
        told = story_.intended
        return (Result.PASS, "sent", told.evidence) if told else (Result.NOT_TESTED, "", "")

    patch.setattr(states_module, "_completed", sent)


def expiry_taken_for_termination(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(outside, "termination", lambda _story: Result.PASS)


def stale_figures_taken_as_current(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "_figure", lambda value, _current: f"{value} ms")


def an_unread_record_taken_as_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(outside, "terminal", lambda _story: "COMPLETED")


def what_nobody_sent_taken_as_acknowledged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(outside, "acknowledgement", lambda _story: "RECORDED")


PLANTED = (
    valid_inferred_from_storage,
    eligible_for_good_once_admitted,
    a_lease_that_never_ends,
    completed_without_a_look_up,
    expiry_taken_for_termination,
    stale_figures_taken_as_current,
    an_unread_record_taken_as_compared,
    what_nobody_sent_taken_as_acknowledged,
)


def all_of_it() -> None:
    test_the_past_is_shown_as_it_was_and_no_state_is_inferred()
    test_stale_figures_are_shown_and_counted_for_nothing()
    test_ownership_attempt_and_retry_keep_apart_what_is_often_merged()
    test_a_look_up_is_compared_part_by_part()


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_fault_planted_in_the_sheet_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_it()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        all_of_it()


def write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name, where in SHEETS.items():
        (GOLDEN / f"{name}.md").write_text(markdown(at(*where)))


if __name__ == "__main__":
    write()
