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
    export XDG_STATE_HOME=$WORK/state TARE_LOCK_DIR=$WORK/locks TERM=dumb
    cd "$WORK" || return 1
    cluster_up || { tail -n 20 "$CLUSTER"/*.log; return 1; }
}

teardown() {
    cluster_down
    cd /
    [ -z "${WORK:-}" ] || rm -rf "$WORK" 2>/dev/null || { sleep 2; rm -rf "$WORK"; }
}

# What every experiment does: says by its number when it began and when it ended. At their first try 1 and 5 do not end by themselves.
steps() {
    job "n=\$SLURM_ARRAY_TASK_ID
echo \"begin \$n\" >>$WORK/ran
if [ \$n = 1 ] || [ \$n = 5 ]; then mkdir $WORK/tried.\$n && sleep 1000; fi
sleep 1; echo 'loss 1'; echo \"end \$n\" >>$WORK/ran"
}

has_begun() { grep -qx "begin $1" "$WORK/ran"; }
submitted() { run_dir; }
queue_is_empty() { [ -z "$(squeue -h)" ]; }
is_pending() { squeue -h -t PD -j "$1" -o %i | grep -q .; }
# The runner of an experiment of the array, by its number.
runner_of() { pgrep -f -- "run --task $1 "; }

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
    WAIT_S=120 wait_for has_begun 1
    kill -KILL "$(runner_of 1 | head -n 1)"
    # The node's daemon begins anew while tasks run.
    node_down
    node_up
    WAIT_S=60 wait_for node_idle
    # A running task is put back into the queue.
    WAIT_S=120 wait_for has_begun 5
    job_id=$(squeue -h -r -o '%i %K' | sed -n 's/ 5$//p')
    scontrol requeue "$job_id"
    # Slurm would let it wait for two minutes.
    WAIT_S=60 wait_for is_pending "$job_id"
    scontrol update JobId="$job_id" StartTime=now
    WAIT_S=240 wait_for queue_is_empty || { squeue; return 1; }

    run "$TARE" collect "$(submitted)"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"19 of 20 experiments are done: 19 succeeded, 0 failed"* ]]
    [[ $output == *"missing: 1 begun, without an end so far (1)"* ]]
    # What is missing, and nothing else.
    "$TARE" submit --resume "$(submitted)" >out
    grep -E "^job [0-9]+: 1 experiment \(1\)$" out
    WAIT_S=120 wait_for queue_is_empty

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

@test "a cancelled task ends its job's whole tree before Slurm would kill it, and records that" {
    # A job that ignores TERM, with a child in a session of its own.
    job "trap '' TERM; setsid sleep 1000 & echo \$! >$WORK/child; touch $WORK/up; sleep 1000; sleep 1000"
    settings 1
    sed -i 's/"stop_grace": 20/"stop_grace": 600/' settings.json
    "$TARE" submit settings.json -c registry.json -o results >out
    WAIT_S=60 wait_for test -e up
    began=$SECONDS
    scancel --user=root
    WAIT_S=60 wait_for queue_is_empty
    # KillWait is 25 s, of which 15 are left to the job.
    [ $((SECONDS - began)) -lt 25 ]
    ! kill -0 "$(cat child)" 2>/dev/null
    run "$TARE" collect "$(submitted)"
    [ "$status" -eq 1 ]
    [[ $output == *"missing: 1 interrupted (1)"* ]]
}
