#!/bin/bash
# Many trainings that do nothing: what one costs when few, and when many have been before it, and the runner's memory; beside GNU parallel,
# which writes one line of its --joblog for each of the same commands and keeps nothing else, in the same run.
# usage: bench_many.sh [EXPERIMENTS]      (default 2000; 10000 takes some minutes)
# Exit 1 when the last hundred cost more than 1.2 times the first hundred, or the runner grows to more than 64 MiB and 8 KiB for each.
set -eu
. "$(dirname "$0")/common.bash"
count=${1:-2000}
need "$TARE"
command -v python3 >/dev/null || { echo "bench_many.sh: python3 is missing" >&2; exit 2; }
command -v parallel >/dev/null || { echo "bench_many.sh: GNU parallel is missing (package parallel)" >&2; exit 2; }

dir=$(mktemp -d -t bench_many.XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_STATE_HOME=$dir/state TARE_LOCK_DIR=$dir/locks PARALLEL_HOME=$dir
small_trainings "$count"

python3 - "$TARE" "$count" <<'END' >figures
import glob, json, os, subprocess, sys
program, count = sys.argv[1], int(sys.argv[2])
run = subprocess.Popen([program, "run", "settings.json", "-c", "registry.json", "-o", "results", "-q"], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(run.pid, 0)
assert status == 0, status
folder = glob.glob("results/run_*")[0]
rows = sum(1 for _ in open(folder + "/summary.csv")) - 1
assert rows == count, rows
ends = [json.loads(line)["monotonic_ns"] for line in open(folder + "/events.jsonl") if '"experiment_ended"' in line]
few = min(100, count // 3)
print("first_ms", round((ends[few] - ends[0]) / few / 1e6, 2))
print("last_ms", round((ends[-1] - ends[-1 - few]) / few / 1e6, 2))
print("rss_mib", round(usage.ru_maxrss / 1024, 1))
END
begun=$(date +%s.%N)
seq "$count" | parallel --will-cite -j1 --joblog joblog ./repo/train.sh --n >/dev/null 2>&1
parallel_ms=$(calc "($(date +%s.%N) - $begun) * 1000 / $count")
[ "$(wc -l <joblog)" -eq $((count + 1)) ] || { echo "bench_many.sh: parallel did not do them all" >&2; exit 2; }
python3 - joblog <<'END' >>figures
import sys
begins = [float(line.split("\t")[2]) for line in list(open(sys.argv[1]))[1:]]
few = min(100, len(begins) // 3)
print("parallel_first_ms", round((begins[few] - begins[0]) / few * 1e3, 2))
print("parallel_last_ms", round((begins[-1] - begins[-1 - few]) / few * 1e3, 2))
END
first=$(value first_ms figures) last=$(value last_ms figures) rss=$(value rss_mib figures)
missed=0
row "$count trainings: the last hundred" "$last ms each" "the first hundred $first ms" "$(calc "$last / $first")" "at most 1.2" \
    "$last <= 1.2 * $first" || missed=1
row "the same by GNU parallel --joblog" "$(value parallel_last_ms figures) ms each" "the first hundred $(value parallel_first_ms figures) ms" \
    "$(calc "$(value parallel_last_ms figures) / $(value parallel_first_ms figures)")" - -
row "a training, beside GNU parallel" "$last ms" "$parallel_ms ms" "$(calc "$last / $parallel_ms")" - -
row "memory of the runner" "$rss MiB" - - "64 MiB and 8 KiB for each" "$rss <= 64 + $count * 8 / 1024" || missed=1
exit "$missed"
