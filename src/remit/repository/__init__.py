"""The git adapter: observe main, clone, take commits over, diff, check out. Facts or refusals."""

from remit.repository.command import Git, GitLimits
from remit.repository.repository import GitRepository

__all__ = ["Git", "GitLimits", "GitRepository"]
