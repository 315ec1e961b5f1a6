"""A bucket of the S3 protocol as a destination: one object an effect, put on condition.

``If-None-Match: *`` makes the store itself refuse a second object under the key, so the object is the
idempotency key and is kept as long as it stands. The payload goes up with its SHA-256 for the store
to check, and the look-up reads the checksum that the store kept, or the content itself where it
keeps none. With ``versions`` the look-up counts every version that stands under the key: a store that
ignores the condition shows there as two.

Stores differ. A look-up is consistent only where the settings say so (Amazon's is; some others are
only in the end), and nobody but the operator knows how long a signed request may be under way, so
``in_flight_ms`` is None unless it is given. There is no fence and no enforced expiry. boto3 is asked
for one attempt: its own retries would be sends that nobody recorded.
"""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remit.destinations.expiry import Clock, refuse_ended, wall_us
from remit.destinations.naming import checked, segments
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    SendError,
    unavailable,
)
from remit.ports.failures import RemitError

_VERSIONS_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Credentials:
    """What signs requests; empty leaves it to boto3's own chain. Never shown."""

    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class S3Destination:
    """Objects of a bucket. ``key`` is a template; ``versions`` needs a bucket that keeps them."""

    name: str
    bucket: str
    key: str
    declared: Enforced
    endpoint: str = ""
    region: str = "us-east-1"
    versions: bool = False
    read_limit_bytes: int = 64 * 1_048_576
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    now: Clock = wall_us
    _clients: dict[tuple[int, int], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _making: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        checked(self.key, "key")

    @property
    def enforced(self) -> Enforced:
        """The key by condition, the look-up; consistency and bounds as declared."""
        return replace(
            self.declared,
            idempotency_key=True,
            key_retention_ms=None,
            fence=False,
            lookup=True,
            request_expiry=False,
            compensation="",
        )

    def send(self, request: Request) -> Response:
        """Put the object if none stands there."""
        if request.compensates:
            raise NotSent(f"{self.name} undoes nothing", "compensate by an operation of your own")
        refuse_ended(request, self.now(), self.name)
        key = "/".join(segments(self.key, request))
        what = f"put {request.effect_id} into {self.name}"
        client = self._client(request.timeout_ms)
        try:
            put = client.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=request.payload,
                IfNoneMatch="*",
                ChecksumSHA256=_base64(request.digest),
                Metadata=_metadata(request),
            )
        except _failures() as error:
            status = _status(error)
            if status == 412:
                return self._standing(request, key, what)
            raise _typed(error, status, what) from None
        return Response(key, replayed=False, text=str(put.get("VersionId") or put.get("ETag", "")))

    def _standing(self, request: Request, key: str, what: str) -> Response:
        """Something stands under the key: the same is an answer, anything else is not."""
        seen = self.look_up(
            LookUp(
                request.effect_id,
                request.key,
                request.operation,
                request.manifest_id,
                timeout_ms=request.timeout_ms,
            )
        )
        if seen.result is not Result.FOUND:
            raise Answered(
                Reason.FAILED,
                f"cannot {what}: refused as existing, and {seen.reason or 'now nothing is there'}",
                "look it up",
            )
        if seen.value("digest") == request.digest and seen.value("key") == request.key:
            return Response(key, replayed=True)
        raise Answered(
            Reason.KEY_REUSED,
            f"cannot {what}: {key} has digest {seen.value('digest')}; the request {request.digest}",
            "two contents for one effect: decide which one it is",
        )

    def look_up(self, look_up: LookUp) -> Seen:
        """HEAD the object, and count its versions."""
        end = time.monotonic() + look_up.timeout_ms / 1_000
        try:
            key = "/".join(segments(self.key, look_up))
            client = self._client(look_up.timeout_ms)
        except RemitError as error:
            return unavailable(error.message)
        try:
            count = self._versions(client, key) if self.versions else 1
            try:
                head = client.head_object(Bucket=self.bucket, Key=key, ChecksumMode="ENABLED")
            except _failures() as error:
                if _status(error) != 404:
                    raise
                client.head_bucket(Bucket=self.bucket)  # a bucket that is gone is 404 as well
                return Seen(Result.NONE, 0, consistent=self.declared.lookup_consistent)
            return self._seen(client, key, head, max(count, 1), end)
        except _failures(OSError, ValueError) as error:
            kind = _code(error) or type(error).__name__
            return unavailable(f"cannot look {look_up.effect_id} up in {self.name}: {kind}")

    def _seen(self, client: Any, key: str, head: Mapping[str, Any], count: int, end: float) -> Seen:
        noted = head.get("Metadata", {})
        digest = _hexadecimal(head.get("ChecksumSHA256", ""))
        if not digest:
            digest = self._content(client, key, head, end)
        values = [("digest", digest), ("object_key", key)]
        for name in ("effect_id", "manifest_id", "key"):
            if f"remit-{name.replace('_', '-')}" in noted:
                values.append((name, noted[f"remit-{name.replace('_', '-')}"]))
        differences = []
        if noted.get("remit-digest", digest) != digest:
            differences.append(f"noted: digest {noted['remit-digest']}; content: {digest}")
        return Seen(
            Result.FOUND,
            count,
            tuple(values),
            tuple(differences),
            self.declared.lookup_consistent,
        )

    def _versions(self, client: Any, key: str) -> int:
        page = client.list_object_versions(Bucket=self.bucket, Prefix=key, MaxKeys=_VERSIONS_LIMIT)
        return sum(row["Key"] == key for row in page.get("Versions", ()))

    def _content(self, client: Any, key: str, head: Mapping[str, Any], end: float) -> str:
        """The digest of the content itself, for a store that kept no checksum."""
        if head.get("ContentLength", 0) > self.read_limit_bytes:
            raise ValueError(f"over {self.read_limit_bytes} bytes")
        body = client.get_object(Bucket=self.bucket, Key=key, IfMatch=head["ETag"])["Body"]
        found = hashlib.sha256()
        for chunk in body.iter_chunks():
            found.update(chunk)
            if time.monotonic() > end:
                raise TimeoutError("slow")
        return found.hexdigest()

    def _client(self, timeout_ms: int) -> Any:
        """A client whose every wait ends with the time; one for each bound, made once."""
        with self._making:
            mine = (os.getpid(), timeout_ms)  # a forked process must not share connections
            found = self._clients.get(mine)
            if found is None:
                found = self._clients[mine] = self._made(timeout_ms)
                if len(self._clients) > 8:
                    self._clients.pop(next(iter(self._clients)))
        return found

    def _made(self, timeout_ms: int) -> Any:
        try:
            import boto3
            from botocore.config import Config
        except ImportError as error:
            raise NotSent(
                f"cannot use {self.name}: {error}", "install it with pip install 'remit[s3]'"
            ) from None
        seconds = max(timeout_ms / 1_000, 0.001)
        known = self.credentials
        try:
            return boto3.session.Session().client(
                "s3",
                endpoint_url=self.endpoint or None,
                region_name=self.region,
                aws_access_key_id=known.access_key or None,
                aws_secret_access_key=known.secret_key or None,
                aws_session_token=known.session_token or None,
                config=Config(
                    connect_timeout=seconds,
                    read_timeout=seconds,
                    retries={"total_max_attempts": 1},
                    s3={"addressing_style": "path" if self.endpoint else "auto"},
                ),
            )
        except _failures(ValueError) as error:
            raise NotSent(
                f"cannot use {self.name}: {type(error).__name__}", "mend its settings"
            ) from None


def _failures(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What botocore raises for the state of the world, and more."""
    from botocore import exceptions

    return exceptions.ClientError, exceptions.BotoCoreError, *more


def _metadata(request: Request) -> dict[str, str]:
    said = {
        "remit-effect-id": request.effect_id,
        "remit-key": request.key,
        "remit-digest": request.digest,
        "remit-manifest-id": request.manifest_id,
        "remit-fence": str(request.fence),
    }
    unfit = [name for name, value in said.items() if not value.isascii() or "\n" in value]
    if unfit:
        raise NotSent(f"cannot note {', '.join(unfit)} on an object: expected ASCII")
    return {name: value for name, value in said.items() if value}


def _typed(error: Exception, status: int, what: str) -> SendError:
    """What went wrong, by what may have left."""
    from botocore import exceptions

    kind = _code(error) or type(error).__name__
    if isinstance(error, exceptions.ParamValidationError | exceptions.NoCredentialsError):
        return NotSent(f"cannot {what}: {kind}", "mend the destination's settings")
    if isinstance(error, exceptions.ConnectTimeoutError | exceptions.EndpointConnectionError):
        return NotSent(f"cannot {what}: no connection ({kind})", "see whether the store is up")
    if not status:
        return NoAnswer(f"cannot {what}: no answer ({kind})", "look it up before anything else")
    reason = Reason.REJECTED if 400 <= status < 500 and status not in (408, 409) else Reason.FAILED
    return Answered(
        reason, f"cannot {what}: HTTP {status} {kind}", "look it up", {"status": status}
    )


def _status(error: Exception) -> int:
    said = getattr(error, "response", None)
    status = said.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if said else 0
    return int(status)


def _code(error: Exception) -> str:
    said = getattr(error, "response", None)
    return str(said.get("Error", {}).get("Code", "")) if said else ""


def _base64(digest: str) -> str:
    return base64.b64encode(bytes.fromhex(digest)).decode()


def _hexadecimal(checksum: str) -> str:
    """The store's checksum as we write digests; a composite one (``…-2``) is of no one content."""
    return base64.b64decode(checksum).hex() if checksum and "-" not in checksum else ""
