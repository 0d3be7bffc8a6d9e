#!/usr/bin/env bats
# latest: the newest run in ./results, for every command that reads a run.
bats_require_minimum_version 1.5.0

load runs

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# Two runs; which is newer their names say.
two_runs() {
    job 'echo "loss 0.5"'
    settings 2
    tare_run -q
    mv results/run_* results/run_20200101_000000
    settings 3
    tare_run -q
    mv results/run_202[1-9]* results/run_20200101_000000_2
    NEWEST=results/run_20200101_000000_2
}

@test "latest is the newest run in results for every command that reads one; ./latest is a folder of that name" {
    two_runs
    run "$TARE" report latest
    [ "$status" -eq 0 ]
    is "$output" "$NEWEST/report.html"
    local words
    for words in "audit" "stats" "export" "audit --json"; do
        is "$("$TARE" $words latest)" "$("$TARE" $words $NEWEST)"
        [ "$("$TARE" $words latest)" != "$("$TARE" $words results/run_20200101_000000)" ]
    done
    is "$("$TARE" compare latest results/run_20200101_000000 2>&1)" "$("$TARE" compare $NEWEST results/run_20200101_000000 2>&1)"
    is "$("$TARE" compare latest:n=1 $NEWEST:n=2 2>&1)" "$("$TARE" compare $NEWEST:n=1 $NEWEST:n=2 2>&1)"
    for words in "audit" "stats" "export"; do
        is "$("$TARE" $words)" "$("$TARE" $words $NEWEST)"
    done
    is "$("$TARE" report)" "$NEWEST/report.html"
    echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" >>"$NEWEST/repo_net_001/training.log"
    is "$("$TARE" oom latest)" "$("$TARE" oom $NEWEST)"
    run "$TARE" run --resume latest
    [ "$status" -eq 0 ]
    [[ "$output" == *"3 experiments, 0 left; results in $NEWEST"* ]]
    run "$TARE" run --rerun repo_net_001 latest
    [[ "$output" == *"3 experiments, 1 to repeat (1 named); results in $NEWEST"* ]]
    run "$TARE" run --rerun-contaminated latest
    [[ "$output" == *" $NEWEST"* ]]
    run "$TARE" collect latest
    [ "$status" -eq 3 ]
    [[ "$output" == *"$NEWEST"* ]]
    mv results/run_20200101_000000 latest
    run "$TARE" report ./latest
    is "$output" "./latest/report.html"
    run "$TARE" report latest
    is "$output" "$NEWEST/report.html"
}

@test "latest is no link, no file and no folder of another name; where there is no run, that is told" {
    two_runs
    mkdir elsewhere results/run_about_it results/run_20990101_000000x results/bench_20990101_000000
    mv results/run_20200101_000000 elsewhere/run
    ln -s "$WORK/elsewhere/run" results/run_20990101_000000
    touch results/run_20990102_000000
    run "$TARE" report latest
    is "$output" "$NEWEST/report.html"
    rm -r "$NEWEST"
    local words
    for words in "report" "audit" "stats" "export" "collect" "compare latest" "oom"; do
        run "$TARE" $words latest
        [ "$status" -eq 3 ] || { echo "$words: $status"; return 1; }
        [[ "$output" == *"latest: there is no run in $PWD/results; say which folder it is (one called latest is ./latest)"* ]]
    done
    run "$TARE" audit
    [ "$status" -eq 3 ]
    [[ "$output" == *"latest: there is no run in $PWD/results"* ]]
    run "$TARE" run --resume latest
    [ "$status" -eq 2 ]
    [[ "$output" == *"latest: there is no run in "* ]]
}

@test "memory latest is the snapshot of the newest run, where it has one" {
    two_runs
    run -2 "$TARE" memory latest
    [[ "$output" == *"latest: no experiment of $NEWEST has a memory_snapshot.pickle"* ]]
    cp "$ROOT/tests/data/oom_texts/README.md" "$NEWEST/repo_net_001/memory_snapshot.pickle"
    run -2 "$TARE" memory latest
    is "$output" "$("$TARE" memory "$NEWEST/repo_net_001/memory_snapshot.pickle" 2>&1)"
    ln -s ../repo_net_001/memory_snapshot.pickle "$NEWEST/repo_net_002/memory_snapshot.pickle"
    run -2 "$TARE" memory latest
    is "$output" "$("$TARE" memory "$NEWEST/repo_net_001/memory_snapshot.pickle" 2>&1)"
    cp "$NEWEST/repo_net_001/memory_snapshot.pickle" "$NEWEST/repo_net_003/"
    run -2 "$TARE" memory latest
    [[ "$output" == *"latest: $NEWEST has 2 snapshots; name one of $NEWEST/repo_net_001/memory_snapshot.pickle, $NEWEST/repo_net_003/memory_snapshot.pickle"* ]]
}
