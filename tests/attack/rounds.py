#!/usr/bin/env python3
"""Rounds of random kill, stop and continue of runners, guardians, meters, inits, trainings and backgrounds, on GPUs that are played: at
the end each experiment is recorded once, nothing lives, nothing lies about, and no figure that is called clean is wrong.

rounds.py PROGRAM LIBRARY FOLDER      ROUNDS=4 SEED= JOBS=2 CONTAINMENT=auto,sweep FIRST=0 KEEP= PROVE=1

What is true the trainings know, by their own clocks, and the scenario, whose power is a sum of steps; what was done to them this program
knows. Nothing expected is taken from what the program under test writes. A round repeats by its number and the seed: FIRST=17 ROUNDS=1.
KEEP=1 keeps the folders of rounds with a finding; PROVE=1 shows instead that the checker tells results that were falsified."""
import collections
import concurrent.futures
import copy
import csv
import ctypes
import fcntl
import glob
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback

TICK_S = 0.03
ROUND_S = 150         # after that nothing is disturbed any more
END_S = 60            # then a run has so long to end by itself
GONE_S = 20           # and its processes to be gone
ROLES = ("runner", "guardian", "meter", "init", "job", "worker", "background")
TICKS = os.sysconf("SC_CLK_TCK")
SLACK_S, SLACK_SHARE = 0.05, 0.05   # that a duration may be wrong
LOOK_S = 2.2          # a stop or a stranger that lasts as long is seen: looks are a second apart
UNKNOWN_STEP_S = 1e9

# A training: says in a file of its own when it began and ended, what it printed, and on which GPU it was.
TRAIN = r"""import json, os, sys, time
def now(): return time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
begin = now()
ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
name, attempt, folder = os.environ["TARE_EXPERIMENT"], int(os.environ["TARE_ATTEMPT"]), os.environ["ROUND_TRUTH"]
def tell(**what):
    what.update(experiment=name, attempt=attempt)
    fd = os.open(folder + "/truth", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, (json.dumps(what) + "\n").encode())
    os.close(fd)
loss = int.from_bytes(os.urandom(4), "big") / 1e4
tell(what="begin", mono=begin[0], boot=begin[1], ticks=ticks, loss=loss, gpu=os.environ.get("CUDA_VISIBLE_DEVICES"))
mine = json.load(open(folder + "/plan.json"))[name]
print("loss %.4f" % loss, flush=True)
hold, let = os.pipe()
worker = os.fork()
if worker == 0:
    os.close(let)
    os.dup2(hold, 0)
    os.execvp("cat", ["cat"])
os.close(hold)
end = begin[0] + int(mine["seconds"] * 1e9)
while now()[0] < end:
    time.sleep(min(0.05, max(0.001, (end - now()[0]) / 1e9)))
    if os.waitpid(worker, os.WNOHANG)[0]:
        tell(what="worker died")
        os._exit(9)
os.close(let)
os.waitpid(worker, 0)
code = 1 if mine["fails"] and attempt == 1 else 0
end = now()
tell(what="end", mono=end[0], boot=end[1], code=code)
os._exit(code)
"""
# Who has nothing to do with a run: notes each signal, and starts one like it that carries a tag.
BYSTANDER = r"""import os, signal, subprocess, sys
def note(number, frame): open(sys.argv[1], "a").write("%d of %d\n" % (number, os.getpid()))
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}: signal.signal(number, note)
if len(sys.argv) > 2: subprocess.Popen([sys.executable, "-c", open("/proc/self/cmdline").read().split("\0")[2], sys.argv[1]], env=dict(os.environ, TARE_JOB=sys.argv[2]))
open(sys.argv[1] + ".ready", "a").write("1")
while True: signal.pause()
"""
BACK = """import time
while True: time.sleep(0.2)
"""


def uuid(gpu):
    return f"GPU-00000000-0000-4000-8000-{gpu:012x}"


def write(path, text):
    with open(path + ".new", "w") as out:
        out.write(text)
    os.rename(path + ".new", path)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


# ---- the GPUs that are played ----

class Power:
    """Steps of power, each reached at once or exponentially: the same that the scenario says, integrated here."""

    def __init__(self, rng, origin_ns):
        self.origin_ns, self.settle_s = origin_ns, rng.choice([0, 0, 0.08, 0.3])
        self.idle_w, self.steps, at = 77.0, [], rng.uniform(0, 2)
        while len(self.steps) < 250:
            self.steps.append((round(at, 3), float(rng.randrange(80, 650))))
            at += rng.uniform(0.4, 2.6)
        self.gain = 1.0

    def lines(self):
        return [f"settle_ms {self.settle_s * 1000:g}"] + [f"step {at * 1000:g} {watts:g}" for at, watts in self.steps]

    def most_w(self):
        return max(watts for _, watts in self.steps)

    def energy_j(self, begin_ns, end_ns):
        """The integral between two times of CLOCK_MONOTONIC."""
        begin, end = (begin_ns - self.origin_ns) / 1e9, (end_ns - self.origin_ns) / 1e9
        total, power = 0.0, self.idle_w
        pieces = [(-UNKNOWN_STEP_S, self.idle_w)] + self.steps
        for i, (at, target) in enumerate(pieces):
            until = pieces[i + 1][0] if i + 1 < len(pieces) else UNKNOWN_STEP_S
            rest = power - target if self.settle_s else 0.0

            def since(t):
                """The energy from the step's time to t."""
                bent = rest * self.settle_s * (1 - math.exp(-(t - at) / self.settle_s)) if self.settle_s else 0.0
                return target * (t - at) + bent
            low, high = max(begin, at), min(end, until)
            if high > low:
                total += since(high) - since(low)
            power = target + (rest * math.exp(-(until - at) / self.settle_s) if self.settle_s else 0.0)
        return total * self.gain


# ---- processes, those below this one alone ----

class Process:
    """One that is known by its pid and start time, signalled through a pidfd."""

    def __init__(self, pid, tail):
        self.pid, self.state, self.start = pid, tail[0], tail[19]
        self.parent = read(f"/proc/{tail[1]}/comm").decode(errors="replace").strip()
        self.command = read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")
        self.name = read(f"/proc/{pid}/comm").decode(errors="replace").strip()
        self.environment = dict(entry.split("=", 1) for entry in
                                read(f"/proc/{pid}/environ").decode(errors="replace").split("\0") if "=" in entry)

    def signal(self, number):
        try:
            fd = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if stat_of(self.pid)[19:20] != [self.start]:
                return False
            signal.pidfd_send_signal(fd, number)
            return True
        except OSError:
            return False
        finally:
            os.close(fd)

    def lives(self):
        tail = stat_of(self.pid)
        return bool(tail) and tail[19] == self.start and tail[0] not in "ZX"


def stat_of(pid):
    return read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()


def children(pid):
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        found += [int(word) for word in read(f"/proc/{pid}/task/{task}/children").split()]
    return found


def marked(mark):
    """Every process of the machine, alive, with the mark in its environment; this one has none."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and mark.encode() in read(f"/proc/{name}/environ"):
            tail = stat_of(name)
            if tail and tail[0] not in "ZX":
                found.append(Process(int(name), tail))
    return found


# ---- one run of the round ----

class Run:
    def __init__(self, round_, number, gpus, lanes):
        self.round, self.number, self.gpus, self.lanes = round_, number, gpus, lanes
        self.folder = f"{round_.folder}/{number}"
        self.truth = self.folder + "/truth"
        self.plan, self.runner, self.done, self.codes, self.resumes = {}, None, False, [], 0
        self.next_start = 0
        rng = round_.rng
        os.makedirs(self.folder + "/repo")
        os.makedirs(self.truth)
        entries = []
        for place in range(1, rng.randint(3, 6) + 1):
            parallel = rng.random() < 0.35
            name = f"repo_net_{place:03d}" + ("_parallel" if parallel else "")
            self.plan[name] = {"seconds": rng.choice([rng.uniform(0.3, 1.2), rng.uniform(1, 4.5)]),
                               "fails": rng.random() < 0.12}
            entry = {"repo": "repo", "model": "net", "mode": "default"}
            entries.append({"foreground": entry, "background": {"repo": "load", "model": "net"}} if parallel else entry)
        write(self.truth + "/plan.json", json.dumps(self.plan))
        for name, text in (("train", TRAIN), ("back", BACK)):
            write(f"{self.folder}/repo/{name}", f"#!{shutil.which('python3')} -IS\n" + text)
            os.chmod(f"{self.folder}/repo/{name}", 0o755)
        model = {"path": "repo", "models": ["net"], "supported_hyperparams": {}}
        write(self.folder + "/registry.json", json.dumps({"models": {
            "repo": dict(model, train_script="./train",
                         cpu_models=["net"], performance_metrics={"log_patterns": {"loss": "^loss ([0-9.]+)"}}),
            "load": dict(model, train_script="./back")}}))
        write(self.folder + "/settings.json", json.dumps({
            "mode": "mixed", "max_retries": 1, "seed": 1, "experiments": entries,
            "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 2},
                     "preflight": {"policy": "go-on", "utilisation": 100, "baseline": 0, "memory_wait": 1},
                     "parallel": {"wait": 0.3, "hold": 0.3, "limit": 20, "restart_delay": 0.2}}}))

    def path(self):
        found = [name for name in glob.glob(self.folder + "/results/run_*") if os.path.exists(name + "/run.db")]
        return found[0] if found else None

    def start(self):
        path = self.path()
        if path:
            command = [self.round.tare, "run", "--resume", path]
            self.resumes += 1
        else:
            shutil.rmtree(self.folder + "/results", ignore_errors=True)
            command = [self.round.tare, "run", "settings.json", "-c", "registry.json", "-o", "results"]
        command += ["--containment", self.round.containment]
        if len(self.round.runs) > 1:
            command += ["--gpus", str(self.gpus[0])]
        self.round.forge()
        environment = dict(self.round.environment, ROUND_TRUTH=self.truth)
        with open(self.folder + "/output", "ab") as log:
            log.write(f"\n== {time.monotonic():.3f} {' '.join(command[1:])}\n".encode())
            log.flush()
            self.runner = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env=environment)

    def tend(self):
        """Starts it, and again when it was killed, or left to a resume what the machine had interrupted twice."""
        if self.done:
            return
        if self.runner is None:
            if time.monotonic() >= self.next_start:
                self.start()
            return
        code = self.runner.poll()
        if code is None:
            return
        self.runner = None
        self.codes.append(code)
        if code == 2 and "before the plan was written" in self.said() and not os.path.exists(self.truth + "/truth"):
            shutil.rmtree(self.folder + "/results")  # killed while it was being made: nothing has run, and it says so
            self.codes.pop()
        elif code in (0, 1) and self.path() and not re.search("^to run the [0-9]+ left: ", self.said(), re.M):
            self.done = True
        elif len(self.codes) > 20:
            self.done = True
            self.round.find("not ended", f"run {self.number}: exit codes {self.codes}: {self.said()}")
        else:
            self.next_start = time.monotonic() + self.round.rng.choice([0, 0, 0.1, 1])

    def said(self):
        """The end of what the last session printed."""
        return read(self.folder + "/output").decode(errors="replace").split("\n== ")[-1][-1500:]


# ---- one round ----

class Round:
    def __init__(self, tare, library, folder, seed, number, containment):
        self.tare, self.folder, self.containment, self.number, self.seed = tare, folder, containment, number, seed
        self.rng = random.Random(f"{seed}-{number}")
        self.findings, self.counts = [], collections.Counter()
        self.mark = os.urandom(16).hex()
        self.hits, self.stopped, self.foreign, self.known = [], [], [], {}
        self.bystanders, self.beside = [], []
        self.users = folder + "/users"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.users)
        self.kind = self.rng.choice(["one", "lanes", "two runs"])
        gpus = 1 if self.kind == "one" else 2
        self.power = [Power(self.rng, time.monotonic_ns()) for _ in range(gpus)]
        self.machine(gpus)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("TARE_", "SUDO_", "SLURM_", "CUDA_"))}
        self.environment.update(TARE_NVML=library, TARE_FAKE_NVML=folder + "/scenario", TARE_SYSROOT=folder + "/machine",
                                TARE_LOCK_DIR=folder + "/locks", XDG_STATE_HOME=folder + "/state", TERM="dumb",
                                ROUND_MARK=self.mark)
        self.runs = []
        if self.kind == "two runs":
            self.runs.extend(Run(self, n, [n], 1) for n in range(2))
        else:
            self.runs.append(Run(self, 0, list(range(gpus)), gpus))

    def machine(self, gpus):
        """Idle processors, and GPUs that draw what the steps say; nothing warms up."""
        for gpu in range(gpus):
            place = f"{self.folder}/machine/proc/driver/nvidia/gpus/0000:0{gpu + 1}:00.0"
            os.makedirs(place)
            write(place + "/information", f"Model: \t\t NVIDIA H200\nGPU UUID: \t {uuid(gpu)}\nBus Location: \t "
                                          f"0000:0{gpu + 1}:00.0\nDevice Minor: \t {gpu}\nGPU Excluded:\t No\n")
        write(self.folder + "/machine/proc/stat", "cpu  1000 0 1000 100000 0 0 0 0 0 0\n"
              "cpu0 500 0 500 50000 0 0 0 0 0 0\ncpu1 500 0 500 50000 0 0 0 0 0 0\n")
        lines = [f"origin_ns {self.power[0].origin_ns}", f"gpus {gpus}", f"users {self.users}", "load_w 0", "limit_w 1400",
                 "kelvin_per_w 0", f"seed {self.rng.randrange(1 << 30)}"]
        for gpu in range(gpus):
            self.power[gpu].origin_ns = self.power[0].origin_ns
            lines += [f"gpu {gpu}"] + self.power[gpu].lines()
        write(self.folder + "/scenario", "\n".join(lines) + "\n")

    def find(self, what, text):
        self.findings.append((what, text))

    # -- what is there --

    def role(self, process):
        for run in self.runs:
            if run.runner and process.pid == run.runner.pid:
                return "runner"
        if process.name.endswith(("-guardian", "-meter", "-init")):
            return process.name.rsplit("-", 1)[1]
        if "TARE_EXPERIMENT" in process.environment:
            script = [word.rsplit("/", 1)[-1] for word in process.command[:4]]
            if "train" in script:  # its worker is called so, too, until it has become another program
                return "job" if process.parent.endswith("-init") else "worker"
            if "back" in script:
                return "background"
            if script[0] == "cat":
                return "worker"
        return None

    def processes(self):
        """All below this one but those that this one planted, by role."""
        found, todo = collections.defaultdict(list), [os.getpid()]
        planted = {process.pid for process, *_ in self.foreign} | {process.pid for process in self.bystanders}
        while todo:
            for pid in children(todo.pop()):
                if pid in planted:
                    continue
                todo.append(pid)
                tail = stat_of(pid)
                if not tail or tail[0] in "ZX":
                    continue
                process = self.known.get((pid, tail[19]))
                if not process or not self.role(process):
                    process = Process(pid, tail)
                    self.known[pid, tail[19]] = process
                process.state = tail[0]
                if self.role(process):
                    found[self.role(process)].append(process)
        return found

    def reap(self):
        """Orphans come to this process, which is to them what init is."""
        runners = {run.runner.pid for run in self.runs if run.runner} | {process.pid for process, *_ in self.foreign}
        runners |= {process.pid for process in self.bystanders}
        for pid in children(os.getpid()):
            if pid not in runners:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except OSError:
                    pass

    # -- what is done --

    def show_loads(self, there):
        """The driver shows each background on its GPU, busy as long as it is not stopped."""
        for process in there["background"]:
            seen = process.environment.get("CUDA_VISIBLE_DEVICES")
            gpu = next((n for n in range(len(self.power)) if seen == uuid(n)), self.gpu_of(process.environment))
            percent = 0 if process.state in "Tt" else 40
            text = f"{gpu} {500 << 20} {percent}\n"
            if read(f"{self.users}/{process.pid}").decode() != text:
                write(f"{self.users}/.put", text)
                os.rename(f"{self.users}/.put", f"{self.users}/{process.pid}")

    def gpu_of(self, environment):
        for run in self.runs:
            if environment.get("ROUND_TRUTH") == run.truth:
                return run.gpus[0]
        return 0

    def hit(self, there):
        roles = [role for role in self.roles if there[role] and self.left[role] > 0]
        if not roles:
            return
        role = self.rng.choice(roles)
        process = self.rng.choice(there[role])
        kill = self.rng.random() < self.kill_share
        now = time.monotonic_ns()
        if not process.signal(signal.SIGKILL if kill else signal.SIGSTOP):
            return
        what = "kill" if kill else "stop"
        self.left[role] -= kill
        self.counts[f"{what} {role}"] += 1
        record = {"what": what, "role": role, "pid": process.pid, "at": now, "until": None,
                  "truth": process.environment.get("ROUND_TRUTH"), "experiment": process.environment.get("TARE_EXPERIMENT"),
                  "attempt": int(process.environment.get("TARE_ATTEMPT", "0"))}
        self.hits.append(record)
        if not kill:
            pause = self.rng.choice([self.rng.uniform(0.1, 0.6), self.rng.uniform(0.6, 3), self.rng.uniform(3, 6)])
            self.stopped.append((now + int(pause * 1e9), process, record))

    def let_go(self, all_=False):
        """Who was stopped twice goes on at the first of it."""
        now = time.monotonic_ns()
        over = {process.pid for until, process, _ in self.stopped if all_ or now >= until or not process.lives()}
        for _, process, record in self.stopped:
            if process.pid in over:
                process.signal(signal.SIGCONT)
                record["until"] = time.monotonic_ns()
        self.stopped = [row for row in self.stopped if row[1].pid not in over]

    def plant(self):
        """A stranger with memory on a GPU; it draws nothing, so the power's course stays known."""
        gpu = self.rng.randrange(len(self.power))
        environment = {key: value for key, value in self.environment.items() if key != "ROUND_MARK"}
        process = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL, env=environment)
        write(f"{self.users}/.put", f"{gpu} {3000 << 20} 0\n")
        os.rename(f"{self.users}/.put", f"{self.users}/{process.pid}")
        now = time.monotonic_ns()
        self.foreign.append([process, gpu, now, None, now + int(self.rng.uniform(0.5, 5) * 1e9)])
        self.counts["foreign"] += 1

    def unplant(self, all_=False):
        for row in self.foreign:
            if row[3] is None and (all_ or time.monotonic_ns() >= row[4]):
                row[3] = time.monotonic_ns()
                row[0].kill()
                row[0].wait()

    def bystand(self):
        """Processes beside the runs, and the job of a tare whose own file in the state folder is gone."""
        environment = {key: value for key, value in self.environment.items() if key not in ("ROUND_MARK", "TARE_NVML")}
        command = [sys.executable, "-c", BYSTANDER, self.folder + "/signalled"]
        for words in (command + ["0123456789abcdef0123456789abcdef"],
                      [self.tare, "exec", "--containment", self.containment, "--"] + command):
            self.bystanders.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                    stderr=subprocess.DEVNULL, env=environment))
        while len(read(self.folder + "/signalled.ready")) < 3:
            time.sleep(TICK_S)
        todo = [process.pid for process in self.bystanders]
        while todo:
            pid = todo.pop()
            self.beside.append(Process(pid, stat_of(pid)))
            todo += children(pid)
        shutil.rmtree(self.folder + "/state")

    def forge(self):
        """Files of dead runs whose jobs these were."""
        tags = [process.environment["TARE_JOB"] for process in self.beside if "TARE_JOB" in process.environment]
        for process in self.beside:
            subprocess.run([os.path.dirname(os.path.abspath(__file__)) + "/forge", f"{self.folder}/state/{os.path.basename(self.tare)}/runs",
                            str(process.pid), self.rng.choice(tags)], check=True)
            self.counts["forged files"] += 1

    def unharmed(self):
        for process in self.beside:
            if not process.lives() or stat_of(process.pid)[0] in "Tt":
                self.find("signalled", f"{process.name} (pid {process.pid}), which only forged files name")
        if read(self.folder + "/signalled"):
            self.find("signalled", read(self.folder + "/signalled").decode())

    def play(self, disturb=True):
        rng = self.rng
        self.bystand()
        pace = rng.choice([0.4, 0.8, 1.5, 3]) if disturb else 1e9
        self.kill_share = rng.choice([0, 0.3, 0.5, 0.8])
        self.roles = rng.sample(ROLES, rng.choice([1, 2, 3, 7]))
        # So that a plan comes to an end; the guardian and meters may go as often as they come.
        self.left = {"runner": 3, "guardian": 8, "meter": 6, "init": 2, "job": 2, "worker": 1, "background": 2}
        begin = time.monotonic()
        next_hit = begin + rng.expovariate(1 / pace)
        next_plant = begin + (rng.uniform(0, 8) if disturb and rng.random() < 0.25 else 1e9)
        quiet_at, given_up = begin + ROUND_S, False
        while not all(run.done for run in self.runs):
            for run in self.runs:
                run.tend()
            there = self.processes()
            self.show_loads(there)
            now = time.monotonic()
            if now < quiet_at and now >= next_hit:
                self.hit(there)
                next_hit = now + rng.expovariate(1 / pace)
            if now < quiet_at and now >= next_plant:
                self.plant()
                next_plant = now + 12
            self.let_go(all_=now >= quiet_at)
            self.unplant(all_=now >= quiet_at)
            self.reap()
            if now >= quiet_at + END_S:
                self.find("not ended", f"after {now - begin:.0f} s: " + "; ".join(run.said() for run in self.runs if not run.done))
                given_up = True
                break
            time.sleep(TICK_S)
        self.let_go(all_=True)
        self.unplant(all_=True)
        self.counts["seconds"] += int(time.monotonic() - begin)
        self.counts["resumes"] += sum(run.resumes for run in self.runs)
        self.unharmed()
        self.nothing_lives(given_up)

    def nothing_lives(self, given_up):
        deadline = time.monotonic() + (0 if given_up else GONE_S)
        while marked(self.mark) and time.monotonic() < deadline:
            self.reap()
            time.sleep(TICK_S)
        left = marked(self.mark)
        for process in left:
            self.find("alive", f"{process.name} (pid {process.pid}, {process.state}): {' '.join(process.command)[:200]}")
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGKILL)
        for run in self.runs:
            if run.runner:
                run.runner.wait()
        time.sleep(0.2 if left else 0)
        self.reap()


# ---- what is compared ----

# docs/reference/files.md names these, and no others.
OF_RUN = r"summary(_safe|_affected)?\.csv|run\.db|events\.jsonl|(settings|registry|machine|machine\.[0-9]+)\.json|report\.html|run\.lock"
OF_EXPERIMENT = (r"(experiment\.json|history\.csv|(attempt_[0-9]+/)?(training\.log|training\.times\.csv|energy/(marks|gpu|cpu)\.csv|"
                 r"energy/(gpu_(power|temperature|utilization)\.csv|cpu_energy(_raw)?\.txt)|"
                 r"background_logs/training_[0-9]+\.log))")


class Results:
    """What a run's folder says and what its trainings said, all in memory: to be compared, or falsified first."""

    def __init__(self, run):
        self.path = run.path()
        self.files, self.odd = [], []
        for base, _, names in os.walk(self.path):
            for name in names:
                path = os.path.join(base, name)
                self.files.append(os.path.relpath(path, self.path))
                if not os.path.isfile(path) or os.path.islink(path):
                    self.odd.append(os.path.relpath(path, self.path))
        self.rows = self.table("summary.csv")
        self.safe, self.affected = self.table("summary_safe.csv"), self.table("summary_affected.csv")
        self.experiments = {}
        for name in run.plan:
            try:
                self.experiments[name] = json.loads(read(f"{self.path}/{name}/experiment.json"))
            except ValueError:
                self.experiments[name] = None
        self.events = [json.loads(line) for line in read(self.path + "/events.jsonl").splitlines()]
        self.truth = [json.loads(line) for line in read(run.truth + "/truth").splitlines()]
        with sqlite3.connect(f"file:{self.path}/run.db?immutable=1", uri=True) as db:
            self.intact = db.execute("PRAGMA integrity_check").fetchone()[0]
            self.journal = db.execute("SELECT p.id, e.state, e.outcome, e.verdict, e.result_attempt FROM experiments e "
                                      "JOIN plan p USING (number)").fetchall()
        db.close()

    def table(self, name):
        with open(f"{self.path}/{name}", newline="") as file:
            return list(csv.DictReader(file))


class Check:
    def __init__(self, round_, run, results):
        self.round, self.run, self.results = round_, run, results
        self.findings, self.energies, self.counts = [], [], collections.Counter()

    def find(self, what, text):
        self.findings.append((what, f"run {self.run.number} ({self.round.kind}): {text}"))

    def all(self):
        self.recorded_once()
        self.left_over()
        self.ran_once()
        for row in self.results.rows:
            self.counts[f"verdict {row['verdict'] or 'none'}"] += 1
            if row["verdict"] == "clean":
                self.clean(row)
        return self

    def recorded_once(self):
        plan, seen = list(self.run.plan), collections.Counter(row["experiment_id"] for row in self.results.rows)
        self.counts["experiments"] += len(plan)
        for name in plan:
            if seen[name] != 1:
                self.find("not once", f"{name} is {seen[name]} times in summary.csv")
        for name in set(seen) - set(plan):
            self.find("not once", f"{name} is in summary.csv and in no plan")
        if [row["experiment_id"] for row in self.results.rows] != [name for name in plan if seen[name]]:
            self.find("not once", "summary.csv is not in the plan's order")
        affected = [row for row in self.results.rows if row["verdict"] in ("suspect", "contaminated")]
        if [row for row in self.results.rows if row not in affected] != [{name: cell for name, cell in row.items() if name != "consistency"} for row in self.results.safe]:
            self.find("not once", "summary_safe.csv is not the rows of summary.csv that nothing speaks against")
        if affected != [{name: cell for name, cell in row.items() if name != "reason"} for row in self.results.affected]:
            self.find("not once", "summary_affected.csv is not the suspect and contaminated rows of summary.csv")
        if self.results.intact != "ok":
            self.find("not once", "run.db: " + self.results.intact)
        rows = {row["experiment_id"]: row for row in self.results.rows}
        for name, state, outcome, verdict, attempt in self.results.journal:
            row = rows.get(name)
            if state != "done" or (row and (outcome, verdict or "", str(attempt)) != (row["outcome"], row["verdict"], row["attempt"])):
                self.find("not once", f"run.db says of {name} {state} {outcome} {verdict} {attempt}, summary.csv {row}")
        ended = collections.Counter(e["experiment"] for e in self.results.events if e["type"] == "experiment_ended" and
                                    e["data"]["outcome"] != "interrupted")
        if sorted(ended.values()) != [1] * len(plan):
            self.find("not once", f"ends in events.jsonl: {dict(ended)}")
        if [e["seq"] for e in self.results.events] != list(range(1, len(self.results.events) + 1)):
            self.find("not once", "events.jsonl has gaps")

    def left_over(self):
        names = "|".join(re.escape(name) for name in self.run.plan)
        allowed = re.compile(f"({OF_RUN}|({names})/{OF_EXPERIMENT})")
        for name in self.results.files:
            if not allowed.fullmatch(name):
                self.find("left over", name)
        for name in self.results.odd:
            self.find("left over", f"{name} is no regular file")

    def locks(self):
        """Nobody holds one any more."""
        paths = [self.results.path + "/run.lock"] + glob.glob(self.round.folder + "/locks/**", recursive=True) + \
            glob.glob(self.round.folder + "/state/**", recursive=True)
        for path in paths:
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        self.find("left over", f"somebody holds {path}")
        return self

    def ran_once(self):
        """No attempt ran twice, and none after one that had succeeded and was recorded so."""
        begins = collections.Counter((t["experiment"], t["attempt"]) for t in self.results.truth if t["what"] == "begin")
        for key, count in begins.items():
            if count != 1:
                self.find("not once", f"attempt {key} ran {count} times")
        self.counts["attempts"] += len(begins)
        rows = {row["experiment_id"]: row for row in self.results.rows}
        for name, attempt in begins:
            row = rows.get(name)
            if row and row["outcome"] == "succeeded" and attempt > int(row["attempt"]):
                self.find("not once", f"{name} ran again (attempt {attempt}) after its result of attempt {row['attempt']}")

    def clean(self, row):
        """Of a row that is called clean everything is compared."""
        name, attempt = row["experiment_id"], int(row["attempt"])
        mine = [t for t in self.results.truth if (t["experiment"], t["attempt"]) == (name, attempt)]
        begin = [t for t in mine if t["what"] == "begin"]
        end = [t for t in mine if t["what"] == "end"]
        where = f"{name} attempt {attempt} clean"
        if len(begin) != 1 or len(end) != 1 or end[0]["code"] != 0 or row["training_success"] != "True":
            self.find("clean and wrong", f"{where}, but the training said {mine}")
            return
        begin, end = begin[0], end[0]
        if abs(float(row["perf_loss"]) - begin["loss"]) > 1e-4:
            self.find("clean and wrong", f"{where}: loss {row['perf_loss']}, printed {begin['loss']}")
        # From its birth, which the kernel says to the hundredth, to its last stamp.
        asleep_ns = begin["boot"] - begin["mono"]
        birth = min(begin["mono"], max(begin["ticks"] * 10**9 // TICKS - asleep_ns, 0))
        self.duration(row, where, birth, begin["mono"], end["mono"])
        self.disturbed(where, name, attempt, begin, end)
        self.energy(row, where, birth, begin, end["mono"])

    def duration(self, row, where, birth, begin, end):
        said, short, long_ = float(row["duration_seconds"]), (end - begin) / 1e9, (end - birth) / 1e9
        slack = max(SLACK_S, SLACK_SHARE * short)
        if not short - slack <= said <= long_ + slack + 0.01:
            self.find("clean and wrong", f"{where}: duration {said:.3f} s, of its own clock {short:.3f} to {long_:.3f}")

    def disturbed(self, where, name, attempt, begin, end):
        for hit in self.round.hits:
            if hit["truth"] != self.run.truth or hit["at"] > end["mono"]:
                continue
            until = hit["until"] or time.monotonic_ns()
            over = (min(until, end["mono"]) - max(hit["at"], begin["mono"])) / 1e9
            text = f"{where}, but its {hit['role']} (pid {hit['pid']}) was hit by {hit['what']}, for {over:.3f} s of {(end['mono'] - begin['mono']) / 1e9:.3f}"
            if (hit["experiment"], hit["attempt"]) != (name, attempt):
                continue
            if hit["role"] in ("job", "worker") and hit["what"] == "kill":
                self.find("clean and wrong", text)
            # The main process's stops are counted; of others and of the background one that lasts a look or two is seen.
            if hit["what"] == "stop" and over > {"job": SLACK_S}.get(hit["role"], LOOK_S if hit["role"] in ("worker", "background") else 1e9):
                self.find("clean and wrong", text)
        gpu = self.gpu(begin)
        for process, at_gpu, came, went, _ in self.round.foreign:
            over = (min(went or 1 << 62, end["mono"]) - max(came, begin["mono"])) / 1e9
            if at_gpu == gpu and over > min(LOOK_S, (end["mono"] - begin["mono"]) / 1e9 - 0.001):
                self.find("clean and wrong", f"{where}, but pid {process.pid} had its GPU for {over:.3f} s")

    def gpu(self, begin):
        return next((n for n in range(len(self.round.power)) if begin["gpu"] == uuid(n)), self.run.gpus[0])

    def energy(self, row, where, birth, begin, end):
        if not row["energy_gpu_total_joules"]:
            self.find("clean and wrong", f"{where} has no energy")
            return
        experiment = self.results.experiments[row["experiment_id"]]
        gpu = experiment["tare"]["energy"]["gpu"]
        said, half, power = float(row["energy_gpu_total_joules"]), gpu["half_width_j"], self.round.power[self.gpu(begin)]
        if abs(said - gpu["joules"]) > 0.01:
            self.find("clean and wrong", f"{where}: {said} J in summary.csv, {gpu['joules']} in experiment.json")
        # Between its last stamp and its end lies as much as the duration was allowed.
        low, high = power.energy_j(begin["mono"], end), power.energy_j(birth, end + int(SLACK_S * 1e9))
        if not low - 3 * half <= said <= high + 3 * half:
            self.find("clean and wrong", f"{where}: {said:.2f} J ± {half:.2f}, the truth is {low:.2f} to {high:.2f}")
        # For the rate: over the very window that it claims.
        started, ended = self.window(row)
        if started:
            self.energies.append((said - power.energy_j(started, ended), half))

    def window(self, row):
        numbers = {e["data"]["id"]: e["experiment"] for e in self.results.events if e["type"] == "experiment_started"}
        mine = [e for e in self.results.events if e["experiment"] == numbers.get(row["experiment_id"]) and e["attempt"] == int(row["attempt"])]
        started = [e["data"]["start_ns"] for e in mine if e["type"] == "attempt_started"]
        ended = [e["data"].get("end_ns") for e in mine if e["type"] == "attempt_ended"]
        return (started[0], ended[0]) if len(started) == 1 and len(ended) == 1 and ended[0] else (None, None)


# ---- all rounds ----

def one_round(arguments):
    """In a process of its own, to which orphans come."""
    tare, library, folder, seed, number, containment, keep = arguments
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    round_ = Round(tare, library, f"{folder}/round{number}", seed, number, containment)
    energies = []
    try:
        round_.play()
        for run in round_.runs:
            if not run.path():
                round_.find("not ended", f"run {run.number} has no folder: {run.said()}")
                continue
            check = Check(round_, run, Results(run)).all().locks()
            round_.findings += check.findings
            round_.counts += check.counts
            energies += check.energies
            for code in run.codes:
                round_.counts[f"exit {code}"] += 1
    except Exception:  # a broken test must show as one
        round_.find("broken", traceback.format_exc())
    for process in round_.beside:
        process.signal(signal.SIGKILL)
    round_.counts["rounds"] += 1
    round_.counts[f"rounds {round_.kind}"] += 1
    write(round_.folder + "/hits", "\n".join(json.dumps(hit) for hit in round_.hits) + "\n")
    if not (keep and round_.findings):
        shutil.rmtree(round_.folder, ignore_errors=True)
    return number, containment, round_.counts, round_.findings, energies


def prove(tare, library, folder, seed):
    """That the checker tells: an undisturbed round has nothing against it, falsified in each of these ways it has."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    for number in range(20):
        round_ = Round(tare, library, f"{folder}/prove{number}", seed, number, "auto")
        round_.play(disturb=False)
        run, results = round_.runs[0], Results(round_.runs[0])
        check = Check(round_, run, results).all().locks()
        clean = [row for row in results.rows if row["verdict"] == "clean" and float(row["duration_seconds"]) > 1.5]
        if clean:
            break
    assert clean and not check.findings and not round_.findings, (check.findings, round_.findings)
    name, attempt = clean[0]["experiment_id"], int(clean[0]["attempt"])

    def falsified(what, change):
        false, around = copy.deepcopy(results), copy.copy(round_)
        around.power, around.hits, around.foreign = copy.deepcopy(round_.power), [], []
        row = next(row for row in false.rows if row["experiment_id"] == name)
        change(false, around, row)
        found = {kind for kind, _ in Check(around, run, false).all().findings}
        print(f"falsified: {what}: {sorted(found) or 'NOT SEEN'}")
        return bool(found)

    def set_row(key, value):
        return lambda false, around, row: row.update({key: str(value(float(row[key])))})

    def power(false, around, row):
        for gpu in around.power:
            gpu.gain = 1.1

    def hit(what, role, seconds):
        begin = next(t for t in results.truth if (t["experiment"], t["attempt"], t["what"]) == (name, attempt, "begin"))
        at = begin["mono"] + 10**8
        return lambda false, around, row: around.hits.append({
            "what": what, "role": role, "pid": 1, "at": at, "until": at + int(seconds * 1e9), "truth": run.truth,
            "experiment": name, "attempt": attempt})

    seen = [
        falsified("energy 10 % too high", lambda f, a, r: (
            r.update(energy_gpu_total_joules=str(float(r["energy_gpu_total_joules"]) * 1.1)),
            f.experiments[name]["tare"]["energy"]["gpu"].update(joules=float(r["energy_gpu_total_joules"])))),
        falsified("the GPU drew 10 % more", power),
        falsified("a row is missing", lambda f, a, r: f.rows.remove(r)),
        falsified("a row is there twice", lambda f, a, r: f.rows.append(dict(r))),
        falsified("duration 10 % too long", set_row("duration_seconds", lambda s: s * 1.1)),
        falsified("another training's loss", set_row("perf_loss", lambda x: x + 1)),
        falsified("it was killed", hit("kill", "job", 1)),
        falsified("it was stopped for 0.3 s", hit("stop", "job", 0.3)),
        falsified("an attempt ran twice", lambda f, a, r: f.truth.append(next(t for t in f.truth if t["what"] == "begin"))),
        falsified("a FIFO is left", lambda f, a, r: f.files.append(name + "/marks.fifo")),
    ]
    shutil.rmtree(round_.folder, ignore_errors=True)
    print(f"{sum(seen)} of {len(seen)} were told")
    return all(seen)


def improbable(outside, count):
    """Whether so many of 95 % intervals that miss are too many to be chance (one in ten thousand)."""
    tail = sum(math.comb(count, k) * 0.05**k * 0.95**(count - k) for k in range(outside, count + 1))
    return tail < 1e-4


def main():
    tare, library, folder = (os.path.abspath(path) for path in sys.argv[1:4])
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    rounds, first = int(os.environ.get("ROUNDS", "4")), int(os.environ.get("FIRST", "0"))
    modes = os.environ.get("CONTAINMENT", "auto,sweep").split(",")
    os.makedirs(folder, exist_ok=True)
    print(f"rounds of seed {seed}", flush=True)
    if os.environ.get("PROVE"):
        return prove(tare, library, folder, seed)
    counts, findings, energies = collections.Counter(), [], []
    work = [(tare, library, folder, seed, n, modes[n % len(modes)], bool(os.environ.get("KEEP"))) for n in range(first, first + rounds)]
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("JOBS", "2")), max_tasks_per_child=1) as pool:
        for number, mode, counted, found, measured in pool.map(one_round, work):
            counts += counted
            energies += measured
            for kind, text in found:
                findings.append(kind)
                print(f"SEED={seed} FIRST={number} CONTAINMENT={mode}: {kind}: {text}", flush=True)
    for key, value in sorted(counts.items()):
        print(f"{key}: {value}")
    outside = sum(abs(off) > half for off, half in energies)
    print(f"clean energies outside of their 95 % interval: {outside} of {len(energies)}")
    if improbable(outside, len(energies)):
        findings.append("energy rate")
    kinds = collections.Counter(findings)
    for kind in ("clean and wrong", "not once", "alive", "left over", "not ended", "signalled", "broken", "energy rate"):
        print(f"{kind}: {kinds[kind]}")
    return not findings


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
