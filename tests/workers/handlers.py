"""The app of the worker processes: plain work, and places at which a test can stop it.

``POINT`` in the environment names a place: the process says that it is there with a file, and goes on
once the file ``hold`` is gone. So a test can pause it exactly there, for as long as it likes.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.workers.ground import payload_of

import remit
from remit.core.effect_facts import Envelope
from remit.ports.destination import Request, Response
from remit.wiring import destination
from remit.workers import Job

FOLDER = Path.cwd()
POINT = os.environ.get("POINT", "")
app = remit.App()


def point(name: str) -> None:
    """A place to be stopped at."""
    if name == POINT:
        (FOLDER / f"at-{name}").touch()
        while (FOLDER / "hold").exists():
            time.sleep(0.005)


class Slow:
    """A destination before and after whose very call the process may be stopped."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.there = destination(document)
        self.name, self.enforced = self.there.name, self.there.enforced
        self.look_up = self.there.look_up

    def send(self, request: Request) -> Response:
        point("sending")
        response = self.there.send(request)
        point("answered")
        return response


if POINT in ("sending", "answered"):
    app.destination("exports", Slow(json.loads(os.environ["DOCUMENT"])))

if POINT == "intended":
    _intend = Job.intend

    def _then_wait(self: Job, *given: Any) -> None:
        _intend(self, *given)
        point("intended")

    Job.intend = _then_wait  # type: ignore[method-assign, assignment]  # that is the place


@app.handler("export", destination="exports")
def export(job: Job) -> None:
    """Send the payload."""
    point("begun")
    job.send(payload_of(job.effect_id))


if os.environ.get("REPEATS"):

    @app.payload("export")
    def payload(envelope: Envelope, _document: bytes | None) -> bytes:
        """What ``export`` sends, made again; another one where a test asks for that."""
        return payload_of(os.environ.get("OTHER") or envelope.effect_id)


@app.handler("count")
def count(job: Job) -> str:
    """PURE work."""
    point("begun")
    if os.environ.get("RAISES"):
        raise RuntimeError("the zombie says that it failed")
    time.sleep(float(os.environ.get("TAKES", "0")))
    return os.environ.get("RESULT", "1")


@app.handler("die")
def die(_job: Job) -> None:
    """End the process as nothing could end it worse."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.handler("stick")
def stick(job: Job) -> str:
    """Take for ever, whatever it is told; with ``intends`` after its intent."""
    if job.envelope.replay_class != "PURE":
        job.intend()
    (FOLDER / f"stuck-{job.item.id}").touch()
    while True:
        time.sleep(60)
