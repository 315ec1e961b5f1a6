"""Pull requests of a host as a destination: a branch that is pushed, and a request that is opened.

The host is spoken to by its own command line, as declared: argument lists with placeholders, one that
opens a request and one that lists those of a branch as JSON. Nothing here knows a host's protocol, and
no credential: the program finds its own, as it does for the person.

Sending pushes the approved head to a branch of its own, which either does not exist yet or names that
head already, and then opens the request, once. A program that fails after it was started may have
opened it, so that is no answer. Looking up asks the list: a request of another repository's branch of
the same name is none of ours, and one that was closed counts only where there is no other. Where the
host takes one open request for a branch, asking again makes no second one; that is what is declared as
its key.

The flags and fields of ``GITHUB`` are those of GitHub's command line: its manual's pages for
``gh pr create`` and ``gh pr list`` (https://cli.github.com/manual/).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.core.gitfacts import is_full_sha, redact_text
from remit.core.pushes import request_branch
from remit.destinations.git_push import Bounded, GitDestination, GitError, pushed
from remit.machine.processes import Finished, run_bounded
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    unavailable,
)

OUTPUT_LIMIT_BYTES: Final = 1_048_576
_SAID_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class HostCommands:
    """How a host's command line is called; ``{branch}``, ``{base}``, ``{title}`` and ``{body}`` are filled in.

    ``find`` prints a JSON list of requests, whose fields are named as ``gh`` names them: ``url``,
    ``state`` (OPEN, MERGED, CLOSED), ``headRefOid``, and where the host has them ``baseRefName``,
    ``isCrossRepository`` and ``mergeCommit`` with its ``oid``.
    """

    create: tuple[str, ...]
    find: tuple[str, ...]


GITHUB: Final = HostCommands(
    create=(
        "gh",
        "pr",
        "create",
        "--head={branch}",
        "--base={base}",
        "--title={title}",
        "--body={body}",
    ),
    find=(
        "gh",
        "pr",
        "list",
        "--head={branch}",
        "--base={base}",
        "--state=all",
        "--limit=100",
        "--json=url,state,headRefOid,baseRefName,isCrossRepository,mergeCommit",
    ),
)
"""GitHub's own."""


@dataclass(frozen=True, slots=True)
class PullRequests:
    """Requests to bring branches of ``remote`` into ``base``, from the repository ``home``."""

    name: str
    home: Path
    remote: str
    base: str
    declared: Enforced
    commands: HostCommands = GITHUB
    inherited: Mapping[str, str] | None = field(default=None)

    @property
    def enforced(self) -> Enforced:
        """One open request for a branch, and a list to look it up in; no fence and no bound."""
        return self.declared

    def send(self, request: Request) -> Response:
        """Push the branch where it is not there yet, and open the request once."""
        what = f"open {request.effect_id}"
        commit, title, body = _asked(request, what)
        branch = request_branch(request.effect_id)
        self._push(branch, commit, request.timeout_ms, what)
        argv = _filled(self.commands.create, branch, self.base, title, body)
        try:
            done = self._run(argv, request.timeout_ms)
        except OSError as error:
            raise NotSent(
                f"cannot {what}: {argv[0]} could not be started: {error.strerror}",
                "install it, or declare the host's program in .remit/config.toml",
            ) from None
        if done.timed_out:
            raise NoAnswer(f"cannot {what}: {argv[0]} did not end in time", "look it up")
        if done.exit_code:
            said = _said(done)
            raise NoAnswer(
                f"cannot {what}: {argv[0]} ended with {done.exit_code}: {said}", "see why"
            )
        text = done.stdout.whole().decode("utf-8", "replace").strip()
        return Response(text.splitlines()[-1][:_SAID_CHARS] if text else "", replayed=None)

    def look_up(self, look_up: LookUp) -> Seen:
        """Ask the host's list which request there is of the branch."""
        what = f"look {look_up.effect_id} up"
        branch = request_branch(look_up.effect_id)
        argv = _filled(self.commands.find, branch, self.base, "", "")
        try:
            done = self._run(argv, look_up.timeout_ms)
        except OSError as error:
            return unavailable(f"cannot {what}: {argv[0]} could not be started: {error.strerror}")
        if done.timed_out or done.exit_code or done.stdout.cut_bytes:
            return unavailable(
                f"cannot {what}: {argv[0]} ended with {done.exit_code}: {_said(done)}"
            )
        try:
            found = _requests(json.loads(done.stdout.whole()), self.base)
        except (ValueError, TypeError) as error:
            return unavailable(f"cannot {what}: {argv[0]} printed no list of requests: {error}")
        consistent = self.declared.lookup_consistent
        if not found:
            return Seen(Result.NONE, 0, consistent=consistent)
        return Seen(Result.FOUND, len(found), tuple(found[0].items()), consistent=consistent)

    def _push(self, branch: str, commit: str, timeout_ms: int, what: str) -> None:
        ref = f"refs/heads/{branch}"
        git = Bounded(
            GitDestination(self.name, self.home, self.remote, ref, self.declared), timeout_ms
        )
        try:
            told = git.run("ls-remote", "--refs", "--", self.remote, ref, network=True).text
        except GitError as error:
            raise NotSent(f"cannot {what}: {error}", "see the remote") from None
        there = told.partition("\t")[0]
        if there == commit:
            return
        if there:
            raise Answered(
                Reason.REJECTED,
                f"cannot {what}: {branch} is at {there}, expected {commit} or no such branch",
                "delete the branch, or put it back to what was approved",
            )
        try:
            lease = [f"--force-with-lease={ref}:"]
            pushed(git, what, self.remote, lease, [f"{commit}:{ref}"], atomic=False)
        except NoAnswer as error:  # no request was opened, whatever became of the branch
            raise NotSent(str(error), error.hint) from None

    def _run(self, argv: Sequence[str], timeout_ms: int) -> Finished:
        return run_bounded(
            argv,
            cwd=self.home,
            environment=dict(os.environ if self.inherited is None else self.inherited),
            timeout_ms=timeout_ms,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
        )


def _asked(request: Request, what: str) -> tuple[str, str, str]:
    try:
        said = json.loads(request.payload)
        commit, title, body = (str(said[name]) for name in ("commit", "title", "body"))
    except (ValueError, TypeError, KeyError):
        commit = title = body = ""
    if not is_full_sha(commit) or not title:
        raise NotSent(f"cannot {what}: expected a payload of commit, title and body", "repeat it")
    return commit, title, body


def _filled(argv: Sequence[str], branch: str, base: str, title: str, body: str) -> list[str]:
    """The argument list; what is filled in is never looked through for placeholders again."""
    values = {"{branch}": branch, "{base}": base, "{title}": title, "{body}": body}

    def fill(argument: str) -> str:
        for name, value in values.items():
            before, there, after = argument.partition(name)
            if there:
                return before + value + after
        return argument

    return [fill(argument) for argument in argv]


def _requests(said: Any, base: str) -> list[dict[str, str]]:
    """The requests of our own branch: those open or merged, else those that were closed."""
    if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
        raise TypeError("expected a list of objects")
    found: list[dict[str, str]] = []
    for one in said:
        if one.get("isCrossRepository") is True or one.get("baseRefName", base) != base:
            continue
        merged = one.get("mergeCommit")
        oid = merged.get("oid") if isinstance(merged, dict) else ""
        found.append(
            {
                "commit": _text(one, "headRefOid"),
                "state": _text(one, "state"),
                "url": _text(one, "url"),
                "merge_commit": oid if isinstance(oid, str) and is_full_sha(oid) else "",
            }
        )
    current = [one for one in found if one["state"] in ("OPEN", "MERGED")]
    return current or found[:1]


def _text(one: Mapping[str, Any], name: str) -> str:
    value = one.get(name)
    if not isinstance(value, str) or not value:
        raise TypeError(f"a request has no {name}")
    return "".join(char if char.isprintable() else "?" for char in value)[:_SAID_CHARS]


def _said(done: Finished) -> str:
    text = done.stderr.whole().decode("utf-8", "replace")
    plain = "".join(char if char.isprintable() else " " for char in redact_text(text))
    return " ".join(plain.split())[:_SAID_CHARS]
