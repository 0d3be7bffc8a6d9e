"""The figures of `tare stats` against scipy and statsmodels: stats_reference.py make FOLDER, then stats_reference.py check
FOLDER stats.json. Each method by other means than the program's: Hall's bounds by a search for the root, Fisher's and the
median's ranks by scipy's distributions, p values by scipy's own test, Holm by statsmodels, repeats by
trying one number after another.

The folder is a study's summary.csv: for each n one model, whose energies are lognormal and whose accuracies are near 100 %;
model "draws" with hyperparameters drawn at random, two seeds each, and five runs with the defaults; model "pairs" is
parallel, with three runs of the defaults and six draws; model "grid" has one hyperparameter of three values."""
import csv
import itertools
import json
import math
import os
import random
import statistics
import sys

COUNTS = (2, 3, 4, 5, 6, 7, 10, 25, 29, 30, 31, 45, 100)
COLUMNS = ["experiment_id", "timestamp", "repository", "model", "training_success", "duration_seconds", "retries",
           "hyperparam_lr", "hyperparam_epochs", "hyperparam_seed", "perf_accuracy", "perf_loss", "energy_gpu_total_joules",
           "energy_gpu_avg_watts"]


def rows():
    draw = random.Random(20)
    number = 0
    def row(model, energy, lr="", epochs="", seed="", accuracy="", loss=""):
        nonlocal number
        number += 1
        at = f"2025-11-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00.000000"
        end = "_parallel" if model == "pairs" else ""
        return dict(zip(COLUMNS, (f"demo_{model}_{number:03}{end}", at, "demo", model, "True", 60.0, 0, lr, epochs, seed,
                                  accuracy, loss, energy, energy / 60)))
    for n in COUNTS:
        for _ in range(n):
            yield row(f"n{n}", 1000 * math.exp(draw.gauss(0, 1)), accuracy=100 - 3 * draw.random() ** 2, loss=draw.random())
    for _ in range(5):
        yield row("draws", 5000 + draw.gauss(0, 1), lr=0.01, epochs=10, seed=1, accuracy=50)
    for _ in range(40):
        lr, epochs = 10 ** draw.uniform(-4, -1), draw.randint(11, 40)
        for seed in (1, 2):
            yield row("draws", 100 * epochs * math.exp(draw.gauss(0, 0.1)), lr=lr, epochs=epochs, seed=seed,
                      accuracy=90 + math.log10(lr) + draw.gauss(0, 1))
    for lr in (0.1, 0.1, 0.1, 0.2, 0.5, 0.3, 0.7, 0.9, 0.6):
        yield row("pairs", 1000 + 100 * lr + draw.gauss(0, 20), lr=lr)
    for number_ in range(30):
        yield row("grid", 1000 + draw.gauss(0, 100), lr=(0.1, 0.01, 0.001)[number_ % 3], seed=number_, loss=1 / (1 + number_))


def near(found, expected, tolerance=1e-9):
    assert abs(found - expected) <= tolerance * max(1e-300, abs(expected)), (found, expected)


def check_median(figure, values, scale, curve=False):
    from scipy import stats
    n, interval = len(values), figure["median_interval"]
    if n < 6 and not curve:
        assert interval is None and figure["median_interval_missing"] == "fewer than 6 values", figure
    elif n < 6:
        to, back = {"positive": (math.log, math.exp),
                    "percent": (lambda v: math.log(v / (100 - v)), lambda z: 100 / (1 + math.exp(-z)))}[scale]
        low, high = stats.t.interval(0.95, n - 1, statistics.mean(map(to, values)), stats.sem([to(v) for v in values]))
        assert interval["method"] == "t" and "median_interval_missing" not in figure, figure
        near(interval["low"], back(low))
        near(interval["high"], back(high))
    else:
        # The k-th value from either end bounds the median as often as Binomial(n, 1/2) lies in k .. n - k.
        k = max(k for k in range(1, n) if stats.binom.cdf(k - 1, n, 0.5) <= 0.025)
        assert interval == {"low": sorted(values)[k - 1], "high": sorted(values)[n - k], "method": "order"}, (n, figure)


def check_mean(figure, values, highest):
    from scipy import optimize, stats
    n, interval = len(values), figure["mean_interval"]
    if n < 3:
        assert interval is None and figure["mean_interval_missing"] == "fewer than 3 values", figure
        return
    assert figure["skewed"] == (n >= 8 and bool(stats.skewtest(values).pvalue < 0.01)), figure
    if n < 30:
        low, high = stats.t.interval(0.95, n - 1, statistics.mean(values), stats.sem(values))
        assert interval["method"] == "t", figure
        near(interval["low"], max(0, low), 1e-7)
        near(interval["high"], min(highest, high), 1e-7)
        return
    mean, deviation, skewness = statistics.mean(values), statistics.stdev(values), stats.skew(values)
    t = stats.t.ppf(0.975, n - 1)
    halls = lambda w: w + skewness * w**2 / 3 + skewness**2 * w**3 / 27 + skewness / (6 * n)
    root = lambda y: optimize.brentq(lambda w: halls(w) - y, -1e3, 1e3, xtol=1e-14)
    half = t * deviation / math.sqrt(n)
    low = min(mean - half, mean - deviation * root(t / math.sqrt(n)))
    high = max(mean + half, mean - deviation * root(-t / math.sqrt(n)))
    assert interval["method"] == "hall", figure
    near(interval["low"], max(0, low), 1e-7)
    near(interval["high"], min(highest, high), 1e-7)


def check_rank(effect, x, y):
    from scipy import stats
    rho, _ = stats.spearmanr(x, y)
    near(effect["rho"], rho)
    half = stats.norm.ppf(0.975) * math.sqrt((1 + rho**2 / 2) / (len(x) - 3))
    near(effect["interval"]["low"], math.tanh(math.atanh(rho) - half), 1e-7)
    near(effect["interval"]["high"], math.tanh(math.atanh(rho) + half), 1e-7)
    draw = random.Random(1)
    shuffled = list(y)
    far, tries = 0, 3000
    ranks, others = stats.rankdata(x), stats.rankdata(y)
    middle = (len(x) + 1) / 2
    limit = abs(sum((a - middle) * (b - middle) for a, b in zip(ranks, others))) - 1e-9
    for _ in range(tries):
        draw.shuffle(others)
        far += abs(sum((a - middle) * (b - middle) for a, b in zip(ranks, others))) >= limit
    p = (far + 1) / (tries + 1)
    assert abs(effect["p"] - p) < 5 * math.sqrt(p * (1 - p) / tries) + 0.002, (effect, p)


def check(path, given):
    from statsmodels.stats.multitest import multipletests
    table = list(csv.DictReader(open(path, newline="")))
    groups = given["groups"]
    found = {(g["model"], g["hyperparameters"]): {f["name"]: f for f in g["figures"]} for g in groups}
    for n in COUNTS:
        mine = [r for r in table if r["model"] == f"n{n}"]
        figures = found[f"n{n}", None]
        for name, column, scale, highest in (("gpu_energy_j", "energy_gpu_total_joules", "positive", math.inf),
                                             ("accuracy", "perf_accuracy", "percent", 100), ("loss", "perf_loss", "positive", math.inf)):
            values = [float(r[column]) for r in mine]
            assert figures[name]["n"] == n
            near(figures[name]["mean"], statistics.mean(values))
            near(figures[name]["median"], statistics.median(values))
            check_median(figures[name], values, scale)
            check_mean(figures[name], values, highest)
            for interval in (figures[name]["mean_interval"], figures[name]["median_interval"]):
                assert not interval or (interval["low"] >= 0 and interval["high"] <= highest), (n, name, interval)
    # The defaults are a group of their own and no draw; seeds are repeats, not effects.
    assert {(g["model"], g["hyperparameters"]): g["n"] for g in groups if g["model"] in ("draws", "pairs", "grid")} == {
        ("draws", "default"): 5, ("draws", "drawn"): 80, ("pairs", "default"): 3, ("pairs", "drawn"): 6, ("grid", None): 30}
    effects = {(g["model"], e["hyperparameter"], e["on"]): e for g in groups for e in g["effects"]}
    assert set(effects) == {("draws", p, q) for p in ("lr", "epochs") for q in ("gpu_energy_j", "accuracy")} | {
        ("pairs", "lr", "gpu_energy_j"), ("grid", "lr", "gpu_energy_j"), ("grid", "lr", "loss")}, set(effects)
    # Of few runs all orders are tried.
    from scipy import stats
    mine = [r for r in table if r["model"] == "pairs"][3:]
    lr, energy = [float(r["hyperparam_lr"]) for r in mine], [float(r["energy_gpu_total_joules"]) for r in mine]
    rho, orders = stats.spearmanr(lr, energy)[0], list(itertools.permutations(energy))
    far = sum(abs(stats.spearmanr(lr, order)[0]) >= abs(rho) - 1e-9 for order in orders)
    near(effects["pairs", "lr", "gpu_energy_j"]["rho"], rho)
    if len(lr) < 8: # of fewer than 8 Student's t of r
        line = stats.linregress(lr, energy)
        near(effects["pairs", "lr", "gpu_energy_j"]["r"], line.rvalue)
        near(effects["pairs", "lr", "gpu_energy_j"]["p"], line.pvalue, 1e-7)
        assert effects["pairs", "lr", "gpu_energy_j"]["test"] == "student_t_of_r"
    else:
        near(effects["pairs", "lr", "gpu_energy_j"]["p"], far / len(orders))
    sets = {}
    for row in table[sum(COUNTS) + 5:-39]:
        sets.setdefault((float(row["hyperparam_lr"]), int(row["hyperparam_epochs"])), []).append(row)
    for at, param in enumerate(("lr", "epochs")):
        for name, column in (("gpu_energy_j", "energy_gpu_total_joules"), ("accuracy", "perf_accuracy")):
            # A drawn setting counts once, however often it ran.
            means, figure = [statistics.mean(float(r[column]) for r in rows_) for rows_ in sets.values()], found["draws", "drawn"][name]
            assert (figure["n"], figure["runs"]) == (40, 80), figure
            near(figure["mean"], statistics.mean(means))
            near(figure["deviation"], statistics.stdev(means))
            check_median(figure, means, "positive" if name == "gpu_energy_j" else "percent")
            check_mean(figure, means, math.inf if name == "gpu_energy_j" else 100)
            effect = effects["draws", param, name]
            assert (effect["n"], effect["runs"]) == (40, 80), effect
            check_rank(effect, [key[at] for key in sets], [statistics.mean(float(r[column]) for r in rows_) for rows_ in sets.values()])
    # Vangel's interval of a coefficient of variation, and the repeats by trying one n after another.
    default = next(g for g in groups if (g["model"], g["hyperparameters"]) == ("draws", "default"))
    watts = [float(r["energy_gpu_avg_watts"]) for r in table[sum(COUNTS):sum(COUNTS) + 5]]
    cv = statistics.stdev(watts) / statistics.mean(watts)
    near(default["power_cv_between"]["value"], cv)
    for bound, q in (("low", 0.975), ("high", 0.025)):
        u = stats.chi2.ppf(q, 4)
        near(default["power_cv_between"]["interval"][bound], cv / math.sqrt(((u + 2) / 5 - 1) * cv**2 + u / 4), 1e-7)
    for g in groups:
        cv = g["energy_cv_between"]["value"]
        if g["energy_cv_between"]["of"] == "identical" and cv < 2:
            n = 2
            while stats.t.ppf(0.975, n - 1) * cv / math.sqrt(n) > 0.05:
                n += 1
            assert g["repeats_needed"] == n, (g["model"], g["repeats_needed"], n)
    # Only lr differs there: each run is a point.
    mine = [r for r in table if r["model"] == "grid"]
    effect = effects["grid", "lr", "gpu_energy_j"]
    assert (effect["n"], effect["runs"]) == (30, 30)
    check_rank(effect, [float(r["hyperparam_lr"]) for r in mine], [float(r["energy_gpu_total_joules"]) for r in mine])
    assert [(level["from"], level["to"], level["n"]) for level in effect["curve"]] == [(v, v, 10) for v in (0.001, 0.01, 0.1)], effect
    for level in effect["curve"]:
        values = [float(r["energy_gpu_total_joules"]) for r in mine if float(r["hyperparam_lr"]) == level["from"]]
        near(level["median"], statistics.median(values))
        check_median({"median_interval": level["interval"]}, values, "positive", curve=True)
    curve = effects["draws", "lr", "gpu_energy_j"]["curve"]
    assert sum(level["n"] for level in curve) == 40 and all(level["n"] >= 4 and level["interval"] for level in curve), curve
    assert all(a["to"] < b["from"] for a, b in zip(curve, curve[1:])), curve
    listed = list(effects.values())
    for effect, corrected in zip(listed, multipletests([e["p"] for e in listed], method="holm")[1]):
        near(effect["p_corrected"], corrected, 1e-7)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        os.makedirs(sys.argv[2])
        with open(sys.argv[2] + "/summary.csv", "w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS)
            writer.writeheader()
            writer.writerows(rows())
    else:
        check(sys.argv[2] + "/summary.csv", json.load(open(sys.argv[3])))
