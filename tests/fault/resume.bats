#!/usr/bin/env bats
# The runner is killed by SIGKILL, again and again, at moments of chance; a resume loses and doubles nothing.

load ../cli/runs

@test "200 random kill -9 and resume rounds: each experiment is recorded and done exactly once" {
    need_python
    # Under sanitizers a tenth: what is killed says nothing there.
    run env ROUNDS="${ROUNDS:-${TARE_SANITIZED:+20}}" python3 "$BATS_TEST_DIRNAME/kill_resume.py" "$TARE" "$WORK"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a runner killed while its job runs: the job is dead, the resume runs it once more" {
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
if [ "$TARE_ATTEMPT" -le 3 ]; then
exec 9>../lock; flock 9; setsid sleep 1000 & touch ../up$TARE_ATTEMPT; sleep 1000; fi'
    settings 1
    start_run
    wait_until test -e up1
    for attempt in 2 3; do
        kill -KILL "$PID"
        end_program
        start_program run --resume "$(run_dir)"
        wait_until test -e up$attempt
    done
    kill -KILL "$PID"
    end_program
    "$TARE" run --resume "$(run_dir)"
    wait_until lock_is_free lock
    is "$(cat tries)" "repo_net_001 1
repo_net_001 2
repo_net_001 3
repo_net_001 4"
    is "$(summary retries)" 0
    is "$(events experiment_ended | wc -l)" 1
    is "$(event_value session_started 0 resumed)" true
}

@test "a runner killed during the pause before a retry: the failed try counts" {
    job 'echo try >>../tries; exit 1'
    settings 1 '' '"max_retries": 1'
    sed -i 's/"before_retry": 0/"before_retry": "1h"/' settings.json
    start_run
    wait_until sh -c 'grep -q "\"type\":\"retry_pause\"" results/run_*/events.jsonl'
    kill -KILL "$PID"
    end_program
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 1 ]
    is "$(wc -l <tries)" 2
    is "$(summary retries)" 1
}
