#!/usr/bin/env python3
"""Random kill -9 of `run --rerun-contaminated`: at every moment each experiment has a result, the one before or the new one, and
its log lies where the result says.

rerun_kill.py PROGRAM RUN-FOLDER      ROUNDS=60 kills, SEED="""
import csv
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

VERSION = re.compile(r'"version":"[^"]*"')
PROGRAM, RUN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROUNDS = int(os.environ.get("ROUNDS", "60"))
SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
QUERY = """SELECT p.id, e.number, e.outcome, e.result_attempt, e.again, m.value FROM experiments e
           JOIN plan p USING (number) LEFT JOIN experiment_metrics m ON m.experiment = e.number AND m.name = 'loss'"""


def rows():
    """From a copy: what a crash left is not to be mended by looking at it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("run.db", "run.db-wal"):
            if os.path.exists(f"{RUN}/{name}"):
                shutil.copy(f"{RUN}/{name}", folder)
        db = sqlite3.connect(folder + "/run.db")
        found = db.execute(QUERY).fetchall()
        db.close()
        return found


def log_of(experiment, attempt):
    """The folder itself holds the last attempt that was begun, attempt_<k> each one before."""
    earlier = f"{RUN}/{experiment}/attempt_{attempt}/training.log"
    with open(earlier if os.path.exists(earlier) else f"{RUN}/{experiment}/training.log") as file:
        return file.read()


def check():
    """Each row is whole, and of the attempt that it names: the job prints the attempt's number as its loss."""
    for name, _, outcome, attempt, _, loss in rows():
        assert outcome == "succeeded", (name, outcome)
        assert loss == attempt, (name, attempt, loss)
        assert f"loss {attempt}\n" == log_of(name, attempt), (name, attempt)
    with open(RUN + "/summary.csv") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 3 and all(row["perf_loss"] == row["attempt"] + ".0" for row in table), table


def accuse(chance):
    """A finished run whose results shall be done again."""
    with sqlite3.connect(RUN + "/run.db") as db:
        for number in (1, 2, 3):
            db.execute("UPDATE experiments SET verdict = ? WHERE number = ?",
                       (chance.choice(["contaminated", "suspect", "clean"]), number))
        for seq, data in db.execute("SELECT seq, data FROM events WHERE type = 'session_started'").fetchall():
            db.execute("UPDATE events SET data = ? WHERE seq = ?", (VERSION.sub('"version":"0.0.1"', data), seq))
    db.close()
    # Tables of another version's run are not compared with its events.
    with open(RUN + "/events.jsonl") as file:
        lines = [VERSION.sub('"version":"0.0.1"', line) for line in file]
    with open(RUN + "/events.jsonl", "w") as file:
        file.writelines(lines)


def rerun(kill_after_s):
    """Whether it came to its end."""
    process = subprocess.Popen([PROGRAM, "run", "--rerun-contaminated", RUN], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _, errors = process.communicate(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    assert process.returncode == 0, errors.decode(errors="replace")
    return True


def main():
    print("SEED", SEED)
    chance = random.Random(SEED)
    kills = finished = 0
    begun = time.monotonic()
    accuse(chance)
    check()
    # As long as a whole one takes, and somewhat longer, so that some come to their end.
    rerun(None)
    takes_s = max(time.monotonic() - begun, 0.05)
    while kills < ROUNDS:
        if rerun(chance.uniform(0, 1.3 * takes_s)):
            finished += 1
            accuse(chance)
        else:
            kills += 1
        check()
    rerun(None)
    check()
    assert not any(again for *_, again, _ in rows())
    with open(RUN + "/events.jsonl") as file:
        events = [json.loads(line) for line in file]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    print(f"{kills} kills, {finished} that came to their end")


main()
