"""Facts of a round of work from hand-in on, and of what its verification found.

They are parts of an item. What a reviewer approved and what a verifier judged is kept with the
digests that it is bound to, so that a change of any of them shows, whoever made it and when.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick


@quick
@dataclass(frozen=True, slots=True)
class Push:
    """The newest push that was intended of a round of work, of what was tested before.

    ``commit`` is exactly what may land on ``ref`` of ``remote``, and only where that still names
    ``expected``; of a pull request it is the approved head, which a branch of its own is to name.
    ``markers`` says that the remote keeps remit's marker of it, or the host one request for a branch.
    ``in_flight_ms`` is how long a push may be under way after its sender has ended, None where nobody
    can say. ``seq`` is the event that holds what was tested.
    """

    effect: str
    way: str
    commit: str
    expected: str
    remote: str
    ref: str
    markers: bool
    in_flight_ms: int | None
    seq: int


@quick
@dataclass(frozen=True, slots=True)
class Work:
    """What was handed in, reviewed and observed of the current round of work.

    ``bound`` pairs each row and requirement with its digest as it was at the approval. ``waived``
    pairs rows that the newest verification let go unproved with the decision that allowed it.
    ``review_proof`` is how the approval was proved, empty where it was only asserted. ``push`` is the
    newest push of it that was intended, ``request`` the pull request.
    """

    lease: str
    branch: str
    base: str
    head: str
    tree: str
    completed_seq: int
    reviewer: str
    review_seq: int
    shipped: str
    shipped_base: str
    ship_seq: int
    artifact_diff: str
    bound: tuple[tuple[str, str], ...] = ()
    waived: tuple[tuple[str, str], ...] = ()
    review_proof: str = ""
    push: Push | None = None
    request: Push | None = None


@quick
@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The newest result of one verification row, and the event that holds its evidence.

    Where it gave no answer, the last answer at that commit stays before it in ``Item.results``, and
    a contradiction stays for good. ``executed`` is how many checks ran; ``answered`` says whether
    the row answered at all at that commit. ``digest`` is the row's, ``covers`` its requirement's.
    """

    row: str
    requirement: str
    result: str
    commit: str
    executed: int
    seq: int
    answered: bool
    digest: str
    covers: str
