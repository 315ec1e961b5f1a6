"""Carrying one job to its end: call the handler, and end the lease by what came of it.

A lease never ends by being forgotten. Where a handler raised or did nothing, the error is reported as
a claim and the item handed back, which counts as an attempt; where its effect was intended, the
outcome is unknown and the item is held. PURE work ships on the digest of what the handler returned.
What is said after a lease was lost is offered all the same: the core refuses it and keeps it as late
evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.commands import Command, Text
from remit.core.effect_facts import ReplayClass
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, RemitError, StoreUnavailable
from remit.service.engine import Answer
from remit.workers.app import Handler
from remit.workers.endings import (
    Ended,
    Ending,
    GiveUp,
    HandBack,
    IntentRefused,
    LeaseLost,
    plain,
    said,
)
from remit.workers.job import GONE, Job

KEPT_CHARS: Final = 4_000_000
"""Longest result of PURE work whose text is kept beside its digest."""

NOT_NOW: Final = frozenset(
    (Code.KILL_SWITCH_ON, Code.TOO_EARLY, Code.DEADLINE_PASSED, Code.WORK_CANCELLED)
)
"""Refusals of an intent that say nothing against the handler: the item goes back uncounted."""

Call = Callable[[Handler, Job], Any]
"""Calls a handler and returns what it returned."""

More = Callable[[], Sequence[Command]]
"""What may ride along in the commit that ends a job, such as the lease of the next."""


def carry(handler: Handler, job: Job, call: Call, more: More = tuple) -> list[Answer]:
    """Do one job; returns the answers to what rode along. ``job.ended`` says what came of it."""
    try:
        try:
            result = call(handler, job)
        except BaseException as error:  # noqa: BLE001  # whatever a handler raises, its lease ends
            _raised(job, error)
            return []
        return _returned(job, result, more)
    except (StoreUnavailable, OutcomeUnknown) as error:
        job.tenure.lose(str(error.code))
        job.ended = job.ended or Ended(Ending.LOST, str(error.code), said(error))
        return []
    except RemitError as error:  # what was to end the lease was refused, and it still holds
        _failed(job, str(error.code), said(error))
        return []


def _returned(job: Job, result: object, more: More) -> list[Answer]:
    if job.over:
        job.ended = job.ended or Ended(Ending.HANDED_BACK, job.tenure.why)
    if job.ended is not None:
        return []
    if job.envelope.replay_class == ReplayClass.PURE:
        return _result(job, result, more)
    if job.intended:
        job.uncertain("RETURNED_WITHOUT_ANSWER")
    else:
        _failed(job, "RETURNED_WITHOUT_EFFECT", "the handler returned and intended no effect")
    return []


def _result(job: Job, result: object, more: More) -> list[Answer]:
    """PURE work: the digest of its result is what completes it."""
    try:
        text, digest = digest_of_result(result)
    except (TypeError, ValueError) as error:
        _failed(job, "RESULT_UNFIT", said(error))
        return []
    report = k.ReportEffect(
        job.item.id, job.fence, "", digest, Text(text), spent_micros=job.spent_micros
    )
    also = [] if job.lost else list(more())
    answers = job.desk.ask([report, *also], job.last_s)
    job.closed(answers[:1], 0, Ended(Ending.REPORTED, digest))
    return answers[1:]


def digest_of_result(result: object) -> tuple[str, str]:
    """The text that is kept of a result, and its digest: of bytes or text as they are, else of JSON.

    Raises TypeError or ValueError for what JSON cannot hold.
    """
    if isinstance(result, bytes):
        data = result
    elif isinstance(result, str):
        data = result.encode()
    else:
        shown = json.dumps(
            result, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
        data = shown.encode()
    digest = hashlib.sha256(data).hexdigest()
    if len(data) > KEPT_CHARS or b"\0" in data:
        return "", digest
    try:
        return data.decode(), digest
    except UnicodeDecodeError:
        return "", digest


def _raised(job: Job, error: BaseException) -> None:
    text = said(error)
    if job.ended is not None:
        job.ended = Ended(job.ended.ending, job.ended.reason, text)
    elif job.over:
        job.ended = Ended(Ending.HANDED_BACK, job.tenure.why, text)
    elif isinstance(error, LeaseLost) and not job.intended:
        job.close([job.release(job.tenure.why)], Ended(Ending.LOST, job.tenure.why))
    elif job.intended:
        job.uncertain(plain(f"HANDLER_RAISED {text}", 500))
    elif isinstance(error, HandBack):
        _back(job, f"HANDED_BACK {error}")
    elif isinstance(error, GiveUp):
        fail = c.FailWork(job.item.id, job.fence, error.kind, Text(plain(str(error))), error.evidence, job.spent_micros)  # fmt: skip
        job.close([fail], Ended(Ending.GIVEN_UP, error.kind))
    elif isinstance(error, IntentRefused) and error.code in NOT_NOW:
        _back(job, str(error.code))
    else:
        reason = str(error.code) if isinstance(error, IntentRefused) else "HANDLER_RAISED"
        _failed(job, reason, text)


def _back(job: Job, reason: str) -> None:
    ended = Ended(Ending.HANDED_BACK, plain(reason, 80))
    job.close([job.release(plain(reason, 500))], ended)


def _failed(job: Job, reason: str, text: str) -> None:
    """Nothing was intended: the error is reported, so the attempt counts, and the item goes back."""
    report = c.ReportProgress(job.item.id, job.fence, Text(text), job.spent_micros)
    job.close([report, job.release(reason)], Ended(Ending.FAILED, reason, text))


def give_back(job: Job, reason: str) -> bool:
    """Hand a running job's item back, whatever its handler does; says whether its lease is ended.

    From here on its handler can begin nothing. Nothing has to be known of what it did: the core holds
    an item whose effect was intended, and gives back only what sent nothing.
    """
    job.tenure.lose(reason)
    (answer,) = job.desk.ask([job.release(reason)], job.last_s)
    if isinstance(answer, Refused):
        return answer.code in GONE
    job.tenure.end()
    return True
