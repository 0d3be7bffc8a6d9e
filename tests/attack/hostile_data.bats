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
    db.execute("UPDATE plan SET json = CAST(zeroblob(900000000) AS TEXT) WHERE number = 1")
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
