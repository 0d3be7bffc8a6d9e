#!/usr/bin/env bats
# What docs/reference says of files and tables has every column, key, event and cause that the program writes.

load energy

# missing PAGE HEADING NAMES...: which of the names the section of the page does not have in backticks; NAME* has a pattern in its place.
missing() {
    python3 - "$ROOT/docs/reference/$1" "$2" "${@:3}" <<'CHECK'
import re, sys
page, heading, names = sys.argv[1], sys.argv[2], sys.argv[3:]
text = re.sub(r"```.*?```", "", open(page, encoding="utf-8").read(), flags=re.S)
section = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
said = set()
for words in re.findall(r"`([^`]+)`", section):
    inner = re.fullmatch(r"(.*)\{([\w,]+)\}(.*)", words)
    said |= {inner[1] + each + inner[3] for each in inner[2].split(",")} if inner else {words}
patterns = [re.escape(words).replace(r"\*", r"\w+") for words in said]
lacking = [name for name in names if not any(re.fullmatch(pattern, name) for pattern in patterns)]
assert len(names) > 1, names
print(*lacking)
sys.exit(bool(lacking))
CHECK
}

header() { head -n 1 "$1" | tr ',' ' '; }

@test "every column, key, table and event of a run's files is in docs/reference/files.md" {
    scenario 1 'step 0 150'
    job 'echo "loss 0.5"; sleep 1.2; echo "loss 0.4"'
    settings 1
    tare_run >/dev/null
    run=$(echo results/run_*)
    folder=$(dirname "$run"/*/experiment.json)
    # shellcheck disable=SC2046 # words
    {
        missing files.md summary.csv $(header "$run/summary.csv")
        missing files.md history.csv $(header "$folder/history.csv")
        missing files.md energy/ $(header "$folder/energy/gpu.csv")
        missing files.md machine.json $(python3 -c 'import json, sys; print(*(set(json.load(open(sys.argv[1]))) - {"nvidia_driver"}))' "$run/machine.json")
        missing files.md events.jsonl $(python3 -c 'import json, sys; lines = [json.loads(l) for l in open(sys.argv[1])]
print(*{l["type"] for l in lines}, *lines[0])' "$run/events.jsonl")
        missing files.md experiment.json $(python3 -c 'import json, sys; e = json.load(open(sys.argv[1]))
print(*set(e) - {"tare"}, *e["tare"], *e["tare"]["attempts"][0])' "$folder/experiment.json")
        missing files.md run.db $(python3 -c 'import sqlite3, sys; print(*[name for name, in sqlite3.connect(sys.argv[1]).execute(
    "SELECT name FROM sqlite_master WHERE type = '"'table'"'")])' "$run/run.db")
        "$TARE" export "$run" -o tables 2>/dev/null
        missing files.md energy/ $(header tables/epochs.csv | sed 's/folder experiment_id//')
        for table in experiments attempts samples hyperparameters metrics evidence; do
            missing judging.md Export "$table" $(header "tables/$table.csv" | sed 's/folder experiment_id//')
        done
    }
}

@test "every cause of a failure is in docs/reference/files.md" {
    # shellcheck disable=SC2046 # words
    missing files.md "Why an attempt failed" $(sed -n 's/^ *\[FAILURE_[A-Z_]*\] = "\([a-z_]*\)".*/\1/p' "$ROOT/src/run/failure.c" | grep -vx none)
}
