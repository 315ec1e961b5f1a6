"""One typed constructor for each kind of triage record: what it has to show, by name.

Whoever opens a record calls one of these, so that a missing field is an error of types and not of the
day. Foreign texts are cut to their bounds, lists to their first entries with the number that was left
out. What else does not fit (a commit that is none) is refused where the record is opened.

``give_up`` and ``aside`` make the commands that open a record from outside the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Text
from remit.core.checks import Result
from remit.core.commands import FailWork, OpenTriage
from remit.core.triage_kinds import TriageKind as K
from remit.core.triage_shapes import MORE, MOST_LISTED, SHAPES, bounded

Value = str | int | Sequence[str | int] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A kind with its entries; made by the constructors here and by nothing else."""

    kind: K
    entries: tuple[str, ...]


def _made(kind: K, **values: Value) -> Evidence:
    entries: list[str] = []
    for field in SHAPES[kind].fields:
        given = values[field.name]
        if given is None or given == "":
            continue
        listed = [given] if isinstance(given, str | int) else list(given)
        entries += [f"{field.name}:{bounded(field.form, str(v))}" for v in listed[:MOST_LISTED]]
        if len(listed) > MOST_LISTED:
            entries.append(f"{MORE}{field.name}:{len(listed) - MOST_LISTED}")
    return Evidence(kind, tuple(entries))


def give_up(
    evidence: Evidence, item: str, fence: int, reason: Text = NO_TEXT, spent: int | None = None
) -> FailWork:
    """What the holder of a lease says to put its item aside."""
    return FailWork(item, fence, evidence.kind.value, reason, evidence.entries, spent)


def aside(evidence: Evidence, item: str, reason: Text = NO_TEXT) -> OpenTriage:
    """What anybody enrolled says to put an item aside that nobody holds, or that another holds."""
    return OpenTriage(item, evidence.kind.value, reason, evidence.entries)


def verifier_gap(
    *,
    commit: str,
    row: Sequence[str] = (),
    missing: Sequence[str] = (),
    outside: Sequence[str] = (),
    diff: str = "",
    log: Sequence[str] = (),
) -> Evidence:
    """What shipped was not proved: rows, artifacts, or paths outside the scope."""
    return _made(
        K.VERIFIER_GAP, commit=commit, row=row, missing=missing, outside=outside, diff=diff, log=log
    )


def contradicted(*, commit: str, row: Sequence[str], log: Sequence[str] = ()) -> Evidence:
    """A row gave two answers on one commit."""
    return _made(K.CONTRADICTED, commit=commit, row=row, log=log)


def failed_rows(
    *,
    commit: str,
    row: Sequence[str],
    requirement: Sequence[str],
    found: Sequence[str] = (),
    log: Sequence[str] = (),
    main: str = "",
) -> Evidence:
    """Rows failed on what would land; ``requirement`` and ``found`` in the order of the rows."""
    return _made(
        K.TEST_FAILURE,
        commit=commit,
        row=row,
        requirement=requirement,
        found=found,
        log=log,
        main=main,
    )


def merge_conflict(
    *, base: str, head: str, main: str, path: Sequence[str], way: str = "", log: str = ""
) -> Evidence:
    """The reviewed head does not go onto the main that was observed."""
    return _made(K.MERGE_CONFLICT, base=base, head=head, main=main, path=path, way=way, log=log)


def dirty_tree(*, tree: str, path: Sequence[str], attempt: str = "", head: str = "") -> Evidence:
    """A tree holds changes that no commit does; ``tree`` is clone, checkout or host."""
    return _made(K.DIRTY_TREE, tree=tree, path=path, attempt=attempt, head=head)


def remote_divergence(*, remote: str, ref: str, expected: str, observed: str = "") -> Evidence:
    """The remote's main no longer holds what was observed of it; ``observed`` empty: it is gone."""
    return _made(K.REMOTE_DIVERGENCE, remote=remote, ref=ref, expected=expected, observed=observed)


def ambiguity(*, unclear: str, asks: str, about: str = "") -> Evidence:
    """Something is not clear, and who can say."""
    return _made(K.AMBIGUITY, unclear=unclear, asks=asks, about=about)


def conflicting_decisions(*, decision: Sequence[str], about: Sequence[str] = ()) -> Evidence:
    """Decisions in force say different things; all of them by id."""
    return _made(K.CONFLICTING_DECISIONS, decision=decision, about=about)


def budget_exhausted(
    *,
    scope: Sequence[str],
    limit: Sequence[int],
    settled: Sequence[int],
    reserved: Sequence[int],
    stops: Sequence[str] = (),
    fence: int | None = None,
    spent: int | None = None,
    reservation: int | None = None,
) -> Evidence:
    """Scopes whose money is used up, in micro-units; ``stops`` is for the core alone."""
    return _made(
        K.BUDGET_EXHAUSTED,
        scope=scope,
        limit=limit,
        settled=settled,
        reserved=reserved,
        stops=stops,
        fence=fence,
        spent=spent,
        reservation=reservation,
    )


def refusal(*, code: str, said: str = "") -> Evidence:
    """Leased work was declined; ``said`` is the digest of the reason as a blob, if it is one."""
    return _made(K.REFUSAL, code=code, said=said)


def effect_uncertain(
    *,
    effect: str,
    state: str,
    why: str,
    record: str = "",
    observation: str = "",
    looks: int | None = None,
    seq: int | None = None,
) -> Evidence:
    """Nothing can say what became of an effect."""
    return _made(
        K.EFFECT_UNCERTAIN,
        effect=effect,
        state=state,
        why=why,
        record=record,
        observation=observation,
        looks=looks,
        seq=seq,
    )


def effect_mismatch(
    *, effect: str, observation: str, why: str, record: str = "", difference: Sequence[str] = ()
) -> Evidence:
    """What was observed contradicts what was intended."""
    return _made(
        K.EFFECT_MISMATCH,
        effect=effect,
        observation=observation,
        why=why,
        record=record,
        difference=difference,
    )


def poison(
    *, attempts: int, bound: int, lease: str = "", effect: str = "", observation: str = ""
) -> Evidence:
    """Every attempt ended without a result."""
    return _made(
        K.POISON,
        attempts=attempts,
        bound=bound,
        lease=lease,
        effect=effect,
        observation=observation,
    )


def probe_failed(
    *,
    probe: Sequence[str],
    result: Sequence[Result],
    observed: Sequence[str] = (),
    attempt: str = "",
) -> Evidence:
    """Probes that escaped (FAIL) or could not run (BLOCKED); lists in the order of the probes."""
    return _made(K.PROBE_FAILED, probe=probe, result=result, observed=observed, attempt=attempt)


def secret_found(
    *,
    rule: Sequence[str],
    path: Sequence[str],
    line: Sequence[int],
    attempt: str = "",
    commit: str = "",
) -> Evidence:
    """Where secrets were found, and by which rules; never the secrets themselves."""
    return _made(K.SECRET_FOUND, rule=rule, path=path, line=line, attempt=attempt, commit=commit)


def scope_breach(
    *, outside: Sequence[str], scope: Sequence[str], base: str = "", head: str = ""
) -> Evidence:
    """What came back changes paths outside the scope."""
    return _made(K.SCOPE_BREACH, outside=outside, scope=scope, base=base, head=head)


def agent_crash(
    *,
    attempt: str,
    code: str,
    terminated: Result,
    exit_status: int | None = None,
    signal: int | None = None,
    rescue: Sequence[str] = (),
    log: str = "",
) -> Evidence:
    """An agent ended otherwise than it should; ``rescue`` keeps what it did not push."""
    return _made(
        K.AGENT_CRASH,
        attempt=attempt,
        code=code,
        exit=exit_status,
        signal=signal,
        terminated=terminated,
        rescue=rescue,
        log=log,
    )


def timeout(
    *,
    attempt: str,
    bound: str,
    limit_ms: int,
    elapsed_ms: int,
    terminated: Result,
    rescue: Sequence[str] = (),
    log: str = "",
) -> Evidence:
    """An agent passed a bound: which, how long it is, and how long it took."""
    return _made(
        K.TIMEOUT,
        attempt=attempt,
        bound=bound,
        limit_ms=limit_ms,
        elapsed_ms=elapsed_ms,
        terminated=terminated,
        rescue=rescue,
        log=log,
    )


def ship_unverifiable(
    *, why: str, commit: str = "", main: str = "", remote: str = "", ref: str = ""
) -> Evidence:
    """What landed cannot be tied to what was reviewed."""
    return _made(K.SHIP_UNVERIFIABLE, why=why, commit=commit, main=main, remote=remote, ref=ref)


def scope_changed(
    *, old: str, new: str, changed: Sequence[str] = (), successor: str = ""
) -> Evidence:
    """What the item was made or approved for is another now."""
    return _made(K.SCOPE_CHANGED, old=old, new=new, changed=changed, successor=successor)


def cancelled_in_flight(
    *, state: str, effect: str = "", seq: int | None = None, was: str = ""
) -> Evidence:
    """The work was cancelled while it was under way."""
    return _made(K.CANCELLED_IN_FLIGHT, state=state, effect=effect, seq=seq, was=was)


def trigger_impossible(*, dependency: str, outcome: str = "") -> Evidence:
    """What the item waits on can no longer come."""
    return _made(K.TRIGGER_IMPOSSIBLE, dependency=dependency, outcome=outcome)


def import_inconsistent(
    *, cycle: Sequence[str] = (), row: int | None = None, said: str = ""
) -> Evidence:
    """What was imported contradicts itself."""
    return _made(K.IMPORT_INCONSISTENT, cycle=cycle, row=row, said=said)
