"""What adapters share of the machine: bounded processes, git, directories that really go away.

Several adapters start other people's programs and clean up after them. How that is bounded and ended
must not depend on who does it, so it is here once, below all adapters.
"""
