"""A ledger that was adopted knows nothing of pushes any more, until it has looked (CONTRACT 14)."""

from __future__ import annotations

import shutil

from tests.integrating.lab import Lab

from remit.core.effect_events import EffectIntended
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.ports.destination import Destination, Enforced, LookUp, Request, Response, Seen
from remit.service.adoption import adopt
from remit.wiring.integrating import pushes


def adopted(lab: Lab) -> None:
    found = adopt(lab.ledger.acting("ann"), "restored")
    assert not isinstance(found, Refused), found


def intended(lab: Lab, name: str) -> None:
    """A push is intended, and its sender dies before it sends."""
    integration = lab.integration()
    integration.push = Dead(integration.push)
    try:
        integration.integrate(name)
    except KeyboardInterrupt:
        return
    raise AssertionError("it was sent")


class Dead:
    """A destination whose sender dies before anything leaves."""

    name = "dead"

    def __init__(self, inner: Destination) -> None:
        self.inner = inner

    @property
    def enforced(self) -> Enforced:
        return self.inner.enforced

    def send(self, request: Request) -> Response:
        raise KeyboardInterrupt

    def look_up(self, look_up: LookUp) -> Seen:
        return self.inner.look_up(look_up)


def test_approved_work_with_an_open_push_goes_to_triage(lab: Lab) -> None:
    name = lab.approved()
    intended(lab, name)
    adopted(lab)
    [record] = lab.records(name)
    assert (record.triage_kind, record.from_) == ("effect-uncertain", "approved")
    assert f"effect:push/{name}" in record.evidence
    assert "why:EPOCH_CHANGED" in record.evidence
    looked = pushes(lab.ledger, lab.host).one(f"push/{name}")
    assert not isinstance(looked, Refused), looked
    assert lab.item(name).status is Status.APPROVED
    assert lab.effect(name).state == "ABSENT"
    assert lab.integrate(name).outcome == "shipped"
    fences = [e.fence for e in lab.pushed(name) if isinstance(e, EffectIntended)]
    assert fences == [1, (1 << 32) | 2]
    assert len(lab.landed()) == 2


def test_shipped_work_stays(lab: Lab) -> None:
    name = lab.approved()
    lab.integrate(name)
    adopted(lab)
    assert lab.item(name).status is Status.SHIPPED


def test_a_push_of_a_lost_history_is_found_and_not_made_again(lab: Lab) -> None:
    """The copy knows of no push; the remote has it, under the marker of the same effect."""
    name = lab.approved()
    theirs = lab.moved({"a.txt": "two\n"})
    kept = lab.root / "kept.db"
    lab.close()
    shutil.copy(lab.root / "ledger.db", kept)
    lab._ledger = None
    lost = lab.integrate(name)
    lab.close()
    for left in lab.root.glob("ledger.db*"):
        left.unlink()
    shutil.copy(kept, lab.root / "ledger.db")
    lab = Lab(lab.root)
    adopted(lab)
    assert lab.item(name).status is Status.APPROVED
    found = lab.integrate(name)
    assert found.outcome == "shipped"
    assert lab.landed()[-2:] == [theirs, lost.commit]
    work = lab.item(name).work
    assert work is not None
    lab.close()
    assert work.shipped in (lost.commit, work.head)


def test_under_a_command_id_as_well_an_adopted_ledger_integrates(lab: Lab) -> None:
    """The first try only leads to a look-up; the next one must not be answered with it again."""
    name = lab.approved()
    adopted(lab)
    assert lab.integrate(name, command_id="run/1").outcome == "shipped"
    assert lab.integrate(name, command_id="run/1").outcome == "shipped"
    assert lab.events(name).count("IntegrationTested") == 2
