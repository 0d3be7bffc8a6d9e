#!/usr/bin/env python3
"""Kills one process of a run by SIGKILL, before and after each system call that starts or ends a job or speaks of it: the runner,
the init of a job, the command before it is executed, the guardian, the runner and the guardian together; and the runner at each
sync of its journal. A resume then finishes the plan: every experiment must be recorded once, what had ended must not be run again,
and nothing may be alive.

Which points there are is found by counting them in a run that is not disturbed (crash_tracer.c). When there are more than time
allows, some of every kind are taken, by a fixed seed. (Lost and torn writes of the journal: journal_points.py.)

crash_points.py PROGRAM CRASH_TRACER     POINTS=all: tries all of them     exit code 77: nothing can be traced here"""
import collections
import concurrent.futures
import csv
import glob
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from survivors import NOBODY, holders, is_free, leaves, spawning, wait_until  # noqa: E402

WORKERS = 2
SEED = 1
# Generous: only what goes wrong waits so long. After BUDGET_S no new point is begun: a slow machine tries fewer.
RUN_S, GONE_S, BUDGET_S = 60, 30, 100
CANNOT = 77

JOB = """#!/bin/sh
echo "$TARE_EXPERIMENT $TARE_ATTEMPT" >>../tries
exec 9<../lock
flock --shared 9
[ "$TARE_EXPERIMENT" != repo_net_001 ] || setsid sleep 100 &
sleep 0.02
"""
REGISTRY = {"models": {"repo": {"path": "repo", "train_script": "./job.sh", "models": ["net"],
                                "supported_hyperparams": {}}}}
# An init or a command that is killed fails its attempt: one retry belongs to it.
SETTINGS = {
    "mode": "default", "max_retries": 1,
    "experiments": [{"repo": "repo", "model": "net", "runs_per_config": 2}],
    "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 10}}}
EXPERIMENTS = ["repo_net_001", "repo_net_002"]

Point = collections.namedtuple("Point", "mode user uid role call number when")


def environment(folder, tag):
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "CRASH_TAG": tag, "HOME": folder}


def start(command, uid, folder, tag, output):
    user = {"user": uid, "group": uid, "extra_groups": []} if uid != os.getuid() else {}
    with spawning:
        return subprocess.Popen(command, cwd=folder, env=environment(folder, tag), stdin=subprocess.DEVNULL, stdout=output,
                                stderr=output, **user)


def tagged(tag):
    """Pids of all that the run has left: runner, guardian, inits and jobs have the tag in their environment."""
    found, word = set(), f"CRASH_TAG={tag}".encode()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                with open(f"/proc/{name}/environ", "rb") as file:
                    if word in file.read().split(b"\0"):
                        found.add(int(name))
        except OSError:
            continue
    return found


class Trial:
    """One run in a folder of its own, disturbed at one point or at none."""

    def __init__(self, world, name, mode, uid):
        self.world, self.tag, self.mode, self.uid = world, f"{os.getpid()}-{name}", mode, uid
        self.folder = os.path.join(world.folder, name)
        os.makedirs(self.folder + "/repo")
        for file_name, text in (("repo/job.sh", JOB), ("registry.json", json.dumps(REGISTRY)),
                                ("settings.json", json.dumps(SETTINGS)), ("tries", ""), ("lock", "")):
            with open(f"{self.folder}/{file_name}", "w") as file:
                file.write(text)
        os.chmod(self.folder + "/repo/job.sh", 0o755)
        for path in (self.folder, self.folder + "/repo", self.folder + "/tries"):
            os.chown(path, uid, -1)

    def wait(self, words):
        """The exit code; negative after a signal as the tracer says it, too."""
        with open(self.folder + "/output", "ab") as output:
            program = start(words, self.uid, self.folder, self.tag, output)
        try:
            code = program.wait(timeout=RUN_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("does not end")
        finally:
            program.kill()
            program.wait()
        return code

    def run(self, *aim):
        return self.wait([self.world.tracer, "report", *aim, self.world.tare, "run", "settings.json", "-c", "registry.json",
                          "-o", "results", "--containment", self.mode])

    def resume(self):
        return self.wait([self.world.tare, "run", "--containment", self.mode, "--resume", self.results()])

    def results(self):
        found = glob.glob(self.folder + "/results/run_*")
        assert len(found) <= 1, found
        return found[0] if found else None

    def text(self, name):
        with open(f"{self.folder}/{name}", errors="replace") as file:
            return file.read()

    def tries(self):
        return self.text("tries").split("\n")[:-1]

    def query(self, sql):
        """Asks a copy of the journal: reading a crashed one would change it."""
        with tempfile.TemporaryDirectory(dir=self.world.folder) as copy:
            for path in glob.glob(f"{self.results()}/run.db*"):
                shutil.copy(path, copy)
            db = sqlite3.connect(copy + "/run.db")
            try:
                return db.execute(sql).fetchall()
            finally:
                db.close()

    def ended(self):
        """Numbers of the experiments that the journal says are over."""
        if not self.results() or not os.path.exists(self.results() + "/run.db"):
            return []
        try:
            return [number for number, in self.query(
                "SELECT number FROM experiments WHERE state = 'done' AND outcome IN ('succeeded', 'failed')")]
        except sqlite3.Error:
            return []

    def left(self):
        alive = tagged(self.tag)
        return alive if is_free(self.folder + "/lock") else alive | set(holders(self.folder + "/lock"))

    def survivors(self):
        wait_until(lambda: not self.left(), GONE_S)
        return len(self.left())

    def check(self):
        """The plan is finished, and each experiment recorded once, wherever it is recorded."""
        rows = self.query("SELECT number, state, outcome FROM experiments ORDER BY number")
        assert rows == [(1, "done", "succeeded"), (2, "done", "succeeded")], rows
        with open(self.results() + "/events.jsonl") as file:
            events = [json.loads(line) for line in file]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "events are missing or doubled"
        over = sorted((event["experiment"], event["data"]["outcome"]) for event in events
                      if event["type"] == "experiment_ended")
        assert over == [(1, "succeeded"), (2, "succeeded")], over
        good = collections.Counter(event["experiment"] for event in events
                                   if event["type"] == "attempt_ended" and event["data"]["outcome"] == "succeeded")
        assert good == {1: 1, 2: 1}, good
        with open(self.results() + "/summary.csv", newline="") as file:
            rows = [(row["experiment_id"], row["training_success"]) for row in csv.DictReader(file)]
        assert rows == [(name, "True") for name in EXPERIMENTS], rows
        tries = self.tries()
        assert len(tries) == len(set(tries)), f"an attempt was run twice: {tries}"
        born = {f"{EXPERIMENTS[event['experiment'] - 1]} {event['attempt']}" for event in events
                if event["type"] == "job_born"}
        assert set(tries) <= born, f"run before it was journaled: {tries}, {born}"

    def close(self):
        """For the machine's peace; what there is to say has been said."""
        deadline = time.monotonic() + 10
        while self.left() and time.monotonic() < deadline:
            for pid in self.left():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.01)
        shutil.rmtree(self.folder, ignore_errors=True)


class Result:
    def __init__(self, point):
        self.point, self.hit, self.survivors, self.broken = point, False, 0, ""

    def name(self):
        point = self.point
        return f"{point.mode} as {point.user}: {point.role} killed {point.when} {point.call} number {point.number}"


def finish(trial, result, wait_first):
    """After the runner's death. Every other time the resume comes at once, while the guardian may still be at work."""
    if wait_first:
        result.survivors = trial.survivors()
    ended, tries = trial.ended(), trial.tries()
    if not trial.results():
        assert not tries, "run without a run folder"
        return
    code = trial.resume()
    # Killed while it was still being made, the run holds no plan, and says so; nothing may have been started then.
    output = trial.text("output")
    if code == 2 and ("before the plan was written" in output or "holds no run" in output) and not trial.tries():
        return
    assert code == 0, f"resume: exit code {code}: {trial.text('output')[-800:]}"
    trial.check()
    for number in ended:
        again = [line for line in trial.tries()[len(tries):] if line.startswith(EXPERIMENTS[number - 1])]
        assert not again, f"experiment {number} was over, and was run again: {again}"


def try_point(world, index, point):
    result = Result(point)
    if time.monotonic() > world.deadline:
        return None
    trial = Trial(world, f"p{index}", point.mode, point.uid)
    try:
        code = trial.run(point.role, point.call, str(point.number), point.when)
        result.hit = "hit" in trial.text("report")
        output = trial.text("output")
        if code == 2 and point.role in ("init", "newborn") and "start a trial job" in output:
            # The last containment that this machine has was disturbed while it was tried: nothing may have begun.
            assert result.hit and not trial.results() and not trial.tries(), f"refused, but begun: {output[-800:]}"
            return result
        assert code in (0, 128 + signal.SIGKILL), f"exit code {code}: {output[-800:]}"
        if code == 0:
            trial.check()
        else:
            assert result.hit, "killed, but not by us"
            finish(trial, result, index % 2 == 0)
        result.survivors = max(result.survivors, trial.survivors())
    except Exception as error:  # a broken test must show as one
        result.broken = f"{type(error).__name__}: {error}" if not isinstance(error, AssertionError) else str(error)
    finally:
        trial.close()
    return result


def count_points(world, mode, user, uid):
    """Every point of an undisturbed run, and that such a run is as it should be."""
    trial = Trial(world, f"count-{mode}-{user}", mode, uid)
    points = []
    try:
        code = trial.run()
        assert code == 0, f"an undisturbed run: exit code {code}: {trial.text('output')[-800:]}"
        trial.check()
        assert trial.survivors() == 0, "an undisturbed run leaves something"
        for line in trial.text("report").splitlines():
            count, role, call = line.split(" ", 2)
            if role == "store" and call != "journal sync" or role == "runner" and call == "journal sync":
                continue
            # The program itself is executed first; what is executed later is not followed.
            first = 2 if (role, call) == ("runner", "execve") else 1
            for who in [role, "runner+guardian"] if role == "runner" else [role]:
                points += [Point(mode, user, uid, who, call, number, when) for number in range(first, int(count) + 1)
                           for when in ("before", "after") if when == "before" or call not in ("exit_group", "execve")]
    finally:
        trial.close()
    return points


def sample(points, limit):
    """In turns one of each kind (role and call), in an order of chance that is always the same."""
    dice = random.Random(SEED)
    kinds = collections.defaultdict(list)
    for point in points:
        kinds[point.role, point.call].append(point)
    for kind in kinds.values():
        dice.shuffle(kind)
    order = list(kinds.values())
    dice.shuffle(order)
    turns = [kind[turn] for turn in range(max(map(len, order))) for kind in order if turn < len(kind)]
    return turns if os.environ.get("POINTS") == "all" else turns[:limit]


class World:
    def __init__(self, tare, tracer):
        self.folder = tempfile.mkdtemp(prefix="tare-crash-", dir="/tmp")
        os.chmod(self.folder, 0o1777)
        self.tare, self.tracer = shutil.copy(tare, self.folder), shutil.copy(tracer, self.folder)
        for path in (self.tare, self.tracer):
            os.chmod(path, 0o755)
        self.deadline = float("inf")
        self.leaves_before = leaves()

    def cannot_trace(self):
        probe = subprocess.run([self.tracer, self.folder + "/probe", "/bin/true"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=RUN_S)
        return probe.stderr.strip() if probe.returncode == CANNOT else None

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        # A cgroup whose runner and guardian died together stays, empty, until a later run finds it.
        for leaf in leaves() - self.leaves_before:
            try:
                if time.time() - os.stat(leaf).st_ctime > 5:
                    os.rmdir(leaf)
            except OSError:
                pass


def show_table(columns, all_points, results):
    """A row for each target and system call: for each way of running how many points were tried of those there are."""
    names = [f"{mode} {user}" for mode, user, *_ in columns]
    print("# target          system call            ", *(f"{name:>13}" for name in names), " survivors  broken resumes")
    for role, call in dict.fromkeys((point.role, point.call) for point in all_points):
        there, tried = collections.Counter(), collections.Counter()
        for point in all_points:
            there[f"{point.mode} {point.user}"] += (point.role, point.call) == (role, call)
        own = [result for result in results if (result.point.role, result.point.call) == (role, call)]
        for result in own:
            tried[f"{result.point.mode} {result.point.user}"] += 1
        cells = (f"{tried[name]} of {there[name]}".rjust(13) for name in names)
        print(f"# {role:15} {call:22}", *cells, f"{sum(result.survivors for result in own):10}",
              f"{sum(bool(result.broken) for result in own):15}")


def main():
    began = time.monotonic()
    world = World(sys.argv[1], sys.argv[2])
    try:
        reason = world.cannot_trace()
        if reason:
            print(reason)
            return CANNOT
        users = [("root", 0), ("nobody", NOBODY)] if os.getuid() == 0 else [("user", os.getuid())]
        rows = [("auto", *users[0], 130), ("sweep", *users[0], 40)] + [("auto", *user, 40) for user in users[1:]]
        all_points, chosen = [], []
        for mode, user, uid, limit in rows:
            points = count_points(world, mode, user, uid)
            taken = sample(points, limit)
            all_points += points
            chosen += [(index / len(taken), point) for index, point in enumerate(taken)]
        chosen = [point for _, point in sorted(chosen, key=lambda item: item[0])]
        world.deadline = began + BUDGET_S if os.environ.get("POINTS") != "all" else float("inf")
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            tried = list(pool.map(lambda item: try_point(world, *item), enumerate(chosen)))
    finally:
        world.close()
    results = [result for result in tried if result]
    show_table(rows, all_points, results)
    bad = [result for result in results if result.survivors or result.broken]
    for result in bad:
        print(f"# {result.name()}: {result.survivors} survivors {result.broken}")
    print(f"# {len(all_points)} points, {len(results)} tried, {sum(result.hit for result in results)} of them hit, in "
          f"{time.monotonic() - began:.0f} s (seed {SEED})")
    # On any machine a good part must have been tried, or the test shows nothing.
    few = len(results) < 20 or sum(result.hit for result in results) < len(results) // 2
    print(f"{'not ok' if bad or few else 'ok'} 1 - {sum(result.survivors for result in results)} survivors, "
          f"{sum(bool(result.broken) for result in results)} broken resumes{', but too few points' if few else ''}")
    return 1 if bad or few else 0


if __name__ == "__main__":
    sys.exit(main())
