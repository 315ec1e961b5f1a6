"""What every test shares: how Hypothesis runs.

A shared machine pauses tests at will, so an example has no deadline of its own; the time limit of
each test (pyproject.toml) stands. A failure prints what repeats it.
"""

from hypothesis import settings

settings.register_profile("remit", deadline=None, print_blob=True)
settings.load_profile("remit")
