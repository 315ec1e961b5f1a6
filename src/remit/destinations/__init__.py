"""Destinations: adapters that bring effects about outside, and look them up again.

One module each for a folder, an HTTP service, an S3 bucket and a git remote. Each says what it
enforces, sends once without any retry of its own, and reads the authoritative record; none decides
what an answer means for an effect. ``conformance`` holds a destination, ours or a user's own, to what
it says. Third-party libraries are imported where a destination is made, so that nobody pays for one
that he does not use.
"""
