#!/usr/bin/env bats
# Spaces of experiments: grids, lists of points, seeds; what --set and -n change; settings in YAML and JSON with comments;
# what is misspelt.

load helpers

# A toy with a seed besides.
seeded_toy() {
    make_trainer default
    cat > models_config.json <<'END'
{"models": {"toy": {
  "path": "repo", "train_script": "./train.sh", "models": ["small", "big"], "model_flag": "--model",
  "supported_hyperparams": {
    "epochs": {"flag": "--epochs", "type": "int", "default": 10, "range": [5, 500], "distribution": "uniform"},
    "learning_rate": {"flag": "--lr", "type": "float", "default": 0.001, "range": [0.0001, 0.1], "distribution": "log_uniform"},
    "seed": {"flag": "--seed", "type": "int", "default": 7, "range": [0, 9999], "distribution": "uniform"}}}}}
END
}

# What follows the model on each command line of the plan, a line each.
planned() { sed -n 's/^    .*--model \([^ ]*\) /\1 /p' "${1:-plan}"; }

plan() { "$TARE" run "$@" --dry-run > plan 2> said; }

@test "a grid is every combination, the last axis fastest, each with each seed" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "small", "mode": "grid", "seeds": 2,
        "hyperparameters": {"learning_rate": [0.1, 0.01], "epochs": [5, 6]}}'
    plan settings.json --set tare.order=file
    diff <(planned) - <<'END'
small --epochs 5 --lr 0.1 --seed 1
small --epochs 5 --lr 0.1 --seed 2
small --epochs 6 --lr 0.1 --seed 1
small --epochs 6 --lr 0.1 --seed 2
small --epochs 5 --lr 0.01 --seed 1
small --epochs 5 --lr 0.01 --seed 2
small --epochs 6 --lr 0.01 --seed 1
small --epochs 6 --lr 0.01 --seed 2
END
    grep -qx 'experiments  8: 8 grid' plan
    grep -qx '  grid: epochs 6, learning_rate 0.01, seed 2' plan
    [ ! -e results ]
}

@test "a grid of several settings runs in blocks by default, one of each seed; a grid of seeds alone does not" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "small", "mode": "grid",
        "hyperparameters": {"learning_rate": [0.1, 0.01, 0.001], "seed": [7, 8, 9, 10]}}'
    plan settings.json --seed 5
    grep -qx 'order  *blocks' plan
    planned | python3 -c '
import sys
rows = [tuple(line.split()[i] for i in (4, 6)) for line in sys.stdin]
blocks = [rows[i:i + 3] for i in range(0, 12, 3)]
assert all(sorted(rate for rate, _ in block) == ["0.001", "0.01", "0.1"] and len({seed for _, seed in block}) == 1 for block in blocks), rows
assert [block[0][1] for block in blocks] == ["7", "8", "9", "10"] and len({tuple(rate for rate, _ in block) for block in blocks}) > 1, rows'
    plan settings.json --set tare.order=file
    grep -qx 'order  *file' plan
    make_settings '{"repo": "toy", "model": "small", "mode": "grid", "hyperparameters": {"seed": [7, 8, 9]}}'
    plan settings.json
    grep -qx 'order  *file' plan
}

@test "a grid runs, and its points are in the results" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "small", "mode": "grid", "hyperparameters": {"epochs": [5, 6, 5]}}'
    run --separate-stderr "$TARE" run settings.json --set tare.order=file
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"settings.json:2:"*"warning: 'epochs': duplicate value 5 is left out"* ]]
    folder=$(run_folder)
    [ "$(summary_column "$folder" hyperparam_epochs)" = $'5\n6' ]
    [ "$(summary_column "$folder" mode)" = $'grid\ngrid' ]
    grep -q '"mutated": \["epochs"\]' <(tr -d '\n' < "$folder/toy_small_001/experiment.json" | sed 's/\[ */[/g; s/ *\]/]/g')
}

@test "each point of a grid is a configuration: the pause between two of them is between_configurations" {
    seeded_toy
    echo '{"experiments": [{"repo": "toy", "model": "small", "mode": "grid", "hyperparameters": {"epochs": [5, 6]}, "runs_per_config": 2}],
        "tare": {"order": "file", "timing": {"between_runs": 1, "between_configurations": 100}}}' > settings.json
    plan settings.json
    grep -qx 'pauses  *1 min 42 s between experiments in all.*' plan
}

@test "a list runs its points; what is in none of them keeps its default" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "big", "mode": "list", "runs_per_config": 2,
        "hyperparameters": [{"epochs": 8, "learning_rate": 0.5}, {"seed": 3}]}'
    plan settings.json
    diff <(planned) - <<'END'
big --epochs 8 --lr 0.5 --seed 7
big --epochs 8 --lr 0.5 --seed 7
big --epochs 10 --lr 0.001 --seed 3
big --epochs 10 --lr 0.001 --seed 3
END
}

@test "a drawn combination is run with each seed" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "small", "mutate": "epochs", "runs_per_config": 2, "seeds": [4, 9]}'
    plan settings.json --seed 1
    [ "$(planned | wc -l)" -eq 4 ]
    [ "$(planned | sed 's/ --seed.*//' | uniq -c | awk '{ print $1 }' | paste -sd' ')" = "2 2" ]
    [ "$(planned | sed 's/.*--seed //' | paste -sd' ')" = "4 9 4 9" ]
}

@test "what a space cannot be is refused with its place" {
    seeded_toy
    refused() {
        make_settings "{\"repo\": \"toy\", \"model\": \"small\", $1}"
        run --separate-stderr "$TARE" run settings.json --dry-run
        [ "$status" -eq 2 ] && [[ "$stderr" == *"settings.json:2:"*"error: "*"$2"* ]] || { echo "$1: $stderr"; return 1; }
    }
    refused '"mode": "grid", "mutate": "all"' "'mutate' is for mode \"mutation\""
    refused '"mode": "default", "hyperparameters": {"epochs": [5, 6]}' 'several values are an axis of "mode": "grid"'
    refused '"mode": "default", "hyperparameters": [{"epochs": 5}]' 'a list of points is for "mode": "list"'
    refused '"mode": "grid", "hyperparameters": {"epochs": []}' "an axis with no value"
    refused '"mode": "default", "runs_per_config": 1000, "seeds": 1001' "more than 1000000 experiments"
    make_registry
    refused '"mode": "default", "seeds": 3' "'toy' has no seed"
}

@test "feasibility refuses grids, lists and seeds" {
    seeded_toy
    for entry in '"mode": "grid", "hyperparameters": {"epochs": [5, 6]}' '"mode": "list", "hyperparameters": [{"epochs": 5}]' \
        '"mode": "default", "seeds": 2'; do
        make_settings "{\"repo\": \"toy\", \"model\": \"small\", $entry}"
        run "$TARE" feasibility settings.json
        [ "$status" -eq 2 ]
        [[ "$output" == *"settings.json:2:"*"this command cannot take"* ]]
    done
    [ ! -e results ]
}

@test "--set changes one value of the settings, and the run keeps what it ran" {
    seeded_toy
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}, {"repo": "toy", "model": "small", "mode": "default",
        "hyperparameters": {"epochs": 6}}'
    plan settings.json --set experiments.0.hyperparameters.epochs=8 --set experiments.1.model=big \
        --set 'experiments.1.hyperparameters={"learning_rate": 0.5}' --set experiment_name=one=two
    diff <(planned) - <<'END'
small --epochs 8 --lr 0.001 --seed 7
big --epochs 10 --lr 0.5 --seed 7
END
    grep -qx 'name         one=two' plan
    run "$TARE" run settings.json --set experiments.0.hyperparameters.epochs=8 --set tare.order=blocks --seed 3
    [ "$status" -eq 0 ]
    cp "$(run_folder)/settings.json" again.json
    plan again.json
    [ "$(planned | sort | head -n 1)" = "small --epochs 6 --lr 0.001 --seed 7" ]
    [ "$(planned | sort | tail -n 1)" = "small --epochs 8 --lr 0.001 --seed 7" ]
    grep -qx 'order        blocks' plan
}

@test "a mistake in --set names the path and the nearest key, in the study's format too" {
    seeded_toy
    refused() {
        run --separate-stderr "$TARE" run "$file" --dry-run --set "$1"
        [ "$status" -eq 2 ] && [[ "$stderr" == *"$2"* ]] || { echo "$1: $status $stderr"; return 1; }
    }
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    echo '{"experiments": [{"repo": "toy", "model": "small", "mode": "default"}]}' > study.json
    for file in settings.json study.json; do
        refused experiments.0.hyperparameters.epchs=3 "did you mean 'epochs'? (at \$.experiments[0].hyperparameters.epchs)"
        refused experiments.0.modle=big "unknown key 'modle'; did you mean 'model'? (at \$.experiments[0].modle)"
        refused runs_per_confg=2 "did you mean 'runs_per_config'? (at \$.runs_per_confg)"
        refused nonsense=2 "unknown key 'nonsense' (at \$.nonsense)"
        refused experiment.0.model=big "--set experiment.0.model: there is no key 'experiment' in \$; did you mean 'experiments'?"
        refused experiments.1.model=big "--set experiments.1.model: \$.experiments is a list of 1: a place from 0 to 0 is needed, not '1'"
        refused experiments.0.model.x=1 "--set experiments.0.model.x: \$.experiments[0].model is \"small\", so there is no 'x' in it"
        refused experiments "--set experiments: expected PATH=VALUE"
        refused a..b=1 "--set a..b: expected PATH=VALUE"
        refused experiments.0.hyperparameters.epochs=many "'epochs': expected an integer, not the string 'many'"
    done
    run --separate-stderr "$TARE" submit settings.json --dry-run --set experiments.0.model=bg
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"unknown model of 'toy': 'bg'; did you mean 'big'? (at \$.experiments[0].model)"* ]]
    run "$TARE" run -r toy -m small --set seed=1
    [ "$status" -eq 2 ]
    [[ "$output" == *"--set changes a settings file, and none is given"* ]]
    [ ! -e results ]
}

# both_formats ENTRIES [MORE]: study.json, in the study's format, and settings.json, which has the key "tare" besides.
both_formats() {
    echo "{\"experiments\": [$1]${2:-}}" > study.json
    echo "{\"experiments\": [$1]${2:-}, \"tare\": {}}" > settings.json
}

@test "-n, -mr and -g go over the settings, with and without the key tare; an entry that says 0 runs stays off" {
    seeded_toy
    both_formats '{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2, "max_retries": 5, "governor": "powersave"},
        {"repo": "toy", "model": "big", "mode": "default"}, {"repo": "toy", "model": "big", "mode": "default", "runs_per_config": 0},
        {"mode": "parallel", "foreground": {"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 4},
         "background": {"repo": "toy", "model": "big"}}'
    for file in settings.json study.json; do
        plan $file -n 3
        [ "$(grep -o '^\[.*\] toy_[a-z]*' plan | cut -d' ' -f2 | sort | uniq -c | awk '{ print $2, $1 }' | paste -sd,)" = "toy_big 3,toy_small 6" ]
        [ "$(grep -c '^\[.*_parallel ' plan)" -eq 3 ]
        [ "$(grep -c '^\[.*at most 6 attempts, governor powersave$' plan)" -eq 3 ]
        plan $file -mr 1 -g performance
        [ "$(grep -c '^\[' plan)" -eq 7 ]
        [ "$(grep -c '^\[.*at most 2 attempts, governor performance$' plan)" -eq 7 ]
        run ! grep -E 'warning|ignored' said
        plan $file --set max_retries=4 -mr 0
        [ "$(grep -c '^\[.*at most 1 attempt$' plan)" -eq 5 ]
    done
    # The run keeps what it ran.
    "$TARE" run study.json -n 1 -mr 0 -q
    cp "$(run_folder)/settings.json" again.json
    plan again.json
    [ "$(grep -c '^\[.*at most 1 attempt' plan)" -eq 3 ]
    python3 -c 'import json; assert "tare" not in json.load(open("again.json"))'
}

@test "what is misspelt is a warning, and an error with --strict, with and without the key tare" {
    seeded_toy
    both_formats '{"repo": "toy", "model": "small", "mode": "default", "runs_per_confg": 2, "hyperparameters": {"epoch": 6}, "ticket": 12},
        {"repo": "toy", "model": "small", "mode": "grid", "hyperparameters": {"epochs": [5, 6], "batchsize": [1, 2]}},
        {"repo": "toy", "model": "small", "mode": "list", "hyperparameters": [{"epochs": 7, "batchsize": 1}]},
        {"repo": "toy", "model": "small", "mutate": ["epochs", "batchsize"]}' ', "version": 3, "date": "2025"'
    for file in settings.json study.json; do
        run --separate-stderr "$TARE" run $file --dry-run
        [ "$status" -eq 0 ]
        [ "$(grep -c '^\[' <<< "$output")" -eq 5 ]
        [ "$(grep -c warning: <<< "$stderr")" -eq 5 ]
        [[ "$stderr" == *"warning: unknown key 'runs_per_confg'; did you mean 'runs_per_config'?"* ]]
        [[ "$stderr" == *"warning: 'toy' has no hyperparameter 'epoch': it is left out; did you mean 'epochs'?"* ]]
        [ "$(grep -c "warning: 'toy' has no hyperparameter 'batchsize': it is left out" <<< "$stderr")" -eq 3 ]
        # A key of the person's own is not a mistake.
        [[ "$stderr" != *ticket* ]] && [[ "$stderr" != *version* ]]
        run --separate-stderr "$TARE" run $file --dry-run --strict
        [ "$status" -eq 2 ]
        [ "$(grep -c error: <<< "$stderr")" -eq 5 ]
        [[ "$stderr" == *"error: unknown key 'runs_per_confg'; did you mean 'runs_per_config'?"* ]]
        [[ "$stderr" == *"error: 'toy' has no hyperparameter 'epoch'; did you mean 'epochs'?"* ]]
    done
}

@test "--set tare.KEY changes what the key in the file changes, and a name on the command line is checked all the same" {
    seeded_toy
    # "date" is near "tare", but a key that the program knows is not misspelt.
    both_formats '{"repo": "toy", "model": "small", "mode": "default", "hyperparameters": {"batchsize": 6}, "runs_per_config": 2}' ', "date": "2025"'
    sed 's/"tare": {}/"tare": {"order": "blocks", "timing": {"between_runs": 7}}/' settings.json > keyed.json
    plan keyed.json -n 3 -s 1
    grep -v '^settings' plan > keyed
    grep -q '^pauses *14.0 s ' keyed
    grep -q '^order *blocks' keyed
    for file in settings.json study.json; do
        plan $file -n 3 -s 1 --set tare.order=blocks --set tare.timing.between_runs=7
        diff keyed <(grep -v '^settings' plan)
    done
    for file in settings.json study.json; do
        run --separate-stderr "$TARE" run $file --dry-run --set experiments.0.hyperparameters.epoch=3
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"error: 'toy' has no hyperparameter 'epoch'; did you mean 'epochs'?"* ]]
    done
}

@test "settings and registry in YAML plan as the same in JSON" {
    seeded_toy
    cat > models.yaml <<'END'
models:
  toy:
    path: repo
    train_script: ./train.sh
    models: [small, big]
    model_flag: --model
    supported_hyperparams:
      epochs: &whole {flag: --epochs, type: int, default: 10, range: [5, 500], distribution: uniform}
      learning_rate: {flag: --lr, type: float, default: 1e-3, range: [1e-4, .1], distribution: log_uniform}
      seed: {flag: --seed, type: int, default: 7, range: [0, 9999], distribution: uniform}
END
    cat > settings.yaml <<'END'
# the name is a string in YAML 1.2
experiment_name: no
seed: 5
runs_per_config: 4
registry: models.yaml
experiments:
  - {repo: toy, model: small}   # all is drawn
  - repo: toy
    model: big
    mode: grid
    hyperparameters: {learning_rate: [1e-3, 0.5]}
tare: {order: blocks}
END
    echo '{"experiment_name": "no", "seed": 5, "runs_per_config": 4, "experiments": [{"repo": "toy", "model": "small"},
        {"repo": "toy", "model": "big", "mode": "grid", "hyperparameters": {"learning_rate": [0.001, 0.5]}}], "tare": {"order": "blocks"}}' > settings.json
    plan settings.json
    grep -v '^settings\|^registry' plan > json
    plan settings.yaml
    grep -qx 'registry     models.yaml' plan
    diff json <(grep -v '^settings\|^registry' plan)
    [ "$(planned | wc -l)" -eq 12 ]
    sed -i 's/runs_per_config: 4/runs_per_config: 1/' settings.yaml
    run "$TARE" run settings.yaml
    [ "$status" -eq 0 ]
    # What the run keeps is JSON, which reads as the same settings.
    cp "$(run_folder)/settings.json" kept.json
    plan kept.json
    [ "$(planned | wc -l)" -eq 3 ]
}

@test "a mistake in YAML is told with its line and column" {
    seeded_toy
    printf 'experiments:\n  - repo: toy\n    model: small\n    mode: default\n    hyperparameters:\n      epochs: [5,\n        6]\n' > settings.yaml
    run --separate-stderr "$TARE" run settings.yaml --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.yaml:6:15: error: 'epochs': expected a number"* ]]
    printf 'experiments:\n  - repo: toy\n   model: small\n' > settings.yaml
    run --separate-stderr "$TARE" run settings.yaml --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.yaml:3:4: error: "* ]]
    # Nine levels of ten aliases each would be a thousand million values.
    { echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
      for i in 1 2 3 4 5 6 7 8; do p="*a$((i - 1))"; echo "a$i: &a$i [$p, $p, $p, $p, $p, $p, $p, $p, $p, $p]"; done; } > settings.yaml
    run --separate-stderr timeout 60 "$TARE" run settings.yaml --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.yaml:"*": error: too much of it"* ]]
}

@test "JSON with comments and trailing commas is read from .jsonc; in .json a hint names that" {
    seeded_toy
    cat > settings.jsonc <<'END'
// why
{ /* ü */ "experiments": [
    {"repo": "toy", "model": "small", "mode": "default", "hyperparameters": {"epochs": 6, /* not "8" */ },},  // "last"
  ],
  "tare": {},
}
END
    plan settings.jsonc
    [ "$(planned)" = "small --epochs 6 --lr 0.001 --seed 7" ]
    sed 's/"epochs": 6/"epochs": "6"/' settings.jsonc > wrong.jsonc
    run --separate-stderr "$TARE" run wrong.jsonc --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"wrong.jsonc:3:88: error: 'epochs': expected an integer"* ]]
    cp settings.jsonc settings.json
    run --separate-stderr "$TARE" run settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.json:1:1: error: "*"JSON has no comments"*".jsonc"* ]]
}
