#!/usr/bin/env bats
# A row that says something else than its experiment's folder: audit shows it first, --expect can refuse it, and no figure is made of it.
load ../cli/runs

# finished COUNT: a run of so many experiments whose accuracy is in the log; $DIR.
finished() {
    job 'case $TARE_EXPERIMENT in *_001) echo "accuracy: 1,234.5" ;; *) echo "accuracy: 0.8125 at $TARE_EXPERIMENT" ;; esac'
    registry
    sed -i 's/"loss": "^loss (\[0-9.\]+)"/"accuracy": "accuracy: ([0-9.,]+)"/' registry.json
    settings "$1"
    tare_run -q
    DIR=$(run_dir)
}

# study: the same folder as the study left it: without run.db.
study() { rm -f "$DIR"/run.db* "$DIR/run.lock"; }

edit_json() { # ID KEY VALUE
    python3 - "$DIR/$1/experiment.json" "$2" "$3" <<'END'
import json, sys
path, key, value = sys.argv[1:]
data = json.load(open(path))
assert key in data["performance_metrics"]
data["performance_metrics"][key] = float(value)
json.dump(data, open(path, "w"))
END
}

edit_row() { # ID OLD NEW
    grep -q "^$1,.*$2" "$DIR/summary.csv"
    sed -i "/^$1,/s/$2/$3/" "$DIR/summary.csv"
}

edit_db() { # NUMBER VALUE
    python3 - "$DIR/run.db" "$1" "$2" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("UPDATE experiment_metrics SET value = ? WHERE experiment = ?", (float(sys.argv[3]), int(sys.argv[2]))).rowcount == 1
db.commit()
END
}

# contradicts ID TEXT: what each command makes of one such row of three.
contradicts() {
    "$TARE" audit "$DIR" >out
    cat out
    is "$(head -n 1 out)" "1 row with figures that differ from those in the folder:"
    [[ "$(sed -n 2p out)" == *"$1: "*"$2"* ]]
    for command in audit stats; do
        status=0
        "$TARE" $command "$DIR" --expect contradictions=0 >out 2>&1 || status=$?
        cat out
        is "$command $status" "$command 1"
        "$TARE" $command "$DIR" --expect contradictions=1 >/dev/null 2>&1
    done
    for command in "stats $DIR --only all" "compare $DIR $DIR" "export $DIR" "export $DIR --table metrics" "export $DIR --table history" "export $DIR --mlflow ml" \
        "report $DIR -o page.html"; do
        # shellcheck disable=SC2086 # words
        "$TARE" $command >out 2>err || [ $? -eq 2 ] # of two experiments a comparison says little
        cat err
        grep -q "left out, as their rows and their folders disagree.*: $1$" err
        if grep -q "$1" out; then false; fi
    done
    if [ -e "$DIR/run.db" ]; then
        run "$TARE" report --methods "$DIR"
        is "$status" 3
        [[ "$output" == *"no methods section: rows and folders disagree"*": $1" ]]
    fi
    is "$("$TARE" export "$DIR" --table metrics 2>/dev/null | grep -c ,accuracy,)" 2
    if grep -q "\"experiment_id\":\"$1\"" page.html; then false; fi
    grep -q '"experiment_id":"repo_net_003"' page.html
}

@test "a run that is as it was written has none" {
    finished 3
    "$TARE" audit "$DIR" --expect contradictions=0
    is "$("$TARE" export "$DIR" --table metrics | cut -d , -f 4)" $'value\n1234.5\n0.8125\n0.8125'
    study
    "$TARE" audit "$DIR" --expect contradictions=0
}

@test "an accuracy of experiment.json that is not that of run.db" {
    finished 3
    edit_json repo_net_002 accuracy 0.9125
    contradicts repo_net_002 "accuracy is 0.8125 in run.db and 0.9125 in experiment.json"
}

@test "an accuracy of summary.csv that is not that of run.db" {
    finished 3
    edit_row repo_net_002 0.8125 0.9125
    contradicts repo_net_002 "accuracy is 0.8125 in run.db and 0.9125 in summary.csv"
}

@test "an accuracy that was changed in all of them, but is on no line of the log" {
    finished 3
    edit_row repo_net_002 0.8125 0.9125
    edit_json repo_net_002 accuracy 0.9125
    edit_db 2 0.9125
    contradicts repo_net_002 "accuracy is 0.9125 in run.db and on no line in training.log"
}

@test "the same of a folder in the study's layout: a row against experiment.json, and both against the log" {
    finished 3
    study
    edit_row repo_net_002 0.8125 0.9125
    contradicts repo_net_002 "perf_accuracy is 0.9125 in summary.csv and 0.8125 in experiment.json"
    sed -i 's/"tare": {/"other": {/' "$DIR"/*/experiment.json
    edit_json repo_net_002 accuracy 0.9125
    contradicts repo_net_002 "accuracy is 0.9125 in summary.csv and on no line in training.log"
}

@test "a success that experiment.json does not know, and a duration" {
    finished 3
    edit_row repo_net_002 True False
    contradicts repo_net_002 "training_success is true in run.db and false in summary.csv"
    edit_row repo_net_002 False True
    python3 -c 'import json, sys; data = json.load(open(sys.argv[1])); data["duration_seconds"] += 7; json.dump(data, open(sys.argv[1], "w"))' "$DIR/repo_net_002/experiment.json"
    contradicts repo_net_002 "duration_seconds is"
}
