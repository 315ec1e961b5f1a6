"""What is remembered of a repository: never where a ref stands, and nothing for longer than it holds."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.repository.conftest import Lab

from remit.core.gitfacts import MainObservation, RepositoryCode, RepositoryRefusal
from remit.machine.git import Git, GitRun
from remit.repository import GitRepository
from remit.repository.host import Host, locate
from remit.repository.remembered import ANSWER_BYTES, ANSWERS, Answers, Looks


class Counted:
    """A git that writes down what it was asked."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "asked"
        program = folder / "git"
        program.write_text(
            f'#!/bin/sh\necho "$*" >> {self._log}\nexec {shutil.which("git")} "$@"\n'
        )
        program.chmod(0o755)
        self.git = Git(program=str(program))

    def asked(self, word: str) -> int:
        """How often a run had this word among its arguments, since this was asked last."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return sum(f" {word} " in f" {line} " for line in lines)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    folder = tmp_path / "counted"
    folder.mkdir()
    return Counted(folder)


def located(git: Git, path: Path) -> Host:
    found = locate(git, path, "look")
    assert isinstance(found, Host)
    return found


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, with patience."""
    for _ in range(6_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_settings_are_asked_for_once_and_again_when_a_file_of_them_changed(
    lab: Lab, counted: Counted, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    more.write_text("[some]\n\tthing = one\n")
    lab.git("config", "include.path", str(more))
    host = located(counted.git, lab.host)
    counted.asked("config")
    assert host.config("some.thing", "look") == "one"
    assert host.config("some.thing", "look") == "one"
    assert host.config("no.such", "look") is None
    assert counted.asked("config") == 1
    changes: tuple[Callable[[], object], ...] = (
        lambda: more.write_text("[some]\n\tthing = another\n"),
        lambda: lab.git("config", "some.thing", "of the repository"),
        lambda: lab.git("config", "--global", "some.other", "new"),
        lambda: lab.git("checkout", "-q", "-b", "elsewhere"),
    )
    for place, change in enumerate(changes):
        change()
        assert host.config("some.thing", "look") == (
            "another" if place == 0 else "of the repository"
        )
        assert counted.asked("config") == 1, place
    assert host.config("some.other", "look") == "new"


@pytest.mark.parametrize("way", ["absolute", "home", "beside", "condition", "global", "within"])
def test_what_is_included_counts_also_while_it_is_not_there(
    lab: Lab, counted: Counted, tmp_path: Path, way: str
) -> None:
    file = {
        "home": tmp_path / "home" / "later",
        "beside": lab.host / ".git" / "later",
        "global": tmp_path / "home" / "later",
    }.get(way, tmp_path / "later")
    said = {"home": "~/later", "beside": "later", "global": "later"}.get(way, str(file))
    name = f"includeIf.gitdir:{lab.host}/.path" if way == "condition" else "include.path"
    if way == "within":
        between = tmp_path / "between"
        lab.git("config", "--file", str(between), name, said)
        said = str(between)
    lab.git("config", *(["--global"] if way == "global" else []), name, said)
    host = located(counted.git, lab.host)
    assert host.config("some.thing", "look") is None
    assert host.config("some.thing", "look") is None
    assert counted.asked("config") == 1
    file.write_text("[some]\n\tthing = came later\n")
    assert host.config("some.thing", "look") == "came later"
    assert host.config("some.thing", "look") == "came later"
    assert counted.asked("config") == 1
    file.unlink()
    assert host.config("some.thing", "look") is None


def test_a_remote_that_is_split_while_a_process_lives_is_noticed(lab: Lab) -> None:
    from remit.core.gitfacts import Way

    repository = GitRepository(lab.host).located()
    assert isinstance(repository, GitRepository)
    seen = repository.observe_main()
    assert isinstance(seen, MainObservation)
    head = lab.commit({"b.txt": "two\n"})
    made = repository.bring_onto("W-1", head, seen.main_sha, seen.main_sha, Way.MERGE, 1)
    assert not isinstance(made, RepositoryRefusal)
    lab.git("config", "remote.origin.pushurl", "/somewhere/else")
    split = repository.bring_onto("W-1", head, seen.main_sha, seen.main_sha, Way.MERGE, 1)
    assert isinstance(split, RepositoryRefusal)
    assert split.code is RepositoryCode.REMOTE_SPLIT


def test_a_url_that_is_rewritten_is_asked_of_git(lab: Lab) -> None:
    lab.git("config", f"url.{lab.root}/.insteadOf", "there:")
    lab.git("remote", "set-url", "origin", "there:origin.git")
    seen = GitRepository(lab.host).observe_main()
    assert isinstance(seen, MainObservation)
    assert seen.url == str(lab.origin)


def test_main_is_looked_at_each_time_by_one_who_asks_alone(lab: Lab) -> None:
    repository = GitRepository(lab.host).located()
    assert isinstance(repository, GitRepository)
    first = repository.observe_main()
    there = lab.other()
    moved = lab.commit({"c.txt": "three\n"}, cwd=there)
    lab.push(cwd=there)
    second = repository.observe_main()
    assert isinstance(first, MainObservation)
    assert isinstance(second, MainObservation)
    assert (second.main_sha, second.previous_main_sha) == (moved, first.main_sha)
    assert not [ref for ref in lab.refs() if "incoming" in ref]


def test_what_objects_say_is_asked_once_and_a_refusal_each_time(lab: Lab, counted: Counted) -> None:
    older = lab.git("rev-parse", "HEAD")
    newer = lab.commit({"d.txt": "four\n"})
    host = located(counted.git, lab.host)
    counted.asked("merge-base")
    assert [host.is_ancestor(older, newer, "look") for _ in range(3)] == [True] * 3
    assert [host.is_ancestor(newer, older, "look") for _ in range(3)] == [False] * 3
    assert counted.asked("merge-base") == 2
    for _ in range(2):
        assert isinstance(host.is_ancestor("0" * 39 + "1", newer, "look"), RepositoryRefusal)
    assert counted.asked("merge-base") == 2


def test_of_a_shallow_repository_nothing_is_remembered(lab: Lab, counted: Counted) -> None:
    older = lab.git("rev-parse", "HEAD")
    newer = lab.commit({"d.txt": "four\n"})
    (lab.host / ".git" / "shallow").write_text(f"{newer}\n")
    host = located(counted.git, lab.host)
    assert host.shallow
    assert host.is_ancestor(older, newer, "look") is False
    (lab.host / ".git" / "shallow").unlink()
    assert host.is_ancestor(older, newer, "look") is True


def test_what_git_could_not_answer_is_asked_again(lab: Lab) -> None:
    host = located(Git(), lab.host)
    head = lab.git("rev-parse", "HEAD").strip()
    objects = host.common_dir / "objects"
    asked = ["rev-parse", "--verify", "--quiet", f"{head}^{{tree}}"]
    objects.rename(objects.with_name("away"))
    failed = host.ask(asked, "look", answers=(0, 1, 128))
    assert not isinstance(failed, GitRun) or failed.exit_code != 0
    objects.with_name("away").rename(objects)
    found = host.ask(asked, "look", answers=(0, 1, 128))
    assert isinstance(found, GitRun)
    assert found.exit_code == 0


def test_what_became_shallow_meanwhile_is_not_remembered(lab: Lab, counted: Counted) -> None:
    host = located(counted.git, lab.host)
    head = lab.git("rev-parse", "HEAD").strip()
    (host.common_dir / "shallow").write_text(f"{head}\n")
    for _ in range(2):
        host.tree(head, "look")
    assert counted.asked("rev-parse") >= 2


def test_answers_are_bounded() -> None:
    answers = Answers()
    answers.keep(("long",), GitRun(0, b"x" * (ANSWER_BYTES + 1), ""))
    assert answers.get(("long",)) is None
    for number in range(ANSWERS + 2):
        answers.keep((str(number),), GitRun(0, b"", ""))
    assert answers.get(("0",)) is None
    assert answers.get(("1",)) is None
    assert answers.get(("2",)) is not None


def _seen(number: int) -> MainObservation:
    return MainObservation("origin", "", "refs/heads/main", f"{number:040x}", None, False)


def test_who_asks_while_one_looks_gets_a_look_that_began_later() -> None:
    looks = Looks()
    go = [threading.Event(), threading.Event()]
    begun: list[int] = []
    found: dict[str, str] = {}

    def observe() -> MainObservation:
        begun.append(len(begun))
        number = begun[-1]
        go[number].wait(60)
        return _seen(number)

    def ask(name: str) -> None:
        seen = looks.look("main", observe)
        assert isinstance(seen, MainObservation)
        found[name] = seen.main_sha

    threads = [
        threading.Thread(target=ask, args=(name,)) for name in ("first", "one", "two", "three")
    ]
    threads[0].start()
    until(lambda: begun == [0])
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(looks._turn._waiters) == 3)  # type: ignore[attr-defined]  # no other way to know
    go[0].set()
    until(lambda: begun == [0, 1])
    assert found == {"first": _seen(0).main_sha}
    go[1].set()
    for thread in threads:
        thread.join(60)
    assert begun == [0, 1]
    assert {found[name] for name in ("one", "two", "three")} == {_seen(1).main_sha}


def test_a_look_that_fails_is_nobody_elses_and_another_way_of_looking_is_not_shared() -> None:
    looks = Looks()

    def broken() -> MainObservation:
        raise OSError("planted")

    with pytest.raises(OSError, match="planted"):
        looks.look("main", broken)
    assert looks.look("main", lambda: _seen(1)) == _seen(1)
    assert looks.look("other", lambda: _seen(2)) == _seen(2)
