#!/usr/bin/env bats
# The memory of a job on the GPU while it runs: peak, curve, growth from epoch to epoch, and the warning before it runs out. The
# driver is a fake one: this file says how much of its GPU the training has.

load energy
load page

GIB=1073741824

# The training prints an epoch's line and ends the epoch when the file go_N is there.
trainer() {
    job "for epoch in $(seq -s ' ' 1 "$1"); do echo \"epoch \$epoch\"; until [ -e $WORK/go_\$epoch ]; do sleep 0.2; done; done"
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
}

# The pid of the training as this shell sees it: the child of the job's init.
training() {
    local init
    init=$(event_value job_born 1 pid 2>/dev/null) || return 1
    TRAINING=$(grep -lE "^PPid:[[:space:]]*$init\$" /proc/[0-9]*/status 2>/dev/null | head -n 1 | tr -dc 0-9)
    [ -n "$TRAINING" ]
}

rows() { wc -l < "$(run_dir)/repo_net_001/energy/gpu.csv"; }
more_rows() { [ "$(rows)" -ge "$1" ]; }
log_says() { grep -qx "$1" "$(run_dir)/repo_net_001/training.log"; }

# epoch NUMBER GIB: in this epoch the training has so much, and that was read several times.
epoch() {
    wait_until log_says "epoch $1"
    echo "0 $(($2 * GIB)) 0" > users/new
    mv users/new "users/$TRAINING"
    wait_until more_rows $(($(rows) + 4))
}

begin() {
    scenario 1 "memory_total $((40 * GIB))
users $WORK/users"
    mkdir users
    settings 1
    start_run
    wait_until training
}

@test "a job that leaks is warned of, epochs before, with the epoch in which memory runs out" {
    trainer 5
    begin
    for n in 1 2 3; do
        epoch $n $((4 + 6 * n))
        if grep -q 'runs out' out; then return 1; fi
        touch go_$n
    done
    # 10, 16, 22 GiB, 6 more with each epoch: 40 GiB in the sixth, more in the seventh.
    wait_until grep -q 'GPU 0: the job.s memory grows by 6.00 GiB with every epoch (22.00 GiB in epoch 3, of 40.00 GiB); if it goes on so, it runs out in epoch 7' out
    if log_says "epoch 5"; then return 1; fi
    epoch 4 28
    touch go_4 go_5
    end_program
    [ "$CODE" -eq 0 ]
    [ "$(grep -c 'repo_net_001 evidence.*runs out' out)" -eq 1 ]
    look '
memory = e["tare"]["attempts"][0]["memory"]
gpu = memory["gpus"][0]
GIB = 1 << 30
assert gpu["device"] == "GPU 0" and gpu["of"] == "job" and gpu["total_bytes"] == 40 * GIB, gpu
assert gpu["curve"]["peak_bytes"] == 28 * GIB and row["gpu_mem_peak_mib"] == "28672.0", (gpu, row)
seen = [n for n in gpu["curve"]["bytes"] if n]
assert seen == sorted(seen) and set(seen) == {10 * GIB, 16 * GIB, 22 * GIB, 28 * GIB}, seen
assert gpu["growth"]["grows"] and gpu["growth"]["bytes_per_epoch"] == 6 * GIB, gpu["growth"]
warned = [x for x in e["tare"]["evidence"] if x["kind"] == "memory_growth"]
assert len(warned) == 1 and "runs out in epoch 7" in warned[0]["text"], warned
assert "host" in memory, memory
'
}

@test "a job whose memory stays level is not warned of, nor is one that ends in time" {
    trainer 4
    begin
    # Warming up: the second epoch has more, then it is level.
    epoch 1 10
    touch go_1
    epoch 2 20
    touch go_2
    epoch 3 20
    touch go_3
    epoch 4 20
    touch go_4
    end_program
    [ "$CODE" -eq 0 ]
    if grep -q 'runs out' out; then return 1; fi
    look '
gpu = e["tare"]["attempts"][0]["memory"]["gpus"][0]
assert gpu["curve"]["peak_bytes"] == 20 << 30 and not gpu["growth"]["grows"], gpu
assert "memory_growth" not in evidence, evidence
'
}

@test "a job that names no epochs and leaks is warned of, with the time that is left" {
    job "until [ -e $WORK/go ]; do sleep 0.2; done"
    registry
    export TARE_TIME_SCALE=0.05
    begin
    # A quarter of a GiB more at each turn, as long as nothing is said; windows are of half a second.
    local turn deadline=$((SECONDS + 90))
    for ((turn = 2; turn < 750 && SECONDS < deadline; turn++)); do
        echo "0 $((turn * GIB / 20)) 0" > users/new
        mv users/new "users/$TRAINING"
        if file_has out 'the training names no epochs'; then break; fi
        pause 0.06
    done
    touch go
    end_program
    [ "$CODE" -eq 0 ]
    grep -qE "GPU 0: the job.s memory grows by [0-9.]+ (MiB|GiB) a minute \([0-9.]+ (MiB|GiB) after .*, of 40.00 GiB; the training names no epochs\); if it goes on so, it runs out in [0-9]" out
    look '
gpu = e["tare"]["attempts"][0]["memory"]["gpus"][0]
assert gpu["growth"] is None, gpu["growth"]
assert gpu["growth_in_time"]["windows"] >= 12 and gpu["growth_in_time"]["window_s"] >= 0.5, gpu["growth_in_time"]
assert len([x for x in e["tare"]["evidence"] if x["kind"] == "memory_growth"]) == 1, e["tare"]["evidence"]
'
}

# three_with MEMORY_LINES: three experiments of one session on a GPU that others use 300 MiB of.
three() {
    scenario 1 "memory_total 8589934592
memory_reserved 0
users $WORK/users"
    mkdir -p users
    echo "$((300 << 20))" >users/leak0
    settings 3
    tare_run --containment sweep
}

# of_attempts: of each experiment's attempt "of", what was in use before and the peak of its curve, in MiB.
of_attempts() {
    python3 - "$(run_dir)" <<'END'
import glob, json, sys
for name in sorted(glob.glob(sys.argv[1] + "/*/experiment.json")):
    for attempt in json.load(open(name))["tare"]["attempts"]:
        gpu = attempt["memory"]["gpus"][0]
        curve = gpu["curve"]
        before = gpu["before_bytes"]
        print(gpu["of"], before if before is None else before >> 20, curve and round(curve["peak_bytes"] / 2**20))
END
}

@test "what was in use before is known of every attempt of a session, not of the first alone" {
    job 'sleep 1'
    three
    is "$(of_attempts)" "device 300 0
device 300 0
device 300 0"
}

@test "a foreground that never used the GPU does not get the background's memory" {
    scenario 1 "memory_total 8589934592
memory_reserved 0
users $WORK/users"
    mkdir -p repo users
    printf '#!/bin/sh\necho "0 %s 30" >%s/users/$$\nexec sleep 1000\n' $((3000 << 20)) "$WORK" >repo/back.sh
    printf '#!/bin/sh\nkill -INT %s\nsleep 1000\n' '$(cat '"$WORK"'/runner)' >repo/fore.sh
    printf '#!/bin/sh\nsleep 2\n' >repo/short.sh
    chmod +x repo/*.sh
    cat >registry.json <<'END'
{"models": {"short": {"path": "repo", "train_script": "./short.sh", "models": ["net"], "supported_hyperparams": {}},
            "fore": {"path": "repo", "train_script": "./fore.sh", "models": ["net"], "supported_hyperparams": {}},
            "load": {"path": "repo", "train_script": "./back.sh", "models": ["net"], "supported_hyperparams": {}}}}
END
    cat >settings.json <<'END'
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "short", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net"}},
                 {"foreground": {"repo": "fore", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net"}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 20},
          "preflight": {"baseline": 0, "policy": "go-on", "utilisation": 100},
          "parallel": {"wait": 0.5, "hold": 0.5, "limit": 100, "restart_delay": 0}}}
END
    # Where the driver tells the processes apart, then where it does not (of strangers it tells nothing).
    for kind in '' ' stranger'; do
        rm -rf results users/*
        sed -i "s/30[a-z ]*\"/30$kind\"/" repo/back.sh
        "$TARE" run settings.json -c registry.json -o results --containment sweep &
        echo $! >runner
        wait $! || true
        of_attempts >told
        cat told
        [ "$(wc -l <told)" -eq 2 ]
        [ "$(awk '$3 != 0 && $3 != "None"' told | wc -l)" -eq 0 ]
        [ "$(awk '$2 == "None"' told | wc -l)" -eq 0 ]
    done
}

@test "a peak of a fifth of a second between two samples is seen, and how it is known stands in summary.csv" {
    scenario 1 "memory_total $((40 * GIB))
users $WORK/users"
    mkdir users
    job "sleep 1.3; echo '0 $((30 * GIB)) 50' >$WORK/users/.new; mv $WORK/users/.new $WORK/users/\$\$; sleep 0.2
echo '0 $((2 * GIB)) 50' >$WORK/users/.new; mv $WORK/users/.new $WORK/users/\$\$; sleep 1.7; rm $WORK/users/\$\$"
    settings 1
    tare_run --containment sweep >out
    is "$(summary gpu_mem_peak_how)" "sampled every 50 ms"
    is "$(summary gpu_mem_peak_mib)" 30720.0
    is "$(summary gpu_mem_peak_of)" job
    is "$(summary gpu_mem_pair_peak_mib)" ''
    [ -n "$(summary energy_gpu_half_width_joules)" ]
}

# peaks: of the one experiment in results, as summary.csv and experiment.json have them.
peaks() {
    python3 - "$(run_dir)" <<'END'
import csv, glob, json, sys
row, = csv.DictReader(open(sys.argv[1] + "/summary.csv"))
peak = json.load(open(glob.glob(sys.argv[1] + "/*/experiment.json")[0]))["tare"]["gpu_memory_peak"]
assert (float(row["gpu_mem_peak_mib"]), float(row["gpu_mem_pair_peak_mib"])) == (peak["bytes"] / 2**20, peak["pair_bytes"] / 2**20)
assert (row["gpu_mem_peak_of"], row["gpu_mem_peak_how"]) == (peak["of"], peak["how"]), (row, peak)
print(row["gpu_mem_peak_of"], row["gpu_mem_peak_mib"], row["gpu_mem_pair_peak_mib"])
END
}

# pair [KIND]: a parallel experiment. The foreground has 1000 MiB, for a moment 2000; the background 3000; others had 300 before
# both. KIND: how the driver lists the two.
pair() {
    scenario 1 "memory_total 8589934592
memory_reserved 0
users $WORK/users"
    rm -rf results users
    mkdir -p repo users
    echo "$((300 << 20))" >users/leak0
    printf '#!/bin/sh\necho "0 %s 30 %s" >%s/users/$$\nexec sleep 1000\n' $((3000 << 20)) "${1-}" "$WORK" >repo/back.sh
    printf '#!/bin/sh\nfor mib in 1000 2000 1000; do echo "0 $((mib << 20)) 30 %s" >%s/new; mv %s/new %s/users/$$; sleep 1.5; done\n' \
        "${1-}" "$WORK" "$WORK" "$WORK" >repo/fore.sh
    chmod +x repo/*.sh
    cat >registry.json <<'END'
{"models": {"fore": {"path": "repo", "train_script": "./fore.sh", "models": ["net"], "supported_hyperparams": {}},
            "load": {"path": "repo", "train_script": "./back.sh", "models": ["net"], "supported_hyperparams": {}}}}
END
    cat >settings.json <<'END'
{"mode": "parallel", "max_retries": 0, "seed": 7, "timeout": 300,
 "experiments": [{"foreground": {"repo": "fore", "model": "net", "mode": "default"},
                  "background": {"repo": "load", "model": "net"}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 20},
          "preflight": {"baseline": 0, "policy": "go-on", "utilisation": 100},
          "parallel": {"wait": 0.5, "hold": 0.5, "limit": 100, "restart_delay": 0}}}
END
    "$TARE" run settings.json -c registry.json -o results --containment sweep >out
}

@test "of a parallel experiment it says whose the memory peak is, and the peak of both together has a column" {
    pair
    is "$(peaks)" "foreground 2000.0 5000.0"
    # Where the driver lists none of its processes, the GPU's is what is known.
    pair hidden
    is "$(peaks)" "gpu 5300.0 5000.0"
}

@test "the page says whose the memory peak of a parallel experiment is" {
    pair
    "$TARE" report "$(run_dir)" -o report.html --lang en >/dev/null
    page figures fore_net_001_parallel "peak memory (foreground): 1.953 GiB" \
        "peak memory (both trainings): 4.883 GiB"
}
