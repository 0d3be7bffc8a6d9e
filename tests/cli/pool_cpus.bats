#!/usr/bin/env bats
# Which processors the experiments of several lanes run on.

load guard

eval "guard_$(declare -f setup)"

# The processors that this test may use, as numbers in one line: $ALLOWED.
setup() {
    guard_setup
    ALLOWED=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
}

# near BUS LIST: sysfs tells of the processors beside that GPU.
near() {
    local folder=machine/sys/bus/pci/devices/$1
    mkdir -p "$folder"
    echo 0 >"$folder/numa_node"
    echo "$2" >"$folder/local_cpulist"
}

says_cpus() { echo 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"$TARE_RUN_DIR/$TARE_EXPERIMENT/cpus"'; }

@test "the processors near two GPUs are shared by their lanes: each job runs on its half, and the results say so" {
    set -- $ALLOWED
    [ $# -ge 2 ] || skip "one processor cannot be shared"
    scenario 2
    near 0000:01:00.0 "$(tr ' ' , <<<"$ALLOWED")"
    near 0000:02:00.0 "$(tr ' ' , <<<"$ALLOWED")"
    # Neither goes on before both have begun: they are on two lanes.
    job "$(says_cpus)
touch \"began.\$TARE_EXPERIMENT\"
until [ \$(ls began.* | wc -l) -ge 2 ]; do sleep 0.2; done
echo loss 0.5"
    settings 2
    tare_run >out
    ALLOWED=$ALLOWED look '
import os
allowed = list(map(int, os.environ["ALLOWED"].split()))
half = len(allowed) // 2
def numbers(text):
    out = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out
for e in events:
    if e["type"] != "experiment_started": continue
    number, lane = e["experiment"], e["data"]["lane"]
    expected = allowed[(lane - 1) * half : lane * half]
    seen = numbers(open(sys.argv[1] + "/repo_net_%03d/cpus" % number).read())
    assert seen == expected, (number, lane, seen, expected)
    held = experiment(number)["tare"]["containment"]["layers"]["cpu_set"]
    assert numbers(held["cpus"]) == expected and held["by"] in ("affinity", "cpuset"), held
machine = json.load(open(sys.argv[1] + "/machine.json"))["cpu_sets"]
assert [lane["node"] for lane in machine["lanes"]] == [0, 0] and machine["why_none"] is None, machine
assert [numbers(lane["cpus"]) for lane in machine["lanes"]] == [allowed[:half], allowed[half : 2 * half]], machine
'
    grep -q "2 experiments at a time on 1 GPU each; $(($# / 2)) CPUs\? near its GPUs for each" out
}

# all_processors NUMBER: that experiment could use what the test can, and nothing says that it was kept from any.
all_processors() {
    is "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" "$(cat results/*/repo_net_00$1/cpus)"
    is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tare"]["containment"]["layers"].get("cpu_set"))' \
        results/*/repo_net_00$1/experiment.json)" None
}

@test "cpu_sets none leaves all processors to all, and one lane has them anyhow" {
    scenario 2
    near 0000:01:00.0 "${ALLOWED%% *}"
    near 0000:02:00.0 "${ALLOWED##* }"
    job "$(says_cpus); echo loss 0.5"
    settings 2 '' '"cpu_sets": "none"'
    tare_run 2>messages
    all_processors 1
    all_processors 2
    is "$(grep -c "all CPUs" messages)" 0
    is "$(jq_of results/*/machine.json)" None
    rm -r results
    settings 1
    tare_run --gpus 1 2>messages
    all_processors 1
    is "$(grep -c "all CPUs" messages)" 0
}

jq_of() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))["cpu_sets"]; print(d and d["lanes"])' "$1"; }

@test "where the machine does not say which processors are near, all are left to all, and that is said" {
    scenario 2
    near 0000:01:00.0 "${ALLOWED%% *}"
    near 0000:02:00.0 "nonsense"
    job "$(says_cpus); echo loss 0.5"
    settings 2
    tare_run 2>messages
    all_processors 1
    all_processors 2
    grep -q "the slots share all CPUs: read /sys/bus/pci/devices/0000:02:00.0/local_cpulist: Invalid argument" messages
    look '
machine = json.load(open(sys.argv[1] + "/machine.json"))["cpu_sets"]
assert machine["lanes"] is None and "0000:02:00.0/local_cpulist" in machine["why_none"], machine
'
}

@test "an experiment that is alone on the machine has all of its processors" {
    set -- $ALLOWED
    [ $# -ge 2 ] || skip "one processor cannot be shared"
    scenario 2
    near 0000:01:00.0 "$(tr ' ' , <<<"$ALLOWED")"
    near 0000:02:00.0 "$(tr ' ' , <<<"$ALLOWED")"
    job "$(says_cpus); echo loss 0.5"
    settings 2 '' '"isolation": "exclusive"'
    tare_run
    all_processors 1
    all_processors 2
}
