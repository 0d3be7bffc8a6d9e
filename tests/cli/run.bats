#!/usr/bin/env bats
# "run" as a person uses it: what goes in, what comes out, and what is said.

load helpers

toy() {
    make_trainer default
    make_registry
}

# Settings with two default experiments of toy, each with epochs of its own.
two_runs() {
    toy
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "hyperparameters": {"epochs": 3}},
                   {"repo": "toy", "model": "big", "mode": "default", "hyperparameters": {"epochs": 4}}'
}

@test "one command leads from a settings file to a results folder" {
    two_runs
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 0 ]
    folder=$(run_folder)
    [[ "$folder" =~ ^results/run_20[0-9]{6}_[0-9]{6}$ ]]
    [ "$(summary_column "$folder" experiment_id)" = $'toy_small_001\ntoy_big_002' ]
    [ "$(summary_column "$folder" training_success)" = $'True\nTrue' ]
    [ "$(summary_column "$folder" hyperparam_epochs)" = $'3\n4' ]
    [ "$(summary_column "$folder" perf_accuracy)" = $'0.75\n0.75' ]
    # The last match counts.
    [ "$(summary_column "$folder" perf_loss)" = $'0.7\n0.7' ]
    [ "$(summary_column "$folder" perf_f1)" = $'\n' ] || [ -z "$(summary_column "$folder" perf_f1 | tr -d '\n')" ]
    grep -qx 'arguments: --model small --epochs 3 --lr 0.001 --optimizer sgd' "$folder/toy_small_001/training.log"
    cmp settings.json "$folder/settings.json"
    cmp models_config.json "$folder/registry.json"
    [ -s "$folder/run.db" ] && [ ! -e "$folder/run.db-wal" ]
}

@test "the closing table tells outcome, metrics, what never matched and where everything is" {
    two_runs
    idle_machine
    run --separate-stderr "$TARE" run settings.json --quiet
    [ "$status" -eq 0 ]
    # A metric without any value takes no room; it is named below.
    [[ "${lines[0]}" =~ ^EXPERIMENT\ +OUTCOME\ +TIME\ +accuracy\ +loss$ ]]
    [[ "${lines[1]}" =~ ^toy_small_001\ +succeeded\ +[0-9.]+\ s\ +0\.75\ +0\.7$ ]]
    [[ "${lines[2]}" =~ ^toy_big_002\ +succeeded\ +[0-9.]+\ s\ +0\.75\ +0\.7$ ]]
    [ "${lines[3]}" = "2 succeeded" ]
    [ "${lines[4]}" = "never matched in any log: f1" ]
    [ "${lines[5]}" = "verdict: 2 clean, 0 unverified, 0 suspect, 0 contaminated" ]
    [ "${lines[6]}" = "results: $(run_folder)" ]
    [ "${#lines[@]}" -eq 7 ]
    [ -z "$stderr" ]
}

@test "the study's command lines all start the same plan" {
    toy
    make_settings '{"repo": "toy", "model": "small", "mutate": ["epochs"], "runs_per_config": 2}' ', "seed": 5'
    "$TARE" run settings.json --dry-run 2> /dev/null | grep -v '^settings' > expected
    [ "$(grep -c '^\[' expected)" -eq 2 ]
    for words in "run -ec settings.json" "run --experiment-config=settings.json" "-ec settings.json" \
        "-ec=settings.json" "--exp settings.json" "-c models_config.json -ec settings.json" "-s 5 -ec settings.json"; do
        # shellcheck disable=SC2086
        "$TARE" $words --dry-run 2> /dev/null | grep -v '^settings' > got
        diff expected got
    done
    [ ! -e results ]
}

@test "flags alone describe an experiment: -r -m -mt -n -mr -g -s" {
    toy
    run --separate-stderr "$TARE" run -r toy -m big -mt learning_rate,epochs -n 3 -mr 1 -g performance -s 11 --dry-run
    [ "$status" -eq 0 ]
    [ "$(grep -c '^\[[1-3]/3\] toy_big_00[1-3]  at most 2 attempts, governor performance$' <<< "$output")" -eq 3 ]
    [ "$(grep -cE '^  mutation: epochs [0-9]+, learning_rate [0-9.]+(e-[0-9]+)?$' <<< "$output")" -eq 3 ]
    [[ "$output" == *"seed         11"* ]]
}

@test "flags alone run, and the run keeps settings that say the same" {
    toy
    run "$TARE" run -r toy -m big -mr 1
    [ "$status" -eq 0 ]
    folder=$(run_folder)
    [ "$(summary_column "$folder" model)" = big ]
    grep -qx 'arguments: --model big --epochs 10 --lr 0.001 --optimizer sgd' "$folder/toy_big_001/training.log"
    cp "$folder/settings.json" again.json
    run --separate-stderr "$TARE" run again.json --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == *"[1/1] toy_big_001  at most 2 attempts"* ]]
    [[ "$output" == *"--model big --epochs 10 --lr 0.001 --optimizer sgd"* ]]
}

@test "flags beside a settings file: those that name what to train are refused" {
    two_runs
    run "$TARE" run settings.json -mr 7 --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == *"[2/2]"*"at most 8 attempts"* ]]
    run "$TARE" run settings.json -r toy --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" == *"--repo does not go with a settings file"* ]]
    run "$TARE" run settings.json -ec settings.json
    [ "$status" -eq 2 ]
}

@test "an error is shown when an attempt fails with it, and once at the end; metrics of failures are not missed" {
    toy
    cat >fails.py <<'END'
raise SystemExit("ValueError: the data loader has no batch of this size")
END
    run -1 "$TARE" run fails.py
    [[ "$output" == *"attempt 1 failed: "*"the data loader has no batch"*"failed after "*": the same error"* ]]
    [ "$(grep -c 'the data loader has no batch' <<<"$output")" -eq 2 ]
    [[ "$output" != *"metric was found"* && "$output" != *"never matched"* ]]
}

@test "nothing to run is said, not guessed" {
    toy
    run "$TARE" run
    [ "$status" -eq 2 ]
    [[ "$output" == *"what to run? Give a settings file, a training SCRIPT"* ]]
    run "$TARE" run -r toy
    [ "$status" -eq 2 ]
    [[ "$output" == *"--repo and --model are both needed"* ]]
    make_settings '{"repo": "toy", "model": "small", "runs_per_config": 0}'
    run "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"the plan holds no experiments"* ]]
    [ ! -e results ]
}

@test "a dry run shows every command line and makes nothing" {
    two_runs
    run --separate-stderr "$TARE" run settings.json --dry-run --seed 1
    [ "$status" -eq 0 ]
    [[ "$output" == *"    cd $WORK/repo"$'\n'"    $WORK/repo/train.sh --model small --epochs 3 --lr 0.001 "* ]]
    [[ "$output" == *"--model big --epochs 4 --lr 0.001 --optimizer sgd"* ]]
    [[ "$output" == *"seed         1"$'\n'* ]]
    [[ "$output" == *"experiments  2: 2 default"* ]]
    [ ! -e results ]
}

@test "a dry run tells the pauses of the whole night" {
    toy
    # 3 runs of one entry and 1 of another, at 60 s: three pauses. Without a GPU none but what is stated.
    local stated expected
    while IFS='|' read -r stated expected; do
        echo '{"experiments": [{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 3},
                               {"repo": "toy", "model": "big", "mode": "default"}], "tare": {"timing": {'"$stated"'}}}' > settings.json
        run --separate-stderr "$TARE" run settings.json --dry-run --gpus none
        [[ "$output" == *"pauses       $expected"* ]] || { echo "$stated: $output"; return 1; }
    done <<'END'
"between_runs": 60, "between_configurations": "1m", "before_retry": 30|3 min 00 s between experiments in all, 30 s before each retry
"between_runs": 60|2 min 00 s between experiments in all, 0 s before each retry
|0.0 s between experiments in all, 0 s before each retry
END
}

@test "a dry run as JSON holds each argv" {
    need_python
    two_runs
    "$TARE" run settings.json --dry-run --json 2> err > plan.json
    python3 - "$WORK" <<'END'
import json, sys
plan = json.load(open("plan.json"))
argvs = [experiment["foreground"]["argv"] for experiment in plan["experiments"]]
assert argvs[1] == [sys.argv[1] + "/repo/train.sh", "--model", "big", "--epochs", "4", "--lr", "0.001",
                    "--optimizer", "sgd"], argvs
END
}

@test "one seed plans the same everywhere, another seed another plan" {
    toy
    make_settings '{"repo": "toy", "model": "small", "mutate": "all", "runs_per_config": 20}'
    plan() { "$TARE" run settings.json --dry-run --seed "$1" 2> /dev/null; }
    plan 1 > first
    plan 1 | cmp first -
    plan 2 > second
    run ! cmp -s first second
    # No repeat, and never the default.
    grep '^    /' first | sort | uniq -d | wc -l | grep -qx 0
    run ! grep -q -- '--epochs 10 \|--lr 0.001 \|--optimizer sgd' first
}

@test "a seed that nobody named is fresh, said and recorded" {
    toy
    make_settings '{"repo": "toy", "model": "small", "mutate": "all"}'
    first=$("$TARE" run settings.json --dry-run 2> /dev/null | grep ^seed)
    second=$("$TARE" run settings.json --dry-run 2> /dev/null | grep ^seed)
    [[ "$first" =~ ^seed\ +[0-9]+$ ]]
    [ "$first" != "$second" ]
}

@test "all mistakes are told at once with their places, and nothing is run" {
    toy
    cat > settings.json <<'END'
{"experiments": [
  {"repo": "toi", "model": "small"},
  {"repo": "toy", "model": "smal"},
  {"repo": "toy", "model": "small", "mutate": ["epoch"]},
  {"repo": "toy", "model": "small", "runs_per_config": "three"}
]}
END
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ ! -e results ]
    grep -q "^settings.json:2:[0-9]*: error: .*toi.*did you mean 'toy'?.*\$.experiments\[0\]" <<< "$stderr"
    grep -q "^settings.json:3:[0-9]*: error: .*smal.*did you mean 'small'?.*\$.experiments\[1\]" <<< "$stderr"
    grep -q "^settings.json:4:[0-9]*: warning: .*epoch.*did you mean 'epochs'?.*\$.experiments\[2\]" <<< "$stderr"
    grep -q "^settings.json:4:[0-9]*: error: .*nothing is left to mutate" <<< "$stderr"
    grep -q "^settings.json:5:[0-9]*: error: .*\$.experiments\[3\]" <<< "$stderr"
    [[ "$stderr" == *"4 errors, 1 warning; nothing was run"* ]]
    # From the top of the file to its end.
    grep -o '^settings.json:[0-9]*' <<< "$stderr" | sort -c -t: -k2n
}

@test "mistakes of the registry are told with those of the settings" {
    toy
    sed -i 's/\[5, 500\]/[500, 5]/; s/loss: (\[0-9.\]+)/loss: ([0-9.+/' models_config.json
    sed -i 's/"log_uniform"/"log_unifrom"/' models_config.json
    make_settings '{"repo": "toy", "model": "small", "timeout": "soon"}'
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [ "$(grep -c '^models_config.json:[0-9]*:[0-9]*: error: ' <<< "$stderr")" -ge 3 ]
    [ "$(grep -c '^settings.json:[0-9]*:[0-9]*: error: ' <<< "$stderr")" -ge 1 ]
    [[ "$stderr" == *"log_uniform"* ]]
    [ ! -e results ]
}

@test "a mistake in one repository hides neither unknown names nor what is missing of the others" {
    toy
    cat > models_config.json <<'END'
{"models": {
 "first": {"path": "repo", "train_script": "./train.sh", "models": ["small"], "success": "*done"},
 "second": {"path": "repo", "train_script": "./nothing.sh", "models": ["small"],
  "supported_hyperparams": {"epochs": {"flag": "-e", "type": "int", "default": 1, "range": [5, 2]}}},
 "third": {"path": "repo", "train_script": "./train.sh", "models": ["small"], "venv": "no_venv"}
}}
END
    cat > settings.json <<'END'
{"experiments": [
  {"repo": "first", "model": "smal", "mode": "default"},
  {"repo": "second", "model": "small", "mutate": ["epochs"]},
  {"repo": "third", "model": "small", "mode": "default"},
  {"repo": "fourth", "model": "small", "mode": "default"}
]}
END
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 2 ]
    grep -q "^settings.json:2:[0-9]*: error: unknown model of 'first': 'smal'; did you mean 'small'?" <<< "$stderr"
    grep -q "^settings.json:5:[0-9]*: error: unknown repository 'fourth'" <<< "$stderr"
    grep -q "^models_config.json:2:[0-9]*: error: 'success': bad regular expression" <<< "$stderr"
    grep -q "^models_config.json:3:[0-9]*: error: .*nothing.sh is not there" <<< "$stderr"
    grep -q "^models_config.json:4:[0-9]*: error: 'range': expected \[low, high\]" <<< "$stderr"
    grep -q "^models_config.json:5:[0-9]*: error: .*no_venv/bin/python is not there" <<< "$stderr"
    [[ "$stderr" == *$'\n'"6 errors; nothing was run" ]]
}

@test "an option's name instead of its hyperparameter's is told which one it is" {
    toy
    make_settings '{"repository": "toy", "model": "small"},
                   {"repo": "toy", "model": "small", "mutate": ["lr", "opt"]}'
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"error: 'repo' is missing; is 'repository' meant? (at \$.experiments[0])"* ]]
    [[ "$stderr" == *"'toy' has no hyperparameter 'lr': it is left out; did you mean 'learning_rate'? "* ]]
    [[ "$stderr" == *"'toy' has no hyperparameter 'opt': it is left out; did you mean 'optimizer'? "* ]]
}

@test "broken JSON is told with line and column" {
    toy
    printf '{"experiments": [\n  {"repo": "toy",,}\n]}\n' > settings.json
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"settings.json:2:18: error: "* ]]
}

# as_the_run CODE ARGUMENTS...: a dry run ends with this code, then the run, and with the same words; nothing is begun.
as_the_run() {
    local code=$1
    shift
    run --separate-stderr "$TARE" run "$@" --dry-run
    echo "dry run: $status: $stderr"
    [ "$status" -eq "$code" ]
    grep -E "^$NAME: error: |: error: " <<< "$stderr" > dry
    run --separate-stderr "$TARE" run "$@"
    echo "run: $status: $stderr"
    [ "$status" -eq "$code" ]
    grep -E "^$NAME: error: |: error: " <<< "$stderr" > wet
    diff dry wet
    [ -s wet ]
    [ ! -e results ]
}

@test "a dry run of what a run refuses ends with the run's code: a script, an interpreter, a folder that is not there" {
    two_runs
    mv repo/train.sh elsewhere.sh
    as_the_run 2 settings.json
    [[ "$stderr" == *"error: "*"train.sh"* ]]
    "$TARE" run settings.json --dry-run 2> /dev/null | grep -q '^\[1/2\] ' # the plan is shown all the same
    mv elsewhere.sh repo/train.sh
    make_registry ', "venv": "~/no-such-venv"'
    as_the_run 2 settings.json
    make_registry
    mv repo gone
    as_the_run 2 settings.json
}

@test "a dry run ends with the run's code where GPUs are asked for that are not there" {
    two_runs
    mkdir -p machine/proc
    export TARE_SYSROOT=$WORK/machine
    as_the_run 2 settings.json --gpus 0,7
    as_the_run 2 settings.json --gpus 'a b'
    make_settings '{"repo": "toy", "model": "small", "runs_per_config": 2}' ', "seed": 5, "x": {"gpus": "3"}'
    sed -i 's/"tare": {/"tare": {"gpus": "3", /' settings.json
    as_the_run 2 settings.json
    [[ "$stderr" == *3* ]]
}

@test "a dry run ends with the run's code where the results cannot be written" {
    two_runs
    touch file
    run "$TARE" run settings.json --dry-run -o file/below
    [ "$status" -eq 3 ]
    [[ "$output" == *"open folder $WORK/file: Not a directory"* ]]
    run "$TARE" run settings.json -o file/below
    [ "$status" -eq 3 ]
    need_root
    chmod 755 "$WORK" repo
    setpriv --reuid=65534 --regid=65534 --clear-groups "$TARE" run settings.json --dry-run 2> said && false
    grep -q "make a folder in $WORK: Permission denied" said
    [ ! -e results ]
}

@test "a dry run of an empty plan ends with 2, as the run does" {
    two_runs
    make_settings '{"repo": "toy", "model": "small", "runs_per_config": 0}'
    as_the_run 2 settings.json
}

@test "a dry run and a run are refused alike when containment or the library for GPU memory is not to be had" {
    two_runs
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "track_gpu_memory": true}'
    export TARE_CUDA_LIBRARY=$WORK/nothing.so
    run --separate-stderr "$TARE" run settings.json --dry-run
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"TARE_CUDA_LIBRARY: $WORK/nothing.so is not there"* ]]
    dry=$stderr
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"$(grep -F "not there" <<< "$dry")"* ]]
}

@test "a settings file that is not there is named" {
    toy
    run "$TARE" run nothing.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"nothing.json"* ]]
}

@test "a failed experiment is tried again, and the run says 1 when it stays failed" {
    make_trainer <<'END'
#!/bin/sh
count=$(cat count 2> /dev/null || echo 0)
echo $((count + 1)) > count
echo "attempt $((count + 1))"
case " $* " in *" --epochs 7 "*) exit 3 ;; esac
[ "$count" -gt 0 ] || exit 4
echo "accuracy: 0.5"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "max_retries": 1},
                   {"repo": "toy", "model": "small", "mode": "default", "hyperparameters": {"epochs": 7},
                    "max_retries": 2}'
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 1 ]
    folder=$(run_folder)
    [ "$(summary_column "$folder" training_success)" = $'True\nFalse' ]
    [ "$(summary_column "$folder" retries)" = $'1\n2' ]
    [[ "$output" == *"[1/2] toy_small_001 attempt 1 failed: "*"4"*"retry in 0 s"* ]]
    [[ "$output" == *"1 succeeded, 1 failed"* ]]
    [[ "$output" =~ toy_small_002:\ .*3 ]]
    [[ "$output" != *"--resume"* ]]
    [ "$(cat repo/count)" -eq 5 ]
}

@test "piped, there is one line per start and end, and no colour nor cursor movement" {
    two_runs
    idle_machine
    export TERM=xterm-256color
    "$TARE" run settings.json > out 2> err
    run ! grep -q $'\033\|\r' out err
    grep -qx "2 experiments, pauses 0.0 s in all; results in $(run_folder)" out
    grep -qx '\[1/2\] toy_small_001 started' out
    grep -q '^\[1/2\] toy_small_001 succeeded in [0-9.]* s, accuracy 0.75, loss 0.7, f1 not found$' out
    grep -qx '\[2/2\] toy_big_002 started' out
    grep -q '^tare: registry models_config.json (beside the settings)$' <(sed "s/^$NAME/tare/" err)
}

@test "--json gives events as JSON lines and nothing else" {
    need_python
    two_runs
    "$TARE" run settings.json --json > events 2> err
    python3 - <<'END'
import json
events = [json.loads(line) for line in open("events")]
kinds = [event["type"] for event in events]
assert kinds[0] == "session_started" and kinds[-1] == "session_ended", kinds
assert kinds.count("experiment_started") == kinds.count("experiment_ended") == 2
ended = [event for event in events if event["type"] == "experiment_ended"]
assert [event["experiment"] for event in ended] == [1, 2]
assert all(event["data"]["metrics"]["accuracy"] == 0.75 for event in ended)
assert all(event["data"]["metrics"]["f1"] is None for event in ended)
END
}

@test "-o puts the run elsewhere, and a folder that is taken is left alone" {
    idle_machine
    two_runs
    run "$TARE" run settings.json -q -o deep/er
    [ "$status" -eq 0 ]
    [ "$(ls deep/er | wc -l)" -eq 1 ]
    # A clock that stands still: every name of this and the next minutes is taken.
    need_python
    python3 - <<'END'
import datetime, os
now = datetime.datetime.now()
for second in range(-5, 600):
    os.makedirs("taken/run_" + (now + datetime.timedelta(seconds=second)).strftime("%Y%m%d_%H%M%S"))
END
    run "$TARE" run settings.json -q -o taken
    [ "$status" -eq 0 ]
    [[ "${lines[-1]}" =~ ^results:\ taken/run_[0-9]+_[0-9]+_2$ ]]
}

@test "a results folder that cannot be made is a broken run, told with its path" {
    two_runs
    touch results
    run --separate-stderr "$TARE" run settings.json
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"error: "*"results"* ]]
}

@test "the registry is looked for in its places, in their order" {
    make_trainer default
    make_registry
    mkdir -p beside mutation config named
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    mv settings.json beside/
    for place in mutation config named beside; do
        sed 's|"path": "repo"|"path": "../repo"|' models_config.json > $place/models_config.json
    done
    which_registry() { "$TARE" run --dry-run "$@" 2>&1 > /dev/null | sed -n "s/^$NAME: registry //p"; }
    found=$(which_registry beside/settings.json -c named/models_config.json)
    [ "$found" = "named/models_config.json (given by --config)" ]
    sed 's|^{|{"registry": "../named/models_config.json", |' beside/settings.json > beside/naming.json
    [[ "$(which_registry beside/naming.json)" == *"named/models_config.json (named in the settings)" ]]
    [[ "$(which_registry beside/settings.json)" == *"beside/models_config.json (beside the settings)" ]]
    rm beside/models_config.json
    [ "$(which_registry beside/settings.json)" = "mutation/models_config.json (in the working folder)" ]
    rm mutation/models_config.json
    [ "$(which_registry beside/settings.json)" = "models_config.json (in the working folder)" ]
    rm models_config.json
    [ "$(which_registry beside/settings.json)" = "config/models_config.json (in the working folder)" ]
}

@test "registry.json, as the README calls it, is found by every command that reads a registry" {
    make_trainer default
    make_registry
    mv models_config.json registry.json
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    told="$NAME: registry registry.json (in the working folder)"
    beside="$NAME: registry registry.json (beside the settings)"
    says() { # LINE COMMAND...
        local line=$1
        shift
        "$TARE" "$@" > said 2>&1 || true
        grep -qxF -- "$line" said || { echo "$*:"; cat said; return 1; }
    }
    says "$told" list
    says "$told" list toy
    says "$told" list --check
    says "$told" list --check toy
    says "$told" run --list
    says "$told" run -r toy -m small --dry-run
    says "$told" run -r toy -m small
    says "$told" feasibility --plan --gpu-memory 8GiB
    says "$beside" run settings.json --dry-run
    says "$beside" run settings.json
    says "$beside" list settings.json
    says "$beside" list --check settings.json
    says "$beside" submit settings.json --dry-run
    says "$beside" feasibility settings.json --predict-only --containment sweep
    # Where both are, the study's name is the first.
    cp registry.json models_config.json
    says "$NAME: registry models_config.json (beside the settings)" run settings.json --dry-run
    mkdir elsewhere
    mv registry.json elsewhere/
    rm models_config.json
    says "$NAME: registry elsewhere/registry.json (given by --config)" list -c elsewhere/registry.json
}

@test "a registry that the settings name and that is not there is told with both places" {
    make_trainer default
    make_registry
    mkdir below
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}' ', "registry": "mine.json"'
    mv settings.json below/
    run "$TARE" run below/settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" == *"below/settings.json:2:"*": error: the registry that the settings name is not there "\
"(looked for below/mine.json, mine.json); say which by --config REGISTRY.json (at \$.registry)"* ]]
}

@test "combinations of historical CSVs are not drawn again" {
    toy
    # All but one of the optimizers other than the default stand in the history.
    make_settings '{"repo": "toy", "model": "small", "mutate": ["optimizer"]}' \
        ', "use_deduplication": true, "historical_csvs": ["history.csv", "missing.csv"]'
    cat > history.csv <<'END'
experiment_id,repository,model,training_success,hyperparam_epochs,hyperparam_learning_rate,hyperparam_optimizer
toy_small_001,toy,small,True,10,0.001,adam
END
    for seed in 1 2 3 4 5 6; do
        run --separate-stderr "$TARE" run settings.json --dry-run -s $seed
        [ "$status" -eq 0 ]
        [[ "$output" == *"  mutation: optimizer lion"* ]]
    done
    [[ "$stderr" == *"warning: "*"missing.csv"* ]]
}

@test "--containment sweep runs with what every machine has, and says that it is best effort" {
    two_runs
    run --separate-stderr "$TARE" run settings.json --containment sweep
    [ "$status" -eq 0 ]
    [[ "$output" == *"containment: best effort"* ]]
    run "$TARE" run settings.json --containment magic
    [ "$status" -eq 2 ]
    [[ "$output" == *"'magic' is none of auto, pidns, cgroup, sweep"* ]]
}

@test "--resume goes with no plan of its own, and needs a run" {
    two_runs
    run "$TARE" run --resume results/run_1 -s 5
    [ "$status" -eq 2 ]
    [[ "$output" == *"--seed does not go with --resume"* ]]
    run "$TARE" run settings.json --resume results/run_1
    [ "$status" -eq 2 ]
    run "$TARE" run --resume results/run_1
    [ "$status" -eq 2 ]
    [[ "$output" == *"results/run_1"* ]]
}

@test "an interrupted run says how to go on, and that command finishes it" {
    make_trainer <<'END'
#!/bin/sh
[ -e go-on ] || { touch started; while [ ! -e go-on ]; do sleep 0.1; done; }
echo "accuracy: 0.5"
END
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2}'
    start_program run settings.json
    wait_until test -e repo/started
    kill -INT "$PID"
    end_program
    [ "$CODE" -eq 130 ]
    command=$(sed -n 's/^to run the 2 left: //p' out)
    [ "$command" = "$NAME run --resume $(run_folder)" ]
    touch repo/go-on
    run "$TARE" ${command#"$NAME "}
    [ "$status" -eq 0 ]
    [[ "$output" == *"2 experiments, 2 left; results in $(run_folder)"* ]]
    [ "$(summary_column "$(run_folder)" training_success)" = $'True\nTrue' ]
    [ "$(summary_column "$(run_folder)" experiment_id)" = $'toy_small_001\ntoy_small_002' ]
}

@test "a closing table that cannot be written is told and ends with 3, and the results are as good as they were" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    two_runs
    code=0
    "$TARE" run settings.json > /dev/full 2> said || code=$?
    [ "$code" -eq 3 ]
    grep -qx "$NAME: error: cannot write to standard output: No space left on device" said
    [ "$(summary_column "$(run_folder)" training_success)" = $'True\nTrue' ]
}

@test "a reader of the progress that goes away does not end the run" {
    two_runs
    "$TARE" run settings.json 2> err | head -1 > first
    wait_until grep -qs toy_big_002 results/run_*/summary.csv
    [ "$(summary_column "$(run_folder)" training_success)" = $'True\nTrue' ]
}
