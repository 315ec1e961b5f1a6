"""Workers: handlers for effect work, and everything around them that must not go wrong.

A handler is a plain or ``async`` function that gets a job. Around it this room keeps the order of
intent, send and report, renews the lease on a thread of its own, tells the handler when the lease is
lost, ends every lease by what came of it, and strands nothing when it stops. It decides nothing: all
it knows it asks of the canonical operations.
"""

from __future__ import annotations

from remit.workers.app import App
from remit.workers.endings import AlreadySent, GiveUp, HandBack, IntentRefused, JobError, LeaseLost
from remit.workers.job import Job
from remit.workers.loop import AsyncJob
from remit.workers.settings import Settings

__all__ = [
    "AlreadySent",
    "App",
    "AsyncJob",
    "GiveUp",
    "HandBack",
    "IntentRefused",
    "Job",
    "JobError",
    "LeaseLost",
    "Settings",
]
