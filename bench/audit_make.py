#!/usr/bin/env python3
"""A folder in the study's layout: audit_make.py FOLDER EXPERIMENTS SAMPLES. The samples of every 16th experiment are the same."""
import datetime
import json
import os
import random
import sys

top, experiments, samples = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = 1763452800
end = datetime.datetime.fromtimestamp(start + 8 * 3600 + samples + 2.5, datetime.timezone.utc)
end = end.strftime("%Y-%m-%dT%H:%M:%S.%f")
random.seed(1)
variants = []
for _ in range(min(16, experiments)):
    power = ["timestamp,power_draw_w\n"]
    busy = ["timestamp,gpu_util_percent,memory_util_percent\n"]
    heat = ["timestamp,gpu_temp_c,memory_temp_c\n"]
    total = 0.0
    for i in range(samples):
        watts = round(70 if i < 4 else random.gauss(250, 12), 2)
        total += watts
        power.append(f"{start + i},{watts:.2f}\n")
        busy.append(f"{start + i},{0 if i < 4 else random.randint(85, 99)},{random.randint(40, 60)}\n")
        heat.append(f"{start + i},{random.randint(55, 80)},N/A\n")
    variants.append(("".join(power), "".join(busy), "".join(heat), total))
perf = ("# started on Tue Nov 18 16:00:00 2025\n\n         13,138.35 Joules power/energy-pkg/\n"
        f"            940.00 Joules power/energy-ram/\n\n     {samples + 1.2:.9f} seconds time elapsed\n")
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_epochs,hyperparam_seed,"
        "perf_accuracy,energy_gpu_avg_watts,energy_gpu_total_joules"]
for number in range(1, experiments + 1):
    power, busy, heat, total = variants[number % len(variants)]
    name = f"repo{number % 10}_net_{number:05}"
    energy = f"{top}/{name}/energy"
    os.makedirs(energy)
    for file, text in (("gpu_power.csv", power), ("gpu_utilization.csv", busy), ("gpu_temperature.csv", heat),
                       ("cpu_energy_raw.txt", perf)):
        with open(f"{energy}/{file}", "w") as out:
            out.write(text)
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "timestamp": end, "repository": f"repo{number % 10}", "model": "net",
                   "hyperparameters": {"epochs": 10, "seed": number}, "duration_seconds": samples + 2.5,
                   "energy_metrics": {"gpu_energy_total_joules": total}, "performance_metrics": {"accuracy": 91.5},
                   "training_success": True, "retries": 0, "error_message": "Training completed successfully"}, out, indent=2)
    rows.append(f"{name},{end},repo{number % 10},net,True,{samples + 2.5},0,10,{number},91.5,{total / samples},{total}")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
