#!/usr/bin/env bats
# A run of the tree of 2026-11-22: two lanes that were in each other's way, evidence with names and pids, a retry, a resume after a kill. What is
# expected is what the program of that tree told of it (tests/data/run_of_2026_11_22/expected), but for its version, and for the sentences
# that a program has for every run alike (meanings, remedies, the sources in an uncertainty budget).

load helpers

OLD=$ROOT/tests/data/run_of_2026_11_22

copy() {
    cp -r "$OLD/run" run
    chmod -R u+w run
    export TZ=UTC
}

# same PYTHON: its lines set "told" and "expected": what has been added since may be more, what was there has the same value.
same() {
    command -v python3 >/dev/null || skip "python3 is missing"
    cat >same.py <<'END'
import csv, json, re, sys
OLD = sys.argv[1]
def same(told, expected, place):
    if isinstance(expected, dict):
        assert isinstance(told, dict), (place, told)
        for key in expected: same(told.get(key, "is missing"), expected[key], place + "." + key)
    elif isinstance(expected, list):
        assert isinstance(told, list) and len(told) == len(expected), (place, told, expected)
        for i, item in enumerate(expected): same(told[i], item, "%s[%d]" % (place, i))
    else:
        assert told == expected and type(told) == type(expected), (place, told, expected)
END
    printf '%s\n' "$1" >>same.py
    python3 same.py "$OLD/expected"
}

@test "audit tells the same of a run of 2026-11-22 as its own program did" {
    copy
    "$TARE" audit run --json >audit.json
    same '
told, expected = json.load(open("audit.json")), json.load(open(OLD + "/audit.json"))
assert len(expected["experiments"]) == 4
same(told, expected, "audit")
'
}

@test "export writes the same tables of a run of 2026-11-22 as its own program did" {
    copy
    "$TARE" export run -o tables >/dev/null
    same '
for name, count in {"experiments": 4, "attempts": 6, "epochs": 0, "hyperparameters": 4, "metrics": 4, "evidence": 6, "samples": 72}.items():
    told, expected = (list(csv.DictReader(open(folder + "/" + name + ".csv", newline=""))) for folder in ("tables", OLD))
    assert len(expected) == count, (name, len(expected))
    same(told, expected, name)
'
}

@test "the page of a run of 2026-11-22 holds the same values as that of its own program, with who disturbed whom" {
    copy
    "$TARE" report run -o page.html >/dev/null
    same '
page = open("page.html", encoding="utf-8").read()
told = {name: json.loads(text) for name, text in re.findall(r"<script type=\"application/json\" id=\"(\w+)\">(.*?)</script>", page, re.S)}
expected = json.load(open(OLD + "/report.json"))
assert sorted(expected) == ["head", "x1", "x2", "x3", "x4"]
same(told, expected, "page")
# By the names and the process that the texts have: the first lane and the second were in the way of each other.
by = {(d["lane"], d["kind"]): [b["lane"] for b in d["by"]] for d in told["head"]["lanes"]["disturbances"]}
assert by[(0, "pcie_contended")] == [1] and by[(1, "pcie_contended")] == [0] and by[(1, "foreign_process")] == [0], by
'
}

@test "a run of a format that was never released is refused, with its place, the reason and what to do" {
    command -v python3 >/dev/null || skip "python3 is missing"
    copy
    python3 -c 'import sqlite3; sqlite3.connect("run/run.db").execute("PRAGMA user_version=5")'
    for command in "audit run" "report run -o page.html" "export run -o tables" "run --resume run"; do
        run $TARE $command
        [ "$status" -ne 0 ]
        [[ $output == *"run: run.db has format 5, of a version that was never released; this one reads format 6 to 7: run its settings.json anew"* ]]
    done
    [ ! -e page.html ]
}

@test "a run of 2026-11-22 is gone on with: nothing is left to do, it is told who disturbed whom, and its records hold" {
    copy
    idle_machine
    "$TARE" run --resume run >out 2>&1
    grep -qx 'GPU 0 was disturbed by GPU 1: pcie_contended, in 1 experiment' out
    grep -qx 'GPU 1 was disturbed by GPU 0: pcie_contended, in 1 experiment' out
    grep -qx 'GPU 1 was disturbed by GPU 0: foreign_process, in 1 experiment' out
    [ "$(grep -c 'another program changed' out)" -eq 0 ]
    cmp run/summary.csv "$OLD/run/summary.csv"
    "$TARE" audit run --json | grep -q '"state": "hold"'
}
