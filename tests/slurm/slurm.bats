#!/usr/bin/env bats
# A submitted run on a real Slurm of one machine, which these tests start themselves.

load ../cli/runs
load cluster

setup() {
    [ "$(id -u)" = 0 ] || skip "Slurm's daemons are started as root"
    for need in slurmctld slurmd munged sbatch squeue scontrol; do
        command -v "$need" >/dev/null || skip "there is no $need (Debian: slurm-wlm, munge)"
    done
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/slurm-test.XXXXXX")
    chmod 755 "$WORK"
    export XDG_STATE_HOME=$WORK/state XDG_CONFIG_HOME=$WORK/config TARE_LOCK_DIR=$WORK/locks TERM=dumb
    cd "$WORK" || return 1
    cluster_up || { tail -n 20 "$CLUSTER"/*.log; return 1; }
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 20 "$CLUSTER"/slurm*.log 2>/dev/null || true
    cluster_down
    cd /
    [ -z "${WORK:-}" ] || rm -rf "$WORK" 2>/dev/null || { sleep 2; rm -rf "$WORK"; }
}

# What every experiment does: says by its number when it began and when it ended. At their first try 1 and 5 do not end by themselves.
steps() {
    job "n=\$SLURM_ARRAY_TASK_ID
echo \"begin \$n\" >>$WORK/ran
if [ \$n = 1 ] || [ \$n = 5 ]; then mkdir $WORK/tried.\$n && sleep 1000; fi
echo \"gpu \$CUDA_VISIBLE_DEVICES\" >>$WORK/gpus.\$n
sleep 1; echo 'loss 1'; echo \"end \$n\" >>$WORK/ran"
}

has_begun() { grep -qx "begin $1" "$WORK/ran"; }
submitted() { run_dir; }
queue_is_empty() { [ -z "$(squeue -h)" ]; }
is_pending() { squeue -h -t PD -j "$1" -o %i | grep -q .; }
# The runner of an experiment of the array, by its number.
runner_of() { pgrep -f -- "run --task $1 $(submitted)"; }

@test "an array through a dead controller, a killed task, a restarted node and a requeue: every experiment exactly once" {
    steps
    settings 20
    # The controller is away: the plan stands, and nothing is lost.
    controller_down
    run "$TARE" submit settings.json -c registry.json -o results
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *"go on with: "*"submit --resume"* ]]
    controller_up
    wait_for node_idle
    "$TARE" submit --resume "$(submitted)" >out
    grep -E '^job [0-9]+: 20 experiments \(1-20\)$' out

    # A task's runner is killed: its experiment is missing, until it is submitted again.
    wait_for has_begun 1
    # What runs and what waits is told meanwhile.
    run "$TARE" collect "$(submitted)"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"repo_net_001: start 1, on $(hostname); job "*"_1 runs on $(hostname -s)"* ]]
    [[ $output == *"repo_net_020: job "*"_20 waits ("* ]]
    kill -KILL "$(runner_of 1 | head -n 1)"
    # The node's daemon begins anew while tasks run.
    node_down
    node_up
    wait_for node_idle
    # A running task is put back into the queue.
    wait_for has_begun 5
    job_id=$(squeue -h -r -o '%i %K' | sed -n 's/ 5$//p')
    scontrol requeue "$job_id"
    # Slurm would let it wait for two minutes.
    wait_for is_pending "$job_id"
    scontrol update JobId="$job_id" StartTime=now
    WAIT_S=900 wait_for queue_is_empty || { squeue; return 1; }

    run "$TARE" collect "$(submitted)"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"19 of 20 experiments are done: 19 succeeded, 0 failed"* ]]
    [[ $output == *"missing: 1 begun, without an end so far (1)"* ]]
    [[ $output == *"repo_net_001: start 1, on $(hostname); job "*"_1"* ]]
    # Each task had one of the two GPUs to itself, as the script asked.
    is "$(cat gpus.* | sort -u)" "gpu 0
gpu 1"
    # What is missing, and nothing else.
    "$TARE" submit --resume "$(submitted)" >out
    grep -E "^job [0-9]+: 1 experiment \(1\)$" out
    wait_for queue_is_empty

    "$TARE" collect "$(submitted)" >out || { cat out; return 1; }
    grep -q '^20 of 20 experiments are done: 20 succeeded, 0 failed$' out
    [ "$(summary experiment_id | sort -u | wc -l)" -eq 20 ]
    [ "$(summary experiment_id | wc -l)" -eq 20 ]
    [ "$(summary outcome | sort -u)" = succeeded ]
    # Exactly once: each experiment's training reached its end once, whatever was begun and ended before.
    python3 - "$WORK/ran" "$(submitted)/events.jsonl" <<'END'
import collections, json, sys
ends = collections.Counter(line.split()[1] for line in open(sys.argv[1]) if line.startswith("end"))
assert len(ends) == 20 and set(ends.values()) == {1}, ends
events = [json.loads(line) for line in open(sys.argv[2])]
done = collections.Counter(e["experiment"] for e in events if e["type"] == "experiment_ended" and e["data"]["outcome"] == "succeeded")
assert done == {n: 1 for n in range(1, 21)}, done
again = {e["experiment"] for e in events if e["type"] == "attempt_ended" and e["data"]["outcome"] == "interrupted"}
assert again == {1, 5}, again
END
    # Collecting again changes nothing.
    sha256sum "$(submitted)"/summary.csv "$(submitted)"/events.jsonl >before
    "$TARE" collect "$(submitted)" >/dev/null
    sha256sum -c before
    # Readers see a run like any other.
    "$TARE" audit "$(submitted)" >/dev/null
    "$TARE" submit --resume "$(submitted)" 2>&1 | grep 'nothing is missing'
    run "$TARE" run --resume "$(submitted)"
    [ "$status" -eq 2 ]
    [[ $output == *"submit --resume"* ]]
}

@test "a cancelled task ends its job's whole tree before Slurm would kill it, and records that, in a folder of any name" {
    # A job that ignores TERM, with a child in a session of its own.
    job "trap '' TERM; setsid sleep 1000.0625 & touch $WORK/up; sleep 1000; sleep 1000"
    settings 1
    sed -i 's/"stop_grace": 20/"stop_grace": 600/' settings.json
    # Nothing of a name is read by a shell, nor as a pattern of Slurm's.
    odd="it's \$(touch $WORK/touched) %j"
    "$TARE" submit settings.json -c registry.json -o "$odd" -- --comment "two words; touch $WORK/touched" --cpus-per-task=1 >out
    wait_for test -e up
    wait_for pgrep -fx 'sleep 1000.0625'
    is "$(squeue -h -o %k)" "two words; touch $WORK/touched"
    # With the settings' grace of 600 s Slurm would kill it after KillWait, 25 s, and nobody would record anything.
    scancel --user=root
    wait_for queue_is_empty
    if pgrep -fx 'sleep 1000.0625'; then false; fi
    run "$TARE" collect "$odd"/run_*
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"missing: 1 interrupted (1)"* ]]
    [[ $output == *"repo_net_001: start 1, on $(hostname); job "*"_1: cancelled, on $(hostname -s)"* ]]
    python3 - "$odd"/run_*/events.jsonl <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
proven = [e["data"] for e in events if e["type"] == "job_proven"]
assert [p["survivors"] for p in proven] == [[]], proven
stop = next(e for e in events if e["type"] == "attempt_stopping")
ended = next(e for e in events if e["type"] == "attempt_ended")
assert ended["data"]["outcome"] == "interrupted", ended
# KillWait less the 10 s that are kept for the proof: the job had its 15 s, and was ended then.
assert 14 < (ended["monotonic_ns"] - stop["monotonic_ns"]) / 1e9 < 25, (stop, ended)
END
    [ ! -e touched ]
}

@test "what is not clean is repeated by the cluster, and nothing else" {
    idle_machine # else other tests beside this one are what disturbs it
    job "echo \"\$SLURM_ARRAY_TASK_ID\" >>$WORK/ran; echo 'loss 1'"
    settings 4
    "$TARE" submit settings.json -c registry.json -o results -- --gres=gpu:2 >out
    wait_for queue_is_empty
    # As if somebody had been seen beside the third.
    python3 - "$(submitted)"/tasks/0003/1/events.jsonl <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
ended = next(e for e in lines if e["type"] == "attempt_ended")
event = dict(ended, seq=lines[-1]["seq"] + 1, type="evidence", data={"kind": "foreign_process", "text": "by hand"})
open(sys.argv[1], "a").write(json.dumps(event) + "\n")
END
    "$TARE" submit --resume "$(submitted)" --rerun-contaminated --at-once 1 >out
    is "$(head -n 2 out | sed 's/job [0-9]*/job N/')" "1 to repeat (1 contaminated)
job N: 1 experiment (3)"
    wait_for queue_is_empty
    "$TARE" collect "$(submitted)" >out || { cat out; return 1; }
    is "$(sort ran | tr '\n' ' ')" "1 2 3 3 4 "
    is "$(summary verdict | sort -u)" clean
    is "$(summary experiment_id | wc -l)" 4
    is "$(events experiment_again)" '{"verdict":"contaminated"}'
}
