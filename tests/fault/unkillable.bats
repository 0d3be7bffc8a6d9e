#!/usr/bin/env bats
# A process that nobody can kill: frozen by root in a cgroup v1 freezer, which an ordinary user cannot thaw; the kernel shows it in
# state D, as one that is stuck in a driver. Nothing may wait for it without end.

load ../cli/runs

USER_ID=65534
NUMBER=$((700000 + $$ % 100000)) # tells our sleep from everybody else's

as_nobody() { setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups "$@"; }

freezer() {
    need_root
    command -v setpriv >/dev/null || skip "setpriv is missing"
    local point
    point=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
    [ -n "$point" ] || skip "no cgroup v1 freezer is mounted"
    FREEZER=$point/unkillable-$$
    mkdir "$FREEZER" 2>/dev/null || skip "no freezer can be made here"
    chown $USER_ID "$WORK"
    as_nobody test -x "$TARE" || { cp "$TARE" "$WORK/$NAME" && chmod 755 "$WORK/$NAME" && TARE=$WORK/$NAME; }
    # From here on the program is the ordinary user's, with the process id that it is started with.
    cat >"$WORK/program" <<END
#!/bin/sh
exec setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups env HOME="$WORK" "$TARE" "\$@"
END
    chmod 755 "$WORK/program"
    TARE=$WORK/program
}

teardown() {
    if [ -n "${FREEZER:-}" ] && [ -d "$FREEZER" ]; then
        thaw
        for victim in $(cat "$FREEZER/cgroup.procs"); do kill -KILL "$victim" 2>/dev/null || true; done
        for ((tries = 0; tries < 200; tries++)); do rmdir "$FREEZER" 2>/dev/null && break; sleep 0.1; done
    fi
    [ -z "${PID:-}" ] || kill -KILL "$PID" 2>/dev/null || true
    cd /
    [ -z "$WORK" ] || rm -rf "$WORK"
}

# $VICTIM: the process that sleeps $NUMBER seconds.
find_victim() {
    local file
    for file in $(grep -lzx "$NUMBER" /proc/[0-9]*/cmdline 2>/dev/null); do
        if [ "$(cat "${file%cmdline}comm" 2>/dev/null)" = sleep ]; then
            VICTIM=${file#/proc/} VICTIM=${VICTIM%%/*}
            return 0
        fi
    done
    return 1
}

is_frozen() { [ "$(cat "$FREEZER/freezer.state")" = FROZEN ]; }
thaw() { echo THAWED >"$FREEZER/freezer.state"; }

freeze_victim() {
    wait_until find_victim
    echo "$VICTIM" >"$FREEZER/cgroup.procs"
    echo FROZEN >"$FREEZER/freezer.state"
    wait_until is_frozen
}

@test "exec gives up what nobody can kill, names it, and clean lists it" {
    freezer
    start_program exec --grace 0.2 -- sleep $NUMBER
    freeze_victim
    kill -TERM $PID
    end_program
    PID=
    cat err
    [ "$CODE" -eq 125 ]
    grep -q "not everything of the command could be ended" err
    grep -qE "still there: sleep \(pid $VICTIM, state D(, in [a-z_0-9]+)?\)" err
    grep -q "'$NAME clean'" err
    run "$TARE" clean
    echo "$output"
    grep -qE "(^| )$VICTIM .*sleep $NUMBER" <<<"$output"
    thaw
    wait_until test ! -e "/proc/$VICTIM"
}

@test "a run breaks off over what nobody can kill, and goes on when it is gone" {
    need_python
    freezer
    job "echo \"\$TARE_EXPERIMENT\" >>../tries
[ -e ../room ] || exec sleep $NUMBER"
    settings 2
    sed -i 's/"stop_grace": 20/"stop_grace": 0.2/' settings.json
    chown -R $USER_ID repo settings.json registry.json
    start_run
    freeze_victim
    kill -INT $PID
    end_program
    PID=
    cat out err
    [ "$CODE" -eq 3 ]
    grep -qE "repo_net_001: still alive after SIGKILL: $VICTIM sleep \(state D(, in [a-z_0-9]+)?\)" err
    grep -q "'$NAME clean'" err
    grep -q -e "--resume" err
    events evidence | grep -qE "\"kind\":\"unkillable\",\"text\":\"still alive 15 s after SIGKILL: $VICTIM sleep \(state D"
    is "$(events job_proven | python3 -c 'import json, sys
for survivor in json.load(sys.stdin)["survivors"]: print(survivor["pid"], survivor["command"], survivor["state"])')" "$VICTIM sleep D"

    # As long as it is there, the run does not go on.
    run timeout 200 "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"$VICTIM"* ]]
    is "$(cat tries)" repo_net_001
    thaw
    wait_until test ! -e "/proc/$VICTIM"
    touch room
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 0 ]
    is "$(cat tries)" "repo_net_001
repo_net_001
repo_net_002"
}
