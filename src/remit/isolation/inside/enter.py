"""Goes to the door of a cell: `enter.py FILES WALLS -- BWRAP ARGV...`, run on the host with `-I -S`.

It joins the control groups whose files are named (separated by colons), closes every descriptor but
the three standard ones, and becomes bubblewrap with an empty environment. Bubblewrap stays as the
first process of the cell, where the guest can look at it, so its own environment has to be empty
and not only the one that it hands on. What the cell is built of is read from the file WALLS: it
holds the guest's variables, and every user of a machine may read the arguments of every process.

It imports nothing of remit's. Where it cannot join a group or execute, nothing is started.
"""

import os
import sys

CANNOT = 126


def main(arguments: list[str]) -> int:
    """Join, close, become; return only where that fails."""
    joins, walls, _, program, *argv = arguments
    try:
        for name in filter(None, joins.split(":")):
            with open(name, "w", encoding="ascii") as file:  # noqa: PTH123  # pathlib costs a start
                file.write(str(os.getpid()))
        os.closerange(3, 1 << 16)
        at = os.open(walls, os.O_RDONLY)
        os.set_inheritable(at, True)  # bubblewrap reads it and closes it
        said = [program, "--args", str(at), "--", *argv]
        os.execve(program, said, {})  # noqa: S606  # it becomes bubblewrap, named by its full path
    except OSError as error:
        sys.stderr.write(f"remit: the cell cannot be entered: {error}\n")
    return CANNOT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
