#!/usr/bin/env python3
"""How often audit names data that contradict themselves: planted into folders where nothing is disturbed.

  contradictions.py TARE [--folders N] [--first SEED] [--every N] [--legacy DIR...] [--jobs N] [--check]

Each folder of the scenarios that plant nothing (clean_*) is audited as it is, where evidence of these kinds is a false
alarm, and once with each kind of contradiction in one or two of its experiments. A planted one is found when each of the
experiments that contradict has evidence of its kind; equal metrics may also be noted as those of a seed without effect.
--legacy: results folders of the study, as more material.
--check: exit with 1 if less than 99 % of a kind are found, or more than 0.2 % of the undisturbed accused.
"""
import argparse
import csv
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

from folders import generate
from fourth_set import SCENARIOS
from layout import ENERGY, TRACES
from matrix import audit, share_text
from study import stream

PERF_STARTED = "%a %b %e %H:%M:%S %Y"
KINDS = ["time_overlap", "copied_run", "copied_trace", "repeated_rows", "sensor_frozen", "metrics_copied"]


class Folder:
    """A results folder in memory: rows of summary.csv, and of each experiment its files."""

    def __init__(self, path):
        self.path = Path(path)
        with (self.path / "summary.csv").open(newline="") as file:
            reader = csv.DictReader(file)
            self.header, self.rows = reader.fieldnames, list(reader)

    def trace(self, identifier, name=TRACES[0]):
        header, *lines = (self.path / identifier / name).read_text().split()
        return header, [line.split(",") for line in lines]

    def set_trace(self, identifier, name, header, rows):
        lines = "\n".join([header, *(",".join(row) for row in rows)]) + "\n"
        (self.path / identifier / name).write_text(lines)

    def record(self, identifier):
        return json.loads((self.path / identifier / "experiment.json").read_text())

    def set_record(self, identifier, record):
        (self.path / identifier / "experiment.json").write_text(json.dumps(record, indent=2))

    def whole(self, least=12):
        """Successes whose three traces and record are there."""
        files = ["experiment.json", *TRACES]
        return [row for row in self.rows if row["training_success"] == "True"
                and all((self.path / row["experiment_id"] / name).is_file() for name in files)
                and len(self.trace(row["experiment_id"])[1]) >= least]

    def measure(self, row):
        """The study's figures of the traces as they are now, into the row and the record."""
        identifier = row["experiment_id"]
        watts, busy, degrees = ([float(r[1]) for r in self.trace(identifier, name)[1]] for name in TRACES)
        energy = {"gpu_power_avg_watts": sum(watts) / len(watts), "gpu_power_max_watts": max(watts),
                  "gpu_power_min_watts": min(watts), "gpu_energy_total_joules": sum(watts),
                  "gpu_temp_avg_celsius": sum(degrees) / len(degrees), "gpu_temp_max_celsius": max(degrees),
                  "gpu_util_avg_percent": sum(busy) / len(busy), "gpu_util_max_percent": max(busy)}
        record = self.record(identifier)
        record.get("foreground", record)["energy_metrics"].update(energy)
        self.set_record(identifier, record)
        row.update({ENERGY[name]: repr(value) for name, value in energy.items()})

    def move(self, row, seconds):
        """The experiment as if it had run so many seconds later."""
        identifier = row["experiment_id"]
        row["timestamp"] = (datetime.fromisoformat(row["timestamp"]) + timedelta(seconds=seconds)).isoformat()
        record = self.record(identifier)
        record["timestamp"] = (datetime.fromisoformat(record["timestamp"]) + timedelta(seconds=seconds)).isoformat()
        self.set_record(identifier, record)
        for name in TRACES:
            header, rows = self.trace(identifier, name)
            self.set_trace(identifier, name, header, [[str(int(r[0]) + seconds), *r[1:]] for r in rows])
        raw = self.path / identifier / "energy/cpu_energy_raw.txt"
        found = re.search(r"# started on (.+)", raw.read_text())
        began = datetime.strptime(found[1], "%a %b %d %H:%M:%S %Y") + timedelta(seconds=seconds)
        raw.write_text(raw.read_text().replace(found[1], began.strftime(PERF_STARTED)))

    def write(self):
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.header)
        writer.writeheader()
        writer.writerows(self.rows)
        (self.path / "summary.csv").write_text(text.getvalue(), newline="")


def overlap(folder, rng):
    """One experiment is moved so that it begins before the one before it has ended, 6 s or more."""
    rows = folder.whole()
    pairs = [(a, b) for a, b in zip(folder.rows, folder.rows[1:]) if a in rows and b in rows]
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    one, other = (folder.trace(row["experiment_id"])[1] for row in (first, second))
    shared = rng.randint(8, max(8, int(min(len(one), len(other)) * 0.9)))
    folder.move(second, int(one[-1][0]) - shared - int(other[0][0]))
    return [first["experiment_id"], second["experiment_id"]]


def copied_run(folder, rng):
    """Folder and row once more, under another number."""
    rows = folder.whole()
    if not rows:
        return None
    row = rng.choice(rows)
    identifier = row["experiment_id"]
    copy = re.sub(r"_\d+(?=$|_parallel$)", f"_{len(folder.rows) + 1:03d}", identifier)
    shutil.copytree(folder.path / identifier, folder.path / copy)
    record = folder.record(copy)
    record["experiment_id"] = copy
    folder.set_record(copy, record)
    folder.rows.append(row | {"experiment_id": copy})
    return [identifier, copy]


def copied_trace(folder, rng):
    """Power samples of another experiment whose length is about the same, moved to the own beginning."""
    rows = folder.whole(30)
    lengths = {row["experiment_id"]: len(folder.trace(row["experiment_id"])[1]) for row in rows}
    pairs = [(a, b) for a in rows for b in rows if a is not b and is_loaded(folder, b)
             and 0.6 < lengths[a["experiment_id"]] / lengths[b["experiment_id"]] < 1.6]
    if not pairs:
        return None
    row, source = rng.choice(pairs)
    begins = int(folder.trace(row["experiment_id"])[1][0][0])
    for name in TRACES if rng.random() < 0.3 else TRACES[:1]:
        header, samples = folder.trace(source["experiment_id"], name)
        later = begins - int(samples[0][0])
        folder.set_trace(row["experiment_id"], name, header,
                         [[str(int(r[0]) + later), *r[1:]] for r in samples][:lengths[row["experiment_id"]]])
    folder.measure(row)
    return [row["experiment_id"]]


def repeated_rows(folder, rng):
    """Each row of the traces is there twice, and the recorded energy is double."""
    rows = [row for row in folder.whole() if is_loaded(folder, row)]
    if not rows:
        return None
    row = rng.choice(rows)
    for name in TRACES:
        header, samples = folder.trace(row["experiment_id"], name)
        folder.set_trace(row["experiment_id"], name, header, [r for r in samples for _ in range(2)])
    folder.measure(row)
    return [row["experiment_id"]]


def is_loaded(folder, row):
    return float(row["energy_gpu_util_max_percent"] or 0) >= 20


def frozen(folder, rng):
    """All three sensors keep one value under load from a sample on to the end."""
    rows = [row for row in folder.whole(130) if is_loaded(folder, row)]
    if not rows:
        return None
    row = rng.choice(rows)
    traces = [folder.trace(row["experiment_id"], name) for name in TRACES]
    busy = [k for k, sample in enumerate(traces[1][1][:-95]) if float(sample[1]) >= 20]
    if not busy:
        return None
    since = rng.choice(busy)
    for name, (header, samples) in zip(TRACES, traces):
        kept = samples[since][1:]
        folder.set_trace(row["experiment_id"], name, header,
                         samples[:since] + [[r[0], *kept] for r in samples[since:]])
    folder.measure(row)
    return [row["experiment_id"]]


def set_metrics(folder, row, metrics):
    for name, value in metrics.items():
        row[f"perf_{name}"] = repr(value)
    record = folder.record(row["experiment_id"])
    record.get("foreground", record)["performance_metrics"] = metrics
    folder.set_record(row["experiment_id"], record)


def metrics_of(folder, row):
    record = folder.record(row["experiment_id"])
    return record.get("foreground", record)["performance_metrics"]


def equal_metrics(folder, rng):
    """The metrics, with all their digits, of a training of the same model with another seed."""
    rows = [row for row in folder.whole() if row.get("hyperparam_seed") and metrics_of(folder, row)]
    pairs = [(a, b) for a in rows for b in rows if (a["repository"], a["model"]) == (b["repository"], b["model"])
             and a["hyperparam_seed"] != b["hyperparam_seed"] and a is not b]
    models = Counter((row["repository"], row["model"]) for row in rows)
    pairs = [(a, b) for a, b in pairs if models[a["repository"], a["model"]] > 2]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    set_metrics(folder, one, metrics_of(folder, other))
    return [one["experiment_id"], other["experiment_id"]]


PLANTS = dict(zip(KINDS, [overlap, copied_run, copied_trace, repeated_rows, frozen, equal_metrics]))


def add_digits(folder, rng):
    """Metrics as programs print them with all their digits; the generated ones have two decimals."""
    for row in folder.whole(0):
        set_metrics(folder, row, {name: value * (1 - 1e-6 * rng.random()) if isinstance(value, float) else value
                                  for name, value in metrics_of(folder, row).items()})


def found_in(tare, path):
    """id -> kinds of evidence; None: refused."""
    answer, refusal = audit(tare, path)
    if refusal:
        print(f"refused: {refusal}", file=sys.stderr)
        return {}
    return {e["experiment_id"]: ({x["kind"] for x in e["evidence"]}, e["verdict"]) for e in answer["experiments"]}


def judge(task):
    """One folder: counts of (kind, what)."""
    tare, name, source, seed = task
    counts, missed = Counter(), []
    with tempfile.TemporaryDirectory(prefix="contradictions-") as scratch:
        base = Path(scratch, "base")
        if source:
            shutil.copytree(source, base / "results")
        else:
            base.mkdir()
            generate(name, seed, base, is_undisturbed=True)
        folder = Folder(base / "results")
        add_digits(folder, stream(name, seed, "digits"))
        folder.write()
        for identifier, (kinds, _) in found_in(tare, base / "results").items():
            counts["undisturbed", "all"] += 1
            counts["undisturbed", "accused"] += bool(kinds & set(KINDS))
            for kind in kinds & set(KINDS):
                counts[kind, "accused"] += 1
                missed.append(f"{name} {seed} {identifier}: {kind}, and nothing was planted")
        for kind, plant in PLANTS.items():
            place = Path(scratch, kind)
            shutil.copytree(base / "results", place)
            folder = Folder(place)
            targets = plant(folder, stream(name, seed, kind))
            if targets is None:
                continue
            folder.write()
            found = found_in(tare, place)
            counts[kind, "planted"] += 1
            is_found = all(kind in found.get(target, (set(), ""))[0] for target in targets)
            noted = all("seed_without_effect" in found.get(target, (set(), ""))[0] for target in targets)
            counts[kind, "noted"] += noted
            counts[kind, "found"] += is_found
            counts[kind, "clean"] += any(found.get(target, (set(), ""))[1] == "clean" for target in targets)
            if not is_found and not noted:
                missed.append(f"{name} {seed} {targets}: {kind} not found, {[found.get(t) for t in targets]}")
    return counts, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tare")
    parser.add_argument("--folders", type=int, default=5, metavar="N", help="per scenario")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th scenario")
    parser.add_argument("--legacy", nargs="*", default=[], metavar="DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    names = [name for name in SCENARIOS if name.startswith("clean_")][::arguments.every]
    seeds = range(arguments.first, arguments.first + arguments.folders)
    tasks = [(arguments.tare, name, None, seed) for seed in seeds for name in names]
    tasks += [(arguments.tare, Path(path).name, path, seed) for path in arguments.legacy for seed in seeds]
    total, missed = Counter(), []
    with multiprocessing.Pool(arguments.jobs) as pool:
        for counts, cases in pool.imap(judge, tasks, chunksize=2):
            total.update(counts)
            missed += cases
    for kind in KINDS:
        print(f"{kind:15} found {share_text(total[kind, 'found'], total[kind, 'planted'])}, "
              f"noted {total[kind, 'noted']}, clean {total[kind, 'clean']}; "
              f"false alarms {share_text(total[kind, 'accused'], total['undisturbed', 'all'])}")
    print(f"false alarms together: {share_text(total['undisturbed', 'accused'], total['undisturbed', 'all'])}")
    print("\n".join(missed[:40]))
    held = all(total[kind, "found"] + total[kind, "noted"] >= 0.99 * total[kind, "planted"] > 0 for kind in KINDS)
    held &= total["undisturbed", "accused"] <= 0.002 * total["undisturbed", "all"]
    return 1 if arguments.check and not held else 0


if __name__ == "__main__":
    sys.exit(main())
