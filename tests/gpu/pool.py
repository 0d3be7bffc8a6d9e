"""Trainings on all GPUs at once against one at a time: pool.py TARE RUNS [--steps N] [--out FOLDER]. The same training RUNS times on all
GPUs, and as often on one GPU while the others are idle: one (the first GPU), all, all, one (the last GPU); then, with two GPUs or more,
one training over two of them by torchrun.
Prints Markdown. Ends with 1 when a training failed, was contaminated, or when the parts of an energy do not add up.
POOL_TRAIN: another trainer."""
import argparse
import csv
import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("runs", type=int)
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--out", help="a folder that the runs' results are copied to")
args = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
tare, out = os.path.abspath(args.tare), args.out and os.path.abspath(args.out)
work = tempfile.mkdtemp()
os.chdir(work)
os.environ.update(XDG_STATE_HOME=work + "/state", TARE_LOCK_DIR=work + "/locks")
train = os.environ.get("POOL_TRAIN", f"{here}/pool_train.py --steps {args.steps}")
failed = []


def script(path, command):
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\nexec {command}\n")
    os.chmod(path, 0o755)


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def settings(path, model, runs, **more):
    write(path, {"mode": "default", "max_retries": 0, "seed": 7,
                 "experiments": [{"repo": model, "model": "resnet50", "mode": "default", "runs_per_config": runs}],
                 "tare": {"timing": {"between_runs": 1, "between_configurations": 0},
                          "preflight": {"baseline": 2, "wait": 60}, "cooldown": {"mode": "adaptive", "min": 1, "max": 20}, **more}})


def run(name, path, *options):
    done = subprocess.run([tare, "run", path, "-c", "registry.json", "-o", name, "-q", *options], capture_output=True, text=True)
    folder = glob.glob(name + "/run_*")
    if done.returncode != 0 or len(folder) != 1:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    rows = list(csv.DictReader(open(folder[0] + "/summary.csv")))
    experiments = [json.load(open(path)) for path in sorted(glob.glob(folder[0] + "/*/experiment.json"))]
    print(done.stdout + done.stderr, file=sys.stderr)
    for row in rows:
        if row["training_success"] != "True" or row["verdict"] == "contaminated":
            failed.append(f"{name}: {row['experiment_id']} {row['training_success']} {row['verdict']}")
    if out:
        shutil.copytree(folder[0], os.path.join(out, name))
    events = [json.loads(line) for line in open(folder[0] + "/events.jsonl")]
    began = min(e["monotonic_ns"] for e in events if e["type"] == "experiment_started")
    ended = max(e["monotonic_ns"] for e in events if e["type"] == "experiment_ended")
    return rows, experiments, (ended - began) / 1e9


def cv(values):
    """In per cent, and its standard error, CV * sqrt((1/2 + CV^2) / n) for a normal distribution."""
    share = statistics.stdev(values) / statistics.fmean(values)
    return 100 * share, 100 * share * math.sqrt((0.5 + share * share) / len(values))


def check_sums(rows, experiments, what):
    """What each GPU drew adds up to the experiment's figure."""
    for experiment in experiments:
        energy = experiment["tare"]["attempts"][-1]["energy"]
        parts = [gpu["joules"] for gpu in energy["devices"]]
        if not parts or abs(sum(parts) - energy["gpu"]["joules"]) > 0.01:
            failed.append(f"{what}: {parts} do not add up to {energy['gpu']['joules']}")


script("one.sh", f"{sys.executable} {train}")
script("both.sh", f"{sys.executable} -m torch.distributed.run --standalone --nproc_per_node 2 {train}")
os.mkdir("repo")
for name in ("one", "both"):
    shutil.move(name + ".sh", "repo")
write("registry.json", {"models": {name: {"path": "repo", "train_script": f"./{name}.sh", "models": ["resnet50"],
                                          "supported_hyperparams": {}} for name in ("one", "both")}})
settings("one.json", "one", args.runs)
settings("both.json", "both", 2, gpus_per_experiment=2)

kinds = {"one": [], "all": []}
last = len(glob.glob((os.environ.get("TARE_SYSROOT") or "") + "/proc/driver/nvidia/gpus/*")) - 1
for i, (kind, which) in enumerate([("one", "0"), ("all", "all"), ("all", "all"), ("one", str(last))]):
    kinds[kind].append(run(f"{kind}_{i}", "one.json", "--gpus", which))
print("| | experiments | wall time | an hour does | energy of an experiment | CV | duration |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for kind, title in (("one", "one at a time"), ("all", "all GPUs at once")):
    energies = [float(row["energy_gpu_total_joules"]) for rows, _, _ in kinds[kind] for row in rows]
    durations = [float(row["duration_seconds"]) for rows, _, _ in kinds[kind] for row in rows]
    wall = sum(seconds for _, _, seconds in kinds[kind])
    share, error = cv(energies)
    print(f"| {title} | {len(energies)} | {wall:.1f} s | {3600 * len(energies) / wall:.0f} | {statistics.fmean(energies):.0f} J | "
          f"{share:.2f} % (± {error:.2f}) | {statistics.fmean(durations):.2f} s |")
gpus = {}
for kind in kinds.values():
    for _, experiments, _ in kind:
        for experiment in experiments:
            energy = experiment["tare"]["attempts"][-1]["energy"]
            gpus.setdefault(energy["devices"][0]["device"], []).append(energy["gpu"]["joules"])
for device, energies in sorted(gpus.items()):
    print(f"# {device}: {len(energies)} experiments, {statistics.fmean(energies):.0f} J, CV {cv(energies)[0]:.2f} %")
for kind, results in kinds.items():
    for rows, experiments, _ in results:
        check_sums(rows, experiments, kind)
if len(gpus) > 1:
    rows, experiments, _ = run("torchrun", "both.json")
    check_sums(rows, experiments, "torchrun")
    print("\n| torchrun over two GPUs | energy | of each | duration |\n| --- | --- | --- | --- |")
    for row, experiment in zip(rows, experiments):
        energy = experiment["tare"]["attempts"][-1]["energy"]
        parts = ", ".join(f"{gpu['device']}: {gpu['joules']:.0f} J" for gpu in energy["devices"])
        print(f"| {row['experiment_id']} | {float(row['energy_gpu_total_joules']):.0f} J | {parts} | {float(row['duration_seconds']):.1f} s |")
shutil.rmtree(work)
print(*failed, sep="\n", file=sys.stderr)
sys.exit(bool(failed))
