"""Traces from every link, coverage of plans, and the files made of it, over a ledger in memory."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import jsonschema_rs
import pytest
from tests.core.plans import COMMAND, item, node, requirement, row, sound
from tests.core.test_plans import apply, bring, decide, of, one
from tests.core.world import OTHER, World

from remit.core.commands import Text
from remit.core.decisions import DecisionKind
from remit.core.facts import Row
from remit.core.item_events import LeaseGranted, ReviewApproved, VerificationRecorded
from remit.core.planning.bundle import Bundle, PlanRow
from remit.core.refusals import Code, Refused
from remit.core.trace_commands import ClearLink
from remit.exchange.needs_json import needs_json
from remit.service.past import as_of
from remit.service.reading import coverage as covers
from remit.service.reading.subjects import resolve
from remit.service.reading.trace import STAGES, trace
from remit.stores.memory import MemoryStore
from remit.surfaces.cli.trace_forms import HEADERS, as_csv, as_html

STATES = ("orphan", "suspect", "outdated", "shallow", "justified", "deep")


def traced(world: World, name: str, limit: int = 50) -> dict[str, Any]:
    with world.store.read() as tx:
        found = trace(tx, name, limit)
    assert isinstance(found, dict), found
    return found


def untraced(world: World, name: str, code: Code = Code.NOT_FOUND) -> Refused:
    with world.store.read() as tx:
        found = trace(tx, name)
    assert isinstance(found, Refused), found
    assert found.code is code
    return found


def matrix(world: World, name: str = "", limit: int = 0) -> dict[str, Any]:
    with world.store.read() as tx:
        found = covers.matrix(tx, name, limit)
    assert isinstance(found, dict), found
    return found


def states(world: World) -> dict[str, str]:
    return {line["label"]: line["coverage"] for line in matrix(world)["requirements"]}


def seq_of(world: World, kind: type, item: str) -> int:
    return next(r.seq for r in world.events() if isinstance(r.event, kind) and r.stream == item)


@pytest.fixture(scope="module")
def done() -> World:
    """A plan of three, of which the first is verified and the second leased."""
    world = World()
    apply(world, sound(3))
    bring(world, of(world, "i0").id, "verified")
    world.lease("W-2", "bob")
    return world


def test_the_chain_names_every_link_of_the_contract(done: World) -> None:
    found = traced(done, "W-1")
    assert [(x["stage"], x["name"]) for x in found["chain"]] == list(STAGES.items())
    ids = {x["stage"]: x["ids"] for x in found["chain"]}
    work = done.item("W-1").work
    assert work is not None
    assert ids == {
        "goal": ["G-1@1"],
        "requirement": ["R-1@1"],
        "dependencies": ["N-1"],
        "rows": ["V-1"],
        "item": ["W-1"],
        "lease": [str(seq_of(done, LeaseGranted, "W-1"))],
        "review": [str(seq_of(done, ReviewApproved, "W-1"))],
        "ship": [work.shipped],
        "verify": ["V-1:verified"],
    }
    verified = seq_of(done, VerificationRecorded, "W-1")
    [result] = found["chain"][-1]["results"]
    assert (result["id"], result["commit"]) == (f"V-1@{verified}", work.shipped)
    assert (found["complete"], found["broken"], found["faults"]) == (True, False, [])
    assert found["unproved"] == ["review", "verify"]


def names_of(world: World) -> dict[str, str]:
    """Every name of every link of the first item's chain, with the kind of what it names."""
    work = world.item("W-1").work
    assert work is not None
    verified = seq_of(world, VerificationRecorded, "W-1")
    return {
        "W-1": "item",
        "i0": "item",
        "G-1": "goal",
        "G-1@1": "goal",
        "goal/export": "goal",
        "R-1": "requirement",
        "R-1@1": "requirement",
        "requirement/r0": "requirement",
        "N-1": "node",
        "N-1@1": "node",
        "V-1": "row",
        "row/v0": "row",
        "P-1": "plan",
        "P-1@1": "plan",
        str(seq_of(world, LeaseGranted, "W-1")): "lease",
        f"seq:{seq_of(world, ReviewApproved, 'W-1')}": "review",
        str(work.ship_seq): "ship",
        str(verified): "verify",
        work.shipped: "commit",
        work.shipped[:39]: "commit",
        f"V-1@{verified}": "result",
    }


def test_every_link_leads_to_the_whole_chain(done: World) -> None:
    whole = traced(done, "W-1")["chain"]
    for name, kind in names_of(done).items():
        found = traced(done, name)
        assert found["kind"] == kind, name
        chains = [found] if kind == "item" else found["chains"]
        first = next(each for each in chains if each["id"] == "W-1")
        assert first["chain"] == whole, name
        assert not found["broken"], name


def test_a_trace_is_narrowed_to_what_it_starts_from() -> None:
    world = World()
    plan = sound(2)
    plan = one(plan, replace(node(0), requirements=("r0", "r1")))
    plan = one(plan, item(0, requirements=("r0", "r1"), rows=("v0", "x")))
    extra = PlanRow("x", "r1", "i0", "the file on disk", COMMAND)
    apply(world, replace(plan, rows=(*plan.rows, extra)))
    [first, second] = traced(world, "R-2")["chains"]
    assert [x["ids"] for x in first["chain"][1:4:2]] == [["R-2@1"], ["V-2"]]
    assert second["id"] == "W-2"
    [only] = traced(world, "V-1")["chains"]
    assert [x["ids"] for x in only["chain"][1:4:2]] == [["R-1@1"], ["V-1"]]


def test_what_is_not_there_is_not_found(done: World) -> None:
    for name in ("", "W-99", "R-9", "R-1@2", "G-1@9", "V-1@1", "seq:99999999", "abcdef0", "row/v9"):
        untraced(done, name)
    for name in (
        "V-1; rm",
        "song/r0",
        "x" * 500,
        "R-1@0",
        "\x1b[2J",
        "-1",
        "R-1@99999999999999999999",
    ):
        untraced(done, name)


def test_commits_that_begin_alike_are_named() -> None:
    world = World()
    items = [world.until("shipped") for _ in range(2)]
    shas = [world.item(each).work.shipped for each in items]  # type: ignore[union-attr]  # shipped
    assert shas[0] != shas[1]
    common = shas[0][:30]
    assert shas[1].startswith(common)
    refused = untraced(world, common, Code.AMBIGUOUS_ID)
    assert refused.details["candidates"] == sorted(shas)


def test_drafted_work_is_traced_from_its_own_links() -> None:
    world = World()
    name = world.create()
    for link in ("G-1", "R-1", "V-1"):
        found = traced(world, link)
        assert [each["id"] for each in found["chains"]] == [name]


def test_a_link_that_is_gone_breaks_the_chain_of_what_was_worked_on(done: World) -> None:
    world = World()
    plan = sound(1)
    apply(world, plan)
    bring(world, of(world, "i0").id, "in-review")
    row_fact = world.fact("row", "V-1")
    assert isinstance(row_fact, Row)
    apply(world, one(plan, row(0, spec=replace(COMMAND, argv=("check", "more")))))
    found = traced(world, "V-1")
    assert found["broken"]
    assert "rows" in found["chains"][0]["gaps"]
    assert found["chains"][0]["successor"] == "W-2"
    assert traced(world, "W-2")["predecessor"] == "W-1"


def test_the_past_is_traced_as_it_was(done: World) -> None:
    shipped = done.item("W-1").work.ship_seq  # type: ignore[union-attr]  # shipped
    with done.store.read() as tx, as_of(tx, shipped - 1, MemoryStore) as past:
        before = trace(past, "R-1")
        assert isinstance(before, dict)
        assert before["chains"][0]["gaps"] == ["ship", "verify"]
        assert isinstance(resolve(past, str(shipped)), Refused)
        old = covers.matrix(past)
        assert isinstance(old, dict)
    new = matrix(done)
    told = covers.delta(old, new)
    assert [(x["label"], x["from"], x["to"]) for x in told["changes"]] == [
        ("r0", "shallow", "deep")
    ]


# Coverage.


def test_coverage_says_how_far_evidence_reaches(done: World) -> None:
    found = matrix(done)
    assert {x["label"]: x["coverage"] for x in found["requirements"]} == {
        "r0": "deep",
        "r1": "shallow",
        "r2": "shallow",
    }
    assert tuple(found["coverage"]) == STATES
    assert (found["total"], found["orphans"], found["suspect"]) == (3, 0, 0)
    assert found["requirements"][0]["statement"] == "part 0 is exported"
    assert matrix(done, limit=1)["truncated"]


def doubled(plan: Bundle) -> Bundle:
    return one(plan, requirement(0, acceptance=("a file with part 0 exists", "soon")))


def test_a_changed_requirement_is_suspect_until_its_links_are_cleared_or_stated_anew() -> None:
    world = World()
    plan = sound(2)
    apply(world, plan)
    bring(world, "W-1", "verified")
    assert states(world)["r0"] == "deep"
    apply(world, doubled(plan))
    assert states(world) == {"r0": "suspect", "r1": "shallow"}
    with world.store.read() as tx:
        found = covers.suspect_links(tx)
    assert isinstance(found, dict)
    assert [x["link"] for x in found["links"]] == ["R-1>N-1", "R-1>V-3"]
    for link in found["links"]:
        digests = (link["upper_digest"], link["lower_digest"])
        world.ok(OTHER, ClearLink(link["upper"], link["lower"], Text("read again"), *digests))
    assert states(world)["r0"] == "shallow"
    assert traced(world, "R-1")["suspect"] == []


def test_what_nothing_would_prove_is_an_orphan() -> None:
    world = World()
    plan = sound(2)
    plan = one(plan, row(0, direct=False))
    apply(world, plan)
    assert states(world) == {"r0": "orphan", "r1": "shallow"}
    with world.store.read() as tx:
        found = covers.orphans(tx)
    assert isinstance(found, dict)
    assert found["requirements"] == [
        {"id": "R-1", "label": "r0", "lacks": ["no row proves it directly"]}
    ]
    assert (found["total"], found["nodes"], found["rows"], found["items"]) == (1, [], [], [])


def test_a_waiver_justifies_until_it_ends() -> None:
    world = World()
    plan = one(sound(1), row(0, waived="D-1"))
    until = world.now + 3_600_000_000
    decide(world, plan, DecisionKind.WAIVER, "row/v0", expires_at=until)
    apply(world, plan)
    [line] = matrix(world)["requirements"]
    assert line["coverage"] == "justified"
    [waiver] = line["justified_by"]
    assert waiver["decision"] == "D-1"
    assert waiver["expires_at"] is not None
    assert waiver["unproved"] is True
    assert traced(world, "D-1")["chains"][0]["id"] == "W-1"
    world.pass_us(3_600_000_001)
    assert states(world) == {"r0": "shallow"}


def test_plans_are_told_apart_and_named(done: World) -> None:
    with done.store.read() as tx:
        unknown = covers.matrix(tx, "P-9")
        nowhere = covers.closing_of(tx, "P-1@7")
        closing = covers.closing_of(tx, "P-1@1")
        assert covers.closing_of(tx, "P-1") == ("P-1", 0)
    assert isinstance(unknown, Refused)
    assert unknown.code is Code.PLAN_UNKNOWN
    assert isinstance(nowhere, Refused)
    assert not isinstance(closing, Refused)
    assert 0 < closing[1] < seq_of(done, LeaseGranted, "W-1")


# Files.

NEED = {
    "type": "object",
    "required": ["id", "type", "title", "content", "links", "tags", "status"],
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z0-9_]{5,}$"},
        "type": {"type": "string"},
        "title": {"type": "string"},
        "content": {"type": "string"},
        "status": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "links": {"type": "array", "items": {"type": "string"}},
    },
}
NEEDS = {
    "type": "object",
    "required": ["current_version", "project", "versions", "created"],
    "properties": {
        "created": {"type": "string"},
        "current_version": {"type": "string"},
        "project": {"type": "string"},
        "versions": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["needs", "needs_amount"],
                "properties": {
                    "created": {"type": "string"},
                    "creator": {"type": "object"},
                    "needs_amount": {"type": "number"},
                    "needs_schema": {"type": "object"},
                    "needs": {"type": "object", "additionalProperties": NEED},
                },
            },
        },
    },
}
"""What readers of needs.json ask of it, as its documentation has it."""


def test_a_matrix_is_written_as_needs_json(done: World) -> None:
    made = needs_json(matrix(done), "Customers get their data", "2026-01-01T00:00:00Z", "exports")
    jsonschema_rs.validator_for(NEEDS).validate(json.loads(json.dumps(made)))
    version = made["versions"][made["current_version"]]
    needs = version["needs"]
    assert version["needs_amount"] == len(needs) == 14
    assert all(name == need["id"] for name, need in needs.items())
    assert {link for need in needs.values() for link in need["links"]} <= needs.keys()
    assert needs["REQ_1"]["links"] == ["GOAL_1"]
    assert needs["REQ_1"]["status"] == "deep"
    assert set(needs["ITEM_1"]["links"]) == {"NODE_1", "REQ_1", "VROW_1"}
    with pytest.raises(ValueError, match="cut"):
        needs_json(matrix(done, limit=1), "", "", "")


HOSTILE = "=HYPERLINK(\"x\")<script>alert('1')</script>\x1b[2J\u202e"


class Tags(HTMLParser):
    """Every tag of a page, and everything that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [name for name, _ in attrs if name in ("src", "href", "action", "onload")]


def test_what_plans_say_is_never_run_by_what_opens_a_file() -> None:
    world = World()
    apply(world, one(sound(1), requirement(0, statement=HOSTILE)))
    data = matrix(world)
    page = as_html(data)
    seen = Tags()
    seen.feed(page)
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "p", "table", "thead"}
    assert seen.tags <= allowed | {"tbody", "tr", "th", "td"}
    assert seen.loads == []
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    told = list(csv.DictReader(io.StringIO(as_csv(data))))
    assert list(told[0]) == list(HEADERS)
    assert told[0]["statement"].startswith("'=HYPERLINK")
    assert "\x1b" not in told[0]["statement"]
