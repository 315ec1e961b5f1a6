"""Starting: the argument list and the environment that a declaration makes for one attempt.

Placeholders are replaced once, word by word; what comes in their place is never looked at again, so a
title or a path cannot bring in a further one. The environment starts empty: what is declared, what
finds programs, and where the files are.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.drain.agents.exchange import Exchange
from remit.drain.agents.listening import MICROS
from remit.ports.agent import Agent, BriefWay

ARGUMENT_BYTES: Final = 120_000
"""The longest brief that goes in as an argument; Linux takes less than 128 KiB."""

PASSED: Final = ("PATH", "LANG", "LC_ALL", "TZ", "TERM")
_BRACED: Final = re.compile(r"\{(\w+)\}")


class CannotStart(ValueError):  # noqa: N818  # an answer to the caller, named by what it says
    """A declaration that does not fit the attempt."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt, as an agent is to be told of it.

    ``desk`` is where it starts, the clone itself where there is none; with one, ``REMIT_CHANGE`` names the
    clone. ``command`` stands for ``{command}``. ``spend_micros`` is what is reserved, 0 for nothing. ``extra``
    is added to the environment last.
    """

    item: str
    attempt: str
    clone: Path
    exchange: Exchange
    scope: tuple[str, ...] = ()
    spend_micros: int = 0
    model: str = ""
    command: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    desk: Path | None = None


def usd(micros: int) -> str:
    """Micro-units as dollars, exactly."""
    return f"{micros // MICROS}.{micros % MICROS:06d}"


def argv_of(agent: Agent, job: Job, brief: str) -> list[str]:
    """The argument list. Raises ``CannotStart`` where it cannot be made."""
    if agent.brief is BriefWay.ARGUMENT and len(brief.encode()) > ARGUMENT_BYTES:
        raise CannotStart(
            f"cannot start {agent.name}: the brief has {len(brief.encode())} bytes, and an argument"
            f" holds {ARGUMENT_BYTES}; declare brief: stdin or file"
        )
    values = _values(job, brief)
    words: list[str] = []
    for word in agent.command:
        words += job.command if word == "{command}" else [filled(word, values)]
    if not words:
        raise CannotStart(f"cannot start {agent.name}: no command was named for it")
    for more, wanted in ((agent.with_model, job.model), (agent.with_spend, job.spend_micros)):
        words += [filled(word, values) for word in more if wanted]
    return words


def environment_of(agent: Agent, job: Job, host: Mapping[str, str] = os.environ) -> dict[str, str]:
    """All that the agent finds in its environment."""
    found = {name: host[name] for name in (*PASSED, *agent.environment) if name in host}
    values = _values(job, "")
    found["HOME"] = str(job.exchange.folder / "home")
    found |= {name: filled(text, values) for name, text in agent.set}
    found |= {
        "REMIT_ATTEMPT": job.attempt,
        "REMIT_BRIEF": str(job.exchange.brief),
        "REMIT_ITEM": job.item,
        "REMIT_PROGRESS": str(job.exchange.progress),
        "REMIT_REPORT": str(job.exchange.report),
        "REMIT_SCOPE": "\n".join(job.scope),
    }
    if job.desk is not None:
        found["REMIT_CHANGE"] = str(job.clone)
    return found | dict(job.extra)


def filled(word: str, values: Mapping[str, str]) -> str:
    """A word with its placeholders replaced, each once."""
    return _BRACED.sub(lambda found: values.get(found[1], found[0]), word)


def _values(job: Job, brief: str) -> dict[str, str]:
    return {
        "attempt": job.attempt,
        "brief": str(job.exchange.brief),
        "brief_text": brief,
        "clone": str(job.clone),
        "exchange": str(job.exchange.folder),
        "item": job.item,
        "model": job.model,
        "progress": str(job.exchange.progress),
        "python": sys.executable,
        "report": str(job.exchange.report),
        "spend_micros": str(job.spend_micros),
        "spend_usd": usd(job.spend_micros),
    }


def missing(agent: Agent, argv: Sequence[str], host: Mapping[str, str] = os.environ) -> str:
    """The program of a command that is not to be found on this machine; empty where it is."""
    import shutil

    if not argv or "{" in argv[0]:
        return ""
    return "" if shutil.which(argv[0], path=host.get("PATH", "")) else f"{agent.name}: {argv[0]}"
