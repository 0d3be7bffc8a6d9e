# Out and in: the wide table with pandas and R, MLflow's file store (read by mlflow_reader.py, which is written from its format), and
# CodeCarbon's emissions.csv.
bats_require_minimum_version 1.5.0
load runs

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# study FOLDER COLUMNS ROWS: a folder in the study's layout that has a summary.csv and nothing else.
study() {
    mkdir -p "$1"
    {
        echo "experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,$2,energy_gpu_total_joules"
        printf '%s\n' "${@:3}"
    } >"$1/summary.csv"
}

# traces FOLDER NUMBER WATTS: what it drew in the sixty seconds before its end, 2026-03-01T10:0NUMBER:00.
traces() {
    mkdir -p "$1/demo_net_00$2/energy"
    {
        echo timestamp,power_draw_w
        for ((i = 0; i < 60; i++)); do echo "$((1772359200 + ($2 - 1) * 60 + i)),$3.00"; done
    } >"$1/demo_net_00$2/energy/gpu_power.csv"
}

two_studies() {
    study one hyperparam_batch_size,hyperparam_optimizer,perf_accuracy \
        demo_net_001,2026-03-01T10:01:00.000000,demo,net,True,60.0,0,16,adam,90.5,6000.0 \
        demo_net_002,2026-03-01T10:02:00.000000,demo,net,True,60.0,0,32,,91.5,4800.0 \
        demo_net_003,2026-03-01T10:03:00.000000,demo,net,True,60.0,0,16,sgd,nan,6600.0 \
        demo_net_004,2026-03-01T10:04:00.000000,demo,net,False,1.0,1,16,sgd,,
    study two hyperparam_learning_rate,perf_f1 \
        demo_net_001,2026-03-01T10:01:00.000000,demo,net,True,60.0,0,1e-05,0.75,3000.0
    traces one 1 100
    traces one 2 80
    traces one 3 110
    traces two 1 50
}

# reads LINES: python's, with the reader's functions.
reads() { { echo "import sys; sys.path.insert(0, '$BATS_TEST_DIRNAME')"; echo 'from mlflow_reader import *'; echo "$1"; } >reads.py && /usr/bin/env python3 reads.py; }

# sums FOLDER: of all files and links below it, with their names.
sums() { (cd "$1" && find . \( -type f -o -type l \) | LC_ALL=C sort | while read -r name; do echo "$name $(cksum <"$name")"; done); }

@test "the wide table is one row for each experiment of all runs: the union of columns, absent cells empty, numbers numbers" {
    two_studies
    "$TARE" export one two -o tables 2>/dev/null
    "$TARE" export one two --table wide >printed.csv
    cmp printed.csv tables/wide.csv
    python3 - <<'END'
import csv, math
rows = list(csv.DictReader(open("tables/wide.csv", newline="")))
assert [(r["run"], r["experiment_id"]) for r in rows] == [("one", "demo_net_00%d" % n) for n in (1, 2, 3, 4)] + [("two", "demo_net_001")]
assert [r["hyperparam_batch_size"] for r in rows] == ["16", "32", "16", "16", ""]
assert [r["hyperparam_optimizer"] for r in rows] == ["adam", "", "sgd", "sgd", ""]
assert [r["metric_accuracy"] for r in rows] == ["90.5", "91.5", "nan", "", ""]
assert [r["metric_f1"] for r in rows] == ["", "", "", "", "0.75"]
assert float(rows[4]["hyperparam_learning_rate"]) == 1e-5
assert [r["gpu_energy_j"] for r in rows] == ["6000.0", "4800.0", "6600.0", "", "3000.0"]
assert [r["duration_s"] for r in rows] == ["60.0", "60.0", "60.0", "1.0", "60.0"]
assert [r["training_success"] for r in rows] == ["True", "True", "True", "False", "True"]
assert all(r["verdict"] and "verdict_energy" in r for r in rows)
# The same rows as the table of experiments.
for wide, plain in zip(rows, csv.DictReader(open("tables/experiments.csv", newline=""))):
    assert all(wide[key] == cell for key, cell in plain.items() if not key.startswith(("perf_", "best_")))
END
    "$TARE" export one two --table wide --format jsonl >wide.jsonl
    python3 - <<'END'
import json
rows = [json.loads(line) for line in open("wide.jsonl")]
assert [r["metric_accuracy"] for r in rows] == [90.5, 91.5, "nan", None, None] and rows[4]["hyperparam_learning_rate"] == 1e-5
assert len({tuple(r) for r in rows}) == 1 # the same keys
END
}

# block LANGUAGE: the document's example in it.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$ROOT/docs/howto/pandas-r-mlflow.md" | sed '1d;$d'; }

@test "the document's lines for pandas read it: numeric columns are numeric, and the means are those of the rows" {
    /usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "python3-pandas is missing"
    two_studies
    "$TARE" export one two -o tables 2>/dev/null
    {
        block python
        cat <<'END'
from pandas.api.types import is_numeric_dtype, is_datetime64_any_dtype
for name in ("hyperparam_batch_size", "hyperparam_learning_rate", "metric_accuracy", "metric_f1", "gpu_energy_j", "duration_s", "retries",
             "cpu_energy_j", "gpu_power_mean_w"):
    assert is_numeric_dtype(wide[name]), (name, wide[name].dtype)
assert is_datetime64_any_dtype(wide.ended) and wide.training_success.dtype == bool
assert len(wide) == 5 and wide.set_index(["run", "experiment_id"]).index.is_unique
assert means.loc[16, "metric_accuracy"] == 90.5 and means.loc[16, "gpu_energy_j"] == (6000 + 6600) / 2, means
assert means.loc[32, "metric_accuracy"] == 91.5 and means.loc[32, "gpu_energy_j"] == 4800, means
assert list(means.index) == [16, 32]
END
    } >snippet.py
    grep -q read_csv snippet.py
    /usr/bin/python3 snippet.py
}

@test "the document's lines for R read it" {
    command -v Rscript >/dev/null || skip "Rscript is missing (r-base-core)"
    two_studies
    "$TARE" export one two -o tables 2>/dev/null
    {
        block r
        echo 'stopifnot(is.numeric(wide$metric_accuracy), is.numeric(wide$hyperparam_batch_size), is.numeric(wide$gpu_energy_j), nrow(wide) == 5)'
        echo 'stopifnot(means$hyperparam_batch_size == c(16, 32), means$metric_accuracy == c(90.5, 91.5), means$duration_s == c(60, 60))'
        echo 'energies <- aggregate(gpu_energy_j ~ hyperparam_batch_size, good, mean)'
        echo 'stopifnot(energies$gpu_energy_j == c(6300, 4800))'
    } >snippet.R
    grep -q read.csv snippet.R
    Rscript snippet.R
}

@test "an MLflow store has each ended experiment as a run: params, metrics, tags and times of the results" {
    two_studies
    "$TARE" export one two --mlflow store 2>said
    [ "$(cat said)" = "$NAME: store: 5 experiments" ]
    "$TARE" export one --table experiments >experiments.csv
    reads '
store = read_store("store")
assert set(store) == {"one", "two"} and set(store["one"]) == {"demo_net_00%d" % n for n in (1, 2, 3, 4)}
first = store["one"]["demo_net_001"]
assert first["params"] == {"batch_size": "16", "optimizer": "adam"}, first["params"]
end = 1772359260000 # 2026-03-01T10:01:00, no zone known
assert first["meta"]["end_time"] == end and first["meta"]["start_time"] == end - 60000 and first["meta"]["status"] == 3, first["meta"]
assert first["metrics"]["accuracy"] == [(0, end, 90.5)]
assert first["metrics"]["tare.gpu_energy_j"] == [(0, end, 6000.0)] and first["metrics"]["tare.duration_s"] == [(0, end, 60.0)]
assert first["tags"]["mlflow.runName"] == "demo_net_001" and first["tags"]["tare.repository"] == "demo" and first["tags"]["tare.model"] == "net"
assert math.isnan(store["one"]["demo_net_003"]["metrics"]["accuracy"][0][2])
failed = store["one"]["demo_net_004"]
assert failed["meta"]["status"] == 4 and "accuracy" not in failed["metrics"] and "tare.gpu_energy_j" not in failed["metrics"]
assert failed["metrics"]["tare.retries"][0][2] == 1
assert store["two"]["demo_net_001"]["params"] == {"learning_rate": "1e-5"} and store["two"]["demo_net_001"]["metrics"]["f1"][0][2] == 0.75
ids = [run["meta"]["run_id"] for runs in store.values() for run in runs.values()]
assert len(set(ids)) == 5
import csv
for row in csv.DictReader(open("experiments.csv", newline="")):
    tags = store["one"][row["experiment_id"]]["tags"]
    assert tags["tare.verdict"] == row["verdict"] and tags.get("tare.checks", "") == row["checks"], (tags, row)
'
}

@test "MLflow's own reader opens the store" {
    python3 -c 'import mlflow' 2>/dev/null || skip "the package mlflow is missing (Debian has none)"
    two_studies
    "$TARE" export one two --mlflow store 2>/dev/null
    MLFLOW_ALLOW_FILE_STORE=true python3 - <<'END'
from mlflow.tracking import MlflowClient
client = MlflowClient("file:store")
(one,) = [e for e in client.search_experiments() if e.name == "one"]
runs = {run.info.run_name: run.data for run in client.search_runs([one.experiment_id])}
assert runs["demo_net_001"].metrics["accuracy"] == 90.5 and runs["demo_net_001"].params["optimizer"] == "adam"
END
}

@test "a run's curves are in the store, in order, within the training; a second export changes no byte, wherever the run lies" {
    idle_machine
    job 'for loss in 0.9 nan 0.5; do echo "loss $loss"; sleep 0.1; done'
    registry '"metrics": "required"'
    sed -i 's/loss (\[0-9.\]+)/loss ([0-9.a-z]+)/' registry.json
    settings 2
    tare_run >/dev/null 2>&1
    "$TARE" export "$(run_dir)" --mlflow store 2>/dev/null
    RUN=$(basename "$(run_dir)") reads '
run = os.environ["RUN"]
store = read_store("store")[run]
assert set(store) == {"repo_net_001", "repo_net_002"}
for name, of in store.items():
    meta, points = of["meta"], of["metrics"]["loss"]
    assert [p[0] for p in points] == [1, 2, 3] and all(same(p[2], v) for p, v in zip(points, (0.9, math.nan, 0.5))), points
    times = [p[1] for p in points]
    assert meta["start_time"] <= times[0] <= times[1] <= times[2] <= meta["end_time"] + 1, (meta, times)
    assert of["params"].keys() == {"n"} and of["params"]["n"].isdigit(), of["params"]
'
    sums store >before
    mkdir elsewhere
    mv results elsewhere/results
    "$TARE" export elsewhere/results/run_* --mlflow store 2>/dev/null
    sums store >after
    [ -s before ]
    diff before after
}

@test "a folder of others is refused and left as it is, and so is another run of the same name; --force adds" {
    two_studies
    mkdir -p theirs/0 other
    echo mine >theirs/0/meta.yaml
    cp -r one other/one
    run -3 "$TARE" export one --mlflow theirs
    [[ "$output" == *"theirs is there already"*"--force"* ]]
    [ "$(find theirs -type f)" = theirs/0/meta.yaml ]
    "$TARE" export one --mlflow ours 2>/dev/null
    sums ours >before
    run -3 "$TARE" export other/one --mlflow ours
    [[ "$output" == *"another run called one already"*"--force"* ]]
    run -3 "$TARE" export one other/one --mlflow both
    [[ "$output" == *"two of the folders are called one"* ]]
    sums ours >after
    diff before after
    "$TARE" export two --mlflow ours 2>/dev/null # another run of another name joins it
    "$TARE" export one --mlflow theirs --force 2>/dev/null
    [ "$(cat theirs/0/meta.yaml)" = mine ]
    reads 'assert set(read_store("ours")) == {"one", "two"}'
}

@test "no name leads out of the folder or through a link: experiments, metrics, hyperparameters" {
    mkdir -p victim
    echo precious >victim/loss
    study 'evil' '"hyperparam_../../../victim/p",hyperparam_.hidden,"hyperparam_two
lines","perf_../../../../victim/loss",perf_/etc/loss,perf_..,"perf_a b",perf_损失' \
        '../../victim/x,2026-03-01T10:01:00.000000,demo,net,True,60.0,0,1,2,"three
four",0.5,0.6,0.7,0.8,0.9,100' '..,2026-03-01T10:02:00.000000,demo,net,True,60.0,0,1,2,3,0.5,0.6,0.7,0.8,0.9,100' \
        '../../victim/x,2026-03-01T10:03:00.000000,demo,net,True,60.0,0,1,2,3,0.5,0.6,0.7,0.8,0.9,100'
    sums victim >before
    "$TARE" export evil --mlflow store 2>/dev/null
    sums victim >after
    diff before after
    [ "$(ls victim)" = loss ]
    reads '
store = read_store("store")["evil"]
assert len(store) == 3, store.keys()
for run in store.values():
    values = sorted(points[0][2] for name, points in run["metrics"].items() if not name.startswith("tare."))
    assert values == [0.5, 0.6, 0.7, 0.8, 0.9], run["metrics"]
    assert run["metrics"]["a b"][0][2] == 0.8 and run["metrics"]["损失"][0][2] == 0.9
    assert len(run["params"]) == 3 and all("\n" not in value for value in run["params"].values())
'
    # Somebody else put links where the files go.
    study plain perf_loss demo_net_001,2026-03-01T10:01:00.000000,demo,net,True,60.0,0,0.5,100
    "$TARE" export plain --mlflow linked 2>/dev/null
    metric=$(echo linked/*/*/metrics/loss)
    ln -sf "$WORK/victim/loss" "$metric"
    "$TARE" export plain --mlflow linked 2>/dev/null
    [ "$(cat victim/loss)" = precious ]
    [ ! -L "$metric" ]
    folder=$(echo linked/*/*/metrics)
    rm -r "$folder"
    ln -s "$WORK/victim" "$folder"
    run -3 "$TARE" export plain --mlflow linked
    [[ "$output" == *link* ]]
    [ "$(cat victim/loss)" = precious ]
    [ "$(ls victim)" = loss ]
}

@test "what does not go together is refused with the reason" {
    two_studies
    run -2 "$TARE" export one --mlflow store --table wide
    [[ "$output" == *"writes no tables"* ]]
    run -2 "$TARE" export one --mlflow store -o tables
    [ ! -e store ]
    [ ! -e tables ]
}

V2=timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue
V3=timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue,wue,cpu_utilization_percent,gpu_utilization_percent,ram_utilization_percent

# emissions FOLDER HEADER ROWS
emissions() {
    mkdir -p "$1"
    printf '%s\n' "${@:2}" >"$1/emissions.csv"
}

# row2 RUN SECONDS CPU GPU RAM ALL [GPUS MODEL], row3: of these versions, energies in kWh.
row2() { echo "2026-03-01T10:10:00,digits,$1,$2,0.02,3e-05,42.5,250.0,20.0,$3,$4,$5,$6,Germany,DEU,berlin,,,Linux,3.11,2.4.2,16,AMD EPYC,${7-1},${8-1 x H200},13.4,52.5,64,machine,N,1.0"; }
row3() { echo "2026-03-01T10:20:00,digits,$1,11111111-2222-3333-4444-555555555555,$2,0.02,3e-05,42.5,250.0,20.0,$3,$4,$5,$6,0.25,Germany,DEU,berlin,,,Linux,3.11,3.0.4,16,AMD EPYC,1,1 x H200,13.4,52.5,64,machine,N,1.0,0.0,10,90,20"; }

@test "CodeCarbon's emissions.csv of versions 2 and 3 is read: joules, the last row of a run, unverified with the checks that nobody made" {
    emissions v2 $V2 "$(row2 a 600 0.007 0.04 0.003 0.05)" "$(row2 b 300 0.0035 0.02 0.0015 0.025)" "$(row2 b 600 0.007 0.04 0.003 0.05)" \
        "$(row2 c 600 0.007 0 0.003 0.01 '' '')"
    emissions v3 $V3 "$(row3 d 900 0.007 0.02 0.003 0.03)" "$(row3 e 900 0.007 0.02 0.003 0.03)"
    "$TARE" export v2 v3 -o tables 2>/dev/null
    python3 - <<'END'
import csv
rows = {r["experiment_id"]: r for r in csv.DictReader(open("tables/wide.csv", newline=""))}
assert list(rows) == list("abcde")
def near(cell, value): assert abs(float(cell) - value) <= 1e-9 * abs(value), (cell, value)
for name, gpu, cpu, ram, seconds in (("a", 0.04, 0.007, 0.003, 600), ("b", 0.04, 0.007, 0.003, 600), ("d", 0.02, 0.007, 0.003, 900), ("e", 0.02, 0.007, 0.003, 900)):
    near(rows[name]["gpu_energy_j"], gpu * 3.6e6)
    near(rows[name]["cpu_energy_j"], cpu * 3.6e6)
    near(rows[name]["dram_energy_j"], ram * 3.6e6)
    near(rows[name]["duration_s"], seconds)
    near(rows[name]["gpu_power_mean_w"], gpu * 3.6e6 / seconds)
assert rows["c"]["gpu_energy_j"] == "" and rows["c"]["gpu_power_mean_w"] == "" # it has no GPU
assert [rows[n]["metric_energy_consumed_kwh"] for n in "abcde"] == ["0.05", "0.05", "0.01", "0.03", "0.03"]
assert [rows[n]["metric_emissions_kg_co2e"] for n in "abcde"] == ["0.02"] * 5 and [rows[n]["metric_water_consumed_l"] for n in "abcde"] == ["", "", "", "0.25", "0.25"]
assert rows["a"]["ended"].startswith("2026-03-01T10:10:00") and rows["a"]["repository"] == "digits"
for row in rows.values():
    assert row["verdict"] == row["verdict_energy"] == row["verdict_time"] == "unverified", row
    assert "processes_during:not_made" in row["checks"] and "sampling:not_made" in row["checks"]
END
    [ "$(wc -l <tables/evidence.csv)" -eq 1 ]
    run -0 "$TARE" audit v2
    [[ "$output" == *"CodeCarbon's emissions.csv"*"0 clean, 3 unverified"*"CodeCarbon does not record it"* ]]
    "$TARE" audit v3 --json >audit.json
    python3 -c '
import json
audit = json.load(open("audit.json"))
assert audit["folders"][0]["layout"] == "codecarbon" and audit["experiments"][0]["gpu"]["source"] == "codecarbon"
assert audit["totals"]["clean"] == 0 and audit["totals"]["unverified"] == 2'
    run -0 "$TARE" compare v2 v3 --json
    python3 -c '
import json, sys
found = {q["name"]: q for q in json.load(sys.stdin)["quantities"]}
assert abs(found["gpu_energy_j"]["b_mean"] - 72000) < 1e-6 and abs(found["gpu_energy_j"]["a_mean"] - 144000) < 1e-6' <<<"$output"
    run -0 "$TARE" stats v3
    [[ "$output" == *72000* ]]
    "$TARE" export v2 v3 --mlflow store 2>/dev/null
    reads 'assert read_store("store")["v3"]["d"]["tags"]["tare.verdict"] == "unverified"'
}

@test "what is wrong with an emissions.csv is evidence, or said: version 1, parts that do not add up, shifted and negative cells" {
    emissions v1 timestamp,experiment_id,project_name,duration,emissions,energy_consumed,country_name,country_iso_code,region,on_cloud,cloud_provider,cloud_region \
        2021-10-27T22:34:13,0c8ca9ea,digits,857.0,0.05,0.088,USA,USA,Iowa,Y,gcp,us-central1
    "$TARE" export v1 --table wide >wide.csv
    python3 -c '
import csv
(row,) = csv.DictReader(open("wide.csv"))
assert row["experiment_id"] == "0c8ca9ea" and row["metric_energy_consumed_kwh"] == "0.088" and row["gpu_energy_j"] == row["cpu_energy_j"] == ""'
    emissions odd $V2 "$(row2 sum 600 0.007 0.04 0.003 0.09)" "$(row2 below 600 -0.007 0.04 0.003 0.05)" "$(row2 word 600 abc 0.04 0.003 0.05)" \
        "$(row2 short 600 0.007 0.04 0.003 0.05 | sed 's/,1,1 x H200//')" "$(row2 none 600 0.007 0.04 0.003 '')" "$(row2 '' 600 0.007 0.04 0.003 0.05)"
    "$TARE" export odd --table evidence >evidence.csv
    "$TARE" export odd --table wide >wide.csv
    python3 - <<'END'
import csv
kinds = {}
for row in csv.DictReader(open("evidence.csv", newline="")):
    kinds.setdefault(row["experiment_id"], []).append(row["kind"])
assert kinds == {"sum": ["values_differ"], "below": ["value_impossible"], "word": ["value_impossible"], "short": ["file_damaged"],
                 "none": ["value_missing", "value_missing"]}, kinds # the second: its siblings have it
rows = {r["experiment_id"]: r for r in csv.DictReader(open("wide.csv", newline=""))}
assert rows["below"]["cpu_energy_j"] == rows["word"]["cpu_energy_j"] == "" and float(rows["short"]["gpu_energy_j"]) == 144000
assert "line 7" in rows and all(r["verdict"] not in ("clean", "none", "") for r in rows.values())
END
    emissions none a,b 1,2
    run -3 "$TARE" audit none
    [[ "$output" == *"none: emissions.csv is not CodeCarbon's"*"run_id, duration and energy_consumed"* ]]
    emissions torn $V2 "$(row2 a 600 0.007 0.04 0.003 0.05)" '"2026'
    run -0 "$TARE" audit torn
    [[ "$output" == *"damaged"*"line 3"* ]]
    run -3 "$TARE" audit torn/emissions.csv
    [[ "$output" == *"is a file; the results are its folder: torn"* ]]
}
