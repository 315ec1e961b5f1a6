"""From a destination's document to its adapter.

A document is what was registered on the ledger: ``kind``, ``record``, ``settings`` and ``enforces``.
It is read strictly, and every fault is named at once by its path: a misspelt ``enforces`` that was
skipped in silence would be a promise lost, or one kept that nobody made. Credentials are never in it:
settings that end in ``_env`` name environment variables, read only when the adapter is made. A URL
with a user in it is refused.

A kind that is not ours is looked up among the installed packages' entry points in the group
``remit.destinations``: code that somebody installed here, not code that a document names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from remit.core.effect_facts import Fault
from remit.core.refusals import Code
from remit.ports.destination import Destination, Enforced
from remit.ports.failures import RemitError

GROUP: Final = "remit.destinations"
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_TEXTS = "a map of texts"
_TOP: Final = {
    "name": ("text", True),
    "kind": ("text", True),
    "record": ("text", True),
    "settings": ("map", False),
    "enforces": ("map", False),
}
_SETTINGS: Final = {
    "filesystem": {"root": ("text", True), "path": ("text", True)},
    "http": {
        "send_url": ("url", True),
        "lookup_url": ("url", False),
        "fence_url": ("url", False),
        "headers_env": ("environment", False),
        "fields": (_TEXTS, False),
        "objects": ("text", False),
        "absent_header": ("text", False),
        "media_type": ("text", False),
        "authorities": ("text", False),
        "limit_bytes": ("number", False),
    },
    "s3": {
        "bucket": ("text", True),
        "key": ("text", True),
        "endpoint": ("url", False),
        "region": ("text", False),
        "versions": ("flag", False),
        "access_key_env": ("variable", False),
        "secret_key_env": ("variable", False),
        "session_token_env": ("variable", False),
    },
    "git": {"home": ("text", True), "remote": ("url", True), "ref": ("text", True)},
}
_ENFORCES: Final = {
    "idempotency_key": ("flag", False),
    "key_retention_ms": ("number", False),
    "fence": ("flag", False),
    "lookup": ("flag", False),
    "lookup_consistent": ("flag", False),
    "lookup_lag_ms": ("number", False),
    "request_expiry": ("flag", False),
    "in_flight_ms": ("number", False),
    "receipt_authoritative": ("flag", False),
    "compensation": ("text", False),
}


def _is_url(value: Any) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    # The user of an ssh URL is part of the address, as in ssh://git@host/path.
    return parts.password is None and (parts.username is None or parts.scheme == "ssh")


def _is_environment(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_variable, value.values()))


def _is_variable(value: Any) -> bool:
    return isinstance(value, str) and bool(_ENV_NAME.match(value))


_GOOD: Final[Mapping[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str) and bool(value),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "flag": lambda value: isinstance(value, bool),
    "map": lambda value: isinstance(value, Mapping),
    "url": _is_url,
    "variable": _is_variable,
    "environment": _is_environment,
    _TEXTS: lambda value: (
        isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())
    ),
}
_EXPECTED: Final = {
    "url": "a URL without credentials",
    "variable": "the name of an environment variable",
    "environment": "a map of headers to names of environment variables",
    "number": "a whole number, not negative",
    "flag": "true or false",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A destination's document, well formed; ``declared`` is what it says is enforced."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    declared: Enforced


def parse(document: Mapping[str, Any]) -> Document | tuple[Fault, ...]:
    """Read a document, or name every fault in it."""
    faults = _faults("$", document, _TOP)
    settings, enforces = document.get("settings", {}), document.get("enforces", {})
    kind = document.get("kind", "")
    if isinstance(enforces, Mapping):
        faults += _faults("$.enforces", enforces, _ENFORCES)
    if isinstance(kind, str) and kind in _SETTINGS and isinstance(settings, Mapping):
        faults += _faults("$.settings", settings, _SETTINGS[kind])
    elif isinstance(kind, str) and kind and kind not in _SETTINGS and not _installed(kind):
        expected = ", ".join([*_SETTINGS, f"an entry point of {GROUP}"])
        faults.append(Fault("$.kind", "UNKNOWN_KIND", kind[:80], expected))
    if faults:
        return tuple(faults)
    declared = Enforced(record=document["record"], **enforces)
    made = Document(document["name"], kind, settings, declared)
    return tuple(_overclaims(made, enforces)) or made


def build(document: Mapping[str, Any], environment: Mapping[str, str] | None) -> Destination:
    """The adapter of a document. Raises ``BAD_INPUT`` with every fault.

    Without an environment it is only good for asking what it enforces: it has no credentials.
    """
    read = parse(document)
    if not isinstance(read, Document):
        raise _bad(document, read)
    return _made(read, environment)


def _made(read: Document, environment: Mapping[str, str] | None) -> Destination:
    named = dict(read.settings)
    if read.kind == "filesystem":
        from remit.destinations.filesystem import FolderDestination

        root = Path(named["root"])
        return FolderDestination(read.name, root, named["path"], read.declared.record)
    if read.kind == "http":
        from remit.destinations.calling import Caller
        from remit.destinations.http import HttpDestination

        variables = named.pop("headers_env", {})
        headers = {name: _secret(variable, environment) for name, variable in variables.items()}
        bounds = {n: named.pop(n) for n in ("authorities", "limit_bytes") if n in named}
        return HttpDestination(
            read.name, declared=read.declared, headers=headers, caller=Caller(**bounds), **named
        )
    if read.kind == "s3":
        from remit.destinations.s3 import Credentials, S3Destination

        keys = {n: named.pop(f"{n}_env", "") for n in Credentials.__slots__}
        known = Credentials(**{n: _secret(v, environment) if v else "" for n, v in keys.items()})
        return S3Destination(read.name, declared=read.declared, credentials=known, **named)
    if read.kind == "git":
        from remit.destinations.git_push import GitDestination

        home = Path(named["home"])
        return GitDestination(read.name, home, named["remote"], named["ref"], read.declared)
    (entry,) = _installed(read.kind)
    made: Destination = entry.load()(read.name, named, read.declared, environment or {})
    return made


def _overclaims(read: Document, enforces: Mapping[str, Any]) -> list[Fault]:
    """What the document claims and the adapter cannot keep; an http service may claim anything."""
    if read.kind not in _SETTINGS or read.kind == "http":
        wants = read.declared.lookup and read.kind == "http" and not read.settings.get("lookup_url")
        missing = Fault("$.enforces.lookup", "NO_LOOKUP_URL", "true", "a lookup_url in settings")
        return [missing] if wants else []
    kept = _made(read, None).enforced
    return [
        Fault(f"$.enforces.{name}", "NOT_ENFORCED", str(value), str(getattr(kept, name)))
        for name, value in enforces.items()
        if getattr(kept, name) != value
    ]


def _faults(
    path: str, said: Mapping[str, Any], known: Mapping[str, tuple[str, bool]]
) -> list[Fault]:
    faults = [
        Fault(f"{path}.{name}", "UNKNOWN_FIELD", "", ", ".join(known))
        for name in said
        if name not in known
    ]
    for name, (form, required) in known.items():
        expected = _EXPECTED.get(form, form)
        if name not in said:
            if required:
                faults.append(Fault(f"{path}.{name}", "MISSING", "", expected))
        elif not _GOOD[form](said[name]):
            # What stands there may be a credential, so only its type is told.
            found = type(said[name]).__name__
            faults.append(Fault(f"{path}.{name}", "WRONG_FORM", found, expected))
    return faults


def _installed(kind: str) -> list[Any]:
    return list(entry_points(group=GROUP, name=kind))[:1]


def _secret(variable: str, environment: Mapping[str, str] | None) -> str:
    if environment is None:
        return ""
    if not environment.get(variable):
        raise RemitError(
            f"cannot make the destination: the environment variable {variable} is not set",
            f"set {variable} where this runs",
            {"variable": variable},
            code=Code.BAD_INPUT,
        )
    return environment[variable]


def _bad(document: Mapping[str, Any], faults: tuple[Fault, ...]) -> RemitError:
    told = [f"{f.path}: {f.code}; expected {f.expected}" for f in faults]
    return RemitError(
        f"cannot use the destination {str(document.get('name', ''))[:80]!r}: " + "; ".join(told),
        "mend every fault and register it again",
        {"faults": [asdict(fault) for fault in faults]},
        code=Code.BAD_INPUT,
    )
