# What fails a training is told apart from what fails the machine: a shortage of descriptors, memory or processes, and a job's init that
# somebody killed, interrupt an attempt. It uses up no retry, is tried once more after the pause, and is done again on resume.

load ../cli/runs

# outcomes: of every attempt, as "experiment attempt outcome reason", a line each.
outcomes() {
    python3 - "$(run_dir)/events.jsonl" <<'END'
import json, sys
for event in map(json.loads, open(sys.argv[1])):
    if event["type"] == "attempt_ended":
        print(event["experiment"], event["attempt"], event["data"]["outcome"], event["data"]["reason"])
END
}

# The init of the job that runs.
init_of_job() { children_of "$PID" "$NAME-init"; }

kill_first_init() { kill -KILL "$(init_of_job | head -n 1)" 2>/dev/null; }

# kill_init EXPERIMENT ATTEMPT: once that has begun.
kill_init() {
    wait_until test -e "up$1.$2"
    kill -KILL "$(init_of_job)"
}

# hangs EXPERIMENTS ATTEMPTS: the first attempts of the first experiments never end by themselves.
hangs() {
    job "number=\${TARE_EXPERIMENT##*_00}; echo \"\$number \$TARE_ATTEMPT\" >>../tries; touch ../up\$number.\$TARE_ATTEMPT
[ \$number -gt $1 ] || [ \$TARE_ATTEMPT -gt $2 ] || sleep 1000
echo loss 0.5"
}

# nothing_failed: as the events say; then a resume on a machine that is well does what is left, each experiment once.
nothing_failed() {
    local dir
    if ! dir=$(run_dir) || [ ! -e "$dir/run.db" ]; then
        return 0 # it could not even begin
    fi
    ! events experiment_ended | grep '"failed"' || return 1
    ! events attempt_ended | grep '^{"outcome":"failed"' || return 1
    "$TARE" run --resume "$dir" >resumed 2>&1 || { cat resumed; return 1; }
    is "$(summary training_success | sort | uniq -c | tr -s ' ')" " $1 True" && is "$(summary retries | sort -u)" 0
}

@test "a job whose init is killed is interrupted, uses up no retry, and is done again at once" {
    for containment in auto sweep; do
        rm -rf results up* tries
        hangs 1 1
        settings 2
        start_program run settings.json -c registry.json -o results --containment $containment
        kill_init 1 1
        end_program
        cat out
        is "$CODE" 0
        is "$(outcomes)" "1 1 interrupted machine
1 2 succeeded exited
2 1 succeeded exited"
        is "$(summary retries | sort -u)" 0
        grep -q "attempt 1 was interrupted: the job's init (pid [0-9]*) was killed" out
    done
}

@test "a job whose init is killed twice is left to a resume; the other experiments are done" {
    hangs 1 2
    settings 2
    start_run
    kill_init 1 1
    kill_init 1 2
    end_program
    is "$CODE" 1
    "$TARE" run --resume "$(run_dir)"
    is "$(outcomes)" "1 1 interrupted machine
1 2 interrupted machine
2 1 succeeded exited
1 3 succeeded exited"
    is "$(summary retries | sort -u)" 0
}

@test "where attempt after attempt is interrupted the run breaks off instead of going through its plan" {
    hangs 9 9
    settings 4
    start_run
    for attempt in "1 1" "1 2" "2 1" "2 2"; do kill_init $attempt; done
    end_program
    is "$CODE" 3
    grep -q "attempt 4 in a row that the machine interrupted" err
    grep -q -- "--resume" err
    is "$(cat tries)" "1 1
1 2
2 1
2 2"
}

@test "the background of a parallel experiment whose init is killed interrupts the attempt, too" {
    registry
    job 'case $* in *--n*) ;; esac; touch "../up$TARE_ATTEMPT"; sleep $((TARE_ATTEMPT > 1 ? 4 : 60)); echo loss 0.5'
    cat >settings.json <<'END'
{"experiments": [{"mode": "parallel", "foreground": {"repo": "repo", "model": "net"}, "background": {"repo": "repo", "model": "net"}}],
 "max_retries": 0, "tare": {"timing": {"between_runs": 0, "before_retry": 0, "stop_grace": 1}}}
END
    start_run
    wait_until test -e up1
    wait_until kill_first_init
    end_program
    outcomes
    is "$(outcomes | head -n 1)" "1 1 interrupted machine"
    is "$(outcomes | sed -n 2p | cut -d ' ' -f 1-3)" "1 2 succeeded"
}

@test "a run at any low limit of open files fails no experiment, and a resume does each" {
    job 'echo loss 0.5'
    settings 2
    for limit in 12 16 18 20 21 22 23 24 26 30; do
        rm -rf results
        (ulimit -n $limit; exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; tare_run) >told 2>&1 || true
        nothing_failed 2 || { echo "limit $limit"; cat told; false; }
    done
}

@test "a live runner whose descriptors are taken away fails no experiment, and a resume does each" {
    command -v prlimit >/dev/null || skip "prlimit is missing"
    job 'touch ../up; until [ -e ../go ]; do sleep 0.2; done; echo loss 0.5'
    settings 2
    for limit in 3 12 18 22 24 26 28; do
        rm -rf results up go
        start_run
        wait_until test -e up
        prlimit --pid "$PID" --nofile=$limit:$limit
        touch go
        end_program
        nothing_failed 2 || { echo "limit $limit"; cat out err; false; }
    done
}

@test "a user at any low limit of processes fails no experiment, and a resume does each" {
    [ "$(id -u)" -eq 0 ] || skip "root's limit alone would count other programs of this user"
    command -v setpriv >/dev/null || skip "setpriv is missing"
    [ -z "${TARE_SANITIZED:-}" ] || skip "the sanitizers start threads of their own"
    # Nobody else has this number.
    as_other=(setpriv --reuid=58117 --regid=58117 --clear-groups)
    "${as_other[@]}" "$TARE" --version >/dev/null 2>&1 || skip "another user cannot execute the program"
    job 'echo loss 0.5'
    settings 2
    chown -R 58117:58117 "$WORK"
    tare_as() { "${as_other[@]}" "$TARE" "$@"; }
    for limit in 1 2 3 4 5 6 8; do
        rm -rf results
        (ulimit -u $limit; tare_as run settings.json -c registry.json -o results) >told 2>&1 || true
        nothing_failed 2 || { echo "limit $limit"; cat told; false; }
    done
}

@test "a system call that the machine refuses for want of something fails no experiment" {
    command -v strace >/dev/null || skip "strace is missing"
    [ -z "${TARE_SANITIZED:-}" ] || skip "a leak checker cannot work under a tracer"
    job 'echo loss 0.5'
    settings 2
    strace -o trace true 2>/dev/null || skip "no process can be traced here"
    for call in clone:error=EAGAIN clone:error=ENOMEM socketpair:error=ENFILE pipe2:error=EMFILE; do
        for time in 1 2 3; do
            rm -rf results
            strace -o trace -e trace=${call%%:*} -e inject=$call:when=$time \
                "$TARE" run settings.json -c registry.json -o results >told 2>&1 || true
            nothing_failed 2 || { echo "$call $time"; cat told; false; }
        done
    done
}

@test "a training that itself runs out of descriptors, or is killed, fails" {
    job 'python3 -c "
import os
while True: os.open(\"/dev/null\", os.O_RDONLY)"'
    settings 1
    (ulimit -n 64; tare_run) || [ $? -eq 1 ]
    is "$(outcomes)" "1 1 failed exited"
    rm -rf results
    job 'kill -KILL $$'
    tare_run || [ $? -eq 1 ]
    is "$(outcomes)" "1 1 failed exited"
}

@test "a caller that ignores SIGCHLD takes no figure from a run: its children are reaped by itself" {
    need_python
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$TARE" exec --containment sweep -v -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' 2>said
    python3 -c '
import re
assert float(re.search(r"cpu time: ([0-9.]+) s", open("said").read())[1]) > 0.05, open("said").read()'
}
