"""Sets the limits of a verification command and becomes it: `launch.py CPU_SECONDS -- ARGV...`.

A program of its own, run with `python -I -S`, because limits set between fork and exec in a
process that has threads can deadlock. It keeps no core dump, bounds the CPU time as a second line
behind the wall-time bound, and then executes the command in place: same process, same group.

It imports nothing of remit's. Where the command cannot be executed it exits as a shell would: 127
where there is no such program, 126 where it cannot be run.
"""

import os
import sys

NOT_EXECUTABLE = 126
NOT_FOUND = 127


def main(arguments: list[str]) -> int:
    """Set the limits, then execute; return only where that fails."""
    cpu_seconds, argv = int(arguments[0]), arguments[2:]
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        wanted = cpu_seconds if hard == resource.RLIM_INFINITY else min(cpu_seconds, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (wanted, hard))
    try:
        os.execvp(argv[0], argv)  # noqa: S606  # it runs the registered command, shell or not
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        found = not isinstance(error, FileNotFoundError | NotADirectoryError)
        return NOT_EXECUTABLE if found else NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
