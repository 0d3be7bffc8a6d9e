#!/usr/bin/env bats
# Results that contradict themselves: what is right of each case is in a text file beside it, written when the case was made.
bats_require_minimum_version 1.5.0
load ../cli/runs

CASES=$SHARED/cases

# judged DIR EXPRESSION: of the audit: "v" id -> verdict, "k" id -> kinds of evidence, "t" id -> their texts, "c" id -> check -> outcome.
judged() {
    "$TARE" audit "$1" --json >audit.json
    python3 -c 'import json, sys
e = json.load(open("audit.json"))["experiments"]
v = {x["experiment_id"]: x["verdict"] for x in e}
k = {x["experiment_id"]: {y["kind"] for y in x["evidence"]} - {"success_without_metrics"} for x in e}
t = {x["experiment_id"]: " ".join(y["text"] for y in x["evidence"]) for x in e}
c = {x["experiment_id"]: {y["check"]: y["outcome"] for y in x["checks"]} for x in e}
print(eval(sys.argv[1]))' "$2"
}

need_cases() {
    need_python
    [ -d "$CASES" ] || skip "the shared cases are missing"
}

@test "two experiments that overlap on one GPU are suspect, and the others are not accused" {
    need_cases
    is "$(judged "$CASES/overlap_and_copy/overlap" 'sorted(i for i in v if v[i] == "suspect"), k["mnist_cnn_005"]')" \
        "(['mnist_cnn_005', 'reid_densenet_004'], {'time_overlap'})"
}

@test "a run that is there twice is unverified, and statistics count it once" {
    need_cases
    is "$(judged "$CASES/overlap_and_copy/copy" 'sorted(i for i in v if "copied_run" in k[i] and v[i] == "unverified")')" \
        "['mnist_cnn_005', 'mnist_cnn_021']"
    # mnist_cnn has 11 rows, which are 10 runs.
    "$TARE" stats "$CASES/overlap_and_copy/copy" --only usable --json >stats.json
    is "$(python3 -c 'import json
print([sum(g[key] for g in json.load(open("stats.json"))["groups"] if g["model"] == "cnn") for key in ("experiments", "left_out", "n")])')" "[11, 1, 10]"
}

@test "rows that are there twice make the energy suspect, and the row unsafe" {
    need_cases
    is "$(judged "$CASES/rows_twice" 'sorted(i for i in v if "repeated_rows" in k[i]), {v[i] for i in v if k[i]}')" \
        "(['oast_default_010', 'resnet_resnet20_003', 'resnet_resnet20_006'], {'suspect'})"
    "$TARE" audit "$CASES/rows_twice" --write --output out >/dev/null 2>&1
    run ! grep -E 'oast_default_010|resnet20_00[36]' out/audit_safe.csv
}

@test "a sensor that keeps one value under load is suspect" {
    need_cases
    is "$(judged "$CASES/sensor_frozen" 'sorted(i for i in v if "sensor_frozen" in k[i] and v[i] == "suspect"), sorted(i for i in v if v[i] == "suspect")')" \
        "(['resnet_resnet20_003', 'siam_siamese_002', 'siam_siamese_012'], ['resnet_resnet20_003', 'siam_siamese_002', 'siam_siamese_012'])"
}

@test "planted contradictions are found, and no undisturbed experiment is accused of one" {
    need_python
    [ -z "${TARE_SANITIZED:-}" ] || skip "some hundred audits; other tests audit under sanitizers"
    python3 "$ROOT/tests/verdicts/contradictions.py" "$TARE" --folders 1 --first 31 --every 3 --check
}

# An undisturbed folder with the GPU at rest before each experiment: all/results.
undisturbed() { need_python; python3 "$ROOT/tests/verdicts/folders.py" clean_many_models 5 all; }

# Of all checks and evidence of the audit: "names own" if a text names its own experiment as another, and texts with these words.
texts_with() {
    python3 -c 'import json, re, sys
found = set()
for e in json.load(open("audit.json"))["experiments"]:
    for text in [x["text"] or "" for x in e["evidence"] + e["checks"]]:
        found |= {"names own"} if e["experiment_id"] in text else set()
        found |= {word for word in sys.argv[1:] if re.search(word, text)}
print(*sorted(found))' "$@"
}

@test "of a folder with summary.csv alone it is said what is missing, and no GPU is called busy" {
    undisturbed
    mkdir alone
    cp all/results/summary.csv alone/
    is "$(judged alone 'set(v.values()), {tuple(k[i]) for i in k}')" "({'unverified'}, {('value_missing',)})"
    is "$(texts_with busy 'of the same model' 'are not there')" "are not there"
}

@test "where one file of one experiment is missing, that one is named, and nothing else is made of it" {
    undisturbed
    local id known
    known=$(judged all/results '{i for i in v if k[i]}')
    id=$(sed -n 's/^\([^,]*\),.*,True,.*/\1/p' all/results/summary.csv | sed -n 4p)
    local file
    for file in experiment.json energy/cpu_energy.txt energy/cpu_energy_raw.txt energy/gpu_power.csv energy/gpu_utilization.csv \
        energy/gpu_temperature.csv; do
        rm -rf one
        cp -r all/results one
        rm "one/$id/$file"
        echo "without $file"
        is "$(judged one "k['$id'] & {'value_missing', 'file_damaged'} != set(), {i for i in v if i != '$id' and k[i]} - $known")" "(True, set())"
        is "$(texts_with 'GPU that was busy' 'another training')" ""
    done
}

@test "a damaged summary.csv is counted with the damaged files" {
    undisturbed
    head -c -20 all/results/summary.csv >cut.csv
    mv cut.csv all/results/summary.csv
    "$TARE" audit all/results >out
    grep -q "damaged files, besides summary.csv" out
}

# Of the case of 20 trainings whose time is linear in the folds, 10 where it is blank: those that are suspect, and the outcomes of like_time.
folds() {
    "$TARE" audit "$CASES/kfold_linear" --json "$@" >audit.json
    python3 -c 'import json
e = json.load(open("audit.json"))["experiments"]
print([x["experiment_id"] for x in e if x["verdict"] in ("suspect", "contaminated")],
      sorted({y["outcome"] for x in e for y in x["checks"] if y["check"] in ("like_time", "like_energy", "other_cpu")}))'
}

@test "a hyperparameter that scales the work accuses no training, and with the registry's default all are alike" {
    need_cases
    is "$(folds | sed 's/ \[.*//')" "[]"
    cat >registry.json <<'END'
{"models": {"bert": {"path": ".", "train_script": "train.sh", "models": ["mlp"], "supported_hyperparams": {
  "kfold": {"flag": "--kfold", "type": "int", "default": 10, "range": [2, 20]},
  "dropout": {"flag": "--dropout", "type": "float", "default": 0.1, "range": [0, 0.5]},
  "learning_rate": {"flag": "--lr", "type": "float", "default": 0.0001, "range": [0.00001, 0.01]},
  "weight_decay": {"flag": "--wd", "type": "float", "default": 0.0001, "range": [0.00001, 0.01]},
  "seed": {"flag": "--seed", "type": "int", "default": 1, "range": [0, 9999]}}}}}
END
    is "$(folds --registry registry.json)" "[] ['passed']"
}

@test "a registry that cannot be read ends the audit, and one of other repositories is said to be of no use" {
    need_cases
    run -3 "$TARE" audit "$CASES/kfold_linear" --registry none.json
    [[ "$output" == *none.json* ]]
    echo '{"models": {"other": {"path": ".", "train_script": "train.sh", "models": ["x"]}}}' >other.json
    run -0 --separate-stderr "$TARE" audit "$CASES/kfold_linear" --registry other.json
    [[ "$stderr" == *"other.json describes none of the repositories"* ]]
}

@test "one missing temperature makes its own experiment unverified, and no other" {
    need_python
    python3 "$ROOT/tests/verdicts/folders.py" clean_seeds_only 20014 many
    judged many/results 'len(v)' >/dev/null
    cp audit.json before.json
    python3 - <<'END' >removed
import json, os
e = json.load(open("before.json"))["experiments"]
assert len(e) >= 20, len(e)
passes = [x["experiment_id"] for x in e if {c["check"]: c["outcome"] for c in x["checks"]}["throttling"] == "passed"]
assert len(passes) > 10, passes
one = passes[0]
os.remove(f"many/results/{one}/energy/gpu_temperature.csv")
print(one)
END
    judged many/results 'len(v)' >/dev/null
    python3 - "$(cat removed)" <<'END'
import json, sys
before, after = ({x["experiment_id"]: x for x in json.load(open(name))["experiments"]} for name in ("before.json", "audit.json"))
outcomes = lambda x: (x["verdict"], {c["check"]: c["outcome"] for c in x["checks"]})
changed = {i for i in before if outcomes(before[i]) != outcomes(after[i])}
assert changed == {sys.argv[1]} and after[sys.argv[1]]["verdict"] == "unverified", changed
END
}

@test "where clocks are lowered for most of two models, both sides are unverified and the moment is named" {
    need_cases
    is "$(judged "$CASES/clocks_lowered_for_most_of_a_kind" 'set(v.values()), len([i for i in v if "machine_changed" in k[i]]), len(v)')" \
        "({'unverified'}, 12, 12)"
    # By summary.csv the third ended at 21:50:19, and the fourth, the first with lowered clocks, began 5:17 before its own end.
    is "$(judged "$CASES/clocks_lowered_for_most_of_a_kind" 'len([i for i in t if "the machine changed at 2025-11-01 21:51" in t[i]])')" 12
}

@test "where the monitor's query wakes the idle GPU, that is said once, and of no program" {
    need_python
    local folder=$SHARED/legacy/run_20251118_155526
    [ -d "$folder" ] || skip "the study's results are missing"
    judged "$folder" 'len(v)' >/dev/null
    # The intervals by the files alone: one training at a time, of powers around 71 W, and within 15 W of the 4 W at rest.
    python3 - "$folder" <<'END'
import csv, json, pathlib, re, sys
awake, rest = [], []
for path in pathlib.Path(sys.argv[1]).glob("*/energy/gpu_power.csv"):
    if "parallel" in path.parts[-3]:
        continue
    rows = [(int(t), float(w)) for t, w in list(csv.reader(path.open()))[1:]]
    for (t, w), (following, _) in zip(rows, rows[1:]):
        if following - t <= 10:
            awake += [following - t] if 53.2 <= w <= 88.7 else []
            rest += [following - t] if w <= 19 else []
audit = json.load(open("audit.json"))
said = [x["text"] for x in audit["integrity"]["problems"] if "its monitor wakes the idle GPU" in x["text"]]
assert len(said) == 1, audit["integrity"]["problems"]
found = [float(x) for x in re.findall(r"every ([0-9.]+) s", said[0])]
assert abs(found[0] - sum(awake) / len(awake)) < 0.1 and abs(found[1] - sum(rest) / len(rest)) < 0.05, (found, sum(awake) / len(awake))
accused = [c["text"] for e in audit["experiments"] for c in e["checks"] if "another program's that holds" in (c["text"] or "")]
starts = [float(re.search(r"began at ([0-9.]+) W", text)[1]) for text in accused]
shares = [float(re.search(r"([0-9.]+) % of its energy", text)[1]) for text in accused]
assert all(start > 89 for start in starts) and all(share <= 100 for share in shares), accused
END
}

@test "a background without a GPU is said to use none, and a longer time refutes that nothing ran" {
    need_cases
    # By summary.csv four trainings alone took 173.4 s in the median, four beside the background 241.2 s: 39 % more.
    is "$(judged "$CASES/background_without_gpu" '(set(v.values()), sorted(i for i in v if "background_without_gpu" in k[i]),
          {c[i]["background_load"] for i in v if i.endswith("parallel")}, "time was 39 % above" in t["bug_default_005_parallel"])')" \
        "({'unverified'}, ['bug_default_005_parallel', 'bug_default_006_parallel', 'bug_default_007_parallel', 'bug_default_008_parallel'], {'passed'}, True)"
}

@test "a parallel run that began on a GPU at rest, unlike others with its background, and took less is suspect" {
    need_python
    python3 "$ROOT/tests/verdicts/folders.py" background_never_started 402 never
    is "$(judged never/results 'sorted(i for i in v if {"background_late", "background_no_load"} & k[i]) != []')" True
    python3 - <<'END'
import json
truth = json.load(open("never/truth.json"))
for e in json.load(open("audit.json"))["experiments"]:
    kinds = {x["kind"] for x in e["evidence"]}
    if kinds & {"background_late", "background_no_load"}:
        assert truth[e["experiment_id"]]["background_present_share"] < 0.02 and e["verdict"] in ("suspect", "contaminated"), e
END
}

@test "a run of this program is checked too: a seed that changes nothing is noted, and one that does is not" {
    cat >train.py <<'END'
import sys
seed = int(sys.argv[sys.argv.index("--seed") + 1])
print("accuracy: 0.8123456789012347" if seed < 3 else "accuracy: 0.7876543210987653")
END
    "$TARE" run -q --gpus none train.py --seed 1,2 >/dev/null 2>&1
    is "$(judged latest 'all(x & {"seed_without_effect", "metrics_copied"} == {"seed_without_effect"} for x in k.values())')" True
    "$TARE" run -q --gpus none train.py --seed 2,3 >/dev/null 2>&1
    is "$(judged latest 'any(x & {"seed_without_effect", "metrics_copied"} for x in k.values())')" False
}
