"""Typed triage (INV-19): what each kind has to show, who may open it from where, and what settles it.

The table that these tests compare with is the explorer's own, written from the contract.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.core.effect_world import EffectWorld
from tests.core.triaging import LOG, SAMPLES, A, B, M, given_up, put
from tests.core.world import HUMAN, VERIFIER, World

from remit.core import commands as c
from remit.core import triage_records as t
from remit.core.change import changed
from remit.core.commands import Text
from remit.core.item_events import ItemTriaged
from remit.core.refusals import Code
from remit.core.status import Status
from remit.core.triage_kinds import Resolution
from remit.core.triage_kinds import TriageKind as K
from remit.core.triage_records import Evidence
from remit.core.triage_rules import RULES
from remit.core.triage_shapes import (
    MOST_LISTED,
    SHAPES,
    Field,
    faults,
    laid_out,
    notes,
    values_of,
)
from remit.proofs.triage_steps import BY_HUMANS, KINDS, OF_EFFECTS, fits

STAGES = ("draft", "held", "ready", "leased", "in-review", "approved", "shipped")
ALONG = {stage: n for n, stage in enumerate(STAGES)}
OPENED = [k for k in K if not RULES[k].core]
CORE = [k for k in K if RULES[k].core]


def opened(world: World, record: str) -> ItemTriaged:
    """The event that opened a record."""
    events = [r.event for r in world.events() if isinstance(r.event, ItemTriaged)]
    return next(event for event in events if event.record == record)


def shown(world: World, item: str, kind: str) -> dict[str, list[str]]:
    """The evidence of the newest record of an item, which is of this kind and whole."""
    event = opened(world, world.item(item).triage[-1])
    assert event.triage_kind == kind
    assert faults(K(kind), event.evidence, foreign=False) == []
    return values_of(event.evidence)


# Opening.


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", list(K))
def test_a_kind_is_opened_only_from_where_it_can_come_about(stage: str, kind: K) -> None:
    world = World()
    item = world.until(stage)
    before = world.state()
    if kind in CORE or stage not in {s.value for s in RULES[kind].origins}:
        world.no("dan", put(item, kind), Code.TRIAGE_KIND_REFUSED)
        assert world.state() == before
        return
    world.ok("dan", put(item, kind))
    assert world.triage_of(item) == (kind.value,)
    assert world.item(item).lease is None
    event = opened(world, world.item(item).triage[0])
    assert event.evidence == SAMPLES[kind].entries
    ways = {way.value for way in Resolution if fits(kind, way, stage, shipped=False)}
    assert {str(way) for way in event.resolutions} == ways


@pytest.mark.parametrize("kind", [k for k in OPENED if Status.LEASED in RULES[k].origins])
def test_a_holder_gives_up_with_the_evidence_of_the_kind_or_not_at_all(kind: K) -> None:
    world = World()
    item = world.until("leased")
    lease = world.item(item).lease
    assert lease is not None
    before = world.state()
    for field in SHAPES[kind].fields:
        rest = tuple(e for e in SAMPLES[kind].entries if not e.startswith(f"{field.name}:"))
        if not field.least or (kind, field.name) == (K.REFUSAL, "code"):
            continue
        refused = world.no(
            "bob", c.FailWork(item, lease.fence, kind, Text("no"), rest), Code.TRIAGE_EVIDENCE
        )
        assert field.name in refused.message
        world.no("dan", c.OpenTriage(item, kind, Text("no"), rest), Code.TRIAGE_EVIDENCE)
    assert world.state() == before
    world.ok("bob", given_up(item, lease.fence, kind))
    assert world.triage_of(item) == (kind.value,)


@pytest.mark.parametrize("kind", CORE)
def test_what_the_ledger_finds_itself_nobody_can_claim(kind: K) -> None:
    world = World()
    item = world.until("leased")
    lease = world.item(item).lease
    assert lease is not None
    before = world.state()
    world.no("bob", given_up(item, lease.fence, kind), Code.TRIAGE_KIND_REFUSED)
    world.no(HUMAN, put(item, kind), Code.TRIAGE_KIND_REFUSED)
    assert world.state() == before


WRONG = (
    "nothing",
    "shade:blue",
    "path:" + "p" * 1_001,
    "path: ",
    "main:abc",
    "main:" + "C" * 40,
    "log:none",
    "way:re base",
    "way:" + "w" * 81,
    "head:" + A,
    "more-path:many",
    "more-base:1",
)


@pytest.mark.parametrize("entry", WRONG)
def test_evidence_that_does_not_fit_is_refused_with_what_is_wrong(entry: str) -> None:
    world = World()
    item = world.until("approved")
    whole = SAMPLES[K.MERGE_CONFLICT].entries
    name = entry.partition(":")[0]
    entries = (*(e for e in whole if not e.startswith(f"{name}:")), entry)
    if name == "head":
        entries = (*whole, entry)
    before = world.state()
    refused = world.no(
        "dan", c.OpenTriage(item, "merge-conflict", Text("no"), entries), Code.TRIAGE_EVIDENCE
    )
    assert refused.details["faults"]
    assert world.state() == before


def test_lists_that_belong_together_have_the_same_length() -> None:
    secret = SAMPLES[K.SECRET_FOUND].entries
    assert faults(K.SECRET_FOUND, secret) == []
    assert faults(K.SECRET_FOUND, (*secret, "line:2")) == [
        "line is there 2 times, rule 1",
    ]
    assert faults(K.CONFLICTING_DECISIONS, ("decision:D-1",))
    many = tuple(f"path:{n}" for n in range(MOST_LISTED + 1))
    dirty = ("tree:clone", *many)
    assert faults(K.DIRTY_TREE, dirty) == ["path is there 51 times, at most 50"]
    assert faults(K.DIRTY_TREE, ("tree:clone", *many[1:])) == []


def test_a_command_cannot_stop_a_scope() -> None:
    """Once an agent could stop all leases of a ledger by what it wrote in its evidence."""
    world = World()
    item = world.until("leased")
    whole = SAMPLES[K.BUDGET_EXHAUSTED].entries
    lease = world.item(item).lease
    assert lease is not None
    for command in (
        c.FailWork(item, lease.fence, "budget-exhausted", Text("no"), (*whole, "stops:ledger")),
        c.OpenTriage(item, "budget-exhausted", Text("no"), (*whole, "stops:ledger")),
    ):
        world.no("bob", command, Code.TRIAGE_EVIDENCE)
    world.ok("bob", given_up(item, lease.fence, "budget-exhausted"))
    assert world.fact("spend", "ledger") is None


def test_a_refusal_without_a_code_says_that_it_is_one() -> None:
    world = World()
    lease = world.lease(world.create())
    world.ok("bob", c.FailWork(lease.item, lease.fence, reason=Text("not clear to me")))
    assert shown(world, lease.item, "refusal") == {"code": ["DECLINED"]}


# The constructors.


def test_every_kind_has_one_constructor_with_the_fields_of_its_shape() -> None:
    made: dict[K, str] = {}
    for name, function in inspect.getmembers(t, inspect.isfunction):
        if name.startswith("_") or inspect.signature(function).return_annotation != "Evidence":
            continue
        kind = next(k for k, sample in SAMPLES.items() if name in source_of(sample))
        fields = {field.name: field for field in SHAPES[kind].fields}
        given = inspect.signature(function).parameters
        assert {{"exit_status": "exit"}.get(n, n) for n in given} == set(fields)
        required = {n for n, p in given.items() if p.default is inspect.Parameter.empty}
        assert required == {n for n, field in fields.items() if field.least}, name
        assert all(p.kind is p.KEYWORD_ONLY for p in given.values())
        made[kind] = name
    assert set(made) == set(K)


def source_of(sample: Evidence) -> tuple[str, ...]:
    """The names that a kind's constructor may have."""
    plain = sample.kind.value.replace("-", "_")
    others = {K.TEST_FAILURE: "failed_rows", K.PROBE_FAILED: "probe_failed"}
    return (others.get(sample.kind, plain),)


def test_every_sample_is_sound_and_every_kind_has_one() -> None:
    assert set(SAMPLES) == set(K) == set(KINDS)
    for kind, sample in SAMPLES.items():
        assert faults(kind, sample.entries, foreign=False) == []
        missing = {f.name for f in SHAPES[kind].fields if f.least}
        assert missing == set(KINDS[kind][0].split())


def test_foreign_text_is_cut_and_lists_say_what_was_left_out() -> None:
    paths = [f"{n}\ud800\0" + "x" * 2_000 for n in range(70)]
    found = t.merge_conflict(base=B, head=A, main=M, path=paths)
    assert faults(found.kind, found.entries) == []
    [(field, values, more)] = [
        row for row in laid_out(found.kind, found.entries) if row[0].name == "path"
    ]
    assert isinstance(field, Field)
    assert (len(values), more) == (MOST_LISTED, 20)
    assert all(len(v) == 1_000 and "\0" not in v and v.endswith("…") for v in values)
    assert values[0].startswith("0\\ud800\\0xx")


def test_records_of_older_versions_are_shown_with_what_they_hold() -> None:
    old = ("L-1.1", "effect:E-1", "EFFECT_MISMATCH", "observation:OBS-2", "shade:blue")
    rows = laid_out(K.EFFECT_MISMATCH, old)
    assert [(f.name, v) for f, v, _ in rows] == [("effect", ["E-1"]), ("observation", ["OBS-2"])]
    assert notes(K.EFFECT_MISMATCH, old) == ["L-1.1", "EFFECT_MISMATCH", "shade:blue"]


# Settling.


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", OPENED)
def test_each_record_is_settled_by_what_it_allows_and_by_nothing_else(stage: str, kind: K) -> None:
    if stage not in {s.value for s in RULES[kind].origins}:
        return
    for how in Resolution:
        world = World()
        item, successor = world.until(stage), world.create()
        world.ok("dan", put(item, kind))
        record = world.item(item).triage[0]
        other = successor if how is Resolution.SUPERSEDE else ""
        before = world.state()
        command = c.ResolveTriage(record, how.value, "because", other)
        if not fits(kind, how, stage, shipped=stage == "shipped"):
            world.no(HUMAN, command, Code.RESOLUTION_REFUSED)
            assert world.state() == before
            continue
        world.no(HUMAN, changed(command, reason=" "), Code.BAD_INPUT)
        if how in BY_HUMANS.get(kind, ()):
            world.no("bob", command, Code.ACTOR_KIND_REFUSED)
        assert world.state() == before
        world.ok(HUMAN, command)
        now = world.status(item)
        if how in (Resolution.CANCEL, Resolution.FAIL, Resolution.SUPERSEDE):
            assert now == "closed"
            assert world.item(item).successor == other
        elif stage == "shipped":
            assert now == "shipped"
        elif how is Resolution.RETURN:
            assert now == stage
        else:
            assert now in ("draft", "held", "ready")
            assert ALONG[now] <= ALONG[stage]
        world.no(HUMAN, command, Code.RESOLUTION_REFUSED)


def test_a_secret_is_requeued_only_by_a_human_who_says_what_became_of_it() -> None:
    world = World()
    item = world.until("in-review")
    world.ok("dan", put(item, "secret-found"))
    record = world.item(item).triage[0]
    world.no(HUMAN, c.ResolveTriage(record, "requeue", "fine now"), Code.RESOLUTION_REFUSED)
    world.no("cat", c.ResolveTriage(record, "requeue-rotated", "so"), Code.ACTOR_KIND_REFUSED)
    world.ok(HUMAN, c.ResolveTriage(record, "requeue-removed", "it was a sample"))
    assert world.status(item) == "ready"


def test_an_agent_does_not_close_over_what_only_a_human_settles() -> None:
    world = World()
    world.ok(HUMAN, c.SetLimit("ledger", spend_micros=100))
    item, other = world.create(), world.create()
    lease = world.lease(item, spend_micros=10)
    world.ok("bob", c.ReportProgress(item, lease.fence, spent_micros=25))
    assert world.triage_of(item) == ("budget-exhausted",)
    before = world.state()
    world.no("bob", c.CloseItem(item, "cancelled", Text("x")), Code.ACTOR_KIND_REFUSED)
    assert world.state() == before
    world.no("bob", c.GrantLease(other, spend_micros=5), Code.BUDGET_EXHAUSTED)
    world.ok(HUMAN, c.CloseItem(item, "cancelled", Text("x")))
    world.lease(other, spend_micros=5)


# What the ledger opens by itself, each by its real flow.


def test_poison_says_how_many_attempts_there_were_and_which_lease_was_the_last() -> None:
    world = World()
    world.policy(attempts=2)
    item = world.create()
    last = ""
    for lease in (world.lease(item) for _ in range(2)):
        world.pass_us(lease.ttl_ms * 1_000)
        world.ok("remit-queue", c.ExpireLease(item))
        last = lease.id
    assert shown(world, item, "poison") == {"attempts": ["2"], "bound": ["2"], "lease": [last]}
    record = world.item(item).triage[0]
    world.no("cat", c.ResolveTriage(record, "requeue", "again"), Code.ACTOR_KIND_REFUSED)
    world.no(HUMAN, c.ResolveTriage(record, "return", "again"), Code.RESOLUTION_REFUSED)
    world.ok(HUMAN, c.ResolveTriage(record, "requeue", "it was the disk"))


def test_an_overrun_says_what_each_scope_may_spend_and_has_spent() -> None:
    world = World()
    world.ok(HUMAN, c.SetLimit("ledger", spend_micros=100))
    world.ok(HUMAN, c.SetLimit("class/delivery", spend_micros=50))
    lease = world.lease(world.create(), spend_micros=10)
    world.ok("bob", c.ReportProgress(lease.item, lease.fence, spent_micros=25))
    found = shown(world, lease.item, "budget-exhausted")
    assert dict(zip(found["scope"], found["limit"], strict=True)) == {
        "ledger": "100",
        "class/delivery": "50",
    }
    assert found["settled"] == ["25", "25"]
    assert found["reserved"] == ["0", "0"]
    assert (found["stops"], found["spent"]) == (found["scope"], ["25"])


def test_a_dead_end_names_what_it_waited_on_and_how_that_ended() -> None:
    world = World()
    target = world.create()
    item = world.create(depends_on=((target, "blocks"),))
    world.ok(HUMAN, c.CloseItem(target, "failed", Text("no")))
    found = shown(world, item, "trigger-impossible")
    assert found == {"dependency": [target], "outcome": ["failed"]}
    record = world.item(item).triage[0]
    world.no(HUMAN, c.ResolveTriage(record, "return", "so"), Code.RESOLUTION_REFUSED)


@pytest.mark.parametrize("stage", ["leased", "in-review", "approved"])
def test_a_cancellation_under_way_says_from_where(stage: str) -> None:
    world = World()
    item = world.until(stage)
    world.ok(HUMAN, c.CloseItem(item, "cancelled", Text("no more")))
    event = next(r.event for r in world.events() if isinstance(r.event, ItemTriaged))
    assert values_of(event.evidence) == {"state": ["NOT_STARTED"], "was": [stage]}


def test_a_cancelled_effect_is_named_and_stands_until_it_was_looked_up() -> None:
    world = EffectWorld()
    item, _ = world.started()
    world.ok(HUMAN, c.CancelWork(item))
    found = shown(world, item, "cancelled-in-flight")
    assert (found["effect"], found["state"], found["was"]) == (["E-1"], ["UNCERTAIN"], ["leased"])
    settled_by_none(world, item)


def test_an_effect_that_nothing_can_tell_of_is_named_with_why() -> None:
    world = EffectWorld(lookup=False)
    item, _ = world.lost()
    found = shown(world, item, "effect-uncertain")
    assert (found["effect"], found["why"]) == (["E-1"], ["NO_LOOKUP"])
    settled_by_none(world, item)
    looks = EffectWorld(in_flight_ms=None)
    item, _ = looks.lost()
    for _ in range(4):
        looks.look("NONE")
    found = shown(looks, item, "effect-uncertain")
    assert (found["looks"], found["why"]) == (["4"], ["NO_BOUND"])
    assert found["observation"] == [looks.effect().observation]


def test_a_mismatch_names_each_comparison_that_failed() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND", objects=2)
    found = shown(world, item, "effect-mismatch")
    assert found["why"] == ["MORE_THAN_ONE_OBJECT"]
    assert found["difference"] == ["one-current-object: found 2, required 1"]
    settled_by_none(world, item)


def settled_by_none(world: EffectWorld, item: str) -> None:
    """No resolution settles a record while nobody knows of its effect."""
    record = world.item(item).triage[0]
    assert world.fact("triage", record).kind in OF_EFFECTS  # type: ignore[union-attr]  # a record
    before = world.state()
    for how in KINDS[world.triage_of(item)[0]][1]:
        other = item if how == "supersede" else ""
        command = c.ResolveTriage(record, how, "so", other)
        world.no(HUMAN, command, Code.EFFECT_UNRECONCILED)
        if how in BY_HUMANS[world.triage_of(item)[0]]:
            world.no("bob", command, Code.ACTOR_KIND_REFUSED)
    assert world.state() == before


def test_verification_opens_its_records_with_the_rows_that_say_so() -> None:
    """They rest on the very event that holds the findings."""
    world = World()
    item = world.until("shipped")
    world.ok(VERIFIER, world.findings(item, "ship-verify-gap"))
    assert world.triage_of(item) == ("verifier-gap",)
    record = world.item(item).triage[0]
    for how in set(Resolution) - {Resolution.REVERIFY, Resolution.SUPERSEDE}:
        world.no(HUMAN, c.ResolveTriage(record, how, "so"), Code.RESOLUTION_REFUSED)
    world.ok("cat", c.ResolveTriage(record, "reverify", "the disk was full"))


def test_no_evidence_of_a_secret_can_hold_one() -> None:
    """Rule, path and line are all that a record of a secret has room for."""
    names = {field.name for field in SHAPES[K.SECRET_FOUND].fields}
    assert names == {"rule", "path", "line", "attempt", "commit"}
    said: Any = SAMPLES[K.SECRET_FOUND].entries
    assert faults(K.SECRET_FOUND, (*said, f"said:{LOG}")) == ["said is not a field of it"]
