#!/usr/bin/env bats
# Times of a run that lives through another boot: every one belongs to its session, and what is a length stays right.

load energy

# another_boot RUN_DIR: the journal as if all of it had been written in an earlier boot of this machine, whose clock since boot
# had come to a hundred days more than this one's, and whose wall clock was an hour behind.
another_boot() {
    python3 - "$1" <<'END'
import json, os, sqlite3, sys
boot, day_ns = "11111111-2222-4333-8444-555555555555", 86400 * 10**9
ahead, behind = 100 * day_ns, 3600 * 10**9
db = sqlite3.connect(sys.argv[1] + "/run.db")
columns = {name: [row[1] for row in db.execute("PRAGMA table_info(%s)" % name)]
           for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()}
monotonic = ("monotonic_ns", "started_monotonic_ns", "ended_monotonic_ns", "job_start_ns", "job_end_ns", "t_ns", "start_ns", "end_ns")
for table, names in columns.items():
    for name in names:
        if name in monotonic:
            db.execute("UPDATE %s SET %s = %s + ?" % (table, name, name), (ahead,))
        elif name.endswith("realtime_ns"):
            db.execute("UPDATE %s SET %s = %s - ?" % (table, name, name), (behind,))
        elif name == "boot_id":
            db.execute("UPDATE %s SET boot_id = ?" % table, (boot,))

def moved(data):
    for key in ("start_ns", "end_ns", "t_ns"):
        if isinstance(data.get(key), int):
            data[key] += ahead
    if "boot_id" in data:
        data["boot_id"] = boot
    for value in data.values():
        if isinstance(value, dict):
            moved(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    moved(item)
    return data

for seq, data in db.execute("SELECT seq, data FROM events").fetchall():
    db.execute("UPDATE events SET data = ? WHERE seq = ?", (json.dumps(moved(json.loads(data)), separators=(",", ":")), seq))
for experiment, number, data in db.execute("SELECT experiment, number, energy FROM attempts WHERE energy IS NOT NULL").fetchall():
    db.execute("UPDATE attempts SET energy = ? WHERE experiment = ? AND number = ?",
               (json.dumps(moved(json.loads(data)), separators=(",", ":")), experiment, number))
db.commit()
db.close()
lines = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
with open(sys.argv[1] + "/events.jsonl", "w") as out:
    for event in lines:
        event["monotonic_ns"] += ahead
        event["realtime_ns"] -= behind
        moved(event["data"])
        out.write(json.dumps(event, separators=(",", ":")) + "\n")
END
    keep_edits "$1"
}

@test "a resume after another boot keeps the windows of both, and takes no time of one for one of the other" {
    scenario 1 'step 0 200'
    # The first experiment ends in the old boot; the second is under way when the power fails, with two epochs begun.
    job 'echo "epoch 1" >"$TARE_MARKS"; sleep 0.7; echo "epoch 2" >"$TARE_MARKS"; sleep 0.7
if [ "$TARE_EXPERIMENT" = repo_net_002 ] && [ ! -e ../again ]; then touch ../second; sleep 300; fi'
    settings 2
    start_run
    wait_until test -e second
    # The marks are in the journal.
    wait_until sh -c 'grep -c "\"experiment\":2.*\"type\":\"mark\"\|\"type\":\"mark\".*\"experiment\":2" results/run_*/events.jsonl | grep -q "^2$"'
    kill -KILL "$PID"
    end_program
    dir=$(run_dir)
    another_boot "$dir"
    cp "$dir/repo_net_001/energy/marks.csv" before.csv
    cp "$dir/repo_net_001/experiment.json" before.json
    touch again
    "$TARE" run --resume "$dir" >out 2>&1
    cmp before.csv "$dir/repo_net_001/energy/marks.csv"
    cmp before.json "$dir/repo_net_001/experiment.json"
    python3 - "$dir" <<'END'
import csv, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/run.db")
db.row_factory = sqlite3.Row
sessions = db.execute("SELECT * FROM sessions ORDER BY number").fetchall()
assert len(sessions) == 2, len(sessions)
old, new = sessions
assert old["boot_id"] == "11111111-2222-4333-8444-555555555555" != new["boot_id"], (old["boot_id"], new["boot_id"])
# Each session has both clocks at its start: what turns the one into the other, in that session.
anchors = [s["started_realtime_ns"] - s["started_monotonic_ns"] for s in sessions]
assert anchors[1] - anchors[0] > 99 * 86400 * 10**9, anchors
attempts = db.execute("SELECT * FROM attempts ORDER BY experiment, number").fetchall()
one, dead, again = attempts
assert (one["outcome"], dead["outcome"], again["outcome"]) == ("succeeded", "interrupted", "succeeded"), [a["outcome"] for a in attempts]
assert (one["session"], dead["session"], again["session"]) == (1, 1, 2), [a["session"] for a in attempts]
# Nobody saw the end of the one that died: it has no length, and no end on a clock of another boot.
assert dead["duration_s"] is None and dead["job_end_ns"] is None and dead["ended_monotonic_ns"] is None, dict(dead)
assert dead["ended_realtime_ns"] is not None, dict(dead)
for attempt in (one, again):
    length = (attempt["job_end_ns"] - attempt["job_start_ns"]) / 1e9
    assert abs(length - attempt["duration_s"]) < 1e-6 and 1.3 < length < 100, dict(attempt)
    assert attempt["ended_monotonic_ns"] >= attempt["started_monotonic_ns"], dict(attempt)
assert one["job_start_ns"] - again["job_start_ns"] > 99 * 86400 * 10**9, "the old boot's clock"

folder = sys.argv[1] + "/repo_net_002/"
def rows(path):
    return [(r["part"], r["label"]) for r in csv.DictReader(open(path))], list(csv.DictReader(open(path)))
names, cells = rows(folder + "attempt_1/energy/marks.csv")
assert names == [("startup", ""), ("epoch", "1"), ("epoch", "2")], names
assert 0.6 < float(cells[1]["duration_s"]) < 60 and cells[2]["end_s"] == cells[2]["duration_s"] == "", cells
names, cells = rows(folder + "energy/marks.csv")
assert names == [("startup", ""), ("epoch", "1"), ("epoch", "2")], names
assert all(0 <= float(c["start_s"]) <= float(c["end_s"]) < 100 for c in cells), cells
experiment = json.load(open(folder + "experiment.json"))
total = experiment["tare"]["energy"]["gpu"]["joules"]
assert sum(round(float(c["gpu_energy_j"]) * 1000) for c in cells) == round(total * 1000), (cells, total)
assert experiment["tare"]["attempts"][0]["duration_seconds"] is None, experiment["tare"]["attempts"]
END
    # The second is measured on this boot's clock: its truth.
    EXPERIMENT=2 look 'near(energy["gpu"]["joules"], truth(), energy["gpu"]["half_width_j"])'
}
