"""Each adapter keeps what it declares, against the real thing; nothing untried counts as kept."""

from __future__ import annotations

from pathlib import Path

from tests.destinations.processes import Service
from tests.destinations.subjects import Bucket, Repositories, folder_subject, http_subject

from remit.destinations.conformance import CHECKS, Check, Subject, examine
from remit.destinations.conformance import Result as Verdict


def tried(subject: Subject, *, untried: set[str]) -> list[Check]:
    """Every check passed, but for those that cannot be tried on this destination."""
    checks = examine(subject)
    told = "\n".join(map(str, checks))
    assert [check.check for check in checks] == list(CHECKS)
    missed = {check.check for check in checks if check.result is Verdict.NOT_TESTED}
    assert missed == untried, told
    passed = {check.check for check in checks if check.result is Verdict.PASS}
    assert passed == set(CHECKS) - untried, told
    return checks


def test_an_http_service(service: Service) -> None:
    tried(http_subject(service), untried={"compensation"})


def test_a_folder(tmp_path: Path) -> None:
    untried = {"late-expiry", "in-flight", "timeout", "lost-answer", "secrets"}
    tried(folder_subject(tmp_path / "root"), untried=untried)


def test_an_s3_bucket(bucket: Bucket) -> None:
    untried = {"lower-fence", "past-expiry", "late-expiry", "in-flight", "compensation"}
    tried(bucket.subject(), untried=untried)


def test_a_git_remote(repositories: Repositories) -> None:
    untried = {"past-expiry", "late-expiry", "in-flight", "timeout", "compensation", "secrets"}
    tried(repositories.subject(), untried=untried)
