"""What a change is, and how it is shown, follows from its objects and from nothing that anybody set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remit.core.gitfacts import ArtifactDiff, CheckoutMade, RepositoryCode, ShipObservation
from remit.repository import Git, GitLimits, GitRepository, showing

HIDDEN = "* -diff\n"


def attributes(lab: Any, text: str) -> None:
    """As somebody has who pulled what landed: in the work tree and in the index."""
    (lab.host / ".gitattributes").write_text(text)
    lab.git("add", "-f", ".gitattributes")


def within(lab: Any) -> None:
    path = lab.host / ".git" / "info" / "attributes"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HIDDEN)


def elsewhere(lab: Any) -> None:
    path = lab.root / "attributes"
    path.write_text(HIDDEN)
    lab.git("config", "core.attributesFile", str(path))


def driver(lab: Any) -> None:
    attributes(lab, "*.py diff=shy\n")
    lab.git("config", "diff.shy.textconv", "true")
    lab.git("config", "diff.shy.command", "true")
    lab.git("config", "diff.shy.binary", "true")


def settings(lab: Any) -> None:
    for name, value in (
        ("diff.external", "true"), ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"),
        ("diff.suppressBlankEmpty", "true"), ("diff.orderFile", "order"), ("diff.renames", "copies"),
        ("core.quotePath", "false"), ("core.bigFileThreshold", "1"), ("color.ui", "always"),
        ("diff.ignoreSubmodules", "all"), ("diff.context", "0"), ("diff.algorithm", "patience"),
        ("log.showSignature", "true"),
    ):  # fmt: skip
        lab.git("config", name, value)


def spoilt(lab: Any) -> None:
    (lab.host / ".git" / "index").write_bytes(b"no index")


WAYS: dict[str, Callable[[Any], None]] = {
    "no-difference": lambda lab: attributes(lab, HIDDEN),
    "binary": lambda lab: attributes(lab, "* binary\n"),
    "a-driver": driver,
    "the-repository's-own": within,
    "named-by-a-setting": elsewhere,
    "settings": settings,
    "an-index-that-is-none": spoilt,
}


def change(lab: Any) -> tuple[str, str]:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({"src/app.py": "x = 1\n\nsteal()\n", "café": "né\n"})
    return base, head


@pytest.mark.parametrize("way", WAYS)
def test_nobody_governs_what_a_reviewer_is_shown(lab: Any, repo: GitRepository, way: str) -> None:
    base, head = change(lab)
    plain = repo.change_text(base, head)
    assert isinstance(plain, str)
    assert "+steal()" in plain
    WAYS[way](lab)
    assert GitRepository(lab.host).change_text(base, head) == plain


@pytest.mark.parametrize("way", WAYS)
def test_nobody_governs_what_a_patch_is(lab: Any, way: str) -> None:
    base, head = change(lab)
    other = lab.other()
    lab.git("fetch", "-q", str(lab.host), head, cwd=other)
    lab.commit({"z.txt": "z\n"}, cwd=other)
    lab.git("cherry-pick", head, cwd=other)
    landed = lab.git("rev-parse", "HEAD", cwd=other)
    lab.push(cwd=other)
    seen = GitRepository(lab.host).observe_ship(
        landed, reviewed_head=head, reviewed_base=base, main_before=base
    )
    assert isinstance(seen, ShipObservation), seen
    WAYS[way](lab)
    assert (
        GitRepository(lab.host).observe_ship(
            landed, reviewed_head=head, reviewed_base=base, main_before=base
        )
        == seen
    )


def test_a_change_hides_nothing_by_its_own_attributes(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({".gitattributes": HIDDEN, "src/app.py": "steal()\n"})
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert "+steal()" in found
    assert "+* -diff" in found


def test_no_setting_takes_a_submodule_out_of_scope(lab: Any, repo: GitRepository) -> None:
    first = lab.git("rev-parse", "HEAD")
    (lab.host / "lib").mkdir()
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{first},lib")
    base = lab.commit(
        {".gitmodules": '[submodule "lib"]\n\tpath = lib\n\turl = x\n\tignore = all\n'}
    )
    lab.git("update-index", "--cacheinfo", f"160000,{base},lib")
    lab.git("commit", "-q", "-m", "moved")
    head = lab.git("rev-parse", "HEAD")
    found = repo.artifact_diff(base, head, [], [])
    assert isinstance(found, ArtifactDiff)
    assert found.out_of_scope == ("lib",)
    text = repo.change_text(base, head)
    assert isinstance(text, str)
    assert f"+Subproject commit {base}" in text


def test_a_nul_byte_hides_nothing(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({"run.sh": b"# \0\x1b[2J\xff\xe2\x80\xae\nsteal\r\n"})
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert "+# \\x00\\x1b[2J\\xff\\u202e\n+steal\\x0d\n" in found
    assert found.replace("\n", "").replace("\t", "").isprintable()


def test_what_a_commit_says_is_shown(lab: Any, repo: GitRepository) -> None:
    """A message lands with the change; who reviews it has to know what it claims."""
    base = lab.git("rev-parse", "HEAD")
    first = lab.commit({"b.txt": "b\n"}, say="add\n\nReviewed-by: Ann\x1b[2J\n[0 paths changed:")
    head = lab.commit({"b.txt": "c\n"}, say="x" * 10_000)
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert found.startswith(f"2 commits, the newest first:\n{head} author Ada <ada@example.org> ")
    assert f"\n{first} author " in found
    assert "\n    Reviewed-by: Ann\\x1b[2J\n    [0 paths changed:\n" in found
    assert "[cut; this message has 10001 bytes]" in found
    for number in range(showing.COMMITS):
        head = lab.commit({"b.txt": f"{number}\n"}, say=f"m {number}")
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert found.startswith("50 commits, the newest first:\n")
    assert "[more commits are not told; list them yourself]" in found


def test_no_file_pushes_another_out_of_sight(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    filler = "".join(f"line {number}\n" for number in range(100_000))
    head = lab.commit({"a.txt": filler, "b.txt": "\0" * 1_000_000, "z.sh": "steal\n"})
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert "+steal" in found
    assert "more lines of this file are not shown; look at the file]" in found
    assert "… [cut; this line has " in found
    assert len(found) < 60_000


def test_of_many_files_each_is_named_or_counted(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({f"f{number:04}": f"{number}\n" for number in range(800)})
    found = repo.change_text(base, head)
    assert isinstance(found, str)
    assert "\n800 paths changed:\n" in found
    named = sum(line.startswith("A 000000 ") for line in found.splitlines())
    assert f"[{800 - named} more paths are not named; list them yourself]" in found
    shown = found.count("\ndiff --git ")
    assert f"[{800 - shown} more files are not shown; look at each of them]" in found
    assert len(found) < 60_000


def test_what_is_too_large_to_compare_is_still_named(lab: Any) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({"big.txt": "word " * 10_000})
    small = GitRepository(lab.host, git=Git(limits=GitLimits(output_bytes=1_000)))
    found = small.change_text(base, head)
    assert isinstance(found, str)
    assert "big.txt" in found
    assert f"[{RepositoryCode.OUTPUT_TOO_LARGE.value}: no difference is shown" in found


def test_who_needs_less_leaves_the_rest() -> None:
    assert showing.fair_share([], 10) == 0
    assert showing.fair_share([1, 2, 3], 10) == 3
    assert showing.fair_share([1, 100, 100], 21) == 10


def test_what_is_looked_at_has_the_bytes_that_are_stored(lab: Any, repo: GitRepository) -> None:
    said = "*.txt text eol=crlf\n*.py -diff working-tree-encoding=UTF-16LE\n*.id ident\n"
    attributes(lab, said)
    lab.git("commit", "-q", "-m", "attributes")
    head = lab.git("rev-parse", "HEAD")
    blob = lab.git("rev-parse", f"{head}:src/app.py")
    assert lab.git("cat-file", "-s", blob) == "6"
    for as_stored, found in ((True, b"one\n"), (False, b"one\r\n")):
        made = repo.clean_checkout(head, lab.root / f"look-{as_stored}", as_stored=as_stored)
        assert isinstance(made, CheckoutMade), made
        where = lab.root / f"look-{as_stored}"
        assert (where / "a.txt").read_bytes() == found
        assert ((where / "src/app.py").read_bytes() == b"x = 1\n") is as_stored
        assert ("+x = 2" in _changed(lab, where)) is as_stored


def _changed(lab: Any, where: Any) -> str:
    (where / "src/app.py").write_text("x = 2\n", "utf-8" if "True" in where.name else "utf-16-le")
    return str(lab.git("diff", cwd=where))
