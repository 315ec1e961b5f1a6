"""Whatever is put into a command, the answer is typed, and a refusal changes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ground.ledgers import (
    HUMAN,
    done,
    each_event,
    faults_of,
    head,
    made,
    ready_item,
    refused,
    row,
)

from remit.core import commands as c
from remit.core.facts import ActorKind
from remit.core.item_events import LateReportRecorded
from remit.core.refusals import Code, Refused
from remit.ports import RemitError
from remit.service.engine import Done
from remit.service.operations import Caller, Operations, lease_of
from remit.wiring import Ledger

WRITTEN_BY_REMIT = (c.CreateLedger, c.AdoptEpoch, c.ExpireLease, c.RecordClockJump, c.Settle)
COMMANDS = sorted(
    (
        cls
        for cls in vars(c).values()
        if isinstance(cls, type)
        and issubclass(cls, c.Command)
        and cls is not c.Command
        and cls not in WRITTEN_BY_REMIT
    ),
    key=lambda cls: cls.__name__,
)
NASTY = (
    "", " ", "\0", "a\0b", "\ud800", "W-1", "W-1\n", "../../etc", "'; DROP TABLE events; --", "%s",
    "a/b", "?x", "x|y", "\u202e", "\x1b[2J", "é" * 300, "x" * 6_000, "W-99999999999999999999",
    "-1", "default", "blocks", "cancelled", "ada", "bob", "T-1", "G-1", "R-1", "V-1", "I-1", "a" * 40,
)  # fmt: skip
TEXTS = st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=()), max_size=40)
NUMBERS = st.sampled_from((0, 1, -1, 2, 5, 2**31, 2**53, 2**63, -(2**63), 2**200)) | st.integers()
WRONG = st.sampled_from(
    (
        None,
        1.5,
        float("nan"),
        b"x",
        [],
        ["x"],
        {},
        {"x": 1},
        object(),
        True,
        (),
        ("x",),
        "x",
        1,
        int,
    )
)
TUPLES = st.lists(TEXTS, max_size=3).map(tuple) | st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(
    tuple
)


def _values(field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    kind = str(field.type)
    if kind.startswith("str"):
        right: st.SearchStrategy[Any] = TEXTS
    elif kind.startswith("int"):
        right = NUMBERS
    elif kind == "bool":
        right = st.booleans()
    elif kind == "Text":
        right = st.builds(c.Text, TEXTS)
    elif "RowSpec" in kind:
        right = st.sampled_from(((), (row(),), (row("\0"),), (row(*["x"] * 2_000),)))
    else:
        right = TUPLES
    return st.one_of(right, right, right, WRONG)


@st.composite
def commands(draw: st.DrawFn) -> c.Command:
    cls = draw(st.sampled_from(COMMANDS))
    return cls(**{f.name: draw(_values(f)) for f in dataclasses.fields(cls)})


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger of which each test knows who and what is on it."""
    yield from _ledger(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def anything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger on which commands are drawn by chance: one may revoke whom others act as."""
    yield from _ledger(tmp_path_factory.mktemp("anything"))


def _ledger(folder: Path) -> Iterator[Ledger]:
    made_one = made(folder)
    for _ in range(3):
        ready_item(made_one)
    done(made_one.acting("bob").lease(c.GrantLease("W-1")))
    yield made_one
    assert faults_of(made_one) == []
    made_one.close()


def _typed(ledger: Ledger, operations: Operations, command: Any, command_id: Any) -> None:
    before = head(ledger)
    try:
        answer = operations.run(command, command_id=command_id)
    except (TypeError, RemitError):
        assert head(ledger) == before
        return
    assert isinstance(answer, Done | Refused)
    if isinstance(answer, Refused):
        refused(answer)
        beside: list[Any] = []
        each_event(ledger, beside.append, before)
        noticed = ("remit-queue", "remit-admission")  # leases that ran out meanwhile
        assert all(isinstance(r.event, LateReportRecorded) or r.actor in noticed for r in beside)
    else:
        assert head(ledger) - before <= len(answer.events)
        if isinstance(command, c.EngageKillSwitch):
            ledger.acting(HUMAN).release_kill_switch()


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(command=commands(), actor=st.sampled_from((HUMAN, "bob", "cyd")))
def test_any_command_gets_a_typed_answer(anything: Ledger, command: c.Command, actor: str) -> None:
    _typed(anything, anything.acting(actor), command, "")


@pytest.mark.torture
@pytest.mark.timeout(900)
@settings(max_examples=30_000, suppress_health_check=list(HealthCheck))
@given(command=commands(), actor=st.sampled_from((HUMAN, "bob", "cyd")))
def test_any_of_very_many_commands_gets_a_typed_answer(
    anything: Ledger, command: c.Command, actor: str
) -> None:
    _typed(anything, anything.acting(actor), command, "")


@settings(max_examples=150)
@given(
    name=TEXTS | WRONG, which=st.sampled_from(("actor", "conversation_ref", "trace_context", "id"))
)
def test_names_beside_a_command_are_looked_at_too(ledger: Ledger, name: Any, which: str) -> None:
    caller = Caller(HUMAN) if which == "id" else Caller(**{"actor": HUMAN, which: name})
    operations = Operations(ledger.store, caller)
    _typed(ledger, operations, c.AddNote("W-2", c.Text("x")), name if which == "id" else "")


WRONG_FIELDS: list[tuple[c.Command, str]] = [
    (c.CreateItem("x", priority=2.0), "priority"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", priority=True), "priority"),
    (c.CreateItem(None), "title"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", scope=["**"]), "scope"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", scope="**"), "scope"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", depends_on=("W-1",)), "depends_on[0]"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", rows=(None,)), "rows[0]"),  # type: ignore[arg-type]  # the fault
    (c.GrantLease("W-2", ttl_ms=2**60), "ttl_ms"),
    (c.GrantLease("W-2", ttl_ms=5e3), "ttl_ms"),  # type: ignore[arg-type]  # the fault
    (c.AddNote("W-2", "text"), "text"),  # type: ignore[arg-type]  # the fault
    (c.AddNote("W-2", c.Text(b"x")), "text.inline"),  # type: ignore[arg-type]  # the fault
    (c.CreateItem("x", text_ref="a" * 64), "text_ref"),
    (c.AddNote("W-2", c.Text(ref="a" * 64)), "text.ref"),
    (c.RedactBlob("A" * 64, "why"), "digest"),
    (c.RedactBlob("x", "why"), "digest"),
    (c.ReleaseLease("W-1", None), "fence"),  # type: ignore[arg-type]  # the fault
]


@pytest.mark.parametrize(("command", "field"), WRONG_FIELDS, ids=lambda v: str(v)[:50])
def test_a_wrong_type_is_named_with_its_field(
    ledger: Ledger, command: c.Command, field: str
) -> None:
    before = head(ledger)
    answer = refused(ledger.acting(HUMAN).run(command), Code.BAD_INPUT)
    assert f"{field} is " in answer.message
    assert head(ledger) == before


@pytest.mark.parametrize("command", ["x", None, 1, ["x"], [None], c.Command])
def test_what_is_no_command_raises_before_any_write(ledger: Ledger, command: Any) -> None:
    before = head(ledger)
    with pytest.raises(TypeError):
        ledger.acting(HUMAN).run(command)
    assert head(ledger) == before


@pytest.mark.parametrize("ttl_ms", [-1, 1, 999, 8 * 3_600_000 + 1, 2**52])
def test_a_lease_that_is_too_short_or_too_long_is_refused(ledger: Ledger, ttl_ms: int) -> None:
    before = head(ledger)
    refused(ledger.acting("bob").lease(c.GrantLease("", ttl_ms)), Code.BAD_INPUT)
    assert head(ledger) == before


@pytest.mark.parametrize("fence", [-1, 0, 2**52])
def test_a_fence_that_nobody_holds_is_refused(tmp_path: Path, fence: int) -> None:
    ledger = made(tmp_path)
    item = ready_item(ledger)
    held = lease_of(done(ledger.acting("bob").lease(c.GrantLease(item)))).fence
    before = head(ledger)
    for command in (
        c.ReleaseLease(item, fence), c.RenewLease(item, fence), c.ReportProgress(item, fence),
        c.FailWork(item, fence), c.ReportCompletion(item, fence, "a" * 40, "b" * 40),
    ):  # fmt: skip
        refused(ledger.acting("cyd").run(command), Code.STALE_FENCE)
    assert head(ledger) == before
    refused(ledger.acting("cyd").run(c.ReleaseLease(item, held)), Code.LEASE_OF_ANOTHER)
    assert head(ledger) == before
    ledger.close()


def test_one_bad_element_stops_no_other_and_atomic_stops_all(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    mixed = [
        c.CreateItem("one"),
        c.CreateItem("\0"),
        c.CreateItem("", priority=9),
        c.CreateItem("two"),
    ]
    first = ledger.acting(HUMAN).create(mixed)
    assert [isinstance(answer, Done) for answer in first] == [True, False, False, True]
    before = head(ledger)
    answers = ledger.acting(HUMAN).create(mixed, atomic=True)
    codes = [refused(answer).code for answer in answers]
    assert codes[0] == codes[3] == Code.ATOMIC_ABORTED
    assert codes[1] == Code.BAD_INPUT
    assert head(ledger) == before
    ledger.close()


@pytest.mark.parametrize(
    "command",
    [
        c.RevokeActor("a\nb"), c.EnrolActor("a\x1b[2Jb", "agent"), c.AddNote("W-1\r\n", c.Text("x")),
        c.RemoveDependency("W-2", "a\nb"), c.AcceptRule("a\u2028b"), c.ResolveTriage("T\n1", "requeue"),
    ],
    ids=lambda command: type(command).__name__,
)  # fmt: skip
def test_a_refusal_that_quotes_a_line_end_stays_on_one_line(
    ledger: Ledger, command: c.Command
) -> None:
    for actor in (HUMAN, "bob"):
        answer = refused(ledger.acting(actor).run(command))
        assert answer.message.isprintable()
        assert answer.hint.isprintable()


def test_a_member_of_a_closed_enum_is_text(ledger: Ledger) -> None:
    answer = ledger.acting(HUMAN).enrol(c.EnrolActor("helper", ActorKind.AGENT))
    assert isinstance(answer, Done)
    with ledger.reading() as tx:
        assert tx.load([("actor", "helper")])["actor", "helper"].kind is ActorKind.AGENT  # type: ignore[union-attr]  # an actor
