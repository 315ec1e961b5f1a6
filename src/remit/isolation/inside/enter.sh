# Goes to the door of a cell: `FILES WALLS EMPTY PYTHON BWRAP ARGV...`, run on the host by `env -i sh -c`:
# without an environment, which a shell would take functions, options and numbers from.
#
# It joins the control groups whose files are named (one a line), sees to it that no descriptor
# but the three standard ones goes in, and becomes bubblewrap with an empty environment, which the
# program EMPTY gives it. Bubblewrap stays as the first process of the cell, where the guest can look at
# it, so its own environment has to be empty and not only the one that it hands on. What the cell is
# built of is read from the file WALLS: it holds the guest's variables, and every user of a machine may
# read the arguments of every process.
#
# A shell and no interpreter, since this starts with every command in a cell. Who starts it has closed
# what is not to go in; where anything else was left open it is closed by PYTHON, since a shell closes
# the first ten descriptors alone. Where it cannot join a group or execute, nothing is started.

cannot() {
    printf 'remit: the cell cannot be entered: %s\n' "$1" >&2
    exit 126
}

joins=$1 walls=$2 empty=$3 python=$4 program=$5
shift 5
open=0
# The folder in which they are counted is open as well, and would take the place of one that is not.
for at in 0 1 2; do [ -e "/proc/self/fd/$at" ] || open=9; done
for at in /proc/self/fd/*; do open=$((open + 1)); done
set -f
IFS='
'
for name in $joins; do
    { printf '%s' "$$" > "$name"; } 2> /dev/null || cannot "$name cannot be joined"
done
[ -r "$walls" ] || cannot "$walls cannot be read"
[ -x "$empty" ] && [ -x "$program" ] || cannot "$program cannot be executed"
# Bubblewrap reads the descriptor with its walls and closes it.
if [ "$open" -eq 4 ]; then # the three, and the folder in which they were counted
    exec "$empty" -i "$program" --args 3 -- "$@" 3< "$walls"
fi
exec "$python" -I -S -c '
import os, sys
walls, program, *argv = sys.argv[1:]
os.closerange(3, max(1 << 16, os.sysconf("SC_OPEN_MAX")))
at = os.open(walls, os.O_RDONLY)
os.set_inheritable(at, True)
os.execve(program, [program, "--args", str(at), "--", *argv], {})
' "$walls" "$program" "$@"
