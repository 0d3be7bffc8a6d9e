#!/usr/bin/env python3
"""Statistics of results folders, to hold generated ones against real ones: compare.py FOLDER... [--generated N]"""
import argparse
import csv
import json
import random
import statistics
import tempfile
from datetime import datetime
from pathlib import Path

from folders import generate
from scenarios import SCENARIOS


def traces_of(folder):
    """(row, power, utilisation) of each experiment; a power trace is (stamp, W)."""
    for row in csv.DictReader(open(folder / "summary.csv", newline="")):
        energy = folder / row["experiment_id"] / "energy"
        if (energy / "gpu_power.csv").exists():
            yield row, column(energy / "gpu_power.csv", float), column(energy / "gpu_utilization.csv", int), energy


def column(path, number):
    lines = path.read_text().split()[1:]
    return [(int(stamp), number(value)) for stamp, value, *_ in (line.split(",") for line in lines)]


def statistics_of(folders):
    """Each named quantity with all its values."""
    found = {name: [] for name in QUANTITIES}
    for folder in folders:
        ended = None
        for row, power, busy, energy in traces_of(folder):
            add_cadence(found, row, power, energy)
            add_levels(found, [w for _, w in power], [u for _, u in busy])
            end = datetime.fromisoformat(row["timestamp"]).timestamp()
            if ended:
                found["pause (s)"].append(end - float(row["duration_seconds"]) - ended)
            ended = end
            found["RAM / package energy"].append(
                float(row["energy_cpu_ram_joules"]) / float(row["energy_cpu_pkg_joules"]))
        found["repetitions: time spread (%)"] += spreads(folder)
    return found


def add_cadence(found, row, power, energy):
    stamps = [stamp for stamp, _ in power]
    steps = [b - a for a, b in zip(stamps, stamps[1:])]
    found["seconds sampled (%)"].append(100 * len(stamps) / (stamps[-1] - stamps[0] + 1))
    found["steps of 2 s (%)"].append(100 * steps.count(2) / max(1, len(steps)))
    found["steps over 2 s (%)"].append(100 * sum(step > 2 for step in steps) / max(1, len(steps)))
    elapsed = float((energy / "cpu_energy_raw.txt").read_text().split("seconds time")[0].split()[-1])
    found["duration - perf (s)"].append(float(row["duration_seconds"]) - elapsed)
    found["package power (W)"].append(float(row["energy_cpu_pkg_joules"]) / elapsed)
    found["duration - trace (s)"].append(float(row["duration_seconds"]) - (stamps[-1] - stamps[0]))


def add_levels(found, watts, busy):
    quiet = [w for w, u in zip(watts, busy) if u == 0]
    lowest = min(watts)
    found["lowest power (W)"].append(lowest)
    found["quiet power, median / lowest"] += [statistics.median(quiet) / lowest] if quiet else []
    first_busy = next((n for n, u in enumerate(busy) if u > 5), len(busy))
    found["samples before load"].append(first_busy)
    found["first sample / highest power"].append(watts[0] / max(watts))
    found["first utilisation (%)"].append(busy[0])
    loaded = [n for n in range(len(watts) - 1) if busy[n] > 30 and abs(busy[n] - busy[n + 1]) < 8]
    found["step noise under load (%)"] += [100 * abs(watts[n + 1] / watts[n] - 1) for n in loaded]
    resting = [n for n in range(len(watts) - 1) if busy[n] == busy[n + 1] == 0 and watts[n] < 12 and watts[n + 1] < 12]
    found["step noise at rest (%)"] += [100 * abs(watts[n + 1] / watts[n] - 1) for n in resting]
    tenth = max(1, len(loaded) // 10)
    if len(loaded) >= 60:
        early, late = (statistics.mean(watts[n] for n in part) for part in (loaded[:tenth], loaded[-tenth:]))
        found["drift of loaded power (%)"].append(100 * (late / early - 1))


def spreads(folder):
    """Relative deviation of time among trainings with equal hyperparameters but for the seed."""
    groups = {}
    for row in csv.DictReader(open(folder / "summary.csv", newline="")):
        same = tuple(v for k, v in row.items() if k in ("repository", "model") or
                     k.startswith("hyperparam_") and k != "hyperparam_seed")
        groups.setdefault((*same, "parallel" in row["experiment_id"]), []).append(float(row["duration_seconds"]))
    return [100 * statistics.stdev(times) / statistics.mean(times) for times in groups.values() if len(times) >= 3]


QUANTITIES = [
    "seconds sampled (%)", "steps of 2 s (%)", "steps over 2 s (%)", "duration - perf (s)", "duration - trace (s)",
    "pause (s)", "lowest power (W)", "quiet power, median / lowest", "samples before load", "first utilisation (%)",
    "first sample / highest power", "step noise under load (%)", "step noise at rest (%)", "drift of loaded power (%)",
    "package power (W)", "RAM / package energy", "repetitions: time spread (%)",
]


def quantiles(values):
    if len(values) < 2:
        return "-"
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return f"{cuts[1]:.3g} / {cuts[9]:.3g} / {cuts[17]:.3g}"


def generated_folders(count, folder):
    names = [name for name, scenario in SCENARIOS.items() if name.startswith("clean") and not scenario.held_out]
    for n in range(count):
        generate(random.Random(n).choice(names), n, Path(folder, str(n)))
        yield Path(folder, str(n), "results")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--generated", type=int, default=40, help="how many generated folders (clean ones)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="folders-") as folder:
        columns = [statistics_of([real]) for real in arguments.folders]
        columns.append(statistics_of(generated_folders(arguments.generated, folder)))
    print(json.dumps([str(folder) for folder in arguments.folders] + ["generated"]))
    print("10 % / median / 90 %")
    for name in QUANTITIES:
        print(f"{name:32}" + "".join(f"{quantiles(found[name]):26}" for found in columns))


if __name__ == "__main__":
    main()
