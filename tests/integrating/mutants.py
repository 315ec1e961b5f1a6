"""Faults to plant in integration: file, what stands there, what to put in its place, who sees it."""

from __future__ import annotations

MUTANTS: list[tuple[str, str, str, str]] = [
    (
        "core/pushes.py",
        'if now not in ("", push.expected):',
        "if True:",
        "test_pushes.py::test_without_markers_it_is_put_aside_until_main_moves",
    ),
    (
        "core/view.py",
        "(fact.kind is Kind.EFFECT or _pushed(fact))",
        "fact.kind is Kind.EFFECT",
        "test_pushes.py::test_a_remote_that_is_away_leaves_it_unknown_until_it_is_back",
    ),
    (
        "core/effect_states.py",
        "    if unsettled:\n        return unsettled[0]\n",
        "",
        "test_requests.py::test_a_host_that_is_away_leaves_it_unknown",
    ),
    (
        "core/decide/integrating.py",
        "if failed or diff == Result.FAIL:",
        "if False:",
        "test_landing.py::test_rows_that_fail_on_the_result_put_the_work_aside",
    ),
    (
        "core/decide/integrating.py",
        "if silent or diff != Result.PASS:",
        "if False:",
        "test_landing.py::test_a_row_without_an_answer_refuses_and_changes_nothing",
    ),
    (
        "service/integrating.py",
        "if stands is not None and stands.open:",
        "if False:",
        "test_pushes.py::test_a_remote_that_is_away_leaves_it_unknown_until_it_is_back",
    ),
    (
        "service/pushing.py",
        "fence = 0 if over or self.requests or not push.markers else self._fence(effect)",
        "fence = 0",
        "test_pushes.py::test_a_push_that_died_on_the_way_is_kept_out_before_another",
    ),
    (
        "service/adoption.py",
        "i.kind is Kind.EFFECT or _pushed(i)",
        "i.kind is Kind.EFFECT",
        "test_adopted.py::test_approved_work_with_an_open_push_goes_to_triage",
    ),
    (
        "service/requesting.py",
        " and seen.effect.arrives_until is None",
        "",
        "test_requests.py::test_a_program_that_fails_is_not_asked_again_before_its_bound",
    ),
    (
        "destinations/git_lease.py",
        'lease = f"--force-with-lease={self.ref}:{expected}"',
        'lease = "--force"',
        "test_pushes.py::test_a_main_that_moves_while_it_is_tested_is_followed",
    ),
    (
        "destinations/pull_requests.py",
        'if one.get("isCrossRepository") is True or',
        "if",
        "test_requests.py::test_requests_of_others_are_none_of_ours",
    ),
    (
        "repository/landing.py",
        "if reviewed != made:",
        "if False:",
        "test_landing.py::test_a_merge_that_is_another_patch_ships_the_approved_head",
    ),
    (
        "repository/blank.py",
        'git_dir=self.room / ".git",',
        "git_dir=self.host.common_dir,",
        "test_landing.py::test_nothing_of_the_host_runs_or_moves",
    ),
    (
        "repository/landing.py",
        'if shown.text == read.text and "\\n" not in read.text:',
        "if True:",
        "test_landing.py::test_a_remote_of_two_places_is_refused",
    ),
    (
        "repository/landing.py",
        "    return attempt_branches.moved_branch(",
        "    return None\n    return attempt_branches.moved_branch(",
        "test_landing.py::test_who_may_be_pushed_is_decided_as_for_a_ship",
    ),
]
