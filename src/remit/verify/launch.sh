# Sets the limits of a command that enters a cell, and becomes it: `launch.sh CPU_SECONDS ARGV...`.
#
# What `launch.py` does for a command without walls, and of the same kind: no core dump, and processor
# time as a second line behind the bound on wall time. What starts here is the door of a cell, which is
# there and can be executed, so a shell will do, and costs a tenth of an interpreter.

ulimit -c 0
ulimit -S -t "$1" 2> /dev/null || ulimit -S -t "$(ulimit -H -t)"
shift
exec "$@"
