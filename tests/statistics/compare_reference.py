#!/usr/bin/env python3
"""What `tare compare` printed against statsmodels and SciPy: compare_reference.py COMPARED.json A B STRATUM... [--covariates NAME...]

A and B are folders of planted.py; STRATUM: columns of summary.csv that make the strata, or - for none. Least squares, HC2, its
confidence interval, Cochran's Q by an analysis of variance, Holm's correction: statsmodels. Bell and McCaffrey's degrees of freedom
are computed from the full matrices."""
import csv
import json
import sys

import numpy
import scipy.stats
from statsmodels.regression.linear_model import OLS  # statsmodels.api is all of it, and takes twice as long
from statsmodels.stats.multitest import multipletests

COLUMNS = {"gpu_energy_j": "energy_gpu_total_joules", "gpu_power_w": "energy_gpu_avg_watts", "duration_s": "duration_seconds"}


def logit(values):
    values = numpy.array(values) / (100 if max(values) > 1 else 1)
    return numpy.log(values / (1 - values))


# What each metric of the tests is to be compared on, and which side of it is better.
METRICS = {"perf_accuracy": ("logit", logit, "maximize"), "perf_top1_percent_accuracy": ("logit", logit, "maximize"),
           "perf_loss": ("log", numpy.log, "minimize"), "perf_reward": ("plain", numpy.array, "maximize"),
           "perf_temperature": ("plain", numpy.array, None), "perf_recall": ("plain", numpy.array, "maximize")}


def near(found, expected, what, tolerance=1e-7):
    assert abs(found - expected) <= tolerance * max(abs(expected), 1e-3), (what, found, expected)


def read(folder):
    return list(csv.DictReader(open(folder + "/summary.csv", newline="", encoding="utf-8")))


def design(rows, strata, covariates, sides):
    """Strata of both sides only; columns: strata, covariates, side."""
    key = [tuple(row[name] for name in strata) for row in rows]
    shared = set(k for k, b in zip(key, sides) if b) & set(k for k, b in zip(key, sides) if not b)
    kept = [i for i, k in enumerate(key) if k in shared]
    levels = sorted(shared)
    dummies = numpy.array([[key[i] == level for level in levels] for i in kept], float)
    logs = numpy.array([[numpy.log(float(rows[i]["hyperparam_" + name])) for name in covariates] for i in kept]).reshape(len(kept), -1)
    side = numpy.array([[float(sides[i])] for i in kept])
    return kept, levels, dummies, numpy.hstack([dummies, logs, side])


def settings(rows, kept, dummies, x, y):
    """Repeats of a setting count once, by their mean."""
    names = [name for name in rows[0] if name.startswith("hyperparam_") and "seed" not in name.lower()]
    place = {}
    for at, i in enumerate(kept):
        place.setdefault((x[at, -1], tuple(dummies[at]), tuple(rows[i].get(name, "") for name in names)), []).append(at)
    means = numpy.array([numpy.mean(y[of]) for of in place.values()])
    first = [of[0] for of in place.values()]
    return [kept[at] for at in first], dummies[first], x[first], means


def bell_mccaffrey(x):
    inverse = numpy.linalg.pinv(x.T @ x)
    hat = x @ inverse @ x.T
    rest = numpy.eye(len(x)) - hat
    own = (inverse @ x.T)[-1]
    weights = numpy.diag(own ** 2 / (1 - numpy.diag(hat)))
    product = rest @ weights
    return numpy.trace(product) ** 2 / numpy.trace(product @ product)


def check_effect(found, y, x, scale="log"):
    on_scale = (lambda value: value) if scale == "plain" else numpy.log
    fit = OLS(y, x).fit(cov_type="HC2")
    df = bell_mccaffrey(x)
    half = scipy.stats.t.ppf(0.975, df) * fit.bse[-1]
    assert found["ratio"] == (found["effect"] if scale == "log" else None), found
    near(on_scale(found["effect"]), fit.params[-1], "effect")
    near(on_scale(found["interval"]["low"]), fit.params[-1] - half, "low")
    near(on_scale(found["interval"]["high"]), fit.params[-1] + half, "high")
    near(found["df"], df, "df")
    near(found["sigma"], numpy.sqrt(fit.ssr / fit.df_resid), "sigma")
    near(found["p"], 2 * scipy.stats.t.sf(abs(fit.params[-1] / fit.bse[-1]), df), "p", 1e-6)
    return fit


def check_heterogeneity(found, y, x, dummies, strata_count, scale):
    """Every stratum with an effect of its own, against one effect for all."""
    if strata_count < 2:
        assert found is None, found
        return
    common = OLS(y, x).fit()
    single = OLS(y, numpy.hstack([dummies, dummies * x[:, -1:]])).fit()
    f, p, _ = single.compare_f_test(common)
    q = f * (strata_count - 1)
    near(found["q"], q, "Q")
    near(found["p"], p, "p of Q", 1e-6)
    near(found["i2"], max(0, (q - (strata_count - 1)) / q), "I2")
    ratios = single.params[strata_count:] if scale == "plain" else numpy.exp(single.params[strata_count:])
    near(found["lowest"], min(ratios), "lowest")
    near(found["highest"], max(ratios), "highest")


def main():
    words = sys.argv[1:]
    cut = words.index("--covariates") if "--covariates" in words else len(words)
    covariates = words[cut + 1:]
    got, a, b = json.load(open(words[0], encoding="utf-8")), read(words[1]), read(words[2])
    strata = [name for name in words[3:cut] if name != "-"]
    rows, sides = a + b, [0] * len(a) + [1] * len(b)
    p, corrected = [], []
    for quantity in got["quantities"]:
        column = COLUMNS.get(quantity["name"], "perf_" + quantity["name"])
        if column not in rows[0]:
            assert quantity["effect"] is None, quantity
            continue
        scale, function, goal = METRICS.get(column, ("log", numpy.log, None))
        assert (quantity["scale"], quantity["goal"], quantity["metric"]) == (scale, goal, column in METRICS), quantity
        kept, levels, dummies, x = design(rows, strata, covariates, sides)
        finite = numpy.isfinite([float(rows[i][column]) for i in kept])
        assert sum(~finite) == quantity["a_not_finite"] + quantity["b_not_finite"], quantity
        kept, dummies, x = [i for i, told in zip(kept, finite) if told], dummies[finite], x[finite]
        y = function([float(rows[i][column]) for i in kept])
        if covariates:
            kept, dummies, x, y = settings(rows, kept, dummies, x, y)
        plain = numpy.hstack([dummies, x[:, -1:]])
        check_effect(quantity["raw"], y, plain, scale)
        if covariates:
            fit = check_effect(quantity["adjusted"], y, x, scale)
            assert [got[side]["settings"] for side in "ab"] == [sum(x[:, -1] == side) for side in (0, 1)], got["a"]
            for name, slope in zip(covariates, fit.params[len(levels):-1]):
                near(quantity["adjusted"]["slopes"][name], slope, name, 1e-6)
        else:
            check_heterogeneity(quantity["heterogeneity"], y, plain, dummies, len(levels), scale)
        epochs = "hyperparam_epochs"
        if "epochs" not in covariates or quantity["name"] == "gpu_power_w" or quantity["metric"]:
            assert quantity["per_epoch"] is None, quantity
        else:
            check_effect(quantity["per_epoch"], y - numpy.log([float(rows[i][epochs]) for i in kept]), plain)
        main_figure = quantity["adjusted"] or quantity["raw"]
        assert quantity["effect"] == main_figure["effect"] and quantity["interval"] == main_figure["interval"], quantity
        p.append(main_figure["p"])
        corrected.append(quantity["p_corrected"])
        assert quantity["told_apart"] == (quantity["p_corrected"] <= 0.05), quantity
        null = 0 if scale == "plain" else 1
        better = (quantity["effect"] > null) == (goal == "maximize")
        assert quantity["better"] == (("b" if better else "a") if goal and quantity["told_apart"] else None), quantity
    expected = multipletests(p, method="holm")[1]
    for found, wanted in zip(corrected, expected):
        near(found, wanted, "Holm")
    assert got["corrected_for"] == len(p), got


if __name__ == "__main__":
    main()
