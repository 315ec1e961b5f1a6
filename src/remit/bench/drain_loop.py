"""The loop beside the drain: the same git steps for each item, one after another, in one shell script.

What a careful person would type: observe main, clone with shared objects, commit, take the commit over,
look at it in a checkout of its own, merge it, test what would land, push, observe it, and check it again at
the landed commit and at its base, where it must fail. No ledger, no sandbox, no agent's process, no
supervision and no scan: it is what those cost that the ratio shows.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from remit.bench.drain_stage import Stage, check, environment, git
from remit.bench.rounds import DoesNotAddUp
from remit.machine.processes import run_bounded

TIMEOUT_MS: Final = 1_800_000

_STEPS: Final = """
git fetch -q --no-tags origin main:refs/loop/main --force
base=$(git rev-parse refs/loop/main)
git clone -q --shared --no-checkout . ../loop/clone
cd ../loop/clone
git checkout -q -b "loop/$n" "$base"
echo hello > "loop-$n.txt"
git add "loop-$n.txt"
git commit -q --no-verify -m "loop $n"
head=$(git rev-parse HEAD)
test -z "$(git status --porcelain)"
cd "$here"
git fetch -q --no-tags ../loop/clone "loop/$n:refs/loop/taken/$n"
git merge-base refs/loop/main "$head" > /dev/null
test "$(git diff-tree -r --name-only "$base" "$head")" = "loop-$n.txt"
git rev-list --objects "$base..$head" | cut -d' ' -f1 | git cat-file --batch --buffer > /dev/null
git worktree add -q --detach ../loop/review "$head"
git diff "$base" "$head" > /dev/null
git worktree add -q --detach ../loop/merged "$base"
cd ../loop/merged
git merge -q --no-ff --no-edit "$head" > /dev/null
landed=$(git rev-parse HEAD)
%(check)s
cd "$here"
git push -q origin "$landed:refs/heads/main"
test "$(git ls-remote origin refs/heads/main | cut -f1)" = "$landed"
git fetch -q --no-tags origin main:refs/loop/main --force
git merge-base --is-ancestor "$landed" refs/loop/main
git worktree add -q --detach ../loop/shipped "$landed"
(cd ../loop/shipped; %(check)s)
git worktree add -q --detach ../loop/base "$base"
if (cd ../loop/base; %(check)s); then exit 1; fi
test "$(git diff-tree -r --name-only "$base" "$landed")" = "loop-$n.txt"
rm -rf ../loop/clone ../loop/review ../loop/merged ../loop/shipped ../loop/base
git worktree prune
"""


def loop(stage: Stage, items: int, done_before: int = 0) -> float:
    """Run the loop over so many items of its own; items a second. Raises ``DoesNotAddUp``.

    ``done_before`` is how many a loop on this stage has done, so that no file is there already.
    """
    body = _STEPS % {"check": check_in_shell()}
    script = (
        "set -e\nhere=$PWD\nmkdir -p ../loop\n"
        f'n={done_before}\nwhile [ "$n" -lt {done_before + items} ]; do\nn=$((n + 1))\ncd "$here"\n{body}\ndone\n'
    )
    began = time.monotonic()
    done = run_bounded(
        ["sh", "-c", script],
        cwd=stage.work,
        environment=environment(),
        timeout_ms=TIMEOUT_MS,
        output_limit_bytes=65_536,
        merge_stderr=True,
    )
    took = time.monotonic() - began
    if done.exit_code != 0:
        said = done.stdout.whole().decode("utf-8", "replace").strip()[-300:]
        raise DoesNotAddUp(f"the loop ended with {done.exit_code}: {said}")
    landed = int(git(Path(stage.work), "rev-list", "--count", "--merges", "refs/loop/main"))
    if landed < items:
        raise DoesNotAddUp(f"the loop landed {landed} of {items}")
    return items / took


def check_in_shell() -> str:
    """The registered check as a line of the loop, for the item in ``$n``."""
    return check(0)[2].replace("file-0.txt", '"loop-$n.txt"')
