#!/usr/bin/env bats
# audit --repeat: settings that do again what cannot be believed in results without a plan.

load helpers

# A folder in the study's layout: one clean training, one that took a negative time, one such parallel one.
make_study() {
    mkdir -p old/toy_small_001 old/toy_small_002 old/toy_big_003_parallel
    cat > old/summary.csv <<'END'
experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_epochs,hyperparam_learning_rate
toy_small_001,2025-11-18T15:58:02.000000,toy,small,True,20.0,0,7,0.001
toy_small_002,2025-11-18T16:00:02.000000,toy,small,True,-20.0,0,8,0.01
toy_big_003_parallel,2025-11-18T16:02:02.000000,toy,big,True,-30.0,0,9,0.02
END
    cat > old/toy_big_003_parallel/experiment.json <<'END'
{"experiment_id": "toy_big_003_parallel", "timestamp": "2025-11-18T16:02:02.000000", "mode": "parallel",
 "foreground": {"repository": "toy", "model": "big", "training_success": true, "retries": 0,
                "hyperparameters": {"epochs": 9, "learning_rate": 0.02}},
 "background": {"repository": "toy", "model": "small", "hyperparameters": {"epochs": 100}}}
END
    echo '{}' > old/toy_small_001/experiment.json
    echo '{}' > old/toy_small_002/experiment.json
}

@test "what cannot be believed becomes settings with the same hyperparameters" {
    make_study
    run --separate-stderr "$TARE" audit old --repeat again.json
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"$NAME: to repeat 3 experiments: $NAME run again.json --config REGISTRY.json" ]]
    python3 - <<'END'
import json
alone, first, second = json.load(open("again.json"))["experiments"]
assert alone["comment"].startswith("toy_small_001 of old: unverified"), alone # nothing can be compared with it
comment = first.pop("comment")
assert comment.startswith("toy_small_002 of old: unverified by value_impossible"), comment
assert first == {"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 1,
                 "hyperparameters": {"epochs": 8, "learning_rate": 0.01}}, first
assert second.pop("comment").startswith("toy_big_003_parallel of old: unverified by value_impossible")
assert second == {"mode": "parallel", "runs_per_config": 1,
                  "foreground": {"repo": "toy", "model": "big", "mode": "default",
                                 "hyperparameters": {"epochs": 9, "learning_rate": 0.02}},
                  "background": {"repo": "toy", "model": "small", "hyperparameters": {"epochs": 100}}}, second
END
}

@test "the settings run with the registry that the results were made by" {
    make_study
    make_trainer default
    make_registry
    "$TARE" audit old --repeat again.json > /dev/null 2>&1
    run --separate-stderr "$TARE" run again.json --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == *"3: 2 default, 1 parallel"* ]]
    [[ "$output" == *"--model small --epochs 8 --lr 0.01"* ]]
    [[ "$output" == *"--model big --epochs 9 --lr 0.02"* ]]
    [[ "$output" == *"--model small --epochs 100 "* ]]
}

@test "where all is clean nothing is written" {
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    "$TARE" run settings.json -q > closing 2>&1
    [ "$("$TARE" export "$(run_folder)" | python3 -c '
import csv, sys
print(next(csv.DictReader(sys.stdin))["verdict"])')" = clean ] || skip "somebody else used this machine meanwhile"
    run "$TARE" audit "$(run_folder)" --repeat again.json
    [ "$status" -eq 0 ]
    [[ "$output" == *"again.json is not written: there is nothing to repeat"* ]]
    [ ! -e again.json ]
}

@test "a place that cannot be written is told" {
    make_study
    run "$TARE" audit old --repeat nowhere/again.json
    [ "$status" -eq 3 ]
    [[ "$output" == *"$NAME: error: write nowhere/again.json: there is no folder nowhere: make it first (mkdir -p)"* ]]
}

@test "what was judged is not written over, but with --force" {
    make_study
    cp old/summary.csv before.csv
    run -3 "$TARE" audit old --repeat old/summary.csv
    [[ "$output" == *"--repeat: old/summary.csv is a file of what was judged; name another, or replace it with --force"* ]]
    cmp before.csv old/summary.csv
    "$TARE" audit old --repeat old/again.json
    "$TARE" audit old --repeat old/again.json --force
}

@test "results without a plan are told how they are repeated" {
    make_study
    for option in --resume --rerun-contaminated; do
        run "$TARE" run $option old
        [ "$status" -eq 2 ]
        [[ "$output" == *"old holds results without a plan to go on with: "*"'audit --repeat FILE' "* ]]
    done
}

@test "the study's own results are repeated by its own registry" {
    [ -d "$SHARED/legacy" ] || skip "the study's results are not there"
    "$TARE" audit "$SHARED"/legacy/* --repeat again.json --json > audit.json 2> /dev/null
    counts=$(python3 -c '
import json
found = [e for e in json.load(open("audit.json"))["experiments"] if e["verdict"] in ("unverified", "suspect", "contaminated")]
parallel = sum(e["experiment_id"].endswith("_parallel") for e in found)
print(f"{len(found)}: {len(found) - parallel} default, {parallel} parallel")')
    dry_run plan said again.json -c "$SHARED/settings/models_config.json" # whose repositories are not here
    [[ "$(<plan)" == *"experiments  $counts"* ]]
}
