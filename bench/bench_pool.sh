#!/bin/bash
# A run with many lanes, on GPUs that the fake driver plays: CPU and memory of the runner while a training runs on every lane, what
# the meters (a process for each GPU) take beside it, and how long it is from the end of a training to the start of the next on its lane.
# usage: bench_pool.sh [LANES] [SECONDS]      (default 64, 10)
# Exit 1 when the runner takes 5 % of a core or more, or 64 MiB or more.
set -eu
. "$(dirname "$0")/common.bash"
lanes=${1:-64} seconds=${2:-10}
library=$BUILD/tests/fake/libnvidia-ml.so.1
need "$TARE"
[ -e "$library" ] || { echo "bench_pool.sh: there is no $library" >&2; exit 2; }
command -v python3 >/dev/null || { echo "bench_pool.sh: python3 is missing" >&2; exit 2; }

dir=$(mktemp -d -t bench_pool.XXXXXX)
runner=''
end_runner() {
    [ -n "$runner" ] || return 0
    kill -TERM "$runner" 2>/dev/null || true
    wait "$runner" 2>/dev/null || true
    runner=''
}
# shellcheck disable=SC2317 # a trap calls it
cleanup() {
    end_runner
    rm -rf "$dir"
}
trap cleanup EXIT
cd "$dir"
export XDG_STATE_HOME=$dir/state TARE_SYSROOT=$dir/machine TARE_LOCK_DIR=$dir/locks
export TARE_NVML=$library TARE_FAKE_NVML=$dir/scenario
unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER TARE_GPU_HOLDER

for ((i = 0; i < lanes; i++)); do
    folder=$(printf 'machine/proc/driver/nvidia/gpus/0000:%02x:00.0' $((i + 1)))
    mkdir -p "$folder"
    printf 'Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-00000000-0000-4000-8000-%012x\nBus Location: \t 0000:%02x:00.0\nDevice Minor: \t %d\nGPU Excluded:\t No\n' \
        "$i" $((i + 1)) "$i" >"$folder/information"
done
printf 'origin_ns 0\ngpus %d\ncounter_cost_us 100\n' "$lanes" >scenario
mkdir repo
# shellcheck disable=SC2016 # the job's shell expands it
printf '#!/bin/sh\n: >"../up.$TARE_EXPERIMENT"\nexec sleep "$JOB_S"\n' >repo/job.sh
chmod +x repo/job.sh
echo '{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "supported_hyperparams": {}}}}' >registry.json

# settings COUNT
settings() {
    printf '{"mode": "default", "max_retries": 0, "experiments": [{"repo": "repo", "model": "net", "runs_per_config": %d}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}, "preflight": {"baseline": 0}}}\n' "$1" >settings.json
}

on_cpu_ns() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ sum += $1 } END { printf "%d", sum }'; }
resident_kib() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"; }
meters() { grep -l "^PPid:[[:space:]]*$runner$" /proc/[0-9]*/status 2>/dev/null | while read -r status; do
    pid=${status%/status}
    [ "$(cat "$pid/comm" 2>/dev/null)" != tare-meter ] || echo "${pid#/proc/}"
done; }
sum_of() { local total=0 pid; for pid in $meter_pids; do total=$((total + $("$1" "$pid"))); done; echo "$total"; }

settings "$lanes"
JOB_S=$((seconds + 600)) "$TARE" run settings.json -c registry.json -o results </dev/null >out 2>&1 &
runner=$!
for ((i = 0; i < 1200; i++)); do [ "$(find . -maxdepth 1 -name 'up.*' | wc -l)" -lt "$lanes" ] || break; sleep 0.1; done
[ "$(find . -maxdepth 1 -name 'up.*' | wc -l)" -eq "$lanes" ] || { echo "not all jobs start:" >&2; tail out >&2; exit 2; }
sleep 3
meter_pids=$(meters)
began=$(date +%s.%N) runner_ns=$(on_cpu_ns "$runner") meters_ns=$(sum_of on_cpu_ns)
sleep "$seconds"
runner_ns=$(($(on_cpu_ns "$runner") - runner_ns)) meters_ns=$(($(sum_of on_cpu_ns) - meters_ns))
took=$(calc "$(date +%s.%N) - $began")
share=$(calc "$runner_ns / 1e7 / $took")
memory_mib=$(calc "$(resident_kib "$runner") / 1024")
meters_share=$(calc "$meters_ns / 1e7 / $took") meters_mib=$(calc "$(sum_of resident_kib) / 1024")
meter_count=$(echo "$meter_pids" | wc -w)
end_runner
rm -rf results up.*

# Short trainings, one after the other on every lane.
settings $((lanes * 3))
JOB_S=0.5 "$TARE" run settings.json -c registry.json -o results </dev/null >out 2>&1 || { tail out >&2; exit 2; }
read -r median worst < <(python3 - results/run_*/events.jsonl <<'PY'
import json, sys
ended, lane_of, waits = {}, {}, []
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["type"] == "experiment_started":
        lane_of[e["experiment"]] = e["data"].get("lane", 1)
    elif e["type"] == "attempt_started" and lane_of[e["experiment"]] in ended:
        waits.append((e["data"]["start_ns"] - ended.pop(lane_of[e["experiment"]])) / 1e6)
    elif e["type"] == "attempt_ended":
        ended[lane_of[e["experiment"]]] = e["data"]["end_ns"]
waits.sort()
print("%.0f %.0f" % (waits[len(waits) // 2], waits[-1]))
PY
)
echo "$meter_count meters: $meters_share % of a core and $meters_mib MiB in all"
missed=0
row "runner of $lanes lanes" "$share % of a core" - - "under 5 %" "$share < 5" || missed=1
row "its memory" "$memory_mib MiB" - - "under 64 MiB" "$memory_mib < 64" || missed=1
row "a lane of it" "$(calc "$share / $lanes") %, $(calc "$memory_mib / $lanes") MiB" - - - -
row "a training's end to the next start" "$median ms (longest $worst ms)" - - - -
exit "$missed"
