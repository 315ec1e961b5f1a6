"""A delivery repeated under its command id is answered from the ledger, without looking again."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.crash.stage import AGAIN, Place
from tests.ground.children import Child
from tests.ground.ledgers import HUMAN, done, head, refused

from remit.core.refusals import Code


def _stage(folder: Path) -> Place:
    """A stage, built by a process whose environment may be settled for git."""
    child = Child("tests.crash.building", str(folder), wait_s=60)
    assert child.ended() == 0
    child.kill()
    return Place(folder)


def test_ship_and_verify_are_repeated_without_repository_and_origin(tmp_path: Path) -> None:
    place = _stage(tmp_path / "stage")
    facts, ledger = place.facts(), place.ledger()
    delivery = ledger.delivery(HUMAN, place.host)
    item, sha = facts["approved"], facts["approved sha"]
    first = done(delivery.mark_shipped(item, sha, command_id=AGAIN))
    verified = done(delivery.verify(item, command_id="v"))
    subprocess.run(["rm", "-rf", str(place.folder / "origin.git")], check=True)
    seq = head(ledger)
    again = done(delivery.mark_shipped(item, sha, command_id=AGAIN))
    assert again.repeated
    assert again.events == first.events
    assert done(delivery.verify(item, command_id="v")).events == verified.events
    refused(delivery.mark_shipped(item, "f" * 40, command_id=AGAIN), Code.COMMAND_ID_REUSED)
    refused(delivery.mark_shipped(facts["shipped"], sha, command_id=AGAIN), Code.COMMAND_ID_REUSED)
    refused(delivery.verify(item, command_id=AGAIN), Code.COMMAND_ID_REUSED)
    other = ledger.delivery("bob", place.host)
    refused(other.verify(item, command_id="v"), Code.COMMAND_ID_REUSED)
    assert head(ledger) == seq
    ledger.close()


def test_work_in_place_is_handed_in_before_main_was_ever_observed(tmp_path: Path) -> None:
    place = _stage(tmp_path / "stage")
    facts, ledger = place.facts(), place.ledger()
    refs = "for-each-ref --format=%(refname) refs/remit/observed"
    git = ["git", "-C", str(place.host)]
    for name in subprocess.check_output([*git, *refs.split()], text=True).split():
        subprocess.run([*git, "update-ref", "-d", name], check=True)
    answer = ledger.delivery("bob", place.host).hand_in(
        facts["handing"], facts["handing fence"], facts["handing head"]
    )
    done(answer)
    ledger.close()
