"""A human's score of a rubric row, as the finding that it becomes.

A rubric is scored by its own text: the score names the digest of the row whose rubric was read, and
counts only while that is the row that is registered. Who may score is for the core to say.
"""

from __future__ import annotations

from typing import Final

from remit.core import commands as c
from remit.core.checks import Check, Result
from remit.core.facts import Item, Row
from remit.core.refusals import Code, Refused
from remit.core.rows import RowKind, Verdict
from remit.ports import ReadTx

LONGEST_REASON: Final = 1_000
"""Longest reason of a score, in characters."""


def score_of(
    tx: ReadTx, item: Item, row_id: str, *, passed: bool, reason: str, digest: str
) -> c.RecordVerification | Refused:
    """The finding of a score, bound to ``digest`` or else to the row as it is registered now.

    Refuses ``BAD_INPUT`` where it is no rubric row, nothing has shipped, or the reason is empty or
    longer than ``LONGEST_REASON``.
    """
    row = tx.load([("row", row_id)])["row", row_id]
    if not isinstance(row, Row) or row.kind != RowKind.RUBRIC or item.work is None:
        return Refused(
            Code.BAD_INPUT,
            f"cannot score {row_id!r} of {item.id}: expected a rubric row and shipped work",
            f"see its rows with 'remit show {item.id}'; commands are run by 'remit verify'",
        )
    if not reason.strip() or len(reason) > LONGEST_REASON:
        return Refused(
            Code.BAD_INPUT,
            f"cannot score {row.id}: the reason has {len(reason.strip())} characters, expected 1 to"
            f" {LONGEST_REASON}",
            f"say why in short; more goes into 'remit note {item.id}'",
        )
    bound = digest or row.digest
    result = Result.PASS if passed else Result.FAIL
    check = Check("rubric", result, reason, "the rubric of the row is met", bound, "")
    verdict = Verdict.VERIFIED if passed else Verdict.SHIP_VERIFY_GAP
    finding = c.RowFinding(row.id, bound, verdict.value, "SCORED_BY_HUMAN", 1, 0, "", (check,))
    return c.RecordVerification(item.id, item.work.shipped, (finding,), "")
