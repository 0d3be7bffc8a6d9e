# A machine whose GPUs are played by the fake driver (tests/fake). Load it with: load energy

load gpus

LIBRARY=${BUILD_DIR:-$ROOT/build}/tests/fake/libnvidia-ml.so.1

eval "machine_$(declare -f setup)"
setup() {
    machine_setup
    command -v python3 >/dev/null || skip "python3 is missing"
    [ -e "$LIBRARY" ] || skip "the fake driver is not built ($LIBRARY)"
    export TARE_NVML=$LIBRARY TARE_FAKE_NVML=$WORK/scenario
}

# Their load is played by steps of the scenario, before the training begins too: the guard is to let that pass.
eval "machine_$(declare -f settings)"
settings() {
    machine_settings "$1" '"preflight": {"policy": "go-on", "utilisation": 100, "baseline": 0}'"${2:+, $2}" "${@:3}"
}

uuid() { printf 'GPU-00000000-0000-4000-8000-%012x' "$1"; }

# scenario COUNT LINES: so many GPUs, whose time 0 is a second ago.
scenario() {
    local i
    for ((i = 0; i < $1; i++)); do fake_gpu "0000:0$((i + 1)):00.0" "$i" "$(uuid "$i")"; done
    {
        python3 -c 'import time; print("origin_ns", time.monotonic_ns() - 10**9)'
        printf 'gpus %s\n%s\n' "$1" "$2"
    } >"$WORK/scenario"
}

# look LINES: python's lines about the files of experiment 1, or $EXPERIMENT: "e" is its experiment.json, "energy" what stands
# there of it, "row" its line of summary.csv, "evidence" the kinds of its evidence, start and end those of its last
# attempt, truth(gpu) the joules that the scenario's steps came to between them.
look() {
    cat >look.py <<'LOOK'
import csv, json, os, sys
number = int(os.environ.get("EXPERIMENT", "1"))
name = "repo_net_%03d" % number
folder = sys.argv[1] + "/" + name + "/"
e = json.load(open(folder + "experiment.json"))
energy = e["tare"]["energy"]
row = [r for r in csv.DictReader(open(sys.argv[1] + "/summary.csv")) if r["experiment_id"] == name][0]
mine = [x for x in map(json.loads, open(sys.argv[1] + "/events.jsonl")) if x["experiment"] == number]
start = [x["data"]["start_ns"] for x in mine if x["type"] == "attempt_started"][-1]
end = [x["data"]["end_ns"] for x in mine if x["type"] == "attempt_ended"][-1]
evidence = [x["data"]["kind"] for x in mine if x["type"] == "evidence"]
lines = [line.split() for line in open("scenario") if line.strip()] if os.path.exists("scenario") else []
origin = [int(line[1]) for line in lines if line[0] == "origin_ns"]

def steps(gpu):
    at, found = gpu, [] # what stands before the first "gpu" is said of all
    for line in lines:
        if line[0] == "gpu":
            at = int(line[1])
        elif line[0] == "step" and at == gpu:
            found.append((origin[0] + float(line[1]) * 1e6, float(line[2])))
    return sorted(found)

def truth(gpu=0, start=start, end=end):
    total, found = 0, steps(gpu)
    for i, (begin, watts) in enumerate(found):
        until = found[i + 1][0] if i + 1 < len(found) else end
        total += watts * max(0, min(end, until) - max(start, begin)) / 1e9
    return total

# The half-width is of 95 %: six deviations, so that no test fails by chance.
def near(joules, expected, half_width):
    assert half_width > 0 and abs(joules - expected) <= 3 * half_width, (joules, expected, half_width)

LOOK
    printf '%s\n' "$1" >>look.py
    python3 look.py "$(run_dir)"
}
