#!/bin/bash
# Collects a submitted run of 2,000 tasks that have all ended, with tare and with a plain Python merge of the same event files
# (collect_reference.py, which checks nothing, and makes no folders and no page), and shows both times, their ratio and tare's peak
# memory: the median of three runs of each, taken in turn. The tasks' folders are copies of one that really ran.
# usage: bench_collect.sh [TASKS]
# Exit 1 when either has another number of rows than tasks.
set -eu
. "$(dirname "$0")/common.bash"

need "$TARE"
tasks=${1:-2000}
runs=3
here=$ROOT/bench

dir=$(mktemp -d -t bench_collect.XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin
# Slurm's programs are not needed for what is measured.
printf '#!/bin/sh\nprintf "MaxArraySize = 1000001\\nKillWait = 30 sec\\n"\n' >bin/scontrol
printf '#!/bin/sh\necho 1\n' >bin/sbatch
chmod +x bin/*
export PATH=$dir/bin:$PATH XDG_STATE_HOME=$dir/state TARE_LOCK_DIR=$dir/locks
small_trainings "$tasks"
"$TARE" submit settings.json -c registry.json -o results >/dev/null
run=$(echo "$dir"/results/run_*)
"$TARE" run --task 1 "$run" -q >/dev/null
for ((i = 2; i <= tasks; i++)); do
    printf -v folder '%s/tasks/%04d' "$run" "$i"
    cp -r "$run/tasks/0001" "$folder"
    printf -v id 'repo_net_%03d' "$i"
    mv "$folder/1/repo_net_001" "$folder/1/$id"
done
sync

# measure PROGRAM ARGUMENTS...: its time from beginning to end and its peak memory.
measure() {
    python3 - "$@" <<'END'
import resource, subprocess, sys, time
begun = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print("seconds", round(time.perf_counter() - begun, 3))
print("rss_kib", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
}

for ((i = 0; i < runs; i++)); do
    measure "$TARE" collect "$run" >"tare.$i"
    mkdir "merged.$i"
    python3 "$here/collect_reference.py" "$run" "merged.$i" >"python.$i"
done
failed=0
python3 -c 'import csv, sys; print("rows", sum(1 for row in csv.DictReader(open(sys.argv[1]))))' "$run/summary.csv" >>tare.0
for who in tare python; do
    rows=$(value rows "$who.0")
    [ "$rows" = "$tasks" ] || { echo "FAIL: $who has $rows rows, not $tasks" >&2; failed=1; }
done
median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }
for who in tare python; do for ((i = 0; i < runs; i++)); do value seconds "$who.$i"; done | median >"$who"; done
echo "collecting $tasks tasks ($(wc -l <"$run/events.jsonl") events), median of $runs runs:"
echo "tare: $(cat tare) s, peak memory $(value rss_kib tare.0) KiB, with each experiment's folder, summary.csv and report.html"
echo "plain Python, the events and a table alone: $(cat python) s, peak memory $(value rss_kib python.0) KiB"
row "collect $tasks tasks" "$(cat tare) s, $(($(value rss_kib tare.0) / 1024)) MiB" "plain Python merge $(cat python) s" \
    "$(calc "$(cat tare) / $(cat python)")" - -
exit "$failed"
