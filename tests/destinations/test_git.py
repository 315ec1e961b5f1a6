"""A git remote: the server compares what was expected, however late a push comes (INV-13)."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest
from tests.destinations.subjects import Repositories

from remit.core.refusals import Code
from remit.destinations.naming import short
from remit.ports import RemitError
from remit.ports.destination import (
    Answered,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Result,
)
from remit.wiring import destination

LOOK = LookUp("E-1", "key-1", "integrate", "M-1", timeout_ms=20_000)


def asked(repositories: Repositories, **change: object) -> Request:
    made = Request("E-1", "key-1", 7, repositories.payload(1), "integrate", "M-1")
    return replace(made, **change)  # type: ignore[arg-type]  # each test names what it changes


def test_a_push_is_found_with_all_that_was_asked(repositories: Repositories) -> None:
    there = destination(repositories.document())
    request = asked(repositories)
    commit = json.loads(request.payload)["commit"]
    assert there.send(request).reference == commit
    assert repositories.main() == commit
    seen = there.look_up(LOOK)
    assert (seen.result, seen.objects, seen.differences) == (Result.FOUND, 1, ())
    assert (seen.value("commit"), seen.value("digest")) == (commit, request.digest)
    assert (seen.value("effect_id"), seen.value("manifest_id")) == ("E-1", "M-1")


def test_a_main_that_moved_meanwhile_is_not_pushed_over(repositories: Repositories) -> None:
    there = destination(repositories.document())
    request = asked(repositories)
    there.send(replace(request, key="key-2", payload=repositories.payload(2)))
    moved = repositories.main()
    with pytest.raises(Answered) as refused:
        there.send(request)
    assert refused.value.reason is Reason.STALE_FENCE
    assert repositories.main() == moved
    assert there.look_up(LOOK).result is Result.NONE


def test_a_push_under_way_fails_once_a_higher_fence_is_confirmed(
    repositories: Repositories,
) -> None:
    """The marker moves between the push's reading and its arrival: the server refuses it."""
    there = destination(repositories.document())
    request = asked(repositories)
    seen_by = type(there)._marker  # type: ignore[attr-defined]  # the moment between the two
    overtaken: list[int] = []

    def read_and_be_overtaken(self: object, git: object, mark: str) -> object:
        stands = seen_by(self, git, mark)
        if not overtaken:
            overtaken.append(0)
            overtaken.append(there.look_up(replace(LOOK, fence=8)).confirmed_fence)
        return stands

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(there), "_marker", read_and_be_overtaken)
        with pytest.raises(Answered) as refused:
            there.send(request)
    assert overtaken == [0, 8]
    assert refused.value.reason is Reason.STALE_FENCE
    assert repositories.main() == json.loads(request.payload)["expected"]
    assert there.look_up(LOOK).result is Result.NONE


def test_a_main_that_went_on_still_contains_it_and_a_rewritten_one_does_not(
    repositories: Repositories,
) -> None:
    there = destination(repositories.document())
    before = repositories.main()
    there.send(asked(repositories))
    there.send(asked(repositories, key="key-2", effect_id="E-2"))
    assert there.look_up(LOOK).differences == ()
    repositories.git("update-ref", "refs/heads/main", before, cwd=repositories.bare)
    commit = repositories.commit("rewritten")
    repositories.git("push", "-q", str(repositories.bare), f"{commit}:refs/heads/main")
    seen = there.look_up(LOOK)
    assert seen.result is Result.FOUND
    assert seen.differences == (f"refs/heads/main lacks {seen.value('commit')}",)


@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b"[]", b'{"commit": "main", "expected": ""}', b'{"commit": "-f", "expected": ""}'],
)
def test_a_payload_that_names_no_commit_is_not_sent(
    repositories: Repositories, payload: bytes
) -> None:
    with pytest.raises(NotSent):
        destination(repositories.document()).send(asked(repositories, payload=payload))


def test_a_commit_that_is_not_here_or_goes_on_from_elsewhere_is_not_sent(
    repositories: Repositories,
) -> None:
    there, before = destination(repositories.document()), repositories.main()
    orphan = repositories.git("commit-tree", "-m", "x", f"{before}^{{tree}}")
    for commit in ("0" * 39 + "1", orphan):
        payload = json.dumps({"commit": commit, "expected": before}).encode()
        with pytest.raises(NotSent):
            there.send(asked(repositories, payload=payload))
    assert repositories.main() == before


def test_a_remote_that_is_away_is_unavailable_and_nothing_left(repositories: Repositories) -> None:
    there, request = destination(repositories.document()), asked(repositories)
    with repositories.outage():
        with pytest.raises(NotSent):
            there.send(request)
        assert there.look_up(LOOK).result is Result.UNAVAILABLE


def test_a_request_that_has_ended_does_not_leave(repositories: Repositories) -> None:
    before = repositories.main()
    with pytest.raises(NotSent):
        destination(repositories.document()).send(asked(repositories, expires_at=1))
    assert repositories.main() == before


def test_a_push_that_hangs_is_uncertain(repositories: Repositories) -> None:
    there = destination(repositories.document())
    for timeout_ms in (1_500, 10_000, 25_000):
        with repositories.lost_answers():
            try:
                with pytest.raises(NoAnswer):
                    there.send(asked(repositories, timeout_ms=timeout_ms))
            except NotSent:
                continue
        if there.look_up(LOOK).result is Result.FOUND:
            return  # on a busy machine it may not have arrived so soon
    raise AssertionError("it never arrived")


def test_a_push_that_a_hook_refuses_is_rejected_with_nothing_moved(
    repositories: Repositories,
) -> None:
    there, request = destination(repositories.document()), asked(repositories)
    hook = repositories.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(Answered) as refused:
        there.send(request)
    assert refused.value.reason is Reason.REJECTED
    hook.unlink()
    assert there.look_up(LOOK).result is Result.NONE


def test_a_marker_that_is_not_ours_is_unavailable(repositories: Repositories) -> None:
    there = destination(repositories.document())
    there.send(asked(repositories))
    odd = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        input=b"[]",
        cwd=repositories.bare,
        capture_output=True,
        check=True,
    ).stdout.decode()
    name = f"refs/remit/{short('key-1')}"
    repositories.git("update-ref", name, odd.strip(), cwd=repositories.bare)
    assert there.look_up(LOOK).result is Result.UNAVAILABLE


@pytest.mark.parametrize("ref", ["main", "--force", "refs/heads/../x", "refs/heads/a b", "+refs/x"])
def test_a_ref_that_is_no_full_name_is_refused(repositories: Repositories, ref: str) -> None:
    document = repositories.document()
    document["settings"]["ref"] = ref
    with pytest.raises(RemitError) as refused:
        destination(document)
    assert refused.value.code is Code.BAD_INPUT
