#!/bin/bash
# Plans 10,000 experiments against a history of 10,000 rows, with tare and with a plain Python equivalent
# (plan_reference.py), and shows both times and their ratio: the median of five runs of each, taken in turn.
# usage: bench_plan.sh [EXPERIMENTS [ROWS]]
# Exit 1 when either plans another number of experiments than asked.
set -eu
. "$(dirname "$0")/common.bash"

program=$BUILD/bench/bench_plan
need "$program"
experiments=${1:-10000}
rows=${2:-10000}
runs=5
here=$ROOT/bench

dir=$(mktemp -d -t bench_plan.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/repo"
printf '#!/bin/sh\n' > "$dir/repo/train.sh"
chmod +x "$dir/repo/train.sh"

param() { printf '"%s": {"flag": "--%s", "type": "%s", "default": %s, "range": [%s], "distribution": "%s"}' "$@"; }

cat > "$dir/registry.json" << END
{"models": {"repo": {"path": "repo", "train_script": "./train.sh", "models": ["a", "b"], "model_flag": "-n",
  "supported_hyperparams": {
    $(param epochs epochs int 10 "5, 300" uniform),
    $(param learning_rate lr float 0.01 "0.0001, 0.1" log_uniform),
    $(param batch_size batch int 32 "16, 128" uniform),
    $(param seed seed int 1 "0, 9999" uniform)}}}}
END

# Half of the experiments mutate all; the others only the seed or the learning rate, where repeats are likely.
tenth=$((experiments / 10))
{
    printf '{"use_deduplication": true, "historical_csvs": ["history.csv"], "experiments": [\n'
    printf '{"repo": "repo", "model": "a", "runs_per_config": %d,\n' $((experiments - 5 * tenth))
    printf ' "mutate": ["epochs", "learning_rate", "batch_size", "seed"]},\n'
    printf '{"repo": "repo", "model": "a", "runs_per_config": %d, "mutate": ["seed"]},\n' "$tenth"
    printf '{"repo": "repo", "model": "b", "runs_per_config": %d, "mutate": ["seed"]},\n' "$tenth"
    printf '{"repo": "repo", "model": "a", "runs_per_config": %d, "mutate": ["learning_rate"]},\n' "$tenth"
    printf '{"repo": "repo", "model": "b", "runs_per_config": %d, "mutate": ["learning_rate"]},\n' "$tenth"
    printf '{"repo": "repo", "model": "b", "runs_per_config": %d, "mutate": ["epochs", "batch_size"]}\n' "$tenth"
    printf ']}\n'
} > "$dir/settings.json"

# A fifth of the rows has what the entries that mutate only the seed would draw.
awk -v rows="$rows" 'BEGIN {
    srand(7)
    print "experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_batch_size," \
        "hyperparam_epochs,hyperparam_learning_rate,hyperparam_seed,perf_accuracy"
    for (i = 1; i <= rows; i++) {
        fixed = i % 5 == 0
        model = i % 2 ? "a" : "b"
        batch = fixed ? 32 : 16 + int(113 * rand())
        epochs = fixed ? 10 : 5 + int(296 * rand())
        rate = fixed ? 0.01 : 0.0001 * exp(6.9 * rand())
        printf "repo_%s_%05d%s,2025-11-15T16:54:19.379192,repo,%s,True,", model, i, i % 3 == 0 ? "_parallel" : "", model
        printf "%.6f,0,%d,%d,%.6g,%d,%.2f\n", 1000 * rand(), batch, epochs, rate, int(10000 * rand()), 100 * rand()
    }
}' > "$dir/history.csv"

median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

for ((i = 0; i < runs; i++)); do
    "$program" "$dir/registry.json" "$dir/settings.json" > "$dir/tare.$i"
    python3 "$here/plan_reference.py" "$dir/registry.json" "$dir/settings.json" > "$dir/python.$i"
done

failed=0
for who in tare python; do
    planned=$(value experiments "$dir/$who.0")
    if [ "$planned" != "$experiments" ]; then
        echo "FAIL: $who planned $planned experiments, not $experiments" >&2
        failed=1
    fi
done
for ((i = 0; i < runs; i++)); do value seconds "$dir/tare.$i"; done | median > "$dir/tare"
for ((i = 0; i < runs; i++)); do value seconds "$dir/python.$i"; done | median > "$dir/python"
echo "planning $experiments experiments against a history of $rows rows, median of $runs runs:"
echo "tare: $(cat "$dir/tare") s, peak memory $(value rss_kib "$dir/tare.0") KiB"
echo "plain Python: $(cat "$dir/python") s, peak memory $(value rss_kib "$dir/python.0") KiB"
row "plan $experiments against $rows" "$(cat "$dir/tare") s" "plain Python $(cat "$dir/python") s" \
    "$(calc "$(cat "$dir/tare") / $(cat "$dir/python")")" - -
exit "$failed"
