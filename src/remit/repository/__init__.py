"""The git adapter: observe main, clone, take commits over, diff, check out.

It answers with facts or refusals, and leaves the user's branches, refs and configuration alone.
"""

from remit.machine.git import Git, GitLimits
from remit.repository.repository import GitRepository

__all__ = ["Git", "GitLimits", "GitRepository"]
