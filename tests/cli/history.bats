#!/usr/bin/env bats
# What the metrics' patterns match, kept match by match: history.csv, run.db, export --table history, the best number beside the last, the page.

load runs
load page

# Metrics whose goal their names say, and one of which nothing says it; epochs from the log.
metrics() {
    command -v python3 >/dev/null || skip "python3 is missing"
    idle_machine
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    sed -i 's/"loss": "^loss (\[0-9.\]+)"/"loss": "^loss (\\\\S+)", "accuracy": "^accuracy (\\\\S+)", "width": "^width (\\\\S+)"/' registry.json
    grep -q '"width"' registry.json
}

# look LINES: python's lines; "run" is the run's folder, rows(FILE) a CSV file as dictionaries, table(SQL) rows of run.db, e the
# experiment.json of experiment 1.
look() {
    printf '%s\n' 'import csv, json, math, sqlite3, sys
run = sys.argv[1]
rows = lambda name: list(csv.DictReader(open(name, newline="")))
table = lambda sql: sqlite3.connect(run + "/run.db").execute(sql).fetchall()
e = json.load(open(run + "/repo_net_001/experiment.json"))' "$1" >look.py
    python3 look.py "$(run_dir)"
}

@test "every match is kept with its epoch, its number and its time; the best number stands beside the last" {
    metrics
    job 'echo "loss 9"
for epoch in 1 2 3; do echo "epoch $epoch"; echo "loss 0.$((5 - epoch))"; echo "loss 0.$((6 - epoch))"; sleep 0.2; done
echo "accuracy 0.5"; echo "accuracy 0.75"; echo "accuracy 0.25"; echo "width 3"; echo "width 4"'
    settings 2
    tare_run
    "$TARE" export "$(run_dir)" --table history >history.csv
    "$TARE" export "$(run_dir)" --table metrics >metrics.csv
    "$TARE" export "$(run_dir)" >experiments.csv
    "$TARE" export "$(run_dir)" -o tables
    cmp history.csv tables/history.csv
    look '
wanted = [("accuracy", "3", "1", 0.5), ("accuracy", "3", "2", 0.75), ("accuracy", "3", "3", 0.25), ("loss", "", "1", 9.0),
  ("loss", "1", "2", 0.4), ("loss", "1", "3", 0.5), ("loss", "2", "4", 0.3), ("loss", "2", "5", 0.4), ("loss", "3", "6", 0.2), ("loss", "3", "7", 0.3),
  ("width", "3", "1", 3.0), ("width", "3", "2", 4.0)]
short = lambda list: [(r["metric"], r["epoch"], r["step"], float(r["value"])) for r in list]
for name in ("repo_net_001", "repo_net_002"):
    own = rows(run + "/" + name + "/history.csv")
    assert list(own[0]) == ["attempt", "metric", "epoch", "step", "seconds", "value"] and short(own) == wanted, own
    assert {r["attempt"] for r in own} == {"1"}
    told = [r for r in rows("history.csv") if r["id"] == name]
    assert list(told[0]) == ["run", "id", "attempt", "metric", "epoch", "step", "seconds", "value"] and short(told) == wanted, told
    assert [float(r["seconds"]) for r in told] == [float(r["seconds"]) for r in own] and {r["run"] for r in told} == {run}
    losses = [float(r["seconds"]) for r in own if r["metric"] == "loss"]
    assert losses == sorted(losses) and 0 <= losses[0] < losses[-1] and losses[-1] - losses[2] >= 0.3, losses
    times = {int(r["line"]): float(r["seconds"]) for r in rows(run + "/" + name + "/training.times.csv")}
    assert abs(losses[0] - times[1]) < 1e-5 and abs(losses[-1] - times[10]) < 1e-5, (losses, times)
assert table("SELECT metric, epoch, step, value, special FROM history WHERE experiment = 2 AND metric = \"width\" ORDER BY step") == [("width", 3, 1, 3.0, None), ("width", 3, 2, 4.0, None)]
for row in rows(run + "/summary.csv"):
    assert (row["perf_loss"], row["best_loss"], row["perf_accuracy"], row["best_accuracy"]) == ("0.3", "0.2", "0.25", "0.75"), row
    assert row["perf_width"] == "4.0" and "best_width" not in row and list(row)[-4:-2] == ["best_accuracy", "best_loss"], row
best = e["tare"]["best"]
assert sorted(best) == ["accuracy", "loss"] and {k: best["loss"][k] for k in ("value", "goal", "epoch", "step")} == {"value": 0.2, "goal": "minimize", "epoch": 3, "step": 6}, best
assert best["accuracy"]["value"] == 0.75 and best["accuracy"]["goal"] == "maximize" and best["accuracy"]["step"] == 2
cells = {(r["experiment_id"], r["name"]): (r["value"], r["best"], r["goal"]) for r in rows("metrics.csv")}
assert cells["repo_net_001", "loss"] == ("0.3", "0.2", "minimize") and cells["repo_net_001", "width"] == ("4.0", "", ""), cells
assert [(r["perf_loss"], r["best_loss"], r["best_accuracy"]) for r in rows("experiments.csv")] == [("0.3", "0.2", "0.75")] * 2
'
}

@test "the best number goes by the goal that the registry states" {
    metrics
    sed -i 's/"width": "^width (\\\\S+)"/"width": {"pattern": "^width (\\\\S+)", "goal": "minimize"}/' registry.json
    grep -q minimize registry.json
    job 'echo "width 7"; echo "width -2.5"; echo "width 3"'
    settings 1
    tare_run
    is "$(summary best_width) $(summary perf_width)" "-2.5 3.0"
}

@test "of several attempts each has its history, and the best is that of the last" {
    metrics
    job 'echo "loss 0.$TARE_ATTEMPT"; echo "loss 0.7"; [ "$TARE_ATTEMPT" = 2 ]'
    settings 1 '' '"max_retries": 1'
    tare_run
    look '
own = rows(run + "/repo_net_001/history.csv")
assert [(r["attempt"], r["step"], r["value"]) for r in own] == [("1", "1", "0.1"), ("1", "2", "0.7"), ("2", "1", "0.2"), ("2", "2", "0.7")], own
assert [r["best_loss"] for r in rows(run + "/summary.csv")] == ["0.2"]
'
}

@test "after a kill the history of the attempt that was interrupted is lost, and that of all others is whole" {
    metrics
    job 'echo "loss 0.$TARE_ATTEMPT"; [ "$TARE_EXPERIMENT" != repo_net_002 ] || [ "$TARE_ATTEMPT" != 1 ] || { touch ../up; sleep 1000; }'
    settings 3
    start_run
    wait_until test -e up
    kill -KILL "$PID"
    end_program
    "$TARE" run --resume "$(run_dir)"
    "$TARE" export "$(run_dir)" --table history >history.csv
    look '
assert [(r["id"], r["attempt"], r["value"]) for r in rows("history.csv")] == [("repo_net_001", "1", "0.1"), ("repo_net_002", "2", "0.2"), ("repo_net_003", "1", "0.1")]
'
}

@test "a history that another program changed is made anew from the records" {
    metrics
    job 'echo "loss 0.5"; echo "loss 0.25"; [ "$TARE_EXPERIMENT" != repo_net_002 ] || [ "$TARE_ATTEMPT" != 1 ] || { touch ../up; sleep 1000; }'
    settings 2
    start_run
    wait_until test -e up
    kill -KILL "$PID"
    end_program
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE history SET value = 0.001 WHERE step = 2")
db.commit()' "$(run_dir)/run.db"
    run "$TARE" run --resume "$(run_dir)"
    is "$status" 3
    [[ "$output" == *"table history"* ]]
    look 'assert table("SELECT value FROM history ORDER BY experiment, step") == [(0.5,), (0.25,), (0.5,), (0.25,)]'
}

@test "numbers that are not finite or not numbers: kept, passed over by the best, or left out" {
    metrics
    job 'echo "loss nan"; echo "loss 1e999"; echo "loss $(printf "%0400d" 0 | tr 0 9)"; echo "loss -inf"; echo "loss 0.5"; echo "loss 12%"; echo "loss $(printf "%0400d" 0)"
echo "loss 1e-999"; echo "loss =1+1"; echo "loss 3"; echo "loss nan"; echo "accuracy nan"; echo "accuracy inf"'
    settings 1
    tare_run || true
    "$TARE" export "$(run_dir)" --table history --format jsonl >history.jsonl
    look '
own = [r for r in rows(run + "/repo_net_001/history.csv") if r["metric"] == "loss"]
assert [r["value"] for r in own] == ["nan", "inf", "inf", "-inf", "0.5", "0.0", "0.0", "3.0", "nan"], own
told = [json.loads(line) for line in open("history.jsonl")]
assert [r["value"] for r in told if r["metric"] == "loss"] == ["nan", "inf", "inf", "-inf", 0.5, 0.0, 0.0, 3.0, "nan"], told
row = rows(run + "/summary.csv")[0]
assert (row["perf_loss"], row["best_loss"], row["perf_accuracy"], row["best_accuracy"]) == ("nan", "0.0", "inf", ""), row
assert e["tare"]["best"]["accuracy"] is None and table("SELECT count(*) FROM history WHERE (value IS NULL) = (special IS NULL)") == [(0,)]
'
}

@test "ten million matches take the memory, the journal and the table of a thousand" {
    metrics
    job 'python3 -c "
import sys
block = \"\".join(\"loss %d.5\n\" % (i % 1000 + 2) for i in range(100000))
for i in range(100):
    sys.stdout.write(block if i != 37 else block + \"loss 0.125\n\")
"'
    settings 1 '"log_cap": "1MiB"'
    python3 -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)' "$TARE" run settings.json -c registry.json -o results >out
    echo "# $(tail -n 1 out) KiB"
    [ "$(tail -n 1 out)" -lt 300000 ]
    look '
import os
(count, first, last, low), = table("SELECT count(*), min(step), max(step), min(value) FROM history")
assert count <= 1024 and (first, last, low) == (1, 10000001, 0.125), (count, first, last, low)
assert e["tare"]["best"]["loss"]["step"] == 3800001 and e["tare"]["best"]["loss"]["value"] == 0.125
assert e["performance_metrics"]["loss"] == 1001.5
assert os.path.getsize(run + "/run.db") < 2 << 20 and os.path.getsize(run + "/events.jsonl") < 1 << 20
'
}

@test "the page draws a panel for each metric that has curves: failed ones dashed, the best marked, each named where the pointer is" {
    metrics
    job 'case $TARE_EXPERIMENT in
*_001) for i in 1 2 3 4; do echo "epoch $i"; echo "loss 0.$((9 - i))"; done; echo "accuracy 0.9";;
*_002) for i in 1 2 3 4; do echo "epoch $i"; echo "loss 0.$i"; done; echo "accuracy 0.8";;
*) for i in 1 2 3 4; do echo "epoch $i"; [ $i = 2 ] && echo "loss nan" || echo "loss 0.$((i + 4))"; done; exit 1;;
esac'
    settings 3
    tare_run || true
    cp "$(run_dir)/report.html" report.html
    page quiet
    page learning
    "$TARE" report "$(run_dir)" --lang zh -o report.html
    page learning
}
