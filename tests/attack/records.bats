# What a training without namespaces (--containment sweep, cgroup) changes of its run's records: it is found at the run's end, made anew from
# what the runner kept, recorded as evidence, and the run ends with 3. What is changed later is found by audit.

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

# The chain as docs/reference/files.md describes it, checked by another program; prints the last hash.
chain() {
    python3 - "$DIR" <<'END'
import hashlib, json, sys
lines = open(sys.argv[1] + "/events.jsonl", "rb").read().splitlines(keepends=True)
for number, (before, line) in enumerate(zip(lines, lines[1:]), 2):
    assert json.loads(line)["before"] == hashlib.sha256(before).hexdigest(), number
assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
last = json.loads(lines[-1])
assert last["type"] == "records_closed", last
for name in ("summary.csv", "summary_safe.csv", "summary_affected.csv"):
    assert last["data"][name] == hashlib.sha256(open(sys.argv[1] + "/" + name, "rb").read()).hexdigest(), name
written = {e["experiment"]: e["data"]["experiment.json"] for e in map(json.loads, lines) if e["type"] == "files_written"}
for number in (1, 2, 3):
    file = f"{sys.argv[1]}/repo_net_{number:03d}/experiment.json"
    assert written[number] == hashlib.sha256(open(file, "rb").read()).hexdigest(), file
print(hashlib.sha256(lines[-1]).hexdigest())
END
}

# is_restored WHAT: 3, the sentence names WHAT, all figures are those of the trainings, in every file; the chain holds.
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
    [[ $OUT == *"records: last hash $(chain)"* ]]
    [[ $OUT != *0.001* ]]
    run -0 "$TARE" audit "$DIR"
    [[ $output == *"all files hold what was written; last hash $(chain)"* ]]
    [ ! -e "$DIR/run.db-wal" ]
}

# What audit says of the records.
audited() {
    "$TARE" audit --json "$DIR" >audit.json
    json_at audit.json "$.folders[0].records.$1"
}
state() { audited state; }
changed() { audited changed; }

@test "each record holds the hash of the one before, and the closing table names the last one" {
    attack auto true
    is "$CODE" 0
    [[ $OUT == *"records: last hash $(chain)"* ]]
    is "$(state)" hold
    is "$(tail -n 1 "$DIR/events.jsonl" | sha256sum | cut -d ' ' -f 1)" "$(chain)"
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

@test "what is changed after the run's end, audit finds and names" {
    attack auto true
    cp -r "$DIR" whole
    sql "update experiment_metrics set value = 0.001 where experiment = 2"
    is "$(state): $(changed)" "changed: run.db"
    for edit in 's/0\.5/0.001/ repo_net_002/experiment.json' 's/0\.5/0.001/ summary.csv' '1s/repo/repository/ summary_safe.csv' \
        '1s/repo/repository/ summary_affected.csv'; do
        rm -rf "$DIR" && cp -r whole "$DIR"
        sed -i "${edit% *}" "$DIR/${edit#* }"
        is "$(state): $(changed)" "changed: ${edit#* }"
    done
    rm -rf "$DIR" && cp -r whole "$DIR"
    sed -i '5s/"session":1/"session":2/' "$DIR/events.jsonl"
    is "$(state): $(changed)" "changed: events.jsonl (record 6, or the one before it)"
    rm -rf "$DIR" && cp -r whole "$DIR"
    echo ' ' >>"$DIR/settings.json"
    is "$(state): $(changed)" "changed: settings.json, registry.json, the plan, or the first record of events.jsonl"
    rm -rf "$DIR" && cp -r whole "$DIR"
    sed -i 5d "$DIR/events.jsonl"
    [[ $(changed) == "events.jsonl (record 5, or the one before it)"* ]]
    run -0 "$TARE" audit "$DIR"
    [[ $output == *"changed after they were written: events.jsonl"* ]]
}

@test "records of an older version are not called good" {
    attack auto true
    unchain "$DIR"
    is "$(state)" not_chained
    run -0 "$TARE" audit "$DIR"
    [[ $output == *"not chained: made by an older version"* ]]
    run -0 "$TARE" run --resume "$DIR"
}

# All of it by somebody who has read docs/reference/files.md: events, run.db and the files, and every hash anew.
@test "a chain that was rewritten as a whole holds; only the hash that was noted elsewhere tells" {
    attack auto true
    noted=$(chain)
    python3 - "$DIR" "$TARE" <<'END'
import contextlib, hashlib, json, sqlite3, subprocess, sys
run = sys.argv[1]
def forge(name):
    text = open(f"{run}/{name}").read().replace("0.5", "0.4")
    open(f"{run}/{name}", "w").write(text)
    return hashlib.sha256(text.encode()).hexdigest()
hashes = {name: forge(name) for name in ["summary.csv", "summary_safe.csv", "summary_affected.csv"] + [f"repo_net_{n:03d}/experiment.json" for n in (1, 2, 3)]}
events = [json.loads(line) for line in open(run + "/events.jsonl")]
before = None
with open(run + "/events.jsonl", "w") as out:
    for event in events:
        event["data"] = json.loads(json.dumps(event["data"]).replace("0.5", "0.4"))
        if event["type"] == "files_written":
            event["data"]["experiment.json"] = hashes[f"repo_net_{event['experiment']:03d}/experiment.json"]
        if event["type"] == "records_closed":
            event["data"] = {name: hashes.get(name, value) for name, value in event["data"].items()}
        event["before"] = before or event["before"]
        line = json.dumps(event, separators=(",", ":")) + "\n"
        before = hashlib.sha256(line.encode()).hexdigest()
        out.write(line)
END
    last() { audited last_hash; }
    is "$(state)" hold
    [ "$(last)" != "$noted" ]
}

@test "a resume goes on with the chain, and so does a repetition" {
    attack auto true
    first=$(chain)
    verdicts contaminated
    run --separate-stderr -0 "$TARE" run --rerun-contaminated "$DIR"
    [ "$(chain_from)" -gt 10 ]
    is "$(state)" hold
}

# The number of the first record that holds a hash; all behind it do.
chain_from() {
    python3 - "$DIR" <<'END'
import hashlib, json, sys
lines = open(sys.argv[1] + "/events.jsonl", "rb").read().splitlines(keepends=True)
chained = [n for n, line in enumerate(lines) if "before" in json.loads(line)]
assert chained == list(range(chained[0], len(lines)))
for n in chained:
    assert n == 0 or json.loads(lines[n])["before"] == hashlib.sha256(lines[n - 1]).hexdigest()
print(chained[0] + 1)
END
}

@test "collect tells of a task whose records were changed, and its verdict is suspect" {
    job 'echo loss 0.5'
    settings 2
    mkdir bin
    printf '#!/bin/sh\necho "4711;cluster"\n' >bin/sbatch
    printf '#!/bin/sh\necho "MaxArraySize            = 1001"\n' >bin/scontrol
    chmod +x bin/*
    PATH=$WORK/bin:$PATH "$TARE" submit settings.json -c registry.json -o results
    DIR=$(run_dir)
    "$TARE" run --task 1 "$DIR"
    "$TARE" run --task 2 "$DIR"
    sed -i 's/"loss":0\.5/"loss":0.1/' "$DIR/tasks/0002/1/events.jsonl"
    run "$TARE" collect "$DIR"
    echo "$output"
    [[ $output == *"records were changed, and its verdict is suspect: repo_net_002: tasks/0002/1: events.jsonl:"*"one of the two was changed"* ]]
    is "$(sql "SELECT experiment, kind FROM evidence WHERE kind = 'records_changed'")" "2|records_changed"
    is "$(state)" hold
}
