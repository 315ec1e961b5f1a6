"""Every run of git goes through here: argument list, bounded time and output, typed failure.

Two kinds of trust. With `Trust.PERSON` git sees the person's own configuration, since talking to
their remote needs their credentials, proxies and ssh settings. With `Trust.ISOLATED` it sees only
`isolated.gitconfig` beside this file and the repository's own: no credential, filter, hook or
alias of the person reaches what an attempt made. In both, hooks are off, nothing prompts, replace
refs and grafts do not bend history, and inherited GIT_* variables that would point git elsewhere
are dropped.

What talks to a remote may hang, so it is asked to end when this process is gone. It is asked, not killed:
git takes its locks away first.

A failure of git is a `RepositoryRefusal`; an exit status that the caller named as an answer is
not a failure. Whatever git says is cut and stripped of credentials before it is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, redact_text
from remit.machine.processes import absolute_path, ending_with_us, run_bounded

ISOLATED_CONFIG = Path(__file__).with_name("isolated.gitconfig")

_SAID_CHARS = 2_000
_PERSON_KEEPS = re.compile(
    r"GIT_(SSH(_COMMAND|_VARIANT)?|ASKPASS|PROXY_COMMAND|SSL_\w+|HTTP_\w+|EXEC_PATH|ALLOW_PROTOCOL"
    r"|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+))\Z"
)
_ISOLATED_KEEPS = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "GIT_EXEC_PATH")
_ALWAYS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ADVICE": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "LC_ALL": "C",
    "LANGUAGE": "",
}
_OVERRIDES = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.filesRefLockTimeout=2000",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.graftFileDeprecated=false",
)
_CORRUPT = (
    r"bad object|object file .* is empty|corrupt|bad (tree|config|signature)|unable to read"
    r"|loose object|inflate|missing (blob|tree|commit)|unable to parse"
)
_SIGNS = (
    (RepositoryCode.OUTPUT_TOO_LARGE, r"[Oo]ut of memory|annot allocate memory|memory exhausted"),
    (RepositoryCode.REPOSITORY_UNTRUSTED, r"dubious ownership"),
    (RepositoryCode.REF_LOCKED, r"cannot lock ref|Unable to create '[^']*\.lock'|\.lock': File ex"),
    (RepositoryCode.REPOSITORY_MISSING, r"not a git repository|cannot change to '"),
    (RepositoryCode.REPOSITORY_CORRUPT, _CORRUPT),
)
_HINTS = {
    RepositoryCode.OUTPUT_TOO_LARGE: "split the change; git needs more memory for it than it may have",
    RepositoryCode.REPOSITORY_UNTRUSTED: "git config --global --add safe.directory <path>",
    RepositoryCode.REF_LOCKED: "another git process works here; repeat, or remove a stale .lock",
    RepositoryCode.REPOSITORY_MISSING: "name a directory within a git repository",
    RepositoryCode.REPOSITORY_CORRUPT: "run git fsck --full and repair the repository",
}


class Trust(StrEnum):
    """Whose configuration a run of git sees."""

    PERSON = "person"
    ISOLATED = "isolated"


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Bounds of each run of git.

    `local_ms` bounds what only touches the disk, `network_ms` what talks to the remote or moves
    objects; wall time in milliseconds. `output_bytes` bounds what a run may write before the
    answer is refused as too large. `memory_bytes` bounds the data of a git that sees only its own
    configuration: a few trees that name one another are a thousand million paths once they are spread out.
    """

    local_ms: int = 60_000
    network_ms: int = 300_000
    output_bytes: int = 64 * 1_048_576
    memory_bytes: int = 4_096 * 1_048_576


@dataclass(frozen=True, slots=True)
class GitRun:
    """The answer of one run: its exit status, complete output, and what it said, redacted."""

    exit_code: int
    stdout: bytes
    said: str

    @property
    def text(self) -> str:
        """The output without its last newline; bytes that are not UTF-8 survive as surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class Git:
    """The git program and its bounds. `inherited` replaces the process's environment in tests."""

    program: str = "git"
    limits: GitLimits = GitLimits()
    inherited: Mapping[str, str] | None = None

    def run(
        self,
        args: Sequence[str],
        *,
        cwd: Path,
        operation: str,
        git_dir: Path | None = None,
        trust: Trust = Trust.ISOLATED,
        answers: Collection[int] = (0,),
        stdin: bytes = b"",
        network: bool = False,
        extra: Mapping[str, str] | None = None,
    ) -> GitRun | RepositoryRefusal:
        """Run git once and return its answer, or why there is none.

        `answers` are the exit statuses that mean something to the caller; any other is a refusal
        whose code is read from what git said, GIT_FAILED where that is unknown. `git_dir` names
        the repository outright, so that none is searched for. Also refused: no git program, the
        time bound, and output over the bound.
        """
        argv = [self.program, *(word for item in _OVERRIDES for word in ("-c", item))]
        if git_dir is not None:
            argv.append(f"--git-dir={git_dir}")
        timeout_ms = self.limits.network_ms if network else self.limits.local_ms
        away = network and trust is Trust.PERSON
        try:
            done = run_bounded(
                [*(ending_with_us() if away else ()), *argv, *args],
                cwd=cwd,
                environment=self.environment(trust) | dict(extra or {}),
                timeout_ms=timeout_ms,
                output_limit_bytes=2 * self.limits.output_bytes,
                stdin=stdin,
                memory_bytes=self.limits.memory_bytes if trust is Trust.ISOLATED else 0,
            )
        except OSError as error:
            return self._not_started(operation, cwd, error)
        said = said_of(done.stderr.whole())
        if done.exit_code in (126, 127) and said.startswith("setpriv: "):
            return self._not_started(operation, cwd, OSError(0, said.rpartition(": ")[2]))
        if done.timed_out:
            return RepositoryRefusal(
                RepositoryCode.GIT_TIMEOUT,
                f"{operation}: git {_verb(args)} did not end within {timeout_ms} ms",
                "look at the network or the disk, or raise the bound, and repeat",
                {"timeout_ms": str(timeout_ms), "said": said},
            )
        if len(done.stdout.whole()) + done.stdout.cut_bytes > self.limits.output_bytes:
            return RepositoryRefusal(
                RepositoryCode.OUTPUT_TOO_LARGE,
                f"{operation}: git {_verb(args)} wrote over {self.limits.output_bytes} bytes",
                "split the change; an answer that was cut cannot be judged",
                {"limit_bytes": str(self.limits.output_bytes)},
            )
        if done.exit_code not in answers:
            return failed(operation, f"git {_verb(args)} exited {done.exit_code}", said)
        return GitRun(done.exit_code, done.stdout.whole(), said)

    def environment(self, trust: Trust) -> dict[str, str]:
        """Build the environment of a run; nothing of remit's own, no variable that moves git."""
        found: Mapping[str, str] = os.environ if self.inherited is None else self.inherited
        if trust is Trust.ISOLATED:
            kept = {name: found[name] for name in _ISOLATED_KEEPS if name in found}
            if "PATH" in kept:
                kept["PATH"] = absolute_path(kept["PATH"])
            own = {"GIT_CONFIG_GLOBAL": str(ISOLATED_CONFIG), "GIT_CONFIG_NOSYSTEM": "1"}
            own |= {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ATTR_NOSYSTEM": "1"}
            return kept | _ALWAYS | own
        source = dict(found)
        if "PATH" in source:
            source["PATH"] = absolute_path(source["PATH"])
        kept = {
            name: value
            for name, value in source.items()
            if not name.startswith(("GIT_", "REMIT_")) or _PERSON_KEEPS.match(name)
        }
        # An empty program keeps git from falling back on a dialogue of the desktop's.
        kept.setdefault("GIT_ASKPASS", "")
        return kept | _ALWAYS | {"GIT_OPTIONAL_LOCKS": "0"}

    def _not_started(self, operation: str, cwd: Path, error: OSError) -> RepositoryRefusal:
        if not cwd.is_dir():
            return RepositoryRefusal(
                RepositoryCode.REPOSITORY_MISSING,
                f"{operation}: {cwd} is no directory",
                _HINTS[RepositoryCode.REPOSITORY_MISSING],
                {"path": str(cwd)},
            )
        return RepositoryRefusal(
            RepositoryCode.GIT_MISSING,
            f"{operation}: the program {self.program!r} cannot be run ({error.strerror})",
            "install git 2.31 or later and put it on PATH",
            {"program": self.program},
        )


def _verb(args: Sequence[str]) -> str:
    """What git was asked to do, behind settings for this run alone."""
    at = 0
    while at + 2 < len(args) and args[at] == "-c":
        at += 2
    return args[at]


def said_of(stderr: bytes) -> str:
    """Return what git said, without credentials, bounded to its last `_SAID_CHARS` characters."""
    return redact_text(stderr.decode("utf-8", "replace").strip())[-_SAID_CHARS:]


def failed(
    operation: str,
    found: str,
    said: str,
    otherwise: RepositoryCode = RepositoryCode.GIT_FAILED,
    hint: str = "read what git said, repair it, and repeat",
) -> RepositoryRefusal:
    """Build the refusal for a run that failed: known signs in what git said, else `otherwise`."""
    code = next((code for code, sign in _SIGNS if re.search(sign, said)), otherwise)
    last = said.splitlines()[-1] if said else "nothing"
    return RepositoryRefusal(
        code, f"{operation}: {found}; git said: {last}", _HINTS.get(code, hint), {"said": said}
    )
