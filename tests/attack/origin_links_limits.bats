#!/usr/bin/env bats
# Requests of other origins, links planted where tables go, a training that removes its log, and limits under which the program itself runs.
load ../cli/serve

# finished SCRIPT: a run of one experiment without a GPU.
finished() {
    unset TARE_NVML
    job "$1"
    settings 1
    tare_run -q
}

@test "an Origin opens nothing: without the token a request is refused, and no answer is for another origin" {
    finished 'echo loss 0.5'
    serve results
    client '
port = str(parts.port)
for origin in ("evil://localhost:" + port, "http://localhost:" + port, "null", "http://evil.example"):
    for method in ("GET", "OPTIONS", "POST"):
        assert ask("/api/runs", method, token="", Origin=origin).status == 401, (origin, method)
    answer = ask("/api/runs", Origin=origin)
    assert answer.status == 200 and "Access-Control-Allow-Origin" not in answer.headers, (origin, answer.headers)
'
}

@test "export -o DIR --force replaces links planted in DIR, and writes through none" {
    finished 'echo loss 0.5'
    mkdir tables
    for name in experiments hyperparameters metrics evidence epochs wide; do
        echo precious >"precious.$name"
        ln -s "../precious.$name" "tables/$name.csv"
    done
    echo '{"files": {"secret": 1}}' >precious.record
    ln -s ../precious.record tables/.tare-written.json
    "$TARE" export "$(run_dir)" -o tables && return 1
    "$TARE" export "$(run_dir)" -o tables --force
    for name in experiments hyperparameters metrics evidence epochs wide; do
        is "$(cat "precious.$name")" precious
        [ ! -L "tables/$name.csv" ]
    done
    grep -q repo_net_001 tables/experiments.csv
    [ ! -L tables/.tare-written.json ]
    is "$(grep -c secret tables/.tare-written.json)" 0
    is "$(cat precious.record)" '{"files": {"secret": 1}}'
}

@test "a training that removes, replaces or cuts its log makes its metrics unverified; one that leaves it alone does not" {
    unset TARE_NVML
    job 'log=$TARE_RUN_DIR/$TARE_EXPERIMENT/training.log
until grep -q "loss 0.5" "$log"; do sleep 0.05; done 2>/dev/null &
echo loss 0.5
wait
case $TARE_EXPERIMENT in
*_001) rm "$log" ;;
*_002) cp "$log" copy && mv copy "$log" ;;
*_003) : >"$log" ;;
*_004) rm "${log%.log}.times.csv" ;;
esac
echo end'
    settings 5
    tare_run -q
    for n in 1 2 3 4; do
        text=$(events evidence $n | grep log_changed)
        case $n in
        1) [[ $text == *'training.log was removed'* ]] ;;
        2) [[ $text == *'training.log was replaced'* ]] ;;
        3) [[ $text == *'training.log has 4 bytes, 13 were written'* ]] ;;
        4) [[ $text == *'training.times.csv was removed'* ]] ;;
        esac
    done
    is "$(events evidence 5 | grep -c log_changed)" 0
    is "$(summary training_success)" $'True\nTrue\nTrue\nTrue\nTrue'
    is "$(summary verdict | head -n 4 | sort -u)" unverified
    "$TARE" audit "$(run_dir)" | grep -q 'training.log was removed'
}

@test "under a limit on the size of files every command ends with a message that names it" {
    finished 'echo loss 0.5'
    run=$(run_dir)
    for command in "run settings.json -c registry.json -o more -q" "export $run -o tables --force" "audit $run --write -o audited" "report $run -o page.html"; do
        status=0
        # shellcheck disable=SC2086 # words
        (ulimit -f 1; exec "$TARE" $command) >out 2>err || status=$?
        cat err
        is "$command: $status" "$command: 3"
        grep -q 'ulimit -f' err
    done
}

@test "under a limit on the stack that is too small nothing begins, and the message names it" {
    finished 'echo loss 0.5'
    for size in 64 128 512; do
        status=0
        (ulimit -s $size; exec "$TARE" run settings.json -c registry.json -o more) >out 2>&1 || status=$?
        cat out
        is "$status" 3
        is "$(cat out)" "$NAME: error: the limit on the stack is $size KiB, and this program needs 1024: ulimit -s 8192"
        [ ! -e more ]
    done
    (ulimit -s 1024; exec "$TARE" run settings.json -c registry.json -o more -q)
}

@test "audit and methods say of no file that it was not changed" {
    finished 'echo loss 0.5'
    run=$(run_dir)
    python3 -c 'import json, sys; path = sys.argv[1]; machine = json.load(open(path)); machine["host"] = "another"; json.dump(machine, open(path, "w"))' "$run/machine.json"
    { "$TARE" audit "$run"; "$TARE" report --methods "$run"; } >out
    if grep -iE 'intact|unchanged|not changed|last hash' out; then false; fi
}
