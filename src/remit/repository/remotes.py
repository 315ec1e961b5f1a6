"""The remote of a repository: which branch is main there, where it lies, and how it is spoken to.

Where it lies is the person's to say, by settings that git reads; what they rewrite or split is asked of
git itself. Nobody is prompted for anything. A URL may hold credentials, so it leaves here only through
`redact_url`.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.machine.git import Trust
from remit.repository.host import Host


@dataclass(frozen=True, slots=True)
class Upstream:
    """The remote and the branch on it that are observed."""

    remote: str
    main: str

    @property
    def remote_ref(self) -> str:
        """The name of main on the remote."""
        return f"refs/heads/{self.main}"

    @property
    def observed_ref(self) -> str:
        """The ref in the host repository that holds the last observed main."""
        return f"refs/remit/observed/{self.remote}/{self.main}"


def remote_said(upstream: Upstream, asked: RepositoryRefusal, operation: str) -> RepositoryRefusal:
    """Name a remote that did not answer; that git is missing or took too long stays what it is."""
    if asked.code in (RepositoryCode.GIT_MISSING, RepositoryCode.GIT_TIMEOUT):
        return asked
    return RepositoryRefusal(
        RepositoryCode.REMOTE_UNREACHABLE,
        f"{operation}: the remote {upstream.remote!r} did not answer; expected its branches",
        f"check the network and your access: git ls-remote {upstream.remote}",
        {"remote": upstream.remote, "said": asked.details.get("said", "")},
    )


def ssh_settings(host: Host, operation: str) -> dict[str, str] | RepositoryRefusal:
    """Keep ssh from prompting, unless the person chose an ssh command of their own."""
    environment = host.git.environment(Trust.PERSON)
    if "GIT_SSH_COMMAND" in environment or "GIT_SSH" in environment:
        return {}
    chosen = host.config("core.sshcommand", operation)
    if isinstance(chosen, RepositoryRefusal):
        return chosen
    return {} if chosen else {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=30"}


def remote_url(host: Host, remote: str, operation: str) -> str | RepositoryRefusal:
    """Return the remote's URL as git would use it, relative paths made absolute.

    It may hold credentials: put it through `redact_url` before it goes anywhere.
    """
    url = one_url(host, remote, operation)
    if isinstance(url, RepositoryRefusal):
        return url
    configured = url or host.config(f"remote.{remote}.url", operation)
    if isinstance(configured, RepositoryRefusal):
        return configured
    if not configured:
        return RepositoryRefusal(
            RepositoryCode.REMOTE_MISSING,
            f"{operation}: no remote {remote!r} in {host.common_dir}",
            f"git remote add {remote} <url>, or configure the name of the remote",
            {"remote": remote},
        )
    if not url:
        shown = host.run(["remote", "get-url", remote], operation, trust=Trust.PERSON)
        if isinstance(shown, RepositoryRefusal):
            return shown
        url = shown.text.splitlines()[0]
    is_path = "://" not in url and ":" not in url.split("/", 1)[0]
    return str((host.top / url).resolve()) if is_path else url


def one_url(host: Host, remote: str, operation: str) -> str | RepositoryRefusal:
    """The URL of a remote that has one for everything and for which none is rewritten, else nothing.

    Where there is more to it, git is to say which one it uses.
    """
    found = host.settings.read(host, operation)
    if isinstance(found, RepositoryRefusal):
        return found
    urls = found.get(f"remote.{remote}.url", ())
    plain = len(urls) == 1 and f"remote.{remote}.pushurl" not in found
    return urls[0] if plain and not any(name.startswith("url.") for name in found) else ""
