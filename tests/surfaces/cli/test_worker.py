"""``remit worker`` at the command line: what is wrong with an app, and what is told meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, environment, process
from tests.workers.ground import Ground

GOOD = "import remit\napp = remit.App()\n@app.handler('count')\ndef count(job):\n    return '1'\n"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    made.close()
    return made


@pytest.mark.parametrize(
    ("module", "named", "found"),
    [
        ("", "absent:app", "no module 'absent'"),
        ("", "not a module", "expected MODULE:APP"),
        ("import nowhere_at_all\n", "broken_1:app", "No module named 'nowhere_at_all'"),
        ("1 / 0\n", "broken_2:app", "ZeroDivisionError"),
        ("def f(:\n", "broken_3:app", "SyntaxError"),
        (GOOD, "named_1:other", "no 'other'"),
        ("app = 7\n", "named_2", "is int, expected remit.App"),
        ("import remit\napp = remit.App()\n", "named_3:app", "no handlers"),
    ],
)
def test_an_app_that_is_none_is_one_line(
    ground: Ground, tmp_path: Path, module: str, named: str, found: str
) -> None:
    if module:
        (tmp_path / f"{named.partition(':')[0]}.py").write_text(module)
    cli = Cli(tmp_path)
    error = cli.refused("worker", named, "--ledger", ground.url, status=2, code="BAD_INPUT")
    assert found in error["message"]
    assert found in cli.line("worker", named, "--ledger", ground.url, status=2)


def test_a_destination_that_is_not_registered_is_named(ground: Ground, tmp_path: Path) -> None:
    text = GOOD.replace("'count')", "'count', destination='exports')")
    (tmp_path / "unregistered.py").write_text(text)
    cli = Cli(tmp_path, "bot-1")
    error = cli.refused(
        "worker", "unregistered", "--ledger", ground.url, status=4, code="NOT_FOUND"
    )
    assert error["details"] == {"destination": "exports"}


def test_nobody_works_who_is_not_enrolled(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "unknown_actor.py").write_text(GOOD)
    cli = Cli(tmp_path, "nobody")
    cli.refused("worker", "unknown_actor", "--ledger", ground.url, status=3, code="ACTOR_UNKNOWN")


def test_programs_get_a_line_for_each_event_and_people_get_few(
    ground: Ground, tmp_path: Path
) -> None:
    (tmp_path / "plain.py").write_text(GOOD)
    again = ("worker", "plain:app", "--ledger", ground.url, "--as", "bot-1", "--exit-when-idle")
    from remit.wiring import open_ledger

    ground.ledger = open_ledger(ground.url)
    ground.ann = ground.ledger.acting("ann")
    items = [ground.pure(), ground.pure()]
    done = process(tmp_path, *again, "--json", env=environment())
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, b"")
    assert {line["schema_version"] for line in lines} == {1}
    events = [line["data"]["event"] for line in lines]
    assert events[0] == "started"
    assert events[-1] == "stopped"
    assert (events.count("leased"), events.count("reported")) == (2, 2)
    assert lines[-1]["data"]["live_leases"] == []
    assert {ground.status(item) for item in items} == {"held"}
    quiet = process(tmp_path, *again, "--quiet", env=environment())
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
    people = process(tmp_path, *again, env=environment())
    assert (people.returncode, people.stdout) == (0, b"")
    assert len(people.stderr.splitlines()) <= 4
    assert people.stderr.startswith(b"remit worker: bot-1, 1 at once")
    ground.close()
