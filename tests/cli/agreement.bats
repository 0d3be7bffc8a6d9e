# Figures that agree with those of comparable experiments, without lists of processes.
bats_require_minimum_version 1.5.0
load ../cli/runs

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# repeats [SCATTER [COUNT]]: seven repeats of mnist_ff and seven of another model, undisturbed on an idle GPU, in
# repeats/results. Their energies scatter by SCATTER; a program on the processors runs beside the first COUNT.
repeats() {
    PYTHONPATH=$ROOT/tests/verdicts python3 - "${1:-0.01}" "${2:-0}" <<'END'
import sys
import folders
from machine import Phase
from study import FOREVER, Intruder
def beside_some(rng):
    plan = folders.SCENARIOS["clean_repeats"](rng)
    if int(sys.argv[2]):
        plan.intruders.append(Intruder([Phase(FOREVER, cpu=1.3)], -1, int(sys.argv[2]) - 0.1, "a program"))
    return plan
folders.stream = lambda *names, stream=folders.stream: stream(*("clean_repeats" if n == "beside_some" else n for n in names))
folders.SCENARIOS["beside_some"] = beside_some
truth = folders.generate("beside_some", 1, "repeats", scatter=float(sys.argv[1]))
assert all(one["time_disturbed"] > 0.3 for one in list(truth.values())[:int(sys.argv[2])])
END
}

# The consistency of a figure of each experiment: figure ROW|time|energy|metric.
consistency() {
    "$TARE" audit repeats/results --json | python3 -c '
import json, sys
print(*[e["consistency"][sys.argv[1]] for e in json.load(sys.stdin)["experiments"]])' "$1"
}

# All but the first so many experiments vanish.
keep() {
    python3 - "$1" <<'END'
import pathlib, shutil, sys
top, keep = pathlib.Path("repeats/results"), int(sys.argv[1])
lines = (top / "summary.csv").read_bytes().split(b"\r\n")
for line in lines[1 + keep:]:
    if line:
        shutil.rmtree(top / line.split(b",")[0].decode())
(top / "summary.csv").write_bytes(b"\r\n".join(lines[:1 + keep] + [b""]))
END
}

@test "undisturbed repeats are consistent in each figure, in JSON, in the text and in the table" {
    repeats
    for figure in row time energy; do
        [ "$(consistency $figure | tr ' ' '\n' | grep -c '^consistent$')" -ge 12 ]
    done
    [[ "$(consistency metric)" == *unknown*consistent* ]] # one of the two models has no metrics
    run -0 --separate-stderr "$TARE" audit repeats/results
    [[ "$output" == *" are consistent (other programs were not recorded), 0 contradicted"* ]]
    "$TARE" audit repeats/results --write -o out 2> /dev/null > /dev/null
    [ "$(python3 -c 'import csv; print(sum(r["consistency"] == "consistent" for r in csv.DictReader(open("out/audit_safe.csv", newline=""))))')" -ge 12 ]
}

@test "with two siblings nothing is consistent, with three it may be" {
    repeats
    keep 3
    [ "$(consistency time)" = "unknown unknown unknown" ]
    repeats
    keep 4
    [[ "$(consistency time)" == *consistent* ]]
}

@test "what a program disturbed is not consistent, be it two of seven, or six that agree with each other" {
    for count in 2 6; do
        repeats 0.01 $count
        read -ra time <<< "$(consistency time)"
        [[ "${time[*]:0:7}" != *" consistent"* && "${time[0]}" != consistent ]]
        [ "$(printf '%s\n' "${time[@]:7}" | grep -c '^consistent$')" -ge 6 ]
    done
}

@test "where repeats scatter by ten per cent none excludes a disturbance of ten, and the reason is said" {
    repeats 0.1
    [[ "$(consistency energy)" != *" consistent"* ]]
    "$TARE" audit repeats/results --json > audit.json
    grep -q '"the siblings scatter too much to exclude a disturbance of 10 %"' audit.json
}

@test "a copied run is contradicted, and so is what a failed check of consistency touches" {
    [ -d "$SHARED/cases/rows_twice" ] || skip "../shared/data is not there"
    "$TARE" audit "$SHARED/cases/rows_twice" --json | python3 -c '
import json, sys
for e in json.load(sys.stdin)["experiments"]:
    if "repeated_rows" in [x["kind"] for x in e["evidence"]]:
        assert e["consistency"]["row"] == e["consistency"]["energy"] == "contradicted", e["consistency"]
        print("seen")' | grep -q seen
}

@test "reasons are grouped once, two are shown of each experiment and all with -v" {
    [ -d "$SHARED/legacy" ] || skip "../shared/data is not there"
    run -0 --separate-stderr "$TARE" audit "$SHARED/legacy/run_20251115_165340"
    [[ "$output" == *"6 of 12 cannot be verified; not known: "*" of "*" ("*"To get clean results next time: run it with 'tare run'."* ]]
    [ "$(grep -c 'cannot be verified' <<< "$output")" -eq 1 ]
    [[ "$output" == *"more (-v shows them)"* ]]
    [[ "$output" != *processes_during* ]]
    short=$(grep -c ' not known: ' <<< "$output")
    run -0 --separate-stderr "$TARE" audit -v "$SHARED/legacy/run_20251115_165340"
    [[ "$output" != *"-v shows them"* ]]
    [ "$(grep -c ' not known: ' <<< "$output")" -gt "$short" ]
}

@test "in folders with planted truth the undisturbed are mostly consistent and the disturbed hardly ever" {
    [ -z "${TARE_SANITIZED:-}" ] || skip "some hundred audits; other tests audit under sanitizers"
    python3 "$ROOT/tests/verdicts/agreement.py" "$TARE" --folders 2 --first 7001 --check
}
