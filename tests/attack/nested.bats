# The first three promises of docs/explanation/containment.md where tare itself is in a container, in a job of Slurm or in a job of tare:
# nothing of a job is left when it is over, nor when tare dies, and no process of others is ended, whatever is planted.

load bystander

# promises MODE: a program for such a place. The job's daemon heeds no signal and holds a lock; it may be ended by KILL alone.
promises() {
    cat >promises.sh <<END2
set -eu
exec 9>&-
lives() { [ -e "/proc/\$1" ] && ! grep -q ') Z ' "/proc/\$1/stat"; }
free() { for i in \$(seq 600); do flock -n "\$1" true && return; sleep 0.05; done; echo "\$1: something of the job is alive"; exit 1; }
daemon='exec 9>"\$0"; flock 9; setsid sh -c "trap \"\" TERM HUP INT; : >\$0.up; while :; do sleep 1000; done" </dev/null >/dev/null 2>&1 &
until [ -e "\$0.up" ]; do sleep 0.05; done'
rm -f one* two*
# Over.
"$TARE" exec --containment $1 -- sh -c "\$daemon" "\$PWD/one"
free one
# Killed.
"$TARE" exec --containment $1 -- sh -c "\$daemon; sleep 1000" "\$PWD/two" &
runner=\$!
until [ -e two.up ]; do sleep 0.05; done
# A process of somebody else: it is beside the job, and carries its tag, which a dead run's file names with pid and start time.
tag=\$(tr '\\\\0' '\\\\n' </proc/\$(fuser two 2>/dev/null | awk '{print \$1}')/environ | sed -n 's/^TARE_JOB=//p')
env TARE_JOB=\$tag sleep 1000 </dev/null >/dev/null 2>&1 &
other=\$!
kill -KILL \$runner
wait \$runner || true
free two
runs=\${TARE_STATE_DIR:-\$XDG_STATE_HOME/$NAME}/runs
for named in \$other \$\$; do $ROOT/tests/attack/forge \$runs \$named \$tag; done
"$TARE" exec true
lives \$other
kill -KILL \$other
echo kept
END2
}

# in_place COMMAND...: the program in the place that COMMAND makes, with a bystander outside of it.
in_place() {
    local mode
    for need in flock fuser; do command -v $need >/dev/null || skip "$need is missing"; done
    bystander
    for mode in auto sweep; do
        promises $mode
        run timeout 120 "$@" sh promises.sh
        is "$status" 0
        [[ "$output" == *kept ]]
        unharmed
    done
}

contained() {
    CONTAINER=(unshare --pid --fork --kill-child --mount-proc)
    [ "$(id -u)" -eq 0 ] || CONTAINER=(unshare --user --map-root-user --pid --fork --kill-child --mount-proc)
    "${CONTAINER[@]}" true 2>/dev/null || skip "no pid namespace with its own /proc can be made here"
}

@test "in a container" {
    contained
    in_place "${CONTAINER[@]}"
}

@test "in a container whose kernel lets it make no namespaces" {
    contained
    in_place "${CONTAINER[@]}" --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"' sh
}

@test "in the job of another tare, which has a state folder of its own" {
    local outer
    for outer in auto sweep; do
        in_place "$TARE" exec --containment $outer -- env TARE_STATE_DIR="$WORK/inner.$outer"
        kill -KILL "$BYSTANDER"
    done
}

@test "in the job of another tare that shares its state folder" {
    in_place "$TARE" exec --
}

@test "in a job of Slurm" {
    [ "$(id -u)" = 0 ] || skip "Slurm's daemons are started as root"
    for need in slurmctld slurmd munged srun; do
        command -v "$need" >/dev/null || skip "there is no $need (Debian: slurm-wlm, munge)"
    done
    load ../slurm/cluster
    chmod 755 "$WORK"
    cluster_up
    in_place srun --ntasks=1
}

@test "a runner that is pid 1 of a container keeps its job, though a file in the container names it and its own is gone" {
    contained
    command -v nsenter >/dev/null || skip "nsenter is missing"
    [ "$(id -u)" -eq 0 ] || skip "only root can enter a container here"
    "${CONTAINER[@]}" "$TARE" exec --containment sweep -- sh -c 'echo $$ >up; until [ -e go ]; do sleep 0.1; done' </dev/null 3>&- &
    PID=$!
    ENDED_LAST+=("$PID")
    wait_until test -s up
    local runner inside
    runner=$(cat "/proc/$PID/task/$PID/children")
    inside=(nsenter --target "${runner// /}" --pid --mount)
    cat >inside.sh <<END2
set -eu
cd $WORK
training=\$(cat up)
init=\$(sed 's/.*) //' /proc/\$training/stat | cut -d ' ' -f 2)
tag=\$(tr '\\\\0' '\\\\n' </proc/\$training/environ | sed -n 's/^TARE_JOB=//p')
rm -f \$XDG_STATE_HOME/$NAME/runs/*
for named in 1 \$init \$training; do $ROOT/tests/attack/forge \$XDG_STATE_HOME/$NAME/runs \$named \$tag; done
"$TARE" exec true
[ -e /proc/\$training ]
[ -e /proc/\$init ]
echo kept
END2
    run "${inside[@]}" sh "$WORK/inside.sh"
    is "$output" kept
    touch go
    CODE=0
    wait "$PID" || CODE=$?
    is "$CODE" 0
}
