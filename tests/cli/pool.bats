#!/usr/bin/env bats
# Several GPUs in one run: each lane has its own, and runs its own experiments.

load guard

# Steps of a job that says which GPUs it sees, and which others run meanwhile.
says_gpus() { echo 'echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER" >"$TARE_RUN_DIR/$TARE_EXPERIMENT/gpus"'; }

@test "on four GPUs four experiments run at the same time, each sees one GPU, by UUID, and all are done once" {
    scenario 4
    # Nobody goes on before four have begun.
    job "$(says_gpus)
touch \"began.\$TARE_EXPERIMENT\"
until [ \$(ls began.* | wc -l) -ge 4 ]; do sleep 0.2; done
echo loss 0.5"
    settings 9
    tare_run >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 9 succeeded"
    is "$(grep -c "4 GPUs, 4 experiments at a time on 1 GPU each" out)" 1
    look '
import collections
started = [e for e in events if e["type"] == "experiment_started"]
assert sorted(e["experiment"] for e in started) == list(range(1, 10)), started
assert sorted(e["data"]["lane"] for e in started[:4]) == [1, 2, 3, 4]
ends = [e for e in events if e["type"] == "experiment_ended"]
assert sorted(e["experiment"] for e in ends) == list(range(1, 10))
for e in started:
    lane, number = e["data"]["lane"], e["experiment"]
    assert e["data"]["gpus"] == ["GPU %d" % (lane - 1)], e
    sees = open(sys.argv[1] + "/repo_net_%03d/gpus" % number).read().split()
    assert sees == ["GPU-00000000-0000-4000-8000-%012x" % (lane - 1), "PCI_BUS_ID"], (e, sees)
    devices = [d["device"] for d in ended(number)[0]["energy"]["devices"] if d["scope"] == "GPU board"]
    assert devices == ["GPU %d" % (lane - 1)], (number, devices)
    for phase in ("preflight", "postflight"):
        assert [d["device"] for d in guard(number, phase)[0]["devices"]] == ["GPU %d" % (lane - 1)]
'
}

@test "a GPU that is lost costs its lane only: the experiment it had is interrupted there and done by another lane" {
    scenario 3 "fault * error code=15 gpu=1 when=$WORK/lost"
    job 'touch "began.$TARE_EXPERIMENT"
[ "$CUDA_VISIBLE_DEVICES" != GPU-00000000-0000-4000-8000-000000000001 ] || { touch on_lost; sleep 600; }
until [ -e on_lost ]; do sleep 0.2; done
sleep 0.3; echo loss 0.5'
    settings 8
    start_run
    wait_until test -e repo/on_lost
    touch lost
    wait_until has_event session_ended
    end_program
    [ "$CODE" -eq 0 ]
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 8 succeeded"
    look '
def of(kind): return [e for e in events if e["type"] == kind]
lost = [e["experiment"] for e in of("experiment_ended") if e["data"]["outcome"] == "interrupted"]
assert len(lost) == 1, lost
assert ended(lost[0])[0]["reason"] == "gpu_lost" and "GPU 1 is lost" in ended(lost[0])[0]["error"], ended(lost[0])
first, second = [e["data"]["lane"] for e in of("experiment_started") if e["experiment"] == lost[0]]
assert first == 2 and second in (1, 3), (first, second)
when = [e["monotonic_ns"] for e in of("experiment_ended") if e["experiment"] == lost[0]][0]
after = [e["data"]["lane"] for e in of("experiment_started") if e["monotonic_ns"] > when]
assert after and 2 not in after, after
pool = of("session_ended")[0]["data"]["pool"]
assert [lane["lost"] is not None for lane in pool["lanes"]] == [False, True, False], pool
'
    grep -q "GPU 1 is lost" out
}

@test "an experiment that wants to be alone has the machine to itself, and the others wait for it" {
    scenario 3
    job 'n=$(ls running | wc -l); touch "running/$TARE_EXPERIMENT"
[ "$TARE_EXPERIMENT" != repo_net_004 ] || [ "$n" -eq 0 ] || exit 9
[ ! -e running/repo_net_004 ] || [ "$TARE_EXPERIMENT" = repo_net_004 ] || exit 8
sleep 0.4; rm "running/$TARE_EXPERIMENT"; echo loss 0.5'
    mkdir repo/running
    registry
    cat >settings.json <<'JSON'
{"mode": "mutation", "max_retries": 0, "seed": 7, "experiments": [
  {"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": 3},
  {"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": 1, "isolation": "exclusive"},
  {"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": 4}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}, "preflight": {"baseline": 0}}}
JSON
    tare_run >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 8 succeeded"
    grep -q "they waited for each other" out
    look '
def span(n):
    mine = [e for e in events if e["experiment"] == n]
    return [[e["monotonic_ns"] for e in mine if e["type"] == kind][0] for kind in ("experiment_started", "experiment_ended")]
alone = span(4)
for n in (1, 2, 3, 5, 6, 7, 8):
    begin, end = span(n)
    assert end <= alone[0] or begin >= alone[1], (n, begin, end, alone)
assert sum(span(n)[0] < span(5)[1] for n in (5, 6, 7)) == 3, "three at a time behind it"
'
}

@test "two GPUs for each experiment: each sees both, their energies add up, and what does not divide is left alone" {
    scenario 5
    job "$(says_gpus); sleep 1; echo loss 0.5"
    settings 2 '' '"gpus_per_experiment": 2'
    tare_run --gpus 0,1,3,4 >out
    is "$(summary outcome | sort | uniq -c | tr -s ' ')" " 2 succeeded"
    look '
gpus = {}
for number in (1, 2):
    sees = open(sys.argv[1] + "/repo_net_%03d/gpus" % number).read().split()[0].split(",")
    energy = ended(number)[0]["energy"]
    devices = [d for d in energy["devices"] if d["scope"] == "GPU board"]
    assert [d["uuid"] for d in devices] == sees and len(sees) == 2, (sees, devices)
    assert round(energy["gpu"]["joules"] * 1000) == sum(round(d["joules"] * 1000) for d in devices), energy["gpu"]
    gpus[number] = [int(uuid[-2:], 16) for uuid in sees]
assert sorted(gpus.values()) == [[0, 1], [3, 4]], gpus
'
}

@test "nothing is taken that CUDA_VISIBLE_DEVICES or Slurm do not allow" {
    scenario 4
    job "$(says_gpus); echo loss 0.5"
    settings 2
    CUDA_VISIBLE_DEVICES=1,3 CUDA_DEVICE_ORDER=PCI_BUS_ID run tare_run --gpus 0
    [ "$status" -eq 2 ]
    [[ "$output" == *"GPU 0 is not among those that this run may use"* ]]
    [ ! -e results ]
    CUDA_VISIBLE_DEVICES=1,3 CUDA_DEVICE_ORDER=PCI_BUS_ID tare_run
    is "$(cat results/*/repo_net_00*/gpus | sort | tr '\n' ' ')" "$(uuid 1) PCI_BUS_ID $(uuid 3) PCI_BUS_ID "
    rm -r results
    SLURM_JOB_ID=7 SLURM_JOB_GPUS=2 tare_run
    is "$(cat results/*/repo_net_00*/gpus | sort -u)" "$(uuid 2) PCI_BUS_ID"
}

@test "--gpus none hides every GPU from the trainings, and takes no lock" {
    scenario 2
    job "$(says_gpus); ls \"\$LOCKS\" >\"\$TARE_RUN_DIR/\$TARE_EXPERIMENT/locks\" 2>/dev/null; echo loss 0.5"
    settings 1
    LOCKS=$TARE_LOCK_DIR tare_run --gpus none
    is "$(cat results/*/repo_net_001/gpus)" " PCI_BUS_ID"
    is "$(cat results/*/repo_net_001/locks)" ""
}

@test "a training that is told its GPU by the registry has one lane, and --gpus is a mistake then" {
    scenario 2
    job "$(says_gpus); echo loss 0.5"
    registry '"env": {"CUDA_VISIBLE_DEVICES": "1"}'
    settings 2
    tare_run
    is "$(cat results/*/repo_net_00*/gpus | sort -u)" "1 "
    is "$(grep -c '"lane"' results/*/events.jsonl)" 0
    run tare_run --gpus 0
    [ "$status" -eq 2 ]
    [[ "$output" == *CUDA_VISIBLE_DEVICES* ]]
}

@test "on one GPU nothing is new: no lanes are told of, and the variable is left alone" {
    scenario 1
    job "$(says_gpus); echo loss 0.5"
    settings 2
    tare_run >out
    is "$(cat results/*/repo_net_00*/gpus | sort -u)" " "
    is "$(grep -cE 'lane|at a time' out)" 0
    is "$(grep -cE '"lane"|"pool"' results/*/events.jsonl)" 0
}
