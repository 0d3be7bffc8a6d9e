# --anonymous: no name that is planted in a run is in anything that export, report and audit write of it.
bats_require_minimum_version 1.5.0
load runs

NAMES='lovelace|babbage|marlowe|heron|4711|4712|1815|12345678-|blender|render\.py|confidential'

# A run of two experiments whose evidence, errors, log, machine and sessions name people, programs, hosts, homes and a GPU.
setup() {
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/anonymous.XXXXXX")
    cd "$WORK" || return 1
    job 'echo "confidential line of lovelace"; echo "loss 0.5"'
    settings 2
    tare_run >/dev/null 2>&1
    RUN=$(run_dir)
    python3 - "$RUN" <<'END'
import json, sqlite3, sys
run = sys.argv[1]
texts = ["GPU 0 is used by pid 4711 of user lovelace, 'python3 render.py --for o'babbage', 2 h 03 min old, 5 MiB; "
         "end it with 'sudo tare clean --pid 4711'",
         "other processes used 40 % of the machine's CPU time: blender (pid 4712 and 3 more, user babbage) 40 %",
         "a folder above /home/lovelace/locks belongs to user 1815, who could replace it",
         "GPU-12345678-1234-1234-1234-123456789abc of marlowe, MIG-GPU-12345678-1234-1234-1234-123456789abc, was lost: heron.cluster said so, says /scratch/lovelace/log"]
with sqlite3.connect(run + "/run.db") as db:
    seq = db.execute("SELECT max(seq) FROM events").fetchone()[0]
    for experiment in 1, 2:
        for text in texts:
            seq += 1
            db.execute("INSERT INTO events VALUES (?, 1, ?, 1, 'evidence', 0, 0, ?)",
                       (seq, experiment, json.dumps({"kind": "foreign_process", "text": text, "experiments": None})))
            db.execute("INSERT INTO evidence VALUES (?, ?, 1, 1, 'foreign_process', 'contaminated', ?, NULL, NULL, NULL)",
                       (seq, experiment, text))
    leftovers = json.dumps([{"pid": 4712, "command": "blender render.py", "state": "S", "wchan": None}])
    db.execute("UPDATE jobs SET leftovers = ?, survivors = ?", (leftovers, leftovers))
    db.execute("UPDATE sessions SET host = 'marlowe'")
    db.execute("UPDATE attempts SET error = 'cannot open /home/babbage/data on marlowe'")
    db.execute("UPDATE experiments SET error = 'cannot open /home/babbage/data on marlowe'")
    db.execute("UPDATE experiments SET verdict = 'contaminated' WHERE number = 1")
machine = json.load(open(run + "/machine.json"))
machine.update(host="heron", boot_id="12345678-1815-4711-4712-123456789abc")
machine["interpreters"] = [{"path": "/home/lovelace/env/bin/python3", "version": "3.12", "packages": ["own @ file:///home/babbage/own"]}]
json.dump(machine, open(run + "/machine.json", "w"))
END
    keep_edits "$RUN"
}

# The names were there to be found, and are gone.
none_in() {
    local file
    for file in "$@"; do
        [ -s "$file" ] || { echo "$file is empty"; return 1; }
        run ! grep -aEin "$NAMES" "$file"
    done
}

@test "tables that are exported with --anonymous hold no name that was planted, and the same pseudonym for the same name" {
    "$TARE" export "$RUN" -o named >/dev/null
    [ "$(grep -cE "$NAMES" named/evidence.csv)" -ge 8 ]
    "$TARE" export "$RUN" -o tables --anonymous >/dev/null
    "$TARE" export "$RUN" -o lines --anonymous --format jsonl >/dev/null
    none_in tables/experiments.csv tables/evidence.csv tables/attempts.csv tables/wide.csv tables/hyperparameters.csv lines/evidence.jsonl
    # All but the texts is as it was.
    is "$(cut -d , -f 2 tables/hyperparameters.csv)" "$(cut -d , -f 2 named/hyperparameters.csv)"
    is "$(grep -oE "process [0-9]+ \(pid [0-9]+ and 3 more, user [0-9]+\) 40 %" tables/evidence.csv | sort | uniq -c | awk '{ print $1 }')" 2
    is "$(grep -o 'of user [0-9]*' tables/evidence.csv | sort -u | wc -l)" 1
}

@test "a page and a methods section that are written with --anonymous hold no name that was planted, nor a line of a log" {
    "$TARE" report "$RUN" -o named.html >/dev/null
    grep -q 'confidential line' named.html
    grep -q marlowe named.html
    "$TARE" report "$RUN" -o page.html --anonymous >/dev/null
    none_in page.html
    run ! grep -F "$(hostname)\"" page.html
    grep -q 'the ends of logs and links to files are left out' page.html
    "$TARE" report --methods "$RUN" --anonymous >methods.txt
    none_in methods.txt
    # In all of them a name has the same pseudonym.
    "$TARE" export "$RUN" --table evidence --anonymous >evidence.csv
    local said
    said=$(grep -o "used by pid [0-9]* of user [0-9]*, 'process [0-9]*'" evidence.csv | sort -u)
    [ -n "$said" ]
    grep -qF "$said" page.html
}

@test "audit --write --anonymous writes and prints no name that was planted" {
    "$TARE" audit "$RUN" -w -o named >named.txt
    cat named/* | grep -qE "$NAMES"
    "$TARE" audit "$RUN" -w -o judged --anonymous >judged.txt
    none_in judged/audit.json judged/audit_affected.csv judged/audit_safe.csv judged.txt
    is "$(python3 -c 'import json, sys; print([[e["experiment_id"], e["verdict"]] for e in json.load(open(sys.argv[1]))["experiments"]])' judged/audit.json)" \
        "$(python3 -c 'import json, sys; print([[e["experiment_id"], e["verdict"]] for e in json.load(open(sys.argv[1]))["experiments"]])' named/audit.json)"
}

@test "what cannot be made anonymous is refused with the reason" {
    run -2 "$TARE" export "$RUN" --mlflow store --anonymous
    [[ "$output" == *"--anonymous does not go with --mlflow"* ]]
    [ ! -e store ]
    run -2 "$TARE" report "$RUN" --snapshots --anonymous
    [[ "$output" == *"--anonymous does not go with --snapshots"* ]]
    run -2 "$TARE" audit "$RUN" --repeat again.json --anonymous
    [[ "$output" == *"--anonymous does not go with --repeat"* ]]
}
