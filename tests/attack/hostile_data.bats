# The data of a run's folder that somebody else made: nothing of it is run, it takes no more memory and time than what it is worth, and what
# a spreadsheet would run is text.

load ../cli/runs

# A run of two experiments in $RUN.
received_run() {
    job 'echo "loss 0.5"'
    settings 2
    tare_run -q >/dev/null 2>&1 || true
    RUN=$(run_dir)
}

# hostile KIND: spoils run.db.
hostile() {
    python3 - "$RUN/run.db" "$1" <<'PY'
import os, sqlite3, sys
name, kind = sys.argv[1:]
db = sqlite3.connect(name)
endless = "WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n)"
if kind == "view":
    # Counts for ever before it gives a row.
    db.executescript("ALTER TABLE meta RENAME TO meta_1;"
                     f"CREATE VIEW meta AS SELECT key, value FROM meta_1 WHERE ({endless} SELECT count(*) FROM n) > 0;")
elif kind == "computed":
    # 100,000 texts of 15 MB in a file of a megabyte.
    db.executescript("DROP TABLE evidence; CREATE TABLE evidence (seq INTEGER PRIMARY KEY, experiment INTEGER, attempt INTEGER, pass INTEGER,"
                     " kind TEXT, weight TEXT, text TEXT AS (hex(zeroblob(7500000))), from_s REAL, to_s REAL, device TEXT);"
                     f"INSERT INTO evidence (experiment, attempt, pass, kind, weight) {endless} SELECT 1, 1, 1, 'cpu_shared', 'suspect' FROM n LIMIT 100000;")
elif kind == "index":
    db.execute("CREATE INDEX costly ON experiments (hex(zeroblob(7500000)))")
elif kind == "trigger":
    db.executescript("CREATE TABLE stolen (n); CREATE TRIGGER t AFTER INSERT ON events BEGIN INSERT INTO stolen VALUES (1); END;"
                     "CREATE TRIGGER u AFTER UPDATE ON experiments BEGIN INSERT INTO stolen VALUES (2); END;"
                     "UPDATE experiments SET files_written = 0; DELETE FROM stolen;")
elif kind == "virtual":
    db.executescript("DROP TABLE evidence; CREATE VIRTUAL TABLE evidence USING fts5(experiment, attempt, pass, kind, weight, text, from_s, to_s, device)")
elif kind == "cell":
    # More than the reader's address space (within).
    db.execute("UPDATE plan SET json = CAST(zeroblob(500000000) AS TEXT) WHERE number = 1")
elif kind == "json":
    db.execute("UPDATE meta SET value = ? WHERE key = 'plan'", ("[" + "[]," * 4_900_000 + "[]]",))
elif kind == "shared page":
    # The table's pages all lead to one: more rows than there are bytes.
    db.executescript(f"INSERT INTO evidence (experiment, attempt, pass, kind, weight, text) {endless} SELECT 1, 1, 1, 'cpu_shared', 'suspect', 'text' FROM n LIMIT 100000")
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'evidence'").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute("PRAGMA journal_mode=DELETE")
    db.close()
    with open(name, "r+b") as file:
        file.seek((root - 1) * size)
        page = bytearray(file.read(size))
        assert page[0] == 5, page[0]  # an interior page (fileformat2.html, 1.6): its cells begin with a child's number
        cells = [int.from_bytes(page[12 + 2 * i:14 + 2 * i], "big") for i in range(int.from_bytes(page[3:5], "big"))]
        for cell in cells:
            page[cell:cell + 4] = page[cells[0]:cells[0] + 4]
        file.seek((root - 1) * size)
        file.write(page)
    sys.exit()
else:
    (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    length = {"sparse": 3 << 30, "long": 5 << 30}[kind]
    os.truncate(name, length)
    with open(name, "r+b") as file:
        file.seek(28)  # the number of its pages (fileformat2.html, 1.3)
        file.write((length // size).to_bytes(4, "big"))
    sys.exit()
db.commit()
db.execute("PRAGMA journal_mode=DELETE")
db.close()
PY
}

# within MB WORDS...: the program with no more address space than that, and a minute of time.
within() {
    local mb=$1
    shift
    run timeout 60 bash -c "ulimit -v $((mb * 1024)); exec \"\$@\"" - "$TARE" "$@"
}

@test "a run.db that holds more than data is refused by every reader, in bounded time and memory, and nothing of it is run" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the sanitizers reserve terabytes of address space"
    received_run
    cp -a "$RUN" whole
    while IFS='|' read -r kind said; do
        rm -r "$RUN"
        cp -a whole "$RUN"
        hostile "$kind"
        for words in "report $RUN" "audit $RUN" "stats $RUN" "compare $RUN $RUN" "export $RUN -o $WORK/exported" "run --resume $RUN -q"; do
            # SQLite needs address space for the copy of nothing: the bound is what the program takes for a small run, and some.
            # shellcheck disable=SC2086
            within 400 $words
            [ "$status" -ne 0 ] && [ "$status" -lt 124 ] || { echo "$kind: $words: $status: $output"; false; }
            [[ $output == *"$said"* ]] || { echo "$kind: $words: $output"; false; }
        done
    done <<'END'
view|access to view "meta" prohibited
computed|run.db: its table 'evidence' computes cells
index|run.db: its table 'experiments' computes cells
virtual|no such module: fts5
cell|a cell is longer than 16 MiB
json|the plan: it holds more than
shared page|run.db is damaged
END
}

# A sparse file costs its maker nothing.
@test "a run.db of 3 GiB of nothing costs neither time nor disk, and one of 5 GiB is not read" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the bound of time is that of the plain build"
    received_run
    hostile sparse
    mkdir small
    mount -t tmpfs -o size=64m none small 2>/dev/null || skip "nothing can be mounted here"
    TMPDIR=$WORK/small run timeout 60 "$TARE" audit "$RUN"
    umount small
    [ "$status" -ne 0 ] && [ "$status" -lt 124 ] || { echo "$status: $output"; false; }
    [[ $output == *"run.db is damaged"* ]] || { echo "$output"; false; }
    hostile long
    for words in "audit $RUN" "stats $RUN" "report $RUN"; do
        run timeout 60 "$TARE" $words
        is "$status" 3
        [[ $output == *"run.db is longer than 4 GiB"* ]] || { echo "$output"; false; }
    done
}

@test "triggers of a received run.db do not run, neither for a reader nor in the file itself" {
    received_run
    hostile trigger
    "$TARE" run --resume "$RUN" -q || true
    "$TARE" audit "$RUN"
    # The files were written anew, and each session is an event.
    is "$(python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT count(*) FROM stolen").fetchone()[0], db.execute("SELECT count(*) FROM experiments WHERE files_written = 1").fetchone()[0])' "$RUN/run.db")" "0 2"
}

# A run of which Slurm was given one experiment, in $RUN; its task has ended, and its events are in $events.
submitted_run() {
    mkdir bin
    printf '#!/bin/sh\nprintf "GresTypes = (null)\\nKillWait = 30 sec\\nMaxArraySize = 1001\\n"\n' >bin/scontrol
    printf '#!/bin/sh\necho 4711\n' >bin/sbatch
    printf '#!/bin/sh\n' >bin/squeue
    printf '#!/bin/sh\nexit 1\n' >bin/sacct
    chmod +x bin/*
    PATH=$WORK/bin:$PATH
    job 'echo "loss 0.5"'
    settings 1
    "$TARE" submit settings.json -c registry.json -o results >/dev/null
    RUN=$(run_dir)
    "$TARE" run --task 1 "$RUN" -q
    events=$RUN/tasks/0001/1/events.jsonl
}

# peak WORDS...: the most memory that the program had, MiB; what it printed is in said. wait4(2): ru_maxrss in KiB. SPENT=1: its CPU
# time, ms.
peak() {
    python3 - "$TARE" "$@" <<'PY'
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=open("said", "w"), stderr=subprocess.STDOUT)
usage = os.wait4(child.pid, 0)[2]
print(round(1000 * (usage.ru_utime + usage.ru_stime)) if os.environ.get("SPENT") else usage.ru_maxrss // 1024)
PY
}

@test "collect: an events.jsonl of 100 MB is read in 64 MiB more than one of a few kilobytes, whether in short lines, a long one or a deep one" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the bound of memory is that of the plain build"
    submitted_run
    small=$(peak collect "$RUN")
    cp "$events" whole
    for kind in lines long deep; do
        python3 - whole "$events" $kind <<'PY'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
last = json.loads(lines[-1])
with open(sys.argv[2], "w") as out:
    for line in lines[:-1]:
        out.write(line + "\n")
    seq = len(lines)
    if sys.argv[3] == "long":
        out.write(json.dumps({**last, "seq": seq, "data": {"text": "x" * 100_000_000}}) + "\n")
    elif sys.argv[3] == "deep":
        out.write('{"seq": %d, "data": [' % seq + "[]," * 33_000_000 + "[]]}\n")
    else:
        # Pauses of the session, in numbers that no run has.
        for i in range(220_000):
            out.write(json.dumps({**last, "type": "pause", "seq": seq + i, "experiment": None, "attempt": None, "data": {"text": "y" * 350}}) + "\n")
        seq += 220_000
    last["seq"] = seq + (sys.argv[3] != "lines")
    out.write(json.dumps(last) + "\n")
PY
        [ "$(stat -c %s "$events")" -gt 95000000 ]
        large=$(peak collect "$RUN")
        echo "$kind: $small MiB, $large MiB"
        [ "$large" -lt $((small + 64)) ]
        # It was read to its end, and what was lost is told.
        lost=0
        grep -q '^records are lost.*(1 event lost)' said || lost=$?
        { [ $kind = lines ] && [ $lost -eq 1 ]; } || { [ $kind != lines ] && [ $lost -eq 0 ]; } || { cat said; false; }
        grep -q '1 of 1 experiments are done' said
    done
}

@test "collect: eight times as much evidence on one experiment takes some eight times as long, not sixty-four times" {
    submitted_run
    cp "$events" whole
    # It comes after the end, so that each piece may change the verdict.
    for count in 1000 8000; do
        python3 - whole "$events" $count <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
at = next(i for i, line in enumerate(lines) if line["type"] == "session_ended")
seen = {**lines[at - 1], "type": "evidence", "experiment": 1, "attempt": 1,
        "data": {"kind": "cpu_shared", "text": "others took it", "device": None, "from_s": None, "to_s": None}}
lines[at:at] = [seen] * int(sys.argv[3])
with open(sys.argv[2], "w") as out:
    for i, line in enumerate(lines):
        out.write(json.dumps({**line, "seq": i + 1}) + "\n")
PY
        eval "spent_$count=$(SPENT=1 peak collect "$RUN")"
        grep -q '1 of 1 experiments are done' said
        # All of it is there, in the file, too, and the verdict is that of the evidence.
        is "$(python3 -c 'import json, sys
seen = json.load(open(sys.argv[1]))["tare"]
print(sum(item["text"] == "others took it" for item in seen["evidence"]), seen["verdict"])' "$RUN"/repo_net_001/experiment.json)" "$count suspect"
    done
    echo "$spent_1000 ms, $spent_8000 ms"
    [ "$spent_8000" -lt $((16 * spent_1000)) ]
}

@test "an experiment.json and a plan.json of little more than brackets are refused before they take memory" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the bound of memory is that of the plain build"
    mkdir -p study/a_b_001
    printf 'timestamp,experiment_id,repository,model,training_success\n2025-11-18 15:55:26,a_b_001,a,b,True\n' >study/summary.csv
    python3 -c 'print("{\"x\": [" + "[]," * 5_500_000 + "[]]}")' >study/a_b_001/experiment.json
    [ "$(peak audit study)" -lt 200 ]
    run "$TARE" audit study --all
    [[ $output == *"experiment.json: it holds more than "*" values"* ]] || { echo "$output"; false; }
    mkdir -p run_1/tasks
    python3 -c 'print("{\"format\": 1, \"experiments\": [" + "[]," * 20_000_000 + "[]]}")' >run_1/plan.json
    [ "$(peak collect run_1)" -lt 300 ]
    run "$TARE" collect run_1
    is "$status" 3
    [[ $output == *"plan.json:1:1: it holds more than "*" values"* ]] || { echo "$output"; false; }
}

@test "cells that a spreadsheet would take for a formula get an apostrophe, in every CSV, and come back as they were" {
    mkdir repo
    printf '#!/bin/sh\necho loss -0.5\n' >repo/job.sh
    chmod +x repo/job.sh
    cat >registry.json <<'END'
{"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
 "supported_hyperparams": {"way": {"flag": "--way", "type": "choice", "default": "plain", "choices": ["plain", "=HYPERLINK(A1)", "'-x", "-1.5e3"]}},
 "performance_metrics": {"log_patterns": {"loss": "^loss ([-0-9.]+)"}}}}}
END
    cat >settings.json <<'END'
{"mode": "mutation", "max_retries": 0, "seed": 7, "experiments": [{"repo": "repo", "model": "net", "mutate": ["way"], "runs_per_config": 3}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0}}}
END
    tare_run -q >/dev/null 2>&1 || true
    RUN=$(run_dir)
    [ "$(wc -l <"$RUN/summary.csv")" -ge 3 ]
    "$TARE" export "$RUN" --table hyperparameters >escaped.csv
    grep -q ",\"'=HYPERLINK(A1)\"" escaped.csv
    grep -q ",\"'=HYPERLINK(A1)\"" "$RUN/summary.csv"
    "$TARE" export "$RUN" --table hyperparameters --exact >exact.csv
    "$TARE" export "$RUN" --table hyperparameters --format jsonl >exact.jsonl
    "$TARE" audit "$RUN" --write >/dev/null
    cp "$RUN/summary.csv" before.csv
    python3 - "$RUN" <<'PY'
import csv, json, sys
way = lambda name, column: [row[column] for row in csv.DictReader(open(name, newline=""))]
exact = way("exact.csv", "value")
assert exact == [str(json.loads(line)["value"]) for line in open("exact.jsonl")], exact
assert "=HYPERLINK(A1)" in exact and len(exact) >= 2, exact
# The rule of docs/reference/files.md, written a second time.
def escaped(cell):
    rest = cell.lstrip("'")
    def number(text):
        try:
            return float(text) is not None
        except ValueError:
            return False
    return "'" + cell if rest[:1] in tuple("=+-@\t\r\n") and rest and not number(cell) else cell
for name, column in (("escaped.csv", "value"), (sys.argv[1] + "/summary.csv", "hyperparam_way")):
    got = way(name, column)
    assert sorted(got) == sorted(escaped(cell) for cell in exact), (name, got, exact)
# Numbers and offsets are what they are.
for row in csv.DictReader(open(sys.argv[1] + "/summary.csv", newline="")):
    assert row["perf_loss"] == "-0.5" and row["utc_offset"] == "+00:00", row
PY
    # As a study's table, which is read as CSV: the same values again (its numbers as numbers).
    mkdir study
    cp "$RUN/summary.csv" study
    "$TARE" export study --table hyperparameters --exact >again.csv
    diff <(cut -d, -f3- exact.csv | sed 's/-1.5e3/-1500.0/' | sort) <(cut -d, -f3- again.csv | sort)
}
