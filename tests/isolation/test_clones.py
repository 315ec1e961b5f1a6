"""Clones that a guest wrote in, taken over by a host that runs nothing of theirs.

The guest works in a real cell and knows what the host will do next. Whatever it plants would leave
a mark in the host's folder, if any program on the host ran it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.isolation.conftest import Cells, Host, guest

from remit.core.gitfacts import (
    CloneMade,
    ObjectSharing,
    RepositoryCode,
    RepositoryRefusal,
    Takeover,
)
from remit.isolation.cell import BubblewrapCell
from remit.repository import Git, GitLimits, GitRepository, guests

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b"}
IDENTITY |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@dataclass
class Attempt:
    repo: GitRepository
    clone: Path
    cell: BubblewrapCell
    marker: Path

    def run(self, script: str) -> str:
        """Let the guest run a script in its clone; `$MARK` is a command that would leave a mark."""
        done = guest(self.cell, "sh", "-ec", f"MARK='touch {self.marker}'\n{script}")
        said = done.stdout.whole().decode()
        assert done.exit_code == 0, said
        return said.strip()

    def head(self) -> str:
        found = self.repo.guest_head(self.clone, "work")
        assert isinstance(found, str), found
        return found

    def take_over(self) -> Takeover | RepositoryRefusal:
        return self.repo.take_over(self.clone, self.head(), "W-1.1")


@pytest.fixture
def attempt(
    cells: Cells, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Attempt]:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    origin, mine = tmp_path / "origin.git", host.root / "repository"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", origin], check=True)
    for args in (
        ["symbolic-ref", "HEAD", "refs/heads/main"],
        ["remote", "add", "origin", str(origin)],
        ["add", "-A"],
        ["commit", "-q", "-m", "one"],
        ["push", "-q", "origin", "HEAD:main"],
    ):
        subprocess.run(["git", *args], cwd=mine, check=True)
    repo = GitRepository(mine)
    host.clone.rmdir()
    made = repo.make_clone("W-1.1", host.clone, "work", sharing=ObjectSharing.BORROWED)
    assert isinstance(made, CloneMade), made
    objects = mine / ".git" / "objects"
    cell = cells(read_only=(objects.resolve(),), environment=IDENTITY)
    yield Attempt(repo, host.clone, cell, host.root / "marker")
    assert not (host.root / "marker").exists(), "something of the guest's ran on the host"


def test_honest_work_comes_back(attempt: Attempt) -> None:
    head = attempt.run("echo 1 > new.txt; git add -A; git commit -q -m work; git rev-parse HEAD")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert taken.head_sha == head
    assert attempt.repo.left_behind(attempt.clone, head) == ()


def test_hooks(attempt: Attempt) -> None:
    attempt.run("""
mkdir -p .git/hooks
for hook in post-checkout post-merge reference-transaction pre-push update post-update pre-receive \\
            post-index-change fsmonitor-watchman pre-auto-gc sendemail-validate; do
    printf '#!/bin/sh\\n%s\\n' "$MARK" > .git/hooks/$hook; chmod +x .git/hooks/$hook
done
cp -r .git/hooks planted; echo x > a; git -c core.hooksPath=/none add -A
git -c core.hooksPath=/none commit -q -m x; git config core.hooksPath planted; echo dirty >> a
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert attempt.repo.left_behind(attempt.clone, taken.head_sha) == ("a",)


def test_configuration(attempt: Attempt) -> None:
    attempt.run("""
echo x > a; git add -A; git commit -q -m x
for name in core.fsmonitor core.sshCommand core.pager core.editor core.askpass core.gitProxy \\
            core.alternateRefsCommand uploadpack.packObjectsHook diff.external credential.helper \\
            gpg.program alias.status trailer.x.command interactive.diffFilter sequence.editor \\
            filter.x.clean filter.x.smudge filter.x.process merge.x.driver receive.procReceiveRefs; do
    git config $name "$MARK"
done
git config remote.origin.uploadpack "$MARK"; git config remote.origin.url "ext::$MARK"
git config protocol.ext.allow always; git config core.worktree /; git config include.path ../evil
printf '[core]\\n\\tfsmonitor = "%s"\\n' "$MARK" > evil
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert attempt.repo.left_behind(attempt.clone, taken.head_sha) == ("evil",)


SUBMODULE = """
git init -q sub; git -C sub commit -q --allow-empty -m s
printf '[submodule "s"]\\n\\tpath = sub\\n\\turl = %s\\n' "$URL" > .gitmodules
[ -z "$UPDATE" ] || printf '\\tupdate = %s\\n' "$UPDATE" >> .gitmodules
git add -A 2>/dev/null; git commit -q -m x
git config submodule.s.update "!$MARK"; git config submodule.s.url "ext::$MARK"
git config submodule.recurse true; git -C sub config core.fsmonitor "$MARK"; echo d > sub/new
"""


def test_submodules(attempt: Attempt, tmp_path: Path) -> None:
    attempt.run(f"URL=../elsewhere UPDATE=\n{SUBMODULE}")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert attempt.repo.left_behind(attempt.clone, taken.head_sha) == ()
    checkout = attempt.repo.clean_checkout(taken.head_sha, tmp_path / "checkout")
    assert not isinstance(checkout, RepositoryRefusal), checkout
    assert list((tmp_path / "checkout" / "sub").iterdir()) == []


@pytest.mark.parametrize("lines", ['URL=-u"$MARK" UPDATE=', 'URL=../x UPDATE="!$MARK"'])
def test_submodules_that_name_programs_do_not_come_in(attempt: Attempt, lines: str) -> None:
    attempt.run(f"{lines}\n{SUBMODULE}")
    refusal = attempt.take_over()
    assert isinstance(refusal, RepositoryRefusal)
    assert "fsck" in refusal.details["said"]


def test_filter_drivers_and_attributes(attempt: Attempt, tmp_path: Path) -> None:
    attempt.run("""
printf '* filter=x diff=x merge=x\\n' > .gitattributes; echo x > a
git add -A; git commit -q -m x
git config filter.x.clean "$MARK; cat"; git config filter.x.smudge "$MARK; cat"
git config filter.x.required true; git config diff.x.command "$MARK"; git config diff.x.textconv "$MARK"
git config core.attributesFile .gitattributes; mkdir -p .git/info; cp .gitattributes .git/info/attributes
echo y > a
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert attempt.repo.left_behind(attempt.clone, taken.head_sha) == ("a",)
    checkout = attempt.repo.clean_checkout(taken.head_sha, tmp_path / "checkout")
    assert not isinstance(checkout, RepositoryRefusal), checkout
    assert (tmp_path / "checkout" / "a").read_text() == "x\n"
    diff = attempt.repo.artifact_diff(taken.base_sha, taken.head_sha, ["a"], ["a"])
    assert not isinstance(diff, RepositoryRefusal)
    assert diff.out_of_scope == (".gitattributes",)


@pytest.mark.parametrize(
    ("plant", "complaint"),
    [
        ("mv .git/objects .git/o; ln -s o .git/objects", "no plain directory"),
        ("ln -s /etc .git/objects/zz", "no plain file"),
        ("mkfifo .git/objects/info/commit-graph", "no plain file"),
        ("mkdir -p .git/objects/pack; ln -s /etc/passwd .git/objects/pack/x.pack", "no plain file"),
        ("echo /etc >> .git/objects/info/alternates", "names a store other"),
        ("mv .git g; ln -s g .git", "Not a directory"),
    ],
)
def test_objects_that_lead_elsewhere(attempt: Attempt, plant: str, complaint: str) -> None:
    attempt.run(f"echo x > a; git add -A; git commit -q -m x; git tag -f keep; {plant}")
    head = attempt.repo.guest_head(attempt.clone, "work")
    if isinstance(head, str):
        refusal = attempt.repo.take_over(attempt.clone, head, "W-1.1")
        left = attempt.repo.left_behind(attempt.clone, head)
        assert isinstance(left, RepositoryRefusal)
        assert complaint in left.message
    else:
        refusal = head
    assert isinstance(refusal, RepositoryRefusal)
    assert complaint in refusal.message, refusal


@pytest.mark.parametrize(
    "plant",
    [
        "rm .git/refs/heads/work; ln -s /etc/passwd .git/refs/heads/work",
        "rm .git/refs/heads/work; mkfifo .git/refs/heads/work",
        "echo 'ref: refs/heads/main' > .git/refs/heads/work",
        "rm .git/refs/heads/work",
        "head -c 5000000 /dev/zero > .git/refs/heads/work",
    ],
)
def test_a_head_that_is_no_head(attempt: Attempt, plant: str) -> None:
    attempt.run(f"echo x > a; git add -A; git commit -q -m x; {plant}")
    assert isinstance(attempt.repo.guest_head(attempt.clone, "work"), RepositoryRefusal)


def test_a_head_among_packed_refs(attempt: Attempt) -> None:
    head = attempt.run(
        "echo x > a; git add -A; git commit -q -m x; git pack-refs --all; git rev-parse HEAD"
    )
    assert attempt.head() == head


def test_a_commit_graph_that_lies(attempt: Attempt, tmp_path: Path) -> None:
    """A graph that says a commit has no parent is believed by git, and not by remit."""
    head = attempt.run("""
echo x > a; git add -A; git commit -q -m x
git config commitGraph.generationVersion 1; git commit-graph write --reachable; git rev-parse HEAD
""")
    graph = attempt.clone / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o600)
    data = bytearray(graph.read_bytes())
    chunks = {
        bytes(data[at : at + 4]): int.from_bytes(data[at + 4 : at + 12])
        for at in range(8, 8 + 12 * data[6], 12)
    }
    fan = chunks[b"OIDL"]
    place = next(n for n in range(9) if data[fan + 20 * n : fan + 20 * n + 20].hex() == head)
    parent = chunks[b"CDAT"] + 36 * place + 20
    data[parent : parent + 4] = (0x70000000).to_bytes(4)
    graph.write_bytes(data)

    def count(distrusted: bool) -> str:
        staging = tmp_path / f"staging-{distrusted}"
        subprocess.run(["git", "init", "-q", staging], check=True)
        (staging / ".git" / "objects" / "info" / "alternates").write_text(f"{graph.parents[1]}\n")
        if distrusted:
            guests.distrust(staging)
        argv = ["git", "rev-list", "--count", head]
        return subprocess.run(argv, cwd=staging, capture_output=True, text=True).stdout.strip()

    assert (count(False), count(True)) == ("1", "2")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    assert taken.commits == (head,)


def test_git_run_in_the_clone_would_run_what_was_planted(attempt: Attempt) -> None:
    """The control of the tests above: what they plant does leave its mark on who is careless."""
    attempt.run("""
echo x > a; git add -A; git commit -q -m x; echo y > a; printf "* filter=x\\n" > .gitattributes
git config filter.x.clean "$MARK-filter; cat"; git config core.fsmonitor "$MARK-monitor"
mkdir -p .git/hooks; printf "#!/bin/sh\\n%s-hook\\n" "$MARK" > .git/hooks/post-index-change
chmod +x .git/hooks/post-index-change
""")
    subprocess.run(["git", "status"], cwd=attempt.clone, check=True, capture_output=True)
    left = {path.name for path in attempt.marker.parent.glob("marker-*")}
    assert left == {"marker-filter", "marker-monitor", "marker-hook"}


def test_every_text_of_a_change_is_laid_out(attempt: Attempt, tmp_path: Path) -> None:
    """What one commit adds and the next takes away is there to be scanned, and so are messages."""
    attempt.run("""
echo secret-one > .gitignore; mkdir -p a/b; echo two > 'a/b/$(touch x) "q"'; git add -A -f
git commit -q -m "add secret-three"
git rm -q -f .gitignore; git commit -q -m gone
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover)
    folder = tmp_path / "texts"
    folder.mkdir()
    count = attempt.repo.lay_out(taken.base_sha, taken.head_sha, folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert count == len(files) - 1 == 4
    whole = b"\n".join(path.read_bytes() for path in files)
    assert all(word in whole for word in (b"secret-one", b"two", b"add secret-three"))
    assert not any(path.name.startswith(".") for path in files)


def test_every_name_of_a_change_is_laid_out(attempt: Attempt, tmp_path: Path) -> None:
    """Git names a text that two files share once, and a name no further than to the end of a line."""
    attempt.run("""
echo same > a; echo same > secret-one; echo other > "$(printf 'line\nsecret-two')"; mkdir d
echo same > d/secret-three; git add -A -f; git commit -q -m "names"
git rm -q -r -f d; git commit -q -m gone
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover)
    folder = tmp_path / "texts"
    folder.mkdir()
    assert attempt.repo.lay_out(taken.base_sha, taken.head_sha, folder) == 4
    text = (folder / "paths.txt").read_text()
    assert all(f"secret-{word}" in text.splitlines() for word in ("one", "two", "three")), text


def test_no_name_of_a_guests_hides_a_text_or_breaks_a_line(
    attempt: Attempt, tmp_path: Path
) -> None:
    """Scanners skip some names, and some characters end a line to Python that end none to git."""
    attempt.run("""
echo one > package-lock.json; echo two > k.svg; echo three > "$(printf 'a\\342\\200\\250HEAD')"
echo four > "$(printf 'x\\013HEAD')"; echo five | gzip > packed.txt; echo six > x.zip
git add -A; git commit -q -m "odd names"
""")
    taken = attempt.take_over()
    assert isinstance(taken, Takeover)
    folder = tmp_path / "texts"
    folder.mkdir()
    assert attempt.repo.lay_out(taken.base_sha, taken.head_sha, folder) == 7
    files = [path for path in folder.glob("*/*") if path.name != "commit.txt"]
    assert [path.suffix for path in files] == [".txt"] * 6


NESTED = """
git init -q sub; echo inner > sub/file; echo '* filter=evil' > sub/.gitattributes
git -C sub add -A; git -C sub commit -q -m inner; git add sub; git commit -q -m "a repository within"
git -C sub config filter.evil.clean "sh -c '$MARK; cat'"; git -C sub config filter.evil.required true
git -C sub config filter.evil.process "$MARK"; git -C sub config core.fsmonitor "$MARK"
git -C sub config core.hooksPath .; printf '#!/bin/sh\\n%s\\n' "$MARK" > sub/post-index-change; chmod +x sub/post-index-change
echo other > sub/file; touch -d 2001-01-01 sub/file; echo left > left.txt
"""


@pytest.mark.parametrize("how", ["left", "kept"])
def test_a_repository_within_the_clone_runs_nothing(attempt: Attempt, how: str) -> None:
    """Git looks whether a repository within another is clean by running git there, under its settings."""
    attempt.run(NESTED)
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    if how == "left":
        assert attempt.repo.left_behind(attempt.clone, taken.head_sha) == ("left.txt",)
        return
    kept = attempt.repo.keep_changes(attempt.clone, taken.head_sha, "W-1.1")
    assert isinstance(kept, str), kept
    listed = subprocess.run(
        ["git", "ls-tree", "--name-only", kept],
        cwd=attempt.repo.path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "left.txt" in listed.stdout


BOMB = """
tree=$(git hash-object -w -t tree /dev/null); blob=$(echo x | git hash-object -w --stdin)
entry="100644 blob $blob"
for level in 1 2 3 4 5 6 7; do
    tree=$(for name in 0 1 2 3 4 5 6 7 8 9; do printf '%s\\t%s\\n' "$entry" $name; done | git mktree)
    entry="040000 tree $tree"
done
git reset -q --soft $(git commit-tree -p HEAD -m "ten million paths" $tree)
"""


def test_trees_that_name_one_another_cannot_fill_the_hosts_memory(attempt: Attempt) -> None:
    attempt.run(BOMB)
    taken = attempt.take_over()
    assert isinstance(taken, Takeover), taken
    small = GitRepository(attempt.repo.path, git=Git(limits=GitLimits(memory_bytes=256 << 20)))
    found = small.left_behind(attempt.clone, taken.head_sha)
    assert isinstance(found, RepositoryRefusal), len(found)
    assert found.code is RepositoryCode.OUTPUT_TOO_LARGE, found
