#!/usr/bin/env python3
"""The runner dies at each write and sync of its journal in turn, whole or torn; each time a resume finishes the plan,
and every experiment is recorded and done once.

journal_points.py PROGRAM PRELOAD WORKING-FOLDER      STRIDE=3: of the torn writes, every third"""
import collections
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys

PROGRAM, PRELOAD, WORK = (os.path.abspath(word) for word in sys.argv[1:4])
STRIDE = int(os.environ.get("STRIDE", "3"))
PATIENCE_S = 120

# The first try of the first experiment fails: a retry belongs to what is interrupted.
JOB = """#!/bin/sh
echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
[ "$TARE_EXPERIMENT $TARE_ATTEMPT" != "repo_net_001 1" ]
"""
REGISTRY = {"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
                                "supported_hyperparams": {}}}}
SETTINGS = {
    "mode": "default", "max_retries": 1,
    "experiments": [{"repo": "repo", "model": "net", "runs_per_config": 2}],
    "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 10}}}


def make_world(folder):
    os.makedirs(folder + "/repo")
    for name, text in (("repo/job.sh", JOB), ("registry.json", json.dumps(REGISTRY)),
                       ("settings.json", json.dumps(SETTINGS)), ("tries", "")):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    os.chmod(folder + "/repo/job.sh", 0o755)


def run(folder, words, **more):
    environment = dict(os.environ, **more)
    done = subprocess.run([PROGRAM, "run", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
    return done.returncode, done.stdout[-1000:] + done.stderr[-1000:]


def check(folder, results):
    with open(results + "/events.jsonl") as file:
        events = [json.loads(line) for line in file]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "events are missing or doubled"
    ended = [(event["experiment"], event["data"]["outcome"]) for event in events if event["type"] == "experiment_ended"]
    assert ended == [(1, "succeeded"), (2, "succeeded")], ended
    good = collections.Counter(event["experiment"] for event in events
                               if event["type"] == "attempt_ended" and event["data"]["outcome"] == "succeeded")
    assert good == {1: 1, 2: 1}, good
    with open(folder + "/tries") as file:
        tries = file.read().split("\n")[:-1]
    assert len(tries) == len(set(tries)), f"an attempt ran twice: {tries}"
    born = {f"repo_net_{event['experiment']:03d} {event['attempt']}" for event in events if event["type"] == "job_born"}
    assert set(tries) <= born, f"ran before it was journaled: {tries}, {born}"
    with open(results + "/summary.csv") as file:
        assert [line.split(",")[0] for line in file][1:] == ["repo_net_001", "repo_net_002"]


def point(number, torn):
    """Dies at this point; False when the run has no such point."""
    folder = f"{WORK}/{number}{'t' if torn else ''}"
    make_world(folder)
    try:
        code, said = run(folder, ["settings.json", "-c", "registry.json", "-o", "results"], LD_PRELOAD=PRELOAD,
                         JOURNAL_FAULT=str(number), JOURNAL_FAULT_TORN="1" if torn else "0")
        assert code in (0, -9), f"exit code {code}: {said}"
        results = glob.glob(folder + "/results/run_*")
        if code == -9:
            code, again = run(folder, ["--resume", *results])
            # Killed while it was still being made: then it holds no plan, and nothing may have run.
            if code == 2 and not open(folder + "/tries").read():
                return True
            assert code == 0, f"resume: exit code {code}: {again}"
            check(folder, results[0])
            return True
        check(folder, results[0])
        return False
    except AssertionError as error:
        raise AssertionError(f"point {number}{' torn' if torn else ''}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    number, points = 1, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while points < number:
            hit = list(pool.map(point, range(number, number + 8), [False] * 8))
            number += 8
            points += sum(hit)
            if not all(hit):
                break
        torn = range(1, points + 1, STRIDE)
        list(pool.map(point, torn, [True] * len(torn)))
    # Each of two experiments is at least eight events, each written and synced on its own or with its neighbours.
    assert points >= 20, f"only {points} points: is the library loaded?"
    print(f"{points} points, {len(torn)} of them torn as well")


try:
    main()
except AssertionError as error:
    sys.exit(f"journal_points: {error}")
