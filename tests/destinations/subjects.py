"""The four adapters as subjects of the conformance suite, each with the real thing behind it."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.destinations.processes import Service, Way

from remit.destinations.conformance import Subject
from remit.destinations.naming import short
from remit.ports.destination import Destination, LookUp
from remit.wiring import destination

SECRET = "token-of-nobody-4711"
SECRET_KEY = "signing-key-of-nobody-0815"

HTTP_ENFORCES: dict[str, Any] = {
    "idempotency_key": True,
    "key_retention_ms": 86_400_000,
    "fence": True,
    "lookup": True,
    "lookup_consistent": True,
    "request_expiry": True,
    "in_flight_ms": 1_500,
    "receipt_authoritative": True,
}


def http_document(url: str, **enforces: Any) -> dict[str, Any]:
    return {
        "name": "exports",
        "kind": "http",
        "record": "DESTINATION-INDEX-8",
        "settings": {
            "send_url": f"{url}/effects",
            "lookup_url": f"{url}/records/{{key}}",
            "fence_url": f"{url}/fences/{{key}}",
            "objects": "objects",
            "absent_header": "Remit-Key",
            "headers_env": {"Authorization": "EXPORTS_TOKEN"},
        },
        "enforces": HTTP_ENFORCES | enforces,
    }


def http_destination(url: str, **enforces: Any) -> Destination:
    return destination(http_document(url, **enforces), {"EXPORTS_TOKEN": f"Bearer {SECRET}"})


def http_subject(service: Service, **enforces: Any) -> Subject:
    return Subject(
        http_destination(service.url, **enforces),
        count=lambda asked: service.objects(asked.key),
        outage=lambda: service.during(out="503"),
        lost_answers=lambda: service.during(lose_answers=-1),
        delayed=lambda by_ms: service.during(delay_ms=by_ms),
        secrets=(SECRET,),
    )


def folder_destination(root: Path, **settings: Any) -> Destination:
    return destination(
        {
            "name": "reports",
            "kind": "filesystem",
            "record": "reports folder",
            "settings": {"root": str(root), "path": "out/{operation}/{effect_id}.txt"} | settings,
        }
    )


def folder_subject(root: Path) -> Subject:
    root.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def outage() -> Iterator[None]:
        away = root.with_name("away")
        root.rename(away)
        try:
            yield
        finally:
            away.rename(root)

    def count(asked: LookUp) -> int:
        return len(list(root.glob(f"out/**/{asked.effect_id}*")))

    return Subject(folder_destination(root), count=count, outage=outage)


class Bucket:
    """A bucket that keeps versions, on the real server; the adapter goes by a way that can fail."""

    _numbers = itertools.count(1)

    def __init__(self, url: str, way: Way, versions: bool = True) -> None:
        import boto3

        self.way = way
        self.name = f"bucket-{next(self._numbers)}-{way.port}"
        self.client = boto3.client(
            "s3",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="nobody",
            aws_secret_access_key=SECRET_KEY,
        )
        self.client.create_bucket(Bucket=self.name)
        if versions:
            self.client.put_bucket_versioning(
                Bucket=self.name, VersioningConfiguration={"Status": "Enabled"}
            )

    def document(self, **settings: Any) -> dict[str, Any]:
        return {
            "name": "archive",
            "kind": "s3",
            "record": f"bucket {self.name}",
            "settings": {
                "bucket": self.name,
                "key": "exports/{effect_id}",
                "endpoint": self.way.url,
                "versions": True,
                "access_key_env": "ARCHIVE_KEY",
                "secret_key_env": "ARCHIVE_SECRET",
            }
            | settings,
            "enforces": {"lookup_consistent": True, "receipt_authoritative": True},
        }

    def destination(self, **settings: Any) -> Destination:
        known = {"ARCHIVE_KEY": "nobody", "ARCHIVE_SECRET": SECRET_KEY}
        return destination(self.document(**settings), known)

    def versions(self, effect_id: str) -> int:
        page = self.client.list_object_versions(Bucket=self.name, Prefix=f"exports/{effect_id}")
        return len(page.get("Versions", ()))

    def subject(self) -> Subject:
        return Subject(
            self.destination(),
            count=lambda asked: self.versions(asked.effect_id),
            outage=self.way.outage,
            lost_answers=self.way.losing,
            delayed=self.way.delayed,
            secrets=(SECRET_KEY,),
        )


class Repositories:
    """A bare repository, and one to push from."""

    def __init__(self, root: Path) -> None:
        self.bare, self.home = root / "bare.git", root / "work"
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=root)
        self.git("init", "-q", "-b", "main", str(self.home), cwd=root)
        self.git("commit", "-q", "--allow-empty", "-m", "first")
        self.git("push", "-q", str(self.bare), "HEAD:refs/heads/main")

    def git(self, *args: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.home, capture_output=True, timeout=60, check=True
        )
        return done.stdout.decode().strip()

    def main(self) -> str:
        return self.git("rev-parse", "refs/heads/main", cwd=self.bare)

    def commit(self, text: str, parent: str = "") -> str:
        """A commit that goes on from main as it is now."""
        parent = parent or self.main()
        self.git("fetch", "-q", str(self.bare), "refs/heads/main")
        return self.git("commit-tree", "-p", parent, "-m", text, f"{parent}^{{tree}}")

    def payload(self, number: int) -> bytes:
        expected = self.main()
        commit = self.commit(f"change {number}", expected)
        return json.dumps({"commit": commit, "expected": expected}).encode()

    def document(self, remote: str = "") -> dict[str, Any]:
        return {
            "name": "integration",
            "kind": "git",
            "record": "main of bare",
            "settings": {
                "home": str(self.home),
                "remote": remote or str(self.bare),
                "ref": "refs/heads/main",
            },
            "enforces": {"lookup_consistent": True, "receipt_authoritative": True},
        }

    def marked(self, asked: LookUp) -> int:
        name = f"refs/remit/{short(asked.key)}"
        told = self.git("for-each-ref", "--format=%(objectname)", name, cwd=self.bare).split()
        blobs = [json.loads(self.git("cat-file", "blob", oid, cwd=self.bare)) for oid in told]
        return sum(bool(blob["commit"]) for blob in blobs)

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        away = self.bare.with_name("away.git")
        self.bare.rename(away)
        try:
            yield
        finally:
            away.rename(self.bare)

    @contextlib.contextmanager
    def lost_answers(self) -> Iterator[None]:
        """Everything is done, and the push then hangs in a hook until its time is over."""
        hook = self.bare / "hooks" / "post-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexec sleep 30\n")
        hook.chmod(0o755)
        try:
            yield
        finally:
            hook.unlink()

    def subject(self) -> Subject:
        return Subject(
            destination(self.document()),
            payload=self.payload,
            count=self.marked,
            outage=self.outage,
            lost_answers=self.lost_answers,
        )
