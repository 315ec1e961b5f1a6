"""An HTTP service: each way to answer, or not, means one thing and never more (INV-13)."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.destinations.processes import Service
from tests.destinations.subjects import SECRET, http_destination, http_document

from remit.ports.destination import (
    Answered,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    SendError,
)
from remit.wiring import destination

TOKEN = {"EXPORTS_TOKEN": f"Bearer {SECRET}"}
NEW_CERTIFICATE = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
]
_numbers = iter(range(1, 1_000_000))


def asked(timeout_ms: int = 5_000) -> tuple[Request, LookUp]:
    number = f"{next(_numbers)}-{time.monotonic_ns()}"
    key = f"key-{number}"
    request = Request(f"E-{number}", key, 7, b"one\n", "export", "M-1", timeout_ms=timeout_ms)
    return request, LookUp(request.effect_id, key, "export", "M-1", timeout_ms=timeout_ms)


def outcome(url: str, request: Request) -> Response | SendError:
    try:
        return http_destination(url).send(request)
    except SendError as error:
        return error


@pytest.mark.parametrize(
    ("status", "reason", "uncertain"),
    [
        (400, Reason.REJECTED, False),
        (401, Reason.REJECTED, False),
        (404, Reason.REJECTED, False),
        (408, Reason.EXPIRED, False),
        (409, Reason.KEY_REUSED, False),
        (410, Reason.EXPIRED, False),
        (412, Reason.STALE_FENCE, False),
        (422, Reason.KEY_REUSED, False),
        (500, Reason.FAILED, True),
        (502, Reason.FAILED, True),
        (503, Reason.FAILED, True),
        (504, Reason.FAILED, True),
        (304, Reason.FAILED, True),
    ],
)
def test_what_a_status_means(
    service: Service, status: int, reason: Reason, uncertain: bool
) -> None:
    service.control(status=status)
    error = outcome(service.url, asked()[0])
    assert isinstance(error, Answered)
    assert (error.reason, error.uncertain) == (reason, uncertain)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 504])
def test_a_record_that_answers_with_an_error_is_unavailable(service: Service, status: int) -> None:
    service.control(out=str(status))
    seen = http_destination(service.url).look_up(asked()[1])
    assert (seen.result, seen.reason) == (Result.UNAVAILABLE, f"HTTP {status}")


def test_a_request_that_was_lost_or_answered_by_nobody_is_uncertain(service: Service) -> None:
    for fault, objects in ({"lose_requests": 1}, 0), ({"lose_answers": 1}, 1):
        service.control(**fault)
        request, look_up = asked()
        error = outcome(service.url, request)
        assert isinstance(error, NoAnswer), fault
        assert error.uncertain
        assert service.objects(request.key) == objects
        seen = http_destination(service.url).look_up(look_up)
        assert seen.result is (Result.FOUND if objects else Result.NONE)


def test_one_send_is_one_request_whatever_happens(service: Service) -> None:
    for fault in ({"lose_requests": 9}, {"out": "503"}, {"out": "closed"}, {"status": 429}):
        service.control(reset=True, **fault)
        request, _ = asked()
        assert not isinstance(outcome(service.url, request), Response)
        assert len(service.log(request.key)) == 1, fault


def test_nothing_left_where_nobody_listens() -> None:
    with socket.socket() as kept:  # bound, so that nobody else listens there
        kept.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{kept.getsockname()[1]}"
        assert isinstance(outcome(url, asked()[0]), NotSent)
        assert http_destination(url).look_up(asked()[1]).result is Result.UNAVAILABLE


def test_a_redirect_is_not_followed(service: Service) -> None:
    service.control(redirect=f"{service.url}/elsewhere")
    request, _ = asked()
    error = outcome(service.url, request)
    assert isinstance(error, Answered)
    assert error.details["status"] == 307
    assert len(service.log(request.key)) == 1


def test_a_404_of_a_wrong_route_is_no_absence(service: Service) -> None:
    document = http_document(service.url)
    document["settings"]["lookup_url"] = f"{service.url}/wrong/{{effect_id}}"
    seen = destination(document, TOKEN).look_up(asked()[1])
    assert seen.result is Result.UNAVAILABLE
    del document["settings"]["absent_header"]
    assert destination(document, TOKEN).look_up(asked()[1]).result is Result.NONE


def test_a_look_up_that_lists_what_matches_counts(service: Service) -> None:
    document = http_document(service.url)
    document["settings"]["lookup_url"] = f"{service.url}/list/{{key}}"
    listing = destination(document, TOKEN)
    request, look_up = asked()
    assert listing.look_up(look_up).result is Result.NONE
    service.control(ignores_key=True)
    for count in (1, 2):
        listing.send(request)
        seen = listing.look_up(look_up)
        assert (seen.result, seen.objects) == (Result.FOUND, count)
        assert (seen.value("digest") == request.digest) == (count == 1)


@pytest.mark.parametrize("state", [{"empty_200": True}, {"huge": 2_000_000}])
def test_an_answer_that_cannot_be_read_is_unavailable(
    service: Service, state: dict[str, Any]
) -> None:
    service.control(**state)
    assert http_destination(service.url).look_up(asked()[1]).result is Result.UNAVAILABLE


def test_a_service_that_trickles_is_cut_off(service: Service) -> None:
    service.control(trickle_ms=90_000)
    started = time.monotonic()
    error = outcome(service.url, asked(timeout_ms=3_000)[0])
    assert isinstance(error, NoAnswer)
    assert time.monotonic() - started < 60


def test_an_answer_that_was_cut_in_its_head_is_no_answer(service: Service) -> None:
    service.control(cut_headers=True)
    assert isinstance(outcome(service.url, asked()[0]), NoAnswer)


def test_a_late_request_meets_the_fence_confirmed_by_the_look_up(service: Service) -> None:
    there = http_destination(service.url)
    request, look_up = asked(timeout_ms=2_000)
    service.control(delay_ms=8_000, no_bound=True)
    with pytest.raises(NoAnswer):
        there.send(request)
    service.control(delay_ms=0)
    seen = there.look_up(replace(look_up, fence=8, timeout_ms=5_000))
    assert (seen.result, seen.confirmed_fence) == (Result.NONE, 8)
    while not (log := service.log(request.key))[0]["outcome"]:
        time.sleep(0.05)
    assert log[0]["outcome"] == "stale fence"
    assert service.objects(request.key) == 0


def test_no_credential_is_told(service: Service) -> None:
    service.control(status=400, echo_headers=True)
    error = outcome(service.url, asked()[0])
    assert isinstance(error, Answered)
    assert "***" in str(error.details["said"])
    there = http_destination(service.url)
    told = [str(error), repr(error), str(error.details), repr(there), error.hint]
    assert not [text for text in told if SECRET in text]


def test_a_certificate_that_nobody_trusts_is_not_sent_to(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [*NEW_CERTIFICATE, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def serve() -> None:
            for _ in range(2):
                near, _address = listener.accept()
                try:
                    with context.wrap_socket(near, server_side=True) as secure:
                        said = b""
                        while not said.endswith(b"one\n"):
                            said += secure.recv(65_536)
                        received.append(said)
                        secure.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                except OSError:
                    near.close()

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        url = f"https://localhost:{port}"
        error = outcome(url, asked()[0])
        assert isinstance(error, NotSent), error
        assert received == []
        document = http_document(url)
        document["settings"]["authorities"] = str(certificate)
        request, _ = asked()
        assert destination(document, TOKEN).send(request).reference
        server.join(10)
    assert b"Idempotency-Key: " + request.key.encode() in received[0]


def test_ids_of_any_characters_stay_in_their_part_of_the_url(service: Service) -> None:
    there = http_destination(service.url)
    request, _ = asked()
    request = replace(request, key="a/../b?x=1#y@host")
    there.send(request)
    assert service.log(request.key)[0]["outcome"] == "made"
    found = there.look_up(LookUp(request.effect_id, request.key))
    assert (found.result, found.value("effect_id")) == (Result.FOUND, request.effect_id)


def test_a_request_that_has_ended_does_not_leave(service: Service) -> None:
    request, _ = asked()
    error = outcome(service.url, replace(request, expires_at=time.time_ns() // 1_000))
    assert isinstance(error, NotSent)
    assert service.log(request.key) == []


def test_a_header_that_would_split_is_not_sent(service: Service) -> None:
    request, _ = asked()
    error = outcome(service.url, replace(request, manifest_id="a\r\nEvil: 1"))
    assert isinstance(error, NotSent)
    assert service.log(request.key) == []
