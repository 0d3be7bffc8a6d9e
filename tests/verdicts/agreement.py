#!/usr/bin/env python3
"""How often figures are called consistent (`consistency` of `TARE audit FOLDER --json`) in folders whose truth is known.

  agreement.py TARE [--scenarios NAME...] [--folders N] [--first SEED] [--held-out [SET]] [--check] [--reasons]

Scatter, the standard deviation of the energies of repeats, is drawn from 1 to 3.5 % for each folder; siblings are the undisturbed others of the same
model and background, less one for each hyperparameter that varies.  Where nothing ran alone no idle power is known.  --check exits with 1 where
the interval of a share excludes its aim; --reasons prints why figures of each row are unknown.
"""
import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter

from folders import generate
from matrix import add_held_out, audit, chosen_scenarios, share_text, truth_row, wilson
from study import stream

SIBLINGS_LEAST = 3
FEW_FOLDERS = 0.8      # of the least share, which a check demands
AIMS = {  # row -> (least, most) share of it that is consistent
    "undisturbed, scatter <= 2 %": (0.70, 1),
    "undisturbed, scatter 2-3 %": (0.50, 1),
    "undisturbed, scatter > 3 %": (0, 1),
    "undisturbed, too few siblings": (0, 1),
    "undisturbed, nothing ran alone": (0, 1),
    "disturbed <= 5 %": (0, 1),
    "disturbed 5-10 %": (0, 0.10),
    "disturbed > 10 %": (0, 0.02),
    "data error": (0, 1),
}


def row_of(truth, quantity):
    """The row of a figure; None: the experiment failed."""
    kind = truth_row(truth, quantity)
    effect = abs(truth[f"{quantity}_disturbed"])
    if kind == "disturbed > 5 %":
        return "disturbed > 10 %" if effect > 0.10 else "disturbed 5-10 %"
    if kind != "undisturbed":
        return None if kind == "failed" else kind
    if truth["all_parallel"]:
        return "undisturbed, nothing ran alone"
    if truth["siblings"] < SIBLINGS_LEAST:
        return "undisturbed, too few siblings"
    for limit, text in ((0.02, "<= 2 %"), (0.03, "2-3 %")):
        if truth["scatter"] <= limit:
            return f"undisturbed, scatter {text}"
    return "undisturbed, scatter > 3 %"


def judge(task):
    tare, scenario, seed = task
    with tempfile.TemporaryDirectory(prefix="folders-") as folder:
        scatter = stream(scenario, seed, "scatter").uniform(0.01, 0.035)
        truths = generate(scenario, seed, folder, scatter=scatter)
        answer, refusal = audit(tare, f"{folder}/results")
    if refusal:
        return scenario, Counter(), refusal
    counts = Counter()
    for experiment in answer["experiments"]:
        truth = truths.get(experiment["experiment_id"])
        for quantity in ("time", "energy"):
            if truth and (row := row_of(truth, quantity)):
                agreement = experiment["consistency"]
                counts[row, agreement[quantity]] += 1
                if reason := agreement["reasons"][quantity]:
                    counts[row, "reason", reason] += 1
    return scenario, counts, None


def report(total):
    """Prints each row; the rows whose interval excludes their aim."""
    missed = []
    for row, (least, most) in AIMS.items():
        hits = total[row, "consistent"]
        count = hits + total[row, "unknown"] + total[row, "contradicted"]
        print(f"  {row:32}consistent {share_text(hits, count):40} contradicted {total[row, 'contradicted']}")
        low, high = wilson(hits, count)
        # Experiments of one folder share its noise, so few folders scatter more than the interval says.
        if high < 100 * least * FEW_FOLDERS or low > 100 * most:
            missed.append(row)
    return missed


def report_reasons(total):
    for row in AIMS:
        for key, count in total.most_common():
            if key[:2] == (row, "reason"):
                print(f"  {row:32}{count:6} {key[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tare")
    parser.add_argument("--scenarios", nargs="+", metavar="NAME")
    parser.add_argument("--folders", type=int, default=10, metavar="N", help="per scenario")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed")
    add_held_out(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 where an interval excludes an aim")
    parser.add_argument("--by-scenario", action="store_true")
    parser.add_argument("--reasons", action="store_true", help="print why figures are unknown")
    arguments = parser.parse_args()
    names = chosen_scenarios(arguments.scenarios, arguments.held_out)
    seeds = range(arguments.first, arguments.first + arguments.folders)
    tasks = [(arguments.tare, name, seed) for seed in seeds for name in names]
    per_scenario, refusals = {name: Counter() for name in names}, []
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for scenario, counts, refusal in pool.imap(judge, tasks, chunksize=4):
            per_scenario[scenario].update(counts)
            refusals += [refusal] if refusal else []
    if arguments.by_scenario:
        for name, counts in per_scenario.items():
            print(name)
            report(counts)
    print("all")
    total = sum(per_scenario.values(), Counter())
    missed = report(total)
    if arguments.reasons:
        report_reasons(total)
    print("\n".join(f"missed: {row}" for row in missed) or "the intervals exclude none of the aims")
    print("\n".join(f"refused: {text}" for text in refusals))
    sys.exit(bool(arguments.check and missed))


if __name__ == "__main__":
    main()
