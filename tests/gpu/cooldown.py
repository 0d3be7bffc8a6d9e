"""Fixed against adaptive cooldown: cooldown.py TARE BLOCKS FIXED_SECONDS SEED. A block is two runs of three experiments, one with each
kind of pause, in random order; those that a pause comes before count. Prints a line for each: "fixed|adaptive JOULES SECONDS PAUSE_SECONDS
START_C VERDICT"."""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

tare, blocks, fixed, seed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.mkdtemp()
os.chdir(work)
os.environ.update(XDG_STATE_HOME=work + "/state", TARE_LOCK_DIR=work + "/locks")
os.mkdir("repo")
with open("repo/job.sh", "w") as script:
    script.write(f"#!/bin/sh\nexec {sys.executable} {here}/same.py\n")
os.chmod("repo/job.sh", 0o755)
json.dump({"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "supported_hyperparams": {}}}},
          open("registry.json", "w"))
for mode in ("fixed", "adaptive"):
    json.dump({"mode": "default", "max_retries": 0, "seed": 7,
               "experiments": [{"repo": "repo", "model": "net", "mode": "default", "runs_per_config": 3}],
               "tare": {"timing": {"between_runs": fixed, "between_configurations": 0},
                        "preflight": {"baseline": 2, "wait": 60},
                        "cooldown": {"mode": mode, "min": 3, "max": 120}}}, open(mode + ".json", "w"))
random.seed(seed)
for i in range(blocks):
    for mode in random.sample(["fixed", "adaptive"], 2):
        out = f"{mode}_{i}"
        done = subprocess.run([tare, "run", mode + ".json", "-c", "registry.json", "-o", out, "-q"], capture_output=True, text=True)
        run = os.path.join(out, os.listdir(out)[0])
        rows = list(csv.DictReader(open(run + "/summary.csv")))
        if [row["training_success"] for row in rows] != ["True"] * 3:
            sys.exit(done.stdout + done.stderr)
        events = [json.loads(line) for line in open(run + "/events.jsonl")]
        ended = [e["monotonic_ns"] for e in events if e["type"] == "experiment_ended"]
        begun = [e["data"]["start_ns"] for e in events if e["type"] == "attempt_started"]
        looks = [e["data"] for e in events if e["type"] == "guard" and e["data"]["phase"] == "preflight"]
        for n in (1, 2):
            print(mode, rows[n]["energy_gpu_total_joules"], rows[n]["duration_seconds"], (begun[n] - ended[n - 1]) / 1e9,
                  looks[n]["devices"][0]["temperature_c"], rows[n]["verdict"], flush=True)
