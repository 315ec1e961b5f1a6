"""What keeps ready work from being taken is told, and ends in an exit status of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.workers.ground import ROOT, Ground, Worker
from tests.workers.test_jobs import run

from remit.core import commands as c
from remit.core.refusals import Code
from remit.service.reading.worksheet import worksheet
from remit.workers import App, Job


def counting() -> App:
    app = App()

    @app.handler("count")
    def count(job: Job) -> str:
        return "1"

    return app


def lease_section(ground: Ground, item: str) -> tuple[dict[str, Any] | None, str]:
    with ground.ledger.reading() as tx:
        sheet = worksheet(tx, item)
    assert isinstance(sheet, dict)
    found = [s for s in sheet["worksheet"]["sections"] if s["title"] == "Lease at this seq"]
    return (found[0] if found else None), sheet["how_to_open"]


def test_ready_work_behind_the_kill_switch_is_no_success(
    ground: Ground, start: Callable[..., Worker]
) -> None:
    ground.folder_destination()
    item = ground.pure()
    ground.ok(ground.ann.engage_kill_switch("look first"))
    worker = start("--exit-when-idle")
    assert worker.ended() == 5
    error = json.loads(worker.errors)["error"]
    assert (error["code"], worker.of("stopped")[0]["kept_back"]) == ("KILL_SWITCH_ON",) * 2
    section, how = lease_section(ground, item)
    assert section is not None
    assert (section["result"], section["checks"][0]["reason"]) == ("FAIL", "KILL_SWITCH_ON")
    assert "kill-switch release" in how
    ground.ok(ground.ann.release_kill_switch("looked"))
    assert start("--exit-when-idle", "--reconcile").ended() == 0
    assert ground.status(item) == "verified"


def test_nothing_ready_behind_the_kill_switch_is_idle(
    ground: Ground, start: Callable[..., Worker]
) -> None:
    ground.folder_destination()
    ground.ok(ground.ann.engage_kill_switch("look first"))
    assert start("--exit-when-idle").ended() == 0


LIMITS: dict[str, tuple[dict[str, Any], Code, str]] = {
    "no lease at once": ({"concurrency": 0}, Code.CONCURRENCY_LIMIT, "--concurrency"),
    "no money": ({"spend_micros": 0, "reserve_micros": 1}, Code.BUDGET_EXHAUSTED, "--spend"),
    "nobody said what it costs": ({"spend_micros": 9}, Code.SPEND_UNESTIMATED, "--reserve"),
}


@pytest.mark.parametrize("scope", ["ledger", "class/STANDARD", "tenant/default"])
@pytest.mark.parametrize("name", list(LIMITS))
def test_a_limit_that_is_used_up_is_told_once_and_explained(
    ground: Ground, name: str, scope: str
) -> None:
    """A worker used to wait for ever and say nothing, and the sheet of the work said ADMIT."""
    figures, code, how = LIMITS[name]
    item = ground.pure()
    assert lease_section(ground, item)[0] == {
        "title": "Lease at this seq", "result": "PASS", "lines": [], "boxes": [], "claims": None,
        "checks": [{"check": "kill-switch", "result": "PASS", "observed": "off", "required": "off",
                    "evidence": "", "reason": ""}],
    }  # fmt: skip
    ground.ok(ground.ann.set_limit(c.SetLimit(scope, **figures)))
    section, opened = lease_section(ground, item)
    assert section is not None
    assert section["result"] == "FAIL"
    (failed,) = [check for check in section["checks"] if check["result"] == "FAIL"]
    assert (failed["reason"], failed["check"].split()[-1]) == (code.value, scope)
    assert f"remit limit set {scope} {how}" in opened
    told: list[dict[str, Any]] = []
    run_until_limited(ground, told)
    (limited,) = [e for e in told if e["event"] == "limited"]
    assert (limited["item"], limited["code"]) == (item, code.value)
    lifted = c.SetLimit(scope, concurrency=9, spend_micros=1_000, reserve_micros=1)
    ground.ok(ground.ann.set_limit(lifted))
    run(ground, counting(), reconcile=True)
    assert ground.status(item) == "verified"
    assert lease_section(ground, item)[0] is None


def run_until_limited(ground: Ground, told: list[dict[str, Any]]) -> None:
    """Let a worker try a few times, and stop it."""
    from dataclasses import replace

    from tests.workers.test_jobs import IDLE

    from remit.workers.main import make

    refusals = [0]
    chosen = replace(IDLE, exit_when_idle=False)
    worker = make(
        ground.ledger, "bot-1", counting(), chosen, lambda e, m: told.append({"event": e, **m})
    )
    take = worker._refused

    def refused(candidate: Any, refusal: Any) -> bool:
        refusals[0] += 1
        if refusals[0] >= 3:
            worker.stop()
        return take(candidate, refusal)

    worker._refused = refused  # type: ignore[method-assign,assignment]  # counted, and else the same
    worker.run()


def test_a_worker_whose_reader_went_away_stops_as_if_it_were_asked_to(ground: Ground) -> None:
    """``remit worker … --json | head -1``: a thread that told something used to die of it."""
    ground.folder_destination()
    for _ in range(5):
        ground.pure()
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "worker", "tests.workers.handlers:app", "--ledger",
         ground.worker_url, "--as", "bot-1", "--json"],
        cwd=ground.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "TAKES": "0.2"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert b"started" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert ground.leases() == []
