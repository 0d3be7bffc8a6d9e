#!/usr/bin/env python3
"""Random kill -9 of the runner and resume, many rounds, until each plan is finished: every experiment is then recorded
exactly once, and nothing that had ended was run again.

kill_resume.py PROGRAM WORKING-FOLDER      ROUNDS=200 kills in all, LANES=2 runs side by side, SEED="""
import collections
import concurrent.futures
import csv
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time

PROGRAM = os.path.abspath(sys.argv[1])
WORK = os.path.abspath(sys.argv[2])
ROUNDS = int(os.environ.get("ROUNDS") or "200")
LANES = int(os.environ.get("LANES", "2"))
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
EXPERIMENTS = 12
PATIENCE_S = 120

# Its first try fails in every third experiment; each try writes one line when it begins and one when it ends.
JOB = """#!/bin/sh
echo "$TARE_EXPERIMENT $TARE_ATTEMPT begin" >>../tries
echo loss 0.5
case $TARE_EXPERIMENT-$TARE_ATTEMPT in *[369]-1) exit 1;; esac
echo "$TARE_EXPERIMENT $TARE_ATTEMPT end" >>../tries
"""
REGISTRY = {"models": {"repo": {
    "path": "repo", "train_script": "./job.sh", "models": ["net"],
    "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000000],
                                    "distribution": "uniform"}},
    "performance_metrics": {"log_patterns": {"loss": "^loss ([0-9.]+)"}}}}}
SETTINGS = {
    "mode": "mutation", "seed": 1, "max_retries": 1,
    "experiments": [{"repo": "repo", "model": "net", "mutate": ["n"], "runs_per_config": EXPERIMENTS}],
    "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 10}}}


def make_world(folder):
    os.makedirs(folder + "/repo")
    for name, text in (("repo/job.sh", JOB), ("registry.json", json.dumps(REGISTRY)),
                       ("settings.json", json.dumps(SETTINGS))):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    os.chmod(folder + "/repo/job.sh", 0o755)


def run_folder(folder):
    """The run's folder once it holds a plan (run.db comes last), else None."""
    found = [name for name in glob.glob(folder + "/results/run_*") if os.path.exists(name + "/run.db")]
    assert len(found) <= 1, found
    return found[0] if found else None


def start(folder):
    run = run_folder(folder)
    if run:
        command = [PROGRAM, "run", "--resume", run]
    else:
        command = [PROGRAM, "run", "settings.json", "-c", "registry.json", "-o", "results"]
    log = open(folder + "/output", "ab")
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def output(folder):
    with open(folder + "/output", errors="replace") as file:
        return file.read()[-2000:]


def unplanned(folder, code):
    """Killed while it was still being made, the run holds no plan and says so: nothing has run, it is put away."""
    if code != 2 or os.path.exists(folder + "/tries") or "before the plan was written" not in output(folder):
        return False
    shutil.rmtree(folder + "/results")
    return True


def finish(folder):
    runner = start(folder)
    try:
        code = runner.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        runner.kill()
        raise AssertionError(f"the run does not end:\n{output(folder)}")
    if unplanned(folder, code):
        finish(folder)
        return
    assert code == 0, f"exit code {code}:\n{output(folder)}"


def check_tries(folder, events):
    """What the jobs themselves wrote against the journal."""
    tries = collections.Counter()
    order = collections.defaultdict(list)
    with open(folder + "/tries") as file:
        for line in file:
            name, attempt, what = line.split()
            tries[name, int(attempt), what] += 1
            if what == "begin":
                order[name].append(int(attempt))
    assert max(tries.values()) == 1, f"run twice: {[key for key, count in tries.items() if count > 1]}"
    names = {event["experiment"]: event["data"]["id"] for event in events if event["type"] == "experiment_started"}
    born = {(names[event["experiment"]], event["attempt"]) for event in events if event["type"] == "job_born"}
    good = {names[event["experiment"]]: event["attempt"] for event in events
            if event["type"] == "attempt_ended" and event["data"]["outcome"] == "succeeded"}
    for name, attempts in order.items():
        assert attempts == sorted(attempts), (name, attempts)
        assert attempts[-1] == good[name], f"{name} ran again after its success: {attempts}, good: {good[name]}"
        for attempt in attempts:
            assert (name, attempt) in born, f"{name}: attempt {attempt} ran before it was journaled"
        assert tries[name, good[name], "end"] == 1, name
    assert len(order) == EXPERIMENTS, order.keys()


def check_events(events):
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "events are missing or doubled"
    ended, good, prepared = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for event in events:
        number = event["experiment"]
        if event["type"] == "experiment_ended":
            ended[number] += 1
            assert event["data"]["outcome"] == "succeeded", event
            # Only tries that failed count: what a kill cut off does not.
            assert event["data"]["retries"] <= 1, event
        if event["type"] == "attempt_ended" and event["data"]["outcome"] == "succeeded":
            good[number] += 1
        if event["type"] == "attempt_prepared":
            prepared[number].append(event["attempt"])
    once = {number: 1 for number in range(1, EXPERIMENTS + 1)}
    assert ended == once, f"ended: {ended}"
    assert good == once, f"succeeded: {good}"
    for number, attempts in prepared.items():
        assert attempts == list(range(1, len(attempts) + 1)), (number, attempts)


def check_journal(run):
    assert not os.path.exists(run + "/run.db-wal"), "a finished run has a -wal"
    db = sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    rows = db.execute("SELECT number, state, outcome FROM experiments ORDER BY number").fetchall()
    assert rows == [(number, "done", "succeeded") for number in range(1, EXPERIMENTS + 1)], rows
    count = db.execute("SELECT count(*) FROM attempts WHERE outcome IS NULL").fetchone()[0]
    assert count == 0, f"{count} attempts without an end"
    db.close()


def check(folder):
    run = run_folder(folder)
    with open(run + "/events.jsonl") as file:
        events = [json.loads(line) for line in file]
    check_events(events)
    check_tries(folder, events)
    check_journal(run)
    with open(run + "/summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["experiment_id"] for row in rows] == [f"repo_net_{n:03d}" for n in range(1, EXPERIMENTS + 1)], rows
    assert all(row["training_success"] == "True" and row["perf_loss"] == "0.5" for row in rows), rows
    for row in rows:
        with open(f"{run}/{row['experiment_id']}/experiment.json") as file:
            json.load(file)


def lane(number, rounds, whole_s):
    """Kills and resumes until that many kills have hit a runner that was alive; gives how many plans that took."""
    dice = random.Random(f"{SEED}-{number}")
    plans = kills = 0
    # How long a runner may live: a part of what a whole plan takes, so that most are hit in the middle.
    window_s = whole_s / 3
    while kills < rounds:
        plans += 1
        folder = f"{WORK}/lane{number}_plan{plans}"
        make_world(folder)
        hits = kills
        # A bound, so that a machine on which nothing gets done in that time comes to an end, too.
        for _ in range(40):
            if kills == rounds:
                break
            runner = start(folder)
            try:
                code = runner.wait(timeout=dice.uniform(0, window_s))
            except subprocess.TimeoutExpired:
                runner.kill()
                runner.wait()
                kills += 1
                continue
            if unplanned(folder, code):
                continue
            assert code == 0, f"exit code {code}:\n{output(folder)}"
            break
        if kills - hits < 3:
            window_s *= 0.7
        elif kills - hits == 40:
            window_s *= 1.5
        finish(folder)
        check(folder)
    return plans


def main():
    first = WORK + "/undisturbed"
    make_world(first)
    begin = time.monotonic()
    finish(first)
    whole_s = time.monotonic() - begin
    check(first)
    share = [ROUNDS // LANES + (lane_number < ROUNDS % LANES) for lane_number in range(LANES)]
    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        plans = sum(pool.map(lane, range(LANES), share, [whole_s] * LANES))
    print(f"{ROUNDS} kills in {plans} plans of {EXPERIMENTS} experiments, one undisturbed took {whole_s:.2f} s")


try:
    main()
except AssertionError as error:
    sys.exit(f"kill_resume (SEED={SEED}): {error}")
