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
second_epoch_seen() { grep -qs "^epoch 2" results/*/*/training.log; }
load_is_over() { grep -qs "^counter" results/*/*/training.log; }
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

# told COMMAND...: what it prints goes to the page of results as well; a failure shows it again.
told() {
    local code=0
    "$@" >told.txt 2>&1 || code=$?
    cat told.txt
    sed 's/^/# /' told.txt >&3
    return $code
}

bench_meter() { [ -x "${BUILD:-$ROOT/build}/bench/bench_meter" ] && echo "${BUILD:-$ROOT/build}/bench/bench_meter"; }

@test "windows of 2 s and 10 s of a steady load agree with the driver's counter over the minute that contains them, within 0.5 %" {
    trains "$GPU/steady.py" "${SECONDS_OF_LOAD:-66}" 2
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}, "errors": []'
    settings 1
    start_run
    wait_until second_epoch_seen || { cat out err; return 1; }
    local i=0
    while ! load_is_over && [ $i -lt 30 ]; do
        sleep 0.3
        "$TARE" measure --gpus 0 --for $((i % 3 ? 2 : 10)) --json >"page$i.json" || true
        i=$((i + 1))
    done
    end_program
    [ "$CODE" -eq 0 ]
    told "$PYTHON" "$GPU/windows.py" "$(run_dir)" page*.json
}

@test "a sample of the meter costs 100 times less CPU than one of nvidia-smi in a loop, at 10 times the rate" {
    bench=$(bench_meter) || skip "bench_meter is not built"
    "$PYTHON" "$GPU/steady.py" 90 10 >load 2>&1 3>&- &
    PID=$!
    wait_until grep -q "epoch 1" load
    told "$PYTHON" "$GPU/loop_cost.py" "$TARE" "$bench" 60
    kill -KILL "$PID"
}

@test "a training's step is not 0.2 % slower while it is measured" {
    local code=0
    told "$PYTHON" "$GPU/paired.py" "$TARE" "${SECONDS_OF_PAIRS:-88}" || code=$?
    [ $code -ne 77 ] || skip "the machine's noise leaves it open: $(tail -n 1 told.txt)"
    [ $code -eq 0 ]
}

@test "the driver's power samples: instants or means" {
    told "$PYTHON" "$GPU/response.py" "${SECONDS_OF_STEPS:-8}"
}

@test "doctor's rate of the counter is the one that is watched here" {
    "$TARE" doctor --json >page.json || [ $? -eq 1 ]
    told "$PYTHON" "$GPU/rate.py" page.json
}

@test "the memory of a meter while it measures" {
    told "$PYTHON" "$GPU/memory.py" "$TARE"
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

@test "short trainings, which import for most of their time, and long ones are proven to go together, in pairs of all kinds" {
    told "$PYTHON" "$GPU/feasibility_short.py" "$TARE" "$WORK/study"
}
