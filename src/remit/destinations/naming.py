"""Names outside that derive from an effect: paths, object keys, URLs, refs.

A template such as ``exports/{effect_id}.json`` is filled in with what the request says. Its parts
come from whoever submitted the work, so they are foreign: a part may not step out of its place, and
a name that would is refused rather than bent. A template without effect id or key would give two
effects one name, so it is refused when the destination is made.
"""

from __future__ import annotations

import hashlib
import re
import string
from urllib.parse import quote

from remit.core.refusals import Code
from remit.ports.destination import LookUp, NotSent, Request
from remit.ports.failures import RemitError

FIELDS = ("effect_id", "key", "operation", "manifest_id")
_OWN = re.compile(r"\{(effect_id|key)\}")
_PART = re.compile(r"[A-Za-z0-9_@+=,:][A-Za-z0-9._@+=,:-]{0,199}\Z")
_NAME_LIMIT = 1_000


def checked(template: str, setting: str) -> str:
    """A template that names each effect apart. Raises ``BAD_INPUT`` for any other."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
    except ValueError:
        names = {"?"}
    if names <= set(FIELDS) and _OWN.search(template) and "{}" not in template:
        return template
    raise RemitError(
        f"cannot use {template!r} as {setting}: expected a template with {{effect_id}} or {{key}}",
        f"known fields are {', '.join(FIELDS)}",
        {"setting": setting},
        code=Code.BAD_INPUT,
    )


def segments(template: str, of: Request | LookUp) -> list[str]:
    """The parts of a relative path; each is plain: none is hidden, an option, ``.`` or ``..``.

    Raises ``NotSent`` where what the request says makes no such path.
    """
    values = {name: str(getattr(of, name)) for name in FIELDS}
    for name, value in values.items():
        if f"{{{name}}}" in template and not _PART.match(value):
            raise _unfit(name, value)
    parts = template.format(**values).split("/")
    for part in parts:
        if not _PART.match(part):
            raise _unfit("path", part)
    if sum(map(len, parts)) > _NAME_LIMIT:
        raise _unfit("path", f"{len(parts)} parts")
    return parts


def url(template: str, of: Request | LookUp) -> str:
    """A URL with every value percent-encoded, so that none adds a part, a query or a host."""
    return template.format(**{name: quote(str(getattr(of, name)), safe="") for name in FIELDS})


def short(key: str) -> str:
    """A name of fixed length for a key of any characters."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _unfit(name: str, value: str) -> NotSent:
    return NotSent(
        f"cannot name an object after {name} {value[:80]!r}: expected letters, digits and ._@+=,:-",
        "give the effect a plain id, or a template that uses {key}",
        {"field": name},
    )
