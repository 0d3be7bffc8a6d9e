#!/usr/bin/env bats
# The two tables of results: rows that nothing speaks against, and affected ones with the reason; of runs, and of old results.
bats_require_minimum_version 1.5.0
load ../cli/runs

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

split_study() { python3 "$BATS_TEST_DIRNAME/split_study.py" "$@"; }

# rows FILE: python's lines about its rows, a list of dicts.
rows() {
    { echo 'import csv, re, sys; rows = list(csv.DictReader(open(sys.argv[1], newline="")))'; cat; } > rows.py
    python3 rows.py "$1"
}

# The sum of both tables is summary.csv: each row is in one of them, and its cells are the same.
are_all_rows() { # SUMMARY SAFE AFFECTED
    python3 - "$@" << 'END'
import csv, sys
every, safe, affected = (list(csv.DictReader(open(name, newline=""))) for name in sys.argv[1:])
ids = [row["experiment_id"] for row in every]
both = {row["experiment_id"]: row for row in safe + affected}
assert len(safe) + len(affected) == len(every) == len(both), (len(safe), len(affected), len(every))
for row in every:
    other = both[row["experiment_id"]]
    assert all(other[name] == cell for name, cell in row.items() if name != "verdict"), (row, other)
assert [i for i in ids if i in {row["experiment_id"] for row in safe}] == [row["experiment_id"] for row in safe], "another order"
assert all(row["verdict"] in ("suspect", "contaminated") or "reason" in row for row in affected)
assert all(row["reason"] and "\n" not in row["reason"] for row in affected)
END
}

@test "the safe table of a run gives the true success rate: failures are in it, and a repeat leaves both tables right" {
    idle_machine
    job 'case $TARE_EXPERIMENT in *_00[13]) exit 1;; esac; echo "loss 0.5"'
    settings 4
    tare_run > out || true
    run=$(run_dir)
    rows "$run/summary_safe.csv" << 'END'
assert [row["training_success"] for row in rows] == ["False", "True", "False", "True"], rows
assert sum(row["training_success"] == "True" for row in rows) / len(rows) == 0.5
names = list(rows[0])
assert names.index("verdict") == names.index("energy_gpu_util_max_percent") + 1, names
END
    rows "$run/summary_affected.csv" <<< 'assert rows == [], rows'
    are_all_rows "$run/summary.csv" "$run/summary_safe.csv" "$run/summary_affected.csv"
    cp "$run/summary_safe.csv" before.csv
    rm "$run/summary_affected.csv"
    "$TARE" run --rerun failed "$run" > out || true
    are_all_rows "$run/summary.csv" "$run/summary_safe.csv" "$run/summary_affected.csv"
    rows "$run/summary_safe.csv" <<< 'assert [row["attempt"] for row in rows] == ["2", "1", "2", "1"], rows'
}

@test "the documents' story: 129 rows before the orphan, 31 after, rates, points and ranges" {
    split_study story results
    run -0 --separate-stderr "$TARE" audit results --write --split-at '2025-11-25 01:20:48'
    [[ "$output" == *"In all 132 of 160 succeeded (82.5 %); before 117 of 129 succeeded (90.7 %); from then on 15 of 31 succeeded (48.4 %), 42.3 points less."* ]]
    [[ "$output" == *$'\nAffected: hrnet18 130–144, pcb 145–160\n'* ]]
    [ "$(wc -l < results/audit_safe.csv)" -eq 130 ]
    rows results/audit_safe.csv << 'END'
ids = [row["experiment_id"] for row in rows]
assert len(set(ids)) == 129 and all(re.fullmatch("[a-zA-Z0-9_-]+", i) for i in ids)
assert sum(row["training_success"] == "True" for row in rows) == 117
assert [row["hyperparam_batch_size"] for row in rows if row["training_success"] == "False"] == ["50000"] * 12
END
    rows results/audit_affected.csv << 'END'
assert len(rows) == 31 and sum(row["training_success"] == "True" for row in rows) == 15
assert all(row["reason"].startswith("started after 2025-11-25 01:20:48") for row in rows), rows
END
    are_all_rows results/summary.csv results/audit_safe.csv results/audit_affected.csv
    "$TARE" audit results --json --split-at '2025-11-25 01:20:48' > audit.json
    python3 -c 'import json; s = json.load(open("audit.json"))["split"]; assert abs(s["success_rate_drop"] - (117 / 129 - 15 / 31)) < 1e-12, s'
    # By repository: the documents' counts; successes are counted from the tables.
    python3 - "$output" << 'END'
import collections, csv, json, sys
split = json.load(open("audit.json"))["split"]
assert [row["total"] for row in split["before"]] == [48, 20, 17, 16, 16, 12], split["before"]
for side, file in (("before", "safe"), ("affected", "affected")):
    rows = list(csv.DictReader(open(f"results/audit_{file}.csv")))
    total = collections.Counter(row["repository"] for row in rows)
    good = collections.Counter(row["repository"] for row in rows if row["training_success"] == "True")
    assert {row["name"]: (row["total"], row["succeeded"]) for row in split[side]} == {n: (total[n], good[n]) for n in total}, split[side]
    said = sys.argv[1].split("before, by repository" if side == "before" else "from then on, by repository")[1].split("\n\n")[0]
    for name in total:
        assert [name, str(total[name]), str(good[name])] in [line.split()[:3] for line in said.splitlines()], (side, name, said)
END
}

@test "pandas reads both tables and compares them" {
    python3 -c 'import pandas' 2> /dev/null || skip "pandas is missing"
    split_study story results
    "$TARE" audit results --write --split-at '2025-11-25 01:20:48' > /dev/null
    python3 - << 'END'
import pandas
safe, affected = pandas.read_csv("results/audit_safe.csv"), pandas.read_csv("results/audit_affected.csv")
assert abs(safe["training_success"].mean() - 117 / 129) < 1e-12 and abs(affected["training_success"].mean() - 15 / 31) < 1e-12
assert list(safe) == [name for name in affected if name != "reason"]
END
}

# Trainings between the orphan's birth and the first that fails show nothing of it.
@test "auto finds the documents' moment: from the first failure after it on" {
    local seed
    for seed in 1 2 3 4 5 6 7 8; do
        split_study story results "$seed"
        "$TARE" audit results --json --split-at auto > audit.json
        rows results/summary.csv << 'END'
import json
split = json.load(open("audit.json"))["split"]
first = next(n for n in range(129, 160) if rows[n]["training_success"] == "False")
assert split["found"] and split["series"] == "success", split
assert split["rows"][0]["total"] == first, (split["rows"][0], first)
END
    done
    [ "$seed" -eq 8 ]
}

# 500 of either, of other seeds: docs/measurements.md.
@test "auto finds most planted moments of simulated folders, and invents few" {
    split_study simulate "$TARE" results 40 1 > out
    cat out
    read -r found near invented <<< "$(sed -E 's/planted: ([0-9]+) of 40 found, ([0-9]+) .*planted: ([0-9]+) of 40 invented/\1 \2 \3/' out)"
    [ "$found" -ge 30 ]
    [ "$near" -ge 26 ]
    [ "$invented" -le 2 ]
}

@test "an empty table is said, with why; without a moment the verdicts make the tables" {
    split_study story results
    run -0 --separate-stderr "$TARE" audit results --write
    [[ "$stderr" == *"results: audit_affected.csv is empty, as nothing speaks against any of the 160 rows"* ]]
    [ "$(wc -l < results/audit_safe.csv)" -eq 161 ]
    [ "$(wc -l < results/audit_affected.csv)" -eq 1 ]
    run -0 --separate-stderr "$TARE" audit results --write --split-at '2020-01-01'
    [[ "$stderr" == *"results: audit_safe.csv is empty, as all 160 rows are affected: started after 2020-01-01 00:00:00 (160)"* ]]
    head -n 1 results/summary.csv > header && mkdir empty && mv header empty/summary.csv
    run -0 --separate-stderr "$TARE" audit empty --write
    [[ "$stderr" == *"empty: both tables are empty, as summary.csv has no rows"* ]]
    mkdir few && head -n 6 results/summary.csv > few/summary.csv
    run -0 --separate-stderr "$TARE" audit few --write --split-at auto
    grep -q "warning: nothing was split.* no moment of change.* --split-at '2025-11-25 01:20:48'" <<< "$stderr"
    [[ "$output" == *"Nothing was split: the data supports no change point (p = 1)."* ]]
}

@test "a row that ran at the moment, whose end is unknown, or whose id another has is affected" {
    split_study story results
    sed -i -e '5s/2025-[^,]*/2025-11-25T01:20:58/' -e '6s/,2025-[^,]*/,/' -e '8s/^[^,]*/examples_mnist_008/' results/summary.csv
    "$TARE" audit results --write --split-at '2025-11-25 01:20:48' > /dev/null
    rows results/audit_affected.csv << 'END'
reasons = [row["reason"] for row in rows]
assert len(rows) == 31 + 4, len(rows)
assert reasons[0] == "running at 2025-11-25 01:20:48", reasons[0]
assert reasons[1].startswith("it is unknown when it ended"), reasons[1]
assert reasons[2:4] == ["duplicate_id"] * 2, reasons[2:4]
END
    rows results/audit_safe.csv <<< 'assert len({row["experiment_id"] for row in rows}) == len(rows) == 125'
}

@test "real folders of the study are divided by their verdicts, failures and unverified rows are safe" {
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    "$TARE" audit "$SHARED"/legacy/* --write -o tables > /dev/null
    for name in run_20251115_165340 run_20251118_155526; do
        are_all_rows "$SHARED/legacy/$name/summary.csv" "tables/${name}_audit_safe.csv" "tables/${name}_audit_affected.csv"
    done
    rows tables/run_20251118_155526_audit_safe.csv <<< 'assert any(row["training_success"] == "False" for row in rows), rows'
    rows tables/run_20251115_165340_audit_affected.csv <<< 'assert len(rows) == 6 and all("gpu_busy_before: " in row["reason"] for row in rows)'
}
