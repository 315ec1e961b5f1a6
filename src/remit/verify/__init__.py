"""Verification: run rows at the shipped commit and at the base, and compare artifacts.

Every run is bounded in time and output, in a clean checkout that is removed afterwards.
"""

from remit.verify.artifact import ArtifactVerdict, judge_artifacts, verify_artifacts
from remit.verify.verifier import CheckoutSource, RowVerification, verify_rows

__all__ = [
    "ArtifactVerdict",
    "CheckoutSource",
    "RowVerification",
    "judge_artifacts",
    "verify_artifacts",
    "verify_rows",
]
