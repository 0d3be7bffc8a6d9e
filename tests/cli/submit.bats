#!/usr/bin/env bats
# submit, collect and run --task, with stand-ins for Slurm's programs that write down how they were called; the tasks are started here.

load runs

# The setup of all, then what is this file's own.
eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    mkdir bin
    fake scontrol 'printf "KillWait                = 30 sec\nMaxArraySize            = ${MAX_ARRAY:-1001}\n"'
    fake sbatch '[ ! -e "$WORK/refuse" ] || { cat "$WORK/refuse" >&2; exit 1; }
printf "%s\n" "$@" >"$WORK/sbatch.args"
for last; do :; done
cp "$last" "$WORK/sbatch.script.$(ls "$WORK" | grep -c sbatch.script)"
echo "sbatch: a warning" >&2
echo "4711;cluster"'
    fake squeue 'cat "$WORK/queue" 2>/dev/null || true'
    export WORK PATH=$WORK/bin:$PATH
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
    ! grep -q -- --time sbatch.script.0
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
    is "$(events attempt_ended 1 | python3 -c 'import json, sys; print(*[json.loads(l)["outcome"] for l in sys.stdin])')" "interrupted succeeded"
    # Done is done.
    task 1
    is "$(events attempt_ended 1 | wc -l)" 2
}

@test "what is missing is submitted again, and what is in the queue is left there" {
    settings 6
    submit >out
    task 2
    name=$(sed -n 's/^#SBATCH --job-name=//p' sbatch.script.0)
    printf '%s 3\n%s 4\nother-job 5\n%s N/A\n' "$name" "$name" "$name" >queue
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
    ! grep -qx -- nosuch sbatch.args
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

@test "records that cannot be read are named, and keep nobody else's from being collected" {
    settings 3
    submit >out
    task 1
    task 2
    sed -i '3s/.*/{"type":"nonsense"}/' "$(run_dir)/tasks/0001/1/events.jsonl"
    # A line that is still being written.
    printf '{"seq":99,"type":"evid' >>"$(run_dir)/tasks/0002/1/events.jsonl"
    run collect
    [ "$status" -eq 1 ]
    [[ $output == *"1 of 3 experiments are done"*"with records that cannot be read (1)"*"events.jsonl:3: is no event"* ]]
    is "$(summary experiment_id)" repo_net_002
}
