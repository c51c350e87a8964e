# Watchdog of one process. Its standard input is a pipe held by the owner; the end of that file
# means that the owner has ended, for any reason, and the watchdog then stops the process.
# Arguments: signal that stops the process, seconds until it is killed, files for its standard output and
# error, then the command. Prints the process's id at once, and its exit code when it has ended.
umask 077
signal=$1 grace_s=$2 out=$3 err=$4
shift 4
exec 3<&0 </dev/null
: >"$out.running"
"$@" 3<&- >>"$out" 2>>"$err" &
child=$!
tree() {
    { cat "/proc/$child/task/$child/children" || pgrep -P "$child"; } 2>/dev/null
    echo "$child"
}
(
    while read -r _ <&3; do :; done
    kill -s "$signal" "$child"
    # A paused process receives no other signal before this one.
    kill -s CONT $(tree)
    tenths=$((grace_s * 10))
    while [ "$tenths" -gt 0 ] && kill -0 "$child"; do
        sleep 0.1
        tenths=$((tenths - 1))
    done
    kill -s KILL $(tree)
) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
trap 'kill -s "$signal" "$child"' HUP INT TERM
echo "$child"
while :; do
    wait "$child" 2>/dev/null
    code=$?
    kill -0 "$child" 2>/dev/null || break
done
rm -f "$out.running"
# The code is printed when no process is left.
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
echo "$code"
