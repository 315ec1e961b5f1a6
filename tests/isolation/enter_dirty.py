"""A door that hands on the environment it was opened with: a planted fault for the probes."""

import os
import sys

if __name__ == "__main__":
    argv = sys.argv[3:]
    os.execve(argv[0], argv, os.environ)
