"""The catalog of claims: what each reason code supports, how far, and what it tempts one to say.

Events hold codes and figures; this is the one place with prose for them, under a revision that every
worksheet names. A change of wording is a new revision. An unknown code gets the narrowest claim there
is, never another code's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REVISION: Final = "claims@1"
"""The revision of this catalog; a worksheet says which one it was worded by."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What may be said safely, where it ends, and what is tempting and not supported."""

    safe: str
    limit: str
    unsupported: tuple[str, ...]


def _c(safe: str, limit: str, *unsupported: str) -> Claims:
    return Claims(safe, limit, unsupported)


_STORED: Final = "It says nothing of what the work would do, or of any other work."
_NO_SEND: Final = "Nothing was sent by this decision, and nothing outside was looked at."
_LOOKED: Final = "It holds for the record that was read, at the moment at which it was read."

ADMISSION: Final[dict[str, Claims]] = {
    "ELIGIBLE": _c(
        "On the evidence named here, the work may join those that wait for a worker.",
        "Admission is permission to wait in line. It is no lease, no execution and no result.",
        "it was admitted, so it will run",
        "it was admitted, so it will be finished before its deadline",
        "the evidence was fresh then, so it is fresh now",
    ),
    "PRIOR_EFFECT_UNRECONCILED": _c(
        "An effect of this work was intended, and what became of it is not known; nothing more is"
        " sent until its record was read.",
        "What is recorded here is local. None of it says whether the effect is there.",
        "no answer came, so nothing happened",
        "the lease is over, so its worker has stopped",
        "a higher fence takes back what was sent under a lower one",
        "the message came again, so sending again is allowed",
        "the attempt failed, because it timed out",
    ),
    "PRIOR_EFFECT_PRESENT": _c(
        "The effect of this work was seen to be there, so it is not sent again.",
        _LOOKED,
        "the work may be admitted once more to be on the safe side",
    ),
    "INVALID_ENVELOPE": _c(
        "The message was stored, and its envelope breaks the rules that are named here.",
        "Only the form was checked, under one revision of the rules.",
        "what the message asks for was tried and failed",
        "a message that is corrected will be admitted",
    ),
    "CANCELLED": _c(
        "Cancellation was requested and recorded before anything was intended.",
        _NO_SEND,
        "something was undone",
        "a copy of this request elsewhere is cancelled too",
    ),
    "CANCELLATION_UNOBSERVABLE": _c(
        "Nobody can say whether the work is still wanted, so it waits.",
        _STORED,
        "no cancellation was seen, so there is none",
        "the work was cancelled",
    ),
    "OPERATION_FORBIDDEN": _c(
        "The policy in force does not list this operation.",
        "It holds for this revision of the policy.",
        "the operation is impossible",
        "another policy would refuse it as well",
    ),
    "CLASS_FORBIDDEN": _c(
        "The policy in force does not list this class of work.",
        "It holds for this revision of the policy.",
        "there is no capacity for this class",
    ),
    "REPLAY_CLASS_FORBIDDEN": _c(
        "What a second send could do is not classified, or this class is not allowed by policy.",
        "It holds for this revision of the policy.",
        "the operation is dangerous",
        "the operation is safe to repeat",
    ),
    "PAYLOAD_TOO_LARGE": _c(
        "The payload is larger than the policy in force allows.",
        "The size is the one that the message states.",
        "the destination would refuse it",
    ),
    "SAME_EFFECT": _c(
        "Other work stands for the same effect with the same operation and payload; this one follows it.",
        "Following is no result. What becomes of the other work decides.",
        "this work was done",
        "this work was refused",
    ),
    "EFFECT_CONFLICT": _c(
        "The effect belongs to other work with another operation or payload.",
        "Which of the two was meant is for whoever sent them to say.",
        "the other work is the right one",
        "the effect exists",
    ),
    "EFFECT_UNCERTAIN": _c(
        "Other work may have brought this effect about already, and nobody knows yet.",
        _NO_SEND,
        "the other work failed",
        "this work may send, since it has not sent before",
    ),
    "DEADLINE_PASSED": _c(
        "The deadline was over when the work was decided on, and execution had not started.",
        _NO_SEND,
        "the work was tried and failed",
        "the work was done too late",
    ),
    "MARGIN_IMPOSSIBLE": _c(
        "Less time is left than the margin asks for, even if the work began at once.",
        _NO_SEND,
        "the deadline is over",
        "the work was tried and failed",
    ),
    "NOT_BEFORE": _c(
        "The work may not begin yet, and waits for the time that it named.",
        _STORED,
        "it will begin at that time",
        "a worker is kept free for it",
    ),
    "RETRY_BACKOFF": _c(
        "Another attempt is permitted after a wait, and is decided on again then.",
        "The wait says nothing of what the next decision will be.",
        "it will be sent again at that time",
        "the earlier attempt failed",
    ),
    "UNMET_DEPENDENCY": _c(
        "Work that this one waits on is not verified.",
        _STORED,
        "the other work failed",
        "the other work is running",
    ),
    "DESTINATION_UNKNOWN": _c(
        "No revision of the destination is registered, so what it enforces is not known.",
        "It says nothing of the destination itself.",
        "the destination is down",
        "the destination does not exist",
    ),
    "HUMAN_DECISION_MISSING": _c(
        "A human has to decide on this work, and no decision is recorded that covers it.",
        _NO_SEND,
        "silence is consent",
        "a human has refused",
    ),
    "CAPACITY_EVIDENCE_MISSING": _c(
        "Nobody has observed the capacity for this class, so no start can be expected.",
        "Missing evidence is neither capacity nor the lack of it.",
        "no observation means that nothing is busy",
        "no observation means that nothing is free",
    ),
    "STALE_CAPACITY_EVIDENCE": _c(
        "The message is stored, its envelope holds, and what is known of capacity is too old to count.",
        "Whether the work could finish in time was not decided, either way.",
        "there is room for another message, so there is somebody to do the work",
        "fewer are waiting than may wait, so capacity is free",
        "the work waits in line, so it will run",
        "to be held is to have failed",
    ),
    "CAPACITY_EVIDENCE_FROM_FUTURE": _c(
        "The observation claims a time ahead of the ledger's clock by more than is allowed.",
        "Which of the two clocks is wrong was not decided.",
        "the newest figure is the best figure",
    ),
    "INCOMPLETE_CAPACITY_EVIDENCE": _c(
        "The observation is fresh and lacks figures that this decision may not do without.",
        "What is lacking was not taken for nought.",
        "what was not reported is zero",
        "a fresh observation is a sufficient one",
    ),
    "NO_FREE_WORKER": _c(
        "By the observation no worker will ever be free for this class.",
        "It holds for the workers that the observation counted.",
        "the work can never be done",
        "workers are busy now and will be free soon",
    ),
    "MARGIN_NOT_PRESERVED": _c(
        "By fresh evidence, less time would be left at the expected start than the margin asks for.",
        "The start is an expectation drawn from one observation. Execution had not started.",
        "the work was tried and failed",
        "the deadline is over",
        "the earlier decision to hold it was a mistake",
    ),
    "DEADLINE_UNREACHABLE": _c(
        "By fresh evidence, the work would be finished after its deadline.",
        "Start and duration are expectations drawn from one observation. Execution had not started.",
        "the work was tried and failed",
        "the margin was not preserved",
    ),
}
"""By the reason of a verdict."""

RETRY: Final[dict[str, Claims]] = {
    "PRIOR_EFFECT_UNRECONCILED": _c(
        "Somebody else could be given the work under a newer fence, but what the earlier attempt did"
        " outside is not known, so nothing may be sent.",
        "Ownership here is local; the destination was not asked.",
        "the attempt failed because no answer came",
        "the end of the lease stopped the worker",
        "a message that comes again makes the next attempt safe",
        "a newer fence removes what is there outside",
        "no answer means that nothing is there",
    ),
    "EPOCH_CHANGED": _c(
        "The ledger was adopted, so what was known of effects before has to be looked up again.",
        "What happened in the part that was lost cannot be read here.",
        "what the ledger does not hold did not happen",
    ),
    "EFFECT_PRESENT": _c(
        "The record shows the one accepted effect, matching in every comparison; no further send is"
        " needed.",
        f"{_LOOKED} It says nothing of how long the effect will last, of other effects, or of"
        " whether the work was lawful.",
        "the effect will still be there tomorrow",
        "nothing else was done outside",
        "the attempt was carried out without a fault",
    ),
    "EFFECT_ABSENT": _c(
        "The record shows that the effect is not there, and nothing that was sent can still arrive.",
        f"{_LOOKED} Another attempt is decided on by all of admission again.",
        "the attempt never sent anything",
        "the next attempt will succeed",
    ),
    "IRREVERSIBLE_ABSENT": _c(
        "The effect is not there, and it cannot be taken back, so only a human lets it be sent again.",
        _LOOKED,
        "absence makes another send safe",
    ),
    "RECORD_UNAVAILABLE": _c(
        "The record could not be read, so what became of the effect is as unknown as before.",
        "Not being able to look is no observation of absence.",
        "the record is down, so nothing was stored",
        "enough time has passed to send again",
        "no attempt is marked as completed here, so none was",
    ),
    "OTHER_RECORD": _c(
        "Another record was read than the one that the work names as authoritative.",
        "What another record shows does not count here.",
        "any record of the destination will do",
    ),
    "REQUEST_MAY_ARRIVE": _c(
        "Nothing is there yet, and a request may still be under way.",
        "That is known until the bound that the destination declares has passed.",
        "nothing is there, so nothing will be",
    ),
    "NO_BOUND": _c(
        "Nothing is there, and nobody can say until when a request may still arrive.",
        "A worker that was only paused may still send.",
        "nothing is there, so nothing will be",
        "the lease is over, so nothing can be sent any more",
    ),
    "LOOKUP_INCONSISTENT": _c(
        "Nothing was shown by a look-up that need not show everything that has arrived.",
        "Only a consistent look-up can show that something is not there.",
        "not shown is not there",
    ),
    "EVIDENCE_MISSING": _c(
        "The record shows something, but not all that the completion test compares.",
        "What was not shown was not taken for a match.",
        "something is there, so the work is done",
    ),
    "EFFECT_MISMATCH": _c(
        "What is there differs from what was accepted; somebody has to decide.",
        _LOOKED,
        "the effect is there, so the work is done",
        "the difference can be mended by sending again",
    ),
    "MORE_THAN_ONE_OBJECT": _c(
        "More than one current object stands for the one effect; somebody has to decide.",
        _LOOKED,
        "one of them is right, so the work is done",
    ),
    "PRESENT_AFTER_ABSENT": _c(
        "The effect is there although it was seen to be absent and was not intended since.",
        "Who brought it about was not observed.",
        "the later look-up is right and the earlier one was wrong",
    ),
    "NONE_AFTER_PRESENT": _c(
        "The effect was there once and is not there now; it is never sent again by itself.",
        "Who removed it was not observed.",
        "what is gone may be sent again",
    ),
    "NO_LOOKUP": _c(
        "The destination offers no way to learn what became of the effect; somebody has to decide.",
        "No amount of waiting changes that.",
        "it will settle by itself",
        "no news is good news",
    ),
    "RESULT_LOST": _c(
        "The stored result of work without consequences outside is gone; it may be made again.",
        "Making it again changes nothing outside.",
        "the work was never done",
    ),
    "ATTEMPTS_SPENT": _c(
        "The work has had as many attempts as policy allows, and is put aside.",
        "Attempts count when a lease is given, whatever became of them.",
        "the work cannot be done",
        "one more attempt would do",
    ),
    "RETRY_TIME_SPENT": _c(
        "The time within which policy allows attempts is over, and the work is put aside.",
        "It says nothing of the number of attempts.",
        "the deadline of the work is over",
    ),
    "COMPENSATION_SUBMITTED": _c(
        "The declared inverse was handed in as work of its own, with an effect of its own.",
        "Handing it in undoes nothing.",
        "the effect was undone",
    ),
}
"""By the reason of a retry decision."""

STATES: Final[dict[str, Claims]] = {
    "STORED": _c(
        "A receipt exists for the message within the boundary that it names.",
        "A receipt says nothing of the message's sense, of capacity, or of execution.",
        "it is stored, so it will be done",
    ),
    "VALID": _c(
        "The envelope keeps the rules of the revision that is named.",
        "The envelope was checked, not what it asks for.",
        "it is valid, so it is allowed",
    ),
    "OWNERSHIP": _c(
        "Within this ledger, a lease below the newest fence can change nothing.",
        "What the destination does not enforce is marked BLOCKED and is not claimed.",
        "one holder here means one request there",
    ),
}
"""By what a section is about."""

_UNKNOWN: Final = _c(
    "The decision was recorded with this reason code.",
    "This version words no more of it than the code and the checks beside it.",
    "anything that the checks do not show",
)


def of_verdict(reason: str) -> Claims:
    """The claims of a verdict."""
    return ADMISSION.get(reason, _UNKNOWN)


def of_retry(reason: str) -> Claims:
    """The claims of a retry decision."""
    return RETRY.get(reason, _UNKNOWN)
