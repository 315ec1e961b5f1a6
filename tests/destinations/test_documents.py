"""Documents: every fault at once, no promise that nobody keeps, no credential anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.destinations.subjects import SECRET, http_document

from remit.core.refusals import Code
from remit.ports import RemitError
from remit.ports.destination import Enforced
from remit.wiring import destination, enforced

FOLDER: dict[str, Any] = {
    "name": "reports",
    "kind": "filesystem",
    "record": "reports folder",
    "settings": {"root": "/srv/reports", "path": "{effect_id}.txt"},
}
S3: dict[str, Any] = {
    "name": "archive",
    "kind": "s3",
    "record": "bucket",
    "settings": {"bucket": "exports", "key": "{effect_id}"},
}


def faults(document: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(RemitError) as refused:
        destination(document, {})
    assert refused.value.code is Code.BAD_INPUT
    assert refused.value.hint
    return {fault["path"]: fault["code"] for fault in refused.value.details["faults"]}


def test_every_fault_is_named_at_once() -> None:
    document = http_document("http://user:word@127.0.0.1")
    document["enforces"] |= {"fnce": True, "in_flight_ms": "500", "lookup_lag_ms": -1}
    document["settings"]["headers_env"] = {"Authorization": f"Bearer {SECRET}"}
    document["retries"] = 3
    del document["record"]
    assert faults(document) == {
        "$.record": "MISSING",
        "$.retries": "UNKNOWN_FIELD",
        "$.enforces.fnce": "UNKNOWN_FIELD",
        "$.enforces.in_flight_ms": "WRONG_FORM",
        "$.enforces.lookup_lag_ms": "WRONG_FORM",
        "$.settings.send_url": "WRONG_FORM",
        "$.settings.lookup_url": "WRONG_FORM",
        "$.settings.fence_url": "WRONG_FORM",
        "$.settings.headers_env": "WRONG_FORM",
    }


def test_what_looks_like_a_credential_is_not_repeated() -> None:
    document = http_document(f"http://user:{SECRET}@127.0.0.1")
    document["settings"]["headers_env"] = {"Authorization": f"Bearer {SECRET}"}
    with pytest.raises(RemitError) as refused:
        destination(document)
    error = refused.value
    assert SECRET not in f"{error.message} {error.hint} {error.details}"


@pytest.mark.parametrize(
    ("document", "claim"),
    [
        (S3, {"fence": True}),
        (S3, {"request_expiry": True}),
        (S3, {"idempotency_key": False}),
        (FOLDER, {"lookup_consistent": False}),
        (FOLDER, {"compensation": "delete"}),
        (http_document("http://127.0.0.1") | {"settings": {"send_url": "http://127.0.0.1"}}, {}),
    ],
)
def test_a_claim_that_the_adapter_cannot_keep(
    document: dict[str, Any], claim: dict[str, Any]
) -> None:
    codes = set(
        faults({**document, "enforces": {**document.get("enforces", {}), **claim}}).values()
    )
    assert codes <= {"NOT_ENFORCED", "NO_LOOKUP_URL"}


def test_the_user_of_an_ssh_url_is_no_credential() -> None:
    settings = {"home": "/srv/work", "remote": "ssh://git@example.org/x", "ref": "refs/heads/main"}
    document = FOLDER | {"kind": "git", "settings": settings}
    assert destination(document).name == "reports"
    settings["remote"] = f"ssh://git:{SECRET}@example.org/x"
    assert faults(document) == {"$.settings.remote": "WRONG_FORM"}


def test_kinds_that_nobody_installed() -> None:
    assert faults(FOLDER | {"kind": "carrier-pigeon"}) == {"$.kind": "UNKNOWN_KIND"}
    assert faults({}) == {"$.name": "MISSING", "$.kind": "MISSING", "$.record": "MISSING"}
    assert faults(FOLDER | {"settings": 3})["$.settings"] == "WRONG_FORM"


def test_a_path_that_two_effects_would_share() -> None:
    for path in ("report.txt", "{operation}.txt", "{}", "{effect_id", "{effect_id}{who}"):
        with pytest.raises(RemitError) as refused:
            destination(FOLDER | {"settings": {"root": "/srv", "path": path}})
        assert refused.value.code is Code.BAD_INPUT


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(RemitError) as refused:
        destination(http_document("http://127.0.0.1"), {})
    assert refused.value.details == {"variable": "EXPORTS_TOKEN"}


def test_what_is_registered_is_what_the_adapter_enforces() -> None:
    """Registering asks no credential, and what the ledger keeps comes back whole."""
    said = enforced(http_document("http://127.0.0.1"))
    fact = said.registered("exports@1", "exports", "0" * 64, "blob")
    assert (fact.label, fact.name, fact.in_flight_ms) == ("exports@1", "exports", 1_500)
    assert Enforced.of(fact) == said
    assert enforced(FOLDER).compensation == "move-aside"
    assert enforced(S3).idempotency_key
    assert not enforced(S3).lookup_consistent


def test_an_installed_kind_is_built_by_its_factory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pigeons.py").write_text(
        "class Pigeon:\n"
        "    def __init__(self, name, settings, declared, environment):\n"
        "        self.name, self.enforced = name, declared\n"
    )
    info = tmp_path / "pigeons-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeons\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[remit.destinations]\npigeon = pigeons:Pigeon\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = destination(FOLDER | {"kind": "pigeon", "settings": {"loft": 3}})
    assert (made.name, made.enforced.record) == ("reports", "reports folder")
