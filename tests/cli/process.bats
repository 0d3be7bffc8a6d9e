#!/usr/bin/env bats
# What a job gets and leaves: its command line, environment, log, children, limits.

load ../cli/runs

log_of() { cat "$(run_dir)/$1/training.log"; }

@test "stdout and stderr are kept byte for byte, in the order of writing; stdin is empty" {
    job 'cat; printf "a\000b\377\r50%%\r100%%\n"; echo to stderr >&2; printf "no end"'
    settings 1
    tare_run
    printf 'a\000b\377\r50%%\r100%%\nto stderr\nno end' | cmp - "$(run_dir)/repo_net_001/training.log"
    # Lines: a\0b\377 50% 100% are parts of the first, then to stderr, no end.
    is "$(tail -n +2 "$(run_dir)/repo_net_001/training.times.csv" | cut -d, -f1,3)" "1,0
1,5
1,9
2,14
3,24"
}

@test "no shell sees the command line" {
    job 'for word in "$@"; do echo "[$word]"; done'
    registry '"required_args": {"first": ["$(touch stolen)", "two words"], "second": [";touch stolen", "*"]}'
    settings 1
    tare_run
    is "$(log_of repo_net_001 | grep -v -e '--n' -e '^\[[0-9]*\]$' -e net)" '[$(touch stolen)]
[two words]
[;touch stolen]
[*]'
    [ ! -e stolen ]
    [ ! -e repo/stolen ]
}

@test "the environment is the caller's, then the registry's, then tare's own" {
    job 'echo "$COLOUR $SHAPE $TARE_EXPERIMENT $TARE_ATTEMPT $PYTHONUNBUFFERED"; echo "$TARE_RUN_DIR"; pwd; tool'
    mkdir repo/tools
    printf '#!/bin/sh\necho tool of the repository\n' >repo/tools/tool
    chmod +x repo/tools/tool
    registry '"env": {"COLOUR": "blue"}, "path_prepend": ["repo/tools"]'
    settings 1
    COLOUR=red SHAPE=round tare_run
    is "$(log_of repo_net_001)" "blue round repo_net_001 1 1
$(cd "$(run_dir)" && pwd)
$(cd repo && pwd)
tool of the repository"
}

@test "each attempt keeps its own log; the last one's stands in the folder" {
    job 'echo "try $TARE_ATTEMPT"; [ "$TARE_ATTEMPT" = 3 ]'
    settings 1 '' '"max_retries": 4'
    tare_run
    is "$(cat "$(run_dir)"/repo_net_001/attempt_1/training.log)" "try 1"
    is "$(cat "$(run_dir)"/repo_net_001/attempt_2/training.log)" "try 2"
    is "$(log_of repo_net_001)" "try 3"
    is "$(summary retries)" 2
    is "$(summary training_success)" True
}

@test "a timeout ends a job, TERM first, and all that it started" {
    job 'trap "echo asked" TERM; exec 9>../lock; flock 9; setsid sleep 1000 & while :; do sleep 0.1; done'
    settings 1 '' '"timeout": 1'
    sed -i 's/"stop_grace": 20/"stop_grace": 0.5/' settings.json
    run tare_run
    [ "$status" -eq 1 ]
    lock_is_free lock
    is "$(log_of repo_net_001 | tail -n 1)" asked
    [[ "$(event_value experiment_ended 1 error)" == "timed out after "* ]]
}

@test "children that outlive the command are ended, and named as evidence" {
    idle_machine # other tests may run beside this one
    job 'exec 9>../lock; flock 9; setsid sleep 1000 & setsid sleep 1000 & echo loss 1'
    settings 1
    tare_run
    lock_is_free lock
    is "$(summary training_success)" True
    is "$(event_value evidence 1 kind)" leftover_processes
    [[ "$(event_value evidence 1 text)" == *" left 2 processes, ended by tare: "* ]]
}

@test "a log over its cap is matched but not kept, in a job that goes on" {
    job 'head -c 3000000 /dev/zero; echo; echo loss 0.125'
    settings 1 '"log_cap": 100000'
    tare_run
    is "$(stat -c %s "$(run_dir)/repo_net_001/training.log")" 100000
    is "$(summary perf_loss)" 0.125
}

@test "exit code and patterns decide together" {
    job 'echo "$TARE_EXPERIMENT"
case $TARE_EXPERIMENT in *001) echo saved; exit 4;; *002) echo saved; echo nan;; *003) exit 0;; *) echo saved;; esac'
    registry '"success": ["^saved$"], "errors": ["^nan$"], "exit_code": "ignored"'
    settings 4
    run tare_run
    [ "$status" -eq 1 ]
    is "$(summary training_success)" "True
False
False
True"
    is "$(event_value experiment_ended 2 error)" "log line 3 matches the error pattern '^nan\$': nan"
    is "$(event_value experiment_ended 3 error)" "no log line matches the success pattern '^saved\$'; \
last log line: repo_net_003"
}

@test "a failure is told with the line of the log that says what went wrong" {
    job 'echo "epoch 1"
case $TARE_EXPERIMENT in
*001) printf "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\nValueError: no such file\n" ;;
*002) echo "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; echo "cleaning up" ;;
esac
exit 1'
    settings 3
    run tare_run
    [ "$status" -eq 1 ]
    is "$(summary error)" "exit code 1; traceback at log line 2: ValueError: no such file
exit code 1; the log says: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
exit code 1; last log line: epoch 1"
    [[ "$output" == *"repo_net_002: exit code 1; the log says: RuntimeError: CUDA out of memory. Tried"* ]]
    grep -F '"error_message": "exit code 1; last log line: epoch 1"' "$(run_dir)/repo_net_003/experiment.json"
}

@test "a metric that is no finite number stays what it is, everywhere" {
    job 'case $TARE_EXPERIMENT in *001) echo loss 0.5; echo loss nan ;; *002) echo loss -Infinity ;; *) echo loss abc ;; esac'
    registry '"performance_metrics": {"log_patterns": {"loss": "^loss (.*)"}}, "errors": []'
    sed -i 's/"performance_metrics": {"log_patterns": {"loss": "^loss (\[0-9.\]+)"}}, //' registry.json
    settings 3
    run tare_run
    [ "$status" -eq 0 ]
    is "$(summary perf_loss; echo end)" "nan
-inf

end"
    [[ "$output" == *"succeeded in "*", loss nan"* ]]
    [[ "$output" == *"metric 'loss' matched 'abc', which is no number"* ]]
    [[ "$output" != *"never matched"* ]]
    grep -F '"loss": "nan"' "$(run_dir)/repo_net_001/experiment.json"
    grep -F '"loss": "-inf"' "$(run_dir)/repo_net_002/experiment.json"
    grep -F '"loss": null' "$(run_dir)/repo_net_003/experiment.json"
    is "$(event_value experiment_ended 1 metrics)" '{"loss":"nan"}'
    is "$(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT value, special FROM experiment_metrics").fetchall())' \
        "$(run_dir)/run.db")" "[(None, 'nan'), (None, '-inf'), (None, None)]"
}

@test "CPU time is limited for all of a job's processes together" {
    job '(while :; do :; done) & (while :; do :; done) & wait'
    settings 1 '"limits": {"cpu_time": "1s"}'
    run tare_run
    [ "$status" -eq 1 ]
    is "$(summary error)" "used more than its limit of 1 s of CPU time"
}

@test "memory is limited where a cgroup can, and said to be unlimited elsewhere" {
    need_python
    job 'exec python3 -c "print(len(bytearray(300 << 20)))"'
    settings 1 '"limits": {"memory": "100 MiB"}'
    run tare_run
    if [ "$status" -eq 0 ]; then
        [[ "$output" == *"repo_net_001 the memory limit of 100 MiB cannot be held here: "* ]]
        is "$(log_of repo_net_001)" 314572800
    else
        [[ "$output" != *"cannot be held here"* ]]
        [[ "$(summary error)" == "ended by signal 9 (SIGKILL): probably by the memory limit"* ]]
    fi
}

@test "a script whose interpreter is missing says so" {
    job 'exit 0'
    settings 1
    sed -i '1s/.*/#!\/no\/such\/interpreter/' repo/job.sh
    run tare_run
    [ "$status" -eq 1 ]
    [[ "$(event_value experiment_ended 1 error)" == "cannot run "*"job.sh: No such file or directory (the file, or "* ]]
}

@test "a metric that never matched is an empty cell and said so" {
    idle_machine # other tests may run beside this one
    job 'echo nothing to see'
    settings 1
    run tare_run
    [ "$status" -eq 0 ]
    [[ "$output" == *"] repo_net_001 succeeded in "*" s, loss not found"* ]]
    [[ "$output" == *"never matched in any log: loss"* ]]
    is "$(summary perf_loss)" ""
    is "$(event_value experiment_ended 1 metrics)" '{"loss":null}'
}

@test "machine.json says on what and from which state it ran" {
    command -v git >/dev/null || skip "git is not installed"
    job 'exit 0'
    git -C repo init -q
    git -C repo add job.sh
    git -C repo -c user.name=a -c user.email=a@b.c commit -q -m first
    settings 1
    tare_run
    python3 - "$(run_dir)/machine.json" "$(git -C repo rev-parse HEAD)" "$(uname -r)" <<'END'
import json, sys
machine = json.load(open(sys.argv[1]))
assert machine["repositories"][0]["commit"] == sys.argv[2], machine
assert machine["repositories"][0]["dirty"] is False, machine
assert machine["kernel"] == sys.argv[3], machine
END
}

@test "an ordinary user can run it all" {
    [ "$(id -u)" -eq 0 ] || skip "already an ordinary user"
    command -v setpriv >/dev/null || skip "setpriv is not installed"
    job 'id -u; exec 9>lock; flock 9; setsid sleep 1000 & echo loss 1'
    settings 1
    chmod 755 "$WORK"
    chown -R 65534:65534 "$WORK"
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$TARE" || skip "another user cannot reach the program"
    HOME=$WORK setpriv --reuid=65534 --regid=65534 --clear-groups "$TARE" run settings.json -c registry.json -o results
    is "$(log_of repo_net_001 | head -n 1)" 65534
    lock_is_free repo/lock
    is "$(stat -c %u "$(run_dir)/summary.csv")" 65534
}

@test "a training cannot type into the terminal from which the run was started, not even root's" {
    local typist=${BUILD_DIR:-$ROOT/build}/tests/fault/fault_type_to_terminal
    [ -x "$typist" ] || skip "the programs that misbehave are not built"
    command -v script > /dev/null || skip "script is missing"
    [ "$(id -u)" -eq 0 ] || skip "an ordinary user's training has no right to another session's terminal"
    script -qec "tty >'$WORK/tty'; setsid --wait '$typist' \$(cat '$WORK/tty') >'$WORK/free'" /dev/null < /dev/null
    grep -q "^own /dev/[^ ]* 0" "$WORK/free" || skip "this kernel lets nobody type"
    job "'$typist' \"\$(cat '$WORK/tty')\"; exit 0"
    settings 1
    script -qec "tty >'$WORK/tty'; $(declare -f tare_run); TARE='$TARE' tare_run" /dev/null < /dev/null
    [ "$(grep -c "^[a-z0-9-]* $(cat "$WORK/tty") 1$" "$(run_dir)"/*/training.log)" -ge 3 ]
    [ "$(grep -c "^[a-z0-9-]* $(cat "$WORK/tty") 0$" "$(run_dir)"/*/training.log)" -eq 0 ]
}
