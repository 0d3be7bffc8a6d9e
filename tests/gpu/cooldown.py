"""Fixed against adaptive cooldown: cooldown.py TARE REPEATS FIXED_SECONDS GPU: one run whose pauses are fixed and adaptive in turn is not
to be had, so runs of two experiments follow each other, one with each pause, in blocks of random order; the second experiment of each
counts. Prints a line for each: "fixed|adaptive JOULES SECONDS PAUSE_SECONDS START_C"."""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

tare, repeats, fixed, gpu = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.mkdtemp()
os.chdir(work)
os.environ.update(CUDA_VISIBLE_DEVICES=gpu, XDG_STATE_HOME=work + "/state", TARE_LOCK_DIR=work + "/locks")
os.mkdir("repo")
with open("repo/job.sh", "w") as script:
    script.write(f"#!/bin/sh\nexec {sys.executable} {here}/same.py\n")
os.chmod("repo/job.sh", 0o755)
json.dump({"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "supported_hyperparams": {}}}},
          open("registry.json", "w"))
for mode in ("fixed", "adaptive"):
    json.dump({"mode": "default", "max_retries": 0, "seed": 7,
               "experiments": [{"repo": "repo", "model": "net", "mode": "default", "runs_per_config": 2}],
               "tare": {"timing": {"between_runs": fixed, "between_configurations": 0},
                        "preflight": {"baseline": 2, "wait": 60},
                        "cooldown": {"mode": mode, "min": 3, "max": 120}}}, open(mode + ".json", "w"))
random.seed(int(gpu) + 1)
for i in range(repeats):
    for mode in random.sample(["fixed", "adaptive"], 2):
        out = f"{mode}_{i}"
        done = subprocess.run([tare, "run", mode + ".json", "-c", "registry.json", "-o", out, "-q"], capture_output=True, text=True)
        run = os.path.join(out, os.listdir(out)[0])
        rows = list(csv.DictReader(open(run + "/summary.csv")))
        if len(rows) != 2 or rows[1]["training_success"] != "True":
            sys.exit(done.stdout + done.stderr)
        events = [json.loads(line) for line in open(run + "/events.jsonl")]
        ended = [e["monotonic_ns"] for e in events if e["type"] == "experiment_ended"]
        begun = [e["data"]["start_ns"] for e in events if e["type"] == "attempt_started"]
        looks = [e["data"] for e in events if e["type"] == "guard" and e["data"]["phase"] == "preflight"]
        print(mode, rows[1]["energy_gpu_total_joules"], rows[1]["duration_seconds"], (begun[1] - ended[0]) / 1e9,
              looks[1]["devices"][0]["temperature_c"], rows[1]["verdict"], flush=True)
