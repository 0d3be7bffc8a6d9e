#!/usr/bin/env bats
# Figures are made of rows that are clean, or unverified and consistent.
bats_require_minimum_version 1.5.0
load energy
load page

# Fourteen undisturbed repeats of two models: study/results. One has a metric that cannot be.
study() {
    PYTHONPATH=$ROOT/tests/verdicts python3 -c '
import csv, pathlib, re
from folders import generate
generate("clean_repeats", 1, "study", scatter=0.01)
summary = pathlib.Path("study/results/summary.csv")
rows = list(csv.DictReader(summary.open(newline="")))
row = next(row for row in rows if row["perf_top1_accuracy"])
row["perf_top1_accuracy"] = "250.0"
with summary.open("w", newline="") as file:
    table = csv.DictWriter(file, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
record = summary.parent / row["experiment_id"] / "experiment.json"
record.write_text(re.sub(r"(\"top1_accuracy\": )[0-9.]+", r"\g<1>250.0", record.read_text()))'
}

# expected EXPRESSION: of the audit, which does not choose rows: "clean", "consistent", "usable", "all", each the ids of its successes.
expected() {
    "$TARE" audit study/results --json >audit.json
    python3 -c '
import json, sys
rows = [e for e in json.load(open("audit.json"))["experiments"] if e["training_success"]]
clean = {e["experiment_id"] for e in rows if e["verdict"] == "clean"}
consistent = {e["experiment_id"] for e in rows if e["verdict"] == "unverified" and e["consistency"]["row"] == "consistent"}
usable = {e["experiment_id"] for e in rows if e["verdict"] != "contaminated"}
assert not clean, "no process was recorded"
assert consistent and len(usable) > len(consistent), "nothing to tell apart"
print(eval(sys.argv[1]))' "$1"
}

# counted EXPRESSION: the counts of "stats.json", summed over its groups.
counted() {
    python3 -c '
import json, sys
groups = json.load(open("stats.json"))["groups"]
counted = {key: sum(g["counted"][key] for g in groups) for key in ("clean", "consistent", "unverified", "suspect", "contaminated")}
n, left_out = (sum(g[key] for g in groups) for key in ("n", "left_out"))
print(eval(sys.argv[1]))' "$1"
}

@test "stats uses clean and consistent rows and counts both; --only narrows and widens" {
    study
    "$TARE" stats study/results --json >stats.json
    is "$(counted '[n, counted["clean"], counted["consistent"], n + left_out]')" \
        "$(expected '[len(clean) + len(consistent), len(clean), len(consistent), len(rows)]')"
    is "$(counted 'counted["suspect"] + counted["unverified"] + counted["contaminated"]')" 0
    "$TARE" stats study/results --only clean --json >stats.json
    is "$(counted '[n, counted["clean"]]')" "$(expected '[len(clean), len(clean)]')"
    "$TARE" stats study/results --only usable --json >stats.json
    is "$(counted '[n, counted["suspect"] > 0]')" "$(expected '[len(usable), True]')"
    run -0 "$TARE" stats study/results
    [[ "$output" == *$'\ncounted: '*" consistent (other programs were not recorded)"$'\n'* ]]
    [[ "$output" == *"--only usable counts all that are not contaminated."* ]]
}

@test "compare uses the same rows, counts them for each side, and says how to use others" {
    study
    model=$(expected 'sorted({e["model"] for e in rows if e["experiment_id"] in consistent})[0]')
    n=$(expected "len([e for e in rows if e['experiment_id'] in consistent and e['model'] == '$model'])")
    "$TARE" compare "study/results:model=$model" "study/results:model=$model" --json >compare.json
    is "$(python3 -c 'import json
a = json.load(open("compare.json"))["a"]
print(a["n"], a["counted"]["consistent"])')" "$n $n"
    run -0 "$TARE" compare "study/results:model=$model" "study/results:model=$model"
    [[ "$output" == *"   $n consistent (other programs were not recorded)"* ]]
    run -2 "$TARE" compare "study/results:model=$model" "study/results:model=$model" --only clean
    [[ "$output" == *"no successful experiment that is clean ("* ]]
}

@test "export --only leaves out rows of every table, and exports all without it" {
    study
    exported() { "$TARE" export study/results --table "$1" "${@:2}" | cut -d, -f2 | tail -n +2 | sort -u | wc -l; }
    is "$(exported experiments)" "$(expected 'len(json.load(open("audit.json"))["experiments"])')"
    for table in experiments samples; do
        is "$(exported $table --only clean)" "$(expected 'len(clean)')"
        is "$(exported $table --only consistent)" "$(expected 'len(clean | consistent)')"
    done
}

@test "a folder without samples has nothing to be consistent by: all that is not contaminated counts" {
    study
    rm -r study/results/*/energy
    "$TARE" stats study/results --json >stats.json
    "$TARE" audit study/results --json >audit.json
    is "$(counted '[n, counted["unverified"], counted["consistent"]]')" "$(python3 -c 'import json
rows = [e["verdict"] for e in json.load(open("audit.json"))["experiments"] if e["training_success"]]
assert rows.count("unverified") > 10, rows
print([len(rows) - rows.count("contaminated"), rows.count("unverified"), 0])')"
}

@test "the page draws figures of clean and consistent rows, and of clean ones with --only" {
    study
    "$TARE" report study/results -o report.html --lang en
    page quiet
    page counted "$(expected 'len(clean | consistent)') experiments count for medians, the Pareto front and effects: $(expected 'len(consistent)') consistent (other programs were not recorded)."
    "$TARE" report study/results -o report.html --lang en --only clean
    page counted "No experiment counts for medians, the Pareto front and effects. To use others: tare report --only usable"
}

@test "a run's safe table and its audit say which rows are consistent; a failure has no verdicts" {
    scenario 1 "step 0 100"
    job 'sleep 1; [ "$TARE_EXPERIMENT" != repo_net_006 ] && echo "loss 0.5"'
    settings 6
    sed -i 's/"mutate": \["n"\]/"mode": "default"/' settings.json
    tare_run >out || true
    "$TARE" audit "$(run_dir)" --json >audit.json
    cp "$(run_dir)/summary_safe.csv" safe.csv
    python3 -c '
import csv, json
audit = {e["experiment_id"]: e for e in json.load(open("audit.json"))["experiments"]}
safe = list(csv.DictReader(open("safe.csv", newline="")))
names = list(safe[0])
assert names.index("consistency") == names.index("verdict") + 1 == names.index("energy_gpu_util_max_percent") + 2, names
words = {row["experiment_id"]: row["consistency"] for row in safe}
assert words["repo_net_006"] == audit["repo_net_006"]["consistency"]["row"] == "unknown", words
assert audit["repo_net_006"]["verdicts"] is None, audit["repo_net_006"]
# A busy machine makes rows suspect, and those are contradicted.
for name in ("repo_net_%03d" % n for n in range(1, 6)):
    doubted = audit[name]["verdict"] in ("suspect", "contaminated")
    assert audit[name]["consistency"]["row"] == ("contradicted" if doubted else "consistent"), audit[name]
    assert (name in words) is not doubted and words.get(name, "consistent") == "consistent", words'
    follows audit audit.json
}

@test "a run that goes on fills consistency in again when it ends" {
    scenario 1 "step 0 100"
    job '[ ! -e ../fails ] || exit 1; sleep 1; echo "loss 0.5"'
    settings 5
    sed -i 's/"mutate": \["n"\]/"mode": "default"/' settings.json
    touch fails
    tare_run >out || true
    is "$(python3 -c 'import csv, sys; print({row["consistency"] for row in csv.DictReader(open(sys.argv[1], newline=""))})' "$(run_dir)/summary_safe.csv")" "{'unknown'}"
    rm fails
    "$TARE" run --rerun failed "$(run_dir)" >out || true
    "$TARE" audit "$(run_dir)" --json >audit.json
    # A busy machine makes rows suspect: those leave the safe table, and too few may be left for the others to be consistent.
    python3 -c '
import csv, json, sys
audit = {e["experiment_id"]: e for e in json.load(open("audit.json"))["experiments"]}
for row in csv.DictReader(open(sys.argv[1], newline="")):
    assert row["training_success"].lower() == "true", row
    assert row["consistency"] == audit[row["experiment_id"]]["consistency"]["row"], (row, audit[row["experiment_id"]])
if all(e["verdict"] not in ("suspect", "contaminated") for e in audit.values()):
    assert {e["consistency"]["row"] for e in audit.values()} == {"consistent"}, audit' "$(run_dir)/summary_safe.csv"
}
