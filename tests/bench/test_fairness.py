"""The simulation of shares and limits (INV-12): short, and shown to fail where turns are not kept."""

from __future__ import annotations

import pytest

from remit.bench.fairness import SHARE_BOUND, simulate


def test_shares_are_kept_and_limits_hold_at_every_seq() -> None:
    found = simulate(seconds=80, workers=24)
    assert {share.work_class for share in found.shares} == {"gold", "silver", "bronze"}
    for share in found.shares:
        assert share.off <= SHARE_BOUND, share
        assert 0 < share.longest_wait_s <= found.seconds
    assert {use.scope: use.most <= use.limit for use in found.uses} == {
        "ledger": True, "class/capped": True, "tenant/paced": True, "class/paid": True,
    }  # fmt: skip
    assert all(use.most > 0 for use in found.uses), "each limit is used"
    assert found.fair


def test_the_simulation_sees_a_class_that_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.core.evolve.moves.round_of", lambda *_: 0)
    monkeypatch.setattr("remit.core.evolve.moves.turn_after", lambda turn, vtime, _: turn + 1)
    assert not simulate(seconds=30, workers=12).fair


def test_the_simulation_sees_a_limit_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.core.decide.choosing.over_rate", lambda *_: None)
    found = simulate(seconds=60, workers=24)
    assert not found.fair
    assert [use.scope for use in found.uses if use.most > use.limit] == ["tenant/paced"]
