#!/usr/bin/env bats
# submit, collect and run --task, with stand-ins for Slurm's programs that write down how they were called; the tasks are started here.

load runs

# The setup of all, then what is this file's own.
eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    mkdir bin
    fake scontrol 'printf "GresTypes               = ${GRES:-(null)}\nKillWait                = 30 sec\nMaxArraySize            = ${MAX_ARRAY:-1001}\n"'
    fake sbatch '[ ! -e "$WORK/refuse" ] || { cat "$WORK/refuse" >&2; exit 1; }
printf "%s\n" "$@" >"$WORK/sbatch.args"
for last; do :; done
cp "$last" "$WORK/sbatch.script.$(ls "$WORK" | grep -c sbatch.script)"
echo "sbatch: a warning" >&2
echo "4711;cluster"'
    fake squeue 'cat "$WORK/queue" 2>/dev/null || true'
    fake sacct 'cat "$WORK/accounts" 2>/dev/null || { echo "Slurm accounting storage is disabled" >&2; exit 1; }'
    export WORK PATH=$WORK/bin:$PATH
    idle_machine
    job 'echo "loss 0.5"; [ ! -e '"$WORK"'/slow ] || sleep 1000'
}

# fake NAME SCRIPT
fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}

submit() { "$TARE" submit settings.json -c registry.json -o results "$@"; }
task() { "$TARE" run --task "$1" "$(run_dir)" -q; }
collect() { "$TARE" collect "$(run_dir)"; }
# What collect says contains TEXT: a job that has printed may have begun a moment before its runner's records say so.
collects() { collect >collected || true; grep -qF -- "$1" collected; }

@test "submit writes the plan and one array job; each task does its own experiment; collect makes a run of them" {
    settings 3
    submit -- --partition=gpu --gres gpu:1 >out
    is "$(head -n 1 out)" "job 4711: 3 experiments (1-3)"
    is "$(tail -n 4 sbatch.args)" "--partition=gpu
--gres
gpu:1
$(run_dir)/submit.sh"
    grep -qx -- "--chdir=$(run_dir)" sbatch.args
    grep -qx '#SBATCH --array=1-3' sbatch.script.0
    grep -qx '#SBATCH --requeue' sbatch.script.0
    if grep -q -- --time sbatch.script.0; then false; fi
    run collect
    [ "$status" -eq 1 ]
    [[ $output == *"0 of 3 experiments are done"*"missing: 3 never started (1-3)"* ]]
    task 3
    task 1
    run collect
    [ "$status" -eq 1 ]
    [[ $output == *"2 of 3 experiments are done: 2 succeeded, 0 failed"*"missing: 1 never started (2)"* ]]
    is "$(summary experiment_id)" "repo_net_001
repo_net_003"
    task 2
    collect >out
    grep -q '^3 of 3 experiments are done: 3 succeeded, 0 failed$' out
    is "$(summary experiment_id)" "repo_net_001
repo_net_002
repo_net_003"
    is "$(summary perf_loss)" "0.5
0.5
0.5"
    for number in 1 2 3; do
        grep -q 'loss 0.5' "$(run_dir)/repo_net_00$number/training.log"
        is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["experiment_id"])' "$(run_dir)/repo_net_00$number/experiment.json")" \
            "repo_net_00$number"
    done
    # Each hyperparameter is that of the plan, not of the first experiment.
    python3 - "$(run_dir)" <<'END'
import json, sys
plan = json.load(open(sys.argv[1] + "/plan.json"))["experiments"]
wanted = [{p["name"]: p["value"] for p in e["foreground"]["hyperparameters"]}["n"] for e in plan]
got = [json.load(open("%s/repo_net_%03d/experiment.json" % (sys.argv[1], n)))["hyperparameters"]["n"] for n in (1, 2, 3)]
assert len(set(got)) == 3 and got == wanted, (got, wanted)
END
}

@test "a task that was killed begins again where its records end; one that runs is not started twice" {
    settings 1
    submit >out
    touch slow
    start_program run --task 1 "$(run_dir)"
    wait_until grep -qs 'loss 0.5' "$(run_dir)"/tasks/0001/1/repo_net_001/training.log
    run task 1
    [ "$status" -eq 3 ]
    [[ $output == *"is in use by process $PID on host"* ]]
    run collect
    [ "$status" -eq 1 ]
    [[ $output == *"missing: 1 begun, without an end so far (1)"*"repo_net_001: start 1, on $(hostname)"* ]]
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/tasks/0001/run.lock"
    rm slow
    task 1
    collect >out
    is "$(summary attempt)" 2
    is "$(summary outcome)" succeeded
    # The first attempt's log is kept, and its end is written down.
    grep -q 'loss 0.5' "$(run_dir)/repo_net_001/attempt_1/training.log"
    is "$(of_events "data ->> 'outcome'" attempt_ended 1)" $'interrupted\nsucceeded'
    # Done is done.
    task 1
    is "$(events attempt_ended 1 | wc -l)" 2
}

@test "outputs stay in the task's folder, to which the run has links, also when another start finds all done" {
    registry '"required_args": {"out": ["{dir}"]}'
    job 'mkdir -p "$1/a/b" && ln -s b "$1/a/latest" && echo "$TARE_EXPERIMENT" >"$1/a/b/net.pt"
[ "$1" = "$TARE_DIR" ] && echo "loss 0.5"'
    settings 2
    submit >out
    task 1
    task 2
    collect >out
    for number in 1 2; do
        is "$(cat "$(run_dir)/repo_net_00$number/output/a/latest/net.pt")" "repo_net_00$number"
        is "$(readlink "$(run_dir)/repo_net_00$number/output")" "../tasks/000$number/1/repo_net_00$number/output"
    done
    task 1
    collect >out
    is "$(cat "$(run_dir)/repo_net_001/output/a/latest/net.pt")" repo_net_001
    "$TARE" audit "$(run_dir)" >audit || [ $? -eq 1 ]
    if grep -i output audit; then false; fi
}

@test "what is missing is submitted again, and what is in the queue is left there" {
    settings 6
    submit >out
    task 2
    name=$(sed -n 's/^#SBATCH --job-name=//p' sbatch.script.0)
    printf '%s|3|RUNNING|n1|None\n%s|4|PENDING||Priority\nother-job|5|RUNNING|n1|None\n%s|N/A|PENDING||\n' "$name" "$name" "$name" >queue
    "$TARE" submit --resume "$(run_dir)" --at-once 2 >out 2>err
    is "$(head -n 1 out)" "job 4711: 3 experiments (1,5-6)"
    grep -q '2 experiments are still in the queue' err
    grep -qx '#SBATCH --array=1,5-6%2' sbatch.script.1
}

@test "more experiments than an array may hold become several arrays" {
    export MAX_ARRAY=4
    settings 7
    submit >out
    grep -q '^job 4711: 3 experiments (1-3)$' out
    grep -q '^job 4711: 3 experiments (4-6)$' out
    grep -q '^job 4711: 1 experiment (7)$' out
    grep -qx '#SBATCH --array=1-3' sbatch.script.1
    grep -q 'run --task "$((SLURM_ARRAY_TASK_ID + 3))"' sbatch.script.1
    grep -qx '#SBATCH --array=1' sbatch.script.2
    grep -q 'run --task "$((SLURM_ARRAY_TASK_ID + 6))"' sbatch.script.2
    # The script as Slurm would run it.
    SLURM_ARRAY_TASK_ID=1 sh sbatch.script.2 >/dev/null
    run collect
    [[ $output == *"1 of 7 experiments are done"*"never started (1-6)"* ]]
}

@test "the time limit is that of every attempt with its waits" {
    settings 1 '"preflight": {"wait": 60}' '"timeout": 600'
    sed -i 's/"max_retries": 0/"max_retries": 2/; s/"before_retry": 0/"before_retry": 30/' settings.json
    submit --dry-run >out
    # 3 attempts of 600 s with 20 s of grace, 30 s before a retry, 60 s of waiting and 120 s beside, and 300 s: 2790 s.
    grep -qx '#SBATCH --time=47' out
    [ ! -e results ]
}

@test "a dry run of a submission shows the script, and ends with 3 where the results cannot be written" {
    settings 1
    touch file
    run submit --dry-run -o file/below
    [ "$status" -eq 3 ]
    [[ $output == *"#SBATCH --array=1"*"open folder $WORK/file: Not a directory"* ]]
    run submit -o file/below
    [ "$status" -eq 3 ]
}

@test "when sbatch refuses, the run stands, and says how to go on" {
    settings 2
    echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >refuse
    run submit -- -p nosuch
    [ "$status" -eq 3 ]
    [[ $output == *"Invalid partition name specified"*"submit --resume"* ]]
    rm refuse
    "$TARE" submit --resume "$(run_dir)" -- -p all >out
    is "$(head -n 1 out)" "job 4711: 2 experiments (1-2)"
    grep -qx -- all sbatch.args
    if grep -qx -- nosuch sbatch.args; then false; fi
}

@test "Slurm reads no pattern of its own in the folder's name" {
    settings 1
    "$TARE" submit settings.json -c registry.json -o 'of %j and 100%' >out
    folder=$(echo "$WORK"/of*/run_*)
    is "$(grep -e --output sbatch.args)" "--output=$WORK/of %%j and 100%%/${folder##*/}/tasks/slurm-%A_%a.log"
    is "$(tail -n 1 sbatch.args)" "$folder/submit.sh"
    "$TARE" submit settings.json -c registry.json -o 'back\slash' >out
    is "$(grep -e --output sbatch.args)" "--output=/dev/null"
    settings 1
    submit >out
    if grep -q -e --output sbatch.args; then false; fi
}

@test "mistakes are told: two settings, a folder that was not submitted, an experiment that is not there, no Slurm" {
    settings 1
    run submit other.json
    [ "$status" -eq 2 ]
    [[ $output == *"options of sbatch come behind --"* ]]
    tare_run -q >/dev/null
    run "$TARE" collect "$(run_dir)"
    [ "$status" -eq 3 ]
    [[ $output == *"this run was not submitted"* ]]
    rm -r results
    submit >out
    run task 2
    [ "$status" -eq 2 ]
    [[ $output == *"there is no experiment 2; the plan holds 1"* ]]
    run "$TARE" run --task 1 --resume "$(run_dir)" "$(run_dir)"
    [ "$status" -eq 2 ]
    run "$TARE" run --rerun-contaminated "$(run_dir)"
    [ "$status" -eq 2 ]
    [[ $output == *"this run was submitted"* ]]
    rm bin/scontrol bin/sbatch
    PATH=$WORK/bin:/nowhere run "$TARE" submit settings.json -c registry.json -o elsewhere
    [ "$status" -eq 3 ]
    [[ $output == *"Slurm is not installed here"* ]]
    [ ! -e elsewhere ]
}

# event_file EXPERIMENT START
event_file() { echo "$(run_dir)/tasks/$(printf '%04d' "$1")/$2/events.jsonl"; }

# verdict_of EXPERIMENT_ID
verdict_of() {
    python3 -c 'import csv, sys; [print(row["verdict"]) for row in csv.DictReader(open(sys.argv[1])) if row["experiment_id"] == sys.argv[2]]' \
        "$(run_dir)/summary.csv" "$1"
}

@test "of damaged records what can be read is taken, named and suspect; nobody else's are kept from being collected" {
    settings 4
    submit >out
    for n in 1 2 3 4; do task $n >/dev/null; done
    # One line is overwritten, three are gone, one file is cut in the middle of a line, and nothing of the last is text.
    sed -i '2s/.*/{"type":"nonsense"}/' "$(event_file 1 1)"
    sed -i '/"type":"job_exited"/d; /"type":"job_proven"/d' "$(event_file 2 1)"
    size=$(stat -c %s "$(event_file 3 1)")
    truncate -s $((size / 2)) "$(event_file 3 1)"
    head -c 3000 /dev/zero >"$(event_file 4 1)"
    echo >>"$(event_file 4 1)"
    run collect
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"1 of 4 experiments are done: 1 succeeded, 0 failed"* ]]
    [[ $output == *"records are lost, and its verdict is suspect: repo_net_001: tasks/0001/1: events.jsonl:2: is no event (1 event lost)"* ]]
    [[ $output == *"repo_net_004: start 1, on $(hostname); tasks/0004/1: events.jsonl:1: "* ]]
    is "$(verdict_of repo_net_001)" suspect
    is "$(summary experiment_id)" repo_net_001
    [[ $output == *"missing: 1 begun, without an end so far (3)"*"missing: 2 with records that cannot be read (2,4)"* ]]
    # Nothing of it keeps the experiments from being done: what is not done is, and what is suspect when it is asked for.
    "$TARE" submit --resume "$(run_dir)" >out 2>err
    is "$(head -n 1 out)" "job 4711: 3 experiments (2-4)"
    for n in 2 3 4; do task $n >/dev/null; done
    run collect
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"4 of 4 experiments are done: 4 succeeded, 0 failed"* ]]
    is "$(verdict_of repo_net_003)" clean
    is "$(summary perf_loss | sort -u)" 0.5
}

@test "a line that is still being written is no damage, and a second copy of one is not taken twice" {
    settings 2
    submit >out
    task 1 >/dev/null
    task 2 >/dev/null
    printf '{"seq":99,"type":"evid' >>"$(event_file 1 1)"
    collect >out
    if grep -q lost out; then false; fi
    is "$(summary verdict)" "clean
clean"
    sed -i '/"type":"attempt_ended"/p' "$(event_file 2 1)"
    run collect
    [[ $output == *"repo_net_002: tasks/0002/1: events.jsonl:"*": is event "*" a second time (1 event lost)"* ]]
    is "$(events attempt_ended 2 | wc -l)" 1
    is "$(verdict_of repo_net_002)" suspect
}

# taint EXPERIMENT START KIND: as if something of that kind had been seen meanwhile.
taint() {
    python3 - "$(event_file "$1" "$2")" "$3" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
ended = [e for e in lines if e["type"] == "attempt_ended"][-1]
event = dict(ended, seq=lines[-1]["seq"] + 1, type="evidence", data={"kind": sys.argv[2], "text": "by hand"})
open(sys.argv[1], "a").write(json.dumps(event) + "\n")
END
}

@test "what is not clean is submitted anew when asked for, and its result stands until the new one has come" {
    settings 5
    submit >out
    for n in 1 2 3 4; do task $n >/dev/null; done
    taint 2 1 foreign_process
    taint 4 1 cpu_shared
    taint 1 1 governor_not_set
    collect >out || true
    is "$(summary verdict)" "clean
contaminated
clean
suspect"
    "$TARE" submit --resume "$(run_dir)" --rerun-contaminated -- --partition=quiet >out
    is "$(head -n 2 out)" "2 to repeat (1 suspect, 1 contaminated)
job 4711: 2 experiments (2,4)"
    grep -qx -- --partition=quiet sbatch.args
    # Until then the results before stand, and are not counted twice.
    run collect
    [ "$status" -eq 1 ]
    [[ $output == *"2 of 5 experiments are done"*"missing: 1 never started (5)"*"missing: 2 planned again, of which the result before stands (2,4)"* ]]
    is "$(summary verdict)" "clean
contaminated
clean
suspect"
    is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tare"]["planned_again"])' "$(run_dir)/repo_net_002/experiment.json")" True
    # Asked again before they have run: the same two, and nothing is planned a third time.
    "$TARE" submit --resume "$(run_dir)" --rerun-contaminated >out
    is "$(head -n 2 out)" "2 to repeat (2 planned before)
job 4711: 2 experiments (2,4)"
    # One is killed at its repetition, and goes on with it when it is begun again.
    touch slow
    start_program run --task 2 "$(run_dir)"
    wait_until grep -qs 'loss 0.5' "$(run_dir)"/tasks/0002/3/repo_net_002/training.log
    wait_until collects "missing: 1 begun, without an end so far (2)"
    is "$(verdict_of repo_net_002)" contaminated
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/tasks/0002/run.lock"
    rm slow
    task 2 >/dev/null
    task 4 >/dev/null
    # Begun once more, by a requeue, say: done is done.
    task 4 >/dev/null
    run collect
    echo "$output"
    [[ $output == *"4 of 5 experiments are done: 4 succeeded, 0 failed"* ]]
    is "$(summary verdict | sort -u)" clean
    is "$(summary experiment_id | wc -l)" 4
    is "$(events experiment_again 2 | wc -l)" 1
    is "$(events experiment_again 4)" '{"verdict":"suspect"}'
    is "$(events attempt_ended 4 | wc -l)" 2
    run "$TARE" submit --resume "$(run_dir)" --rerun-contaminated
    [ "$status" -eq 0 ]
    [[ $output == *"nothing to repeat: no result in "* ]]
    run "$TARE" submit settings.json -c registry.json --rerun-contaminated
    [ "$status" -eq 2 ]
    [[ $output == *"--rerun-contaminated goes with --resume RUN_DIR"* ]]
}

@test "collect says why something is missing: what waits, what runs where, and how it ended" {
    settings 8
    submit >out
    name=$(sed -n 's/^#SBATCH --job-name=//p' sbatch.script.0)
    task 8 >/dev/null
    printf '%s|1|PENDING||Priority\n%s|2|RUNNING|n1|None\n' "$name" "$name" >queue
    printf '4711_3|NODE_FAIL|n3|0:0\n4711_4|TIMEOUT|n1|0:0\n4711_5|FAILED|n2|127:0\n4711_8|COMPLETED|n1|0:0\n99_6|TIMEOUT|n1|0:0\n' >accounts
    run collect
    [ "$status" -eq 1 ]
    echo "$output"
    [[ $output == *"repo_net_001: job 4711_1 waits (Priority)"* ]]
    [[ $output == *"repo_net_002: job 4711_2 runs on n1"* ]]
    [[ $output == *"repo_net_003: job 4711_3: its node failed, on n3"* ]]
    [[ $output == *"repo_net_004: job 4711_4: ended by its time limit, on n1"* ]]
    [[ $output == *"repo_net_005: job 4711_5: FAILED with exit code 127, on n2"* ]]
    [[ $output == *"repo_net_006: job 4711_6 is not in the queue any more, and never began"* ]]
    [[ $output != *"repo_net_008: "* ]]
    # Without an accounting the tasks' logs tell.
    rm accounts
    echo 'slurmstepd: error: *** JOB 12 ON n7 CANCELLED AT 2026-11-21T12:00:00 DUE TO TIME LIMIT ***' >"$(run_dir)/tasks/slurm-4711_4.log"
    echo '/opt/tare: not found' >"$(run_dir)/tasks/slurm-4711_5.log"
    run collect
    [[ $output == *"repo_net_004: job 4711_4: ended by its time limit, on n7"* ]]
    [[ $output == *"repo_net_005: job 4711_5: the last that it said: /opt/tare: not found"* ]]
    is "$(collect | grep -c 'repo_net_00[1-7]: ')" 7
    "$TARE" collect "$(run_dir)" --json >out.json || true
    is "$(python3 -c 'import json; print(json.load(open("out.json"))["experiments"][1]["scheduler"])')" "job 4711_2 runs on n1"
    # With no Slurm here at all, what is known is told, and the rest is said not to be.
    rm bin/squeue
    PATH=$WORK/bin:$(dirname "$(command -v cat)")/nowhere run "$TARE" collect "$(run_dir)"
    [ "$status" -eq 1 ]
    [[ $output == *"Slurm does not say: there is no squeue in PATH"* ]]
    [[ $output == *"repo_net_004: job 4711_4: ended by its time limit, on n7"* ]]
    [[ $output == *"repo_net_001: job 4711_1: not known"* ]]
}

@test "where the cluster deals out GPUs a task asks for those of an experiment, unless the person asks" {
    settings 1 '"gpus_per_experiment": 2'
    submit --dry-run >out
    if grep -q -- --gres out; then false; fi
    export GRES=gpu,mps
    submit --dry-run >out
    grep -qx '#SBATCH --gres=gpu:2' out
    submit --dry-run -- --gpus=4 >out
    if grep -q -- --gres out; then false; fi
    settings 1 '"gpus": "none"'
    submit --dry-run >out
    if grep -q -- --gres out; then false; fi
    settings 1 '"gpus": "0,3"'
    run submit --dry-run
    [[ $output == *'"0,3" in the settings, which is ignored'* ]]
    [[ $output == *'#SBATCH --gres=gpu:1'* ]]
}

@test "so many at a time holds for all arrays: each waits for the one before, and for what the person says" {
    export MAX_ARRAY=4
    settings 7
    submit --at-once 2 >out
    # The stand-in for sbatch keeps the last call.
    grep -qx -- --dependency=afterany:4711 sbatch.args
    grep -qx '#SBATCH --array=1-3%2' sbatch.script.0
    grep -qx '#SBATCH --array=1%2' sbatch.script.2
    rm -r results
    submit --at-once 2 -- --dependency afterok:5 >out
    is "$(tail -n 4 sbatch.args | head -n 3)" "--dependency
afterok:5
--dependency=afterok:5,afterany:4711"
    rm -r results
    submit -- --dependency afterok:5 >out
    if grep -q afterany sbatch.args; then false; fi
}

@test "a task of Slurm waits for a folder that its machine does not see yet, and a requeued one for the lock of a lost node" {
    settings 1
    submit >out
    run_folder=$(run_dir)
    mv "$run_folder" hidden
    export SLURM_JOB_ID=4711
    "$TARE" run --task 1 "$run_folder" -q >late 2>&1 3>&- &
    pid=$!
    sleep 1
    mv hidden "$run_folder"
    wait "$pid"
    unset SLURM_JOB_ID
    # A second task of the same experiment ends at once; one that was begun again waits.
    "$TARE" submit --resume "$run_folder" 2>err >out
    grep -q 'nothing is missing' err
    (exec 9>>"$run_folder/tasks/0001/run.lock"; flock 9; echo locked >held; until [ -e release ] || [ ! -e held ]; do sleep 0.2; done) 3>&- &
    holder=$!
    wait_until test -s held
    SLURM_JOB_ID=4711 run "$TARE" run --task 1 "$run_folder" -q
    [ "$status" -eq 3 ]
    SLURM_JOB_ID=4711 SLURM_RESTART_COUNT=1 "$TARE" run --task 1 "$run_folder" -q >late 2>&1 3>&- &
    pid=$!
    sleep 1
    touch release
    wait "$pid"
    wait "$holder"
    # Outside of Slurm nobody waits for what is not there.
    run "$TARE" run --task 1 "$WORK/nowhere"
    [ "$status" -eq 2 ]
    [[ $output == *"cannot be reached from $(hostname)"*"nowhere: No such file"* ]]
}

@test "clocks of machines may differ by minutes: what is measured and which start counts does not depend on them" {
    settings 1
    submit >out
    touch slow
    start_program run --task 1 "$(run_dir)"
    wait_until grep -qs 'loss 0.5' "$(run_dir)"/tasks/0001/1/repo_net_001/training.log
    kill -KILL "$PID"
    wait_until lock_is_free "$(run_dir)/tasks/0001/run.lock"
    rm slow
    # The first node's clock was ten minutes ahead, and it had been up for a day longer.
    python3 - "$(event_file 1 1)" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
for event in lines:
    event["realtime_ns"] += 600 * 10**9
    event["monotonic_ns"] += 86400 * 10**9
    if event["type"] == "session_started":
        event["data"].update(host="other", boot_id="00000000-0000-0000-0000-000000000000")
    if event["type"] == "job_born":
        event["data"]["boot_id"] = "00000000-0000-0000-0000-000000000000"
open(sys.argv[1], "w").writelines(json.dumps(event) + "\n" for event in lines)
END
    task 1 >/dev/null
    collect >out
    is "$(summary attempt)" 2
    is "$(summary verdict)" clean
    python3 - "$(run_dir)" <<'END'
import csv, datetime, json, sys, time
row = next(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
assert 0 <= float(row["duration_seconds"]) < 60, row
# The result carries the time of the machine that made it.
ended = datetime.datetime.fromisoformat(row["timestamp"]).timestamp()
assert -120 < time.time() - ended < 300, (row["timestamp"], time.time())
END
    "$TARE" audit "$(run_dir)" >/dev/null
}

@test "what killed writers left in the run's folder is gone after a collect, a new start or a resume, and links are not followed" {
    settings 2
    submit >out
    task 1 >/dev/null
    left=.writing-0123456789abcdef
    echo torn >"$(run_dir)/$left"
    echo torn >"$(run_dir)/tasks/0001/1/$left"
    echo torn >"$(run_dir)/tasks/0001/1/repo_net_001/$left"
    echo mine >"$WORK/mine"
    ln -s "$WORK/mine" "$(run_dir)/.writing-ffffffffffffffff"
    echo mine >"$(run_dir)/.writing-report.html"
    collect >out || true
    [ ! -e "$(run_dir)/$left" ]
    [ ! -e "$(run_dir)/repo_net_001/$left" ]
    [ -e "$(run_dir)/tasks/0001/1/$left" ] # a task's is its own
    [ -L "$(run_dir)/.writing-ffffffffffffffff" ] && [ -s mine ]
    [ -e "$(run_dir)/.writing-report.html" ]
    task 1 >/dev/null
    [ -z "$(find "$(run_dir)/tasks" -name "$left")" ]
    rm -r results
    tare_run -q >out
    echo torn >"$(run_dir)/$left"
    echo torn >"$(run_dir)/repo_net_001/$left"
    "$TARE" run --resume "$(run_dir)" -q >out
    [ -z "$(find "$(run_dir)" -name '.writing*')" ]
}

@test "collect waits for the disk as often for 60 tasks as for 6" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the leak checker does not work under strace"
    command -v strace >/dev/null || skip "strace is missing"
    local count=6 number
    for count in 6 60; do
        settings "$count"
        rm -rf results
        submit >/dev/null
        task 1
        for ((number = 2; number <= count; number++)); do
            cp -r "$(run_dir)/tasks/0001" "$(run_dir)/tasks/$(printf %04d "$number")"
            mv "$(run_dir)/tasks/$(printf %04d "$number")/1/repo_net_001" "$(run_dir)/tasks/$(printf %04d "$number")/1/$(printf repo_net_%03d "$number")"
        done
        strace -f -qq -o trace -e trace=fsync,fdatasync,sync_file_range,sync,syncfs "$TARE" collect "$(run_dir)" >out
        grep -q "^$count of $count experiments are done" out
        grep -c 'sync' trace >>waits
    done
    is "$(head -n 1 waits)" "$(tail -n 1 waits)"
    [ "$(head -n 1 waits)" -le 40 ]
}
