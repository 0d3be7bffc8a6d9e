#!/usr/bin/env python3
"""The interactions of `tare stats --interactions --json` against statsmodels: interactions_reference.py STATS.json FOLDER PARAM...

PARAM: the hyperparameters that are numbers, name or name:plain (one with a value of 0 or below). A row for each setting, the mean of its
runs on the quantity's scale; least squares with every hyperparameter and one product of two; HC2 errors with Bell and
McCaffrey's degrees of freedom, computed from the full matrices; Holm by statsmodels."""
import csv
import itertools
import json
import sys

import numpy
import scipy.stats
from statsmodels.regression.linear_model import OLS  # statsmodels.api is all of it, and takes twice as long
from statsmodels.stats.multitest import multipletests

from compare_reference import bell_mccaffrey, logit, near

QUANTITIES = {"gpu_energy_j": ("energy_gpu_total_joules", numpy.log), "loss": ("perf_loss", numpy.log), "accuracy": ("perf_accuracy", logit),
              "reward": ("perf_reward", numpy.array)}


def main():
    given, table = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2] + "/summary.csv", newline="")))
    params = sorted(word.partition(":")[0] for word in sys.argv[3:])
    plain = {word.partition(":")[0] for word in sys.argv[3:] if word.endswith(":plain")}
    (group,) = given["groups"]
    found = {(*i["hyperparameters"], i["on"]): i for i in group["interactions"]}
    quantities = {name: q for name, q in QUANTITIES.items() if q[0] in table[0]}
    assert set(found) == {(a, b, name) for a, b in itertools.combinations(params, 2) for name in quantities}, set(found)
    for name, (column, function) in quantities.items():
        y = function([float(row[column]) for row in table])
        sets = {}
        for row, value in zip(table, y):
            sets.setdefault(tuple(float(row["hyperparam_" + p]) for p in params), []).append(value)
        y = numpy.array([numpy.mean(values) for values in sets.values()])
        x = numpy.array(list(sets))
        for k, p in enumerate(params):
            x[:, k] = x[:, k] if p in plain else numpy.log(x[:, k])
        for a, b in itertools.combinations(range(len(params)), 2):
            design = numpy.column_stack([numpy.ones(len(y)), x, x[:, a] * x[:, b]])
            fit, df = OLS(y, design).fit(cov_type="HC2"), bell_mccaffrey(design)
            half, got = scipy.stats.t.ppf(0.975, df) * fit.bse[-1], found[params[a], params[b], name]
            assert (got["n"], got["runs"]) == (len(y), len(table)), got
            size = abs(fit.params[-1])
            for key, value, expected in (("slope", got["slope"], fit.params[-1]), ("low", got["interval"]["low"], fit.params[-1] - half),
                                         ("high", got["interval"]["high"], fit.params[-1] + half)):
                assert abs(value - expected) <= 1e-6 * max(size, half), (name, key, value, expected)
            near(got["df"], df, "df", 1e-5)
            near(got["p"], 2 * scipy.stats.t.sf(abs(fit.params[-1] / fit.bse[-1]), df), "p", 1e-5)
    listed = list(found.values())
    for got, expected in zip(listed, multipletests([i["p"] for i in listed], method="holm")[1]):
        near(got["p_corrected"], expected, "Holm")


main()
