"""A bucket: the store's own words on what is there, and no absence that nobody saw (INV-13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.destinations.processes import Process, Way
from tests.destinations.subjects import SECRET_KEY, Bucket

from remit.ports.destination import Answered, LookUp, NoAnswer, NotSent, Reason, Request, Result

REQUEST = Request("E-1", "key-1", 7, b"one\n", "export", "M-1", timeout_ms=5_000)
LOOK = LookUp("E-1", "key-1", "export", "M-1", timeout_ms=5_000)


def test_what_the_store_says_of_an_object(bucket: Bucket) -> None:
    archive = bucket.destination()
    assert not archive.send(REQUEST).replayed
    seen = archive.look_up(LOOK)
    assert (seen.result, seen.objects, seen.differences) == (Result.FOUND, 1, ())
    assert seen.value("digest") == REQUEST.digest
    assert (seen.value("effect_id"), seen.value("manifest_id")) == ("E-1", "M-1")
    assert archive.send(replace(REQUEST, fence=8)).replayed
    assert bucket.versions("E-1") == 1


def test_a_second_version_put_without_the_condition_is_counted(bucket: Bucket) -> None:
    archive = bucket.destination()
    archive.send(REQUEST)
    bucket.client.put_object(Bucket=bucket.name, Key="exports/E-1", Body=b"two\n")
    bucket.client.put_object(Bucket=bucket.name, Key="exports/E-10", Body=b"another's\n")
    seen = archive.look_up(LOOK)
    assert (seen.result, seen.objects) == (Result.FOUND, 2)
    assert seen.value("digest") == replace(REQUEST, payload=b"two\n").digest
    with pytest.raises(Answered) as refused:
        archive.send(REQUEST)
    assert refused.value.reason is Reason.KEY_REUSED


def test_content_without_a_checksum_is_read_and_compared_with_what_was_noted(
    s3_server: Process, way: Way
) -> None:
    bucket = Bucket(s3_server.url, way, versions=False)
    archive = bucket.destination(versions=False)
    bucket.client.put_object(
        Bucket=bucket.name,
        Key="exports/E-1",
        Body=b"changed\n",
        ChecksumAlgorithm="CRC32",
        Metadata={"remit-digest": REQUEST.digest, "remit-key": "key-1", "remit-effect-id": "E-1"},
    )
    seen = archive.look_up(LOOK)
    assert seen.value("digest") == replace(REQUEST, payload=b"changed\n").digest
    assert len(seen.differences) == 1


def test_a_deleted_object_is_none(bucket: Bucket) -> None:
    archive = bucket.destination()
    archive.send(REQUEST)
    bucket.client.delete_object(Bucket=bucket.name, Key="exports/E-1")
    assert archive.look_up(LOOK).result is Result.NONE


def test_a_bucket_that_is_not_there_is_unavailable(bucket: Bucket) -> None:
    archive = bucket.destination(bucket="no-such-bucket-at-all", versions=False)
    seen = archive.look_up(LOOK)
    assert seen.result is Result.UNAVAILABLE
    with pytest.raises(Answered) as refused:
        archive.send(REQUEST)
    assert refused.value.reason is Reason.REJECTED


def test_nobody_listens(bucket: Bucket) -> None:
    bucket.way.stop()
    archive = bucket.destination()
    with pytest.raises(NotSent):
        archive.send(REQUEST)
    assert archive.look_up(LOOK).result is Result.UNAVAILABLE


def test_one_send_is_one_request(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_RETRY_MODE", "standard")
    archive = bucket.destination()
    with bucket.way.losing():
        with pytest.raises(NoAnswer):
            archive.send(replace(REQUEST, timeout_ms=1_000))
        assert bucket.way.connections == 1
    assert bucket.versions("E-1") == 1
    assert archive.look_up(LOOK).result is Result.FOUND


@pytest.mark.parametrize("change", [{"effect_id": "../x"}, {"effect_id": "a/b"}, {"effect_id": ""}])
def test_an_id_that_is_no_part_of_a_key(bucket: Bucket, change: dict[str, Any]) -> None:
    with pytest.raises(NotSent):
        bucket.destination().send(replace(REQUEST, **change))


def test_a_request_that_has_ended_does_not_leave(bucket: Bucket) -> None:
    with pytest.raises(NotSent):
        bucket.destination().send(replace(REQUEST, expires_at=1))
    assert bucket.way.connections == 0


def test_a_manifest_that_no_header_takes_is_not_sent(bucket: Bucket) -> None:
    with pytest.raises(NotSent):
        bucket.destination().send(replace(REQUEST, manifest_id="é\n"))
    assert bucket.versions("E-1") == 0


def test_a_compensation_is_not_sent(bucket: Bucket) -> None:
    with pytest.raises(NotSent):
        bucket.destination().send(replace(REQUEST, compensates="key-0"))


def test_no_key_is_shown(bucket: Bucket) -> None:
    archive = bucket.destination()
    assert SECRET_KEY not in repr(archive)
    assert SECRET_KEY not in str(bucket.document())
