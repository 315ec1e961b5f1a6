"""The demo: the whole lifecycle, for real, on a small program in a bare repository, offline.

It makes an origin with a unit converter in it, a ledger beside it and a backlog for it, has an agent
plan the work and a human sign the one decision that the plan needs, lets two scripted agents work as
processes of their own, has their work reviewed, pushed, observed and verified, and lets things go
wrong on the way: a worker dies, a worker claims what it did not do, and an item waits on that one. In
the end it checks its own story against the ledger.

Only the workers are scripted. The commits, the processes, the kill, the push and every answer of
the ledger are real, and all of it goes through the canonical operations.
"""
