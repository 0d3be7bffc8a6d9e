#!/usr/bin/env bats
# The study's own settings files plan unchanged. The numbers of experiments were counted from the files by a few lines
# of Python: runs_per_config of the entry, else of its foreground, else of the file.

load helpers

# plans FILE ALL PARALLEL
plans() {
    [ -d "$SHARED/settings" ] || skip "../shared/data is not there"
    # The repositories are not here.
    dry_run plan said -ec "$SHARED/settings/$1" --seed 1
    grep -q ' is not there' said
    output=$(<plan)
    [ "$(grep -c '^\[[0-9]*/[0-9]*\] ' <<< "$output")" -eq "$2" ]
    [ "$(grep -c '^\[[0-9]*/[0-9]*\] [^ ]*_parallel ' <<< "$output")" -eq "$3" ]
    [ "$(grep -c '^  background ' <<< "$output")" -eq "$3" ]
    # Every job has its command line.
    [ "$(grep -c '^    cd ' <<< "$output")" -eq $(($2 + $3)) ]
    [ ! -e results ]
    # With the key tare the plan is the same.
    python3 -c 'import json, sys; json.dump({**json.load(open(sys.argv[1])), "tare": {}}, sys.stdout)' "$SHARED/settings/$1" > settings.json
    dry_run keyed said -ec settings.json -c "$SHARED/settings/models_config.json" --seed 1
    diff <(grep -v '^settings' plan) <(grep -v '^settings' keyed)
}

@test "11_models_quick_validation_1epoch.json" { plans 11_models_quick_validation_1epoch.json 22 11; }
@test "gpu_memory_cleanup_test.json" { plans gpu_memory_cleanup_test.json 10 0; }
@test "mutation_all_models_2x_dynamic.json" { plans mutation_all_models_2x_dynamic.json 160 80; }
@test "mutation_validation_1x.json" { plans mutation_validation_1x.json 80 40; }
@test "parallel_example.json" { plans parallel_example.json 2 2; }
@test "parallel_feasibility_test.json" { plans parallel_feasibility_test.json 12 12; }
@test "stage_final_all_remaining.json" { plans stage_final_all_remaining.json 110 83; }

@test "a hyperparameter that the model does not have is a warning, and an error with --strict" {
    make_trainer default
    make_registry
    echo '{"experiments": [{"repo": "toy", "model": "small", "mode": "default", "hyperparameters": {"momentum": 0.9}}]}' > settings.json
    run --separate-stderr "$TARE" run settings.json --dry-run
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"settings.json:"*"warning:"*"momentum"* ]]
    [[ "$output" != *momentum* ]]
    run --separate-stderr "$TARE" run settings.json --dry-run --strict
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.json:"*"error:"*"momentum"* ]]
}

@test "nonparallel, mutate_params, comments and empty entries read as the study wrote them" {
    make_trainer default
    make_registry
    make_settings '{"comment": "=== first ==="}, {"repo": "toy", "model": "small", "mode": "nonparallel",
        "mutate_params": ["learning_rate"], "note": "free text", "runs_per_config": 2},
        {"repo": "toy", "model": "big", "mode": "default"}'
    run --separate-stderr "$TARE" run settings.json --dry-run --seed 3
    [ "$status" -eq 0 ]
    [ "$(grep -c '^\[' <<< "$output")" -eq 3 ]
    [ "$(grep -c '^  mutation: learning_rate [^,]*$' <<< "$output")" -eq 2 ]
    [ "$(grep -c '^  default$' <<< "$output")" -eq 1 ]
}

@test "an outer repo and model of a parallel entry are ignored" {
    make_trainer default
    make_registry
    make_settings '{"mode": "parallel", "repo": "not-there", "model": "nothing",
        "foreground": {"repo": "toy", "model": "small", "mode": "default"},
        "background": {"repo": "toy", "model": "big", "hyperparameters": {"epochs": 9}}}'
    run --separate-stderr "$TARE" run settings.json --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == *"toy_small_001_parallel"* ]]
    [[ "$output" == *"--model big --epochs 9 "* ]]
}
