#!/usr/bin/env python3
"""Checks generated folders and their truth against each other, without a judge.

  check_folders.py [--scenarios NAME...] [--folders N] [--first SEED] [--held-out SET]

Each folder is written three times: twice alike, which must give the same bytes, and once with nothing planted, whose
times and energies, as read from the files, must differ from the first by what truth.json says. Scenarios called clean_*
plant nothing, those called data_* errors in the data alone, the others meet at least one experiment of each folder.
Prints a line for each scenario: experiments in a folder, the shortest and longest training, what is planted, and the
quartiles of its effects. Exits with 1 when something is wrong.
"""
import argparse
import csv
import multiprocessing
import os
import re
import sys
import tempfile
from pathlib import Path

from folders import AFTERMATH, generate
from layout import FILES
from matrix import add_held_out, chosen_scenarios

ROUNDING = 2e-3


def bytes_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def numbers_of(experiment):
    """Seconds, joules of the GPU (the sum of its samples) and of the processors, as the files have them."""
    raw = (experiment / "energy/cpu_energy_raw.txt").read_text()
    joules = re.search(r"Total CPU Energy \(Joules\): ([0-9.]+)", (experiment / "energy/cpu_energy.txt").read_text())
    rows = list(csv.DictReader((experiment / "energy/gpu_power.csv").open(newline="")))
    return (float(re.search(r"([0-9.]+) seconds time elapsed", raw)[1]),
            sum(float(row["power_draw_w"]) for row in rows), float(joules[1]))


def differences(identifier, truth, numbers, plain):
    """Where the files of an experiment differ from those without anything planted by something else than the truth."""
    said = {"time": truth["time_disturbed"], "CPU energy": truth["cpu_energy_disturbed"],
            "GPU energy": (1 + truth["gpu_energy_disturbed"]) * (1 + truth["gpu_energy_recorded"]) - 1}
    seconds, gpu_j, cpu_j = (a / b - 1 if b else 0.0 for a, b in zip(numbers, plain[:3]))
    found = {"time": seconds, "CPU energy": cpu_j, "GPU energy": (1 + gpu_j) * (1 + plain[3]) - 1}
    slack = ROUNDING if truth["disturbed_by"] else AFTERMATH + ROUNDING
    return [f"{identifier}: {what} is off by {found[what]:+.4f}, truth says {said[what]:+.4f}"
            for what in said if abs(found[what] - said[what]) > slack * (1 + abs(said[what]))]


def faults_of_files(results, truth):
    """What a folder has besides or instead of a row and six files for each experiment in truth.json."""
    with (results / "summary.csv").open(newline="") as file:
        ids = [row["experiment_id"] for row in csv.DictReader(file)]
    faults = [] if set(ids) == set(truth) else ["summary.csv and truth.json have other experiments"]
    for identifier, own in truth.items():
        if not own["data_errors"] and [f for f in FILES if not (results / identifier / f).is_file()]:
            faults.append(f"{identifier}: files are missing")
    return faults


def faults_of_kind(scenario, truth):
    """Whether the folder has the kind of truth that the scenario's name promises."""
    by = {own["disturbed_by"] for own in truth.values()} - {None}
    errors = any(own["data_errors"] for own in truth.values())
    if scenario.startswith("clean_"):
        return [f"clean, but: {by or 'errors in the data'}"] if by or errors else []
    if scenario.startswith("data_"):
        return [] if errors and not by else [f"data errors: {errors}, disturbed by: {by or 'nothing'}"]
    return [] if by or errors or any(own["failed"] for own in truth.values()) else ["nothing planted"]


def check(task):
    scenario, seed = task
    with tempfile.TemporaryDirectory(prefix="folders-") as scratch:
        one, again, plain = (Path(scratch, name) for name in ("one", "again", "plain"))
        for folder in (one, again, plain):
            folder.mkdir()
        truth = generate(scenario, seed, one)
        generate(scenario, seed, again)
        plain_truth = generate(scenario, seed, plain, is_undisturbed=True)
        faults = faults_of_files(one / "results", truth) + faults_of_kind(scenario, truth)
        if bytes_of(one) != bytes_of(again):
            faults.append("the same seed gives other bytes")
        seconds = []
        for identifier, own in truth.items():
            beside = plain_truth.get(identifier, {"data_errors": ["none of this name"]})
            if own["data_errors"] or own["failed"] or beside["data_errors"]:
                continue
            numbers = numbers_of(one / "results" / identifier)
            seconds.append(numbers[0])
            reference = *numbers_of(plain / "results" / identifier), beside["gpu_energy_recorded"]
            faults += differences(identifier, own, numbers, reference)
    return scenario, seed, truth, seconds, faults


def effect_of(truth):
    return max(truth["time_disturbed"], truth["energy_disturbed"], key=abs)


def line_of(scenario, truths, seconds):
    """What a scenario came to over its folders."""
    own = [truth for folder in truths for truth in folder.values()]
    effects = sorted(effect_of(truth) for truth in own if truth["disturbed_by"])
    text = (f"{scenario:27} {len(own) / len(truths):5.1f} a folder"
            f"  {min(seconds, default=0):6.1f} to {max(seconds, default=0):6.1f} s"
            f"  failed {sum(truth['failed'] for truth in own):3}"
            f"  data errors {sum(bool(truth['data_errors']) for truth in own):3}"
            f"  disturbed {len(effects):3}, by > 5 % {sum(abs(effect) > 0.05 for effect in effects):3}")
    if effects:
        quartiles = [effects[n * (len(effects) - 1) // 4] for n in range(5)]
        text += " (" + " ".join(f"{100 * effect:+.1f}" for effect in quartiles) + " %)"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", nargs="+", metavar="NAME")
    parser.add_argument("--folders", type=int, default=3, metavar="N", help="per scenario")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed")
    add_held_out(parser)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    names = chosen_scenarios(arguments.scenarios, arguments.held_out)
    tasks = [(name, seed) for name in names for seed in range(arguments.first, arguments.first + arguments.folders)]
    truths, seconds, wrong = {name: [] for name in names}, {name: [] for name in names}, []
    with multiprocessing.Pool(arguments.jobs) as pool:
        for scenario, seed, truth, lasts, faults in pool.imap(check, tasks):
            truths[scenario].append(truth)
            seconds[scenario] += lasts
            wrong += [f"{scenario} {seed}: {fault}" for fault in faults]
    for name in names:
        print(line_of(name, truths[name], seconds[name]))
    print("\n".join(wrong))
    print(f"{len(tasks)} folders, {len(wrong)} faults")
    return 1 if wrong or not tasks else 0


if __name__ == "__main__":
    sys.exit(main())
