#!/usr/bin/env python3
"""What bench_plan does, in plain Python: random, csv and a set. Prints the same "KEY VALUE" lines.

usage: plan_reference.py REGISTRY SETTINGS
"""
import csv
import json
import math
import os
import random
import resource
import sys
import time


def key_of(value):
    return "%.6g" % value if isinstance(value, (int, float)) else value


def draw(rng, param):
    low, high = param["range"]
    while True:
        if param["type"] == "int":
            value = rng.randint(low, high)
        elif param["distribution"] == "log_uniform":
            value = float("%.6g" % (low * math.exp(rng.random() * math.log(high / low))))
        else:
            value = float("%.6g" % rng.uniform(low, high))
        if key_of(value) != key_of(param["default"]):
            return value


def read_history(path, models, seen):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            params = models[row["repository"]]["supported_hyperparams"]
            mode = "parallel" if row["experiment_id"].endswith("_parallel") else "nonparallel"
            values = tuple(key_of(float(row["hyperparam_" + name])) for name in params)
            seen.add((row["repository"], row["model"], mode) + values)


def plan(registry_path, settings_path):
    models = json.load(open(registry_path))["models"]
    settings = json.load(open(settings_path))
    seen, experiments = set(), []
    for path in settings["historical_csvs"]:
        read_history(os.path.join(os.path.dirname(settings_path), path), models, seen)
    for index, entry in enumerate(settings["experiments"]):
        repo = models[entry["repo"]]
        params = repo["supported_hyperparams"]
        for run in range(entry["runs_per_config"]):
            rng = random.Random(f"1 entry {index} run {run}")
            while True:
                values = {n: draw(rng, p) if n in entry["mutate"] else p["default"] for n, p in params.items()}
                key = (entry["repo"], entry["model"], "nonparallel") + tuple(key_of(v) for v in values.values())
                if key not in seen:
                    break
            seen.add(key)
            argv = [os.path.join(repo["path"], repo["train_script"]), repo["model_flag"], entry["model"]]
            for name, value in values.items():
                argv += [params[name]["flag"], repr(value)]
            number = len(experiments) + 1
            experiments.append({"id": f"{entry['repo']}_{entry['model']}_{number:03d}", "values": values, "argv": argv})
    return experiments


began = time.monotonic()
experiments = plan(sys.argv[1], sys.argv[2])
seconds = time.monotonic() - began
print(f"experiments {len(experiments)}")
print("problems 0")
print(f"seconds {seconds:.4f}")
print(f"rss_kib {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
