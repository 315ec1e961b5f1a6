"""The evidence of each kind of triage record: named fields, with their forms and bounds (INV-19).

A record holds its evidence as entries ``name:value``; a field that may be there many times has one
entry for each value. So every event that was ever written can be read: an entry that the shape of its
kind does not know is shown as a note. What is written from here on has to fit: ``faults`` says what is
missing, unknown or out of bounds, and a record with a fault is never written.

Values may be foreign (paths, what an agent said). They are bounded here and escaped where they are
shown. The entry of a secret names rule, path and line, and never the secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.checks import Result
from remit.core.gitfacts import is_full_sha
from remit.core.ids import MAX_INTEGER
from remit.core.triage_kinds import TriageKind as K

MOST_LISTED: Final = 50
"""Most values of one field; ``more-NAME`` says how many were left out."""

MOST_ENTRIES: Final = 400
"""Most entries of one record."""

MORE: Final = "more-"


class Form(StrEnum):
    """What a value of a field looks like."""

    COMMIT = "a full commit id"
    DIGEST = "the digest of a text on the ledger"
    COUNT = "a whole number"
    MICROS = "an amount in micro-units"
    MS = "milliseconds"
    RESULT = "PASS, FAIL, BLOCKED or NOT_TESTED"
    CODE = "a code: 1 to 80 letters, digits or . _ - /"
    NAME = "a name of 1 to 300 characters"
    REF = "a ref of 1 to 300 characters"
    PATH = "a path of 1 to 1,000 characters"
    TEXT = "a text of 1 to 500 characters"


_LENGTH: Final = {Form.NAME: 300, Form.REF: 300, Form.PATH: 1_000, Form.TEXT: 500}
_CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,79}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
_NUMBER: Final = re.compile(r"(?:0|[1-9][0-9]{0,15})\Z")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a kind's evidence.

    ``least`` and ``most`` bound how often it is there. ``beside`` names a field that has exactly as
    many values, in the same order. ``own`` is written by the core alone, since a fold acts on it.
    """

    name: str
    form: Form
    meaning: str
    least: int = 1
    most: int = 1
    beside: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a kind. Of the fields in ``any_of`` at least one is there, where any is named."""

    fields: tuple[Field, ...]
    any_of: tuple[str, ...] = ()


def _one(name: str, form: Form, meaning: str) -> Field:
    return Field(name, form, meaning)


def _may(name: str, form: Form, meaning: str) -> Field:
    return Field(name, form, meaning, 0)


def _many(name: str, form: Form, meaning: str, least: int = 1, beside: str = "") -> Field:
    return Field(name, form, meaning, least, MOST_LISTED, beside)


F: Final = Form

_ATTEMPT: Final = _one("attempt", F.NAME, "the attempt")
_ENDED: Final = _one("terminated", F.RESULT, "whether its end was observed: PASS, else BLOCKED")
_RESCUE: Final = _many("rescue", F.REF, "refs that keep commits which nobody pushed", 0)
_LOG: Final = _may("log", F.DIGEST, "what it wrote")

SHAPES: Final[dict[K, Shape]] = {
    K.VERIFIER_GAP: Shape(
        (
            _one("commit", F.COMMIT, "the commit that shipped"),
            _many("row", F.NAME, "rows that were not verified", 0),
            _many("missing", F.PATH, "artifacts that are not there", 0),
            _many("outside", F.PATH, "changed paths outside the scope", 0),
            _may("diff", F.RESULT, "the artifact diff"),
            _many("log", F.DIGEST, "what the rows wrote", 0),
        ),
        ("row", "missing", "outside", "diff"),
    ),
    K.CONTRADICTED: Shape(
        (
            _one("commit", F.COMMIT, "the commit that shipped"),
            _many("row", F.NAME, "rows that gave two answers on it"),
            _many("log", F.DIGEST, "what the rows wrote", 0),
        )
    ),
    K.TEST_FAILURE: Shape(
        (
            _one("commit", F.COMMIT, "the commit that was tested"),
            _many("row", F.NAME, "rows that failed on it"),
            _many("requirement", F.NAME, "the requirement of each row", beside="row"),
            _many("found", F.CODE, "what each row came to", 0, "row"),
            _many("log", F.DIGEST, "what the rows wrote", 0),
            _may("main", F.COMMIT, "the main that it was put onto"),
        )
    ),
    K.MERGE_CONFLICT: Shape(
        (
            _one("base", F.COMMIT, "where head and main part"),
            _one("head", F.COMMIT, "the head that was reviewed"),
            _one("main", F.COMMIT, "the main that was observed"),
            _many("path", F.PATH, "paths in conflict"),
            _may("way", F.CODE, "how it was tried: rebase or merge"),
            _may("log", F.DIGEST, "what git said"),
        )
    ),
    K.DIRTY_TREE: Shape(
        (
            _one("tree", F.CODE, "which tree: clone, checkout or host"),
            _many("path", F.PATH, "paths with changes that no commit holds"),
            _may("attempt", F.NAME, "the attempt whose tree it is"),
            _may("head", F.COMMIT, "the commit that was checked out"),
        )
    ),
    K.REMOTE_DIVERGENCE: Shape(
        (
            _one("remote", F.NAME, "the remote"),
            _one("ref", F.REF, "the ref on it"),
            _one("expected", F.COMMIT, "the commit that it named before"),
            _may("observed", F.COMMIT, "the commit that it names now; absent where it is gone"),
        )
    ),
    K.AMBIGUITY: Shape(
        (
            _one("unclear", F.TEXT, "what is not clear"),
            _one("asks", F.NAME, "who can say: an actor or a role"),
            _may("about", F.NAME, "the goal, requirement or row that it is about"),
        )
    ),
    K.CONFLICTING_DECISIONS: Shape(
        (
            _many("decision", F.NAME, "the decisions that conflict, both by name", 2),
            _many("about", F.NAME, "what they both decide", 0),
        )
    ),
    K.BUDGET_EXHAUSTED: Shape(
        (
            _many("scope", F.NAME, "scopes whose money is used up"),
            _many("limit", F.MICROS, "what each scope may spend", beside="scope"),
            _many("settled", F.MICROS, "what each has spent", beside="scope"),
            _many("reserved", F.MICROS, "what each has set aside", beside="scope"),
            Field("stops", F.NAME, "scopes that lease nothing until this is settled", 0,
                  MOST_LISTED, own=True),
            _may("fence", F.COUNT, "the fence of the lease that cost more"),
            _may("spent", F.MICROS, "what that lease has cost"),
            _may("reservation", F.MICROS, "what it had reserved"),
        )
    ),
    K.REFUSAL: Shape(
        (
            _one("code", F.CODE, "why, as a code"),
            _may("said", F.DIGEST, "the reason in its own words"),
        )
    ),
    K.EFFECT_UNCERTAIN: Shape(
        (
            _one("effect", F.NAME, "the effect"),
            _one("state", F.CODE, "what is known of it"),
            _one("why", F.CODE, "why nothing more can be known"),
            _may("record", F.NAME, "the record in which it was looked up"),
            _may("observation", F.NAME, "the look-up"),
            _may("looks", F.COUNT, "how many look-ups there were"),
            _may("seq", F.COUNT, "the event that intended it"),
        )
    ),
    K.EFFECT_MISMATCH: Shape(
        (
            _one("effect", F.NAME, "the effect"),
            _one("observation", F.NAME, "the look-up"),
            _one("why", F.CODE, "what contradicts what was intended"),
            _may("record", F.NAME, "the record in which it was looked up"),
            _many("difference", F.TEXT, "each comparison that failed", 0),
        )
    ),
    K.POISON: Shape(
        (
            _one("attempts", F.COUNT, "attempts that ended without a result"),
            _one("bound", F.COUNT, "how many it may have"),
            _may("lease", F.NAME, "the last lease"),
            _may("effect", F.NAME, "its effect"),
            _may("observation", F.NAME, "the look-up that found nothing"),
        )
    ),
    K.PROBE_FAILED: Shape(
        (
            _many("probe", F.CODE, "probes that escaped or could not run"),
            _many("result", F.RESULT, "the result of each", beside="probe"),
            _many("observed", F.TEXT, "what each saw", 0, "probe"),
            _may("attempt", F.NAME, "the attempt"),
        )
    ),
    K.SECRET_FOUND: Shape(
        (
            _many("rule", F.CODE, "the rule that found each; the secret is never kept"),
            _many("path", F.PATH, "the path of each", beside="rule"),
            _many("line", F.COUNT, "the line of each; 0 where there are no lines", beside="rule"),
            _may("attempt", F.NAME, "the attempt that brought it"),
            _may("commit", F.COMMIT, "the commit that holds it"),
        )
    ),
    K.SCOPE_BREACH: Shape(
        (
            _many("outside", F.PATH, "changed paths outside the scope"),
            _many("scope", F.PATH, "the scope"),
            _may("base", F.COMMIT, "the commit that it was compared with"),
            _may("head", F.COMMIT, "the commit that was handed in"),
        )
    ),
    K.AGENT_CRASH: Shape(
        (
            _ATTEMPT,
            _one("code", F.CODE, "how it ended, as a code"),
            _may("exit", F.COUNT, "its exit status"),
            _may("signal", F.COUNT, "the signal that ended it"),
            _ENDED,
            _RESCUE,
            _LOG,
        )
    ),
    K.TIMEOUT: Shape(
        (
            _ATTEMPT,
            _one("bound", F.CODE, "which bound was passed"),
            _one("limit_ms", F.MS, "the bound"),
            _one("elapsed_ms", F.MS, "what was used of it"),
            _ENDED,
            _RESCUE,
            _LOG,
        )
    ),
    K.SHIP_UNVERIFIABLE: Shape(
        (
            _one("why", F.TEXT, "why what landed cannot be tied to what was reviewed"),
            _may("commit", F.COMMIT, "the commit that is said to have landed"),
            _may("main", F.COMMIT, "the main that was observed"),
            _may("remote", F.NAME, "the remote"),
            _may("ref", F.REF, "the ref on it"),
        )
    ),
    K.SCOPE_CHANGED: Shape(
        (
            _one("old", F.NAME, "the revision that it was made or approved for"),
            _one("new", F.NAME, "the revision that holds now"),
            _many("changed", F.NAME, "what is another now", 0),
            _may("successor", F.NAME, "the item that goes on"),
        )
    ),
    K.CANCELLED_IN_FLIGHT: Shape(
        (
            _one("state", F.CODE, "what is known of its effect"),
            _may("effect", F.NAME, "its effect, where one was intended"),
            _may("seq", F.COUNT, "the event that intended it"),
            _may("was", F.CODE, "the status in which it was cancelled"),
        )
    ),
    K.TRIGGER_IMPOSSIBLE: Shape(
        (
            _one("dependency", F.NAME, "what it waits on"),
            _may("outcome", F.CODE, "how that ended"),
        )
    ),
    K.IMPORT_INCONSISTENT: Shape(
        (
            _many("cycle", F.NAME, "the shortest cycle, in order", 0),
            _may("row", F.COUNT, "the row of the source"),
            _may("said", F.TEXT, "what does not fit"),
        ),
        ("cycle", "said"),
    ),
}  # fmt: skip
"""What a record of each kind has to show."""


def fits(form: Form, value: str) -> bool:
    """Whether a value has the form of its field."""
    match form:
        case Form.COMMIT:
            return is_full_sha(value)
        case Form.DIGEST:
            return _DIGEST.match(value) is not None
        case Form.COUNT | Form.MICROS | Form.MS:
            return _NUMBER.match(value) is not None and int(value) <= MAX_INTEGER
        case Form.RESULT:
            return value in list(Result)
        case Form.CODE:
            return _CODE.match(value) is not None
        case Form.NAME | Form.REF | Form.PATH | Form.TEXT:
            return bool(value.strip()) and len(value) <= _LENGTH[form]


def bounded(form: Form, value: str) -> str:
    """A text cut to what its form holds; other forms stay as they are, to be refused if they do not fit.

    Lone surrogates and NUL, which no ledger holds, become readable escapes.
    """
    most = _LENGTH.get(form)
    if most is None:
        return value
    text = value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return text if len(text) <= most else text[: most - 1] + "…"


def values_of(entries: tuple[str, ...]) -> dict[str, list[str]]:
    """The values of each field, in order; an entry without a name is under the empty one."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        name, colon, value = entry.partition(":")
        found.setdefault(name if colon else "", []).append(value if colon else entry)
    return found


def faults(kind: K, entries: tuple[str, ...], *, foreign: bool = True) -> list[str]:
    """What keeps these entries from being the evidence of this kind, each in a few words.

    ``foreign`` entries come from a command: fields that the core alone writes are refused.
    """
    shape, found = SHAPES[kind], values_of(entries)
    known = {field.name for field in shape.fields}
    lists = {f"{MORE}{field.name}" for field in shape.fields if field.most > 1}
    said = [f"{field.name} ({field.form})" for field in shape.fields
            if len(found.get(field.name, ())) < field.least]  # fmt: skip
    said = [f"{name} is missing" for name in said]
    if shape.any_of and not any(name in found for name in shape.any_of):
        said.append(f"one of {', '.join(shape.any_of)} is missing")
    said += [f"{name or 'an entry without a name'} is not a field of it"[:200]
             for name in found if name not in known | lists]  # fmt: skip
    for field in shape.fields:
        said += _faulty(field, found, foreign=foreign)
    said += [f"{name} is not {Form.COUNT}" for name in lists & found.keys()
             if len(found[name]) > 1 or not fits(Form.COUNT, found[name][0])]  # fmt: skip
    if len(entries) > MOST_ENTRIES:
        said.append(f"{len(entries)} entries, at most {MOST_ENTRIES}")
    return said


def _faulty(field: Field, found: dict[str, list[str]], *, foreign: bool) -> list[str]:
    values = found.get(field.name, [])
    if not values:
        return []
    if field.own and foreign:
        return [f"{field.name} is written by the ledger alone"]
    said = [f"{field.name} is not {field.form}" for v in values if not fits(field.form, v)][:1]
    if len(values) > field.most:
        said.append(f"{field.name} is there {len(values)} times, at most {field.most}")
    other = found.get(field.beside, []) if field.beside else values
    if len(other) != len(values):
        said.append(f"{field.name} is there {len(values)} times, {field.beside} {len(other)}")
    return said


def laid_out(kind: K, entries: tuple[str, ...]) -> list[tuple[Field, list[str], int]]:
    """The fields that are there, in the order of the shape: values, and how many were left out."""
    found = values_of(entries)
    rows = []
    for field in SHAPES[kind].fields:
        if field.name in found:
            more = found.get(MORE + field.name, ["0"])[0]
            rows.append((field, found[field.name], int(more) if fits(Form.COUNT, more) else 0))
    return rows


def notes(kind: K, entries: tuple[str, ...]) -> list[str]:
    """Entries that the shape does not know: of records that an older version wrote."""
    known = {field.name for field in SHAPES[kind].fields}
    names = ((entry, entry.partition(":")[0].removeprefix(MORE)) for entry in entries)
    return [entry for entry, name in names if ":" not in entry or name not in known]
