# Locks that others can reach: on GPUs, where all users meet in one folder, and on a run's folder.

load ../cli/gpus

# A user of no name, other than the one who runs the tests.
stranger() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# One GPU, and one training that prints a loss. $LOCK is the GPU's lock.
one_training() {
    need_root
    need_python
    command -v setpriv >/dev/null || skip "setpriv is missing"
    chmod 755 "$WORK"
    fake_gpu 0000:01:00.0 0 GPU-00000000-aaaa
    job "${1:-echo loss 0.5}"
    settings 1
    LOCK=gpu-0000:01:00.0.lock
}

locks_of_stranger() { install -d -m 1777 -o 65534 -g 65534 locks; }

# The evidence about locks of all experiments, one line each: KIND WEIGHT: TEXT; and their verdicts, as the run tells them.
doubts() {
    python3 - "$(run_dir)"/*/experiment.json <<'PY'
import json, sys
for path in sys.argv[1:]:
    told = json.load(open(path))["tare"]
    for entry in told["evidence"]:
        if entry["kind"].startswith("gpu_lock"):
            print(told["verdict"], entry["kind"], entry["text"])
PY
}

# A process of the stranger's that shares the lock on this file, until the test ends: $HOLDER.
shared_by_stranger() {
    setpriv --reuid 65534 --regid 65534 --clear-groups flock -s --no-fork "$1" sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    HOLDER=$!
    wait_until grep -qx sleep "/proc/$HOLDER/comm"
}

@test "a lock folder that a stranger made first: the result is unverified, and sudo doctor makes the folder root's" {
    one_training
    locks_of_stranger
    run tare_run
    echo "$output"
    is "$status" 0
    [[ "$output" == *"locks belongs to user 65534, who could take locks away"*"doctor' sets the locks up"* ]]
    is "$(doubts)" "unverified gpu_lock_untrusted $WORK/locks belongs to user 65534, who could take locks away"
    stranger mkfifo "locks/$LOCK"
    "$TARE" doctor >page || true
    grep -q "for all users, in $WORK/locks" page
    is "$(stat -c '%u %a' locks)" "0 1777"
    [ ! -e "locks/$LOCK" ]
    rm -rf results
    tare_run
    is "$(doubts)" ""
}

@test "one's own folder, as the first run makes it, is good: others see it and cannot take locks from it" {
    one_training 'stat -c "%u %a" ../locks/* ../locks >../modes; echo loss 0.5'
    tare_run
    is "$(sort -u modes)" $'0 1777\n0 644'
    is "$(doubts)" ""
    # Nothing stays that another user's next run would have to trust.
    is "$(ls locks)" ""
}

@test "a folder that keeps everybody out, or is a link, is no lock: unverified, and an error where a lock was asked for" {
    one_training
    locks_of_stranger
    chmod 700 locks
    mkdir -m 777 public
    cp "$TARE" program
    chmod 755 program
    run env XDG_STATE_HOME="$WORK/public" setpriv --reuid 65533 --regid 65533 --clear-groups "$WORK/program" exec --gpu-lock refuse -- true
    is "$status" 125
    [[ "$output" == *"cannot be locked: $WORK/locks belongs to user 65534, who keeps others out"* ]]
    rmdir locks
    ln -s public locks
    run tare_run
    is "$status" 0
    is "$(doubts)" "unverified gpu_lock_untrusted the GPU is not locked: $WORK/locks is no folder, or a link"
}

@test "a FIFO, a link or a folder of a stranger's in a lock's place delays nobody, and is said in the verdict" {
    one_training
    local plant
    for plant in "mkfifo locks/$LOCK" "ln -s /etc/passwd locks/$LOCK" "mkdir locks/$LOCK"; do
        rm -rf locks results
        install -d -m 1777 locks
        # shellcheck disable=SC2086
        stranger $plant
        run timeout 60 "$TARE" run settings.json -c registry.json -o results
        echo "$output"
        is "$status" 0
        [[ "$(doubts)" == "unverified gpu_lock_untrusted the GPU is not locked: "*"$LOCK"* ]]
    done
    is "$(stat -c %U:%s /etc/passwd)" "root:$(wc -c </etc/passwd)"
}

@test "what a killed run of another user left is replaced by root; a user who cannot replace it holds it all the same" {
    one_training
    install -d -m 1777 locks
    stranger touch "locks/$LOCK"
    tare_run
    is "$(doubts)" ""
    is "$(ls locks)" ""
    mkdir -m 777 public
    cp "$TARE" program
    chmod 755 program
    stranger touch "locks/$LOCK"
    env XDG_STATE_HOME="$WORK/public" setpriv --reuid 65533 --regid 65533 --clear-groups "$WORK/program" exec --gpu-lock refuse -- \
        sh -c "flock -n '$WORK/locks/$LOCK' true && echo free >'$WORK/public/free'; :"
    [ ! -e public/free ]
    is "$(stat -c %u "locks/$LOCK")" 65534
}

@test "a lock that its owner removes while it is held by another is evidence" {
    one_training 'rm -f ../locks/*; echo loss 0.5'
    tare_run
    [[ "$(doubts)" == "unverified gpu_lock_untrusted $WORK/locks/$LOCK was removed, replaced or changed while we held its lock" ]]
}

@test "a stranger who shares the lock is named by pid, command and user, and the wait for it ends" {
    one_training
    install -d -m 1777 locks
    # Its words in the file are another's.
    echo '{"pid":1,"user":"ada","run":"/home/ada/run"}' >"locks/$LOCK"
    chmod 644 "locks/$LOCK"
    shared_by_stranger "locks/$LOCK"
    local named="is held by process $HOLDER of user $(id -nu 65534 2>/dev/null || echo 65534) (sleep 1000)"
    run "$TARE" exec --gpu-lock refuse -- true
    echo "$output"
    is "$status" 125
    [[ "$output" == *"$named"* ]]
    [[ "$output" != *ada* ]]
    # Ten minutes, a thousandth of it.
    run env TARE_TIME_SCALE=0.001 timeout 60 "$TARE" run settings.json -c registry.json -o results
    echo "$output"
    is "$status" 3
    [[ "$output" == *"$named"*"which is no run of $NAME; waited for it for "*"nothing was run (--gpu-lock off runs without the lock)"* ]]
    [ ! -e results ]
    "$TARE" doctor --json >page || true
    is "$(python3 -c 'import json; print([check["data"]["holder"]["pid"] for check in json.load(open("page"))["checks"]
    if check["name"] == "gpu"])')" "[$HOLDER]"
}

@test "who may only read a run's folder cannot lock it, and cannot refuse its resume" {
    one_training '[ -e ../finish ] || { touch ../up; sleep 1000; }; echo loss 0.5'
    start_run
    wait_until test -e up
    kill -KILL "$PID"
    wait "$PID" || true
    is "$(stat -c %a "$(run_dir)/run.lock")" 600
    run stranger cat "$(run_dir)/run.lock"
    [[ "$output" == *"Permission denied"* ]]
    # Nor the files of the state folder, also where that lets others in.
    [ -n "$(find state -type f)" ]
    is "$(find state -type f ! -perm 600)" ""
    touch finish
    "$TARE" run --resume "$(run_dir)"
    is "$(summary training_success)" True
}

@test "whoever has a run locked is named as the kernel tells it, not the dead process that the file names" {
    one_training '[ -e ../finish ] || { touch ../up; sleep 1000; }; echo loss 0.5'
    start_run
    wait_until test -e up
    kill -KILL "$PID"
    wait "$PID" || true
    wait_until lock_is_free "$(run_dir)/run.lock"
    chmod 644 "$(run_dir)/run.lock" # as runs of an older version have it
    shared_by_stranger "$(run_dir)/run.lock"
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    is "$status" 2
    [[ "$output" == *"run.lock is locked by process $HOLDER (sleep 1000) of user $(id -nu 65534 2>/dev/null || echo 65534)"* ]]
    [[ "$output" != *"$PID"* ]]
    # The lock of a file descriptor that outlives who took it is its heir's.
    kill "$HOLDER"
    wait "$HOLDER" || true
    bash -c 'exec 9<"$1"; flock -s 9; touch "$2"; exec sleep 1000' - "$(run_dir)/run.lock" "$WORK/heir" 3>&- &
    HOLDER=$!
    wait_until test -e heir
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    is "$status" 2
    [[ "$output" == *"run.lock is locked by process $HOLDER (sleep 1000) of user root"* ]]
}
