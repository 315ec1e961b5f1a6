"""Decisions on decisions: propose, accept, reject.

Anyone enrolled may propose. Only a human accepts or rejects, over exactly the record that was looked
at, and an agent never does so for one (``agentMayAcceptForHuman`` is false, INV-15). A rejected option
keeps its reason, and whatever is superseded says by what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from remit.core import commands as c
from remit.core import decision_events as e
from remit.core.canonical import digest_of
from remit.core.decide.asking import bad, kind_of
from remit.core.decide.conflicts import put_conflicts_aside
from remit.core.decide.proving import Act, enact
from remit.core.decisions import (
    AGENT_MAY_ACCEPT_FOR_HUMAN,
    Decision,
    DecisionKind,
    DecisionState,
    Option,
    choice_digest,
)
from remit.core.facts import ActorKind
from remit.core.rechecking import make_due
from remit.core.refusals import Code, Refused
from remit.core.view import Draft

MAX_OPTIONS: Final = 20
MAX_SCOPE: Final = 1_000
MAX_TITLE: Final = 500
MAX_TEXT: Final = 4_000
MAX_HOLDS: Final = 100_000
"""Most holds that one decision lets admission look at again."""

MAX_REASON: Final = 1_000
"""Longest reason why an option is not chosen, in characters."""

CURRENT: Final = (DecisionState.PROPOSED, DecisionState.ACCEPTED)
"""States in which another may take a decision's place."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_ABOUT: Final = re.compile(r"[a-z][a-z-]{0,31}/[^\x00-\x20\x7f-\xa0|]{1,200}\Z")


def _texts(cmd: c.ProposeDecision) -> Refused | None:
    if not 0 < len(cmd.title.strip()) <= MAX_TITLE or not cmd.title.isprintable():
        return bad("title", cmd.title, f"1 to {MAX_TITLE} printable characters in one line")
    for what, text in (("question", cmd.question), ("rationale", cmd.rationale)):
        if len(text) > MAX_TEXT:
            return bad(what, f"{len(text)} characters", f"at most {MAX_TEXT}")
    if not 1 <= len(cmd.options) <= MAX_OPTIONS:
        return bad("options", len(cmd.options), f"1 to {MAX_OPTIONS} options")
    for option in cmd.options:
        if not _LABEL.match(option.label):
            return bad("option", option.label, "1 to 64 letters, digits or . _ -")
        if not option.text.strip() or max(len(option.text), len(option.against)) > MAX_REASON:
            return bad(f"option {option.label}", option.text, f"1 to {MAX_REASON} characters")
    labels = [option.label for option in cmd.options]
    if len(set(labels)) < len(labels):
        return bad("options", ", ".join(labels), "labels that differ")
    if cmd.recommended and cmd.recommended not in labels:
        return bad("recommended option", cmd.recommended, "one of " + ", ".join(labels))
    return None


def _about(draft: Draft, cmd: c.ProposeDecision) -> Refused | None:
    if cmd.kind not in list(DecisionKind):
        return bad("decision kind", cmd.kind, "one of " + ", ".join(DecisionKind))
    if not 1 <= len(cmd.scope) <= MAX_SCOPE or len(set(cmd.scope)) < len(cmd.scope):
        return bad("scope", len(cmd.scope), f"1 to {MAX_SCOPE} things, each named once")
    for about in cmd.scope:
        if not _ABOUT.match(about) or not about.isprintable():
            return bad("scope", about, "KIND/LABEL, such as requirement/login or effect/PAY-7")
    if not _DIGEST.match(cmd.proposal):
        return bad("proposal", cmd.proposal, "a digest: 64 hexadecimal digits in lower case")
    if cmd.expires_at is not None and cmd.expires_at <= draft.now:
        return bad("expiry", cmd.expires_at, f"a time after {draft.now}")
    if not cmd.supersedes:
        return None
    old = _find(draft, cmd.supersedes)
    if isinstance(old, Refused):
        return old
    if old.kind != cmd.kind:
        return bad("supersedes", old.id, f"a decision of the kind {cmd.kind}, this is {old.kind}")
    return None


def _find(draft: Draft, name: str) -> Decision | Refused:
    found = draft.get("decision", name)
    if isinstance(found, Decision):
        return found
    return Refused(
        Code.NOT_FOUND,
        f"there is no decision {name!r}",
        "see 'remit decision list'",
        {"decision": name},
    )


def record_digest(cmd: c.ProposeDecision, by: str) -> str:
    """The digest of all that is proposed, and of who proposes it."""
    return digest_of(["decision", by, asdict(cmd)])


def _propose(draft: Draft, cmd: c.ProposeDecision) -> Refused | None:
    refused = _texts(cmd) or _about(draft, cmd)
    if refused is not None:
        return refused
    event = e.DecisionProposed(
        cmd.kind,
        cmd.title,
        cmd.question,
        cmd.options,
        cmd.recommended,
        cmd.rationale,
        cmd.scope,
        cmd.plan,
        cmd.proposal,
        cmd.supersedes,
        cmd.expires_at,
        record_digest(cmd, draft.ask.actor),
    )
    draft.open("decision", f"D-{draft.counter('decision') + 1}", event)
    return None


def _open(draft: Draft, name: str, record: str, doing: str) -> Decision | Refused:
    """The decision, if a human asks and it waits for one in the revision that was looked at."""
    found = _find(draft, name)
    if isinstance(found, Refused):
        return found
    if kind_of(draft) is not ActorKind.HUMAN and not AGENT_MAY_ACCEPT_FOR_HUMAN:
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot {doing} {name} as {draft.ask.actor}: only a human decides",
            "let a human do it: --as NAME --key FILE",
            {"actor": draft.ask.actor, "decision": name},
        )
    if record and record != found.record:
        return Refused(
            Code.DECISION_STALE,
            f"cannot {doing} {name}: {record[:12]} was looked at, its record is"
            f" {found.record[:12]}",
            f"look at it again with 'remit decision show {name}'",
            {"decision": name, "record": found.record},
        )
    if found.state is not DecisionState.PROPOSED:
        return Refused(
            Code.DECISION_SETTLED,
            f"cannot {doing} {name}: it is {found.state}",
            "propose one that supersedes it",
            {"decision": name, "state": str(found.state)},
        )
    if found.expires_at is not None and draft.now >= found.expires_at:
        return Refused(
            Code.DECISION_EXPIRED,
            f"cannot {doing} {name}: it held until {found.expires_at}",
            "propose it anew",
            {"decision": name, "expires_at": found.expires_at},
        )
    return found


def _accept(draft: Draft, cmd: c.AcceptDecision) -> Refused | None:
    found = _open(draft, cmd.decision, cmd.record, "accept")
    if isinstance(found, Refused):
        return found
    options = {option.label: option for option in found.options}
    chosen = cmd.chosen or found.recommended
    if chosen not in options:
        return bad("choice", chosen, "one of " + ", ".join(options), "name it with --choose")
    rejected = _reasons(options, chosen, cmd.rejected)
    if isinstance(rejected, Refused):
        return rejected
    if len(cmd.rationale) > MAX_TEXT:
        return bad("rationale", f"{len(cmd.rationale)} characters", f"at most {MAX_TEXT}")
    option = options[chosen]
    event = e.DecisionAccepted(
        found.record,
        chosen,
        choice_digest(option.text),
        option.permits,
        rejected,
        cmd.rationale,
        found.plan,
        found.proposal,
    )
    acts: list[Act] = [("decision", found.id, event)]
    old = draft.get("decision", found.supersedes) if found.supersedes else None
    if isinstance(old, Decision) and old.state in CURRENT:
        acts.append(("decision", old.id, e.DecisionSuperseded(found.id)))
    refused = enact(draft, f"accept {found.id}", *acts)
    if refused is None:
        put_conflicts_aside(draft, found.id)
        make_due(draft, f"decision:{found.kind}", MAX_HOLDS)
    return refused


def _reasons(
    options: dict[str, Option], chosen: str, given: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...] | Refused:
    """Why each option that was not chosen is rejected: as said now, or as it was proposed."""
    said = dict(given)
    if len(said) < len(given) or not said.keys() <= options.keys() - {chosen}:
        return bad("rejected options", ", ".join(said), "options that were not chosen, each once")
    found = []
    for label, option in options.items():
        reason = said.get(label) or option.against
        if label == chosen:
            continue
        if not reason.strip() or len(reason) > MAX_REASON:
            hint = f"give it with --reject {label}=REASON"
            return bad(f"reason against {label}", reason, f"1 to {MAX_REASON} characters", hint)
        found.append((label, reason))
    return tuple(found)


def _reject(draft: Draft, cmd: c.RejectDecision) -> Refused | None:
    found = _open(draft, cmd.decision, cmd.record, "reject")
    if isinstance(found, Refused):
        return found
    if not 0 < len(cmd.reason.strip()) <= MAX_TEXT:
        return bad("reason", cmd.reason, f"1 to {MAX_TEXT} characters")
    event = e.DecisionRejected(found.record, cmd.reason)
    return enact(draft, f"reject {found.id}", ("decision", found.id, event))


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.ProposeDecision: _propose,
    c.AcceptDecision: _accept,
    c.RejectDecision: _reject,
}
