"""``import``: rows = imported + unchanged + quarantined, foreseen by ``--dry-run``, then usable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.calling import Cli, environment, process

from remit.wiring import open_ledger

ROWS = (
    {"id": "a-1", "title": "Open", "status": "open", "priority": 1},
    {
        "id": "a-2", "title": "Waits", "status": "open",
        "dependencies": [{"issue_id": "a-2", "depends_on_id": "a-1", "type": "blocks"}],
    },
    {
        "id": "a-3", "title": "\x1b[31mRound", "status": "open",
        "dependencies": [{"issue_id": "a-3", "depends_on_id": "a-4", "type": "blocks"}],
    },
    {
        "id": "a-4", "title": "And round", "status": "open",
        "dependencies": [{"issue_id": "a-4", "depends_on_id": "a-3", "type": "blocks"}],
    },
    {"id": "a-5", "title": "Busy", "status": "in_progress"},
    {"id": "a-6", "title": "Done", "status": "closed"},
    {"id": "a-1", "title": "The same id again", "status": "open"},
    {"title": "No id", "status": "open"},
)  # fmt: skip


def backlog(folder: Path, *more: str) -> Path:
    path = folder / "issues.jsonl"
    lines = [json.dumps({"created_at": "2026-01-01T00:00:00Z", **row}) for row in ROWS]
    path.write_text("\n".join([*lines, "{broken", *more]) + "\n")
    return path


def counts(found: dict[str, Any]) -> dict[str, Any]:
    assert found["rows"] == found["imported"] + found["unchanged"] + found["quarantined_total"]
    assert found["quarantined_total"] == len(found["quarantined"])
    keys = ("rows", "imported", "unchanged", "quarantined", "edges", "cycles")
    return {key: found[key] for key in keys}


def head(cli: Cli) -> int:
    ledger = open_ledger(f"sqlite://{cli.cwd}/.remit/ledger.db")
    with ledger.reading() as tx:
        seq = tx.head().seq
    ledger.close()
    return seq


def test_a_dry_run_foresees_the_import_and_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    path = backlog(tmp_path)
    before = head(cli)
    foreseen = cli.json("import", "beads", str(path), "--dry-run")
    assert head(cli) == before
    done = cli.json("import", "beads", str(path))
    assert counts(foreseen) == counts(done)
    assert done["imported"] == 6
    assert {q["row"] for q in done["quarantined"]} == {7, 8, 9}
    after = head(cli)
    foreseen = cli.json("import", "beads", str(path), "--dry-run")
    again = cli.json("import", "beads", str(path))
    assert counts(foreseen) == counts(again)
    assert (again["unchanged"], again["changed"], head(cli)) == (6, False, after)


def test_a_changed_row_is_foreseen_too(cli: Cli, tmp_path: Path) -> None:
    path = backlog(tmp_path)
    cli.json("import", "beads", str(path))
    path.write_text(path.read_text().replace('"Open"', '"Opened"').replace('"Done"', '"Did"'))
    foreseen = cli.json("import", "beads", str(path), "--dry-run")
    done = cli.json("import", "beads", str(path))
    assert {(q["row"], q["code"]) for q in counts(foreseen)["quarantined"]} == {
        (q["row"], q["code"]) for q in counts(done)["quarantined"]
    }
    assert done["imported"] == foreseen["imported"] == 1
    assert "CHANGED_UPSTREAM" in {q["code"] for q in done["quarantined"]}


def test_standard_input_is_read(cli: Cli, tmp_path: Path) -> None:
    with backlog(tmp_path).open("rb") as file:
        ran = process(cli.cwd, "import", "beads", "-", "--json", "--as", "ann", stdin=file)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["data"]["imported"] == 6


@pytest.mark.parametrize("late", [False, True], ids=["rule before", "rule after"])
def test_an_accepted_rule_makes_imported_items_ready(cli: Cli, tmp_path: Path, late: bool) -> None:
    config = cli.cwd / ".remit/config.toml"
    rule = config.read_text() + '\n[rules.default]\ncommand = "make test"\nrubric = "It is good"\n'
    if not late:
        config.write_text(rule)
    told = cli.json("import", "beads", str(backlog(tmp_path)))["next"]
    assert any("remit rule accept default" in step for step in told)
    assert cli.json("ready")["total"] == 0
    [one] = [i for i in cli.json("blocked")["items"] if i["work_id"] == "a-1"]
    assert one["gate"] == ("verification-plan" if late else "rule/default")
    assert "remit rule accept default" in one["how_to_open"]
    config.write_text(rule)
    cli.refused("rule", "accept", "default", status=3, code="ACTOR_KIND_REFUSED", actor="bot")
    shown = cli.text("rule", "accept", "default")
    assert "make test" in shown
    assert "It is good" in shown
    assert "1 item became ready" in shown
    assert [i["work_id"] for i in cli.json("ready")["items"]] == ["a-1"]
    stopped = {i["work_id"]: i["blocked_by"] for i in cli.json("blocked")["items"]}
    assert stopped["a-5"] == "gate import-status"
    assert "hold" in stopped["a-2"]
    assert cli.json("rule", "accept", "default")["became_ready"] == 0
    confirmed = cli.json("edit", "a-5", "--confirm-import")
    assert confirmed["item"]["status"] == "ready"


def test_a_rule_that_changes_must_be_accepted_anew(cli: Cli) -> None:
    config = cli.cwd / ".remit/config.toml"
    config.write_text('[rules.default]\ncommand = "make test"\n')
    first = cli.json("rule", "accept", "default")["rule"]
    config.write_text('[rules.default]\ncommand = "true"\n')
    cli.json("create", "registers it")
    [second] = cli.json("rule", "list")["rules"]
    assert (second["accepted"], second["revision"]) == (False, 2)
    cli.refused(
        "rule", "accept", "default", "--digest", first["digest"], status=3, code="RULE_CHANGED"
    )
    assert cli.json("rule", "show", "default")["rule"]["argv"] == ["sh", "-c", "true"]


def test_what_brought_nothing_in_is_not_followed_by_what_to_do_with_it(
    cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text("{\n[]\n")
    shown = cli.text("import", "beads", str(file))
    assert "next: correct the quarantined rows" in shown
    assert "remit ready" not in shown


def test_a_file_that_cannot_be_read_is_said_once(cli: Cli, tmp_path: Path) -> None:
    line = cli.line("import", "beads", str(tmp_path / "nope"), status=2)
    assert line.count("check the path") == 1


def test_people_see_a_table_cycles_and_examples(cli: Cli, tmp_path: Path) -> None:
    shown = cli.text("import", "beads", str(backlog(tmp_path)))
    assert "ROWS  IMPORTED  UNCHANGED  QUARANTINED" in shown
    assert "a-3 -> a-4 -> a-3" in shown or "a-4 -> a-3 -> a-4" in shown
    assert "row 8 (no id)" in shown
    assert "next: remit ready" in shown
    assert "\x1b" not in cli.text("list")


def test_there_is_no_progress_in_a_pipe(cli: Cli, tmp_path: Path) -> None:
    ran = process(
        cli.cwd, "import", "beads", str(backlog(tmp_path)), "--as", "ann", env=environment()
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_an_unknown_importer_is_refused_before_anything_is_written(
    cli: Cli, tmp_path: Path
) -> None:
    before = head(cli)
    argv = ("import", "beads", str(backlog(tmp_path)))
    cli.refused(*argv, status=3, code="ACTOR_UNKNOWN", actor="stranger")
    assert head(cli) == before
