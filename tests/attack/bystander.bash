# Processes that nothing may signal, and a run beside them. Load it with: load bystander

load ../cli/runs

teardown() {
    local pid
    for pid in "${ENDED_LAST[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    [ -z "${CLUSTER:-}" ] || cluster_down
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

# bystander COMMAND...: a process that must not be signalled, $BYSTANDER; a signal that it can catch is written to "signalled".
bystander() {
    env "$@" python3 -c '
import os, signal, sys
def told(number, frame): open("signalled", "a").write("%d\n" % number)
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}: signal.signal(number, told)
open("ready", "w").close()
while True: signal.pause()' </dev/null >/dev/null 2>&1 3>&- &
    BYSTANDER=$!
    ENDED_LAST+=("$BYSTANDER")
    wait_until test -e ready
    rm ready
}

parent_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 2; }
start_time() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }

lives() { [ -e "/proc/$1" ] && ! file_has "/proc/$1/stat" ') Z '; }
is_dead() { ! lives "$1"; }
unharmed() { lives "$BYSTANDER" && [ ! -e signalled ]; }

# A run in the background that goes on until it is told: $PID, with its init $INIT and its training $TRAINING; $TAG and $LEAF are its job's.
other_run() {
    job "[ \$TARE_RUN_DIR = $WORK/copy ] || { echo \$\$ >$WORK/up; until [ -e $WORK/go ]; do sleep 0.1; done; }; echo loss 0.5"
    settings 1
    start_program run settings.json -c registry.json -o results --containment "$1"
    ENDED_LAST+=("$PID")
    wait_until test -s up
    INIT=$(children_of "$PID" "$NAME-init")
    TRAINING=$(cut -d ' ' -f 1 "/proc/$INIT/task/$INIT/children")
    TAG=$(tr '\0' '\n' <"/proc/$TRAINING/environ" | sed -n 's/^TARE_JOB=//p')
    LEAF=$(sed -n 's/.*"cgroup":"\([^"]*\)".*/\1/p' "$XDG_STATE_HOME/$NAME/runs"/*.jsonl | head -n 1)
    is "${INIT:+init}${TRAINING:+ training}${TAG:+ tag}" "init training tag"
}

# It ends by itself, with one result, and by no other hand.
ends_well() {
    touch go
    end_program
    is "$CODE" 0
    is "$(summary training_success)" True
    is "$(events attempt_started | wc -l)" 1
}
