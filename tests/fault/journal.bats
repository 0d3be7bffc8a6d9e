#!/usr/bin/env bats
# The journal on a disk that is full, and a runner that dies in the middle of writing it.

load ../cli/runs

@test "the runner killed at each write and sync of its journal: each experiment is recorded and done once" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the library that kills at a point goes in front of the sanitizers' runtime"
    need_python
    preload=${BUILD_DIR:-$ROOT/build}/tests/fault/libjournal_fault.so
    [ -e "$preload" ] || skip "there is no $preload"
    run python3 "$BATS_TEST_DIRNAME/journal_points.py" "$TARE" "$preload" "$WORK"
    echo "$output"
    [ "$status" -eq 0 ]
}

# What both disks show: the run breaks off with the way to go on, what had ended is readable, and a resume finishes it.
broke_off() {
    [ "$status" -eq 3 ]
    [[ "$output" == *"--resume"* ]]
    [[ "$output" != *"Sanitizer"* ]]
    is "$(python3 -c '
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(db.execute("PRAGMA integrity_check").fetchone()[0])' "$1/run.db")" ok
}

@test "a file that may not grow any more breaks the run off; with room again it is finished" {
    need_python
    command -v prlimit >/dev/null || skip "prlimit is not installed"
    job 'echo "$TARE_EXPERIMENT" >>../tries
[ -e ../room ] || case $TARE_EXPERIMENT in *_002) head -c 2000000 /dev/zero; sleep 1000;; esac'
    settings 3
    run prlimit --fsize=1000000:unlimited "$TARE" run settings.json -c registry.json -o results
    echo "$output"
    [[ "$output" == *"training.log"* ]]
    cp -r "$(run_dir)" copy
    broke_off copy
    is "$(event_value experiment_ended 1 outcome)" succeeded
    touch room
    run "$TARE" run --resume "$(run_dir)"
    echo "$output"
    [ "$status" -eq 0 ]
    is "$(cat tries)" "repo_net_001
repo_net_002
repo_net_002
repo_net_003"
    is "$(summary training_success)" "True
True
True"
}

# Runs in a mount namespace of its own, in $WORK, with the program as $1: a disk of 600 KiB that the logs fill; then more.
on_a_small_disk() {
    cat <<'END_OF_SCRIPT'
mkdir results && mount -t tmpfs -o size=600k tmpfs results || exit 77
"$1" run settings.json -c registry.json -o results; code=$?
[ $code -eq 3 ] || { echo "full: exit code $code"; exit 1; }
mkdir copy && cp -r results/run_*/. copy || exit 1
mount -o remount,size=50m results || exit 1
echo resuming
"$1" run --resume results/run_*; code=$?
[ $code -eq 0 ] || { echo "resumed: exit code $code"; exit 1; }
cp -r results/run_* finished || exit 1
END_OF_SCRIPT
}

@test "a full disk breaks the run off; with room again it is finished" {
    need_python
    [ "$(id -u)" -eq 0 ] || skip "only root can mount a small disk"
    job 'echo "$TARE_EXPERIMENT" >>../tries; yes | head -c 60000'
    settings 20
    on_a_small_disk >script
    unshare --mount true 2>/dev/null || skip "this machine gives no mount namespace"
    run unshare --mount sh script "$TARE"
    echo "$output"
    [ "$status" -ne 77 ] || skip "nothing can be mounted here"
    [ "$status" -eq 0 ]
    status=3
    output=${output%%resuming*}
    broke_off copy
    python3 - finished/summary.csv finished/events.jsonl tries <<'END_OF_CHECK'
import collections, csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [row["experiment_id"] for row in rows] == [f"repo_net_{n:03d}" for n in range(1, 21)], rows
assert all(row["training_success"] == "True" for row in rows), rows
ended = collections.Counter(event["experiment"] for event in map(json.loads, open(sys.argv[2]))
                            if event["type"] == "experiment_ended" and event["data"]["outcome"] == "succeeded")
assert ended == {n: 1 for n in range(1, 21)}, ended
# Only the one that the full disk met was done twice.
tries = collections.Counter(open(sys.argv[3]).read().split())
assert sorted(tries.values())[:-1] == [1] * 19 and max(tries.values()) <= 2, tries
END_OF_CHECK
}

@test "a run whose folder is deleted ends, says so once, and offers nothing to go on with" {
    job 'touch ../began; until [ -e ../deleted ]; do sleep 0.1; done'
    settings 3
    start_run
    wait_until test -e began
    rm -r results
    touch deleted
    end_program || true
    is "$(grep -c 'was deleted while the run wrote to it: what the run recorded is lost' err)" 1
    is "$(grep -c 'error:' err)" 1
    run ! grep -E -- '--resume|--rerun|again:|report:' out err
    [ ! -e results ]
}
