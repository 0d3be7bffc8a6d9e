"""Results of the study's scripts, summary.csv alone, in which something happened, or nothing did.
split_study.py story FOLDER [SEED]: the documents' own story: 160 experiments, an orphan born at 2025-11-25 01:20:48 after the 129th.
split_study.py simulate TARE FOLDER COUNT SEED: COUNT folders with a planted moment and COUNT without one; prints how many moments
"--split-at auto" finds, and how many it invents."""
import csv
import datetime
import json
import os
import random
import subprocess
import sys

BORN = datetime.datetime(2025, 11, 25, 1, 20, 48)
# Repository, model, rows, power, seconds. By repository before the orphan: 48, 20, 16, 16, 12, 17.
STORY = [("examples", "mnist", 12, 80, 25), ("examples", "mnist_rnn", 12, 95, 40), ("examples", "mnist_ff", 12, 90, 30),
         ("examples", "siamese", 12, 150, 60), ("MRT-OAST", "default", 20, 250, 300), ("pytorch_resnet_cifar10", "resnet20", 16, 200, 240),
         ("VulBERTa", "mlp", 16, 240, 380), ("bug-localization-by-dnn-and-rvsm", "default", 12, 72, 500),
         ("Person_reID_baseline_pytorch", "densenet121", 16, 215, 900), ("Person_reID_baseline_pytorch", "hrnet18", 16, 200, 1000),
         ("Person_reID_baseline_pytorch", "pcb", 16, 245, 1100)]


def write(folder, rows):
    """rows: repository, model, success, seconds, watts, batch size, end."""
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/summary.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["experiment_id", "timestamp", "repository", "model", "training_success", "duration_seconds", "retries",
                      "hyperparam_batch_size", "hyperparam_seed", "perf_accuracy", "energy_gpu_avg_watts", "energy_gpu_total_joules"])
        for n, (repo, model, success, seconds, watts, batch, end) in enumerate(rows, 1):
            out.writerow([f"{repo}_{model}_{n:03}", end.isoformat(), repo, model, success, round(seconds, 3), 0 if success else 2, batch, n,
                          90 if success else "", round(watts, 2), round(watts * seconds, 1)])


def story(folder, seed=1):
    """12 failures before, all of batch size 50,000; of the 31 after the orphan's birth 16 fail, wherever."""
    rng = random.Random(seed)
    rows = []
    for repo, model, count, watts, seconds in STORY:
        cv = {"hrnet18": 0.162, "densenet121": 0.078}.get(model, 0.01)
        for n in range(count):
            large = repo == "examples" and n % 4 == 3
            rows.append([repo, model, not large, seconds * rng.gauss(1, 0.01), watts * max(0.3, rng.gauss(1, cv)), 50000 if large else 32 << n % 3])
    after = [True] * 15 + [False] * 16
    rng.shuffle(after)
    for row, success in zip(rows[129:], after):
        row[2] = success
    at = BORN + datetime.timedelta(seconds=60)
    for row in rows[129:]:
        at += datetime.timedelta(seconds=row[3])
        row.append(at)
        at += datetime.timedelta(seconds=60)
    at = BORN - datetime.timedelta(seconds=20)
    for row in reversed(rows[:129]):
        row.append(at)
        at -= datetime.timedelta(seconds=row[3] + 60)
    write(folder, rows)


def simulated(rng, planted):
    """Rows without times, and before which of them it happened."""
    kinds = []
    for k in range(rng.randint(6, 12)):
        kinds.append({"name": f"net{k}", "rows": rng.randint(8, 24), "watts": rng.uniform(60, 300), "seconds": rng.uniform(20, 900),
                      "fails": 0, "after": rng.uniform(0.2, 0.9), "large": 0})
    trouble = rng.random()
    if trouble < 0.25:  # a model that never trains
        rng.choice(kinds)["fails"] = 1
    elif trouble < 0.5:  # a setting that never does, in a few models
        for kind in rng.sample(kinds, 3):
            kind["large"] = 0.25
    elif trouble < 0.7:  # a model that often fails
        rng.choice(kinds)["fails"] = 0.3
    sporadic = rng.choice([0, 0, 0.02])
    order = [kind for kind in kinds for _ in range(kind["rows"])]
    how = rng.random()
    if how < 0.2:
        rng.shuffle(order)
    elif how < 0.4:
        order = [kind for n in range(24) for kind in kinds if n < kind["rows"]]
    moment = rng.randint(len(order) * 2 // 5, len(order) * 9 // 10) if planted else len(order)
    computes, rows = rng.random() < 0.5, []
    for n, kind in enumerate(order):
        batch = 50000 if rng.random() < kind["large"] else rng.choice([32, 64, 128])
        fails = 1 if batch == 50000 else max(kind["fails"], sporadic)
        watts = kind["watts"] * rng.gauss(1, 0.015)
        if n >= moment:
            fails = max(fails, kind["after"])
            watts *= 1 + (abs(rng.gauss(0.15, 0.1)) if computes else 0)
        rows.append(["demo", kind["name"], rng.random() >= fails, kind["seconds"] * rng.gauss(1, 0.01), watts, batch])
    return rows, moment


def simulate(tare, folder, count, seed):
    found = {True: 0, False: 0}
    near = 0
    for n in range(2 * count):
        rng = random.Random(seed * 100003 + n)
        planted = n % 2 == 0
        rows, moment = simulated(rng, planted)
        at, starts = BORN, []
        for row in rows:
            starts.append(at)
            at += datetime.timedelta(seconds=row[3])
            row.append(at)
            at += datetime.timedelta(seconds=60)
        write(folder, rows)
        audit = subprocess.run([tare, "audit", folder, "--split-at", "auto", "--json"], stdout=subprocess.PIPE, check=True)
        split = json.loads(audit.stdout)["split"]
        if split["found"]:
            found[planted] += 1
            before = sum(start < datetime.datetime.fromisoformat(split["at"]) - datetime.timedelta(seconds=1) for start in starts)
            if planted and abs(before - moment) <= 5:
                near += 1
    print(f"planted: {found[True]} of {count} found, {near} of them within 5 rows; not planted: {found[False]} of {count} invented")


if __name__ == "__main__":
    if sys.argv[1] == "story":
        story(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        simulate(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
