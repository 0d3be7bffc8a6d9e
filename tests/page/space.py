"""A folder in the study's layout with experiments over a space of hyperparameters, without sensors' files: space.py FOLDER COUNT [SAME]:
learning_rate over powers of ten, batch_size of four values, optimizer of three words; accuracy is best at 0.01 and the same for the same
number; every seventh failed, without a metric. SAME: no hyperparameter varies."""
import json
import math
import os
import sys

top, count, same = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
rows = ["experiment_id,timestamp,repository,model,training_success,duration_seconds,retries,hyperparam_learning_rate,hyperparam_batch_size,"
        "hyperparam_optimizer,perf_accuracy,energy_gpu_total_joules"]
for number in range(1, count + 1):
    name = "demo_net_%03d" % number
    rate, batch, optimizer = 10 ** (-4 + 3 * ((number * 37) % 101) / 100), 2 ** (4 + number % 4), ("sgd", "adam", "lion")[number % 3]
    if same:
        rate, batch, optimizer = 0.01, 32, "sgd"
    success, accuracy = number % 7 != 0, round(90 - 8 * math.log10(rate / 0.01) ** 2 + number % 5, 3)
    end = "2025-11-18T%02d:%02d:%02d" % (8 + number // 3600, number // 60 % 60, number % 60)
    os.makedirs(f"{top}/{name}")
    with open(f"{top}/{name}/experiment.json", "w") as out:
        json.dump({"experiment_id": name, "timestamp": end, "repository": "demo", "model": "net",
                   "hyperparameters": {"learning_rate": rate, "batch_size": batch, "optimizer": optimizer}, "duration_seconds": 60.0 + number % 9,
                   "performance_metrics": {"accuracy": accuracy} if success else {}, "training_success": success, "retries": 0,
                   "energy_metrics": {"gpu_energy_total_joules": 6000.0 + 10 * batch + number},
                   "error_message": "" if success else "exit code 1"}, out)
    rows.append(f"{name},{end},demo,net,{success},{60.0 + number % 9},0,{rate},{batch},{optimizer},{accuracy if success else ''},{6000.0 + 10 * batch + number}")
with open(f"{top}/summary.csv", "w", newline="") as out:
    out.write("\r\n".join(rows) + "\r\n")
