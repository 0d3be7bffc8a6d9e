#!/usr/bin/env bats
# What a registry offers.

load helpers

@test "list shows models and hyperparameters with flag, type, range, default and distribution" {
    make_trainer default
    make_registry
    run --separate-stderr "$TARE" list
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = toy ]
    [ "${lines[1]}" = "models   small, big" ]
    [ "${lines[2]}" = "path     $WORK/repo" ]
    [ "${lines[3]}" = "metrics  accuracy, loss, f1" ]
    [ "${lines[4]}" = "HYPERPARAMETER  FLAG         TYPE    RANGE            DEFAULT  DISTRIBUTION" ]
    [ "${lines[5]}" = "epochs          --epochs     int     5 .. 500         10       uniform" ]
    [ "${lines[6]}" = "learning_rate   --lr         float   0.0001 .. 0.1    0.001    log_uniform" ]
    [ "${lines[7]}" = "optimizer       --optimizer  choice  sgd, adam, lion  sgd" ]
    [[ "$stderr" == *"registry models_config.json (in the working folder)"* ]]
}

@test "list --json is JSON with numbers as numbers" {
    need_python
    make_trainer default
    make_registry
    "$TARE" list toy --json 2> err > list.json
    python3 - <<'END'
import json
repo, = json.load(open("list.json"))["repositories"]
assert repo["name"] == "toy" and repo["models"] == ["small", "big"] and repo["path_exists"] is True
epochs, rate, optimizer = repo["hyperparameters"]
assert epochs == {"name": "epochs", "flag": "--epochs", "type": "int", "default": 10, "range": [5, 500],
                  "distribution": "uniform"}, epochs
assert rate["range"] == [0.0001, 0.1] and optimizer["choices"] == ["sgd", "adam", "lion"]
assert repo["metrics"] == ["accuracy", "loss", "f1"]
END
}

@test "the study's -l lists too" {
    make_trainer default
    make_registry
    run "$TARE" -l
    [ "$status" -eq 0 ]
    [[ "$output" == *"HYPERPARAMETER"* ]]
    [ ! -e results ]
}

@test "an unknown repository gets the nearest name" {
    make_registry
    run "$TARE" list toi
    [ "$status" -eq 2 ]
    [[ "$output" == *"no repository 'toi'; did you mean 'toy'?"* ]]
}

@test "without any registry the places that were looked into are told" {
    run "$TARE" list
    # One may have come with the program.
    [ "$status" -eq 2 ] || skip "a registry is installed"
    [[ "$output" == *"mutation/models_config.json, mutation/registry.json, models_config.json, registry.json"* ]]
}

@test "every repository of the study's registry is listed" {
    [ -d "$SHARED/settings" ] || skip "../shared/data is not there"
    run --separate-stderr "$TARE" list -c "$SHARED/settings/models_config.json"
    [ "$status" -eq 0 ]
    for repo in MRT-OAST bug-localization-by-dnn-and-rvsm VulBERTa Person_reID_baseline_pytorch examples; do
        grep -qx -- "$repo" <<< "$output"
    done
}
