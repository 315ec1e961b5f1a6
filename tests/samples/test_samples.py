"""The event format is frozen: what was stored once decodes to the same value and the same bytes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from tests.samples import make

from remit.core.events import EVENTS
from remit.ports import StoredEvent
from remit.stores.codec import columns_of, decode_event, digest_of, encode_event, is_canonical

SAMPLES = make.read()


def test_every_registered_event_has_a_sample() -> None:
    assert sorted(EVENTS) == sorted(n for n in SAMPLES if n in EVENTS)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_decodes_to_its_value_and_encodes_to_its_bytes(name: str) -> None:
    payload = SAMPLES[name]["payload"].encode()
    event = decode_event(name, payload)
    assert is_canonical(payload)
    if name in EVENTS:
        assert event == make.instance(EVENTS[name])
        assert encode_event(event) == payload


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_keeps_its_digest(name: str) -> None:
    stored = StoredEvent(*columns_of(make.LEDGER, make.recorded(name)))
    sample = dataclasses.replace(stored, payload=SAMPLES[name]["payload"].encode())
    assert digest_of(sample).hex() == SAMPLES[name]["digest"]


def test_a_frozen_sample_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.jsonl"
    monkeypatch.setattr(make, "SAMPLES", path)
    assert make.main([]) == 0
    written = path.read_text("utf-8")
    assert make.main([]) == 0
    other = json.loads(make.line("LedgerCreated"))
    other["digest"] = "00" * 32
    path.write_text(written.replace(make.line("LedgerCreated"), json.dumps(other)), "utf-8")
    assert make.main([]) == 1
    assert "LedgerCreated" in capsys.readouterr().err
    assert "00" * 32 in path.read_text("utf-8")
    assert make.main(["--force"]) == 0
    assert path.read_text("utf-8") == written
