# What a training without namespaces (--containment sweep, cgroup) changes of its run's records: it is found at the run's end, made anew from
# what the runner kept, recorded as evidence, and the run ends with 3.

load ../cli/runs

# attack MODE SCRIPT [OPTION...]: of three trainings the second does what SCRIPT says. RUN: the run's folder, OTHER: the first one's.
attack() {
    local mode=$1 script=$2
    shift 2
    job "export RUN=\$TARE_RUN_DIR OTHER=\$TARE_RUN_DIR/repo_net_001
[ \"\$TARE_EXPERIMENT\" != repo_net_002 ] || { $script
}
echo loss 0.5"
    settings 3
    run --separate-stderr tare_run --containment "$mode" "$@"
    CODE=$status OUT=$output ERR=$stderr
    DIR=$(run_dir)
    printf '%s\n' "$OUT" "$ERR"
}

sql() { sqlite3 -bail "$DIR/run.db" "$1"; }

# write SQL: for SCRIPT.
write() { echo "sqlite3 -bail -cmd '.timeout 60000' \$RUN/run.db \"$1\""; }

# is_restored WHAT: 3, the sentence names WHAT, all figures are those of the trainings, in every file.
is_restored() {
    is "$CODE" 3
    [[ $ERR == *"another program changed records of this run: "*"$1"* ]]
    [[ $ERR == *"; they were made anew from what the runner had kept"* ]]
    is "$(sql "SELECT value FROM experiment_metrics")" $'0.5\n0.5\n0.5'
    is "$(sql "SELECT outcome FROM experiments")" $'succeeded\nsucceeded\nsucceeded'
    is "$(sql "PRAGMA integrity_check")" ok
    is "$(summary perf_loss)" $'0.5\n0.5\n0.5'
    for number in 1 2 3; do is "$(json_at "$DIR/repo_net_00$number/experiment.json" $.performance_metrics.loss)" 0.5; done
    [[ $(sql "SELECT text FROM evidence WHERE kind = 'records_changed'") == *"$1"* ]]
    is "$(events_are_numbered)" yes
    [[ $OUT != *0.001* ]]
    [ ! -e "$DIR/run.db-wal" ]
}

# Whether the lines of events.jsonl are the events of run.db, from 1 on without a gap.
events_are_numbered() {
    python3 - "$DIR" <<'END'
import json, sqlite3, sys
lines = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
db = sqlite3.connect(sys.argv[1] + "/run.db")
rows = db.execute("SELECT type, data FROM events ORDER BY seq").fetchall()
assert [(line["type"], line["data"]) for line in lines] == [(kind, json.loads(data)) for kind, data in rows]
print("yes")
END
}

@test "a run that others left alone has no evidence of changed records" {
    attack auto true
    is "$CODE" 0
    is "$(events_are_numbered)" yes
    is "$(events evidence | grep -c records_changed || true)" 0
}

@test "figures in run.db that a training changed are those of the trainings again (sweep)" {
    attack sweep "$(write 'update experiment_metrics set value = 0.001')"
    is_restored 'run.db (table experiment_metrics from experiment 1 on)'
}

@test "the same under cgroup" {
    "$TARE" exec --containment cgroup -- true 2>/dev/null || skip "no cgroup can be made here"
    attack cgroup "$(write 'update experiment_metrics set value = 0.001')"
    is_restored 'run.db (table experiment_metrics from experiment 1 on)'
}

@test "rows that a training deleted are there again" {
    attack sweep "$(write 'delete from experiment_metrics')
$(write 'delete from events where seq < 4')"
    is_restored 'run.db (table '
}

@test "the events in run.db and those in events.jsonl, changed alike, are what they were" {
    attack sweep "$(write "update events set data = replace(data, '0.5', '0.001')")
sed -i s/0.5/0.001/ \$RUN/events.jsonl"
    is_restored 'events.jsonl'
}

@test "bytes of run.db that were changed past SQLite are found" {
    attack sweep 'python3 - <<"END"
import os, glob
for name in glob.glob(os.environ["RUN"] + "/run.db*"):
    data = bytearray(open(name, "rb").read())
    at = data.find(b"repo_net_001", 4096)
    while at >= 0 and not name.endswith("-shm"):
        data[at:at + 12] = b"repo_net_XXX"
        at = data.find(b"repo_net_001", at + 1)
    open(name, "r+b").write(data)
END'
    is "$CODE" 3
    [[ $ERR == *"another program changed records of this run: "* ]] || [[ $ERR == *"run.db"* ]]
}

@test "an edited events.jsonl is what it was" {
    attack sweep "sed -i 's/0\.5/0.001/' \$RUN/events.jsonl"
    is_restored 'events.jsonl'
}

@test "an events.jsonl that is edited in place, emptied, or removed is what it was" {
    for script in "python3 -c 'import os; f = open(os.environ[\"RUN\"] + \"/events.jsonl\", \"r+\"); f.seek(50); f.write(\"X\")'" ': >$RUN/events.jsonl' 'rm $RUN/events.jsonl'; do
        rm -rf results
        attack sweep "$script"
        is_restored 'events.jsonl'
    done
}

@test "another experiment's experiment.json is what it was" {
    attack sweep "sed -i 's/0\.5/0.001/' \$OTHER/experiment.json"
    is_restored 'repo_net_001/experiment.json'
}

@test "another experiment's folder that was removed has its experiment.json again" {
    attack sweep 'rm -r $OTHER'
    is_restored 'repo_net_001/experiment.json'
}

@test "rows of summary.csv are what they were" {
    attack sweep "sed -i 's/0\.5/0.001/' \$RUN/summary.csv"
    is_restored 'summary.csv'
}

@test "settings.json and registry.json are what they were" {
    attack sweep 'echo "{}" >$RUN/settings.json; rm $RUN/registry.json'
    is_restored 'settings.json, registry.json'
    cmp settings.json "$DIR/settings.json"
}

@test "a run.db that a training removed is made anew, with all experiments" {
    attack sweep 'rm $RUN/run.db'
    is_restored 'run.db (removed)'
}

@test "the same with its -wal and -shm" {
    attack sweep 'rm $RUN/run.db*'
    is_restored 'run.db (removed)'
}

@test "a run.db that the last training removed is made anew" {
    job '[ "$TARE_EXPERIMENT" != repo_net_003 ] || rm "$TARE_RUN_DIR/run.db"
echo loss 0.5'
    settings 3
    run --separate-stderr tare_run --containment sweep
    CODE=$status OUT=$output ERR=$stderr DIR=$(run_dir)
    is_restored 'run.db (removed)'
}

@test "a run.db that was replaced by an empty file, by another file, or by another database is the run's again" {
    # Each at once, so that it is never gone.
    for script in ': >$RUN/new; mv $RUN/new $RUN/run.db' 'echo text >$RUN/new; mv $RUN/new $RUN/run.db' \
        'cp $RUN/run.db $RUN/copy; mv $RUN/copy $RUN/run.db'; do
        rm -rf results
        attack sweep "$script"
        is_restored 'run.db (replaced)'
    done
    # For a moment there is nothing: either word is right.
    rm -rf results
    attack sweep 'rm $RUN/run.db; mkdir $RUN/run.db'
    is_restored 'run.db (re'
}

@test "a run.db that was replaced by a link is a file again, and what the link names is untouched" {
    echo mine >mine
    attack sweep "ln -s $WORK/mine \$RUN/link; ln \$RUN/run.db \$RUN/old; mv -T \$RUN/link \$RUN/run.db" # at once: it is never gone
    is_restored 'run.db (replaced)'
    [ ! -L "$DIR/run.db" ]
    is "$(cat mine)" mine
    rm -rf results
    attack sweep 'ln $RUN/run.db $RUN/old; ln -s old $RUN/link; mv -T $RUN/link $RUN/run.db'
    is_restored 'run.db (replaced)'
}

@test "a training that changes the records when its runner is killed changes nothing: resume makes them anew" {
    attack sweep "[ \"\$TARE_ATTEMPT\" = 2 ] || {
$(write 'update experiment_metrics set value = 0.001')
sed -i 's/0\.5/0.001/' \$OTHER/experiment.json
kill -KILL \$PPID \$(sed -n 's/^\([0-9]*\) .*/\1/p' \$RUN/run.lock)
}"
    [ "$CODE" -ne 0 ]
    run --separate-stderr "$TARE" run --resume "$DIR" --containment auto
    CODE=$status OUT=$output ERR=$stderr
    printf '%s\n' "$OUT" "$ERR"
    is_restored 'run.db (table experiment_metrics from experiment 1 on)'
}

@test "a resume says that events.jsonl and run.db tell different stories, and does not choose between them" {
    attack auto true
    sed -i '/"type":"attempt_ended"/s/0\.5/0.001/' "$DIR/events.jsonl"
    run --separate-stderr "$TARE" run --resume "$DIR"
    is "$status" 3
    [[ $stderr == *"events.jsonl (record "*" is not that of run.db), not restored: which of events.jsonl and run.db was changed is unknown"* ]]
    is "$(sql "SELECT value FROM experiment_metrics")" $'0.5\n0.5\n0.5'
    is "$(sql "SELECT count(*) FROM evidence WHERE kind = 'records_changed'")" 1
}

# 2,100 experiments are many, whether they ran or not.
@test "what a training of a large run changed in run.db is found when the run is resumed, if it was stopped" {
    job "export RUN=\$TARE_RUN_DIR
case \$TARE_EXPERIMENT in
repo_net_002) $(write 'update experiment_metrics set value = 0.001') ;;
repo_net_003) touch \"\$RUN/../begun\"; sleep 100 ;;
esac
echo loss 0.5"
    settings 2100
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -e results/begun
    DIR=$(run_dir)
    kill -TERM "$PID"
    end_program
    is "$CODE" 143
    is "$(sql "SELECT value FROM experiment_metrics WHERE experiment = 1")" 0.001
    rm results/begun
    start_program run --resume "$DIR" --containment sweep
    wait_until test -e results/begun
    kill -TERM "$PID"
    end_program
    is "$CODE" 3
    grep -qF 'run.db (table experiment_metrics from experiment 1 on)' err
    is "$(sql "SELECT value FROM experiment_metrics")" $'0.5\n0.5'
    [[ $(sql "SELECT text FROM evidence WHERE kind = 'records_changed'") == *"run.db"* ]]
}

@test "where a line of events.jsonl is not what it was, all of a large run is compared, stopped or not" {
    job "export RUN=\$TARE_RUN_DIR
case \$TARE_EXPERIMENT in
repo_net_002) $(write 'update experiment_metrics set value = 0.001')
    sed -i s/0.5/0.001/ \$RUN/events.jsonl ;;
repo_net_003) touch \"\$RUN/../begun\"; sleep 100 ;;
esac
echo loss 0.5"
    settings 2100
    start_program run settings.json -c registry.json -o results --containment sweep
    wait_until test -e results/begun
    DIR=$(run_dir)
    kill -TERM "$PID"
    end_program
    is "$CODE" 3
    is "$(sql "SELECT value FROM experiment_metrics")" $'0.5\n0.5'
}
