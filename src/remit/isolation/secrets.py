"""Secrets: none goes into a cell unasked, and what comes back is scanned before it is used.

Before work the room is looked over: variables that are named or look like credentials, files in what
it shows that programs keep credentials in, settings of the clone that name one. A variable that the
room grants by name is let through and said to be.

What comes back is scanned by kingfisher, whose rules know hundreds of kinds. It reads text that a
guest wrote, so it runs in a cell of its own: no network, no write, nothing to see but that text and
what was packed in it (`isolation.packed`). It never validates what it finds against a service, and takes no
comment in the text as leave to look away. Where it is absent or ends in any other way than by saying
what it found, the result is BLOCKED, never PASS.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from remit.core.checks import Result
from remit.core.gitfacts import RepositoryRefusal
from remit.isolation import packed as packing
from remit.isolation import remains, ruleset
from remit.isolation.packed import Opened
from remit.machine.directories import remove_tree
from remit.machine.git import Git
from remit.machine.processes import Finished, absolute_path, run_bounded
from remit.machine.reading import read_beneath
from remit.ports.sandbox import (
    Probe,
    Room,
    Sandbox,
    SandboxRefusal,
    SecretFinding,
    SecretScan,
)

SCAN_TIMEOUT_MS: Final = 300_000
_OUTPUT_BYTES: Final = 8 * 1_048_576
_FINDINGS_KEPT: Final = 200
_CLEAN, _FOUND, _FOUND_LIVE = 0, 200, 205
_HINT = "pip install 'remit[drain]', which brings kingfisher; or put the program on PATH"

_SETTINGS_LIMIT_BYTES: Final = 1_048_576

_NAMED = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH"
    r"|COOKIE|PAT|SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|NETRC)(?:$|_)",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abpr]-|sk-|AKIA|ASIA|eyJ)"
    r"[A-Za-z0-9_-]{12,}|[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@"
)
_FILES = (
    ".netrc", ".git-credentials", ".pgpass", ".npmrc", ".pypirc", ".ssh", ".gnupg", ".aws",
    ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/git/credentials",
    "id_rsa", "id_ed25519", "id_ecdsa",
)  # fmt: skip
_SETTINGS = re.compile(
    r"credential\.|http\..*(?:extraheader|cookiefile|sslkey|proxyauth)|include(?:if)?\.|core\.sshcommand"
    r"|core\.askpass",
    re.IGNORECASE,
)


def suspicious(text: str) -> bool:
    """Whether a text holds what is written like a credential: too little to judge, enough to withhold."""
    return _LOOKS.search(text) is not None


def before_work(room: Room) -> tuple[Probe, ...]:
    """Say whether a room holds credentials: in its environment, its paths, its clone's settings."""
    return (
        _environment(room),
        _home(room),
        _git_settings(room),
    )


def _environment(room: Room) -> Probe:
    suspect = [
        name
        for name, value in sorted(room.environment.items())
        if _NAMED.search(name) or _LOOKS.search(value)
    ]
    ungranted = [name for name in suspect if name not in room.granted]
    granted = [name for name in suspect if name in room.granted]
    said = f"{len(room.environment)} variables pass"
    said += f"; granted by name: {', '.join(granted)}" if granted else ""
    if not ungranted:
        return Probe("no-credentials-in-environment", Result.PASS, said)
    return Probe(
        "no-credentials-in-environment",
        Result.FAIL,
        f"{said}; looks like a credential: {', '.join(ungranted)}",
        "leave it out, or grant it by name: the guest can keep what it is given",
    )


def _home(room: Room) -> Probe:
    shown = (room.clone, *room.writable, *room.read_only)
    found = [str(path / name) for path in shown for name in _FILES if (path / name).exists()]
    # A repository may have one of its own, with settings of the project's.
    own = {str(path / ".npmrc") for path in shown if path == room.clone or (path / ".git").is_dir()}
    found = [name for name in found if name not in own]
    if found:
        return Probe(
            "no-credentials-in-home",
            Result.FAIL,
            f"shown: {', '.join(found)}",
            "show a folder without them",
        )
    return Probe("no-credentials-in-home", Result.PASS, f"{len(shown)} paths shown, home is empty")


def _git_settings(room: Room) -> Probe:
    name = "no-credentials-in-git-config"
    if not (room.clone / ".git" / "config").exists():
        return Probe(name, Result.PASS, "the clone has no settings")
    text = read_beneath(room.clone, ".git/config", _SETTINGS_LIMIT_BYTES)
    if isinstance(text, str):
        return Probe(name, Result.BLOCKED, text, "make the clone anew")
    # Read from standard input and away from the clone, or git would obey it before it shows it.
    args = ["config", "--file", "-", "--no-includes", "--list", "-z"]
    root = Path(room.clone.anchor)
    done = Git().run(args, cwd=root, operation="read the clone's settings", stdin=text)
    if isinstance(done, RepositoryRefusal):
        return Probe(name, Result.BLOCKED, done.message, done.hint)
    entries = [entry.partition("\n") for entry in done.text.split("\0") if entry]
    bad = [key for key, _, value in entries if _SETTINGS.match(key) or _LOOKS.search(value)]
    if bad:
        hint = "make the clone anew; a clone that remit makes has none"
        return Probe(name, Result.FAIL, f"settings: {', '.join(sorted(set(bad)))}", hint)
    return Probe(name, Result.PASS, f"{len(entries)} settings, none of them names a credential")


PLANTED: Final = "planted.txt"
"""Lies beside what is scanned; a scan that does not find it has looked at nothing."""


@dataclass(frozen=True, slots=True)
class Kingfisher:
    """The secret scanner in a cell. `cache` keeps its compiled rules between scans.

    `search` is the path to look for the program on where the package is not installed.
    """

    sandbox: Sandbox
    cache: Path
    search: str | None = None

    def scan(self, folder: Path) -> SecretScan:
        """Scan every file beneath a folder, archives and hidden ones included."""
        program = find(self.search)
        if program is None:
            return SecretScan(Result.BLOCKED, (), "kingfisher is not installed", _HINT)
        blocked = self.prepare(lambda: None)
        if blocked is not None:
            return blocked
        folder = folder.resolve()
        with ExitStack() as held:
            opened = packing.unpack(
                self.sandbox, folder, lambda: held.enter_context(remains.held("opened"))
            )
            if isinstance(opened, SecretScan):
                return opened
            done = self._run(program, self._rules(program), folder, opened.out)
        if isinstance(done, SecretScan):
            return done
        return packing.judged(_read(done, folder, opened), opened)

    def prepare(self, begin: Callable[[], None]) -> SecretScan | None:
        """Compile the rules where nobody has yet, which takes some seconds; ``begin`` is told then.

        Why no scan is possible, if the scanner cannot be run.
        """
        program = find(self.search)
        if program is None:
            return None
        rules = self._rules(program)
        if rules.exists():
            ruleset.used(rules)
            return None
        begin()
        try:
            with ruleset.turn(rules.parent, SCAN_TIMEOUT_MS / 1000):
                return None if rules.exists() else self._compiled(program, rules)
        except OSError as error:
            said = f"the scanner's rules cannot be kept in {rules.parent}: {error}"
            return SecretScan(Result.BLOCKED, (), said, "look at that folder, and repeat")

    def _compiled(self, program: Path, rules: Path) -> SecretScan | None:
        """Compile the rules; why they are not whole, if they are not."""
        made = ruleset.begin(rules)
        with remains.held("empty") as empty:
            # Rules are compiled where nothing of a guest's is near, and only read from then on:
            # whoever got the better of the scanner must not be there at the next scan.
            done = self._run(program, made, empty, compiling=True)
            found = done if isinstance(done, SecretScan) else _read(done, empty, Opened())
        if found.result is Result.PASS and any(made.iterdir()):
            ruleset.end(made, rules)
            return None
        remove_tree(made)
        if found.result is Result.BLOCKED:
            return found
        return SecretScan(Result.BLOCKED, (), "kingfisher kept no compiled rules", _HINT)

    def _rules(self, program: Path) -> Path:
        """Where the compiled rules of this program lie."""
        made = program.stat()
        return self.cache.resolve() / f"{made.st_size}-{made.st_mtime_ns}"

    def _run(
        self,
        program: Path,
        rules: Path,
        folder: Path,
        opened: Path | None = None,
        *,
        compiling: bool = False,
    ) -> Finished | SecretScan:
        """Run the scanner once in a cell of its own, over a folder and what was opened of it."""
        scanned = (folder, *((opened,) if opened else ()))
        with remains.held("room") as empty:
            (empty / PLANTED).write_text(f"token: {_known()}\n", encoding="ascii")
            room = Room(
                "secret-scan",
                empty,
                writable=(rules,) if compiling else (),
                read_only=(*scanned, program, *(() if compiling else (rules,))),
                commands=(str(program),),
            )
            cell = self.sandbox.prepare(room)
            if isinstance(cell, SandboxRefusal):
                return SecretScan(Result.BLOCKED, (), cell.message, cell.hint)
            try:
                argv = cell.command(_argv(program, (*scanned, empty), rules))
                if isinstance(argv, SandboxRefusal):
                    return SecretScan(Result.BLOCKED, (), argv.message, argv.hint)
                return run_bounded(
                    argv,
                    cwd=room.clone,
                    environment={},
                    timeout_ms=SCAN_TIMEOUT_MS,
                    output_limit_bytes=_OUTPUT_BYTES,
                )
            except OSError as error:
                return SecretScan(Result.BLOCKED, (), f"not started: {error}", _HINT)
            finally:
                cell.close()


def _argv(program: Path, folders: Sequence[Path], rules: Path) -> list[str]:
    said = [str(program), "scan", *map(str, folders), "--no-validate", "--git-history", "none"]
    said += ["--format", "json", "--redact", "--no-update-check", "--quiet"]
    # A guest must not be able to excuse its own secret by a comment beside it.
    said += ["--no-ignore", "--no-ignore-if-contains"]
    # What is packed was opened beforehand; the scanner passes over what it cannot open.
    said += ["--no-extract-archives"]
    # Each place is named, or one change would hide what another holds as well.
    said += ["--no-dedup"]
    return [*said, "--rule-cache-dir", str(rules), "--jobs", "2"]


def _read(done: Finished, folder: Path, opened: Opened) -> SecretScan:
    """Turn the end of the scanner into a result; only its two plain endings count."""
    said = "".join(
        c if c.isprintable() else " " for c in done.stderr.whole().decode(errors="replace")
    )
    ended = "ran out of time" if done.timed_out else f"exit {done.exit_code}"
    broken = SecretScan(
        Result.BLOCKED,
        (),
        f"kingfisher: {ended}: {said.strip()[-300:]}",
        "run it by hand to see why",
    )
    if done.timed_out or done.stdout.cut_bytes:
        return broken
    if done.exit_code not in (_CLEAN, _FOUND, _FOUND_LIVE):
        return broken
    try:
        report = json.loads(done.stdout.whole().split(b"\n", 1)[0])
        findings = tuple(_findings(report["findings"], folder, opened))
        scanned = int(report["metadata"]["summary"]["blobs_scanned"])
        total = len(report["findings"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return broken
    if (total > 0) != (done.exit_code != _CLEAN):
        return broken
    planted = sum(_is_planted(entry, folder) for entry in report["findings"])
    if not planted:
        return SecretScan(
            Result.BLOCKED,
            (),
            "kingfisher does not see a secret that was planted for it",
            "name another folder for temporary files: some names of folders are skipped",
        )
    count = total - planted
    evidence = f"{max(0, scanned - 1)} files scanned, {count} secrets found"
    if count:
        return SecretScan(
            Result.FAIL, findings, evidence, "take it out of the history, and revoke it"
        )
    return SecretScan(Result.PASS, (), evidence)


def _findings(
    listed: Sequence[dict[str, Any]], folder: Path, opened: Opened
) -> Iterator[SecretFinding]:
    own = [entry for entry in listed if not _is_planted(entry, folder)]
    for entry in own[:_FINDINGS_KEPT]:
        path = opened.named(Path(str(entry["finding"]["path"])), folder)
        plain = "".join(c if c.isprintable() else "?" for c in path)[:500]
        yield SecretFinding(str(entry["rule"]["id"])[:100], plain, int(entry["finding"]["line"]))


def _is_planted(entry: dict[str, Any], folder: Path) -> bool:
    """Whether it is what was planted beside the folder, in a place that no guest can name."""
    path = Path(str(entry["finding"]["path"]))
    return path.name == PLANTED and not path.is_relative_to(folder)


def _known() -> str:
    """What any scanner takes for a token, made here so that none finds it in this file."""
    digest = b64encode(sha256(b"planted for the scanner").digest()).decode()
    return "ghp_" + "".join(c for c in digest if c.isalnum())[:36]


def find(search: str | None = None) -> Path | None:
    """The scanner's program: of the installed package, or of an absolute entry of PATH."""
    if search is None:
        spec = importlib.util.find_spec("kingfisher")
        if spec is not None and spec.origin is not None:
            program = Path(spec.origin).resolve().parent / "bin" / "kingfisher"
            if program.is_file():
                return program
    found = shutil.which("kingfisher", path=None if search is None else absolute_path(search))
    return Path(found).resolve() if found and Path(found).is_absolute() else None


def examine() -> Probe:
    """Whether there is a scanner; it is tried by the first scan."""
    program = find()
    if program is None:
        return Probe("kingfisher", Result.BLOCKED, "kingfisher is not installed", _HINT)
    return Probe("kingfisher", Result.PASS, str(program))
