#!/usr/bin/env bats
# What a person does wrong, and what is said to it: the place, the reason, the mend.

load helpers

# One finished run of two experiments in results/run_1, without pauses.
make_run() {
    make_trainer default
    make_registry
    cat > settings.json <<'END'
{"experiments": [{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}}}
END
    "$TARE" run settings.json -q -o made > closing 2>&1 || { cat closing; return 1; }
    mkdir results
    mv made/run_* results/run_1
}

@test "the version is told however it is asked for" {
    for words in --version -V version; do
        [ "$("$TARE" $words)" = "$NAME $(cat "$ROOT/VERSION")" ]
    done
    run "$TARE" --verison
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown option --verison; did you mean '--version'?"* ]]
}

@test "help about a command that is none names the nearest" {
    run "$TARE" help runn
    [ "$status" -eq 2 ]
    [[ "$output" == *"there is no command 'runn'; did you mean 'run'?"* ]]
}

@test "a number that is too large is told the bounds, and not that it is none" {
    run "$TARE" run -r toy -m small -n 99999999999999999999
    [ "$status" -eq 2 ]
    [[ "$output" == *"-n: 99999999999999999999 is not within 0 .. 1000000"* ]]
    run "$TARE" run -r toy -m small -n 1e3
    [[ "$output" == *"-n: '1e3' is not an integer"* ]]
    run "$TARE" measure --for 400d
    [[ "$output" == *"--for: 400d is not within 0.1 .. 31536000 seconds"* ]]
}

@test "an option of sbatch before the two dashes is told where it stands" {
    run "$TARE" submit settings.json --gres=gpu:1
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown option --gres=gpu:1; options of sbatch come behind --"* ]]
    run "$TARE" submit settings.json --dryrun
    [[ "$output" == *"unknown option --dryrun; did you mean '--dry-run'?"* ]]
}

@test "settings that are not there are the only mistake told, not the registry that may lie beside them" {
    run "$TARE" run nowhere.json
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "nowhere.json: error: open nowhere.json: No such file or directory" ]
    [ "${lines[1]}" = "1 error; nothing was run" ]
}

@test "without a registry it is said where one was looked for, and how to name one" {
    make_settings '{"repo": "toy", "model": "small"}'
    run "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"there is no registry (looked for models_config.json, registry.json, mutation/models_config.json,"* ]]
    # From elsewhere the places beside the settings are others.
    mkdir below
    mv settings.json below/
    run "$TARE" run below/settings.json
    [ "$status" -eq 2 ]
    places="below/models_config.json, below/registry.json, mutation/models_config.json, mutation/registry.json, "
    places+="models_config.json, registry.json, config/models_config.json, config/registry.json, "
    [[ "$output" == *"there is no registry (looked for $places"*"/share/"*"); say which by --config REGISTRY.json"* ]]
    [[ "$output" == *"--config REGISTRY.json"* ]]
}

@test "a registry in the settings' place is recognised" {
    make_trainer default
    make_registry
    run "$TARE" run models_config.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"models_config.json:1:1: error: this is a registry, not settings"* ]]
    [[ "$output" == *"1 error; nothing was run"* ]]
}

@test "settings that an editor saved as UTF-16 are told what to do" {
    python3 -c 'open("settings.json", "w", encoding="utf-16").write("{}")'
    run "$TARE" run settings.json
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "settings.json:1:1: error: it is UTF-16; save it as UTF-8" ]
}

@test "a byte order mark and Windows line ends are read" {
    make_trainer default
    make_registry
    printf '\xef\xbb\xbf{"experiments":\r\n[{"repo": "toy", "model": "small", "mode": "default"}]}\r\n' > settings.json
    run "$TARE" run settings.json --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == *"[1/1] toy_small_001"* ]]
}

@test "a run's folder in the settings' place is told the two ways to go on with it" {
    make_run
    run "$TARE" run results/run_1
    [ "$status" -eq 2 ]
    [[ "$output" == *"results/run_1 is the folder of a run: --resume results/run_1 "* ]]
    [[ "$output" == *"--rerun-contaminated results/run_1 "* ]]
}

@test "a place without results is told what it is instead" {
    make_run
    run "$TARE" audit results
    [ "$status" -eq 3 ]
    [ "$output" = "$NAME: error: results holds no results itself, but results/run_1 does" ]
    cp -r results/run_1 results/run_2
    run "$TARE" stats results/
    [[ "$output" == *"but its folders do: say which, or results/*" ]]
    run "$TARE" audit results/run_1/summary.csv
    [[ "$output" == *"results/run_1/summary.csv is a file; the results are its folder: results/run_1" ]]
    run "$TARE" export results/run_1/toy_small_001
    [[ "$output" == *"results/run_1/toy_small_001 is one experiment; "* ]]
    mkdir empty
    run "$TARE" audit empty
    [[ "$output" == *"empty holds no results: there is neither run.db nor summary.csv"* ]]
}

@test "of several folders the damaged one is named" {
    make_run
    cp -r results/run_1 results/run_2
    truncate -s 100 results/run_2/run.db
    rm -f results/run_2/run.db-wal
    run "$TARE" audit results/run_1 results/run_2
    [ "$status" -eq 3 ]
    [[ "$output" == "$NAME: error: results/run_2: run.db: "* ]]
}

@test "a comparison by a key or value that nothing has names those that there are" {
    make_run
    run "$TARE" compare results/run_1 results/run_1:modle=small
    [ "$status" -eq 2 ]
    [[ "$output" == *"nothing there has a 'modle' (there are repo, model, mode, "*"; did you mean 'model'?" ]]
    run "$TARE" compare results/run_1 results/run_1:model=big
    [ "$status" -eq 2 ]
    [[ "$output" == *"nothing there has model=big (there are small)" ]]
    run "$TARE" compare results/run_1 results/run_1:epochs=11
    [[ "$output" == *"nothing there has epochs=11 (there are 10)" ]]
}

@test "what has not ended is not counted as failed" {
    make_run
    python3 - <<'END'
import sqlite3
db = sqlite3.connect("results/run_1/run.db")
db.execute("UPDATE experiments SET state = 'planned', outcome = NULL WHERE number = 2")
db.commit()
END
    run "$TARE" stats results/run_1 --only usable
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = "2 experiments: 1 counted, 1 not ended" ]
    [ "$("$TARE" stats results/run_1 --only usable --json | python3 -c '
import json, sys
group = json.load(sys.stdin)["groups"][0]
print(group["n"], group["failed"], group["not_ended"])')" = "1 0 1" ]
}

@test "where the figures of a command cannot be kept, it is not started" {
    mkdir folder
    for file in nowhere/figures.json folder; do
        run "$TARE" exec --json "$file" touch started
        [ "$status" -eq 125 ]
        [[ "$output" == *"nothing was run"* ]]
        [ ! -e started ]
    done
}

@test "figures that could not be written after all are printed" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    run --separate-stderr "$TARE" exec --energy --json /dev/full true
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"the figures are not kept: "*"No space left on device"* ]]
    [[ "$stderr" == *"Measured for "* ]]
}

@test "a page is not written over a folder" {
    make_run
    mkdir pages
    run "$TARE" report results/run_1 -o pages
    [ "$status" -eq 3 ]
    [[ "$output" == *"write pages: it is a folder: name a file in it, such as pages/out" ]]
}

@test "output that cannot be written is a failure of its own, also when it is long" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    make_run
    python3 -c '
import json
entry = {"repo": "toy", "model": "small", "mutate": "all", "runs_per_config": 300}
json.dump({"experiments": [entry], "seed": 1}, open("long.json", "w"))'
    for words in "--help" "run --help" "run long.json --dry-run" "list" "audit results/run_1" "stats results/run_1" \
        "export results/run_1" "export results/run_1 --format jsonl" "compare results/run_1 results/run_1 --only usable"; do
        # shellcheck disable=SC2086
        run --separate-stderr bash -c '"$0" "$@" > /dev/full' "$TARE" $words
        [ "$status" -eq 3 ] || { echo "$words: $status"; false; }
        [[ "$stderr" == *"cannot write to standard output: No space left on device"* ]]
    done
}

@test "a reader that has seen enough is no mistake" {
    make_run
    for words in "audit results/run_1" "export results/run_1" "run settings.json --dry-run"; do
        # shellcheck disable=SC2086
        run --separate-stderr bash -c '"$0" "$@" | true; exit ${PIPESTATUS[0]}' "$TARE" $words
        [ "$status" -eq 0 ] || { echo "$words: $status"; false; }
        [[ "$stderr" != *"cannot write"* ]]
    done
}

@test "a name with control characters reaches no terminal as they are" {
    run "$TARE" $'\e[31mred\nline'
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "$NAME: error: there is no command '?[31mred?line'" ]
}
