"""Runs with something planted on the fake GPU at random, before, while or after they are measured, alone or beside a background, and the
verdict that each must have: guard_random.py TARE LIBRARY FOLDER RUNS SEED. What the kinds weigh is written down here once more, by hand."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

tare, library, folder, runs, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])

CONTAMINATED = {"foreign_process", "gpu_busy_before", "memory_not_empty", "hot_start", "brake_before", "hw_thermal",
                "hw_power_brake", "hw_slowdown", "xid"}
UNVERIFIED = {"processes_unseen"}
SUSPECT = {"went_on_after_wait", "sw_thermal", "memory_leaked", "possibly_delegated"}
HARMLESS = {"foreign_after", "xid_program", "leftover_processes"}
# Of the meter and of checks that are made once a second: a machine that stands still for seconds has them. left_outside is recorded where another
# program of this user makes shared memory meanwhile.
METER = {"left_outside", "sampling_gap", "energy_disagrees", "cpu_shared", "cpu_unchecked", "energy_file", "counter_stood", "counter_jumped", "check_not_made",
         "runner_stopped"}

JOB = """#!/bin/sh
echo "0 %(job)d 0" >%(users)s/.job && mv %(users)s/.job %(users)s/$$
touch began
until [ -e go ]; do sleep 0.05; done
echo "loss 0.5"
%(last)s
"""
BACKGROUND = """#!/bin/sh
echo "0 %(job)d 40" >%(users)s/.load && mv %(users)s/.load %(users)s/$$
touch loads
while :; do sleep 0.2; done
"""
LEFTOVER = """(trap "" TERM; sleep 60) &
sleep 0.1"""


def wait_until(what, condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.05)


class Run:
    def __init__(self, number, rng):
        self.rng = rng
        self.at = os.path.join(folder, "run%d" % number)
        self.users = os.path.join(self.at, "users")
        self.outsiders, self.runner = [], None
        self.policy = rng.choice(["wait", "wait", "go-on"])
        self.plant = [self.nothing, self.before, self.gone, self.during, self.after, self.brake, self.leak,
                      self.harmless][number % 8]
        # All of them in both modes, and half of each within the first eight.
        self.parallel = (number % 2 == 1) != (number // 8 % 2 == 1)
        os.makedirs(self.users)
        os.makedirs(self.path("repo"))
        gpus = self.path("machine/proc/driver/nvidia/gpus/0000:01:00.0")
        os.makedirs(gpus)
        uuid = "GPU-00000000-0000-4000-8000-000000000000"
        self.write(gpus + "/information", "Model: \t\t NVIDIA H200\nGPU UUID: \t %s\nBus Location: \t 0000:01:00.0\n"
                                          "Device Minor: \t 0\nGPU Excluded:\t No\n" % uuid)
        self.write(self.path("scenario"), "origin_ns 0\ngpus 1\nusers %s\n" % self.users)
        self.write(self.path("registry.json"), json.dumps({"models": {"repo": {
            "path": "repo", "train_script": "./job.sh", "models": ["net"], "cpu_models": ["net"],
            "supported_hyperparams": {}}, "load": {
            "path": "repo", "train_script": "./load.sh", "models": ["net"], "supported_hyperparams": {}}}}))

    def name(self):
        return "%s (%s, policy %s, %s)" % (os.path.basename(self.at), self.plant.__name__, self.policy,
                                           "parallel" if self.parallel else "alone")

    def path(self, name):
        return os.path.join(self.at, name)

    def write(self, path, text):
        with open(path + ".new", "w") as out:
            out.write(text)
        os.rename(path + ".new", path)

    def put(self, name, number):
        self.write(os.path.join(self.users, ".put"), "%d\n" % number)
        os.rename(os.path.join(self.users, ".put"), os.path.join(self.users, name))

    def outsider(self, percent=0, kind=""):
        process = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
        self.outsiders.append(process)
        mib = self.rng.randint(100, 20000)
        self.write(os.path.join(self.users, ".put"), "0 %d %d %s\n" % (mib << 20, percent, kind))
        os.rename(os.path.join(self.users, ".put"), os.path.join(self.users, str(process.pid)))
        return process

    def end(self, process):
        process.kill()
        process.wait()

    def told(self, text):
        with open(self.path("out")) as out:
            return text in out.read()

    def event(self, name):
        for base, _, files in os.walk(self.path("results")):
            if "events.jsonl" in files:
                with open(os.path.join(base, "events.jsonl")) as events:
                    return '"type":"%s"' % name in events.read()
        return False

    def begin(self, wait="2s", last="", memory_wait=1):
        preflight = {"policy": self.policy, "wait": wait, "baseline": 0, "memory_wait": memory_wait}
        timing = {"between_runs": 0, "between_configurations": 0, "before_retry": 0, "stop_grace": 3}
        entry = {"repo": "repo", "model": "net"}
        if self.parallel:
            entry = {"foreground": dict(entry, mode="default"), "background": {"repo": "load", "model": "net"}}
        self.write(self.path("settings.json"), json.dumps({
            "mode": "parallel" if self.parallel else "default", "max_retries": 0, "experiments": [entry],
            # Some runs take milliseconds: their energies are as imprecise as they may be.
            "tare": {"timing": timing, "preflight": preflight, "parallel": {"wait": 1, "hold": 0.3},
                     "energy_half_width": 0}}))
        for name, text in (("job.sh", JOB), ("load.sh", BACKGROUND)):
            script = self.path("repo/" + name)
            self.write(script, text % {"job": self.rng.randint(100, 40000) << 20, "users": self.users, "last": last})
            os.chmod(script, 0o755)
        # Of the processors: nobody does anything.
        os.makedirs(self.path("machine/proc"), exist_ok=True)
        self.write(self.path("machine/proc/stat"), "cpu  1000 0 1000 100000 0 0 0 0 0 0\ncpu0 1000 0 1000 100000 0 0 0 0 0 0\n")
        environment = dict(os.environ, TARE_SYSROOT=self.path("machine"), TARE_LOCK_DIR=self.path("locks"),
                           XDG_STATE_HOME=self.path("state"), TARE_NVML=library, TARE_FAKE_NVML=self.path("scenario"),
                           TERM="dumb")
        self.out = open(self.path("out"), "w")
        self.runner = subprocess.Popen(
            [tare, "run", "settings.json", "-c", "registry.json", "-o", "results", "--containment", "sweep"], cwd=self.at,
            env=environment, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT)

    def began(self):
        wait_until("the job runs", lambda: os.path.exists(self.path("repo/began")))

    def go(self):
        open(self.path("repo/go"), "w").close()
        code = self.runner.wait(timeout=120)
        self.out.close()
        return code

    # Each plants, lets the run end, and gives the verdict that it must have.
    def nothing(self):
        self.begin()
        self.began()
        time.sleep(self.rng.uniform(0, 2.5))
        self.go()
        return "clean"

    def before(self):
        works = self.rng.random() < 0.5
        process = self.outsider(60 if works else 0)
        self.begin()
        if self.policy == "wait":
            assert self.go() == 3 and not os.path.exists(self.path("repo/began"))
            assert self.told("clean --pid %d'" % process.pid)
            return "clean"
        self.began()
        time.sleep(self.rng.uniform(0, 2))
        self.go()
        return "contaminated"

    def gone(self):
        self.policy = "wait"
        process = self.outsider()
        self.begin(wait="5m")
        wait_until("the wait is told", lambda: self.told("waits, at most"))
        assert not os.path.exists(self.path("repo/began"))
        time.sleep(self.rng.uniform(0, 1))
        self.end(process)
        self.began()
        self.go()
        return "clean"

    def during(self):
        self.begin()
        if self.parallel and self.rng.random() < 0.5:
            wait_until("the background loads the GPU", lambda: os.path.exists(self.path("repo/loads")))
        else:
            self.began()
            time.sleep(self.rng.uniform(0, 2))
        process = self.outsider(self.rng.choice([0, 30]))
        wait_until("the outsider is told", lambda: self.told("GPU 0 is used by pid %d " % process.pid))
        if self.rng.random() < 0.5:
            self.end(process)
        self.began()
        time.sleep(self.rng.uniform(0, 2))
        self.go()
        return "contaminated"

    def after(self):
        self.begin(last=LEFTOVER)
        self.began()
        open(self.path("repo/go"), "w").close()
        wait_until("the command has ended", lambda: self.event("attempt_stopping"))
        time.sleep(1)
        self.outsider()
        self.go()
        return "clean"

    def brake(self):
        bits, verdict = self.rng.choice([(64, "contaminated"), (72, "contaminated"), (128, "contaminated"),
                                         (8, "contaminated"), (32, "suspect")])
        self.begin()
        self.began()
        time.sleep(self.rng.uniform(0, 2))
        self.put("reasons0", bits)
        wait_until("the brake is told", lambda: self.told("was slowed down"))
        self.put("reasons0", 0)
        self.go()
        return verdict

    def leak(self):
        self.begin()
        self.began()
        self.put("leak0", self.rng.randint(100, 5000) << 20)
        self.go()
        return "suspect"

    def harmless(self):
        """A display, a power cap, memory that comes back late, an Xid of the program's."""
        self.outsider(kind="graphics")
        self.begin(memory_wait=60)
        self.began()
        self.put("reasons0", 4)
        self.put("leak0", 300 << 20)
        self.put("xid0", 31)
        time.sleep(self.rng.uniform(0, 2))
        open(self.path("repo/go"), "w").close()
        wait_until("the job is gone", lambda: self.event("job_proven"))
        self.put("leak0", 0)
        self.go()
        return "clean"

    def kinds(self):
        for base, _, files in os.walk(self.path("results")):
            if "events.jsonl" in files:
                with open(os.path.join(base, "events.jsonl")) as events:
                    lines = [json.loads(line) for line in events]
                return {line["data"]["kind"] for line in lines if line["type"] == "evidence"}
        raise AssertionError("there is no run")

    def close(self):
        if self.runner and self.runner.poll() is None:
            self.runner.send_signal(signal.SIGKILL)
            self.runner.wait()
        for process in self.outsiders:
            self.end(process)
        shutil.rmtree(self.at)


def verdict_of(kinds):
    strange = kinds - CONTAMINATED - SUSPECT - UNVERIFIED - HARMLESS - METER
    assert not strange, strange
    return "contaminated" if kinds & CONTAMINATED else "suspect" if kinds & SUSPECT else "unverified" if kinds & UNVERIFIED else "clean"


wrong = 0
for number in range(runs):
    rng = random.Random(seed * 1000003 + number)
    run = Run(number, rng)
    try:
        expected = run.plant()
        kinds = run.kinds()
        if verdict_of(kinds) != expected:
            wrong += 1
            print("%s: %s expected, found %s" % (run.name(), expected, sorted(kinds)))
            with open(run.path("out")) as out:
                print(out.read())
    except Exception as error:
        wrong += 1
        print("%s: %r" % (run.name(), error))
        if os.path.exists(run.path("out")):
            with open(run.path("out")) as out:
                print(out.read())
    finally:
        run.close()
print("%d runs, %d wrong" % (runs, wrong))
sys.exit(wrong > 0)
