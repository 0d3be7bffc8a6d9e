# Figures that agree with those of comparable experiments, without lists of processes.
bats_require_minimum_version 1.5.0
load ../cli/runs

setup_file() { command -v python3 > /dev/null || skip "python3 is missing"; }

# repeats [SCATTER [COUNT [PHASE FROM TO]]]: seven repeats of mnist_ff and seven of another model, undisturbed on an idle
# GPU, in repeats/results. Their energies scatter by SCATTER; a program on the processors runs beside the first COUNT, or
# one of that PHASE between two positions (3.5: in the middle of the fourth).
repeats() {
    PYTHONPATH=$ROOT/tests/verdicts python3 - "${1:-0.01}" "${2:-0}" "${3:-}" "${4:-0}" "${5:-0}" <<'END'
import sys
import folders
from machine import Phase
from study import FOREVER, Intruder
def beside_some(rng):
    plan = folders.SCENARIOS["clean_repeats"](rng)
    if int(sys.argv[2]):
        plan.intruders.append(Intruder([Phase(FOREVER, cpu=1.3)], -1, int(sys.argv[2]) - 0.1, "a program"))
    if sys.argv[3]:
        phase = Phase(FOREVER, **{key: float(value) for key, value in (x.split("=") for x in sys.argv[3].split())})
        plan.intruders.append(Intruder([phase], float(sys.argv[4]), float(sys.argv[5]), "a program"))
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

# set_parameter NAME VALUE COUNT: a hyperparameter of the first COUNT, or "" for none.
set_parameter() {
    python3 - "$@" <<'END'
import csv, json, pathlib, sys
name, value, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
top = pathlib.Path("repeats/results")
with open(top / "summary.csv", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows[:count]:
    row["hyperparam_" + name] = value
    record = json.loads((top / row["experiment_id"] / "experiment.json").read_text())
    record["hyperparameters"].pop(name)
    record["hyperparameters"].update({name: json.loads(value)} if value else {})
    (top / row["experiment_id"] / "experiment.json").write_text(json.dumps(record))
with open(top / "summary.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
END
}

@test "a learning rate and a blank beside one value leave siblings comparable, what changes the work does not" {
    for change in "learning_rate 0.01" "epochs "; do
        repeats
        keep 4
        set_parameter "${change% *}" "${change#* }" 2
        [[ "$(consistency time)" == *consistent* ]]
    done
    repeats
    keep 4
    set_parameter batch_size 32 2
    [ "$(consistency time)" = "unknown unknown unknown unknown" ]
}

# reason INDEX: why the energy of an experiment, from 0, is unknown.
reason() {
    "$TARE" audit repeats/results --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["experiments"][int(sys.argv[1])]["consistency"]["reasons"]["energy"])' "$1"
}

@test "a program that used the GPU for some seconds is seen in the highest power" {
    repeats
    [ "$(reason 10)" = None ]
    repeats 0.01 0 "duty=1 intensity=0.6 context=1" 10.30 10.36
    [ "$(reason 10)" = "its highest power differs from the siblings'" ]
}

@test "a training that began on a hot GPU is not consistent" {
    repeats
    [ "$(reason 10)" = None ]
    python3 - <<'END'
import csv, json, pathlib
top = pathlib.Path("repeats/results")
with open(top / "summary.csv", newline="") as file:
    rows = list(csv.DictReader(file))
row = rows[10]
for key in ("avg", "max"):
    row["energy_gpu_temp_%s_celsius" % key] = float(row["energy_gpu_temp_%s_celsius" % key]) + 12
path = top / row["experiment_id"] / "experiment.json"
record = json.loads(path.read_text())
for key in ("avg", "max"):
    record["energy_metrics"]["gpu_temp_%s_celsius" % key] += 12
path.write_text(json.dumps(record))
path = path.parent / "energy" / "gpu_temperature.csv"
with open(path, newline="") as file:
    samples = list(csv.DictReader(file))
for sample in samples:
    sample["gpu_temp_c"] = int(sample["gpu_temp_c"]) + 12
with open(path, "w", newline="") as file:
    writer = csv.DictWriter(file, samples[0].keys())
    writer.writeheader()
    writer.writerows(samples)
with open(top / "summary.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
END
    [ "$(reason 10)" = "the GPU was hotter at its start than at most others" ]
}

@test "a training whose own start shows a program on the GPU is not consistent, though the next began at rest" {
    repeats 0.01 0 "duty=0.05 intensity=0.1 context=1" 9.95 10.89
    [ "$(reason 10)" = "the GPU is not known to have been idle before or after" ]
    [ "$(reason 11)" = None ]
}

@test "a background that ended during a parallel experiment is named, and no other" {
    PYTHONPATH=$ROOT/tests/verdicts python3 - "$TARE" <<'END'
import json, subprocess, sys
import verdict_matrix
make = next(one[3] for one in verdict_matrix.SCENARIOS if one[0] == "background_stalled")
truth = verdict_matrix.build("background_stalled", make, 1, 1, "stalled")
ended = {one["id"] for one in truth if one["disturbed"]}
answer = json.loads(subprocess.run([sys.argv[1], "audit", "stalled", "--json"], stdout=subprocess.PIPE).stdout)
named = {one["experiment_id"] for one in answer["experiments"] for found in one["evidence"]
         if found["kind"] == "background_stopped_early"}
assert named and named <= ended, (named, ended)
assert all(one["verdict"] != "contaminated" or one["experiment_id"] in ended for one in answer["experiments"])
END
}

@test "where one model shows a lower power limit, models that ran under it alone are not consistent" {
    repeats 0.01 0 "limit=0.6" 4 100
    read -ra time <<< "$(consistency time)"
    [[ "${time[*]:7}" != *consistent* ]]
    [ "$(reason 10)" = "the machine changed between the experiments" ]
}

@test "what a program disturbed is not consistent, be it two of seven, or six that agree with each other" {
    for count in 2 6; do
        repeats 0.01 $count
        read -ra time <<< "$(consistency time)"
        [[ "${time[*]:0:count}" != *consistent* ]]
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
