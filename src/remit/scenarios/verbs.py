"""The verbs of steps with their arguments, and the parts of expectations and probes.

One table says what a step may be; the reader takes it from here, and so does the reference page's
test. A verb that is written with a text alone gives it to its first argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remit.core.checks import Result
from remit.core.reconcile import RESULTS
from remit.documents.fields import Field, duration_ms, flag, number, one_of, text, texts
from remit.documents.intents import CAPACITY, INTENT
from remit.documents.marked import Marked
from remit.scenarios.clock import moment, span_us


def when(value: Marked) -> Any:
    """A moment; taken as written, and worked out when its step comes."""
    if isinstance(value.value, str):
        return moment(value.value)
    raise ValueError("a moment such as T0, T0+20m or now-12m")


def span(value: Marked) -> int:
    """A duration in microseconds."""
    if isinstance(value.value, str):
        return span_us(value.value)
    raise ValueError("a duration such as 90s, 20m or 15m40s")


def shift(value: Marked) -> int:
    """A duration that may point back, in microseconds."""
    if isinstance(value.value, str) and value.value[:1] in ("-", "+"):
        return span_us(value.value[1:]) * (-1 if value.value[0] == "-" else 1)
    return span(value)


def word(value: Marked) -> str:
    """Text, or a whole number as text."""
    if isinstance(value.value, int) and not isinstance(value.value, bool):
        return str(value.value)
    return text(value)


def pairs(value: Marked) -> tuple[tuple[str, str], ...]:
    """A mapping of texts."""
    if isinstance(value.value, dict):
        return tuple((name, word(child)) for name, child in value.value.items())
    raise ValueError("a mapping of texts")


_WORK: Final = {"work": Field(text, required=True, absent="")}
_FENCED: Final = {**_WORK, "fence": Field(number, absent=0)}

TIMES: Final = ("requested_at", "not_before", "deadline")

INTENT_PARTS: Final = {**INTENT, **{name: Field(when) for name in TIMES}}
"""An intent, with moments where a document of its own has times."""

OBSERVED: Final = {**CAPACITY, "observed_at": Field(when, required=True)}


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its arguments, and whether its work is one that was handed in before."""

    fields: dict[str, Field]
    about: str


VERBS: Final[dict[str, Verb]] = {
    "store": Verb(_WORK, "hand a message in, and leave it undecided"),
    "decide": Verb(_WORK, "validate and decide what was stored"),
    "submit": Verb(_WORK, "store and decide at once"),
    "redeliver": Verb(
        {**_WORK, "with": Field(text, absent="")},
        "hand the same message in again, or another's content",
    ),
    "observe": Verb(OBSERVED, "post an observation of capacity"),
    "advance": Verb({"for": Field(span, required=True, absent=0)}, "let time go by"),
    "step-clock": Verb({"for": Field(shift, required=True, absent=0)}, "put the wall clock wrong"),
    "lease": Verb(
        {"work": Field(text, absent=""), "ttl": Field(duration_ms, absent=0)}, "take a lease"
    ),
    "renew": Verb({**_FENCED, "ttl": Field(duration_ms, absent=0)}, "extend a lease"),
    "release": Verb({**_FENCED, "reason": Field(text, absent="")}, "hand work back"),
    "intend": Verb(
        {**_FENCED, "expires": Field(when), "payload_digest": Field(text, absent="")},
        "record that the effect is about to be sent",
    ),
    "send": Verb(
        {**_FENCED, "payload_digest": Field(text, absent="")}, "note that the request left"
    ),
    "lose": Verb({**_FENCED, "reason": Field(text, absent="")}, "note that no response came"),
    "answer": Verb(
        {
            **_FENCED,
            "response": Field(word, absent=""),
            "result": Field(text, absent=""),
            "authoritative": Field(flag, absent=False),
        },
        "report a response, or the result of PURE work",
    ),
    "expire": Verb(_WORK, "let time go by to the end of the lease, and somebody notice"),
    "end-worker": Verb(
        {**_WORK, "ago": Field(span, absent=0), "evidence": Field(text, absent="exit status seen")},
        "see that the worker is gone",
    ),
    "reconcile": Verb(
        {
            **_WORK,
            "sees": Field(one_of(*RESULTS), absent=""),
            "objects": Field(number),
            "values": Field(pairs, absent=()),
            "differences": Field(texts, absent=()),
            "consistent": Field(flag, absent=True),
            "confirmed_fence": Field(number, absent=0),
            "replacement": Field(text, absent=""),
            "jitter": Field(number, absent=0),
        },
        "look the effect up, with what the record shows",
    ),
    "cancel": Verb(
        {
            **_WORK,
            "state": Field(
                one_of("REQUESTED", "NOT_REQUESTED", "UNOBSERVABLE"), absent="REQUESTED"
            ),
        },
        "say how the cancellation stands",
    ),
    "register": Verb(
        {"document": Field(text, required=True, absent="")}, "put a later revision in force"
    ),
    "recheck": Verb(
        {"work": Field(text, absent=""), "trigger": Field(text, absent="")},
        "let admission look again",
    ),
    "finish": Verb(
        {**_WORK, "result": Field(text, absent="done")},
        "do PURE work to the end: lease, result, look-up",
    ),
    "compensate": Verb(
        {**_WORK, "with": Field(text, required=True, absent="")}, "hand the declared inverse in"
    ),
    "resolve": Verb(
        {
            **_WORK,
            "how": Field(text, required=True, absent=""),
            "reason": Field(text, absent="as the scenario says"),
        },
        "settle the open record",
    ),
    "adopt": Verb(
        {"reason": Field(text, absent="restored")}, "take the ledger into use after a restore"
    ),
    "restart": Verb({}, "stop the process and start another on the same ledger"),
    "kill-switch": Verb(
        {"state": Field(one_of("engage", "release"), required=True, absent="engage")},
        "stop new leases, or let them be given again",
    ),
    "fork": Verb({}, "branch: each one goes on from here"),
}

RESULT_NAMES: Final = tuple(str(result) for result in Result)

CHECKED: Final = {
    "result": Field(one_of(*RESULT_NAMES)),
    "observed": Field(word),
    "required": Field(word),
    "reason": Field(text),
}
"""What may be expected of one check."""

EXPECTED: Final = {
    "work": Field(text, absent=""),
    "verdict": Field(one_of("ADMIT", "REJECT", "EXPIRE", "COALESCE", "HOLD", "NOT_DECIDED")),
    "reason": Field(text),
    "row": Field(number),
    "owner": Field(text),
    "trigger": Field(text),
    "status": Field(text),
    "outcome": Field(text),
    "effect": Field(text),
    "retry": Field(one_of("RETRY", "HOLD", "SUPPRESS", "QUARANTINE", "COMPENSATE")),
    "retry_reason": Field(text),
    "triage": Field(text),
    "refused": Field(text),
    "repeated": Field(flag),
    "sends": Field(number),
    "checks": Field(lambda value: value),
}
"""What may be expected right after a step."""

PROBED: Final = {
    "ask": Field(text, required=True, absent=""),
    "of": Field(text, absent=""),
    "at": Field(text, absent=""),
    "name": Field(text, absent=""),
    "branch": Field(text, absent=""),
    "is": Field(word, "wanted"),
}

LINE: Final = {
    "check": Field(text, required=True, absent=""),
    "section": Field(text, absent="oracle"),
    "branch": Field(text, absent=""),
    "expected": Field(word, required=True, absent=""),
    "probe": Field(lambda value: value),
    "holds": Field(lambda value: value),
    "join": Field(lambda value: str(value.value), absent=" "),
}

GIVEN: Final = {
    "next_fence": Field(number, absent=1),
    "stored": Field(lambda value: value),
    "actors": Field(texts, absent=()),
    "admission_owner": Field(text, absent=""),
    "retry_owner": Field(text, absent=""),
    "work": Field(lambda value: value),
}

STARTS: Final = {
    "work": Field(text, required=True, absent=""),
    "until": Field(
        one_of("stored", "decided", "leased", "intended", "sent", "lost"),
        required=True,
        absent="stored",
    ),
    "by": Field(text, absent="worker"),
    "ttl": Field(duration_ms, absent=0),
}
"""Work that has come some way before the first step."""

TOP: Final = {
    "scenario": Field(text, "name", required=True, absent=""),
    "about": Field(text, absent=""),
    "question": Field(text, absent=""),
    "covers": Field(texts, absent=()),
    "given": Field(lambda value: value),
    "documents": Field(lambda value: value),
    "works": Field(lambda value: value),
    "labels": Field(lambda value: value),
    "steps": Field(lambda value: value, required=True),
    "oracle": Field(lambda value: value),
}
