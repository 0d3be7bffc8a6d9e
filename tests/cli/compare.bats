#!/usr/bin/env bats
# tare compare on runs of its own, measured on the fake driver: ratio, blocks, order and conditions against Python's computation from
# what the runs' own files say.
bats_require_minimum_version 1.5.0
load energy

# two MODEL:N...: a run of the models a (sleeps N times 0.3 s) and b (half as much again, or N times $B centiseconds), in this order.
two() {
    job 'shift; model=$1; shift 2; n=$1; [ "$model" = a ] && centis=$((n * 30)) || centis=$((n * '"${B:-45}"'))
sleep "$(printf %d.%02d $((centis / 100)) $((centis % 100)))"; echo "loss 0.5"'
    registry '"model_flag": "--model"'
    settings 1
    python3 - "$@" << 'END'
import json, sys
registry, settings = json.load(open("registry.json")), json.load(open("settings.json"))
registry["models"]["repo"]["models"] = registry["models"]["repo"]["cpu_models"] = ["a", "b"]
settings["experiments"] = [{"repo": "repo", "model": word.split(":")[0], "mode": "default", "hyperparameters": {"n": int(word.split(":")[1])}}
                           for word in sys.argv[1:]]
json.dump(registry, open("registry.json", "w"))
json.dump(settings, open("settings.json", "w"))
END
    tare_run > out
}

# expect COMPARED.json A B: A and B are FOLDER:MODEL.
expect() {
    cat > expect.py << 'END'
import csv, itertools, json, math, statistics, sys
T = {1: 12.706204736433, 2: 4.302652729696, 3: 3.182446305284}
got = json.load(open(sys.argv[1]))
sides = []
for text in sys.argv[2:4]:
    folder, model = text.rsplit(":", 1)
    rows = [r for r in csv.DictReader(open(folder + "/summary.csv")) if r["model"] == model and r["verdict"] in ("clean", "suspect")]
    for row in rows:
        whole = json.load(open(f"{folder}/{row['experiment_id']}/experiment.json"))
        own = whole["tare"]
        (look,) = [g for g in own["guard"] if g["phase"] == "preflight" and g["attempt"] == own["result_attempt"]]
        (gpu,) = look["devices"]
        row["conditions"] = {"temperature_start_c": gpu["temperature_c"], "sm_clock_start_mhz": gpu["sm_clock_mhz"],
                             "memory_clock_start_mhz": gpu["memory_clock_mhz"], "sm_clock_mean_mhz": own["energy"]["gpu"]["sm_clock_mean_mhz"]}
    sides.append(rows)
blocks = sorted({r["hyperparam_n"] for r in sides[0]} & {r["hyperparam_n"] for r in sides[1]})
paired = len(blocks) >= 2
used = [[r for r in rows if not paired or r["hyperparam_n"] in blocks] for rows in sides]
columns = {"gpu_energy_j": "energy_gpu_total_joules", "gpu_power_w": "energy_gpu_avg_watts", "duration_s": "duration_seconds"}
def near(a, b): assert abs(a - b) <= 1e-9 * abs(b) + 1e-12, (a, b)
for quantity in got["quantities"]:
    if quantity["name"] == "loss": # 0.5 in all
        assert quantity["metric"] and quantity["goal"] == "minimize" and not quantity["told_apart"] and quantity["better"] is None, quantity
        assert quantity["a_mean"] == quantity["b_mean"] == 0.5 and quantity["ratio"] == 1, quantity
        continue
    if quantity["name"] not in columns:
        assert quantity["a_mean"] is None and quantity["ratio"] is None
        continue
    of = lambda rows: [float(r[columns[quantity["name"]]]) for r in rows]
    if paired:
        means = [[statistics.mean(of([r for r in rows if r["hyperparam_n"] == block])) for block in blocks] for rows in sides]
        logs = [math.log(b / a) for a, b in zip(*means)]
        near(quantity["ratio"], math.exp(statistics.mean(logs)))
        half = T[len(blocks) - 1] * statistics.stdev(logs) / math.sqrt(len(blocks))
        assert abs(math.log(quantity["interval"]["high"]) - statistics.mean(logs) - half) < 1e-9, quantity
        assert abs(math.log(quantity["interval"]["low"]) - statistics.mean(logs) + half) < 1e-9, quantity
        assert quantity["blocks"] == len(blocks)
    else:
        near(quantity["ratio"], statistics.geometric_mean(of(sides[1])) / statistics.geometric_mean(of(sides[0])))
        assert quantity["blocks"] == 0
    found = quantity["p_corrected"] is not None and quantity["p_corrected"] <= 0.05
    assert quantity["told_apart"] == (found and not got["order_confounded"]), quantity
    assert not found or quantity["finding"] == ("confounded_with_order" if got["order_confounded"] else "different"), quantity
# Holm (1979): the smallest p value times how many there are, and so on, never falling.
known = sorted((q["raw"]["p"], q["p_corrected"]) for q in got["quantities"] if q["p_corrected"] is not None)
assert got["corrected_for"] == len(known), got
worst = 0
for rank, (p, corrected) in enumerate(known):
    worst = min(1, max(worst, p * (len(known) - rank)))
    near(corrected, worst)
# Of all orders of so many As and Bs, how many change over as seldom?
order = "".join(side for _, side in sorted((r["timestamp"], side) for side, rows in zip("AB", used) for r in rows))
runs = lambda text: sum(1 for _ in itertools.groupby(text))
orders = ["".join("B" if i in chosen else "A" for i in range(len(order))) for chosen in itertools.combinations(range(len(order)), order.count("B"))]
seldom = sum(runs(other) <= runs(order) for other in orders) / len(orders)
assert got["order_confounded"] == (seldom <= 0.05 or runs(order) == 2), (order, seldom)
for key, rows in (("a", used[0]), ("b", used[1])):
    assert got[key]["n"] == len(sides["ab".index(key)]) and got[key]["compared"] == len(rows), got[key]
    for name in rows[0]["conditions"]:
        known = [r["conditions"][name] for r in rows if r["conditions"][name] is not None]
        assert known or name == "sm_clock_mean_mhz", rows
        assert known or got[key][name] is None
        near(got[key][name] or 0, statistics.mean(known or [0]))
END
    python3 expect.py "$@"
}

@test "models that took turns are compared by blocks, with temperature and clocks of their starts beside the ratio" {
    scenario 1 'step 0 150'
    two a:1 b:1 b:2 a:2 a:3 b:3
    run_at=$(run_dir)
    "$TARE" compare "$run_at:model=a" "$run_at:model=b" --only usable --json > compare.json
    expect compare.json "$run_at:a" "$run_at:b"
    # Three blocks, if nothing else on this machine spoiled one.
    blocks=$(python3 -c 'import json; got = json.load(open("compare.json")); assert not got["order_confounded"], got; print(got["quantities"][0]["blocks"])')
    [ "$blocks" -ge 2 ]
    run -0 "$TARE" compare "$run_at:model=a" "$run_at:model=b" --only usable
    [[ "$output" == *"compared within $blocks strata of equal n: $blocks of A's and $blocks of B's experiments"* ]]
    [[ "$output" == *"temperature_start_c"*"sm_clock_start_mhz"*"memory_clock_start_mhz"*"sm_clock_mean_mhz"* ]]
    [[ "$output" != *"order confounded"* ]]
}

@test "a model that ran wholly before the other is told to be confounded with what changed in between" {
    scenario 1 'step 0 150'
    B=120 # a difference that the delays of a busy machine do not hide
    two a:1 a:2 a:3 a:4 b:1 b:2 b:3
    run_at=$(run_dir)
    "$TARE" compare "$run_at:model=a" "$run_at:model=b" --only usable --json > compare.json
    expect compare.json "$run_at:a" "$run_at:b"
    python3 -c 'import json; got = json.load(open("compare.json")); assert got["order_confounded"] and got["a"]["n"] > got["a"]["compared"] >= 2, got'
    run -0 "$TARE" compare "$run_at:model=a" "$run_at:model=b" --only usable
    echo "$output"
    grep -Eq '^duration_s .*  confounded with order$' <<<"$output"
    [[ "$output" == *"order confounded"* && "$output" != *"different"* ]]
}

@test "what differs by chance has no significant difference" {
    scenario 1 'step 0 150'
    two a:1 b:3 a:1 b:3
    run_at=$(run_dir)
    # Against itself the ratio is 1, whatever the machine was like.
    run -0 "$TARE" compare "$run_at:model=a" "$run_at:model=a" --only usable
    [[ "$output" == *"duration_s"*"1 ("*"no significant difference"* ]]
    [[ "$output" != *$'  different'* ]]
    # No hyperparameter in common: the ratio of the geometric means, and n is told to be confounded.
    "$TARE" compare "$run_at:model=a" "$run_at:model=b" --only usable --json > compare.json
    expect compare.json "$run_at:a" "$run_at:b"
    python3 -c 'import json; got = json.load(open("compare.json")); assert got["factors"] == [{"name": "n", "role": "confounded", "a": "1", "b": "3"}], got["factors"]'
}

# gain A B KIND: what compare says of the gains of two groups' sensors; expect the interval with them from the runs' own budgets.
gain() {
    "$TARE" compare "$1" "$2" --only usable --json >compare.json
    cat >gain.py <<'END'
import json, math, sys
(energy,) = [q for q in json.load(open("compare.json"))["quantities"] if q["name"] == "gpu_energy_j"]
(time,) = [q for q in json.load(open("compare.json"))["quantities"] if q["name"] == "duration_s"]
one = energy["measurement"]
assert one["gain"] == sys.argv[1] and time["measurement"] is None and time["interval_with_measurement"] is None, (one, time)
kept = {"cancels": 0, "kept": math.sqrt(2) * 0.05 / math.sqrt(3), "unknown": None}[sys.argv[1]]
if kept is None:
    assert one["u_gain"] is energy["interval_with_measurement"] is None, energy
else:
    assert abs(one["u_gain"] - kept) < 1e-9, one
    plain, whole = energy["interval"], energy["interval_with_measurement"]
    assert whole["low"] <= plain["low"] * (1 + 1e-12) and whole["high"] >= plain["high"] * (1 - 1e-12), energy
    assert whole["high"] / whole["low"] >= math.exp(2 * 1.959964 * math.hypot(kept, one["u"])) * (1 - 1e-9), energy
assert 0 < one["u"] < 0.2 and abs(one["half_width"] - 1.96 * one["u"]) < 1e-9, one
END
    python3 gain.py "$3"
}

@test "on one GPU the gain cancels in a ratio, between two it is kept, and an unknown one is said" {
    local first second name
    for name in "Tesla K40m" "NVIDIA H200"; do
        scenario 2 "name $name
step 0 150"
        export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0
        two a:2 b:2 a:2 b:2
        first=$(run_dir)
        mv "$first" "first"
        CUDA_VISIBLE_DEVICES=1 two a:2 b:2 a:2 b:2
        second=$(run_dir)
        mv "$second" "second"
        gain first:model=a first:model=b cancels
        run -0 "$TARE" compare first:model=a first:model=b --only usable
        [[ "$output" == *"gpu_energy_j, measurement: the same sensors measured A and B, so their gains cancel: "*" ± "*" (95 %) by the meters; with it the ratio is "* ]]
        [ "$name" = "Tesla K40m" ] && gain first:model=a second:model=a kept || gain first:model=a second:model=a unknown
        run -0 "$TARE" compare first:model=a second:model=a --only usable
        if [ "$name" = "Tesla K40m" ]; then
            [[ "$output" == *"different sensors measured A and B, so their gains count (u "*" by the meters without the gains; with both the ratio is "* ]]
            run -0 "$TARE" stats first
            [[ "$output" == *"gpu_energy_j, mean: "*" ± "*"J (95 %); the sensors' gain (u 2.9 %) comes on top"* ]]
        else
            [[ "$output" == *"different sensors whose gains are not stated: the ratio may be off"* ]]
            run -0 "$TARE" stats first
            [[ "$output" == *"gpu_energy_j, mean: "*" ± "*"J (95 %); the sensors' gain is unknown and comes on top"* ]]
        fi
        rm -r first second
    done
}
