#!/usr/bin/env bats
# Stopping a run, and going on with it.

load ../cli/runs

# The first try of the second experiment waits for ever; it is up when the lock is held.
wait_in_the_second() {
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../done
case $TARE_EXPERIMENT-$TARE_ATTEMPT in *_002-1) exec 9>../lock; flock 9; touch ../up; sleep 1000;; esac'
    settings 3
}

finish_by_resume() {
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 0 ]
    is "$(cat done)" "repo_net_001 1
repo_net_002 1
repo_net_002 2
repo_net_003 1"
    is "$(summary experiment_id)" "repo_net_001
repo_net_002
repo_net_003"
    is "$(summary training_success)" "True
True
True"
    [ ! -e "$(run_dir)/run.db-wal" ]
}

@test "Ctrl-C ends the job, records the experiment as interrupted and exits 130; a resume finishes the plan" {
    wait_in_the_second
    start_run
    wait_until test -e up
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    lock_is_free lock
    is "$(event_value experiment_ended 2 outcome)" interrupted
    is "$(event_value session_ended 0 outcome)" interrupted
    is "$(wc -l <done)" 2
    finish_by_resume
    [ -f "$(run_dir)/repo_net_002/attempt_1/training.log" ]
}

@test "TERM does the same and exits 143" {
    wait_in_the_second
    start_run
    wait_until test -e up
    kill -TERM "$PID"
    end_program
    is "$CODE" 143
    lock_is_free lock
    is "$(event_value attempt_ended 2 reason)" interrupted
    finish_by_resume
}

is_stopping() { grep -q '"type":"attempt_stopping".*"experiment":2' "$(run_dir)/events.jsonl"; }

@test "a training that had the run's TERM before the runner had it is interrupted, not failed" {
    # Whoever ignores the signal keeps the stop from being over before the runner has its own.
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../done
case $TARE_EXPERIMENT-$TARE_ATTEMPT in *_002-1)
    (trap "" TERM; touch ../up; until [ -e ../told ]; do sleep 0.2; done) &
    until [ -e ../up ]; do sleep 0.2; done
    kill -TERM $$;; esac'
    settings 3
    start_run
    wait_until is_stopping
    kill -TERM "$PID"
    touch told
    end_program
    is "$CODE" 143
    is "$(event_value experiment_ended 2 outcome)" interrupted
    is "$(event_value attempt_ended 2 reason)" interrupted
    finish_by_resume
}

@test "a killed runner takes its job along, and a resume finishes the plan" {
    wait_in_the_second
    start_run
    wait_until test -e up
    kill -KILL "$PID"
    end_program
    is "$CODE" 137
    finish_by_resume
    lock_is_free lock
    is "$(events session_started | wc -l)" 2
}

@test "a second Ctrl-C does not wait until the job's grace is over" {
    job 'trap "touch ../asked" TERM; exec 9>../lock; flock 9; touch ../up; while :; do sleep 0.1; done'
    settings 1
    sed -i 's/"stop_grace": 20/"stop_grace": "1h"/' settings.json
    start_run
    wait_until test -e up
    kill -INT "$PID"
    wait_until test -e asked
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    lock_is_free lock
    is "$(event_value experiment_ended 1 outcome)" interrupted
}

@test "a lost terminal does not stop the run" {
    job 'touch ../up; while [ ! -e ../go ]; do sleep 0.05; done; echo loss 2'
    settings 2
    start_run
    wait_until test -e up
    kill -HUP "$PID"
    sleep 0.5
    touch go
    end_program
    is "$CODE" 0
    is "$(summary training_success)" "True
True"
}

@test "Ctrl-C ends a pause" {
    job 'touch ../up'
    settings 2
    sed -i 's/"between_runs": 0/"between_runs": "1h"/' settings.json
    start_run
    wait_until sh -c 'grep -q "\"type\":\"pause\"" results/run_*/events.jsonl'
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    is "$(summary experiment_id)" repo_net_001
}

@test "a run that is alive is not resumed by a second runner" {
    job 'touch ../up; while [ ! -e ../go ]; do sleep 0.05; done'
    settings 1
    start_run
    wait_until test -e up
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "$output" == *"$PID"* ]]
    touch go
    end_program
    is "$CODE" 0
    is "$(events session_started | wc -l)" 1
}

@test "a finished run has nothing to resume, and a failed experiment counts as done" {
    job 'echo ran >>../done; [ "$TARE_EXPERIMENT" = repo_net_001 ]'
    settings 2
    run tare_run
    [ "$status" -eq 1 ]
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 1 ]
    is "$(wc -l <done)" 2
}

@test "what holds no run is not resumed" {
    mkdir empty
    run "$TARE" run --resume empty
    [ "$status" -eq 2 ]
    [[ "$output" == *"error: "*"empty holds no run: open run.db: No such file or directory" ]]
    [[ "$output" != *"empty"*"empty"* ]]
    run "$TARE" run --resume nothing-here
    [ "$status" -eq 2 ]
    [[ "$output" == *"nothing-here"* ]]
}
