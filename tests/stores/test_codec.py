"""Canonical bytes: equal to RFC 8785, exact both ways, and refused where there are none."""

from __future__ import annotations

import dataclasses
import json
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.builders import item
from tests.stores.shapes import INTEGERS, TEXT, instances

from remit.core.checks import Check, Result
from remit.core.events import (
    EVENTS,
    Event,
    KillSwitchEngaged,
    LedgerCreated,
    Recorded,
    RowRegistered,
)
from remit.core.facts import Lease, Policy
from remit.core.item_events import DependenciesSet, ItemAdmitted, LeaseGranted, LeaseRenewed
from remit.ports import LedgerCorrupt, StoredEvent
from remit.stores import codec
from remit.stores.shapes import Shape, wire_name

EVENT = st.sampled_from(sorted(EVENTS)).flatmap(lambda name: instances(EVENTS[name]))


def plain(value: Any) -> Any:
    """An event as the JSON value that it stands for, made without the codec."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {
            wire_name(f.name): plain(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
        phase = getattr(value, "PHASE", "")
        return {**found, "phase": phase} if phase else found
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.value if isinstance(value, StrEnum) else value


@settings(max_examples=400)
@given(EVENT)
def test_payloads_are_rfc_8785_and_read_back_equal(event: Event) -> None:
    payload = codec.encode_event(event)
    assert payload == rfc8785.dumps(plain(event))
    assert codec.is_canonical(payload)
    again = codec.decode_event(type(event).__name__, payload)
    assert again == event
    assert type(again) is type(event)
    assert codec.encode_event(again) == payload


def test_every_registered_event_has_a_shape() -> None:
    assert len(EVENTS) > 40
    for cls in EVENTS.values():
        assert Shape(cls, cls.PHASE).mirror.__struct_fields__ is not None


def test_names_are_camel_case_and_phases_are_written() -> None:
    lease = Lease("L-1.1", "W-1", 1, "bob", 5, 60_000, 60_005, 3)
    check = Check("capacity", Result.PASS)
    event = LeaseGranted("T03", "ready", "leased", lease, 1, 2, (check,))
    assert json.loads(codec.encode_event(event)) == {
        "checks": [
            {"check": "capacity", "evidence": "", "observed": "", "reason": "", "required": "",
             "result": "PASS"}
        ],
        "counted": 1,
        "from": "ready",
        "lease": {
            "acquiredAt": 5, "actor": "bob", "attempt": 1, "expiresAt": 60_005, "fence": 3,
            "id": "L-1.1", "item": "W-1", "spendMicros": 0, "ttlMs": 60_000,
        },
        "phase": "lease",
        "policyRevision": 2,
        "to": "leased",
        "transitionId": "T03",
    }  # fmt: skip
    assert codec.decode_event("LeaseGranted", codec.encode_event(event)) == event
    assert b"phase" not in codec.encode_event(KillSwitchEngaged("x"))


@pytest.mark.parametrize(
    "event",
    [
        LedgerCreated("L", 1.0),  # type: ignore[arg-type]  # what must be refused
        LedgerCreated("L", 1.5),  # type: ignore[arg-type]  # what must be refused
        LedgerCreated("L", True),
        LedgerCreated("L", 1 << 53),
        LedgerCreated("L", -(1 << 53)),
        LedgerCreated("L", 1 << 70),
        LedgerCreated("L", "1"),  # type: ignore[arg-type]  # what must be refused
        LedgerCreated("\ud800", 1),
        LedgerCreated(None, 1),  # type: ignore[arg-type]  # what must be refused
        LedgerCreated(b"x", 1),  # type: ignore[arg-type]  # bytes would become base64 text
        LeaseRenewed(None),  # type: ignore[arg-type]  # what must be refused
        LeaseRenewed(Lease("", "", 1 << 53, "", 1, 1, 1, 1)),
        DependenciesSet((("a", "b", "c"),)),  # type: ignore[arg-type]  # one short
        ItemAdmitted("", "", "", "", "", 1, 1, [Check("x", Result.PASS)]),  # type: ignore[arg-type]  # no fixed value
        ItemAdmitted("", "", "", "", "", 1, 1, (Check("x", "MAYBE"),)),  # type: ignore[arg-type]  # not a result
        RowRegistered("", "", "", "", ["a"], "", 0, "", "", (), (), "", 0, 0, "", "", "", "", True),  # type: ignore[arg-type]  # no fixed value
    ],
    ids=repr,
)  # fmt: skip
def test_what_has_no_canonical_form_is_refused(event: Event) -> None:
    with pytest.raises(codec.NotCanonicalError, match="cannot encode") as caught:
        codec.encode_event(event)
    assert caught.value.code == "BAD_INPUT"
    assert "nothing was written" in caught.value.hint


@pytest.mark.parametrize(
    "unsound",
    [
        Check("x", Result.PASS, 1),  # type: ignore[arg-type]  # what must be refused
        Check("x", "MAYBE"),  # type: ignore[arg-type]  # what must be refused
        Check("x", Result.PASS, "\ud800"),
        Lease("", "", 1, "", 1, 1, 1, 1),
    ],
    ids=["a figure", "not a result", "no text", "no check"],
)
def test_a_check_is_refused_each_time_beside_those_that_were_found_good(unsound: Any) -> None:
    good = Check("spend", Result.NOT_TESTED)
    for _ in range(2):
        codec.encode_event(ItemAdmitted("", "", "", "", "", 1, 1, (good, good)))
        with pytest.raises(codec.NotCanonicalError):
            codec.encode_event(ItemAdmitted("", "", "", "", "", 1, 1, (good, unsound)))


def test_many_different_checks_each_keep_their_own_bytes() -> None:
    for number in range(2 * codec.MOST_GOOD):
        event = ItemAdmitted("", "", "", "", "", 1, 1, (Check("x", Result.PASS, f"{number}"),))
        payload = codec.encode_event(event)
        assert payload == rfc8785.dumps(plain(event))
        assert codec.decode_event("ItemAdmitted", payload) == event
    assert len(codec._GOOD) <= codec.MOST_GOOD  # what is remembered is bounded


class Shout(str):
    __slots__ = ()


@pytest.mark.parametrize("odd", [None, True, 0, 1, 2.5, b"x", "x", "\ud800", Shout("x"), Result.PASS,
                                 "PASS", ("x",), ["x"], Check("x", Result.PASS)], ids=repr)  # fmt: skip
def test_a_check_is_taken_exactly_where_its_bytes_read_back_as_the_same_value(odd: Any) -> None:
    """Texts that are nothing but texts are not read back; what is said of them must be the same."""
    mirror = Shape(Check).mirror
    for place in range(6):
        cells: list[Any] = ["a", Result.PASS, "b", "c", "d", "e"]
        cells[place] = odd
        shape = [cells[i] for i in (0, 4, 2, 5, 3, 1)]  # as they are stored
        try:
            same = msgspec.json.decode(msgspec.json.encode(mirror(*shape)), type=mirror) == mirror(
                *shape
            )
        except (msgspec.MsgspecError, TypeError, ValueError):
            same = False
        event = ItemAdmitted("", "", "", "", "", 1, 1, (Check(*cells),))
        if same:
            assert codec.decode_event("ItemAdmitted", codec.encode_event(event)) == event
        else:
            with pytest.raises(codec.NotCanonicalError):
                codec.encode_event(event)


def test_a_class_outside_the_registry_is_refused() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Invented(Event):
        text: str

    with pytest.raises(codec.NotCanonicalError, match="outside the registry"):
        codec.encode_event(Invented("x"))


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("LedgerCreated", b'{"format":1}'),
        ("LedgerCreated", b'{"format":1,"ledgerId":"x","more":1}'),
        ("LedgerCreated", b'{"format":1.0,"ledgerId":"x"}'),
        ("LedgerCreated", b'{"format":9007199254740992,"ledgerId":"x"}'),
        ("LedgerCreated", b"{"),
        ("LedgerCreated", b"\xff"),
        ("LeaseRenewed", b'{"lease":{},"phase":"lease"}'),
        ("KillSwitchEngaged", b'{"reason":"x","phase":"lease"}'),
        ("NeverHeardOf", b"{}"),
    ],
)
def test_what_does_not_decode_names_seq_and_type(kind: str, payload: bytes) -> None:
    with pytest.raises(LedgerCorrupt, match=r"event 17\b") as caught:
        codec.decode_event(kind, payload, 17)
    assert caught.value.details == {"seq": 17, "type": kind}
    assert kind in caught.value.message


def test_a_phase_other_than_the_declared_one_does_not_decode() -> None:
    lease = Lease("L", "W", 1, "b", 1, 1, 1, 1)
    payload = codec.encode_event(LeaseRenewed(lease))
    with pytest.raises(LedgerCorrupt):
        codec.decode_event("LeaseRenewed", payload.replace(b'"lease"}', b'"other"}'), 1)


def test_an_upcaster_reads_what_an_older_version_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps: an invented first type, an invented second one, and today's."""

    def first(old: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "StoppedV2", {"why": old["text"]}

    def second(old: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "KillSwitchEngaged", {"reason": old["why"].upper()}

    monkeypatch.setitem(codec.UPCASTERS, "Stopped", first)
    monkeypatch.setitem(codec.UPCASTERS, "StoppedV2", second)
    assert codec.decode_event("Stopped", b'{"text":"fire"}', 3) == KillSwitchEngaged("FIRE")
    with pytest.raises(LedgerCorrupt, match="event 3"):
        codec.decode_event("Stopped", b"[", 3)


@given(
    st.fixed_dictionaries(
        {
            "seq": st.integers(1, (1 << 53) - 1),
            "version": st.integers(1, (1 << 53) - 1),
            "at": st.integers(0, (1 << 53) - 1),
            "stream": TEXT,
            "actor": TEXT,
            "assurance": st.sampled_from(["asserted", "signature+presence"]),
            "event": EVENT,
            "command_id": TEXT,
            "command_digest": st.sampled_from([b"", b"\x01" * 32]),
            "conversation_ref": TEXT,
            "trace_context": TEXT,
        }
    ),
    TEXT,
)
def test_a_digest_covers_every_column_as_rfc_8785(values: dict[str, Any], ledger_id: str) -> None:
    recorded = Recorded(**values)
    stored = StoredEvent(*codec.columns_of(ledger_id, recorded))
    columns = dataclasses.asdict(stored)
    digest = columns.pop("digest")
    columns["payload"] = json.loads(stored.payload)
    columns["command_digest"] = stored.command_digest.hex() if stored.command_digest else None
    assert digest == sha256(rfc8785.dumps(columns)).digest() == codec.digest_of(stored)
    assert codec.recorded(stored) == recorded == codec.recorded_of(dataclasses.astuple(stored))


def test_a_digest_depends_on_every_column() -> None:
    base = Recorded(5, "W-1", 2, "bob", "token", 9, KillSwitchEngaged("x"), "c", b"d", "v", "t")
    stored = StoredEvent(*codec.columns_of("ledger-1", base))
    others: dict[str, Any] = {
        field.name: {"int": 77, "str": "other", "bytes": b'{"other":1}'}[
            str(field.type).split(" |")[0]
        ]
        for field in dataclasses.fields(StoredEvent)
        if field.name != "digest"
    }
    assert len(others) == 13
    digests = {codec.digest_of(dataclasses.replace(stored, **{k: v})) for k, v in others.items()}
    digests |= {
        codec.digest_of(changed)
        for changed in (
            dataclasses.replace(stored, command_id=None),
            dataclasses.replace(stored, command_digest=None),
            dataclasses.replace(stored, trace_context=None),
            dataclasses.replace(stored, conversation_ref=None),
        )
    }
    assert len(digests | {stored.digest}) == 18


@pytest.mark.parametrize("field", ["seq", "version", "at"])
@pytest.mark.parametrize("value", [-1, 1 << 53])
def test_numbers_beyond_json_are_refused(field: str, value: int) -> None:
    numbers = {"seq": 1, "version": 1, "at": 1, field: value}
    event = Recorded(
        numbers["seq"], "W-1", numbers["version"], "bob", "asserted", numbers["at"],
        KillSwitchEngaged("x"),
    )  # fmt: skip
    with pytest.raises(codec.NotCanonicalError):
        codec.columns_of("ledger-1", event)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"b":1,"a":1}',
        b'{"a": 1}',
        b'{"a":1,"a":1}',
        b'{"a":"\\u0041"}',
        b"{",
        b"\xff",
        b'{"a":1} ',
    ],
)
def test_bytes_that_are_not_canonical_are_seen(payload: bytes) -> None:
    assert not codec.is_canonical(payload)
    assert codec.is_canonical(b'{"a":1,"b":[true,null,"x"]}')


@given(INTEGERS, TEXT)
def test_facts_come_back_equal(number: int, text: str) -> None:
    fact = item(7, title=text, priority=number, holders=(text,))
    body = codec.encode_fact(fact)
    assert codec.decode_fact("item", body) == fact
    assert list(json.loads(body)) == sorted(json.loads(body))
    assert codec.decode_fact("counter", codec.encode_fact(number)) == number


def test_facts_that_do_not_decode_say_so() -> None:
    for kind, body in (
        ("item", b"{}"),
        ("counter", b'"x"'),
        ("nothing", b"1"),
        ("ledger", b"\xff"),
    ):
        with pytest.raises(LedgerCorrupt, match=kind):
            codec.decode_fact(kind, body)
    with pytest.raises(codec.NotCanonicalError):
        codec.encode_fact(item(1, title="\ud800"))
    assert codec.encode_fact(3) == b"3"
    assert Policy().revision == 1
