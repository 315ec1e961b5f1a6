"""A door that hands on the environment it was opened with: a planted fault for the probes."""

import os
import sys

if __name__ == "__main__":
    _, _, walls, _, program, *argv = sys.argv
    at = os.open(walls, os.O_RDONLY)
    os.set_inheritable(at, True)
    os.execve(program, [program, "--args", str(at), "--", *argv], os.environ)
