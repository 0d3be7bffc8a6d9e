#!/usr/bin/env python3
"""Error rates of a judge: generated folders' truth against the verdicts of `TARE audit FOLDER --json`.

  matrix.py TARE [--scenarios NAME...] [--folders N] [--first SEED] [--held-out [SET]] [--seconds S] [--json OUT]

Rows are the truth, columns the verdict; each count has its share of the row and the Wilson 95 % interval of that share.
Held-out scenarios are touched with --held-out only, and then one set alone: --held-out is --held-out 1 (scenarios.py),
--held-out 2 those of real_machines.py, --held-out 3 and 4 those of third_set.py and fourth_set.py.
"""
import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter

from folders import generate
from scenarios import SCENARIOS

VERDICTS = ["clean", "unverified", "suspect", "contaminated", "none"]
TRUTHS = ["undisturbed", "disturbed <= 5 %", "disturbed > 5 %", "data error", "failed"]
WRONG_SHOWN = 30


def audit(tare, results):
    """The audit's JSON, or a text that says why there is none."""
    done = subprocess.run([tare, "audit", str(results), "--json"], capture_output=True, text=True, timeout=120,
                          check=False)
    try:
        return json.loads(done.stdout), None
    except ValueError:
        return None, f"exit {done.returncode}: {done.stderr.strip()[:200]}"


def quantities_of(error):
    """Which quantities an error in the data touches."""
    if "perf_" in error:
        return {"metric"}
    if "duration" in error or "timestamp" in error:
        return {"time"}
    if "energy" in error:
        return {"energy"}
    return {"time", "energy", "metric"}


def truth_row(truth, quantity=None):
    """The row of the matrix for an experiment, or for one of its quantities."""
    if truth["failed"]:
        return "failed"
    effects = {"time": abs(truth["time_disturbed"]), "energy": abs(truth["energy_disturbed"]), "metric": 0.0}
    effect = effects[quantity] if quantity else max(effects.values())
    if effect > 0.05:
        return "disturbed > 5 %"
    if any(quantity is None or quantity in quantities_of(error) for error in truth["data_errors"]):
        return "data error"
    present = truth["disturbed_by"] and quantity != "metric"
    return "disturbed <= 5 %" if present else "undisturbed"


def count_verdicts(scenario, seed, truth, answer):
    """Counts (what, truth row, verdict), and the wrong verdicts, of one folder's audit."""
    counts, wrong, seen = Counter(), [], set()
    for experiment in answer["experiments"]:
        identifier = experiment["experiment_id"]
        if identifier not in truth:
            continue
        seen.add(identifier)
        row, verdict = truth_row(truth[identifier]), experiment.get("verdict") or "none"
        counts["experiment", row, verdict] += 1
        for quantity, own in (experiment.get("verdicts") or {}).items():
            counts[quantity, truth_row(truth[identifier], quantity), own or "none"] += 1
        if is_wrong(row, verdict):
            wrong.append({"scenario": scenario, "seed": seed, "id": identifier, "verdict": verdict, "row": row,
                          "truth": truth[identifier],
                          "evidence": [f"{e.get('kind')}: {e.get('text')}" for e in experiment.get("evidence") or []]})
    for identifier in truth.keys() - seen:
        counts["experiment", truth_row(truth[identifier]), "none"] += 1
    return counts, wrong


def judge(task):
    """One folder: counts (what, truth row, verdict) and the wrong verdicts."""
    tare, scenario, seed = task
    with tempfile.TemporaryDirectory(prefix="folders-") as folder:
        truth = generate(scenario, seed, folder)
        answer, refusal = audit(tare, f"{folder}/results")
    if refusal:
        return scenario, Counter(), [], f"{scenario} {seed}: {refusal}"
    counts, wrong = count_verdicts(scenario, seed, truth, answer)
    return scenario, counts, wrong, None


def is_wrong(row, verdict):
    if verdict == "contaminated":
        return row == "undisturbed"
    return verdict == "clean" and row in ("disturbed > 5 %", "data error")


def wilson(hits, total):
    """The 95 % interval of a share, in per cent."""
    if not total:
        return 0.0, 100.0
    z, share = 1.96, hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)


def share_text(hits, total):
    if not total:
        return "-"
    low, high = wilson(hits, total)
    return f"{hits}/{total} = {100 * hits / total:.2f} % [{low:.2f}, {high:.2f}]"


def table_of(counts, what):
    """The lines of one confusion matrix; empty when nothing was counted."""
    lines = []
    for row in TRUTHS:
        cells = [counts[what, row, verdict] for verdict in VERDICTS]
        if sum(cells):
            lines.append(f"  {row:18}" + "".join(f"{cell_text(cell, sum(cells)):>26}" for cell in cells))
    return [f"  {what:18}" + "".join(f"{verdict:>26}" for verdict in VERDICTS)] + lines if lines else []


def cell_text(hits, total):
    low, high = wilson(hits, total)
    return f"{hits} {100 * hits / total:.1f}% [{low:.1f},{high:.1f}]"


def rates_of(counts, what="experiment"):
    """Name -> (hits, total) of the headline rates."""
    def rate(row, verdict):
        return counts[what, row, verdict], sum(counts[what, row, other] for other in VERDICTS)
    return {"contaminated among the undisturbed (aim <= 0.5 %)": rate("undisturbed", "contaminated"),
            "clean among those disturbed by more than 5 % (aim <= 2 %)": rate("disturbed > 5 %", "clean"),
            "clean among the undisturbed": rate("undisturbed", "clean"),
            "clean among those with a data error": rate("data error", "clean")}


def report(per_scenario, wrong, refusals):
    total = Counter()
    for scenario, counts in per_scenario.items():
        total.update(counts)
        print(f"\n{scenario}")
        print("\n".join(table_of(counts, "experiment")))
    print("\nall")
    whats = ["experiment", "time", "energy", "metric"]
    for what in whats:
        if lines := table_of(total, what):
            print("\n".join(lines))
    for what in whats:
        if any(key[0] == what for key in total):
            print(f"\n{what}")
            for name, rate in rates_of(total, what).items():
                print(f"  {name}: {share_text(*rate)}")
    for refusal in refusals:
        print(f"refused: {refusal}")
    print(f"\n{len(wrong)} wrong, {min(len(wrong), WRONG_SHOWN)} shown")
    for case in spread(wrong, WRONG_SHOWN):
        truth = case["truth"]
        print(f"- {case['scenario']} {case['seed']} {case['id']}: {case['verdict']}, but {case['row']}: "
              f"time {truth['time_disturbed']:+.3f} energy {truth['energy_disturbed']:+.3f} "
              f"by {truth['disturbed_by']} errors {truth['data_errors']}")
        for text in case["evidence"]:
            print(f"    {text}")
    return total


def spread(cases, count):
    """At most `count` of the cases, from as many scenarios as there are."""
    shown = []
    waves = {}
    for case in cases:
        waves.setdefault(case["scenario"], []).append(case)
    while len(shown) < count and any(waves.values()):
        for queue in waves.values():
            if queue and len(shown) < count:
                shown.append(queue.pop(0))
    return shown


def add_held_out(parser):
    parser.add_argument("--held-out", nargs="?", type=int, choices=(1, 2, 3, 4), const=1, default=0, metavar="SET",
                        help="the held-out scenarios of this set (1) instead of the others")


def chosen_scenarios(names, held_out):
    """`held_out`: 0 none of those that are, 1 to 4 that set of them."""
    allowed = [name for name, scenario in SCENARIOS.items() if scenario.held_out == held_out]
    unknown = set(names or []) - set(allowed)
    if unknown:
        sys.exit(f"no such {'held-out ' if held_out else ''}scenario here: {', '.join(sorted(unknown))}")
    return [name for name in allowed if not names or name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tare")
    parser.add_argument("--scenarios", nargs="+", metavar="NAME")
    parser.add_argument("--folders", type=int, default=100, metavar="N", help="per scenario")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed")
    add_held_out(parser)
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="S", help="then report what was judged")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", metavar="OUT")
    arguments = parser.parse_args()
    names = chosen_scenarios(arguments.scenarios, arguments.held_out)
    seeds = range(arguments.first, arguments.first + arguments.folders)
    tasks = [(arguments.tare, name, seed) for seed in seeds for name in names]
    per_scenario, wrong, refusals = {name: Counter() for name in names}, [], []
    began, judged = time.monotonic(), 0
    with multiprocessing.Pool(arguments.jobs) as pool:
        for scenario, counts, cases, refusal in pool.imap(judge, tasks, chunksize=4):
            per_scenario[scenario].update(counts)
            wrong += cases
            refusals += [refusal] if refusal else []
            judged += 1
            if time.monotonic() - began > arguments.seconds:
                break
    total = report(per_scenario, wrong, refusals)
    print(f"\n{judged} of {len(tasks)} folders in {time.monotonic() - began:.0f} s")
    if arguments.json:
        write_json(arguments.json, per_scenario, total, wrong, refusals)


def write_json(path, per_scenario, total, wrong, refusals):
    def flat(counts):
        return [{"what": what, "truth": row, "verdict": verdict, "count": count}
                for (what, row, verdict), count in sorted(counts.items())]
    rates = {name: {"hits": hits, "of": of, "wilson_percent": wilson(hits, of)}
             for name, (hits, of) in rates_of(total).items()}
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"rates": rates, "all": flat(total), "scenarios": {n: flat(c) for n, c in per_scenario.items()},
                   "wrong": wrong, "refused": refusals}, out, indent=1)


if __name__ == "__main__":
    main()
