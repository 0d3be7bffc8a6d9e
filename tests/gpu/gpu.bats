#!/usr/bin/env bats
# What tare promises, on a real GPU (make check-gpu).

load ../cli/runs

setup() {
    PYTHON=$(command -v "${PYTHON:-python3}")
    "$PYTHON" -c 'import torch; assert torch.cuda.is_available()' || skip "$PYTHON has no torch that sees a GPU"
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/gpu-test.XXXXXX")
    export XDG_STATE_HOME=$WORK/state TARE_LOCK_DIR=$WORK/locks TERM=dumb
    GPU=$ROOT/tests/gpu
    cd "$WORK" || return 1
}

# trains WORDS...: what the job runs, in repo/job.sh.
trains() { job "exec $PYTHON $*"; }

epoch_seen() { grep -qs "epoch 1" results/*/*/training.log; }
used_mib() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0; }
is_used() { [ "$(used_mib)" -le "$1" ]; }

@test "memory that a detached process of a job holds is free when the run is over, under every containment" {
    trains "$GPU/leave.py" 5.5
    settings 1
    before=$(used_mib)
    for mode in auto cgroup sweep; do
        "$TARE" exec --containment $mode true 2>/dev/null || continue
        rm -rf results
        tare_run --containment $mode
        during=$(sed -n 's/^used MiB while it lives: //p' "$(run_dir)"/*/training.log)
        echo "$mode: before $before MiB, during $during MiB, after $(used_mib) MiB"
        [ "$during" -ge $((before + 5632)) ]
        wait_until is_used $((before + 64))
        grep -q '"kind": "leftover_processes"' "$(run_dir)"/*/experiment.json
    done
}

@test "a killed tare leaves no process on the GPU" {
    trains "$GPU/steady.py" 1000 10
    settings 1
    before=$(used_mib)
    start_run
    wait_until epoch_seen
    run ! is_used $((before + 64))
    kill -KILL "$PID"
    wait_until is_used $((before + 64))
}

@test "clean names a process that holds GPU memory, with the driver's figure; it ends only what is named" {
    "$PYTHON" "$GPU/steady.py" 1000 10 >out 2>&1 3>&- &
    HOLDER=$!
    wait_until grep -q "epoch 1" out
    "$TARE" clean --json >clean.json || true
    "$PYTHON" - "$HOLDER" <<'CHECK'
import json, subprocess, sys
found = [p for p in json.load(open("clean.json"))["gpu_processes"] if p["pid"] == int(sys.argv[1])]
listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                        capture_output=True, text=True).stdout
mib = {int(line.split(",")[0]): int(line.split(",")[1]) for line in listed.splitlines()}
assert len(found) == 1 and not found[0]["orphan"], found
assert abs(found[0]["memory_bytes"] / 2**20 - mib[int(sys.argv[1])]) < 1, (found, mib)
CHECK
    "$TARE" clean --kill || true
    kill -0 "$HOLDER"
    kill -KILL "$HOLDER"
}

@test "the second run on a GPU refuses, and says who holds it" {
    trains "$GPU/steady.py" 1000 10
    settings 1
    start_run
    wait_until epoch_seen
    first=$(run_dir)
    run "$TARE" run settings.json -c registry.json -o second --gpu-lock refuse
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"$PID"* ]]
    [ ! -e second ]
    [ -d "$first" ]
    kill -KILL "$PID"
}

@test "the joules of steady epochs agree with the driver's counter over them all, each within 0.5 %" {
    trains "$GPU/steady.py" "${SECONDS_OF_LOAD:-66}" 2
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}, "errors": []'
    settings 1
    tare_run
    "$PYTHON" - "$(run_dir)" <<'CHECK'
import csv, glob, json, re, statistics, sys
folder = glob.glob(sys.argv[1] + "/*/experiment.json")[0].removesuffix("experiment.json")
joules, seconds = map(float, re.search(r"^counter (\S+) (\S+)$", open(folder + "training.log").read(), re.M).groups())
rows = [row for row in csv.DictReader(open(folder + "energy/marks.csv")) if row["part"] == "epoch"][2:-1] # it rests in epoch 2 and in the last, to read the counter
watts = joules / seconds
apart = [float(row["gpu_energy_j"]) / float(row["duration_s"]) / watts - 1 for row in rows]
energy = json.load(open(folder + "experiment.json"))["tare"]["energy"]["gpu"]
print(f"# counter {watts:.2f} W over {seconds:.1f} s; {len(rows)} epochs of 2 s: median {100 * statistics.median(apart):+.3f} %, "
      f"worst {100 * max(apart, key=abs):+.3f} %, half-width {statistics.median(float(r['gpu_half_width_j']) for r in rows):.2f} J; "
      f"attempt {energy['joules']:.1f} J +- {energy['half_width_j']:.1f} J, trace {energy['integral_j']:.1f} J", file=sys.stderr)
assert len(rows) >= 20 and max(map(abs, apart)) < 0.005, apart
CHECK
}

@test "a training is not slower while it is measured: by no more than 0.2 % and what its own noise explains" {
    trains "$GPU/steady.py" 8 1
    settings 1
    for _ in 1 2 3 4; do
        for library in none driver; do
            rm -rf results
            if [ $library = none ]; then export TARE_NVML=/no/such/library; else unset TARE_NVML; fi
            tare_run -q
            sed -n 's/^steps per second: //p' "$(run_dir)"/*/training.log >>$library
        done
    done
    unset TARE_NVML
    "$PYTHON" - <<'CHECK'
import statistics, sys
without, measured = ([float(line) for line in open(name)] for name in ("none", "driver"))
ratio = statistics.mean(b / a - 1 for a, b in zip(without, measured))
spread = statistics.stdev(b / a - 1 for a, b in zip(without, measured)) / len(without) ** 0.5
print(f"# steps per second, measured against not: {100 * ratio:+.3f} % (standard error {100 * spread:.3f} %)", file=sys.stderr)
assert ratio > -0.002 - 2 * spread, (without, measured)
CHECK
}

# parallel FOREGROUND BACKGROUND: a parallel experiment of two commands for Python.
parallel() {
    job "case \$1 in --n) exec $PYTHON $1;; *) exec $PYTHON $2;; esac"
    cat >registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 9]}}},
 "load": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
  "supported_hyperparams": {"m": {"flag": "--m", "type": "int", "default": 1, "range": [1, 9]}}}}}
END
    cat >settings.json <<END
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "repo", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net"}}],
 "tare": {"parallel": {"wait": 15}}}
END
}

@test "of two trainings in parallel the background's load is seen, the estimates add up, and nothing of either is left" {
    parallel "$GPU/steady.py 20 5" "$GPU/steady.py 1000 10"
    before=$(used_mib)
    tare_run
    wait_until is_used $((before + 64))
    "$PYTHON" - "$(run_dir)" <<'CHECK'
import json, sys
tare = json.load(open(sys.argv[1] + "/repo_net_001_parallel/experiment.json"))["tare"]
p, total = tare["parallel"], tare["energy"]["gpu"]["joules"]
print(json.dumps({key: p[key] for key in ("background_only", "foreground_marginal", "sm_share")}), p["background"]["load"])
assert not [e for e in tare["evidence"] if e["kind"].startswith("background_")], tare["evidence"]
load = p["background"]["load"]
assert load["seen_by"] == "processes" and load["held"] and load["share_of_looks_beside"] > 0.8, load
assert p["background_only"]["power_w"] > 200, p
s = p["sm_share"]
assert s["foreground_mj"] + s["background_mj"] + s["unattributed_mj"] == s["total_mj"] == round(1000 * total), s
# The same work from both, half of the time each.
assert 0.6 < s["foreground_mj"] / s["background_mj"] < 1.7 and s["covered_share"] > 0.9, s
CHECK
}

@test "a background that crashes at start fails its experiment, and the foreground never has the GPU" {
    parallel "$GPU/steady.py 20 5" "-c 'raise RuntimeError(\"no data\")'"
    run tare_run
    [ "$status" -eq 1 ]
    [[ "$output" == *"the background training does not run: it failed 3 times in a row: "*"RuntimeError: no data"* ]]
    [ ! -s "$(run_dir)/repo_net_001_parallel/training.log" ]
}
