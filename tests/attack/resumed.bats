# Who hands over a run's folder can have written any process into its journal: boot id and start times are for everybody to read.

load bystander

# interrupted: a run whose runner was killed in its training, $RUN, which nobody's state folder names.
interrupted() {
    job '[ -e "'"$WORK"'/again" ] || { touch "'"$WORK"'/up"; sleep 1000; }; echo loss 0.5'
    settings 1
    start_program run settings.json -c registry.json -o results
    wait_until test -e up
    kill -KILL "$PID"
    wait "$PID" || true
    touch again
    RUN=$(run_dir)
    rm -rf "$XDG_STATE_HOME/$NAME"
}

# journal_names PID TAG CGROUP: in place of the job that the run's journal holds.
journal_names() {
    python3 - "$RUN" "$1" "$(start_time "$1")" "$2" "$3" <<'END2'
import json, sqlite3, sys
folder, pid, start, tag, cgroup = sys.argv[1:]
facts = {"pid": int(pid), "start_time": int(start), "tag": tag, "cgroup": cgroup or None}
with sqlite3.connect(folder + "/run.db") as db:
    for seq, data in db.execute("SELECT seq, data FROM events WHERE type = 'job_born'").fetchall():
        db.execute("UPDATE events SET data = ? WHERE seq = ?", (json.dumps(json.loads(data) | facts, separators=(",", ":")), seq))
    changed = db.execute("UPDATE jobs SET pid = :pid, start_time = :start_time, tag = :tag, cgroup = :cgroup", facts).rowcount
lines = [json.loads(line) for line in open(folder + "/events.jsonl")]
with open(folder + "/events.jsonl", "w") as out:
    for line in lines:
        if line["type"] == "job_born":
            line["data"].update(facts)
        out.write(json.dumps(line, separators=(",", ":")) + "\n")
assert changed == 1, changed
END2
}

@test "a resume says which process the journal names without proof, leaves it alone, and does its own work" {
    interrupted
    bystander
    journal_names "$BYSTANDER" 0123456789abcdef0123456789abcdef ""
    run timeout 60 "$TARE" run --resume "$RUN"
    is "$status" 0
    [[ "$output" == *"pid $BYSTANDER (python3), which the journal names, was left alone: nothing proves that it is of the job"* ]]
    unharmed
    is "$(summary training_success)" True
}

@test "root is told whose folder it resumes" {
    [ "$(id -u)" -eq 0 ] || skip "only root can resume another user's folder"
    interrupted
    chown -R 65533 "$RUN"
    run timeout 60 "$TARE" run --resume "$RUN"
    [[ "$output" == *"$RUN belongs to user 65533: what it says is run as root"* ]]
}

@test "a resume leaves alone the job of a run that lives, in each containment, whatever the journal names of it" {
    local mode pid first
    interrupted
    first=$RUN
    mv results first
    rm up
    for mode in auto cgroup sweep; do
        rm -rf results up go again
        "$TARE" exec --containment $mode true || continue
        other_run $mode
        touch again
        for pid in "$PID" "$INIT" "$TRAINING"; do
            rm -rf copy
            cp -a "first/${first##*/}" copy
            # The second time round the other run's own file is gone.
            RUN=$WORK/copy journal_names "$pid" "$TAG" "$LEAF"
            timeout 60 "$TARE" run --resume copy
            rm -rf "$XDG_STATE_HOME/$NAME"
            for pid in "$PID" "$INIT" "$TRAINING"; do lives "$pid"; done
        done
        ends_well
    done
}
