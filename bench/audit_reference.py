#!/usr/bin/env python3
"""What a script of the study does with such a folder, by Python's csv module: audit_reference.py FOLDER dict|list. Rows as
dictionaries by the columns' names (csv.DictReader), or as lists (csv.reader). Prints seconds by the clock and of processor time,
the number of experiments and samples, and the energy (trapezoids over the time-stamps)."""
import csv
import json
import os
import sys
import time


def column(path, name):
    with open(path, newline="") as file:
        if sys.argv[2] == "dict":
            return [(int(row["timestamp"]), float(row[name])) for row in csv.DictReader(file)]
        rows = csv.reader(file)
        next(rows)
        return [(int(row[0]), float(row[1])) for row in rows]


def main():
    top, began = sys.argv[1], time.monotonic()
    count = samples = 0
    energy = 0.0
    with open(os.path.join(top, "summary.csv"), newline="") as file:
        for row in csv.DictReader(file):
            folder = os.path.join(top, row["experiment_id"])
            with open(os.path.join(folder, "experiment.json")) as record:
                json.load(record)
            power = column(os.path.join(folder, "energy", "gpu_power.csv"), "power_draw_w")
            busy = column(os.path.join(folder, "energy", "gpu_utilization.csv"), "gpu_util_percent")
            heat = column(os.path.join(folder, "energy", "gpu_temperature.csv"), "gpu_temp_c")
            watts = [p for _, p in power]
            sum(watts), max(watts), min(watts)
            sum(u for _, u in busy) / len(busy), max(u for _, u in busy)
            sum(c for _, c in heat) / len(heat), max(c for _, c in heat)
            energy += sum((t1 - t0) * (p0 + p1) / 2 for (t0, p0), (t1, p1) in zip(power, power[1:]))
            count += 1
            samples += len(power)
    print(f"seconds {time.monotonic() - began:.3f}\nprocessor {time.process_time():.3f}\nexperiments {count}\nsamples {samples}\nenergy {energy:.3f}")


main()
