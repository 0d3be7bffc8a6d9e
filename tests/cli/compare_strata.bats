#!/usr/bin/env bats
# tare compare on folders with planted effects: strata, covariates, corrections, claims and sample sizes, against statsmodels and SciPy.
bats_require_minimum_version 1.5.0
load helpers

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# Found, not imported: that takes a second.
needs_statsmodels() {
    python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("statsmodels") is None)' || skip "python3-statsmodels is missing"
}

# plant SEED, Python on standard input with write(folder, rows) and run(time, power, sd=0.03, **params).
plant() {
    {
        cat << HEAD
import math, random, sys
sys.path.insert(0, "$ROOT/tests/statistics")
from planted import write_folder as write
rng = random.Random($1)
def run(time, power, sd=0.03, **params):
    duration = time * math.exp(rng.gauss(0, sd))
    return {"duration_s": duration, "energy_j": duration * power * math.exp(rng.gauss(0, sd)), **params}
HEAD
        cat
    } >plant.py
    python3 plant.py
}

# compared A B STRATUM... [--covariates NAME...]: what compare prints equals what statsmodels makes of the folders.
compared() {
    "$TARE" compare "$1" "$2" --json >compare.json
    python3 "$ROOT/tests/statistics/compare_reference.py" compare.json "$@"
}

# quantity NAME EXPRESSION: holds for q, a quantity of compare.json, and got, all of it.
quantity() {
    python3 - "$@" << 'END'
import json, sys
got = json.load(open("compare.json"))
(q,) = [q for q in got["quantities"] if q["name"] == sys.argv[1]]
assert eval(sys.argv[2]), q
END
}

# Reduced to the means of its two blocks, this was a ratio of 1.19 with an interval of 0.20 to 6.97.
@test "forty against forty runs in two strata are decided by the spread within the strata" {
    needs_statsmodels
    plant 1 << 'END'
write("one", [run(100, 200, batch=b) for b in (16, 32) for _ in range(20)])
write("two", [run(100 * f, 200, batch=b) for b, f in ((16, 1.02), (32, 1.4)) for _ in range(20)])
write("same", [run(100 * 1.19, 200, batch=b) for b in (16, 32) for _ in range(20)])
END
    compared one two hyperparam_batch
    quantity duration_s 'q["told_apart"] and 1.13 < q["interval"]["low"] and q["interval"]["high"] < 1.26 and q["blocks"] == 2'
    run -0 "$TARE" compare one two
    [[ "$output" == *"compared within 2 strata of equal batch: 40 of A's and 40 of B's experiments"* ]]
    [[ "$output" == *"duration_s: the strata differ in the ratio, from 1.0"*" to 1.4"*"(Cochran's Q, p = "* ]]
    compared one same hyperparam_batch
    quantity duration_s 'q["told_apart"] and 1.16 < q["interval"]["low"] and q["interval"]["high"] < 1.22 and q["heterogeneity"]["p_corrected"] > 0.05'
    run -0 "$TARE" compare one same
    [[ "$output" != *"the strata differ"* ]]
}

# Pooled, these differed by 1.54.
@test "two folders of the same models in other shares are compared model by model" {
    needs_statsmodels
    plant 2 << 'END'
models = {"x": (100, 200), "y": (300, 150)}
write("one", [run(*models[m], model=m) for m, n in (("x", 15), ("y", 5)) for _ in range(n)])
write("two", [run(*models[m], model=m) for m, n in (("x", 5), ("y", 15)) for _ in range(n)])
END
    compared one two model
    for name in gpu_energy_j gpu_power_w duration_s; do
        quantity $name 'not q["told_apart"] and 0.96 < q["ratio"] < 1.04 and q["interval"]["high"] / q["interval"]["low"] < 1.1'
    done
}

@test "what is mixed in different ways and shares nothing is refused, with the reason" {
    plant 3 << 'END'
write("xy", [run(100, 200, model=m) for m in "xxy"])
write("z", [run(100, 200, model="z") for _ in range(3)])
write("sgd", [run(100, 200, optimizer=o) for o in ("sgd", "sgd", "adam")])
write("lion", [run(100, 200, optimizer=o) for o in ("lion", "lion", "lamb")])
write("short", [run(e, 200, epochs=e) for e in (5, 6)])
write("long", [run(e, 200, epochs=e) for e in (50, 60)])
END
    run -2 "$TARE" compare xy z
    [[ "$output" == *"mixed in different ways and share no model: A has demo x (2), demo y (1), B has demo z (3); to compare two models, choose each"* ]]
    run -0 "$TARE" compare xy:model=x z:model=z
    run -2 "$TARE" compare sgd lion
    [[ "$output" == *"share no optimizer: A has adam (1), sgd (2), B has lamb (1), lion (2)"* ]]
    # One value on each side may be what is to be compared: that is said.
    run -0 "$TARE" compare sgd:optimizer=sgd lion:optimizer=lion
    run -2 "$TARE" compare short long
    [[ "$output" == *"share no epochs: A has 5 (1), 6 (1), B has 50 (1), 60 (1); and there are too few experiments to adjust for it"* ]]
}

@test "a difference in epochs is not reported as energy: raw, adjusted and per epoch are side by side" {
    needs_statsmodels
    plant 4 << 'END'
def drawn(low, high):
    epochs, rate = round(math.exp(rng.uniform(math.log(low), math.log(high)))), math.exp(rng.uniform(math.log(1e-4), math.log(1e-1)))
    return run(10 * epochs ** 0.9, 200 * rate ** 0.02, epochs=epochs, learning_rate=rate, seed=rng.randrange(10 ** 6))
write("one", [drawn(5, 300) for _ in range(20)])
write("two", [drawn(60, 500) for _ in range(20)])
END
    compared one two - --covariates epochs learning_rate
    quantity gpu_energy_j 'q["raw"]["interval"]["low"] > 1.3 and not q["told_apart"] and 0.9 < q["ratio"] < 1.1'
    quantity duration_s 'abs(q["adjusted"]["slopes"]["epochs"] - 0.9) < 0.03'
    quantity gpu_power_w 'q["per_epoch"] is None and abs(q["adjusted"]["slopes"]["learning_rate"] - 0.02) < 0.01'
    run -0 "$TARE" compare one two
    [[ "$output" == *"B / A, raw (95 %)"*"adjusted (95 %)"*"per epoch (95 %)"*"p (Holm, of 3)"* ]]
    [[ "$output" == *"ln(quantity) = stratum + side + slopes * (ln(epochs), ln(learning_rate))"* ]]
}

@test "strata of all sizes, and sides of other spreads, have the figures of statsmodels" {
    needs_statsmodels
    for seed in 5 6 7; do
        plant $seed << 'END'
def some(sd): return [run(100 * k, 200, sd, model=f"m{k}", batch=b) for k in range(1, 7) for b in (8, 16) for _ in range(rng.randint(k == 1, 5))]
write("one", some(0.02) + [run(1, 1, model="alone", batch=8)])
write("two", some(0.1))
END
        compared one two model hyperparam_batch
    done
}

@test "single pairs in a stratum are the paired t test" {
    plant 8 << 'END'
write("one", [run(1000 / b, 200, batch=b) for b in (1, 2, 4, 8, 16)])
write("two", [run(1100 / b, 200, batch=b) for b in (1, 2, 4, 8, 16)])
END
    "$TARE" compare one two --json >compare.json
    python3 - << 'END'
import csv, json, math, statistics
T4 = 2.7764451051977987
a, b = ([float(r["duration_seconds"]) for r in csv.DictReader(open(f"{name}/summary.csv"))] for name in ("one", "two"))
logs = [math.log(y / x) for x, y in zip(a, b)]
q = [q for q in json.load(open("compare.json"))["quantities"] if q["name"] == "duration_s"][0]
half = T4 * statistics.stdev(logs) / math.sqrt(5)
assert abs(math.log(q["interval"]["low"]) - statistics.mean(logs) + half) < 1e-9 and abs(q["raw"]["df"] - 4) < 1e-9, q
assert q["heterogeneity"] is None, q
END
}

# Shares on logits, positive losses on logarithms, the others as they are: each of it by statsmodels on that scale.
@test "metrics are compared on the scale they live on, beside time and energy, all corrected together" {
    needs_statsmodels
    for shape in plain strata drawn; do
        shape=$shape plant 12 << 'END'
import os
def one(b, batch):
    rate = math.exp(rng.uniform(math.log(1e-4), math.log(1e-1)))
    more = {"plain": {}, "strata": {"batch": batch}, "drawn": {"learning_rate": rate}}[os.environ["shape"]]
    share = lambda logit: 1 / (1 + math.exp(-logit))
    return run(100, 200, perf_accuracy=share(2 + 0.5 * b + rng.gauss(0, 0.1)), perf_top1_percent_accuracy=100 * share(1 + rng.gauss(0, 0.1)),
               perf_loss=math.exp(0.3 * b + rng.gauss(0, 0.1)), perf_reward=-5 + 3 * b + rng.gauss(0, 1),
               perf_temperature=1e6 + rng.gauss(0, 1), perf_recall=rng.choice((0.9, 0.95, 1.0)), **more)
write("one", [one(False, batch) for batch in (16, 32) for _ in range(12)])
write("two", [one(True, batch) for batch in (16, 32) for _ in range(12)])
END
        case $shape in
        plain) compared one two - ;;
        strata) compared one two hyperparam_batch ;;
        drawn) compared one two - --covariates learning_rate ;;
        esac
        quantity accuracy 'q["told_apart"] and q["better"] == "b" and q["measure"] == "odds_ratio" and 1.5 < q["effect"] < 1.8 and got["corrected_for"] == 9'
        quantity loss 'q["told_apart"] and q["better"] == "a" and q["measure"] == "ratio" and 1.2 < q["ratio"] < 1.5'
        quantity reward 'q["told_apart"] and q["better"] == "b" and q["measure"] == "difference" and 2 < q["effect"] < 4'
        quantity temperature 'not q["told_apart"] and abs(q["effect"]) < 2'
        quantity recall 'not q["told_apart"] and q["measure"] == "difference" and abs(q["effect"]) < 0.1'
    done
    run -0 "$TARE" compare one two
    [[ "$output" == *"B against A by"*"p (Holm, of 9)"* ]]
    [[ "$output" == *"accuracy "*"odds ratio, higher is better"*"different: B is better"* ]]
    [[ "$output" == *"loss "*"ratio, lower is better"*"different: A is better"* ]]
    [[ "$output" == *"reward "*"difference, higher is better"*"different: B is better"* ]]
    [[ "$output" == *"recall: a value is 0, or 100 % of a share, so it is compared as it is"* ]]
    # A difference of 5 % is a ratio: of what is not compared by one nothing is said.
    run -0 "$TARE" compare one two --sample-size 5
    [[ "$output" == *"loss: "*" settings a side find"* && "$output" != *"accuracy: "*" a side find"* ]]
}

@test "trainings that diverged are left out of a comparison of their metric, and how many is told" {
    needs_statsmodels
    plant 13 << 'END'
write("one", [run(100, 200, perf_loss=math.exp(rng.gauss(0, 0.1))) for _ in range(8)])
write("two", [run(100, 200, perf_loss=loss) for loss in ("nan", "inf", "nan", 1.1, 1.2, 0.9, 0.8, 1.3)])
END
    compared one two -
    quantity loss 'q["a_not_finite"] == 0 and q["b_not_finite"] == 3 and q["b_n"] == 5 and got["b"]["compared"] == 8'
    run -0 "$TARE" compare one two
    [[ "$output" == *"loss: nan or inf in 0 of A's and 3 of B's experiments, which are left out of it"* ]]
}

@test "names that differ by case alone are one hyperparameter, and said to be; a Seed is a seed; an experiment with both has two" {
    plant 14 << 'END'
seed = lambda: rng.randrange(10 ** 6)
write("one", [run(100 * b, 200, Seed=seed(), batch=b, Epochs=e) for b in (1, 2, 3) for e in (10, 20) for _ in range(4)])
write("two", [run(100 * b, 200, SEED=seed(), Batch=b, epochs=e) for b in (1, 2, 3) for e in (10, 20) for _ in range(3)])
write("both", [run(100, 200, n=1, N=n, seed=seed()) for n in (1, 2) for _ in range(3)])
END
    "$TARE" compare one two --json >compare.json
    quantity duration_s 'got["factors"] == [{"name": "Epochs", "role": "stratum"}, {"name": "batch", "role": "stratum"}] and q["blocks"] == 6'
    quantity duration_s 'got["spellings"] == [{"name": a, "other": b, "joined": True} for a, b in (("batch", "Batch"), ("Epochs", "epochs"), ("Seed", "SEED"))], got["spellings"]'
    run -0 "$TARE" compare one two
    [[ "$output" == *"hyperparameters batch and Batch are taken for one: their names differ by case alone"* ]]
    # Chosen by the name that the folder has.
    run -0 "$TARE" compare one:batch=1 two:Batch=2 --json
    run -0 "$TARE" stats one two --json
    python3 -c 'import json, sys; (g,) = json.loads(sys.argv[1])["groups"]; assert {e["hyperparameter"] for e in g["effects"]} == {"batch", "Epochs"} and g["effects"][0]["runs"] == 42, g["effects"]' "$output"
    run -0 "$TARE" stats both
    [[ "$output" == *"hyperparameters n and N are two: an experiment has both"* ]]
    run -0 "$TARE" export one two -o tables
    [ "$(cut -d, -f3 tables/hyperparameters.csv | sort -u | tr '\n' ' ')" = 'Batch Epochs SEED Seed batch epochs name ' ]
}

# Each setting has an energy of its own that no hyperparameter tells. Were runs the unit, ten repeats of four settings would be forty.
@test "repeats of a drawn setting count once: by their mean, in stats and in compare" {
    needs_statsmodels
    plant 15 << 'END'
def drawn(settings, repeats):
    rows = []
    for _ in range(settings):
        rate, own = math.exp(rng.uniform(math.log(1e-4), math.log(1e-1))), math.exp(rng.gauss(0, 0.3))
        rows += [run(100 * own, 200, mode="mutation", seed=k, learning_rate=rate, perf_loss=own * math.exp(rng.gauss(0, 0.01))) for k in range(rng.randint(1, repeats))]
    return rows
write("one", drawn(10, 12))
write("two", drawn(9, 12))
END
    compared one two - --covariates learning_rate
    quantity duration_s 'got["a"]["settings"] == 10 and got["b"]["settings"] == 9 and got["a"]["compared"] > 40 and not q["told_apart"]'
    run -0 "$TARE" compare one two
    [[ "$output" == *"repeats of a setting count once, by their mean: 10 settings of A, 9 of B"* ]]
    run -0 "$TARE" stats one
    [[ "$output" == *"; 10 settings were drawn: the mean of each counts once"* ]]
    # So few settings cannot be adjusted for, however many runs there are of each.
    plant 16 << 'END'
write("one", [run(100, 200, seed=k, learning_rate=rate) for k in range(20) for rate in (1, 2)])
write("two", [run(100, 200, seed=k, learning_rate=rate) for k in range(20) for rate in (3, 4)])
END
    run -2 "$TARE" compare one two
    [[ "$output" == *"too few experiments to adjust for it"* ]]
}

# Of 300 pairs of folders whose settings differ by chance alone; with runs as the unit 38 in 100 "differ".
@test "repeats of drawn settings make no difference where there is none" {
    python3 "$ROOT/tests/statistics/drawn_rates.py" --count 300 --seed 3
}

@test "interactions of hyperparameters are tried where they are asked for alone, and equal those of statsmodels" {
    needs_statsmodels
    plant 17 << 'END'
def drawn():
    batch, epochs, rate, drop = rng.choice((16, 32, 64, 128)), rng.randint(5, 50), math.exp(rng.uniform(-9, -2)), rng.choice((0, 0.1, 0.5))
    optimizer, repeats = rng.choice("ab"), rng.choice((1, 1, 2))
    power = 0.5 * (math.log(batch) - 4) * (math.log(epochs) - 3)
    share = 1 / (1 + math.exp(-1 - rng.gauss(0, 0.3) - drop))
    return [run(100 * math.exp(power), 200, batch=batch, epochs=epochs, learning_rate=rate, dropout=drop, seed=k, optimizer=optimizer,
                perf_accuracy=share, perf_reward=-3 + rng.gauss(0, 1), perf_loss=math.exp(rng.gauss(0, 0.1))) for k in range(repeats)]
write("one", [row for _ in range(60) for row in drawn()])
write("few", [row for _ in range(8) for row in drawn()])
END
    "$TARE" stats one --interactions --json >stats.json
    python3 "$ROOT/tests/statistics/interactions_reference.py" stats.json one batch epochs learning_rate dropout:plain
    python3 -c 'import json
(group,) = json.load(open("stats.json"))["groups"]
(found,) = [i for i in group["interactions"] if i["p_corrected"] <= 0.05]
assert found["hyperparameters"] == ["batch", "epochs"] and found["on"] == "gpu_energy_j" and found["interval"]["low"] < 0.5 < found["interval"]["high"], found
assert group["interactions_missing"] is None'
    run -0 "$TARE" stats one --interactions
    [[ "$output" == *"the effect of batch on gpu_energy_j depends on epochs: slope of the product 0."*" corrected"* ]]
    run -0 "$TARE" stats one
    [[ "$output" != *"depends on"* ]]
    "$TARE" stats one --json >stats.json
    run -1 grep -q interaction stats.json
    run -0 "$TARE" stats few --interactions
    [[ "$output" == *"no interactions: fewer than two settings for each parameter of the model"* ]]
}

@test "what each side has one value of is told to be confounded, and a stratum of one side alone is left out" {
    plant 9 << 'END'
write("one", [run(100, 200, batch=16, note=n, epochs=10) for n in ("a", "b", "c", "d")] + [run(100, 200, batch=64, note="e", epochs=10)])
write("two", [run(200, 200, batch=16, note=n, epochs=20) for n in ("f", "g", "h", "i")])
END
    "$TARE" compare one two --json >compare.json
    quantity duration_s 'got["factors"] == [{"name": "batch", "role": "stratum"}, {"name": "epochs", "role": "confounded", "a": "10", "b": "20"}]'
    quantity duration_s 'got["a"]["compared"] == 4 and got["a"]["n"] == 5 and q["per_epoch"]["interval"]["low"] < 1 < q["per_epoch"]["interval"]["high"]'
    run -0 "$TARE" compare one two
    [[ "$output" == *"epochs confounded: 10 in all of A, 20 in all of B"* ]]
}

@test "claims are held, refuted or open by the interval, each with an exit code" {
    plant 10 << 'END'
write("one", [run(100, 200) for _ in range(8)])
write("two", [run(110, 200) for _ in range(8)])
END
    run -0 "$TARE" compare one two --expect 'duration_s>1,duration_s<+50%,gpu_energy_j<=150%'
    [[ "$output" == *"duration_s>1: held"*"duration_s<+50%: held"*"gpu_energy_j<=150%: held"* ]]
    run -4 "$TARE" compare one two --expect 'duration_s>1,duration_s<1.1'
    [[ "$output" == *"duration_s<1.1: open; were the ratio what it seems, "*" experiments a side would decide"* ]]
    run -1 "$TARE" compare one two --expect 'duration_s<1.1,duration_s<-2%'
    [[ "$output" == *"duration_s<1.1: open"*"duration_s<-2%: refuted"* ]]
    # What was not measured is open, and nobody knows how many runs would do.
    run -4 "$TARE" compare one two --expect 'cpu_energy_j<1'
    [[ "$output" == *"cpu_energy_j<1: open; how many experiments would decide is not known"* ]]
    for wrong in 'duration_s' 'duration_s<' 'time<1' 'duration_s<-100%' 'duration_s<-5' 'duration_s<nan' ',' ''; do
        run -2 "$TARE" compare one two --expect "$wrong"
    done
    # By the interval that is printed.
    "$TARE" compare one two --json --expect 'duration_s<1.1' >compare.json || [ $? -eq 4 ]
    quantity duration_s 'got["expectations"][0]["outcome"] == "open" and q["interval"]["low"] <= 1.1 <= q["interval"]["high"]'
}

@test "--sample-size says what statsmodels' power analysis of the t test says" {
    needs_statsmodels
    plant 11 << 'END'
write("one", [run(100, 200) for _ in range(8)])
write("two", [run(110, 200) for _ in range(8)])
END
    for share in 2 5% 10 50; do
        "$TARE" compare one two --json --sample-size $share --expect 'duration_s<1.1' >compare.json || [ $? -eq 4 ]
        python3 - "${share%\%}" << 'END'
import json, math, sys
from statsmodels.stats.power import TTestIndPower
got, delta = json.load(open("compare.json")), math.log1p(float(sys.argv[1]) / 100)
# Enough, and hardly more than that: ours approximates the noncentral t by a shifted one.
def right(n, sigma, delta, alpha):
    power = lambda n: TTestIndPower().power(abs(delta) / sigma, n, alpha)
    assert n and power(n + 1) >= 0.8 and (n <= 4 or power(math.floor(0.98 * n) - 1) < 0.8), (n, sigma, delta)
measured = [q for q in got["quantities"] if q["ratio"]]
assert len(measured) == 3 and got["sample_size"]["cpu_energy_j"] is None, got["sample_size"]
for q in measured:
    right(got["sample_size"][q["name"]], q["raw"]["sigma"], delta, 0.05 / 3)
(claim,) = got["expectations"]
(q,) = [q for q in got["quantities"] if q["name"] == "duration_s"]
right(claim["needs"], q["raw"]["sigma"], math.log(q["ratio"] / 1.1), 0.05)
END
    done
    for wrong in 0 -1 x '' 5%% nan 5x; do run -2 "$TARE" compare one two --sample-size "$wrong"; done
}

# The published table is of more: docs/reference/judging.md.
@test "null comparisons claim a difference in at most 5 %, and intervals hold the ratio in at least 93 %" {
    TARE=$TARE python3 "$ROOT/tests/statistics/compare_rates.py" --count 40 --seed 7 --most 0.05 --least 0.93 --power 0.85
}
