#!/usr/bin/env python3
"""A training changes all records of its run; then the runner dies at each write, sync, rename and removal with which it makes them anew.
Each time a resume leaves the figures of the trainings in every file, or says which it could not restore; it never calls changed ones whole.

records_points.py PROGRAM PRELOAD WORKING-FOLDER      STRIDE=3: every third point"""
import concurrent.futures
import contextlib
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys

PROGRAM, PRELOAD, WORK = (os.path.abspath(word) for word in sys.argv[1:4])
STRIDE = int(os.environ.get("STRIDE", "1"))

JOB = """#!/bin/sh
unset LD_PRELOAD
if [ "$TARE_EXPERIMENT" = repo_net_002 ] && [ ! -e ../armed ]; then
sqlite3 -cmd '.timeout 60000' "$TARE_RUN_DIR/run.db" 'UPDATE experiment_metrics SET value = 0.001'
%s
echo >../armed
fi
echo loss 0.5
"""
# What a resume can restore whenever the runner died: the lines are whole. And more, which only the runner that saw it can.
LESS = "sed -i s/0.5/0.001/ $TARE_RUN_DIR/repo_net_001/experiment.json $TARE_RUN_DIR/summary.csv"
MORE = LESS + "\nsed -i s/0.5/0.001/ $TARE_RUN_DIR/events.jsonl"
REGISTRY = {"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"], "supported_hyperparams": {},
                                "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}}}}
SETTINGS = {"mode": "default", "max_retries": 0, "experiments": [{"repo": "repo", "model": "net", "runs_per_config": 2}],
            "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 10}}}


def run(folder, words, **more):
    done = subprocess.run([PROGRAM, "run", *words, "--containment", "sweep"], cwd=folder, env=dict(os.environ, **more),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120)
    return done.returncode, done.stdout[-1000:] + done.stderr[-1000:]


def losses(run_dir):
    with contextlib.closing(sqlite3.connect(run_dir + "/run.db")) as db:
        yield [value for (value,) in db.execute("SELECT value FROM experiment_metrics")]
    for name in sorted(glob.glob(run_dir + "/repo_net_*/experiment.json")):
        yield [json.load(open(name))["performance_metrics"]["loss"]]
    rows = [line.split(",") for line in open(run_dir + "/summary.csv").read().splitlines()]
    at = rows[0].index("perf_loss")
    yield [float(row[at]) for row in rows[1:]]


def point(number, more):
    """Dies at this point; False when the run has no such point."""
    folder = f"{WORK}/{number}{'m' if more else ''}"
    os.makedirs(folder + "/repo")
    for name, text in (("repo/job.sh", JOB % (MORE if more else LESS)), ("registry.json", json.dumps(REGISTRY)),
                       ("settings.json", json.dumps(SETTINGS))):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    os.chmod(folder + "/repo/job.sh", 0o755)
    try:
        code, said = run(folder, ["settings.json", "-c", "registry.json", "-o", "results"], LD_PRELOAD=PRELOAD,
                         JOURNAL_FAULT=str(number), JOURNAL_FAULT_FROM=folder + "/armed")
        (run_dir,) = glob.glob(folder + "/results/run_*")
        died = code == -9
        assert died or (code == 3 and "made anew" in said), f"exit code {code}: {said}"
        if died:
            code, said = run(folder, ["--resume", run_dir])
            assert code in (0, 3), f"resume: exit code {code}: {said}"
        good = all(value == 0.5 for values in losses(run_dir) for value in values)
        told = "not restored" in said
        assert good or (more and died and code == 3 and told), f"code {code}, {list(losses(run_dir))}: {said}"
        return died
    except AssertionError as error:
        raise AssertionError(f"point {number}{', with events.jsonl' if more else ''}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    for more in (False, True):
        number, points = 1, 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            while True:
                hit = list(pool.map(point, range(number, number + 8 * STRIDE, STRIDE), [more] * 8))
                number += 8 * STRIDE
                points += sum(hit)
                if not all(hit):
                    break
        assert points * STRIDE >= 20, f"only {points} points: is the library loaded?"
        print(f"{points} points{', the lines changed too' if more else ''}")


try:
    main()
except AssertionError as error:
    sys.exit(f"records_points: {error}")
