#!/usr/bin/env bats
# run --rerun-contaminated and --rerun: what is not clean, or what is named, is done again, nothing else; whatever comes between, no
# result is lost.

load ../cli/runs

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# experiment NUMBER EXPRESSION: of its experiment.json as j, and that of "tare" in it as t.
experiment() {
    python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); t = j["tare"]; print(eval(sys.argv[2]))' \
        "$(run_dir)/repo_net_00$1/experiment.json" "$2"
}

# A run of three whose job tells attempt and experiment. It waits for good in the attempt that the file hold names.
three() {
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
echo "loss 0.$TARE_ATTEMPT"
if [ "$(cat ../hold 2>/dev/null)" = "$TARE_ATTEMPT" ]; then
exec 9>../lock; flock 9; touch ../up; sleep 1000; fi'
    settings 3
    tare_run
    rm -f tries
}

rerun() { "$TARE" run --rerun-contaminated "$(run_dir)"; }

# What the rows hold that is measured.
figures() { summary attempt && summary perf_loss && summary duration_seconds && summary timestamp; }

@test "only what is suspect or contaminated is repeated, and the result before stays as an earlier attempt" {
    three
    verdicts clean contaminated suspect
    rerun >out
    grep -q "^3 experiments, 2 to repeat (1 suspect, 1 contaminated); " out
    is "$(cat tries)" "repo_net_002 2
repo_net_003 2"
    is "$(summary attempt | xargs)" "1 2 2"
    is "$(summary perf_loss | xargs)" "0.1 0.2 0.2"
    is "$(cat "$(run_dir)/repo_net_002/training.log")" "loss 0.2"
    is "$(cat "$(run_dir)/repo_net_002/attempt_1/training.log")" "loss 0.1"
    is "$(experiment 2 '[a["number"] for a in t["attempts"]], t["result_attempt"], t["planned_again"]')" \
        "([1, 2], 2, False)"
    is "$(events experiment_again)" '{"verdict":"contaminated"}
{"verdict":"suspect"}'
}

@test "where nothing is to be repeated, nothing is written" {
    idle_machine
    three
    verdicts clean - clean
    local before after
    before=$(cd "$(run_dir)" && cat run.db events.jsonl | md5sum)
    run --separate-stderr rerun
    [ "$status" -eq 0 ]
    is "$output" "nothing to repeat: no result in $(run_dir) has a verdict that is not clean"
    [[ "$stderr" == *"1 experiment ended before verdicts were given, and is left as it is"* ]]
    after=$(cd "$(run_dir)" && cat run.db events.jsonl | md5sum)
    is "$after" "$before"
    [ ! -e tries ]
}

@test "Ctrl-C in the middle: the old row stands; --resume finishes what was planned again, and no more" {
    three
    verdicts contaminated clean contaminated
    echo 2 >hold
    local before
    before=$(figures)
    start_program run --rerun-contaminated "$(run_dir)"
    wait_until test -e up
    kill -INT "$PID"
    end_program
    is "$CODE" 130
    is "$(summary verdict | xargs)" "contaminated clean contaminated"
    is "$(figures)" "$before"
    is "$(experiment 1 't["outcome"], t["result_attempt"], t["planned_again"], [a["outcome"] for a in t["attempts"]]')" \
        "('succeeded', 1, True, ['succeeded', 'interrupted'])"
    grep -q "^to run the 2 left: " out
    rm hold tries
    "$TARE" run --resume "$(run_dir)"
    is "$(cat tries)" "repo_net_001 3
repo_net_003 2"
    is "$(summary attempt | xargs)" "3 1 2"
    is "$(experiment 1 't["planned_again"]')" False
    rm tries
    "$TARE" run --resume "$(run_dir)" # nothing is left
    [ ! -e tries ]
}

@test "a runner killed in the middle, again and again: the old row stands until the new result has come" {
    three
    verdicts clean contaminated clean
    local attempt before
    before=$(figures)
    for attempt in 2 3 4; do
        echo $attempt >hold
        rm -f up
        start_program run --rerun-contaminated "$(run_dir)"
        wait_until test -e up
        kill -KILL "$PID"
        end_program
        wait_until lock_is_free lock
        is "$(figures)" "$before"
    done
    rm hold
    rerun >out
    grep -qF ", 1 to repeat (1 planned before); " out
    is "$(cat tries)" "repo_net_002 2
repo_net_002 3
repo_net_002 4
repo_net_002 5"
    is "$(summary attempt | xargs)" "1 5 1"
    is "$(summary perf_loss | xargs)" "0.1 0.5 0.1"
    is "$(events experiment_again | wc -l)" 1
    is "$(events experiment_ended 2 | wc -l)" 2
    is "$(cat "$(run_dir)/repo_net_002/attempt_1/training.log")" "loss 0.1"
}

@test "retries begin anew, and a repeat that fails replaces the row" {
    job 'test "$TARE_ATTEMPT" -eq 2'
    settings 1 '' '"max_retries": 1'
    tare_run
    is "$(summary attempt) $(summary retries) $(summary outcome)" "2 1 succeeded"
    verdicts contaminated
    run rerun
    [ "$status" -eq 1 ]
    is "$(summary attempt) $(summary retries) $(summary outcome)" "4 1 failed"
    is "$(summary failure)" exit_code
}

@test "it goes with nothing that plans, and not with --resume" {
    three
    run "$TARE" run settings.json --rerun-contaminated "$(run_dir)"
    [ "$status" -eq 2 ]
    [[ "$output" == *"settings.json does not go with --rerun-contaminated"* ]]
    run "$TARE" run --resume "$(run_dir)" --rerun-contaminated "$(run_dir)"
    [ "$status" -eq 2 ]
    run "$TARE" run --rerun-contaminated "$WORK/repo"
    [ "$status" -eq 2 ]
    [[ "$output" == *"holds no run"* ]]
}

@test "--rerun failed repeats what failed, in the same folder; the try before stays in the journal and in its folder" {
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
echo "loss 0.$TARE_ATTEMPT"
if [ -e ../fails ] && [ "$TARE_EXPERIMENT" = repo_net_002 ]; then exit 7; fi'
    settings 3
    touch fails
    run tare_run
    [ "$status" -eq 1 ]
    is "$(summary outcome | xargs)" "succeeded failed succeeded"
    verdicts clean - clean
    rm tries
    run "$TARE" run --rerun suspect,failed "$(run_dir)"
    [ "$status" -eq 1 ]
    [[ "$output" == *"3 experiments, 1 to repeat (1 failed); "* ]]
    [[ "$output" == *"to repeat the 1 that failed: tare run --rerun failed $(run_dir)"* ]]
    rm fails
    "$TARE" run --rerun failed "$(run_dir)"
    is "$(cat tries)" "repo_net_002 2
repo_net_002 3"
    is "$(summary outcome | xargs)" "succeeded succeeded succeeded"
    is "$(summary attempt | xargs)" "1 3 1"
    is "$(events attempt_ended 2 | wc -l)" 3
    is "$(experiment 2 '[a["outcome"] for a in t["attempts"]], t["result_attempt"]')" "(['failed', 'failed', 'succeeded'], 3)"
    is "$(cat "$(run_dir)/repo_net_002/attempt_1/training.log" "$(run_dir)/repo_net_002/training.log")" "loss 0.1
loss 0.3"
    is "$(ls results | wc -l)" 1
    run "$TARE" run --rerun failed,contaminated "$(run_dir)"
    [ "$status" -eq 0 ]
    is "$output" "nothing to repeat: no result in $(run_dir) is failed or contaminated"
}

@test "--rerun takes verdicts and ids, several with commas, each experiment once" {
    three
    verdicts clean contaminated suspect
    "$TARE" run --rerun suspect "$(run_dir)"
    is "$(cat tries)" "repo_net_003 2"
    rm tries
    verdicts clean contaminated unverified
    "$TARE" run --rerun repo_net_001,unverified,repo_net_003 "$(run_dir)" >out
    grep -qF ", 2 to repeat (1 unverified, 1 named); " out
    is "$(cat tries)" "repo_net_001 2
repo_net_003 3"
    is "$(summary attempt | xargs)" "2 1 3"
}

@test "--rerun ID of what an interruption left undone runs that, and no more" {
    job 'echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
if [ -e ../hold ]; then touch ../up; sleep 1000; fi'
    settings 3
    touch hold
    start_run
    wait_until test -e up
    kill -INT "$PID"
    end_program
    rm hold tries
    "$TARE" run --rerun repo_net_002 "$(run_dir)" || [ "$?" -eq 1 ]
    is "$(cat tries)" "repo_net_002 1"
    rm tries
    "$TARE" run --resume "$(run_dir)"
    is "$(cat tries)" "repo_net_001 2
repo_net_003 1"
}

@test "a --rerun that is killed in the middle keeps the row before, and --resume finishes it" {
    three
    local before
    before=$(figures)
    echo 2 >hold
    start_program run --rerun repo_net_001,repo_net_002 "$(run_dir)"
    wait_until test -e up
    kill -KILL "$PID"
    end_program
    wait_until lock_is_free lock
    is "$(figures)" "$before"
    is "$(events experiment_again | wc -l)" 2
    rm hold tries
    "$TARE" run --rerun repo_net_002 "$(run_dir)" >out || [ "$?" -eq 1 ]
    grep -qF ", 1 to repeat (1 planned before); " out
    is "$(cat tries)" "repo_net_002 2"
    "$TARE" run --resume "$(run_dir)"
    is "$(cat tries)" "repo_net_002 2
repo_net_001 3"
    is "$(summary attempt | xargs)" "3 2 1"
    is "$(cat "$(run_dir)/repo_net_001/attempt_1/training.log")" "loss 0.1"
}

@test "what --rerun cannot repeat is told with the nearest name, and nothing is written" {
    three
    local before word said
    before=$(cd "$(run_dir)" && cat run.db events.jsonl summary.csv | md5sum)
    while IFS='|' read -r word said; do
        run "$TARE" run --rerun "$word" "$(run_dir)"
        [ "$status" -eq 2 ] || { echo "$word: $status $output"; return 1; }
        [[ "$output" == *"$said"* ]] || { echo "$word: $output"; return 1; }
    done <<END
failled|'failled' is neither failed, unverified, suspect, contaminated nor the id of an experiment of this run; did you mean 'failed'?
failed,repo_net_0001|'repo_net_0001' is neither failed, unverified, suspect, contaminated nor the id of an experiment of this run; did you mean 'repo_net_001'?
repo_net_001,|'' is neither failed,
clean|'clean' is neither failed,
END
    run "$TARE" run --rerun failed
    [ "$status" -eq 2 ]
    [[ "$output" == *"--rerun failed of which run? Give its folder behind it, or latest"* ]]
    run "$TARE" run --rerun failed --rerun-contaminated "$(run_dir)"
    [ "$status" -eq 2 ]
    run "$TARE" run --rerun failed "$(run_dir)" -n 3
    [ "$status" -eq 2 ]
    [[ "$output" == *"--runs does not go with --rerun"* ]]
    is "$(cd "$(run_dir)" && cat run.db events.jsonl summary.csv | md5sum)" "$before"
    [ ! -e tries ]
}

@test "--rerun refuses a run that is under way" {
    three
    echo 2 >hold
    start_program run --rerun repo_net_001 "$(run_dir)"
    wait_until test -e up
    run "$TARE" run --rerun repo_net_002 "$(run_dir)"
    [ "$status" -eq 2 ]
    [[ "$output" == *"$PID"* ]]
    kill -INT "$PID"
    end_program
    is "$(cat tries)" "repo_net_001 2"
}

@test "60 random kill -9 of a rerun: each experiment has a whole result at every moment" {
    job 'echo "loss $TARE_ATTEMPT"'
    settings 3
    tare_run
    run python3 "$BATS_TEST_DIRNAME/rerun_kill.py" "$TARE" "$(run_dir)"
    echo "$output"
    [ "$status" -eq 0 ]
}
